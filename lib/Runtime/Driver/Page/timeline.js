// The step of the chosen plan: streams as lanes over time, on a canvas. The
// lanes, their bars, the looks and the legend are those of --timeline
// (StepPicture.h); here they are drawn for the window that is shown.

const {patterns: strokes, kinds: looks, exposed: exposedColour, critical: criticalColour} = data.looks;
const lookOf = (kind) => looks[kind] || looks[''];

const patterns = new Map();
function patternOf(context, pattern, colour) {
  if (!patterns.has(pattern)) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const drawing = tile.getContext('2d');
    drawing.strokeStyle = colour;
    drawing.lineWidth = strokes[pattern].width;
    drawing.stroke(new Path2D(strokes[pattern].path));
    patterns.set(pattern, context.createPattern(tile, 'repeat'));
  }
  return patterns.get(pattern);
}

function paint(context, look, x, y, width, height) {
  context.fillStyle = look.fill;
  context.fillRect(x, y, width, height);
  if (!look.pattern || width < 4) return;
  context.fillStyle = patternOf(context, look.pattern, '#00000038');
  context.fillRect(x, y, width, height);
}

function paintExposed(context, x, y, width, height) {
  context.fillStyle = patternOf(context, 'exposed', exposedColour);
  context.fillRect(x, y, width, height);
  context.fillStyle = exposedColour;
  context.fillRect(x, y + height - 4, width, 4);
}

/// Draws an outline of filled bars, so that its colour is not blurred.
function paintCritical(context, x, y, width, height) {
  context.fillStyle = criticalColour;
  const inside = Math.max(width, 2);
  for (const top of [y, y + height - 2]) context.fillRect(x, top, inside, 2);
  for (const left of [x, x + inside - 2]) context.fillRect(left, y, 2, height);
}

/// The chosen step in the form that the canvas needs.
const view = {step: null, lanes: [], from: 0, to: 1, picked: null};

/// The [begin, end] of a stream's stretches.
function stretchesOf(all, stream) {
  const stretches = [];
  for (let i = 0; i < all.length; i += 3)
    if (all[i] === stream) stretches.push([all[i + 1], all[i + 2]]);
  return stretches;
}

/// Whether lanes say which ranks they are of.
const hasNames = (step) => step.ranks.length > 1 || step.ranks.some((rank) => rank.alike > 1);

/// A lane for each stream that ran something. Spans are {id, begin, end}.
function lanesOf(step) {
  const lanes = [];
  step.ranks.forEach((rank, number) => {
    rank.streams.forEach(({stream, name, spans}, place) => {
      const list = [];
      for (let i = 0; i < spans.length; i += 3) list.push({id: spans[i], begin: spans[i + 1], end: spans[i + 2]});
      const [exposed, critical] = [rank.exposed, rank.critical].map((all) => stretchesOf(all, stream));
      lanes.push({rank: number, isFirst: place === 0, name, spans: list, exposed, critical});
    });
  });
  const height = lanes.length <= 4 ? 40 : lanes.length <= 12 ? 26 : 15;
  let y = 28;
  for (const lane of lanes) {
    if (lane.isFirst && hasNames(step)) y += 18;
    lane.y = y;
    lane.height = height;
    y += height + 4;
  }
  return {lanes, bottom: y + 4};
}

/// The fields of a command, from the step's compact lists.
function commandOf(step, id) {
  const command = Object.fromEntries(step.command_fields.map((field, i) => [field, step.commands[id][i]]));
  for (const field of ['kind', 'name', 'location']) command[field] = step.words[command[field]];
  return command;
}

const gutter = () => byId('lanes').clientWidth < 600 ? 62 : 84;
const pixelsOf = (time) => gutter() + (byId('lanes').clientWidth - gutter() - 8) * (time - view.from) / (view.to - view.from);
const timeAt = (x) => view.from + (view.to - view.from) * (x - gutter()) / (byId('lanes').clientWidth - gutter() - 8);

/// The first span that does not end before `time`. The spans of a lane follow
/// one another.
function firstBehind(spans, time) {
  let low = 0, high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans[middle].end < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function drawLane(context, lane, colours) {
  const left = gutter(), right = byId('lanes').clientWidth - 8;
  context.fillStyle = colours.raised;
  context.fillRect(left, lane.y, right - left, lane.height);
  context.save();
  context.beginPath();
  context.rect(left, lane.y, right - left, lane.height);
  context.clip();
  for (let i = firstBehind(lane.spans, view.from); i < lane.spans.length && lane.spans[i].begin <= view.to; ++i) {
    const span = lane.spans[i], x = pixelsOf(span.begin), width = Math.max(pixelsOf(span.end) - x, 0.4);
    paint(context, lookOf(view.kinds[span.id]), x, lane.y, width, lane.height);
    if (width > 3) {
      context.strokeStyle = colours.ground;
      context.strokeRect(x, lane.y, width, lane.height);
    }
  }
  for (const [begin, end] of lane.exposed)
    if (end >= view.from && begin <= view.to)
      paintExposed(context, pixelsOf(begin), lane.y, Math.max(pixelsOf(end) - pixelsOf(begin), 0.4), lane.height);
  for (const [begin, end] of lane.critical)
    if (end >= view.from && begin <= view.to)
      paintCritical(context, pixelsOf(begin), lane.y, pixelsOf(end) - pixelsOf(begin), lane.height);
  drawNames(context, lane);
  context.restore();
  context.fillStyle = colours.ink;
  context.textAlign = 'end';
  if (lane.height > 12) context.fillText(lane.name, left - 6, lane.y + lane.height / 2 + 4);
  if (lane.isFirst && hasNames(view.step)) {
    context.textAlign = 'start';
    context.fillText(view.step.ranks[lane.rank].name, 4, lane.y - 5);
  }
}

/// Writes names if there is room, on a plain background, so that patterns do not
/// blur them.
function drawNames(context, lane) {
  if (lane.height < 15) return;
  context.textAlign = 'start';
  for (let i = firstBehind(lane.spans, view.from); i < lane.spans.length && lane.spans[i].begin <= view.to; ++i) {
    const span = lane.spans[i];
    const x = Math.max(pixelsOf(span.begin), gutter()), width = Math.min(pixelsOf(span.end), byId('lanes').clientWidth) - x;
    if (width < 34) continue;
    const name = view.step.words[view.step.commands[span.id][1]];
    const room = name.length * (width - 10) / context.measureText(name).width;
    const text = name.length <= room ? name : `${name.slice(0, Math.max(Math.floor(room) - 2, 1))}…`;
    context.fillStyle = lookOf(view.kinds[span.id]).fill;
    context.fillRect(x + 3, lane.y + lane.height / 2 - 8, context.measureText(text).width + 4, 15);
    context.fillStyle = '#111';
    context.fillText(text, x + 5, lane.y + lane.height / 2 + 4);
  }
}

function drawAxis(context, colours, bottom) {
  const left = gutter(), right = byId('lanes').clientWidth - 8;
  context.strokeStyle = colours.line;
  context.fillStyle = colours.muted;
  context.textAlign = 'center';
  for (const tick of niceTicks(view.from, view.to, right - left < 500 ? 3 : 8)) {
    const x = pixelsOf(tick);
    if (x < left || x > right) continue;
    context.beginPath();
    context.moveTo(x, 22);
    context.lineTo(x, bottom);
    context.stroke();
    if (x < right - 20) context.fillText(secondsText(tick * 1e-9), x, 15);
  }
}

function drawPicked(context, colours) {
  if (!view.picked) return;
  const {lane, span} = view.picked;
  const x = Math.max(pixelsOf(span.begin), gutter());
  const end = Math.min(pixelsOf(span.end), byId('lanes').clientWidth - 8);
  context.strokeStyle = colours.ink;
  context.lineWidth = 2.5;
  if (end >= x) context.strokeRect(x, lane.y - 1, Math.max(end - x, 1), lane.height + 2);
  context.lineWidth = 1;
}

function drawTimeline() {
  if (!view.step) return;
  const canvas = byId('lanes-canvas'), dense = devicePixelRatio || 1;
  const width = byId('lanes').clientWidth;
  canvas.style.height = `${view.bottom}px`;
  canvas.width = Math.round(width * dense);
  canvas.height = Math.round(view.bottom * dense);
  const context = canvas.getContext('2d');
  context.scale(dense, dense);
  context.font = '12px system-ui, "Segoe UI", Roboto, sans-serif';
  const style = getComputedStyle(document.documentElement);
  const colours = Object.fromEntries(['ground', 'raised', 'ink', 'muted', 'line'].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, width, view.bottom);
  drawAxis(context, colours, view.bottom - 4);
  view.lanes.forEach((lane) => drawLane(context, lane, colours));
  drawPicked(context, colours);
  byId('window-says').textContent = `${secondsText(view.from * 1e-9)} to ${secondsText(view.to * 1e-9)} of ${secondsText(view.step.nanoseconds * 1e-9)}`;
}

function showTimeline(step) {
  byId('timeline').hidden = !step;
  byId('tip').hidden = true;
  byId('command').replaceChildren();
  view.picked = null;
  view.step = step || null;
  if (!step) return;
  view.kinds = step.commands.map((command) => step.words[command[0]]);
  Object.assign(view, lanesOf(step), {from: 0, to: step.nanoseconds || 1});
  timelineLegend();
  drawTimeline();
}

function timelineLegend() {
  const sample = (draw, text) => {
    const canvas = el('canvas', {width: 52, height: 28, 'aria-hidden': 'true'});
    const context = canvas.getContext('2d');
    context.scale(2, 2);
    draw(context);
    return el('span', {}, canvas, text);
  };
  const drawn = {exposed: paintExposed, critical: paintCritical};
  const rows = view.step.legend.map(([kind, text]) =>
    sample((context) => drawn[kind] ? drawn[kind](context, 0, 0, 26, 14) : paint(context, lookOf(kind), 0, 0, 26, 14), text));
  byId('lanes-legend').replaceChildren(...rows);
}
