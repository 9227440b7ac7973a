// The frame: which section is shown, colours, keys, and what to say when the server has gone.

import { recall, remember } from './dom.js';
import { createPlay } from './play.js';

/** @typedef {import('../types').View} View */

const THEMES = /** @type {const} */ (['auto', 'light', 'dark']);
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const themeButton = /** @type {HTMLButtonElement} */ (document.getElementById('theme'));

/** The other sections are fetched when they are first wanted. @type {Record<string, () => Promise<View>>} */
const MAKERS = {
  play: async () => createPlay(),
  watch: async () => (await import('./watch.js')).createWatch(),
  analyse: async () => (await import('./analyse.js')).createAnalyse(),
  compare: async () => (await import('./compare.js')).createCompare(),
  runs: async () => (await import('./runs.js')).createRuns(),
};

/** @type {Map<string, View>} */
const views = new Map();
/** @type {View | null} */
let current = null;
let wanted = '';

/** Shows the section that the address names. */
async function route() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const name = path && path in MAKERS ? path : 'play';
  wanted = location.hash;
  let view = views.get(name);
  if (!view) {
    try {
      view = await /** @type {() => Promise<View>} */ (MAKERS[name])();
    } catch {
      const offline = /** @type {HTMLElement} */ (document.getElementById('offline'));
      offline.textContent = 'This section could not be loaded: is the server still running? Reload the page to try again.';
      offline.hidden = false;
      return;
    }
    views.set(name, view);
    main.append(view.element);
  }
  if (wanted !== location.hash) return;
  document.getElementById('skeleton')?.remove();
  if (current !== view) current?.leave();
  for (const other of views.values()) other.element.hidden = other !== view;
  for (const link of document.querySelectorAll('.top nav a')) {
    if (link.getAttribute('data-view') === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  current = view;
  view.enter(new URLSearchParams(query ?? ''));
}

/** @param {string} theme */
function setTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  themeButton.textContent = { auto: 'Auto', light: 'Light', dark: 'Dark' }[theme] ?? 'Auto';
  themeButton.setAttribute('aria-label', `Colours: ${theme === 'auto' ? 'as the system has them' : theme}`);
  remember('theme', theme);
}

themeButton.addEventListener('click', () => {
  const now = recall('theme') ?? 'auto';
  setTheme(THEMES[(THEMES.findIndex((t) => t === now) + 1) % 3] ?? 'auto');
});
setTheme(recall('theme') ?? 'auto');

document.addEventListener('keydown', (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest('input:not([type=checkbox]):not([type=radio]), select, textarea, [data-keys]')) return;
  if (current?.key?.(event)) event.preventDefault();
});

window.addEventListener('hashchange', route);
route();

window.addEventListener('unhandledrejection', (event) => {
  if (event.reason instanceof DOMException && event.reason.name === 'AbortError') event.preventDefault();
});
