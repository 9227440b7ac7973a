// Training runs: which there are, their curves as they grow, what they were told, and their checkpoints to watch.

import { get, socket } from './api.js';
import { curve } from './chart.js';
import { field, grouped, h, refill, select } from './dom.js';

/** @typedef {import('../types').RunEntry} RunEntry @typedef {import('../types').Run} Run @typedef {import('../types').View} View */

/** Fields that are worth a curve at once, in this order; others can be chosen. */
const TELLING = ['mean_score', 'evaluation/mean_score', 'loss', 'value_error', 'mean_tile', 'reach_2048', 'reach_8192', 'reach_16384', 'entropy', 'max_tile', 'best', 'mean', 'moves_per_second'];
/** Fields that time or progress can be measured by. */
const ACROSS = ['step', 'games', 'generation', 'moves', 'episode', 'iteration', 'seconds'];

/** @param {number | null} seconds */
function ago(seconds) {
  if (seconds === null) return 'no metrics yet';
  if (seconds < 10) return 'running';
  if (seconds < 120) return `${seconds} s ago`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min ago` : `${Math.round(seconds / 3600)} h ago`;
}

class Runs {
  /** The curves chosen by hand. @type {string[]} */
  shown = [];
  /** What they are drawn over, if chosen by hand. */
  across = '';

  constructor() {
    this.list = h('ul', { class: 'list', 'aria-label': 'Runs' });
    this.body = h('div', { class: 'panel' });
    this.element = h('section', { class: 'runs-desk', 'aria-label': 'Runs' }, h('div', { class: 'card' }, h('h2', {}, 'Training runs'), this.list), this.body);
    /** @type {string | null} */
    this.chosen = null;
    /** @type {ReturnType<typeof socket> | null} */
    this.socket = null;
  }

  async enter() {
    try {
      /** @type {RunEntry[]} */
      const runs = await get('runs');
      if (runs.length === 0) {
        this.list.replaceChildren();
        this.body.replaceChildren(h('div', { class: 'card empty' }, h('strong', {}, 'No training runs here'), 'Start one, for example ', h('code', {}, 'afterstate train td --preset minute --out runs/first'), ', or name another folder with ', h('code', {}, 'afterstate serve --runs DIR'), '.'));
        return;
      }
      const main = (/** @type {RunEntry} */ run) => { const name = TELLING.find((f) => f in run.last); return name ? `${name} ${grouped(run.last[name] ?? 0)}, ` : ''; };
      this.list.replaceChildren(...runs.map((run) => h('li', {}, h('button', { type: 'button', 'data-run': run.id, onclick: () => this.open(run.id) }, h('strong', {}, run.id), h('br'), h('span', { class: 'small quietly' }, `${main(run)}${ago(run.seconds_ago)}`)))));
      this.open(this.chosen ?? runs[0]?.id ?? '');
    } catch (error) {
      this.body.replaceChildren(h('div', { class: 'notice bad', role: 'alert' }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {string} id */
  open(id) {
    this.socket?.close();
    this.chosen = id;
    for (const button of this.list.querySelectorAll('button')) button.setAttribute('aria-current', String(button.dataset['run'] === id));
    this.socket = socket(`runs/${encodeURIComponent(id)}/live`, {
      message: (run) => this.show(run),
      close: (opened) => { if (!opened) this.body.replaceChildren(h('div', { class: 'notice bad', role: 'alert' }, 'This run cannot be followed: it has gone, or too much is going on.')); },
    });
  }

  /** @param {Run} run */
  show(run) {
    const fields = Object.keys(run.metrics);
    const across = fields.includes(this.across) ? this.across : (ACROSS.find((f) => fields.includes(f)) ?? fields[0] ?? '');
    const xs = run.metrics[across] ?? [];
    // Not every line has every number: a curve needs lines with both.
    const others = fields.filter((f) => f !== across && run.metrics[f]?.some((y, i) => y !== null && xs[i] != null));
    const telling = TELLING.filter((f) => others.includes(f)).slice(0, 3);
    const shown = this.shown.filter((f) => others.includes(f));
    const drawn = shown.length ? shown : telling.length ? telling : others.slice(0, 2);
    const chooser = select(fields, across);
    chooser.dataset['control'] = 'across';
    chooser.addEventListener('change', () => { this.across = chooser.value; this.show(run); });
    const toggles = others.map((name) => h('button', { type: 'button', 'data-control': `curve ${name}`, 'aria-pressed': String(drawn.includes(name)), onclick: () => { this.shown = drawn.includes(name) ? drawn.filter((f) => f !== name) : [...drawn, name]; this.show(run); } }, name));
    const charts = fields.length === 0 ? [h('p', { class: 'empty' }, h('strong', {}, 'No metrics yet'), 'The curves appear as soon as the run writes its first line.')] : drawn.map((name) => { const figure = h('figure', { 'data-curve': name }); figure.style.margin = '0'; figure.append(curve(xs, run.metrics[name] ?? [], across, name)); return figure; });
    const checkpoints = run.checkpoints.length === 0 ? [h('p', { class: 'small quietly' }, 'None saved yet.')] : [...run.checkpoints].reverse().slice(0, 30).map((c) => h('div', { class: 'row spread' }, h('code', {}, c.name), c.agent ? h('a', { 'data-control': `play ${c.name}`, href: `#/watch?agent=${encodeURIComponent(c.agent)}` }, 'Play this checkpoint') : h('span', { class: 'small quietly' }, 'no network that is known here')));
    refill(this.body,
      h('div', { class: 'card' }, h('div', { class: 'row spread' }, h('h2', {}, run.id), h('span', { class: 'small quietly' }, `${grouped(run.lines)} lines, ${ago(run.seconds_ago)}`)), h('div', { class: 'row' }, field('Across', chooser), ...toggles), ...charts),
      h('div', { class: 'card' }, h('h2', {}, 'Checkpoints'), ...checkpoints),
      h('div', { class: 'card' }, h('h2', {}, 'Configuration'), run.config ? h('pre', { class: 'config mono' }, run.config) : h('p', { class: 'small quietly' }, 'This run has no config.toml.')));
  }

  leave() { this.socket?.close(); this.socket = null; }
}

/** @returns {View} */
export function createRuns() {
  const runs = new Runs();
  return { element: runs.element, enter: () => { runs.enter(); }, leave: () => runs.leave() };
}
