// A game gone through move by move: scrubbing, the agent's opinion of every move, mistakes and what each cost.

import { socket } from './api.js';
import { Graph } from './chart.js';
import { better, grouped, h, inUnit, say } from './dom.js';
import { accuracyOf, bestOf, costOf, gradeOf, luck, scaleOf } from './grade.js';

/** @typedef {import('../types').Film} Film @typedef {import('../types').Judged} Judged */

const NAMES = ['left', 'right', 'up', 'down'];
const SIGNS = ['←', '→', '↑', '↓'];

/** A film that another section has put down for this one. @type {Film | null} */
let handed = null;

/** @param {Film} film */
export function loadFilm(film) { handed = film; }

/** The film put down, once. */
export function takeFilm() {
  const film = handed;
  handed = null;
  return film;
}

export class Review {
  /** @param {(board: string, ply: number, last: number | null) => void} moved */
  constructor(moved) {
    this.moved = moved;
    /** What the judge's values are. */
    this.unit = '';
    /** @type {Film | null} */
    this.film = null;
    this.ply = 0;
    /** @type {Judged[]} */
    this.judged = [];
    /** @type {{ ply: number, grade: 'mistake' | 'blunder', cost: number }[]} */
    this.mistakes = [];
    /** @type {ReturnType<typeof socket> | null} */
    this.socket = null;
    this.graph = new Graph((ply) => this.go(ply));
    this.slider = h('input', { type: 'range', min: 0, max: 0, value: 0, 'aria-label': 'Move of the game', 'data-keys': '', oninput: () => this.go(Number(this.slider.value)) });
    this.place = h('p', { class: 'facts' });
    this.opinion = h('p', { class: 'small', role: 'status' });
    this.nextButton = h('button', { type: 'button', class: 'main', onclick: () => this.nextMistake() }, 'Next mistake');
    this.summary = h('p', { class: 'facts', 'data-summary': '' });
    this.list = h('ol', { class: 'mistakes', 'aria-label': 'Mistakes' });
    this.notice = h('div', { class: 'notice bad', role: 'alert', hidden: true });
    const step = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ action) => h('button', { type: 'button', 'aria-label': label, title: label, onclick: action }, text);
    this.controls = h('div', { class: 'card', hidden: true }, this.slider,
      h('div', { class: 'row' }, step('«', 'First move', () => this.go(0)), step('‹', 'Move back', () => this.go(this.ply - 1)), step('›', 'Move on', () => this.go(this.ply + 1)), step('»', 'Last move', () => this.go(Infinity)), this.nextButton), this.place, this.opinion);
    this.panel = h('div', { class: 'card', hidden: true }, h('div', { class: 'row spread' }, h('h2', {}, 'Review'), h('button', { type: 'button', class: 'quiet', onclick: () => this.close() }, 'Close the review')), this.summary, this.graph.element, this.list, this.notice);
  }

  /** @param {Film} film @param {string} agent */
  load(film, agent) {
    this.film = film;
    this.slider.max = String(film.boards.length - 1);
    this.controls.hidden = false;
    this.panel.hidden = false;
    this.judge(agent);
    this.go(0);
  }

  /** Has the game judged by an agent. @param {string} agent */
  judge(agent) {
    const film = this.film;
    if (!film) return;
    this.socket?.close();
    this.judged = [];
    this.mistakes = [];
    this.unit = '';
    this.notice.hidden = true;
    this.done = false;
    this.render();
    const { size, spawn, start, steps } = film;
    this.socket = socket('review', {
      open: () => this.socket?.send({ agent, size, spawn, start, steps }),
      message: (data) => {
        if (data.type === 'error') { this.notice.textContent = data.error; this.notice.hidden = false; return; }
        if (data.type === 'done') this.done = true;
        else { this.unit = data.unit; this.judged.push(...data.plies); }
        if (this.done || !this.drawing) { this.drawing = true; requestAnimationFrame(() => { this.drawing = false; this.render(); }); }
      },
      close: (opened) => {
        if (!opened) { this.notice.textContent = 'The server refused the review: too much is going on, or it has stopped.'; this.notice.hidden = false; }
      },
    });
  }

  render() {
    const film = this.film;
    if (!film) return;
    const bests = this.judged.map((j) => bestOf(j.values, j.best));
    const known = luck(bests);
    const costs = this.judged.map((j) => (j.values.filter((v) => v !== null).length > 1 ? costOf(j.values, j.best, j.played) : null));
    this.mistakes = [];
    this.judged.forEach((j, i) => {
      const cost = costs[i] ?? null;
      const grade = gradeOf(cost, scaleOf(j.values, known));
      if (grade && cost !== null) this.mistakes.push({ ply: j.ply, grade, cost });
    });
    const scale = known ?? (this.judged[0] ? scaleOf(this.judged[0].values, null) : 1);
    const accuracy = accuracyOf(costs, scale);
    const fact = (/** @type {string} */ name, /** @type {string} */ value) => h('span', {}, `${name} `, h('b', {}, value));
    const moves = film.boards.length - 1;
    const count = (/** @type {string} */ grade) => String(this.mistakes.filter((m) => m.grade === grade).length);
    this.summary.replaceChildren(fact('judged', `${grouped(this.judged.length)} of ${grouped(moves)}`), fact('accuracy', accuracy === null ? '–' : `${accuracy.toFixed(1)}%`), fact('mistakes', count('mistake')), fact('blunders', count('blunder')));
    this.panel.dataset['done'] = String(this.done);
    this.nextButton.disabled = this.mistakes.length === 0;
    this.graph.draw(bests, this.mistakes, moves, this.unit);
    this.graph.point(this.ply);
    const worst = [...this.mistakes].sort((a, b) => b.cost - a.cost).slice(0, 100).sort((a, b) => a.ply - b.ply);
    this.list.replaceChildren(...worst.map((m) => {
      const j = /** @type {Judged} */ (this.judged[m.ply]);
      const text = `move ${m.ply + 1}: ${SIGNS[j.played]} instead of ${j.best === null ? '?' : SIGNS[j.best]}`;
      return h('li', {}, h('button', { type: 'button', 'data-ply': m.ply, onclick: () => this.go(m.ply) }, h('span', { class: `mark ${m.grade}`, title: m.grade }, m.grade === 'blunder' ? '??' : '?'), h('span', {}, text), h('span', { class: 'cost' }, `−${inUnit(m.cost, this.unit)}`)));
    }));
    const none = bests.some((v) => v !== null) ? 'No mistakes: the agent would have played much the same.' : 'This agent gives no values, so it cannot judge moves. Put another first in the table.';
    if (this.done && this.mistakes.length === 0) this.list.replaceChildren(h('li', { class: 'small quietly' }, none));
    this.tell();
  }

  /** Goes to the position after so many moves. @param {number} ply */
  go(ply) {
    const film = this.film;
    if (!film) return;
    this.ply = Math.min(Math.max(0, ply), film.boards.length - 1);
    this.slider.value = String(this.ply);
    this.slider.setAttribute('aria-valuetext', `after ${this.ply} moves`);
    this.graph.point(this.ply);
    const fresh = this.ply > 0 ? parseInt(film.steps[3 * (this.ply - 1) + 1] ?? '0', 36) : null;
    this.moved(film.boards[this.ply] ?? film.start, this.ply, fresh);
    this.tell();
  }

  tell() {
    const film = this.film;
    if (!film) return;
    const fact = (/** @type {string} */ name, /** @type {string} */ value) => h('span', {}, `${name} `, h('b', {}, value));
    this.place.replaceChildren(fact('move', `${grouped(this.ply)} of ${grouped(film.boards.length - 1)}`), fact('score', grouped(film.scores[this.ply] ?? 0)));
    const j = this.judged[this.ply];
    const mistake = this.mistakes.find((m) => m.ply === this.ply);
    for (const button of this.list.querySelectorAll('button')) {
      if (button.dataset['ply'] === String(this.ply)) { button.setAttribute('aria-current', 'true'); button.scrollIntoView({ block: 'nearest' }); } else button.removeAttribute('aria-current');
    }
    if (!j) this.opinion.textContent = this.ply === film.boards.length - 1 ? 'The end of the game.' : '';
    else if (mistake) this.opinion.textContent = `${mistake.grade === 'blunder' ? 'Blunder' : 'Mistake'}: ${NAMES[j.played]} was played, ${j.best === null ? '?' : NAMES[j.best]} ${better(mistake.cost, this.unit)}.`;
    else this.opinion.textContent = j.played === j.best ? `${NAMES[j.played]} was played: the agent's own move.` : `${NAMES[j.played]} was played; the agent prefers ${j.best === null ? 'none' : NAMES[j.best]}.`;
  }

  /** The move played next, and whether it was a mistake. */
  get current() {
    const j = this.judged[this.ply];
    return j ? { played: NAMES[j.played], best: j.best === null ? null : NAMES[j.best], mistake: this.mistakes.some((m) => m.ply === this.ply) } : null;
  }

  nextMistake() {
    const next = this.mistakes.find((m) => m.ply > this.ply) ?? this.mistakes[0];
    if (!next) return;
    this.go(next.ply);
    say(this.opinion.textContent ?? '');
  }

  close() {
    this.socket?.close();
    this.socket = null;
    this.film = null;
    this.controls.hidden = true;
    this.panel.hidden = true;
  }
}
