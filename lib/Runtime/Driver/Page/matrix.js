// The table of plans, the chosen plan, and the limit on their memory.

const matrix = data.matrix;

/// The parts of a plan's or report's memory, in the order in which they are
/// drawn. They add up to what a rank allocates.
const billKeys = ['parameters', 'master', 'optimizer', 'state', 'gradients', 'inputs', 'outputs', 'choices', 'activations'];

/// A row of the matrix. For a page of one step, the row is made from its
/// report.
function planOf(json, index) {
  const step = data.steps.find((each) => each.plan === index);
  const memory = json.memory || {};
  return {index, json, step, name: json.label || json.name || json.program || 'the program',
    seconds: json.seconds, bytes: memory.total,
    isCompiled: json.legal !== false && !json.bound, isLegal: json.legal !== false};
}
const plans = matrix ? matrix.plans.map(planOf)
    : data.steps.map((step, index) => ({...planOf({}, index), step, name: (step.report || {}).program || 'the program'}));

const state = {
  chosen: Math.max(0, plans.findIndex((plan) => plan.step)),
  limit: matrix ? matrix.memory_limit : Infinity,
  open: new Set(),
};
const plan = () => plans[state.chosen];
const fits = (each) => each.isLegal && each.bytes <= state.limit;

/// Functions that are called when another plan or another limit is chosen.
const watchers = [];
const changed = () => watchers.forEach((watcher) => watcher());

function choose(index) {
  if (index === state.chosen || !plans[index]) return;
  state.chosen = index;
  changed();
}

/// The places of the plans within the limit: 1, 2, ... by time. Other plans
/// have none.
function placesAtLimit() {
  const places = new Map();
  plans.filter((each) => fits(each) && each.isCompiled)
      .sort((a, b) => a.seconds - b.seconds || a.index - b.index)
      .forEach((each, place) => places.set(each.index, place + 1));
  return places;
}

/// "2 micro-batches, full rematerialisation".
function settingsText(json) {
  const words = [];
  if (json.micro_batches > 1) words.push(`${json.micro_batches} micro-batches`);
  const [mode, layers] = (json.rematerialize || 'none').split(':');
  if (mode !== 'none') words.push(`${mode} rematerialisation${layers ? ` of ${layers} layers` : ''}`);
  return words.join(', ');
}

/// Why a plan is not first: the search's reason, or the limit that was set on the
/// page.
function reasonOf(each) {
  const isStricter = each.isLegal && !fits(each) && each.bytes <= matrix.memory_limit;
  if (isStricter) return `over the memory that is set here by ${bytesText(each.bytes - state.limit)}`;
  if (fits(each) && each.bytes > matrix.memory_limit) return `fits the memory that is set here; as searched ${each.json.reason}`;
  if (each.json.reason) return each.json.reason;
  return each.isCompiled ? 'the fastest that fits, as searched' : 'not compiled';
}

const atLeast = (each, text) => (each.json.bound ? '≥ ' : '') + text;

/// A plan that was not compiled has only bounds of its time and memory.
const isKnown = (each, key) => each.json[key] !== undefined && (each.isCompiled || key === 'seconds');

function figure(head, key, text, more) {
  return {head, key, kind: 'number', value: (each) => isKnown(each, key) ? each.json[key] : undefined,
    text: (each) => isKnown(each, key) ? atLeast(each, text(each.json[key])) : '–', ...more};
}

/// Columns for figures of plans that this page does not know by name.
function unknownFigures() {
  const known = new Set(['rank', 'name', 'label', 'subscripts', 'mesh', 'micro_batches', 'rematerialize', 'legal', 'reason', 'bound',
    'seconds', 'tokens_per_second', 'model_utilisation', 'exposed_seconds', 'communication_seconds', 'memory', 'composed', 'error',
    'parts']);
  const keys = new Set(plans.flatMap((each) => Object.keys(each.json)
      .filter((key) => !known.has(key) && typeof each.json[key] === 'number')));
  return [...keys].map((key) => figure(wordsOf(key), key, (value) => valueText(key, value)));
}

let places = placesAtLimit();

function planColumns(figures) {
  return [
    {head: '#', kind: 'number', title: 'by time, of what fits', value: (each) => places.get(each.index),
      text: (each) => String(places.get(each.index) ?? '–')},
    {head: 'plan', kind: 'names', value: (each) => each.name, cell: (each) => {
      const settings = settingsText(each.json), subscripts = each.json.subscripts;
      return el('div', {}, moreButton(each), el('strong', {}, each.name), settings ? el('div', {class: 'subscripts'}, settings) : null,
          subscripts ? el('div', {class: 'subscripts'}, subscripts) : null);
    }},
    figure('step', 'seconds', secondsText),
    ...figures,
    {head: 'memory', kind: 'number', value: (each) => each.bytes,
      text: (each) => each.bytes === undefined ? '–' : atLeast(each, bytesText(each.bytes))},
    {head: 'why not first', kind: 'why', value: reasonOf, text: reasonOf},
  ];
}

/// The figures that only some readers want.
function furtherFigures() {
  return [
    figure('tokens/s', 'tokens_per_second', countText, {descendsFirst: true}),
    figure('MFU', 'model_utilisation', percentText, {descendsFirst: true, title: "the model's products over the data sheet's peak"}),
    figure('exposed', 'exposed_seconds', secondsText, {title: 'communication that nothing hides'}),
    ...unknownFigures(),
  ];
}

/// A button that opens further facts about a plan.
function moreButton(each) {
  const isOpen = state.open.has(each.index);
  return el('button', {type: 'button', class: 'more', 'aria-expanded': String(isOpen), 'data-plan': each.index,
    'aria-label': `more of ${each.name}`, onclick: (event) => {
      event.stopPropagation();
      if (!state.open.delete(each.index)) state.open.add(each.index);
      planTable.draw();
      const again = byId('matrix').querySelector(`button.more[data-plan="${each.index}"]`);
      if (again) again.focus();
    }}, isOpen ? '▾' : '▸');
}

/// The parts of the step's time, as bars.
function partsTable(parts) {
  const entries = Object.entries(parts || {}).filter(([, seconds]) => seconds > 0).sort((a, b) => b[1] - a[1]);
  if (!entries.length) return null;
  const most = entries[0][1];
  return el('table', {class: 'parts'}, el('tbody', {}, ...entries.map(([name, seconds]) =>
    el('tr', {}, el('th', {scope: 'row'}, name), el('td', {class: 'number'}, secondsText(seconds)),
        el('td', {}, el('span', {class: 'bar', style: `width:${Math.max(1, 120 * seconds / most)}px`}))))));
}

/// An axis: "dp = 4 (data, stores state)".
function axisText(axis) {
  const more = Object.entries(axis).filter(([key, value]) => !['name', 'size'].includes(key) && value !== false)
      .map(([key, value]) => value === true ? wordsOf(key) : String(value));
  return `${axis.name} = ${axis.size}${more.length ? ` (${more.join(', ')})` : ''}`;
}

function planDetail(each, columns) {
  const {json} = each;
  const shown = new Set(['name', 'label', 'subscripts', 'rank', 'reason', 'mesh', 'parts', 'memory', 'legal']);
  const rest = Object.entries(json).filter(([key, value]) => !shown.has(key) && isScalar(value));
  return el('tr', {class: 'detail'}, el('td', {colspan: columns},
      el('div', {class: 'reason'}, reasonOf(each)),
      el('dl', {class: 'facts'},
          ...facts([['mesh', (json.mesh || []).map(axisText).join(' × ') || 'one device'],
            ...rest.map(([key, value]) => [wordsOf(key), valueText(key, value)])])),
      partsTable(json.parts)));
}

/// Enter and space choose a plan, and the arrow keys move between rows.
function onRowKey(event, index) {
  if (event.target !== event.currentTarget) return;
  const rows = [...planTable.body.querySelectorAll('tr.choosable')];
  const here = rows.indexOf(event.currentTarget);
  const next = {ArrowDown: here + 1, ArrowUp: here - 1}[event.key];
  if (event.key === 'Enter' || event.key === ' ') choose(index);
  else if (next === undefined) return;
  else if (rows[next]) rows[next].focus();
  event.preventDefault();
  if (event.key === 'Enter' || event.key === ' ') focusRow(index);
}

function focusRow(index) {
  const row = planTable.body.querySelector(`tr[data-plan="${index}"]`);
  if (row) row.focus();
}

function decoratePlan(row, each) {
  const isChosen = each.index === state.chosen;
  row.className = `choosable${isChosen ? ' chosen' : ''}${fits(each) ? '' : ' out'}`;
  row.dataset.plan = each.index;
  row.tabIndex = 0;
  row.setAttribute('aria-current', String(isChosen));
  row.addEventListener('click', () => choose(each.index));
  row.addEventListener('keydown', (event) => onRowKey(event, each.index));
  return state.open.has(each.index) ? [planDetail(each, row.children.length)] : [];
}

let planTable = null;

/// Sets the limit, and updates the field and the slider.
function setLimit(bytes) {
  state.limit = bytes;
  places = placesAtLimit();
  const GiB = 2 ** 30;
  if (document.activeElement !== byId('limit')) byId('limit').value = Number((bytes / GiB).toPrecision(5));
  byId('limit-range').value = 1000 * bytes / limitRange();
  const fitting = plans.filter(fits).length;
  byId('limit-says').textContent = `${fitting} of ${plans.length} plans fit`;
  changed();
}

/// The upper end of the slider, in bytes.
function limitRange() {
  return 1.05 * Math.max(matrix.memory_limit, ...plans.filter((each) => each.isLegal).map((each) => each.bytes));
}

function startMatrix() {
  if (!matrix) {
    byId('plans').hidden = byId('pareto-section').hidden = true;
    return;
  }
  const [figures, same] = splitColumns(furtherFigures(), plans);
  byId('matrix-says').textContent = sameText(same, plans, 'In all plans that have it');
  planTable = sortableTable(planColumns(figures), () => plans, {order: {column: 0, ascending: true}, caption: 'Plans', decorate: decoratePlan});
  byId('matrix').append(planTable.element);
  byId('limit').addEventListener('input', (event) => {
    const wanted = Number(event.target.value) * 2 ** 30;
    if (wanted > 0) setLimit(wanted);
  });
  byId('limit-range').addEventListener('input', (event) => setLimit(limitRange() * event.target.value / 1000));
  byId('limit-form').addEventListener('submit', (event) => event.preventDefault());
  byId('limit-form').addEventListener('reset', (event) => {
    event.preventDefault();
    setLimit(matrix.memory_limit);
  });
  watchers.push(planTable.draw);
  setLimit(matrix.memory_limit);
}
