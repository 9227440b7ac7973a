// Curves: of a game's values, and of a run's metrics.

import { compact, grouped, h, inUnit, s } from './dom.js';

/**
 * The values of a game as a curve with mistakes marked; a press on it chooses a move. Its words stand around the drawing, which is
 * stretched to whatever room there is.
 */
export class Graph {
  /** @param {(ply: number) => void} chosen */
  constructor(chosen) {
    this.length = 1;
    this.svg = s('svg', { class: 'graph', viewBox: '0 0 1000 100', preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Value over the game' });
    const choose = (/** @type {PointerEvent} */ event) => {
      const box = this.svg.getBoundingClientRect();
      chosen(Math.round(((event.clientX - box.left) / box.width) * this.length));
    };
    this.svg.addEventListener('pointerdown', (event) => { this.svg.setPointerCapture(event.pointerId); choose(event); });
    this.svg.addEventListener('pointermove', (event) => { if (event.buttons & 1) choose(event); });
    this.title = h('span', { class: 'title' });
    this.high = h('span', { class: 'high' });
    this.low = h('span', { class: 'low' });
    this.end = h('span');
    this.element = h('div', { class: 'graphed' }, this.title, this.high, this.low, this.svg, h('div', { class: 'across' }, h('span', {}, '0'), h('span', {}, 'moves'), this.end));
    this.cursor = s('line', { class: 'cursor', x1: 0, x2: 0, y1: 0, y2: 100 });
  }

  /** @param {(number | null)[]} values @param {{ ply: number, grade: string }[]} mistakes @param {number} length number of moves @param {string} unit */
  draw(values, mistakes, length, unit) {
    this.length = Math.max(length, 1);
    this.end.textContent = grouped(length);
    const known = values.filter((v) => v !== null);
    const x = (/** @type {number} */ ply) => (1000 * ply) / this.length;
    const marks = mistakes.map(({ ply, grade }) => s('line', { class: grade, x1: x(ply), x2: x(ply), y1: 0, y2: 100 }));
    this.svg.replaceChildren(...marks);
    for (const word of [this.title, this.high, this.low]) word.textContent = '';
    if (known.length > 1) {
      // Ends of the scale at the 1st and 99th of a hundred, so that one lost position does not flatten all others.
      const sorted = [...known].sort((a, b) => a - b);
      const at = (/** @type {number} */ share) => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
      const [low, high] = [at(0.01), at(0.99)];
      this.title.textContent = `value of the agent's move: ${unit}`;
      this.high.textContent = inUnit(high, unit);
      this.low.textContent = inUnit(low, unit);
      const y = (/** @type {number} */ v) => 96 - 92 * Math.min(1, Math.max(0, high > low ? (v - low) / (high - low) : 0.5));
      const every = Math.max(1, Math.floor(values.length / 2000));
      const points = [];
      for (let ply = 0; ply < values.length; ply += every) {
        const value = values[ply];
        if (value != null) points.push(`${x(ply).toFixed(1)},${y(value).toFixed(1)}`);
      }
      this.svg.append(s('polygon', { class: 'zone', points: `0,100 ${points.join(' ')} ${x(values.length - 1).toFixed(1)},100` }), s('polyline', { class: 'curve', points: points.join(' ') }));
    }
    this.svg.append(this.cursor);
  }

  /** @param {number} ply */
  point(ply) {
    const x = (1000 * ply) / this.length;
    this.cursor.setAttribute('x1', String(x));
    this.cursor.setAttribute('x2', String(x));
  }
}

/** Round steps for an axis. @param {number} low @param {number} high */
function ticks(low, high) {
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) ?? rough;
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) found.push(tick);
  return found;
}

/** @param {number} n */
function short(n) {
  const size = Math.abs(n);
  if (size >= 1e6) return `${Number((n / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((n / 1e3).toPrecision(3))}k`;
  return size >= 1 || n === 0 ? String(Number(n.toPrecision(4))) : n.toPrecision(2);
}

/**
 * A curve with axes.
 * @param {(number | null)[]} xs @param {(number | null)[]} ys @param {string} xName @param {string} yName
 */
export function curve(xs, ys, xName, yName) {
  // Drawn for the width of a phone where that is what there is: scaled down, its words could not be read.
  const [width, height, left, bottom] = matchMedia('(max-width: 520px)').matches ? [360, 220, 48, 34] : [640, 260, 56, 34];
  /** @type {[number, number][]} */
  const points = [];
  xs.forEach((x, i) => { const y = ys[i]; if (x !== null && y != null) points.push([x, y]); });
  const chart = s('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${yName} over ${xName}` });
  if (points.length === 0) return chart;
  const range = (/** @type {number[]} */ ns) => { const [low, high] = [Math.min(...ns), Math.max(...ns)]; return low < high ? [low, high] : low === 0 ? [0, 1] : [low - 1, high + 1]; };
  const [x0 = 0, x1 = 1] = range(points.map((p) => p[0]));
  let [y0 = 0, y1 = 1] = range(points.map((p) => p[1]));
  if (y0 > 0 && y0 < 0.5 * y1) y0 = 0;
  const px = (/** @type {number} */ x) => left + ((x - x0) / (x1 - x0)) * (width - left - 14);
  const py = (/** @type {number} */ y) => height - bottom - ((y - y0) / (y1 - y0)) * (height - bottom - 22);
  for (const tick of ticks(y0, y1)) chart.append(s('line', { class: 'grid', x1: left, x2: width - 14, y1: py(tick), y2: py(tick) }), s('text', { x: left - 6, y: py(tick) + 4, 'text-anchor': 'end' }, short(tick)));
  for (const tick of ticks(x0, x1)) chart.append(s('text', { x: px(tick), y: height - bottom + 16, 'text-anchor': 'middle' }, short(tick)));
  chart.append(s('text', { x: width - 14, y: height - 4, 'text-anchor': 'end' }, xName), s('text', { x: 4, y: 12 }, `${yName}: ${compact(points[points.length - 1]?.[1] ?? 0)}`));
  chart.append(s('polyline', { points: points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join(' ') }));
  return chart;
}
