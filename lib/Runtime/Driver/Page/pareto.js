// Time against memory, with a point for each plan that was compiled. Plans
// with a row are chosen by their points.

/// A scale from values to pixels, with ticks. It is logarithmic over a wide
/// range.
function scaleOf(values, from, to, unitOf, wanted) {
  const least = Math.min(...values), most = Math.max(...values);
  const isLog = most > 4 * least;
  const unit = unitOf(most);
  const f = isLog ? Math.log : (x) => x;
  const margin = 0.08 * (f(most) - f(least)) || Math.abs(f(most)) * 0.1 || 1;
  const low = f(least) - margin, high = f(most) + margin;
  const at = (value) => from + (to - from) * (f(value) - low) / (high - low);
  let ticks = niceTicks(least / unit, most / unit, wanted).map((tick) => tick * unit);
  if (isLog && unitOf === unitOfBytes) {
    // "512 MiB" and "1 GiB" are round, "0.2 GiB" is not.
    const factor = 2 ** Math.max(1, Math.round(Math.log2(most / least) / wanted));
    ticks = [];
    for (let tick = 2 ** Math.ceil(Math.log2(least)); tick <= most; tick *= factor) ticks.push(tick);
  } else if (isLog) {
    ticks = [];
    for (let power = Math.floor(Math.log10(least / unit)); 10 ** power * unit <= most; ++power)
      for (const times of [1, 2, 5]) ticks.push(times * 10 ** power * unit);
  }
  const inside = (tick) => f(tick) >= low && f(tick) <= high;
  return {at, ticks: ticks.filter(inside)};
}

const unitOfBytes = (bytes) => 1024 ** Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(bytes, 1)) / 10)));
const unitOfSeconds = (seconds) => 10 ** (3 * Math.floor(Math.log10(seconds) / 3));

/// The points that no other point beats in both time and memory, sorted by
/// time.
function frontierOf(points) {
  let least = Infinity;
  return [...points].sort((a, b) => a.seconds - b.seconds || a.bytes - b.bytes)
      .filter((each) => each.bytes < least && (least = each.bytes, true));
}

/// Shapes differ as well as colours: a square is a plan over the limit.
function markOf(each, x, y, isBest) {
  const kind = `mark${isBest ? ' best' : ''}${fits(each) ? '' : ' out'}`;
  if (!fits(each)) return svgEl('rect', {class: kind, x: x - 4.5, y: y - 4.5, width: 9, height: 9});
  return svgEl('circle', {class: kind, cx: x, cy: y, r: isBest ? 6 : 4.5});
}

function pointOf(each, x, y, isBest) {
  const says = `${each.name}: ${secondsText(each.seconds)}, ${bytesText(each.bytes)}`;
  const pick = () => choose(each.index);
  return svgEl('g', {class: `point${each.index === state.chosen ? ' chosen' : ''}`, tabindex: 0, role: 'button',
    'aria-label': says, 'aria-pressed': String(each.index === state.chosen), 'data-plan': each.index, onclick: pick,
    onkeydown: (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      event.preventDefault();
      pick();
      byId('pareto').querySelector(`g[data-plan="${each.index}"]`).focus();
    }},
  svgEl('title', {}, says), svgEl('circle', {class: 'ring', cx: x, cy: y, r: 10}),
  svgEl('circle', {cx: x, cy: y, r: 12, fill: 'transparent'}), markOf(each, x, y, isBest));
}

/// Names of plans: those of `points` that come first have the room. A name
/// stands next to its point, below or above, where it hides neither a point nor
/// another name; else the plan's rank does.
function paretoLabels(points, place, frame) {
  const dots = points.map(place), taken = [];
  const isFree = (box) => box[0] > frame.left && box[1] < frame.right + 12 && box[2] > 16 && box[3] < frame.bottom &&
      dots.every(([x, y]) => x < box[0] - 4 || x > box[1] + 4 || y < box[2] - 4 || y > box[3] + 4) &&
      taken.every((other) => box[1] < other[0] || box[0] > other[1] || box[3] < other[2] || box[2] > other[3]);
  const put = (text, [x, y]) => {
    const length = 7 * text.length;
    for (const below of [-11, 19])
      for (const anchor of x > 0.6 * frame.right ? ['end', 'start'] : ['start', 'end']) {
        const begin = anchor === 'end' ? x - 9 - length : x + 9;
        const box = [begin, begin + length, y + below - 11, y + below + 3];
        if (!isFree(box)) continue;
        taken.push(box);
        return svgEl('text', {class: 'name', x: anchor === 'end' ? x - 9 : x + 9, y: y + below, 'text-anchor': anchor}, text);
      }
    return null;
  };
  return points.map((each) => put(each.name, place(each)) || (each.json && each.json.rank > 0 && put(String(each.json.rank), place(each)))).filter(Boolean);
}

function paretoAxes(x, y, frame) {
  const {left, right, top, bottom} = frame;
  return [
    ...x.ticks.flatMap((tick) => [
      svgEl('line', {class: 'grid', x1: x.at(tick), x2: x.at(tick), y1: top, y2: bottom}),
      svgEl('text', {class: 'soft', x: x.at(tick), y: bottom + 18, 'text-anchor': 'middle'}, secondsText(tick))]),
    ...y.ticks.flatMap((tick) => [
      svgEl('line', {class: 'grid', x1: left, x2: right, y1: y.at(tick), y2: y.at(tick)}),
      svgEl('text', {class: 'soft', x: left - 6, y: y.at(tick) + 4, 'text-anchor': 'end'}, bytesText(tick))]),
    svgEl('line', {class: 'axis', x1: left, x2: right, y1: bottom, y2: bottom}),
    svgEl('line', {class: 'axis', x1: left, x2: left, y1: top, y2: bottom}),
    svgEl('text', {x: right, y: bottom + 36, 'text-anchor': 'end'}, 'time of a step'),
    svgEl('text', {x: 4, y: 14}, 'memory of a rank')];
}

/// Compiled plans without a row: points that cannot be chosen.
const otherPlans = () => (matrix.others || []).map((each) => ({name: each.name, seconds: each.seconds, bytes: each.memory}));

function otherPoint(each, [x, y]) {
  return svgEl('circle', {class: 'mark other', cx: x, cy: y, r: 3},
      svgEl('title', {}, `${each.name}: ${secondsText(each.seconds)}, ${bytesText(each.bytes)}; it has no row`));
}

const pointedPlans = () => plans.filter((each) => each.isCompiled && each.seconds > 0 && each.bytes > 0);

/// The limit as a line, or as a word if it is far from all plans.
function paretoLimit(y, frame, isNear) {
  const {left, right, top, bottom} = frame, at = y.at(state.limit);
  const text = `limit ${bytesText(state.limit)}`;
  const word = (height, more) => svgEl('text', {class: 'limit', x: right, y: height, 'text-anchor': 'end'}, text + more);
  if (isNear) return [svgEl('line', {class: 'limit', x1: left, x2: right, y1: at, y2: at}), word(at - 6, '')];
  return [at < top ? word(top - 12, ', far above') : word(bottom - 6, ', far below')];
}

function drawPareto() {
  const room = byId('pareto');
  const points = pointedPlans();
  if (!points.length) {
    room.replaceChildren(el('p', {}, 'No plan was compiled.'));
    return;
  }
  const width = Math.max(300, room.clientWidth), height = width < 600 ? 320 : 420;
  const frame = {left: 72, right: width - 16, top: 26, bottom: height - 46};
  const others = otherPlans();
  const x = scaleOf([...points, ...others].map((each) => each.seconds), frame.left, frame.right, unitOfSeconds, width < 600 ? 3 : 7);
  const bytes = [...points, ...others].map((each) => each.bytes);
  const isNear = state.limit < 2 * Math.max(...bytes) && state.limit > Math.min(...bytes) / 2;
  const y = scaleOf(isNear ? [...bytes, state.limit] : bytes, frame.bottom, frame.top, unitOfBytes, 5);
  const place = (each) => [x.at(each.seconds), y.at(each.bytes)];
  const front = frontierOf(points), best = new Set(front);
  const weight = (each) => best.has(each) + 2 * (each.index === state.chosen);
  room.replaceChildren(svgEl('svg', {viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'time against memory of the plans'},
      ...paretoAxes(x, y, frame),
      ...paretoLimit(y, frame, isNear),
      svgEl('polyline', {class: 'front', points: front.map((each) => place(each).join(',')).join(' ')}),
      ...others.map((each) => otherPoint(each, place(each))),
      // If points coincide, the best and the chosen ones are drawn on top.
      ...[...points].sort((a, b) => weight(a) - weight(b)).map((each) => pointOf(each, ...place(each), best.has(each))),
      ...paretoLabels([...points].sort((a, b) => weight(b) - weight(a)), place, frame)));
}

function paretoLegend() {
  const sample = (mark, text) => el('span', {}, svgEl('svg', {viewBox: '0 0 26 14'}, mark), text);
  byId('pareto-legend').replaceChildren(
      sample(svgEl('circle', {class: 'mark best', cx: 13, cy: 7, r: 6}), 'nothing beats it in both (joined)'),
      sample(svgEl('circle', {class: 'mark', cx: 13, cy: 7, r: 4.5}), 'something does'),
      sample(svgEl('circle', {class: 'mark other', cx: 13, cy: 7, r: 3}), 'compiled, but without a row'),
      sample(svgEl('rect', {class: 'mark out', x: 8.5, y: 2.5, width: 9, height: 9}), 'over the memory'));
}

function startPareto() {
  if (!matrix) return;
  paretoLegend();
  drawPareto();
  watchers.push(drawPareto);
  onWidth(byId('pareto'), drawPareto);
}
