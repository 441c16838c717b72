// The memory of a rank: its parts, its use over the step, and the largest
// buffers.

const billLooks = {
  parameters: {fill: '#b7cdf2'}, master: {fill: '#9db3e8', pattern: 'rows'}, optimizer: {fill: '#d9c3f2', pattern: 'columns'},
  state: {fill: '#d9c3f2', pattern: 'columns'}, gradients: {fill: '#7cc4b4', pattern: 'rising'}, inputs: {fill: '#ecdcae', pattern: 'rows'},
  outputs: {fill: '#d9a66e', pattern: 'dots'}, choices: {fill: '#d3d36a', pattern: 'zigzag'}, activations: {fill: '#e3b3cf', pattern: 'falling'},
};

/// The parts of the chosen plan's memory, and the device's limit; null if they
/// are not known.
function billOf(each) {
  const report = each.step && each.step.report || {};
  const memory = isObject(each.json.memory) ? each.json.memory : isObject(report.memory) ? report.memory : null;
  if (!memory) return null;
  const parts = billKeys.filter((key) => memory[key] > 0).map((key) => ({key, bytes: memory[key]}));
  const there = report.prediction && report.prediction.memory_needed === memory.peak ? report.prediction.memory_there : 0;
  return {parts, saved: memory.saved, total: memory.total ?? memory.peak, limit: matrix ? state.limit : there};
}

/// A look's pattern as SVG, so that the bar has the same patterns as the
/// legend.
function billPattern(key) {
  const canvas = el('canvas', {width: 16, height: 16});
  const context = canvas.getContext('2d');
  paint(context, billLooks[key], 0, 0, 16, 16);
  return svgEl('pattern', {id: `bill-${key}`, width: 16, height: 16, patternUnits: 'userSpaceOnUse'},
      svgEl('image', {href: canvas.toDataURL(), width: 16, height: 16}));
}

function billBar(bill, width) {
  const isNear = bill.limit > 0 && bill.limit < 3 * bill.total;
  const most = isNear ? Math.max(bill.total, bill.limit) : bill.total, at = (bytes) => bytes / most * (width - 2);
  let from = 0;
  const boxes = bill.parts.map(({key, bytes}) => {
    const box = svgEl('rect', {x: 1 + at(from), y: 22, width: Math.max(at(bytes) - 1, 0.5), height: 34, fill: `url(#bill-${key})`},
        svgEl('title', {}, `${key} ${bytesText(bytes)}`));
    from += bytes;
    return box;
  });
  const marks = [];
  if (bill.saved > 0)
    marks.push(svgEl('rect', {class: 'dot', x: 1, y: 60, width: Math.max(at(bill.saved), 1), height: 5},
        svgEl('title', {}, `saved for backward ${bytesText(bill.saved)}`)));
  if (isNear) {
    const x = 1 + at(bill.limit);
    marks.push(svgEl('line', {class: 'limit', x1: x, x2: x, y1: 16, y2: 60}),
        svgEl('text', {class: 'limit', x, y: 12, 'text-anchor': 'end'}, `limit ${bytesText(bill.limit)}`));
  }
  return svgEl('svg', {viewBox: `0 0 ${width} 70`, role: 'img', 'aria-label': 'memory by what it is for'},
      svgEl('defs', {}, ...bill.parts.map(({key}) => billPattern(key))), ...boxes, ...marks);
}

function drawBill() {
  const room = byId('bill'), bill = billOf(plan());
  room.replaceChildren();
  if (!bill) return;
  const sample = (key) => {
    const canvas = el('canvas', {width: 26, height: 14, 'aria-hidden': 'true'});
    paint(canvas.getContext('2d'), billLooks[key], 0, 0, 26, 14);
    return canvas;
  };
  const saved = svgEl('svg', {viewBox: '0 0 26 14', 'aria-hidden': 'true'}, svgEl('rect', {class: 'dot', x: 0, y: 5, width: 26, height: 5}));
  const text = plan().json.bound ? 'at least ' : '';
  room.append(el('p', {}, `${plan().name}: ${text}${bytesText(bill.total)}`,
      bill.limit > 0 ? ` of ${bytesText(bill.limit)}, ${bill.total > bill.limit ? 'over by' : 'to spare'} ${bytesText(Math.abs(bill.limit - bill.total))}` : ''),
  plan().json.bound ? el('p', {class: 'hint'}, 'It was not compiled; there is no bill.') : billBar(bill, Math.max(280, room.clientWidth)),
  el('p', {class: 'legend'}, ...bill.parts.map(({key, bytes}) => el('span', {}, sample(key), `${key} ${bytesText(bytes)}`)),
      bill.saved > 0 ? el('span', {}, saved, `of these saved for backward ${bytesText(bill.saved)}`) : null));
}

/// The rank with the highest peak represents all ranks.
function fullestRank(step) {
  return step.ranks.reduce((best, rank) => rank.peak.bytes > (best ? best.peak.bytes : 0) ? rank : best, null);
}

/// The peaks of stages, or of other ranks that need different memory.
function drawPeaks() {
  const room = byId('peaks'), step = plan().step && plan().step.step;
  room.replaceChildren();
  if (!step || new Set(step.ranks.map((rank) => rank.peak.bytes)).size < 2) return;
  const most = Math.max(...step.ranks.map((rank) => rank.peak.bytes));
  const table = sortableTable([
    {head: 'ranks', kind: 'names', value: (rank) => rank.name},
    {head: 'peak', kind: 'number', descendsFirst: true, value: (rank) => rank.peak.bytes, text: (rank) => bytesText(rank.peak.bytes)},
    {head: '', kind: 'bars', value: (rank) => rank.peak.bytes, cell: (rank) => el('span', {class: 'bar', style: `width:${160 * rank.peak.bytes / most}px`})},
    {head: 'at', kind: 'number', value: (rank) => rank.peak.nanoseconds, text: (rank) => secondsText(rank.peak.nanoseconds * 1e-9)},
  ], () => step.ranks, {caption: 'Peaks'});
  room.append(el('h3', {}, 'Peaks'), el('div', {class: 'scroll', role: 'region', 'aria-label': 'Peaks, as a table', tabindex: 0}, table.element));
}

function curvePath(memory, x, y, end) {
  let path = '';
  for (let i = 0; i < memory.length; i += 2) {
    const atX = x(memory[i]).toFixed(1), atY = y(memory[i + 1]).toFixed(1);
    path += path ? `H${atX}V${atY}` : `M${atX} ${atY}`;
  }
  return path && `${path}H${end}`;
}

function drawCurve() {
  const room = byId('curve'), step = plan().step && plan().step.step;
  const rank = step && fullestRank(step);
  room.replaceChildren();
  if (!rank) return;
  const width = Math.max(280, room.clientWidth), height = 220, left = 76, right = width - 10, top = 24, bottom = height - 28;
  let peak = 0;
  for (let i = 0; i < rank.memory.length; i += 2) if (rank.memory[i + 1] > rank.memory[peak + 1]) peak = i;
  const [peakTime, peakBytes] = rank.memory.slice(peak, peak + 2);
  const highest = 1.1 * Math.max(peakBytes, step.arena);
  const x = (time) => left + (right - left) * time / (step.nanoseconds || 1);
  const y = (bytes) => bottom - (bottom - top) * bytes / highest;
  const unit = unitOfBytes(highest), line = curvePath(rank.memory, x, y, right);
  const label = `peak ${bytesText(peakBytes)} at ${secondsText(peakTime * 1e-9)}`;
  const isRight = x(peakTime) + 6.4 * label.length > right;
  room.append(el('h3', {}, `In use over the step${step.ranks.length > 1 ? `, ${rank.name}` : ''}`),
    svgEl('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label},
      ...niceTicks(0, highest / unit, 5).map((tick) => tick * unit).flatMap((tick) => [
        svgEl('line', {class: 'grid', x1: left, x2: right, y1: y(tick), y2: y(tick)}),
        svgEl('text', {class: 'soft', x: left - 6, y: y(tick) + 4, 'text-anchor': 'end'}, bytesText(tick))]),
      ...niceTicks(0, step.nanoseconds, width < 600 ? 3 : 8).map((tick) =>
        svgEl('text', {class: 'soft', x: Math.min(x(tick), right - 18), y: bottom + 18, 'text-anchor': 'middle'}, secondsText(tick * 1e-9))),
      svgEl('path', {class: 'area', d: `${line}V${bottom}H${left}z`}), svgEl('path', {class: 'line', d: line}),
      step.arena > 0 ? svgEl('line', {class: 'arena', x1: left, x2: right, y1: y(step.arena), y2: y(step.arena)}) : null,
      step.arena > 0 ? svgEl('text', {class: 'soft', x: right, y: y(step.arena) - 5, 'text-anchor': 'end'}, `arena ${bytesText(step.arena)}`) : null,
      svgEl('line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom}),
      svgEl('circle', {class: 'dot', cx: x(peakTime), cy: y(peakBytes), r: 4}),
      svgEl('line', {class: 'arena', x1: x(peakTime), x2: x(peakTime), y1: y(peakBytes), y2: bottom}),
      svgEl('text', {x: x(peakTime) + (isRight ? -7 : 7), y: bottom - 8, 'text-anchor': isRight ? 'end' : 'start'}, label)));
}

/// Tensors of several layers that have equal names, but for a number, and equal
/// bytes become one row.
function foldedLargest(tensors) {
  const folded = new Map();
  for (const each of tensors) {
    const name = each.name || 'a temporary';
    const key = each.name ? JSON.stringify([name.replace(/\d+/, '#'), each.bytes, each.kind]) : String(folded.size);
    const first = folded.get(key);
    if (first) Object.assign(first, {times: first.times + 1, last: name});
    else folded.set(key, {name, last: '', times: 1, bytes: each.bytes, kind: each.kind});
  }
  return [...folded.values()];
}

function drawLargest() {
  const room = byId('largest'), step = plan().step && plan().step.step;
  const rank = step && fullestRank(step);
  room.replaceChildren();
  if (!rank || !rank.peak.largest.length) return;
  const folded = foldedLargest(rank.peak.largest), more = rank.peak.buffers - rank.peak.largest.length;
  const all = (each) => each.bytes * each.times, most = Math.max(...folded.map(all));
  const table = sortableTable([
    {head: 'bytes', kind: 'number', descendsFirst: true, value: all, text: (each) => bytesText(all(each))},
    {head: '', kind: 'bars', value: all, cell: (each) => el('span', {class: 'bar', style: `width:${Math.max(1, 160 * all(each) / most)}px`})},
    {head: 'tensor', kind: 'names', value: (each) => each.name,
      text: (each) => each.times > 1 ? `${each.name} to ${each.last}, ${each.times} of ${bytesText(each.bytes)}` : each.name},
    {head: 'kind', value: (each) => each.kind},
  ], () => folded, {order: {column: 0, ascending: false}, caption: 'The largest at the peak'});
  room.append(el('h3', {}, more > 0 ? `The ${rank.peak.largest.length} largest at the peak, of ${rank.peak.buffers}` : 'The largest at the peak'),
      el('div', {class: 'scroll', role: 'region', 'aria-label': 'The largest at the peak, as a table', tabindex: 0}, table.element));
}

function drawMemory() {
  drawBill();
  drawCurve();
  drawPeaks();
  drawLargest();
  byId('memory').hidden = !byId('bill').children.length && !byId('curve').children.length;
}

function startMemory() {
  onWidth(byId('memory'), drawMemory);
}
