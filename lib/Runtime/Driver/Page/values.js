'use strict';
// The data, texts for numbers, and elements. The other files draw with these.

const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);

/// Uncaught errors, which the self-test reports.
const errors = [];
addEventListener('error', (event) => errors.push(event.message));

/// "812 B", "1.6 MiB".
function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < 6; ++unit) bytes /= 1024;
  return `${unit ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

/// "12.3 ms", "0.850 µs", "2.51 s", with three digits.
function secondsText(seconds) {
  if (!(seconds > 0)) return '0 s';
  const units = ['s', 'ms', 'µs', 'ns'];
  let unit = 0;
  for (; seconds < 0.9995 && unit < 3; ++unit) seconds *= 1000;
  return `${threeDigits(seconds)} ${units[unit]}`;
}

function threeDigits(number) {
  const whole = 1 + Math.floor(Math.log10(Math.abs(number)));
  return number.toFixed(Math.min(Math.max(3 - whole, 0), 2));
}

/// "1.23 M".
function countText(number) {
  if (!Number.isFinite(number)) return String(number);
  if (Number.isInteger(number) && Math.abs(number) < 1e5) return String(number);
  const units = ['', ' k', ' M', ' G', ' T', ' P'];
  let unit = 0;
  for (; Math.abs(number) >= 999.5 && unit < 5; ++unit) number /= 1000;
  if (number === 0) return '0';
  return (Math.abs(number) < 0.01 ? number.toPrecision(3) : threeDigits(number)) + units[unit];
}

const percentText = (share) => `${(100 * share).toFixed(1)} %`;

/// The text of a value, depending on its key; keys that the page does not know
/// have a default.
function valueText(key, value) {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return String(value);
  if (/(^|_)seconds$|^(step|steps|compile|communication|exposed_communication|verify|computing)$/.test(key)) return secondsText(value);
  if (/utilisation$|^(bubble|gap|.*_share|.*_error)$/.test(key)) return percentText(value);
  if (/bytes|memory|^(parameters|gradients|state|inputs|outputs|activations|saved|total|peak.*|resident_peak|input_gradients|master|optimizer|choices)$/.test(key)) return bytesText(value);
  return countText(value);
}

/// "tokens_per_second" -> "tokens per second".
const wordsOf = (key) => key.replace(/_/g, ' ');

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isScalar = (value) => value === null || typeof value !== 'object';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === undefined || value === null) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/// Makes an HTML element. Texts stay text, so names of a model cannot become
/// markup.
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svgEl(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/// dt and dd elements of [name, value], without entries that have no value.
function pairs(entries) {
  const known = entries.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return known.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]);
}

function facts(entries) {
  return entries.filter(([, value]) => value !== undefined && value !== '')
      .map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
}

/// Ticks at multiples of 1, 2 or 5 times a power of ten: about `wanted` of them
/// from `least` to `most`.
function niceTicks(least, most, wanted) {
  const rough = (most - least) / wanted;
  if (!(rough > 0)) return [least];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((times) => times * power >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(least / step - 1e-9); i * step <= most * (1 + 1e-9); ++i) ticks.push(i * step);
  return ticks;
}

/// The text of a column's cell.
const cellText = (column, row) => column.text ? column.text(row) : String(column.value(row) ?? '–');

/// Columns in which rows differ, and those in which all have one value. The
/// latter are a line above the table.
function splitColumns(columns, rows) {
  const isSame = (column) => {
    const known = rows.filter((row) => column.value(row) !== undefined);
    return known.length !== 1 && new Set(known.map((row) => cellText(column, row))).size < 2;
  };
  return rows.length < 2 ? [columns, []] : [columns.filter((column) => !isSame(column)), columns.filter(isSame)];
}

/// "In all plans: bubble 0.0 %, stage chunks 1."
function sameText(columns, rows, where) {
  const values = columns.flatMap((column) => {
    const known = rows.find((row) => column.value(row) !== undefined && column.value(row) !== '' && cellText(column, row) !== '–');
    return known ? [`${column.head} ${cellText(column, known)}`] : [];
  });
  return values.length ? `${where}: ${values.join(', ')}.` : '';
}

/// Redraws when an element's width changes. Drawing may change its height.
function onWidth(element, draw) {
  let width = element.clientWidth;
  new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    requestAnimationFrame(draw);
  }).observe(element);
}

/// A table that sorts by the clicked heading. Columns: `head`, `value` (sorts),
/// `text` or `cell` (shows), `kind` (a class). Options: `order` (column,
/// ascending), `caption`, and `decorate(tr, row)`, which may return the rows
/// that follow it.
function sortableTable(columns, rows, options) {
  const order = {...(options.order || {column: -1, ascending: true})};
  const body = el('tbody');
  const heads = columns.map((column, number) => el('th', {class: column.kind, scope: 'col'},
      el('button', {type: 'button', title: column.title, onclick: () => sortBy(number)}, column.head)));
  function sortBy(number) {
    order.ascending = order.column === number ? !order.ascending : !columns[number].descendsFirst;
    order.column = number;
    draw();
  }
  function sorted() {
    if (order.column < 0) return rows();
    const value = columns[order.column].value;
    const known = (a) => a !== undefined && a !== null && a !== '';
    const sign = order.ascending ? 1 : -1;
    return [...rows()].sort((a, b) => {
      const x = value(a), y = value(b);
      if (!known(x) || !known(y)) return Number(known(y)) - Number(known(x));
      return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
    });
  }
  function rowOf(row) {
    const cells = columns.map((column) => {
      const content = column.cell ? column.cell(row) : cellText(column, row);
      return el('td', {class: `${column.kind || ''}${content === '–' ? ' nothing' : ''}`, 'data-head': column.head}, content);
    });
    const tr = el('tr', {}, ...cells);
    return [tr, ...((options.decorate && options.decorate(tr, row)) || [])];
  }
  function draw() {
    heads.forEach((head, number) => head.setAttribute('aria-sort',
        number !== order.column ? 'none' : order.ascending ? 'ascending' : 'descending'));
    body.replaceChildren(...sorted().flatMap(rowOf));
  }
  draw();
  const caption = options.caption && el('caption', {hidden: true}, options.caption);
  return {element: el('table', {}, caption, el('thead', {}, el('tr', {}, ...heads)), body), draw, body};
}
