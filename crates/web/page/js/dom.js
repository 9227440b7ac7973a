// Making and finding elements, and speaking to people who do not look at the screen.

/**
 * An element with attributes and children. `on*` attributes are listeners, `null` and `false` ones are left out.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, '');
    else element.setAttribute(name, String(value));
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/**
 * The same for drawings.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS(SVG, tag));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * A labelled input or select.
 * @param {string} label @param {HTMLElement} control @param {string} [title] @param {string} [kind]
 */
export function field(label, control, title = '', kind = '') {
  const check = control instanceof HTMLInputElement && control.type === 'checkbox';
  const text = h('span', {}, label);
  return h('label', { class: `field ${check ? 'check' : ''} ${kind}`, title: title || null }, ...(check ? [control, text] : [text, control]));
}

/**
 * A select with options, each a value or [value, text].
 * @param {(string | [string, string])[]} options @param {string} [chosen]
 */
export function select(options, chosen) {
  const element = h('select');
  for (const option of options) {
    const [value, text] = typeof option === 'string' ? [option, option] : option;
    element.append(h('option', { value, selected: value === chosen }, text));
  }
  return element;
}

/**
 * Puts other children into an element. The keyboard stays where it was: on the control of the same `data-control`.
 * @param {HTMLElement} parent @param {...(Node | string)} children
 */
export function refill(parent, ...children) {
  const held = parent.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset['control'] : undefined;
  parent.replaceChildren(...children);
  if (held === undefined) return;
  for (const control of parent.querySelectorAll('[data-control]')) {
    if (control instanceof HTMLElement && control.dataset['control'] === held) control.focus({ preventScroll: true });
  }
}

/** Tells a screen reader. @param {string} text */
export function say(text) {
  const element = document.getElementById('say');
  if (element) element.textContent = text;
}

const GROUPED = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

/** A whole number with commas. @param {number} n */
export const grouped = (n) => GROUPED.format(n);

/** A value of whatever size in few characters. @param {number} n */
export function compact(n) {
  const size = Math.abs(n);
  return size >= 1000 ? GROUPED.format(n) : size >= 100 ? n.toFixed(1) : size >= 1 || n === 0 ? n.toFixed(2) : n.toFixed(4);
}

/** What an agent gives for a move, in its unit: probabilities as percentages. @param {number} value @param {string} unit */
export const inUnit = (value, unit) => (unit.startsWith('probability') ? `${(100 * value).toFixed(1)}%` : compact(value));

/** By how much one move is better than another, as a sentence says it. @param {number} cost @param {string} unit */
export const better = (cost, unit) => (unit.startsWith('probability') ? `was rated ${(100 * cost).toFixed(1)} percentage points higher (${unit})` : `was worth ${compact(cost)} more (${unit})`);

/** A specification that is broken after its colons and commas, not within a word. @param {string} spec @returns {(Node | string)[]} */
export const breakable = (spec) => spec.split(/(?<=[:,@])/).flatMap((part, i) => (i ? [h('wbr'), part] : [part]));

/** The kept value of a name; a browser that keeps nothing is no reason to fail. @param {string} name @returns {string | null} */
export function recall(name) {
  try { return localStorage.getItem(`afterstate.${name}`); } catch { return null; }
}

/** Keeps a value for the next visit. @param {string} name @param {string} value */
export function remember(name, value) {
  try { localStorage.setItem(`afterstate.${name}`, value); } catch { /* private windows keep nothing */ }
}

/** A safe random seed. */
export const randomSeed = () => crypto.getRandomValues(new Uint32Array(1))[0] ?? 1;
