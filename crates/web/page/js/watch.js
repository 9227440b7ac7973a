// Agents at play: one, or two side by side on the same seed. Each board has a socket of its own; closing it ends the search.

import { catalogue, socket } from './api.js';
import { Board } from './board.js';
import { field, grouped, h, randomSeed, recall, remember, say, select } from './dom.js';
import { AgentForm } from './form.js';
import { Values } from './values.js';

/** @typedef {import('../types').Frame} Frame @typedef {import('../types').View} View */

/** Moves a second; 0 is as fast as it goes. */
const SPEEDS = [1, 2, 5, 10, 20, 50, 0];
/** Slides are drawn up to this speed. */
const SLIDING = 12;

class Lane {
  /** @param {string} spec @param {string} name */
  constructor(spec, name) {
    this.name = name;
    this.board = new Board(`Board of ${name}`);
    this.values = new Values();
    this.form = new AgentForm(spec, (chosen) => remember(`watch.${name}`, chosen), name, 'default_players');
    this.facts = h('p', { class: 'facts', 'data-facts': '' });
    this.notice = h('div', { class: 'notice bad', role: 'alert', hidden: true });
    this.veil = h('div', { class: 'veil', hidden: true });
    this.board.element.append(this.veil);
    this.element = h('div', { class: 'lane', 'data-lane': name }, h('div', { class: 'card' }, this.form.element), h('div', { class: 'framed' }, this.board.element, this.notice), this.facts, h('div', { class: 'card' }, this.values.element));
    /** @type {ReturnType<typeof socket> | null} */
    this.socket = null;
    /** @type {Frame | null} */
    this.frame = null;
    /** The newest frame that is not on the screen yet. @type {Frame | null} */
    this.pending = null;
    this.shown = 0;
    /** Orders given: a frame that has heard fewer does not follow the last of them yet. */
    this.sent = 0;
    /** Slow enough for an arrow to be seen. */
    this.slow = false;
  }

  /** @param {object} order */
  order(order) {
    if (this.socket?.send(order)) this.sent += 1;
  }

  /** @param {string} title @param {string} text */
  cover(title, text) {
    this.veil.replaceChildren(h('strong', {}, title), h('span', {}, text));
    this.veil.hidden = false;
  }

  /** @param {object} start @param {object} order @param {{ drawn: () => void, changed: () => void }} listeners */
  start(start, order, { drawn, changed }) {
    this.stop();
    this.notice.hidden = true;
    this.frame = null;
    this.sent = 0;
    this.board.show('0'.repeat(this.board.rows * this.board.columns));
    this.board.point(null);
    this.values.clear();
    this.facts.replaceChildren();
    delete this.element.dataset['moves'];
    this.cover('Loading…', this.form.spec);
    this.socket = socket('watch', {
      open: () => this.order({ start: { ...start, agent: this.form.spec }, ...order }),
      message: (data) => {
        if (data.type === 'error') return this.fail(data.error);
        // Frames may come faster than the screen: only the newest is drawn.
        if (!this.pending) requestAnimationFrame(() => { this.draw(); drawn(); });
        this.pending = data;
      },
      close: (opened) => {
        this.socket = null;
        if (!opened) this.fail('the server refused: too many games may be watched already, or it has stopped');
        changed();
      },
    });
  }

  /** @param {string} message */
  fail(message) {
    this.notice.textContent = message;
    this.notice.hidden = false;
    if (!this.frame) this.cover('No game', 'Choose another agent and start again.');
  }

  draw() {
    const frame = this.pending;
    this.pending = null;
    if (!frame) return;
    this.shown += 1;
    this.element.dataset['shown'] = String(this.shown);
    if (frame.last && this.frame && !this.board.element.classList.contains('fast')) this.board.move(frame.board, frame.last.shifts, frame.last.spawn);
    else this.board.show(frame.board);
    this.board.point(frame.paused || this.slow ? frame.best : null);
    this.values.show(frame.values, frame.best, frame);
    const fact = (/** @type {string} */ name, /** @type {string} */ value) => h('span', {}, `${name} `, h('b', {}, value));
    this.facts.replaceChildren(fact('score', grouped(frame.score)), fact('moves', grouped(frame.moves)), fact('largest', String(frame.max_tile)), fact('moves/s', frame.rate ? grouped(frame.rate) : '–'));
    this.element.dataset['moves'] = String(frame.moves);
    this.element.dataset['rate'] = String(frame.rate);
    if (frame.over && !this.frame?.over) {
      this.cover('Game over', `${grouped(frame.score)} points, a ${frame.max_tile}`);
      say(`${this.name}: game over with ${frame.score} points`);
    }
    this.veil.hidden = !frame.over;
    if (frame.goal) say(`${this.name} has reached ${frame.max_tile}`);
    this.frame = frame;
  }

  stop() {
    this.socket?.close();
    this.socket = null;
    this.pending = null;
  }
}

class Watch {
  constructor() {
    this.lanes = [new Lane(recall('watch.First agent') ?? '', 'First agent'), new Lane(recall('watch.Second agent') ?? 'greedy:eval=heuristic', 'Second agent')];
    this.two = h('input', { type: 'checkbox', onchange: () => this.layout() });
    this.size = select(['4x4'], '4x4');
    catalogue().then((found) => this.size.replaceChildren(...found.sizes.map((name) => h('option', { value: name, selected: name === '4x4' }, name))), () => {});
    this.size.addEventListener('change', () => { for (const lane of this.lanes) lane.form.fit(this.size.value); });
    this.spawn = h('input', { type: 'text', value: '2:0.9,4:0.1', spellcheck: 'false' });
    this.seed = h('input', { type: 'number', min: 0, step: 1, value: 1 });
    this.stopAt = select([['0', 'never'], ...['512', '1024', '2048', '4096', '8192', '16384', '32768'].map((t) => /** @type {[string, string]} */ ([t, t]))], '0');
    this.stopAt.addEventListener('change', () => this.order({ stop_at: Number(this.stopAt.value) }));
    this.speed = h('input', { type: 'range', min: 0, max: SPEEDS.length - 1, step: 1, value: 2, 'aria-label': 'Speed', oninput: () => this.setSpeed() });
    this.speedText = h('output');
    this.startButton = h('button', { type: 'button', class: 'main', onclick: () => this.start() }, 'Start');
    this.pauseButton = h('button', { type: 'button', onclick: () => this.pause(), disabled: true }, 'Pause');
    this.stepButton = h('button', { type: 'button', onclick: () => this.step(), disabled: true }, 'Step');
    const board = h('button', { type: 'button', class: 'quiet', onclick: () => this.analyse() }, 'Analyse this position');
    const controls = h('div', { class: 'card watch-controls' }, h('div', { class: 'row' }, this.startButton, this.pauseButton, this.stepButton),
      h('label', { class: 'field' }, h('span', {}, 'Speed: ', this.speedText), this.speed), field('Stop at tile', this.stopAt),
      h('p', { class: 'small quietly' }, h('kbd', {}, 'Space'), ' pause, ', h('kbd', {}, '.'), ' step, ', h('kbd', {}, '+'), ' ', h('kbd', {}, '−'), ' speed'), board);
    const game = h('div', { class: 'card' }, h('h2', {}, 'Game'), h('div', { class: 'fields' }, field('Board', this.size), field('Seed', this.seed), field('New tiles', this.spawn, 'TILE:PROBABILITY pairs', 'wide'), field('Two agents on the same seed', this.two, '', 'wide')),
      h('button', { type: 'button', onclick: () => { this.seed.value = String(randomSeed()); this.start(); } }, 'Another seed'));
    this.row = h('div', { class: 'lanes' }, ...this.lanes.map((lane) => lane.element));
    this.element = h('section', { class: 'watch-desk', 'aria-label': 'Watch' }, this.row, h('div', { class: 'panel' }, controls, game));
    this.paused = false;
    this.layout();
    this.setSpeed();
    for (const lane of this.lanes) {
      lane.board.show('0000000000000000');
      lane.cover('Ready', 'Choose an agent and press Start.');
    }
  }

  get active() { return this.two.checked ? this.lanes : this.lanes.slice(0, 1); }

  layout() {
    const two = this.two.checked;
    this.row.style.setProperty('--lanes', two ? '2' : '1');
    this.element.classList.toggle('one', !two);
    const second = this.lanes[1];
    if (second) second.element.hidden = !two;
    if (!two) second?.stop();
  }

  setSpeed() {
    const speed = SPEEDS[Number(this.speed.value)] ?? 5;
    this.speedText.textContent = speed === 0 ? 'as fast as it goes' : speed === 1 ? '1 move a second' : `${speed} moves a second`;
    for (const lane of this.lanes) {
      lane.board.fast = speed === 0 || speed > SLIDING;
      lane.slow = speed > 0 && speed <= 5;
    }
    this.order({ speed });
  }

  /** @param {object} order */
  order(order) {
    for (const lane of this.active) lane.order(order);
  }

  start() {
    const [rows, columns] = this.size.value.split('x').map(Number);
    this.paused = false;
    const start = { size: this.size.value, spawn: this.spawn.value, seed: Math.max(0, Math.floor(Number(this.seed.value) || 0)), game: 0 };
    const order = { speed: SPEEDS[Number(this.speed.value)], stop_at: Number(this.stopAt.value), pause: false };
    for (const lane of this.active) {
      lane.board.resize(rows ?? 4, columns ?? 4);
      lane.start(start, order, { drawn: () => this.drawn(), changed: () => this.changed() });
    }
    this.changed();
  }

  pause() {
    this.paused = !this.paused;
    this.order({ pause: this.paused });
    this.changed();
  }

  step() {
    this.paused = true;
    this.order({ step: 1 });
    this.changed();
  }

  /** A new picture: games that have stopped at a tile, or go on, say so themselves, unless an order is still on its way to them. */
  drawn() {
    const frames = this.active.filter((lane) => lane.socket && lane.frame?.heard === lane.sent).map((lane) => lane.frame).filter((frame) => frame && !frame.over);
    if (frames.length) this.paused = frames.every((frame) => frame?.paused);
    this.changed();
  }

  changed() {
    const running = this.active.some((lane) => lane.socket && !lane.frame?.over);
    this.startButton.textContent = this.active.some((lane) => lane.frame) ? 'Start again' : 'Start';
    this.pauseButton.disabled = !running;
    this.stepButton.disabled = !running;
    this.pauseButton.textContent = this.paused ? 'Go on' : 'Pause';
  }

  analyse() {
    const board = this.lanes[0]?.frame?.board;
    if (board) location.hash = `#/analyse?board=${board}&size=${this.size.value}`;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === ' ' && !(event.target instanceof HTMLButtonElement) && !(event.target instanceof HTMLInputElement)) { this.pauseButton.disabled ? this.start() : this.pause(); return true; }
    if (event.key === '.') { this.step(); return true; }
    if (event.key === '+' || event.key === '-') {
      this.speed.value = String(Number(this.speed.value) + (event.key === '+' ? 1 : -1));
      this.setSpeed();
      return true;
    }
    return false;
  }

  /** @param {URLSearchParams} params */
  enter(params) {
    const agent = params.get('agent');
    if (agent) {
      history.replaceState(null, '', '#/watch');
      const lane = this.lanes[0];
      if (lane) lane.form.ready.then(() => { lane.form.set(agent); this.start(); });
    }
  }

  leave() {
    if (!this.paused && this.active.some((lane) => lane.socket)) this.pause();
  }
}

/** @returns {View} */
export function createWatch() {
  const watch = new Watch();
  return { element: watch.element, enter: (params) => watch.enter(params), leave: () => watch.leave(), key: (event) => watch.key(event) };
}
