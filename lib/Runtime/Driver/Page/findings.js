// The findings of a check, the lines that they are about, and the model's text.

const modelLines = ((data.model || {}).text || '').split('\n');

/// The number of a line of the shown model; 0 if a location is elsewhere.
function lineOf(location) {
  const {path, text} = data.model;
  if (!path || !text || !location.startsWith(`${path}:`)) return 0;
  const line = parseInt(location.slice(path.length + 1), 10);
  return line >= 1 && line <= modelLines.length ? line : 0;
}

const numbersAsPattern = (name) => name.replace(/\d+/g, '#');

/// The findings of all checks, with their numbers on the page.
const allFindings = (data.checks || []).flatMap((check) => check.findings.map((finding) => ({...finding, check})))
    .map((finding, index) => ({...finding, id: `finding-${index + 1}`, line: lineOf(finding.location), pattern: numbersAsPattern(finding.collective)}));

/// The findings about the collective of a line such as
/// "  |   > all_reduce g[layer1.gain][d | sum@tp] -> [d]". Layers that repeat
/// are one line.
function marksOfEquation(line) {
  const found = /^\s*(?:\| )?\s*> (\w+) (.*?)\[[^\[\]]*\] ->/.exec(line);
  if (!found) return [];
  const start = numbersAsPattern(`${found[1]} of ${found[2]} over `);
  return allFindings.filter((finding) => finding.pattern.startsWith(start));
}

function markElement(finding) {
  return el('a', {class: `mark${finding.wrong ? ' wrong' : ''}`, href: `#${finding.id}`}, `${finding.number}. ${finding.title}`);
}

/// A line, and a link to each finding about it.
function withMarks(line, findings) {
  if (findings.length) line.classList.add('at-finding');
  return [line, ...findings.map(markElement)];
}

function findingElement(finding) {
  const {line} = finding;
  const textOf = ([name, text]) => [name, name === 'at' && line ? el('a', {href: `#line-${line}`}, text) : text];
  const axes = [[finding.axes.length > 1 ? 'axes' : 'axis', finding.axes.join(', ')]];
  return el('article', {class: `finding${finding.wrong ? ' wrong' : ''}`, id: finding.id},
      el('h3', {}, `${finding.number}. ${finding.title}`), el('dl', {}, ...pairs([...axes, ...finding.facts.map(textOf)])));
}

const tensorColumns = [
  {head: 'tensor', kind: 'names', value: (row) => row.tensor},
  {head: 'verdict', kind: 'wide', value: (row) => row.kind, text: (row) => row.text ? `${row.kind}: ${row.text}` : row.kind},
  {head: 'error', kind: 'number', descendsFirst: true, value: (row) => row.error_of_right, text: (row) => errorText(row.error_of_right)},
  {head: 'rounding explains', kind: 'number', descendsFirst: true, value: (row) => row.tolerance, text: (row) => errorText(row.tolerance)},
];

const secondsColumn = (head, key) => ({head, kind: 'number', descendsFirst: true, value: (row) => row[key], text: (row) => typeof row[key] === 'number' ? secondsText(row[key]) : '–'});
const timeColumns = [
  {head: 'collective', kind: 'names', value: (row) => row.collective},
  {head: 'where', kind: 'names place', value: (row) => row.location, text: (row) => (row.location || '–').replace(/^.*\//, '')},
  {head: 'times', kind: 'number', descendsFirst: true, value: (row) => row.times},
  secondsColumn('measured', 'seconds'), secondsColumn('from', 'least_seconds'), secondsColumn('to', 'most_seconds'),
  secondsColumn('exposed', 'exposed_seconds'), secondsColumn('predicted', 'predicted_seconds'),
  {head: 'ratio', kind: 'number', descendsFirst: true, value: (row) => ratioOf(row), text: (row) => ratioOf(row) ? ratioOf(row).toFixed(2) : '–'},
];
const ratioOf = (row) => row.predicted_seconds > 0 ? row.seconds / row.predicted_seconds : undefined;

const errorText = (error) => typeof error === 'number' ? error.toPrecision(2) : '–';

function scrolled(label, table) {
  return el('div', {class: 'scroll tall blocks', role: 'region', 'aria-label': label, tabindex: 0}, table);
}

/// Collectives, measured and predicted.
function timesTable(check) {
  const times = (check.report || {}).times;
  if (!Array.isArray(times) || !times.length) return [];
  return [el('h3', {}, check.report.machine ? `Times, predicted on ${check.report.machine}` : 'Times'),
    scrolled('Times, as a table', sortableTable(timeColumns, () => times, {caption: 'Times'}).element)];
}

/// The tables of a check's report.
function checkTables(check) {
  const tensors = (check.report || {}).tensors;
  if (!Array.isArray(tensors) || !tensors.length) return [];
  const all = check.cut.tensors;
  return [el('h3', {}, 'Tensors'), all ? el('p', {class: 'hint'}, `These are the first of ${all}.`) : null,
    scrolled('Tensors, as a table', sortableTable(tensorColumns, () => tensors, {caption: 'Tensors'}).element)];
}

/// One check: its answer again if there are several, its findings, and what it
/// noticed.
function checkElements(check) {
  const findings = allFindings.filter((each) => each.check === check);
  const none = check.outcome.startsWith('right') ? 'Nothing was found.' : 'Nothing was compared.';
  return [el('h2', {}, data.checks.length > 1 ? `Findings: ${check.title}` : 'Findings'),
    data.checks.length > 1 ? el('p', {}, check.answer) : null,
    ...(findings.length ? findings.map(findingElement) : [el('p', {}, none)]),
    ...check.notes.map((note) => el('p', {class: 'hint'}, `Note: ${note}`)),
    ...timesTable(check), ...checkTables(check)].filter((each) => each !== null);
}

function drawModel() {
  const {path, text, cut} = data.model;
  byId('model').hidden = !text;
  if (!text) return;
  byId('model-says').textContent = path + (cut.text ? ': the first lines' : '');
  const byLine = new Map();
  for (const finding of allFindings)
    byLine.set(finding.line, [...(byLine.get(finding.line) || []), finding]);
  const shown = text.endsWith('\n') ? modelLines.slice(0, -1) : modelLines;
  byId('model-text').replaceChildren(...shown.flatMap((line, index) =>
    withMarks(el('span', {id: `line-${index + 1}`}, el('span', {class: 'line-number'}, String(index + 1)), line), byLine.get(index + 1) || [])));
}

function drawChecksHead() {
  const title = data.model.path.replace(/^.*\//, '') || 'two dumps';
  document.title = `${data.checks.map((each) => each.outcome).join(', ')}: ${title}`;
  byId('title').textContent = title;
  byId('summary').replaceChildren(...data.checks.flatMap((each, index) => [...(index ? [el('br')] : []),
    el('span', {class: `outcome${each.outcome === 'wrong' ? ' wrong' : ''}`}, each.answer)]));
  byId('facts').replaceChildren(...facts(data.checks.flatMap((each) => each.facts)));
}

function startChecks() {
  for (const id of ['plans', 'pareto-section', 'step', 'memory', 'ledger']) byId(id).hidden = true;
  // Each check counts its findings from 1, as the printed text does.
  for (const check of data.checks) allFindings.filter((each) => each.check === check).forEach((each, index) => { each.number = index + 1; });
  drawChecksHead();
  byId('checks').hidden = false;
  byId('checks').replaceChildren(...data.checks.flatMap(checkElements));
  startTables();
  drawEquations();
  drawModel();
  drawEverything();
}
