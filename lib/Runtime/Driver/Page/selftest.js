// page.html#selftest: uses the page as a person does, and writes the results
// into the document. Each line begins with "ok" or "not ok".

function selfTest() {
  const lines = [];
  const check = (holds, what) => lines.push(`${holds ? 'ok' : 'not ok'} ${what}`);
  const attempt = (what, act) => {
    try {
      act();
    } catch (error) {
      check(false, `${what}: ${error.message}`);
    }
  };
  attempt('head', () => check(byId('title').textContent.length > 0 && byId('facts').children.length > 2, 'the head has facts'));
  if (data.checks) attempt('checks', () => testChecks(check));
  if (matrix) {
    attempt('matrix', () => testMatrix(check));
    attempt('pareto', () => testPareto(check));
  }
  if (!data.checks) {
    attempt('timeline', () => testTimeline(check));
    attempt('memory', () => testMemory(check));
  }
  attempt('equations', () => testEquations(check));
  attempt('tables', () => testTables(check));
  attempt('page', () => check(document.documentElement.scrollWidth <= innerWidth, 'the page does not scroll sideways'));
  check(errors.length === 0, `no errors ${errors.join('; ')}`);
  lines.push(lines.some((line) => line.startsWith('not ok')) ? 'selftest failed' : `selftest passed ${lines.length} checks`);
  byId('selftest').textContent = lines.join('\n');
  byId('selftest').hidden = false;
}

const planRows = () => [...planTable.body.querySelectorAll('tr.choosable')];
const planOfRow = (row) => plans[Number(row.dataset.plan)];
const isAscending = (values) => values.every((value, i) => i === 0 || values[i - 1] <= value);
const press = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));

function sortByHead(text) {
  const head = [...byId('matrix').querySelectorAll('th')].find((each) => each.textContent === text);
  head.querySelector('button').click();
  return head.getAttribute('aria-sort');
}

function testMatrix(check) {
  check(planRows().length === data.matrix.plans.length, `all ${plans.length} plans have a row`);
  check(sortByHead('memory') === 'ascending', 'memory sorts ascending');
  const bytes = () => planRows().map((row) => planOfRow(row).bytes).filter((each) => each !== undefined);
  check(isAscending(bytes()), 'rows are by memory');
  sortByHead('memory');
  check(isAscending(bytes().reverse()), 'and the other way round');
  sortByHead('#');

  const known = plans.filter((each) => each.isLegal).map((each) => each.bytes).sort((a, b) => a - b);
  const middle = known[Math.floor(known.length / 2)];
  byId('limit').value = (middle + 1) / 2 ** 30;
  byId('limit').dispatchEvent(new Event('input', {bubbles: true}));
  const fitting = plans.filter((each) => each.isLegal && each.bytes <= (middle + 1));
  check(planRows().filter((row) => !row.classList.contains('out')).length === fitting.length, `${fitting.length} plans fit ${bytesText(middle)}`);
  const fastest = fitting.filter((each) => each.isCompiled).sort((a, b) => a.seconds - b.seconds)[0];
  check(!fastest || planOfRow(planRows()[0]) === fastest, 'the fastest that fits is first');
  const out = planRows().map(planOfRow).find((each) => !fits(each));
  check(!out || reasonOf(out).length > 0, 'what does not fit has a reason');
  byId('limit-reset').click();
  check(state.limit === data.matrix.memory_limit, 'the limit is as it was searched');

  const last = planRows()[planRows().length - 1], index = planOfRow(last).index;
  last.querySelector('button.more').click();
  const detail = planTable.body.querySelector('tr.detail');
  check(detail && detail.textContent.includes(reasonOf(plans[index])), 'an opened row has its reason in full');
  planTable.body.querySelector(`button.more[data-plan="${index}"]`).click();
  check(!planTable.body.querySelector('tr.detail'), 'and closes');
  press(planRows()[0], 'ArrowDown');
  check(plans.length < 2 || document.activeElement === planRows()[1], 'an arrow goes to the next row');
  const second = planRows()[Math.min(1, plans.length - 1)];
  press(second, 'Enter');
  check(state.chosen === planOfRow(second).index, 'Enter chooses a row');
}

function testPareto(check) {
  const points = [...byId('pareto').querySelectorAll('g.point')];
  check(points.length === pointedPlans().length, `${points.length} points`);
  for (const each of [...points].reverse()) {
    const again = byId('pareto').querySelector(`g[data-plan="${each.dataset.plan}"]`);
    again.dispatchEvent(new MouseEvent('click', {bubbles: true}));
    if (state.chosen !== Number(each.dataset.plan)) check(false, 'a point chooses its plan');
  }
  const chosen = byId('pareto').querySelectorAll('g.point.chosen');
  check(chosen.length === Number(pointedPlans().includes(plan())) && [...chosen].every((each) => Number(each.dataset.plan) === state.chosen),
      'the chosen point is marked');
  check(planTable.body.querySelectorAll('tr.chosen').length === 1, 'and its row');
  const front = byId('pareto').querySelector('polyline.front');
  check(Boolean(front && front.getAttribute('points')) === points.length > 0, 'a frontier');
  const best = plans.find((each) => each.step);
  if (best) choose(best.index);
}

/// Whether the canvas has the colour, such as "#b7cdf2", between two points of
/// a row. It reads from a copy, because reading slows a canvas down.
function hasColour(y, from, to, colour) {
  const canvas = byId('lanes-canvas'), dense = devicePixelRatio || 1;
  const copy = el('canvas', {width: canvas.width, height: canvas.height}).getContext('2d', {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  const {data} = copy.getImageData(from * dense, y * dense, Math.max(1, (to - from) * dense), 1);
  const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  for (let i = 0; i < data.length; i += 4) if (wanted.every((value, channel) => data[i + channel] === value)) return true;
  return false;
}

function testTimeline(check) {
  const step = plan().step && plan().step.step;
  if (!step) return check(byId('timeline').hidden, 'no step, no timeline');
  const spans = view.lanes.reduce((sum, lane) => sum + lane.spans.length, 0);
  const written = step.ranks.reduce((sum, rank) => sum + rank.streams.reduce((some, each) => some + each.spans.length / 3, 0), 0);
  check(spans === written && spans > 0, `${spans} commands in ${view.lanes.length} lanes`);
  const canvas = byId('lanes-canvas'), lane = view.lanes[0];
  const span = lane.spans.reduce((a, b) => b.end - b.begin > a.end - a.begin ? b : a);
  setWindow(1.5 * span.begin - 0.5 * span.end, 1.5 * span.end - 0.5 * span.begin);
  check(hasColour(lane.y + 3, pixelsOf(span.begin), pixelsOf(span.end), lookOf(view.kinds[span.id]).fill), 'the longest command is painted');
  testPointing(check, span);
  for (const each of view.lanes.filter((other) => other.critical.length)) {
    // A stretch may be too short to be seen in the whole step.
    const [begin, end] = each.critical.reduce((a, b) => b[1] - b[0] > a[1] - a[0] ? b : a);
    setWindow(1.5 * begin - 0.5 * end, 1.5 * end - 0.5 * begin);
    check(hasColour(each.y + 1, pixelsOf(begin), pixelsOf(end), criticalColour), `the critical path is marked in ${each.name}`);
  }
  check(view.lanes.some((each) => each.critical.length), 'there is a critical path');
  setWindow(0, Infinity);
  press(canvas, '+');
  check(view.to - view.from < step.nanoseconds, 'plus zooms in');
  const from = view.from;
  press(canvas, 'ArrowRight');
  check(view.from > from, 'an arrow moves');
  press(canvas, 'n');
  check(byId('command').textContent.includes('takes'), 'N says what a command is');
  press(canvas, '0');
  check(view.from === 0 && view.to === step.nanoseconds, '0 shows the whole step');
  check(byId('lanes-legend').children.length > 0, 'a legend');
}

function testPointing(check, span) {
  const canvas = byId('lanes-canvas'), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,
    clientX: box.left + (pixelsOf(span.begin) + pixelsOf(span.end)) / 2, clientY: box.top + view.lanes[0].y + 2}));
  check(!byId('tip').hidden && byId('tip').textContent.includes(wordsOf(commandOf(view.step, span.id).kind)), 'the pointer is told what it is on');
  byId('tip').hidden = true;
}

function testMemory(check) {
  const bill = billOf(plan());
  if (!bill || plan().json.bound) return;
  const sum = bill.parts.reduce((total, part) => total + part.bytes, 0);
  check(byId('bill').querySelectorAll('rect[fill]').length === bill.parts.length, 'the bill has its parts');
  check(Math.abs(sum - bill.total) <= 0.01 * bill.total, `parts ${bytesText(sum)} add up to ${bytesText(bill.total)}`);
  const rank = plan().step && plan().step.step && fullestRank(plan().step.step);
  if (rank) {
    const times = foldedLargest(rank.peak.largest).reduce((total, each) => total + each.times, 0);
    check(times === rank.peak.largest.length, `${times} largest tensors`);
  }
  if (plan().step && plan().step.step) check(byId('curve').querySelector('path.line').getAttribute('d').length > 5, 'a curve');
}

function testChecks(check) {
  const findings = data.checks.flatMap((each) => each.findings);
  check(byId('summary').textContent.startsWith(data.checks[0].answer), 'the first line is the answer');
  check(document.querySelectorAll('article.finding').length === findings.length, `${findings.length} findings`);
  const links = [...document.querySelectorAll('a[href^="#"]')];
  check(links.every((link) => document.querySelector(link.getAttribute('href'))), `${links.length} links lead to something`);
  const located = findings.filter((each) => lineOf(each.location));
  check(located.every((each) => byId(`line-${lineOf(each.location)}`).classList.contains('at-finding')), `${located.length} lines of the model are marked`);
}

function testEquations(check) {
  if (!plan().step || !plan().step.explanation) return check(byId('equations').hidden, 'no equations');
  const lines = () => byId('equations-text').children.length;
  const all = lines();
  check(all > 3, `${all} lines of equations`);
  const filter = (text) => {
    byId('equations-filter').value = text;
    byId('equations-filter').dispatchEvent(new Event('input', {bubbles: true}));
  };
  filter('no such tensor');
  check(lines() === 0, 'nothing has what is nowhere');
  filter('all_');
  check(lines() < all, 'the filter leaves equations out');
  filter('');
  check(lines() === all, 'and brings them back');
}

function testTables(check) {
  const rows = plan().step && plan().step.report && plan().step.report.collectives;
  if (rows && rows.length) {
    const shown = [...byId('ledger-table').querySelectorAll('tbody tr')];
    const times = shown.reduce((sum, row) => sum + Number(row.querySelector('td.times').textContent.slice(1)), 0);
    check(times === rows.length, `${rows.length} collectives in ${shown.length} rows`);
  }
  for (const frame of ['matrix', 'ledger-table', 'largest', 'peaks', 'equations', 'checks', 'model'].flatMap((id) => [byId(id), ...byId(id).querySelectorAll('.scroll')]))
    check(frame.scrollWidth <= frame.clientWidth, `no table is cut at ${innerWidth} px ${frame.id}`);
  const areBlocks = matchMedia('(max-width: 80rem)').matches;
  for (const table of document.querySelectorAll('main table')) {
    const isBlock = areBlocks && Boolean(table.closest('#matrix, .blocks'));
    check(getComputedStyle(table).display === (isBlock ? 'block' : 'table'), `a table is ${isBlock ? 'blocks' : 'rows'} at ${innerWidth} px`);
  }
  const details = byId('everything').querySelector('details');
  check(Boolean(details), 'everything can be opened');
}
