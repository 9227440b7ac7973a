// A board on the screen. It knows no rules: it is told which tile goes where, and shows that.

import { h, s } from './dom.js';

/** @typedef {import('../types').Direction} Direction @typedef {import('../types').Shift} Shift */

/** The size of a number's digits in a tile, in percent of the board's width on four columns, by their count. */
const DIGITS = [0, 11, 10, 8.4, 6.8, 5.6, 4.8, 4.1, 3.6, 3.2];

/** @type {Record<Direction, number>} */
const TURN = { right: 0, down: 90, left: 180, up: 270 };

/** The exponents of a board in digits. @param {string} digits */
export const exponents = (digits) => [...digits].map((digit) => parseInt(digit, 36));

export class Board {
  /** @param {string} [label] */
  constructor(label = 'Board') {
    this.label = label;
    this.rows = 0;
    this.columns = 0;
    /** Tiles by cell. @type {Map<number, HTMLElement>} */
    this.tiles = new Map();
    /** Tiles that have been merged away and are only waiting for the end of their slide. @type {HTMLElement[]} */
    this.leaving = [];
    this.cells = h('div', { class: 'cells' });
    this.layer = h('div', { class: 'layer' });
    this.inner = h('div', { class: 'inner' }, this.cells, this.layer);
    this.arrow = h('div', { class: 'arrow', hidden: true });
    this.arrow.append(s('svg', { viewBox: '0 0 100 100', 'aria-hidden': 'true' }, s('path', { d: 'M8 38h44V16l42 34-42 34V62H8z' })));
    this.element = h('div', { class: 'board', role: 'img', 'aria-label': label }, this.inner, this.arrow);
    this.resize(4, 4);
  }

  /** @param {number} rows @param {number} columns */
  resize(rows, columns) {
    if (rows === this.rows && columns === this.columns) return;
    [this.rows, this.columns] = [rows, columns];
    this.element.style.setProperty('--rows', String(rows));
    this.element.style.setProperty('--columns', String(columns));
    this.cells.replaceChildren(...Array.from({ length: rows * columns }, () => h('div', { class: 'cell' })));
    this.layer.replaceChildren();
    this.tiles.clear();
    this.leaving = [];
  }

  /** @param {number} exponent @param {number} cell @param {string} [how] */
  #tile(exponent, cell, how = '') {
    const text = String(2 ** exponent);
    const tile = h('div', { class: `tile e${Math.min(exponent, 17)} ${how}` }, h('div', { class: 'face' }, text));
    tile.style.setProperty('--digits', String(DIGITS[Math.min(text.length, 9)]));
    this.#place(tile, cell);
    return tile;
  }

  /** @param {HTMLElement} tile @param {number} cell */
  #place(tile, cell) {
    tile.style.setProperty('--x', String(cell % this.columns));
    tile.style.setProperty('--y', String(Math.floor(cell / this.columns)));
  }

  /** Shows a position at once; tiles that stay as they are are left alone. @param {string} digits @param {number | null} [fresh] the cell of a tile that has just appeared */
  show(digits, fresh = null) {
    this.leaving.forEach((tile) => tile.remove());
    this.leaving = [];
    exponents(digits).forEach((exponent, cell) => {
      const tile = this.tiles.get(cell);
      const face = tile?.firstElementChild;
      if (tile && face && exponent > 0 && cell !== fresh) {
        const text = String(2 ** exponent);
        tile.className = `tile e${Math.min(exponent, 17)}`;
        if (face.textContent !== text) {
          face.textContent = text;
          tile.style.setProperty('--digits', String(DIGITS[Math.min(text.length, 9)]));
        }
        return;
      }
      tile?.remove();
      this.tiles.delete(cell);
      if (exponent > 0) this.#add(this.#tile(exponent, cell, cell === fresh ? 'fresh' : ''), cell);
    });
    this.describe(digits);
  }

  /** @param {HTMLElement} tile @param {number} cell */
  #add(tile, cell) {
    this.tiles.set(cell, tile);
    this.layer.append(tile);
  }

  /**
   * Shows a move: all tiles start on their way, merged and new ones appear as the others arrive. Needs no timer, so that the next
   * move can come at any moment.
   * @param {string} digits the position it leads to
   * @param {Shift[]} shifts @param {[number, number]} spawn
   */
  move(digits, shifts, spawn) {
    this.leaving.forEach((tile) => tile.remove());
    this.leaving = [];
    const before = this.tiles;
    this.tiles = new Map();
    for (const [from, to, exponent, merges] of shifts) {
      const tile = before.get(from);
      if (!tile) return this.show(digits, spawn[0]);
      tile.className = `tile glide e${Math.min(exponent, 17)}`;
      this.#place(tile, to);
      if (!merges) this.tiles.set(to, tile);
      else {
        this.leaving.push(tile);
        if (!this.tiles.has(to)) this.#add(this.#tile(exponent + 1, to, 'pop'), to);
      }
    }
    this.#add(this.#tile(spawn[1], spawn[0], 'fresh'), spawn[0]);
    this.describe(digits);
  }

  /** Says the position in words. @param {string} digits */
  describe(digits) {
    const tiles = exponents(digits).map((e) => (e ? String(2 ** e) : 'empty'));
    const rows = Array.from({ length: this.rows }, (_, r) => `row ${r + 1}: ${tiles.slice(r * this.columns, (r + 1) * this.columns).join(', ')}`);
    this.element.setAttribute('aria-label', `${this.label}. ${rows.join('; ')}`);
    this.element.dataset['board'] = digits;
  }

  /** Points somewhere, or nowhere. @param {Direction | null} direction @param {boolean} [bad] */
  point(direction, bad = false) {
    this.arrow.hidden = direction === null;
    this.arrow.classList.toggle('bad', bad);
    if (direction) {
      this.arrow.style.transform = `rotate(${TURN[direction]}deg)`;
      this.arrow.dataset['direction'] = direction;
    }
  }

  /** Animations off, for boards that change faster than they can slide. @param {boolean} fast */
  set fast(fast) {
    this.element.classList.toggle('fast', fast);
  }
}

/**
 * Calls back with the direction of each swipe on an element.
 * @param {HTMLElement} element @param {(direction: Direction) => void} swiped
 */
export function onSwipe(element, swiped) {
  /** @type {{ x: number, y: number, id: number } | null} */
  let from = null;
  element.addEventListener('pointerdown', (event) => {
    if (event.button === 0) from = { x: event.clientX, y: event.clientY, id: event.pointerId };
  });
  element.addEventListener('pointermove', (event) => {
    if (!from || event.pointerId !== from.id) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (Math.max(Math.abs(dx), Math.abs(dy)) < 24) return;
    from = null;
    swiped(Math.abs(dx) > Math.abs(dy) ? (dx > 0 ? 'right' : 'left') : dy > 0 ? 'down' : 'up');
  });
  for (const end of ['pointerup', 'pointercancel']) element.addEventListener(end, () => { from = null; });
}
