// Evaluations: run them, see how they stand, and the six figures of any that have ended.

import { catalogue, get, post, remove, socket } from './api.js';
import { breakable, field, grouped, h, recall, refill, remember, say, select } from './dom.js';
import { AgentForm } from './form.js';

/** @typedef {import('../types').EvaluationEntry} EvaluationEntry @typedef {import('../types').RecordInfo} RecordInfo @typedef {import('../types').Report} Report @typedef {import('../types').View} View */

const STANDINGS = { waiting: 'waiting', running: 'running', done: 'done', cancelled: 'cancelled', failed: 'failed' };

class Compare {
  /** The ids that the report on the screen is about. */
  drawn = '';
  /** @type {ReturnType<typeof socket> | undefined} */
  live = undefined;

  constructor() {
    /** @type {EvaluationEntry[]} */
    this.entries = [];
    /** @type {RecordInfo[]} */
    this.records = [];
    /** @type {Set<string>} */
    this.chosen = new Set();
    /** Evaluations that were seen before: a new one is chosen by itself when it ends. @type {Set<string>} */
    this.ended = new Set();
    this.form = new AgentForm(recall('evaluate') ?? 'expectimax:depth=1', (spec) => remember('evaluate', spec));
    this.games = h('input', { type: 'number', min: 1, max: 10000, step: 1, value: 100 });
    this.seed = h('input', { type: 'number', min: 0, step: 1, value: 1 });
    this.size = select(['4x4'], '4x4');
    catalogue().then((found) => { this.size.replaceChildren(...found.sizes.map((name) => h('option', { value: name, selected: name === '4x4' }, name))); this.games.max = String(found.max_games); }, () => {});
    this.size.addEventListener('change', () => this.form.fit(this.size.value));
    this.error = h('div', { class: 'notice bad', role: 'alert', hidden: true });
    this.gone = h('div', { class: 'notice bad', role: 'alert', hidden: true }, 'The server has gone; trying again.');
    this.list = h('ul', { class: 'list', 'aria-label': 'Evaluations' });
    this.recordList = h('ul', { class: 'list', 'aria-label': 'Records' });
    this.verdict = h('p', { class: 'notice good', hidden: true, 'data-verdict': '' });
    this.figures = h('div', { class: 'figures' });
    this.table = h('div', { class: 'wide-table' });
    this.download = h('a', { class: 'small', hidden: true, download: 'report.html' }, 'Save as one HTML file');
    const run = h('button', { type: 'button', class: 'main', onclick: () => this.run() }, 'Run evaluation');
    this.element = h('section', { 'aria-label': 'Compare', class: 'panel' },
      h('div', { class: 'desk' },
        h('div', { class: 'card' }, h('h2', {}, 'Evaluate an agent'), this.form.element, h('div', { class: 'fields' }, field('Games', this.games), field('Seed', this.seed), field('Board', this.size)), h('div', { class: 'row' }, run), this.error, this.gone),
        h('div', { class: 'card' }, h('h2', {}, 'Evaluations'), h('p', { class: 'small quietly' }, 'Tick up to eight to compare. The same seed gives all agents the same starts.'), this.list, this.recordTitle = h('h3', { hidden: true }, 'Records'), this.recordList)),
      this.report = h('div', { class: 'card', hidden: true }, h('div', { class: 'row spread' }, h('h2', {}, 'Side by side'), this.download), this.verdict, this.table, this.figures));
    this.render();
  }

  async run() {
    this.error.hidden = true;
    try {
      const { id } = /** @type {{ id: string }} */ (await post('evaluations', { agent: this.form.spec, games: Math.floor(Number(this.games.value)), seed: Math.max(0, Math.floor(Number(this.seed.value))), size: this.size.value }));
      say(`Evaluation ${id} has begun`);
    } catch (error) { this.fail(error); }
  }

  /** @param {unknown} error */
  fail(error) {
    this.error.textContent = error instanceof Error ? error.message : String(error);
    this.error.hidden = false;
  }

  /** @param {EvaluationEntry[]} entries */
  update(entries) {
    this.entries = entries;
    for (const entry of entries) {
      if (entry.summary && !this.ended.has(entry.id)) {
        this.ended.add(entry.id);
        if (this.chosen.size < 8) this.chosen.add(entry.id);
      }
    }
    for (const id of this.chosen) if (id.startsWith('e') && !id.startsWith('evaluation') && !entries.some((e) => e.id === id)) this.chosen.delete(id);
    this.render();
  }

  render() {
    if (this.entries.length === 0) this.list.replaceChildren(h('li', { class: 'empty' }, h('strong', {}, 'Nothing measured yet'), 'Choose an agent, press Run evaluation, and its figures appear below.'));
    else refill(this.list, ...this.entries.map((entry) => this.#item(entry)));
    const records = this.records.filter((r) => r.origin !== 'evaluation');
    this.recordTitle.hidden = records.length === 0;
    refill(this.recordList, ...records.map((r) => h('li', { class: 'item' }, this.#box(r.id, r.agent, true), h('span', { class: 'name' }, r.agent), h('span', { class: 'small quietly' }, `${r.size}, seed ${r.seed}`))));
    this.draw();
  }

  /** @param {string} id @param {string} name @param {boolean} enabled */
  #box(id, name, enabled) {
    return h('input', { type: 'checkbox', 'data-control': `box ${id}`, 'aria-label': `Compare ${name}`, checked: this.chosen.has(id), disabled: !enabled, onchange: (/** @type {Event} */ event) => {
      if (/** @type {HTMLInputElement} */ (event.target).checked) this.chosen.add(id);
      else this.chosen.delete(id);
      this.error.hidden = true;
      this.draw();
    } });
  }

  /** @param {EvaluationEntry} entry */
  #item(entry) {
    const under = entry.standing === 'running' || entry.standing === 'waiting';
    const cancel = h('button', { type: 'button', class: 'quiet', 'data-control': `end ${entry.id}`, 'aria-label': `${under ? 'Cancel' : 'Remove'} ${entry.agent}`, onclick: () => remove(`evaluations/${entry.id}`).catch((error) => this.fail(error)) }, under ? 'Cancel' : 'Remove');
    const left = entry.seconds_left === null ? '' : `, ${Math.ceil(entry.seconds_left)} s left`;
    const mean = entry.summary ? `mean ${grouped(entry.summary.score.mean)}` : entry.done ? `mean ${grouped(entry.mean_score)} so far` : '';
    const text = entry.error ?? `${STANDINGS[entry.standing]}, ${grouped(entry.done)} of ${grouped(entry.games)} games${entry.standing === 'running' ? left : ''}${mean ? `, ${mean}` : ''}`;
    const links = entry.record ? h('span', { class: 'row' }, h('a', { class: 'small', 'data-control': `games ${entry.id}`, href: `#/analyse?record=${entry.record}` }, 'Look at its games'), h('a', { class: 'small', 'data-control': `record ${entry.id}`, href: `/api/records/${entry.record}/file`, download: '' }, 'Save record')) : null;
    return h('li', { class: 'item', 'data-evaluation': entry.id, 'data-standing': entry.standing }, this.#box(entry.id, entry.agent, entry.summary !== null), h('span', { class: 'name' }, entry.agent), cancel,
      h('div', { class: 'under' }, under ? h('progress', { max: entry.games, value: entry.done, 'aria-label': `Progress of ${entry.agent}` }) : null, h('span', { class: 'small quietly' }, text), links));
  }

  /** Draws the report over what is ticked, if that has changed. */
  async draw() {
    const ids = [...this.chosen].filter((id) => this.records.some((r) => r.id === id) || this.entries.some((e) => e.id === id && e.summary));
    const key = ids.join(',');
    if (key === this.drawn) return;
    this.drawn = key;
    this.report.hidden = ids.length === 0;
    if (ids.length === 0) return;
    try {
      /** @type {Report} */
      const report = await get(`report?ids=${encodeURIComponent(key)}`);
      if (this.drawn !== key) return;
      this.verdict.hidden = !report.comparison;
      this.verdict.textContent = report.comparison ? `${report.comparison.verdict}.` : '';
      this.download.setAttribute('href', `/api/report.html?ids=${encodeURIComponent(key)}`);
      this.download.hidden = false;
      this.#table(report);
      this.figures.replaceChildren(...report.figures.map((f) => {
        const drawing = h('div', { class: 'wide-table' });
        // The drawing comes from our own server, which escapes every name in it.
        drawing.innerHTML = f.svg;
        return h('figure', { 'data-figure': f.id }, h('h3', {}, f.title), drawing, h('figcaption', { class: 'small quietly' }, f.caption));
      }));
    } catch (error) { this.drawn = ''; this.fail(error); }
  }

  /** @param {Report} report */
  #table(report) {
    const head = ['agent', 'games', 'mean score', '95% interval', 'sd', 'max', 'moves', '1024', '2048', 's/game'];
    const known = report.summaries.some((s) => s.optimal);
    if (known) head.push('of optimal');
    const percent = (/** @type {{ rate: number } | undefined} */ rate) => (rate ? `${(100 * rate.rate).toFixed(1)}%` : '–');
    const rows = report.summaries.map((s, i) => [report.labels[i] ?? s.agent, grouped(s.games), grouped(s.score.mean), s.score.ci95 ? `${grouped(s.score.ci95[0])} – ${grouped(s.score.ci95[1])}` : '–', grouped(s.score.sd), grouped(s.score.max), grouped(s.moves.mean), percent(s.reach['1024']), percent(s.reach['2048']), (s.timing.seconds / s.games).toPrecision(3), ...(known ? [s.optimal ? `${(100 * s.optimal.share).toFixed(1)}% of ${s.optimal.optimum.toFixed(2)}` : '–'] : [])]);
    this.table.replaceChildren(h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ...head.map((name) => h('th', { scope: 'col' }, name)))), h('tbody', {}, ...rows.map((row) => h('tr', {}, ...row.map((cell, i) => h('td', {}, ...(i === 0 ? breakable(cell) : [cell]))))))));
  }

  enter() {
    get('records').then((found) => { this.records = /** @type {RecordInfo[]} */ (found); this.render(); }, () => { this.gone.hidden = false; });
    this.live ??= socket('live', {
      message: (entries) => { this.gone.hidden = true; this.update(entries); },
      close: () => { this.live = undefined; if (!this.element.hidden) { this.gone.hidden = false; setTimeout(() => { if (!this.element.hidden) this.enter(); }, 2000); } },
    });
  }

  leave() { this.live?.close(); this.live = undefined; }
}

/** @returns {View} */
export function createCompare() {
  const compare = new Compare();
  return { element: compare.element, enter: () => compare.enter(), leave: () => compare.leave() };
}
