// Moving in the timeline, and the facts about a command.

/// Keeps the shown window within the step, and at least a hundredth of a microsecond long.
function setWindow(from, to) {
  const all = view.step.nanoseconds || 1;
  const length = Math.min(Math.max(to - from, 10), all);
  view.from = Math.min(Math.max(from, 0), all - length);
  view.to = view.from + length;
  drawTimeline();
}

function zoom(factor, x) {
  const middle = x === undefined ? (view.from + view.to) / 2 : timeAt(x);
  setWindow(middle - (middle - view.from) / factor, middle + (view.to - middle) / factor);
}

const pan = (share) => setWindow(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

/// The row of the ledger that the command performs, if the page has it.
const ledgerRowOf = (command) => command.row < 0 ? undefined : ((plan().step.report || {}).collectives || [])[command.row];

/// The rate of a command: FLOP/s for products, bytes per second for all others.
function rateText(command, seconds) {
  if (!(seconds > 0)) return '';
  const rates = [];
  if (command.flops > 0) rates.push(`${countText(command.flops / seconds)}FLOP/s`);
  if (command.bytes > 0) rates.push(`${countText(command.bytes / seconds)}B/s`);
  return rates.join(', ').replace(/(\d)(FLOP|B)/g, '$1 $2');
}

function exposedWithin(lane, span) {
  let sum = 0;
  for (const [begin, end] of lane.exposed) sum += Math.max(0, Math.min(end, span.end) - Math.max(begin, span.begin));
  return sum * 1e-9;
}

function commandFacts({lane, span}) {
  const command = commandOf(view.step, span.id), row = ledgerRowOf(command);
  const seconds = (span.end - span.begin) * 1e-9, exposed = exposedWithin(lane, span);
  return el('div', {}, el('strong', {}, command.name), el('dl', {}, ...pairs([
    ['kind', wordsOf(command.kind)],
    ['takes', secondsText(seconds)],
    ['begins', `at ${secondsText(span.begin * 1e-9)}`],
    ['exposed', exposed > 0 ? `${secondsText(exposed)}: nothing computes meanwhile` : ''],
    [command.row >= 0 ? 'sends' : 'moves', command.bytes > 0 ? bytesText(command.bytes) : ''],
    ['computes', command.flops > 0 ? `${countText(command.flops)}FLOP`.replace(/(\d)FLOP/, '$1 FLOP') : ''],
    ['rate', rateText(command, seconds)],
    ['tensor', row && row.tensor], ['over', row && row.axes.join(', ')], ['index', row && row.index],
    ['phase', row ? row.phase : ''], ['why', row && row.reason], ['where', command.location],
  ])));
}

/// The command at a point of the canvas, or the nearest within three pixels.
function commandAt(x, y) {
  const lane = view.lanes.find((each) => y >= each.y && y <= each.y + each.height);
  if (!lane || x < gutter()) return null;
  const near = 3 * (view.to - view.from) / Math.max(1, byId('lanes').clientWidth - gutter());
  const time = timeAt(x), first = firstBehind(lane.spans, time - near);
  let best = null;
  for (let i = first; i < lane.spans.length && lane.spans[i].begin <= time + near; ++i) {
    const span = lane.spans[i], off = Math.max(span.begin - time, time - span.end, 0);
    if (!best || off < best.off) best = {lane, span, off};
  }
  return best;
}

function showTip(event) {
  const tip = byId('tip'), box = byId('lanes').getBoundingClientRect();
  const found = commandAt(event.clientX - box.left, event.clientY - box.top);
  tip.hidden = !found;
  if (!found) return;
  tip.replaceChildren(commandFacts(found));
  const x = event.clientX - box.left;
  tip.style.left = `${Math.max(0, Math.min(x + 14, box.width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${event.clientY - box.top + 18}px`;
}

function pick(found) {
  view.picked = found;
  byId('command').replaceChildren(...(found ? [commandFacts(found)] : []));
  drawTimeline();
}

/// Picks the next command of the lane, and moves to it if it is out of sight.
function pickNext(step) {
  const lane = view.picked ? view.picked.lane : view.lanes[0];
  if (!lane) return;
  const here = view.picked ? lane.spans.indexOf(view.picked.span) : firstBehind(lane.spans, view.from) - step;
  pickIn(lane, lane.spans[here + step]);
}

function pickIn(lane, span) {
  if (!span) return;
  const length = view.to - view.from;
  if (span.end < view.from || span.begin > view.to) setWindow(span.begin - length / 2, span.begin + length / 2);
  pick({lane, span});
}

function pickLane(step) {
  const here = view.picked ? view.lanes.indexOf(view.picked.lane) : -step;
  const lane = view.lanes[here + step];
  const time = view.picked ? view.picked.span.begin : view.from;
  if (lane) pickIn(lane, lane.spans[Math.min(firstBehind(lane.spans, time), lane.spans.length - 1)]);
}

const lanesKeys = {
  ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => pickLane(-1), ArrowDown: () => pickLane(1),
  '+': () => zoom(1.5), '=': () => zoom(1.5), '-': () => zoom(1 / 1.5), '0': () => setWindow(0, Infinity), Home: () => setWindow(0, Infinity),
  n: () => pickNext(1), p: () => pickNext(-1), N: () => pickNext(1), P: () => pickNext(-1), Escape: () => pick(null),
};

/// Dragging moves the timeline; a press without movement picks a command.
function startDragging(canvas) {
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, from: view.from, to: view.to, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!drag) return showTip(event);
    const by = event.clientX - drag.x;
    if (Math.abs(by) < 3 && !drag.moved) return;
    drag.moved = true;
    byId('tip').hidden = true;
    const time = by * (drag.to - drag.from) / (byId('lanes').clientWidth - gutter());
    setWindow(drag.from - time, drag.to - time);
  });
  canvas.addEventListener('pointerup', (event) => {
    const box = byId('lanes').getBoundingClientRect();
    if (drag && !drag.moved) pick(commandAt(event.clientX - box.left, event.clientY - box.top));
    drag = null;
  });
  for (const name of ['pointerleave', 'pointercancel'])
    canvas.addEventListener(name, () => { byId('tip').hidden = true; drag = null; });
}

function startTimeline() {
  const canvas = byId('lanes-canvas');
  const buttons = {'zoom-in': () => zoom(1.5), 'zoom-out': () => zoom(1 / 1.5), 'pan-left': () => pan(-0.2),
    'pan-right': () => pan(0.2), 'zoom-fit': () => setWindow(0, Infinity)};
  for (const [id, act] of Object.entries(buttons)) byId(id).addEventListener('click', act);
  startDragging(canvas);
  canvas.addEventListener('dblclick', (event) => zoom(2, event.clientX - byId('lanes').getBoundingClientRect().left));
  canvas.addEventListener('wheel', (event) => {
    const isZoom = event.ctrlKey || event.metaKey;
    if (!isZoom && !event.shiftKey && !event.deltaX) return;
    event.preventDefault();
    if (isZoom) zoom(Math.exp(-0.002 * event.deltaY), event.clientX - byId('lanes').getBoundingClientRect().left);
    else pan((event.deltaX || event.deltaY) / 800);
  }, {passive: false});
  canvas.addEventListener('keydown', (event) => {
    const act = !event.ctrlKey && !event.metaKey && lanesKeys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  onWidth(byId('lanes'), drawTimeline);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawTimeline);
  addEventListener('beforeprint', () => { document.documentElement.dataset.scheme = 'light'; drawTimeline(); });
  addEventListener('afterprint', () => { delete document.documentElement.dataset.scheme; drawTimeline(); });
}
