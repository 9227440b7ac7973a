// A form for an agent, made from the catalogue: whatever the catalogue learns, the form offers.

import { catalogue, models } from './api.js';
import { field, h, select } from './dom.js';

/** @typedef {import('../types').Parameter} Parameter @typedef {import('../types').Catalogue} Catalogue @typedef {import('../types').Entry} Entry */

/** @param {string} spec @returns {{ name: string, pairs: Map<string, string> }} */
export function parseSpec(spec) {
  const colon = spec.indexOf(':');
  const name = colon < 0 ? spec : spec.slice(0, colon);
  const pairs = new Map();
  if (colon >= 0) {
    for (const pair of spec.slice(colon + 1).split(',')) {
      const at = pair.indexOf('=');
      if (at > 0) pairs.set(pair.slice(0, at).trim(), pair.slice(at + 1).trim());
    }
  }
  return { name: name.trim(), pairs };
}

let count = 0;

export class AgentForm {
  /**
   * An empty specification is the default agent.
   * @param {string} spec @param {(spec: string) => void} [changed] @param {string} [label] @param {'default_agents' | 'default_players'} [defaults]
   */
  constructor(spec, changed = () => {}, label = 'Agent', defaults = 'default_agents') {
    this.defaults = defaults;
    this.changed = changed;
    this.spec = spec;
    this.size = '4x4';
    /** @type {Map<string, { control: HTMLInputElement | HTMLSelectElement, parameter: Parameter }>} */
    this.controls = new Map();
    this.chooser = h('select', { id: `agent-${++count}`, onchange: () => this.#choose(this.chooser.value) });
    this.summary = h('p', { class: 'small quietly' });
    this.own = h('div', { class: 'fields' });
    this.inner = h('div', { class: 'fields' });
    this.details = h('details', {}, h('summary', {}, 'Parameters'), this.own, this.inner);
    this.line = h('code', { class: 'spec' }, spec);
    this.element = h('div', { class: 'agent-form' }, field(label, this.chooser), this.summary, this.details, this.line);
    /** The model of the evaluator, where that reads one. @type {HTMLSelectElement | null} */
    this.model = null;
    /** Models by the evaluator that reads them. @type {Map<string, string[]>} */
    this.models = new Map();
    this.ready = catalogue().then((found) => { this.catalogue = found; this.#fill(found); this.set(this.spec || this.#default()); }, (error) => { this.summary.textContent = error.message; });
    // The form is there before them: reading many runs takes a while.
    this.ready.then(models).then((found) => { this.models = found; this.set(this.spec); }, () => {});
  }

  /** @param {Catalogue} found */
  #fill(found) {
    const agents = h('optgroup', { label: 'Agents' }, ...found.agents.map((a) => h('option', { value: a.name }, a.name)));
    const presets = h('optgroup', { label: 'Published settings' }, ...found.presets.map((p) => h('option', { value: `@${p.name}` }, p.name)));
    this.chooser.replaceChildren(agents, presets);
  }

  #default() { return this.catalogue?.[this.defaults][this.size] ?? ''; }

  /** Another board: where nobody else was chosen, the agent that suits it. @param {string} size */
  fit(size) {
    if (size === this.size) return;
    const suited = this.spec === '' || this.spec === this.#default();
    this.size = size;
    if (suited && this.catalogue) this.set(this.#default());
  }

  /** Takes a specification over into the form. @param {string} spec */
  set(spec) {
    this.spec = spec;
    this.line.textContent = spec;
    if (!this.catalogue) return;
    const { name, pairs } = parseSpec(spec);
    if (name.startsWith('@')) {
      const preset = this.catalogue.presets.find((p) => `@${p.name}` === name);
      if (preset) {
        const resolved = parseSpec(preset.spec);
        pairs.forEach((value, key) => resolved.pairs.set(key, value));
        this.chooser.value = name;
        return this.#build(resolved.name, resolved.pairs, preset.summary);
      }
    }
    this.chooser.value = name;
    this.#build(name, pairs);
  }

  /** @param {string} name */
  #choose(name) {
    this.set(name);
    this.changed(this.spec);
  }

  /** @param {string} name @param {Map<string, string>} pairs @param {string} [summary] */
  #build(name, pairs, summary) {
    const row = this.catalogue?.agents.find((a) => a.name === name);
    this.controls.clear();
    this.own.replaceChildren();
    this.inner.replaceChildren();
    this.summary.textContent = summary ?? row?.summary ?? 'There is no such agent.';
    if (!row) return;
    this.agent = name;
    for (const parameter of row.parameters) this.#control(parameter, parameter.name, pairs.get(parameter.name), this.own);
    this.#buildEvaluator(pairs);
  }

  /** @param {Map<string, string>} pairs */
  #buildEvaluator(pairs) {
    for (const key of [...this.controls.keys()]) if (key.startsWith('eval.')) this.controls.delete(key);
    this.inner.replaceChildren();
    const chosen = this.controls.get('eval')?.control.value;
    const row = this.catalogue?.evaluators.find((e) => e.name === chosen);
    this.model = row?.takes_file ? this.#modelControl(row.name, pairs.get('eval')?.split('@')[1]) : null;
    for (const parameter of row?.parameters ?? []) {
      this.#control(parameter, `eval.${parameter.name}`, pairs.get(`eval.${parameter.name}`), this.inner);
    }
  }

  /** Which of the models that an evaluator can read. @param {string} evaluator @param {string | undefined} given */
  #modelControl(evaluator, given) {
    const known = this.models.get(evaluator) ?? [];
    const control = select(given && !known.includes(given) ? [given, ...known] : known, given ?? known[0]);
    control.addEventListener('change', () => this.#compose());
    this.inner.append(field('model', control, 'a checkpoint of a training run: RUN/FILE', 'wide'));
    return control;
  }

  /** @param {Entry} entry */
  #evaluatorOption({ name, takes_file }) {
    const lacking = takes_file && !this.models.has(name);
    return h('option', { value: name, disabled: lacking, title: lacking ? 'needs a checkpoint of a training run, and there is none here' : null }, name);
  }

  /** @param {Parameter} p @param {string} key @param {string | undefined} given @param {HTMLElement} place */
  #control(p, key, given, place) {
    const cap = this.catalogue?.caps[p.name];
    const max = p.max === undefined ? undefined : Math.min(p.max, cap ?? Infinity);
    const preset = given ?? (p.default === null ? '' : String(p.default));
    const changed = () => {
      if (key === 'eval') this.#buildEvaluator(new Map());
      this.#compose();
    };
    /** @type {HTMLInputElement | HTMLSelectElement} */
    let control;
    if (p.type === 'switch') {
      control = h('input', { type: 'checkbox', checked: preset === 'true', onchange: changed });
    } else if (p.type === 'evaluator') {
      control = h('select', { onchange: changed }, ...(this.catalogue?.evaluators ?? []).map((e) => this.#evaluatorOption(e)));
      control.value = preset.split('@')[0] ?? '';
    } else if (p.type === 'choice') {
      const options = p.options?.includes(preset) ? p.options : [preset, ...(p.options ?? [])];
      control = h('select', { onchange: changed }, ...options.map((o) => h('option', { value: o, selected: o === preset }, o)));
    } else {
      const range = { min: p.min ?? null, max: max !== undefined && max < 1e15 ? max : null };
      const placeholder = p.default === null ? 'unset' : String(p.default);
      control = h('input', { type: 'number', ...range, step: p.type === 'integer' ? 1 : 'any', value: preset, placeholder, onchange: changed });
    }
    control.dataset['key'] = key;
    this.controls.set(key, { control, parameter: p });
    place.append(field(key, control, p.summary));
  }

  #compose() {
    const pairs = [];
    for (const [key, { control, parameter }] of this.controls) {
      const model = key === 'eval' && this.model?.value ? `@${this.model.value}` : '';
      const value = (control instanceof HTMLInputElement && control.type === 'checkbox' ? String(control.checked) : control.value) + model;
      const plain = parameter.default === null ? '' : String(parameter.default);
      if (value !== '' && value !== plain) pairs.push(`${key}=${value}`);
    }
    this.spec = `${this.agent}${pairs.length ? ':' : ''}${pairs.join(',')}`;
    this.line.textContent = this.spec;
    // What is set by hand is no published setting any more.
    if (this.chooser.value.startsWith('@') && this.agent) this.chooser.value = this.agent;
    this.changed(this.spec);
  }
}
