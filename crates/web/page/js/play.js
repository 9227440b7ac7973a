// A person's game. The server has said what each move will do before the key is pressed, so that the board answers at once.

import { catalogue, post } from './api.js';
import { Board, onSwipe } from './board.js';
import { better, field, grouped, h, randomSeed, recall, remember, say, select } from './dom.js';
import { AgentForm } from './form.js';
import { costOf, gradeOf, luck, scaleOf } from './grade.js';
import { MOVES, Values } from './values.js';

/** @typedef {import('../types').Direction} Direction @typedef {import('../types').GameState} GameState @typedef {import('../types').GameRequest} GameRequest
 * @typedef {import('../types').Analysis} Analysis @typedef {import('../types').View} View */

/** @type {Record<string, Direction>} */
const KEYS = { arrowleft: 'left', arrowright: 'right', arrowup: 'up', arrowdown: 'down', a: 'left', d: 'right', w: 'up', s: 'down' };
const CLASSIC = '2:0.9,4:0.1';
/** @type {[string, string][]} */
const SPAWNS = [[CLASSIC, '2 and 4 (90:10)'], ['2:1', 'only 2'], ['2:0.85,4:0.1,8:0.05', '2, 4 and 8'], ['2:0.5,4:0.5', '2 and 4 (50:50)']];

/** A number with its name. @param {string} name */
function counter(name) {
  const dd = h('dd', {}, '0');
  return { dd, element: h('dl', { class: 'score' }, h('dt', {}, name), dd) };
}

class Play {
  score = counter('Score');
  best = counter('Best');
  count = counter('Moves');
  undoButton = h('button', { type: 'button', onclick: () => this.undo(), title: 'U' }, 'Undo');
  redoButton = h('button', { type: 'button', onclick: () => this.redo(), title: 'R' }, 'Redo');
  hintButton = h('button', { type: 'button', onclick: () => this.hint(), title: 'H' }, 'Hint');
  warning = h('div', { class: 'notice warn', role: 'alert', hidden: true });
  error = h('div', { class: 'notice bad', role: 'alert', hidden: true });
  veil = h('div', { class: 'veil', role: 'dialog', 'aria-label': 'Game state', hidden: true });
  modeText = h('p', { class: 'small quietly' });
  seedText = h('p', { class: 'small quietly' });
  sizeField = select(['4x4'], '4x4');
  spawnField = select(SPAWNS, CLASSIC);
  seedField = h('input', { type: 'number', min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, placeholder: 'random' });

  constructor() {
    /** @type {GameRequest} */
    this.game = { size: '4x4', spawn: CLASSIC, seed: randomSeed(), game: 0, moves: '' };
    /** Moves taken back, the next to redo last. */
    this.undone = '';
    /** What is on the screen; `next` is null while the server has not said what comes. @type {Omit<GameState, 'next'> & { next: GameState['next'] | null } | null} */
    this.state = null;
    /** Keys pressed while the server had not answered yet. @type {Direction[]} */
    this.waiting = [];
    this.asked = 0;
    this.celebrated = false;
    this.mode = recall('advice') ?? 'demand';
    /** Analyses by board. @type {Map<string, Promise<Analysis>>} */
    this.thoughts = new Map();
    /** The best values of the positions so far, by number of moves. @type {(number | null)[]} */
    this.bests = [];
    this.board = new Board('Your board');
    this.values = new Values();
    this.form = new AgentForm(recall('adviser') ?? '', (spec) => { remember('adviser', spec); this.thoughts.clear(); this.bests = []; this.advise(); }, 'Adviser');
    this.element = this.#build();
    onSwipe(this.board.element, (direction) => this.move(direction));
  }

  #build() {
    this.board.element.append(this.veil);
    const buttons = h('div', { class: 'row' }, h('button', { type: 'button', class: 'main', onclick: () => this.fresh(), title: 'N' }, 'New game'), this.undoButton, this.redoButton, this.hintButton);
    const help = h('p', { class: 'small quietly' }, h('kbd', {}, '←'), ' ', h('kbd', {}, '↑'), ' ', h('kbd', {}, '→'), ' ', h('kbd', {}, '↓'), ' or swipe to move, ', h('kbd', {}, 'U'), ' undo, ', h('kbd', {}, 'R'), ' redo, ', h('kbd', {}, 'H'), ' hint, ', h('kbd', {}, 'N'), ' new game');
    const stage = h('div', { class: 'stage' }, h('div', { class: 'scores' }, this.score.element, this.best.element, this.count.element), this.board.element, buttons, this.warning, this.error, help);
    return h('section', { class: 'desk', 'aria-label': 'Play' }, stage, h('div', { class: 'panel' }, this.#advice(), this.#settings()));
  }

  #advice() {
    const choice = (/** @type {string} */ value, /** @type {string} */ text) => h('label', {}, h('input', { type: 'radio', name: 'advice', value, checked: this.mode === value, onchange: () => this.setMode(value) }), text);
    return h('div', { class: 'card' },
      h('fieldset', {}, h('legend', {}, 'Advice'), h('div', { class: 'choices' }, choice('off', 'None'), choice('demand', 'When I ask'), choice('always', 'Always'), choice('blunder', 'Only blunders'))),
      this.modeText, this.values.element, h('details', {}, h('summary', {}, 'Who advises'), this.form.element));
  }

  #settings() {
    const [size, spawn, seed] = [this.sizeField, this.spawnField, this.seedField];
    catalogue().then((found) => size.replaceChildren(...found.sizes.map((name) => h('option', { value: name, selected: name === this.game.size }, name))), () => {});
    const start = () => this.begin({ size: size.value, spawn: spawn.value, seed: seed.value === '' ? randomSeed() : Math.max(0, Math.floor(Number(seed.value))), game: 0, moves: '' });
    return h('div', { class: 'card' }, h('h2', {}, 'Game'),
      h('div', { class: 'fields' }, field('Board', size), field('New tiles', spawn), field('Seed', seed)),
      h('div', { class: 'row' }, h('button', { type: 'button', onclick: start }, 'Start this game'), h('button', { type: 'button', onclick: () => this.review() }, 'Review this game')), this.seedText);
  }

  /** @param {string} mode */
  setMode(mode) {
    this.mode = mode;
    remember('advice', mode);
    for (const input of this.element.querySelectorAll('input[name=advice]')) if (input instanceof HTMLInputElement) input.checked = input.value === mode;
    this.advise();
  }

  /** @param {GameRequest} game */
  async begin(game) {
    this.game = game;
    this.undone = '';
    this.celebrated = false;
    this.waiting = [];
    this.bests = [];
    this.thoughts.clear();
    this.form.fit(this.game.size);
    this.warning.hidden = true;
    await this.refresh();
  }

  fresh() {
    const { size, spawn } = this.game;
    return this.begin({ size, spawn, seed: randomSeed(), game: 0, moves: '' });
  }

  get bestKey() { return `best.${this.game.size}.${this.game.spawn}`; }

  /** Asks for the position and shows it without animation. */
  async refresh() {
    const number = ++this.asked;
    try {
      /** @type {GameState} */
      const state = await post('game', this.game);
      if (number !== this.asked) return;
      this.error.hidden = true;
      this.state = state;
      // A goal that was there before is no news.
      this.celebrated ||= state.max_tile >= state.goal;
      this.board.element.dataset['ready'] = 'yes';
      this.board.resize(state.rows, state.columns);
      this.board.show(state.board, this.game.moves ? null : state.fresh);
      this.settled();
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {unknown} error */
  fail(error) {
    this.error.textContent = error instanceof Error ? error.message : String(error);
    this.error.hidden = false;
  }

  /** @param {Direction} direction */
  move(direction) {
    const state = this.state;
    if (!state || !this.veil.hidden) return;
    if (!state.next) {
      if (this.waiting.length < 4) this.waiting.push(direction);
      return;
    }
    const outcome = state.next[direction];
    if (!outcome) return say(`${direction} changes nothing`);
    const before = { board: state.board, moves: state.moves };
    this.board.point(null);
    this.board.move(outcome.board, outcome.shifts, outcome.spawn);
    this.state = { ...state, board: outcome.board, score: state.score + outcome.reward, moves: state.moves + 1, max_tile: outcome.max_tile, over: outcome.over, next: null };
    this.gain(outcome.reward);
    this.undone = this.undone.endsWith(direction[0] ?? '') ? this.undone.slice(0, -1) : '';
    this.game.moves += direction[0];
    this.board.element.dataset['ready'] = 'no';
    this.score.dd.textContent = grouped(this.state.score);
    // The board comes first; everything else can wait for the next task.
    const moves = this.game.moves;
    setTimeout(() => {
      if (this.game.moves !== moves) return;
      this.warning.hidden = true;
      this.look();
      this.settled();
      this.judge(before, direction);
      const [cell, exponent] = outcome.spawn;
      if (!outcome.over) say(`${direction}${outcome.reward ? `, ${outcome.reward} points` : ''}, new ${2 ** exponent} in row ${Math.floor(cell / state.columns) + 1}, column ${(cell % state.columns) + 1}`);
    });
  }

  /** Asks what the next moves will do. */
  async look() {
    const number = ++this.asked;
    try {
      /** @type {GameState} */
      const state = await post('game', this.game);
      if (number !== this.asked) return;
      this.error.hidden = true;
      this.state = state;
      this.board.element.dataset['ready'] = 'yes';
      const next = this.waiting.shift();
      if (next) this.move(next);
    } catch (error) {
      this.waiting = [];
      this.fail(error);
    }
  }

  /** @param {number} points */
  gain(points) {
    if (points === 0) return;
    const old = this.score.element.querySelector('.gain');
    old?.remove();
    this.score.element.append(h('span', { class: 'gain', 'aria-hidden': 'true' }, `+${points}`));
  }

  /** Everything around the board, after it has changed. */
  settled() {
    const state = this.state;
    if (!state) return;
    // Only games from the start count: in a position that was set up, points are for the taking.
    const best = Math.max(Number(recall(this.bestKey) ?? 0), this.game.board ? 0 : state.score);
    // Writing to the disk can wait until the board is on the screen.
    setTimeout(() => { remember(this.bestKey, String(best)); remember('game', JSON.stringify(this.game)); });
    this.score.dd.textContent = grouped(state.score);
    this.best.dd.textContent = grouped(best);
    this.count.dd.textContent = grouped(state.moves);
    this.undoButton.disabled = this.game.moves === '';
    this.redoButton.disabled = this.undone === '';
    this.hintButton.disabled = state.over;
    this.seedText.textContent = `${this.game.size}, seed ${this.game.seed}: the same seed and moves always bring the same tiles.`;
    this.board.point(null);
    this.veil.hidden = true;
    if (state.over) this.cover(`Game over`, `${grouped(state.score)} points, ${grouped(state.moves)} moves, a ${state.max_tile}.`, [['New game', () => this.fresh()], ['Undo', () => this.undo()], ['Review this game', () => this.review()]]);
    else if (!this.celebrated && state.max_tile >= state.goal) {
      this.celebrated = true;
      this.cover(`${state.goal}!`, 'You have made it. How far can you go?', [['Keep going', () => { this.veil.hidden = true; }], ['New game', () => this.fresh()]]);
    }
    this.advise();
  }

  /** @param {string} title @param {string} text @param {[string, () => void][]} actions */
  cover(title, text, actions) {
    this.veil.replaceChildren(h('strong', {}, title), h('span', {}, text), h('div', { class: 'row' }, ...actions.map(([name, action], i) => h('button', { type: 'button', class: i === 0 ? 'main' : '', onclick: action }, name))));
    this.veil.hidden = false;
    say(`${title} ${text}`);
  }

  undo() {
    if (!this.game.moves) return;
    this.waiting = [];
    this.undone += this.game.moves.slice(-1);
    this.game.moves = this.game.moves.slice(0, -1);
    this.bests.length = Math.min(this.bests.length, this.game.moves.length + 1);
    this.warning.hidden = true;
    return this.refresh();
  }

  redo() {
    const letter = this.undone.slice(-1);
    const direction = MOVES.map(([name]) => name).find((name) => name[0] === letter);
    if (direction) this.move(direction);
  }

  /** What the adviser thinks of a board. @param {string} board */
  think(board) {
    let thought = this.thoughts.get(board);
    if (!thought) {
      thought = /** @type {Promise<Analysis>} */ (post('analyze', { board, agent: this.form.spec || undefined, size: this.game.size, spawn: this.game.spawn }));
      this.thoughts.set(board, thought);
      thought.catch(() => this.thoughts.delete(board));
      if (this.thoughts.size > 40) this.thoughts.delete(this.thoughts.keys().next().value ?? '');
    }
    return thought;
  }

  /** Shows what the mode allows to be seen. */
  async advise() {
    const texts = { off: 'You are on your own.', demand: 'Press H or Hint for the best move.', always: 'The arrow is what the adviser would play.', blunder: 'Values stay hidden; you hear of a move only if it was a blunder.' };
    this.modeText.textContent = texts[/** @type {keyof typeof texts} */ (this.mode)] ?? '';
    const state = this.state;
    if (this.mode !== 'always') this.values.clear();
    if (!state || state.over || this.mode === 'off' || this.mode === 'demand') return;
    try {
      const thought = await this.think(state.board);
      this.bests[state.moves] = thought.best && thought.moves[thought.best].value;
      if (this.mode === 'always' && this.state?.board === thought.board) this.reveal(thought);
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {Analysis} thought */
  reveal(thought) {
    this.values.show(thought.moves, thought.best, thought);
    this.board.point(thought.best);
  }

  async hint() {
    const state = this.state;
    if (!state || state.over) return;
    try {
      const thought = await this.think(state.board);
      if (this.state?.board !== thought.board) return;
      this.reveal(thought);
      say(`The adviser would play ${thought.best}`);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Warns of a blunder. @param {{ board: string, moves: number }} before @param {Direction} direction */
  async judge(before, direction) {
    if (this.mode !== 'blunder') return;
    try {
      const thought = await this.think(before.board);
      const values = MOVES.map(([name]) => thought.moves[name].value);
      const place = (/** @type {Direction | null} */ move) => MOVES.findIndex(([name]) => name === move);
      const cost = costOf(values, place(thought.best), place(direction));
      const grade = gradeOf(cost, scaleOf(values, luck(this.bests.slice(0, before.moves + 1))));
      if (grade !== 'blunder' || this.game.moves.length !== before.moves + 1) return;
      const back = h('button', { type: 'button', onclick: async () => { await this.undo(); this.reveal(thought); } }, 'Take it back');
      this.warning.replaceChildren(h('p', {}, h('strong', {}, `Blunder: ${direction}. `), `${thought.best} ${better(cost ?? 0, thought.unit)}.`), back);
      this.warning.hidden = false;
    } catch (error) {
      this.fail(error);
    }
  }

  async review() {
    try {
      /** @type {GameState} */
      const state = await post('game', { ...this.game, film: true });
      if (!state.film || state.film.boards.length < 2) return this.fail(new Error('Make a move first: there is nothing to review yet.'));
      const { loadFilm } = await import('./review.js');
      loadFilm(state.film);
      location.hash = '#/analyse?game=mine';
    } catch (error) {
      this.fail(error);
    }
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const key = event.key.toLowerCase();
    const direction = KEYS[key];
    if (direction) {
      if (event.target instanceof HTMLInputElement && event.target.type === 'radio' && key.startsWith('arrow')) return false;
      this.move(direction);
      return true;
    }
    const actions = { u: () => this.undo(), z: () => this.undo(), r: () => this.redo(), h: () => this.hint(), n: () => this.fresh() };
    const action = actions[/** @type {keyof typeof actions} */ (key)];
    action?.();
    return action !== undefined;
  }

  /** @param {URLSearchParams} params */
  enter(params) {
    const board = params.get('board');
    const seed = params.get('seed');
    if (board || seed) {
      const size = params.get('size') ?? '4x4';
      history.replaceState(null, '', '#/play');
      this.begin({ size, spawn: CLASSIC, seed: Number(seed ?? 1), game: 0, moves: '', ...(board ? { board } : {}) });
    } else if (!this.state) {
      this.restore();
    }
  }

  /** The game of the last visit, or a new one. */
  async restore() {
    try {
      const kept = JSON.parse(recall('game') ?? 'null');
      if (kept && typeof kept.moves === 'string' && kept.moves) {
        this.game = kept;
        this.sizeField.value = kept.size;
        this.spawnField.value = kept.spawn;
        this.form.fit(kept.size);
        await this.refresh();
        if (this.state) return;
      }
    } catch { /* a damaged memory is no memory */ }
    await this.begin({ size: '4x4', spawn: CLASSIC, seed: randomSeed(), game: 0, moves: '' });
  }
}

/** @returns {View} */
export function createPlay() {
  const play = new Play();
  return { element: play.element, enter: (params) => play.enter(params), leave: () => {}, key: (event) => play.key(event) };
}
