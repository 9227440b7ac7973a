// What an agent thinks of the four moves: a bar, a number, how often a search tried it, and a star for the one it would make.

import { grouped, h, inUnit } from './dom.js';

/** @typedef {import('../types').Direction} Direction @typedef {import('../types').MoveReport} MoveReport */

/** @type {[Direction, string, string][]} */
export const MOVES = [['left', '←', 'Left'], ['up', '↑', 'Up'], ['right', '→', 'Right'], ['down', '↓', 'Down']];

export class Values {
  constructor() {
    this.rows = MOVES.map(([direction, sign, name]) => {
      const fill = h('i');
      const number = h('td', { class: 'number' }, '–');
      const tries = h('td', { class: 'tries' });
      const row = h('tr', { 'data-move': direction }, h('th', { scope: 'row' }, sign, h('span', {}, ` ${name}`)), h('td', { class: 'share' }, h('div', { class: 'bar' }, fill)), number, tries);
      return { direction, row, fill, number, tries };
    });
    this.facts = h('p', { class: 'facts' });
    this.table = h('table', { class: 'values', 'aria-label': 'Values of the four moves' }, h('tbody', {}, ...this.rows.map((r) => r.row)));
    this.element = h('div', { class: 'thoughts' }, this.table, this.facts);
  }

  /**
   * @param {Record<Direction, MoveReport>} moves @param {Direction | null} best
   * @param {{ depth: number, nodes: number, unit: string, ms?: number }} [facts]
   */
  show(moves, best, facts) {
    const known = Object.values(moves).map((m) => m.value).filter((v) => v !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    this.table.classList.toggle('tried', Object.values(moves).some((m) => m.visits > 0));
    for (const { direction, row, fill, number, tries } of this.rows) {
      const { legal, value, visits } = moves[direction];
      const share = value === null ? 0 : high > low ? 8 + (92 * (value - low)) / (high - low) : 100;
      fill.style.width = `${share}%`;
      number.textContent = (direction === best ? '★ ' : '') + (value !== null ? inUnit(value, facts?.unit ?? '') : legal ? 'no value' : 'not legal');
      tries.textContent = legal ? `${grouped(visits)} tries` : '';
      row.className = direction === best ? 'best' : legal ? '' : 'off';
    }
    this.facts.replaceChildren();
    if (!facts) return;
    const entry = (/** @type {string} */ name, /** @type {string} */ value) => h('span', {}, `${name} `, h('b', {}, value));
    this.facts.append(entry('ahead', String(facts.depth)), entry('slides', grouped(facts.nodes)));
    if (facts.ms !== undefined) this.facts.append(entry('ms', facts.ms.toFixed(1)));
    this.facts.append(h('span', {}, facts.unit));
  }

  clear() {
    this.table.classList.remove('tried');
    for (const { row, fill, number } of this.rows) {
      fill.style.width = '0';
      number.textContent = '–';
      row.className = '';
    }
    this.facts.replaceChildren();
  }
}
