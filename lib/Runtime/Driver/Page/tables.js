// Equations, collectives, and all other data of the JSON.

/// Matches a line that belongs to an equation: text after "  " or, in layers
/// that repeat, "  | ".
const isPartOfEquation = (line) => /^(  \| |  )\s/.test(line);

/// Groups lines that belong together: an equation, and the collectives for it.
function groupsOf(text) {
  const groups = [];
  let heading = '';
  for (const line of text.split('\n')) {
    if (line && !line.startsWith(' ')) heading = line;
    if (groups.length && isPartOfEquation(line)) groups[groups.length - 1].lines.push(line);
    else groups.push({heading, isHeading: Boolean(line) && !line.startsWith(' '), lines: [line]});
  }
  return groups;
}

function lineElement(line) {
  const kind = /^\s*(\| )?\s*> /.test(line) ? 'moves' : /^\s+(\| )?\s+over /.test(line) ? 'why'
      : /is there already$/.test(line) ? 'soft' : line && !line.startsWith(' ') ? 'heading' : '';
  return el('span', {class: kind}, line);
}

/// A heading is kept if a line under it is kept.
function drawEquations() {
  const step = plan().step, text = step ? step.explanation : '';
  byId('equations').hidden = !text;
  if (!text) return;
  const wanted = byId('equations-filter').value.trim().toLowerCase();
  const groups = groupsOf(text.replace(/\n$/, ''));
  const matches = (group) => !group.isHeading && group.lines.join('\n').toLowerCase().includes(wanted);
  const found = wanted ? groups.filter(matches) : groups;
  const headings = new Set(found.map((group) => group.heading));
  const shown = wanted ? groups.filter((group) => matches(group) || group.isHeading && headings.has(group.heading)) : groups;
  byId('equations-text').replaceChildren(...shown.flatMap((group) => group.lines.flatMap((line) => withMarks(lineElement(line), marksOfEquation(line)))));
  const all = groups.filter((group) => !group.isHeading && group.lines[0].trim()).length;
  byId('equations-says').textContent = (wanted ? `${found.length} of ${all}` : '') +
      (step.cut.explanation ? ' The text was cut.' : '');
}

/// Equal rows of several layers become one row, as in the printed ledger.
function foldedLedger(rows) {
  const folded = new Map();
  for (const row of rows) {
    const nameInCall = row.tensor.slice(row.tensor.lastIndexOf('.') + 1);
    const key = row.location ? JSON.stringify([row.phase, row.kind, row.axes, row.index, row.bytes, row.location, row.reason, nameInCall])
        : String(folded.size);
    const first = folded.get(key);
    if (!first) {
      folded.set(key, {...row, times: 1});
      continue;
    }
    ++first.times;
    first.seconds += row.seconds;
    first.exposed_seconds += row.exposed_seconds;
  }
  return [...folded.values()];
}

const ledgerColumns = [
  {head: 'phase', value: (row) => row.phase},
  {head: 'kind', value: (row) => row.kind},
  {head: 'over', value: (row) => row.axes.join(', ')},
  {head: 'index', value: (row) => row.index, text: (row) => row.index || '–'},
  {head: 'times', kind: 'number times', descendsFirst: true, value: (row) => row.times, text: (row) => `×${row.times}`},
  {head: 'bytes each', kind: 'number', descendsFirst: true, value: (row) => row.bytes, text: (row) => bytesText(row.bytes)},
  {head: 'takes', kind: 'number', descendsFirst: true, value: (row) => row.seconds, text: (row) => valueText('seconds', row.seconds)},
  {head: 'exposed', kind: 'number', descendsFirst: true, value: (row) => row.exposed_seconds, text: (row) => valueText('seconds', row.exposed_seconds)},
  {head: 'hidden under', kind: 'names', value: (row) => row.hidden_under || '', text: (row) => row.hidden_under || '–'},
  {head: 'tensor', kind: 'names', value: (row) => row.tensor},
  {head: 'why', kind: 'wide', value: (row) => row.reason},
  {head: 'where', kind: 'names place', value: (row) => row.location, text: (row) => (row.location || '–').replace(/^.*\//, '')},
];

function drawLedger() {
  const step = plan().step, rows = step && step.report ? step.report.collectives : null;
  byId('ledger').hidden = !Array.isArray(rows);
  if (!Array.isArray(rows)) return;
  const folded = foldedLedger(rows), sent = rows.reduce((sum, row) => sum + row.bytes, 0);
  const all = step.cut.collectives;
  byId('ledger-says').textContent = rows.length === 0 ? 'Nothing is sent.'
      : `${rows.length} collectives send ${bytesText(sent)} a rank.${all ? ` These are the first of ${all}.` : ''}`;
  const [differing, same] = splitColumns(ledgerColumns, folded), isKept = (column) => differing.includes(column) || column.head === 'times';
  const columns = ledgerColumns.filter(isKept);
  byId('ledger-says').append(` ${sameText(same.filter((column) => !isKept(column)), folded, 'In all rows')}`);
  byId('ledger-table').hidden = rows.length === 0;
  byId('ledger-table').replaceChildren(
      sortableTable(columns, () => folded, {caption: 'Collectives'}).element);
}

/// A list of objects as a table of their scalars.
function listTable(list) {
  const keys = [...new Set(list.flatMap((row) => Object.keys(row)))];
  const textOf = (key, value) => value !== undefined && !isScalar(value) ? JSON.stringify(value) : valueText(key, value);
  return el('div', {class: 'scroll tall', tabindex: 0, role: 'region', 'aria-label': 'table'}, sortableTable(keys.map((key) => ({
    head: wordsOf(key), kind: list.every((row) => typeof row[key] === 'number') ? 'number' : '',
    value: (row) => isScalar(row[key]) ? row[key] : JSON.stringify(row[key]), text: (row) => textOf(key, row[key]),
  })), () => list, {}).element);
}

/// Shows any JSON: scalars next to each other, lists as tables, and objects that can be opened. The
/// content of an object is made when it is opened.
function anything(value) {
  if (Array.isArray(value) && value.length && value.every(isObject)) return [listTable(value)];
  if (!isObject(value)) return [el('p', {}, Array.isArray(value) ? value.map((each) => typeof each === 'object' ? JSON.stringify(each) : each).join(', ') || 'none' : valueText('', value))];
  const entries = Object.entries(value);
  const isShort = ([, each]) => isScalar(each) || Array.isArray(each) && each.length === 0;
  return [
    el('dl', {class: 'facts'}, ...facts(entries.filter(isShort).map(([key, each]) => [wordsOf(key), Array.isArray(each) ? 'none' : valueText(key, each)]))),
    ...entries.filter((entry) => !isShort(entry)).map(([key, each]) => closed(wordsOf(key), () => anything(each))),
  ];
}

function closed(title, make) {
  const details = el('details', {}, el('summary', {}, title));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(...make());
  });
  return details;
}

function drawEverything() {
  const {step, json} = plan();
  const parts = [];
  if (matrix) {
    parts.push(closed('the search', () => anything({...matrix, plans: undefined})));
    parts.push(closed(`${plan().name}, as in the table`, () => anything(json)));
  }
  for (const check of data.checks || []) parts.push(closed(check.title, () => anything(check.report)));
  if (step && step.report) parts.push(closed('the report of the step', () => anything(step.report)));
  byId('everything').replaceChildren(...parts);
}

function startTables() {
  byId('equations-filter').addEventListener('input', drawEquations);
}
