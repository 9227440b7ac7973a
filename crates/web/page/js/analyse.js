// Any position, any agents: enter, paste or edit a board, and see what each agent thinks of the four moves. Or load a game.

import { catalogue, get, post } from './api.js';
import { Board, exponents } from './board.js';
import { breakable, field, grouped, h, inUnit, recall, remember, say, select } from './dom.js';
import { AgentForm } from './form.js';
import { Review, takeFilm } from './review.js';
import { MOVES } from './values.js';

/** @typedef {import('../types').Analysis} Analysis @typedef {import('../types').BoardInfo} BoardInfo @typedef {import('../types').Direction} Direction
 * @typedef {import('../types').Film} Film @typedef {import('../types').RecordInfo} RecordInfo @typedef {import('../types').RecordGames} RecordGames @typedef {import('../types').View} View */

const EXAMPLE = 'a987123600120001';

class Analyse {
  palette = h('div', { class: 'palette', role: 'group', 'aria-label': 'Tile to set' });
  link = h('input', { type: 'text', readonly: true, 'aria-label': 'Link to this position' });
  adder = new AgentForm('', () => {}, 'Another agent');
  line = h('p', { class: 'small quietly' });
  file = h('input', { type: 'file', accept: '.rec,application/octet-stream', 'aria-label': 'Record file', onchange: () => this.upload() });
  records = h('select', { 'aria-label': 'Record', onchange: () => this.openRecord(this.records.value) }, h('option', { value: '' }, 'choose a record'));
  games = h('select', { 'aria-label': 'Game', disabled: true, onchange: () => this.openGame(this.records.value, this.games.value) }, h('option', { value: '' }, 'choose a game'));
  paste = h('textarea', { 'aria-label': 'Replay text', placeholder: 'What afterstate replay --json prints, or a 2048verse replay', spellcheck: 'false' });
  loadError = h('div', { class: 'notice bad', role: 'alert', hidden: true });
  /** @type {HTMLTableRowElement[]} */
  rows = [];
  /** @type {BoardInfo | null} */
  info = null;
  /** The agent that judges the loaded game. */
  judge = '';

  constructor() {
    this.size = '4x4';
    this.digits = EXAMPLE;
    this.brush = -1;
    /** @type {AbortController | null} */
    this.asking = null;
    this.board = new Board('Position');
    this.review = new Review((board, _, fresh) => this.show(board, fresh));
    /** The agents of the table, if anyone has chosen them. @type {string[] | null} */
    this.chosen = JSON.parse(recall('analysts') ?? 'null');
    /** The agent of each board size that is asked unless others are chosen. @type {Record<string, string>} */
    this.defaults = {};
    this.text = h('input', { type: 'text', spellcheck: 'false', autocomplete: 'off', 'aria-label': 'Position in digits or tiles', onchange: () => this.enterText(this.text.value) });
    this.tilesText = h('code', { class: 'spec' });
    this.error = h('div', { class: 'notice bad', role: 'alert', hidden: true });
    this.sizes = select(['4x4'], '4x4');
    this.sizes.addEventListener('change', () => this.setPosition('0'.repeat(this.sizes.value.split('x').map(Number).reduce((a, b) => a * b, 1)), this.sizes.value));
    catalogue().then((found) => this.sizes.replaceChildren(...found.sizes.map((name) => h('option', { value: name, selected: name === this.size }, name))), () => {});
    this.head = h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'agent'), ...MOVES.map(([, sign, name]) => h('th', { scope: 'col', title: name }, sign)), h('th', { scope: 'col' }, 'ahead'), h('th', { scope: 'col' }, 'ms'), h('th', {}, h('span', { class: 'aside' }, 'remove'))));
    this.body = h('tbody');
    this.over = h('p', { class: 'notice', hidden: true }, 'No move is legal here: the game is over.');
    this.element = h('section', { class: 'desk', 'aria-label': 'Analyse' }, this.#stage(), h('div', { class: 'panel' }, this.#opinions(), this.review.panel, this.#loader()));
    this.#makeEditable();
  }

  /** @returns {string[]} */
  get agents() { return this.chosen ?? [this.defaults[this.size] ?? 'expectimax', 'greedy:eval=heuristic']; }

  #stage() {
    const copy = h('button', { type: 'button', onclick: () => this.share() }, 'Copy link');
    const play = h('button', { type: 'button', onclick: () => { location.hash = `#/play?board=${this.digits}&size=${this.size}`; } }, 'Play from here');
    const clear = h('button', { type: 'button', onclick: () => { this.review.close(); this.setPosition('0'.repeat(this.digits.length), this.size); } }, 'Clear');
    return h('div', { class: 'stage' }, this.board.element, this.review.controls,
      h('div', { class: 'card' }, h('h2', {}, 'Position'), h('div', { class: 'fields' }, field('Digits or tiles', this.text, '', 'wide'), field('Board', this.sizes)), this.tilesText, this.error,
        h('details', {}, h('summary', {}, 'Edit tiles'), h('p', { class: 'small quietly' }, 'Choose a tile and press cells, or press a cell to double it. With keys: move between cells with Tab, + and − change the tile, 0 empties it.'), this.palette),
        h('div', { class: 'row' }, copy, play, clear), field('Link to this position', this.link, '', 'wide')));
  }

  #opinions() {
    const add = h('button', { type: 'button', onclick: () => this.add(this.adder.spec) }, 'Add to the table');
    return h('div', { class: 'card' }, h('h2', {}, 'What agents think'), h('div', { class: 'wide-table' }, h('table', { class: 'plain', 'data-opinions': '' }, this.head, this.body)), this.over,
      this.line, h('details', {}, h('summary', {}, 'Add an agent'), this.adder.element, add));
  }

  #loader() {
    const load = h('button', { type: 'button', onclick: () => this.import() }, 'Load this text');
    return h('div', { class: 'card' }, h('h2', {}, 'Load a game'), h('p', { class: 'small quietly' }, 'A record made with ', h('code', {}, 'afterstate eval --records'), ', a game of an evaluation, or your own game from Play.'),
      h('div', { class: 'fields' }, field('Record file', this.file, '', 'wide'), field('Records here', this.records), field('Game', this.games)),
      h('details', {}, h('summary', {}, 'Paste a replay'), this.paste, load), this.loadError);
  }

  #makeEditable() {
    this.board.cells.addEventListener('click', (event) => {
      const cell = [...this.board.cells.children].indexOf(/** @type {Element} */ (event.target));
      if (cell >= 0) this.paint(cell, this.brush >= 0 ? this.brush : (exponents(this.digits)[cell] ?? 0) + 1);
    });
    this.board.cells.addEventListener('keydown', (event) => {
      const cell = [...this.board.cells.children].indexOf(/** @type {Element} */ (event.target));
      if (cell < 0) return;
      const exponent = exponents(this.digits)[cell] ?? 0;
      const change = { '+': exponent + 1, '=': exponent + 1, '-': exponent - 1, 0: 0, Delete: 0, Backspace: 0, Enter: exponent + 1 }[event.key];
      if (change === undefined) return;
      event.preventDefault();
      this.paint(cell, Math.max(0, change), true);
    });
  }

  /** Cells that can be pressed, in place of those that cannot. */
  #cells() {
    const tiles = exponents(this.digits);
    const columns = this.board.columns;
    if (this.board.cells.children.length !== tiles.length || this.board.cells.firstElementChild?.tagName !== 'BUTTON') {
      this.board.cells.replaceChildren(...tiles.map(() => h('button', { type: 'button', class: 'cell', 'data-keys': '' })));
    }
    tiles.forEach((e, cell) => this.board.cells.children[cell]?.setAttribute('aria-label', `row ${Math.floor(cell / columns) + 1}, column ${(cell % columns) + 1}: ${e ? 2 ** e : 'empty'}`));
  }

  /** @param {number} cell @param {number} exponent @param {boolean} [keep] */
  paint(cell, exponent, keep = false) {
    const largest = this.info ? Math.log2(this.info.largest) : 17;
    const digit = (exponent > largest ? 0 : exponent).toString(36);
    this.setPosition(this.digits.slice(0, cell) + digit + this.digits.slice(cell + 1), this.size);
    if (keep) /** @type {HTMLElement} */ (this.board.cells.children[cell])?.focus();
  }

  #palette() {
    const largest = this.info ? Math.log2(this.info.largest) : 17;
    if (this.palette.children.length === largest + 1) return;
    const button = (/** @type {number} */ e) => h('button', { type: 'button', class: `e${e}`, 'aria-pressed': String(this.brush === e), 'aria-label': e ? String(2 ** e) : 'empty', onclick: () => this.setBrush(e) }, e ? String(2 ** e) : '·');
    this.palette.replaceChildren(...Array.from({ length: Math.min(largest, 17) + 1 }, (_, e) => button(e)));
  }

  /** @param {number} exponent */
  setBrush(exponent) {
    this.brush = this.brush === exponent ? -1 : exponent;
    [...this.palette.children].forEach((child, e) => child.setAttribute('aria-pressed', String(e === this.brush)));
  }

  /** @param {string} text */
  enterText(text) { return this.setPosition(text, this.size); }

  /** Checks a position with the server and shows it. @param {string} text @param {string} size */
  async setPosition(text, size) {
    try {
      /** @type {BoardInfo} */
      const info = await post('board', { board: text, size });
      this.info = info;
      this.size = size;
      this.sizes.value = size;
      this.adder.fit(size);
      this.board.resize(info.rows, info.columns);
      this.error.hidden = true;
      this.show(info.board, null, info.tiles);
      this.over.hidden = !info.over;
    } catch (error) {
      this.error.textContent = error instanceof Error ? error.message : String(error);
      this.error.hidden = false;
    }
  }

  /** @param {string} digits @param {number | null} fresh @param {string} [tiles] */
  show(digits, fresh, tiles) {
    this.digits = digits;
    this.board.show(digits, fresh);
    this.#cells();
    this.#palette();
    this.text.value = digits;
    const [, columns] = this.size.split('x').map(Number);
    const names = exponents(digits).map((e) => (e ? String(2 ** e) : '0'));
    this.tilesText.textContent = tiles ?? names.map((n, i) => n + ((i + 1) % (columns ?? 4) === 0 && i + 1 < names.length ? ' /' : '')).join(' ');
    this.link.value = `${location.origin}/#/analyse?board=${digits}${this.size === '4x4' ? '' : `&size=${this.size}`}`;
    this.board.point(null);
    this.ask();
  }

  /** Asks every agent, a moment after the last change. */
  ask() {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    this.rows = this.agents.map((agent) => this.#row(agent));
    this.body.replaceChildren(...this.rows);
    if (this.agents.length === 0) this.body.append(h('tr', {}, h('td', { colspan: 8, class: 'quietly' }, 'No agent yet: add one below.')));
    setTimeout(() => {
      if (asking.signal.aborted) return;
      this.agents.forEach((agent, i) => this.#askOne(agent, i, asking.signal));
    }, 60);
  }

  /** @param {string} agent */
  #row(agent) {
    const remove = h('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${agent}`, onclick: () => { this.chosen = this.agents.filter((a) => a !== agent); this.keep(); this.ask(); } }, '×');
    return h('tr', { 'data-agent': agent }, h('td', {}, ...breakable(agent)), ...MOVES.map(() => h('td', {}, '…')), h('td', {}, ''), h('td', {}, ''), h('td', {}, remove));
  }

  /** @param {string} agent @param {number} index @param {AbortSignal} signal */
  async #askOne(agent, index, signal) {
    const cells = () => [...(this.rows[index]?.children ?? [])];
    try {
      /** @type {Analysis} */
      const found = await post('analyze', { board: this.digits, agent, size: this.size, spawn: this.review.film?.spawn }, signal);
      if (signal.aborted) return;
      MOVES.forEach(([name], i) => {
        const { value, legal, visits } = found.moves[name];
        const cell = cells()[i + 1];
        if (!cell) return;
        cell.textContent = value === null ? (legal ? (found.best === name ? 'best' : '·') : '–') : inUnit(value, found.unit);
        if (visits) cell.append(h('small', {}, `${grouped(visits)} tries`));
        const success = found.table?.success[name] ?? null;
        if (success !== null) cell.append(h('small', {}, `succeeds ${(100 * success).toFixed(1)}%`));
        cell.classList.toggle('best', found.best === name);
      });
      const [depth, ms] = [cells()[5], cells()[6]];
      if (depth) depth.textContent = String(found.depth);
      if (ms) ms.textContent = found.ms.toFixed(1);
      cells()[0]?.setAttribute('title', `${grouped(found.nodes)} slides examined`);
      cells()[0]?.append(h('small', {}, found.table ? `${found.unit}; endgame table ${found.table.pattern} decides` : found.unit));
      if (index === 0) this.first(found);
    } catch (error) {
      if (signal.aborted) return;
      const cell = cells()[1];
      cells().slice(2, 7).forEach((other) => other.remove());
      if (cell) { cell.setAttribute('colspan', '6'); cell.className = 'error'; cell.textContent = error instanceof Error ? error.message : String(error); }
    }
  }

  /** @param {Analysis} found */
  first(found) {
    const played = this.review.film ? this.review.current : null;
    this.board.point(played?.mistake ? /** @type {Direction} */ (played.best) : found.best);
    const line = found.line.map((step) => step.move + (step.spawn ? ` (${step.spawn.tile})` : '')).join(', ');
    this.line.textContent = found.line.length > 1 ? `${found.agent} expects: ${line}.` : '';
  }

  /** @param {string} agent */
  add(agent) {
    this.chosen = [...this.agents.filter((a) => a !== agent), agent].slice(-8);
    this.keep();
    this.ask();
  }

  keep() {
    remember('analysts', JSON.stringify(this.chosen));
    // The first agent of the table is the one that judges a loaded game.
    const judge = this.agents[0];
    if (judge && judge !== this.judge) this.review.judge(judge);
    this.judge = judge ?? '';
  }

  async share() {
    this.link.select();
    try {
      await navigator.clipboard.writeText(this.link.value);
      say('Link copied');
    } catch {
      say('The link is selected: copy it with your keyboard');
    }
  }

  /** @param {unknown} error */
  failLoad(error) {
    this.loadError.textContent = error instanceof Error ? error.message : String(error);
    this.loadError.hidden = false;
  }

  async listRecords() {
    try {
      /** @type {RecordInfo[]} */
      const found = await get('records');
      const chosen = this.records.value;
      this.records.replaceChildren(h('option', { value: '' }, found.length ? 'choose a record' : 'none yet'), ...found.map((r) => h('option', { value: r.id, selected: r.id === chosen }, `${r.id}: ${r.agent}, ${r.size}`)));
    } catch (error) { this.failLoad(error); }
  }

  async upload() {
    const file = this.file.files?.[0];
    if (!file) return;
    this.loadError.hidden = true;
    try {
      /** @type {RecordGames} */
      const record = await post('records', file);
      await this.listRecords();
      this.records.value = record.id;
      this.fillGames(record);
    } catch (error) { this.failLoad(error); }
  }

  /** @param {string} id */
  async openRecord(id) {
    if (!id) return;
    try { this.fillGames(await get(`records/${encodeURIComponent(id)}`)); } catch (error) { this.failLoad(error); }
  }

  /** @param {RecordGames} record */
  fillGames(record) {
    this.games.replaceChildren(...record.games.slice(0, 2000).map((g) => h('option', { value: g.game }, `${g.game}: ${grouped(g.score)} points, ${g.max_tile}`)));
    this.games.disabled = record.games.length === 0;
    const first = record.games[0];
    if (first) this.openGame(record.id, String(first.game));
    else this.failLoad(new Error('This record holds no games.'));
  }

  /** @param {string} id @param {string} game */
  async openGame(id, game) {
    try { this.load(await get(`records/${encodeURIComponent(id)}/games/${game}`)); } catch (error) { this.failLoad(error); }
  }

  async import() {
    this.loadError.hidden = true;
    try { this.load(await post('import', { text: this.paste.value })); } catch (error) { this.failLoad(error); }
  }

  /** @param {Film} film */
  load(film) {
    this.loadError.hidden = true;
    this.size = film.size;
    this.sizes.value = film.size;
    const [rows, columns] = film.size.split('x').map(Number);
    this.board.resize(rows ?? 4, columns ?? 4);
    this.judge = this.agents[0] ?? 'expectimax';
    this.review.load(film, this.judge);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (!this.review.film) return false;
    const actions = { ArrowLeft: () => this.review.go(this.review.ply - 1), ArrowRight: () => this.review.go(this.review.ply + 1), Home: () => this.review.go(0), End: () => this.review.go(Infinity), m: () => this.review.nextMistake() };
    const action = actions[/** @type {keyof typeof actions} */ (event.key)];
    action?.();
    return action !== undefined;
  }

  /** @param {URLSearchParams} params */
  async enter(params) {
    this.defaults = await catalogue().then((found) => found.default_agents, () => ({}));
    this.listRecords();
    const film = takeFilm();
    const record = params.get('record');
    const board = params.get('board');
    if (board) this.review.close();
    if (film) this.load(film);
    else if (record) this.openRecord(record).then(() => { this.records.value = record; });
    else if (board || !this.info) this.setPosition(board ?? this.digits, params.get('size') ?? (board ? '4x4' : this.size));
    const agent = params.get('agent');
    if (agent) this.add(agent);
  }

  leave() { this.asking?.abort(); }
}

/** @returns {View} */
export function createAnalyse() {
  const analyse = new Analyse();
  return { element: analyse.element, enter: (params) => analyse.enter(params), leave: () => analyse.leave(), key: (event) => analyse.key(event) };
}
