// Asking the server. Every refusal becomes an Error whose message is fit to be shown.

/** @typedef {import('../types').Catalogue} Catalogue @typedef {import('../types').RunEntry} RunEntry */

/** What went wrong, with the status for those who care. */
export class ApiError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {Response} response */
async function read(response) {
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, body?.error ?? `the server answered ${response.status}`);
  return body;
}

/** @param {unknown} error @returns {never} */
function unreachable(error) {
  if (error instanceof DOMException && error.name === 'AbortError') throw error;
  throw new ApiError(0, 'the server does not answer: is it still running?');
}

/**
 * @template T
 * @param {string} path @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function get(path, signal) {
  return read(await fetch(`/api/${path}`, { signal: signal ?? null }).catch(unreachable));
}

/**
 * @template T
 * @param {string} path @param {unknown} body @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export async function post(path, body, signal) {
  const raw = body instanceof Blob;
  const headers = { 'content-type': raw ? 'application/octet-stream' : 'application/json' };
  const request = { method: 'POST', headers, body: raw ? body : JSON.stringify(body), signal: signal ?? null };
  return read(await fetch(`/api/${path}`, request).catch(unreachable));
}

/** @param {string} path */
export async function remove(path) {
  return read(await fetch(`/api/${path}`, { method: 'DELETE' }).catch(unreachable));
}

/** @type {Promise<Catalogue> | null} */
let kept = null;

/** The catalogue, asked for once. @returns {Promise<Catalogue>} */
export function catalogue() {
  kept ??= get('catalogue');
  kept.catch(() => { kept = null; });
  return kept;
}

/** @type {Promise<Map<string, string[]>> | null} */
let keptModels = null;

/** The models that runs have left, RUN/CHECKPOINT by the evaluator that reads them, the newest first; asked for once. @returns {Promise<Map<string, string[]>>} */
export function models() {
  keptModels ??= get('runs').then((runs) => {
    /** @type {Map<string, string[]>} */
    const found = new Map();
    for (const { checkpoints } of /** @type {RunEntry[]} */ (runs)) {
      for (const { agent } of [...checkpoints].reverse()) {
        const [, evaluator, model] = /eval=([^@]+)@(.+)/.exec(agent ?? '') ?? [];
        if (evaluator && model) found.set(evaluator, [...(found.get(evaluator) ?? []), model]);
      }
    }
    return found;
  });
  keptModels.catch(() => { keptModels = null; });
  return keptModels;
}

/**
 * A socket that speaks JSON.
 * @param {string} path
 * @param {{ message: (data: any) => void, open?: () => void, close?: (clean: boolean) => void }} listeners
 */
export function socket(path, listeners) {
  const ws = new WebSocket(`ws://${location.host}/api/${path}`);
  let open = false;
  ws.addEventListener('open', () => { open = true; listeners.open?.(); });
  ws.addEventListener('message', (event) => listeners.message(JSON.parse(event.data)));
  ws.addEventListener('close', () => listeners.close?.(open));
  return {
    /** Says whether it was sent. @param {unknown} data */
    send(data) {
      if (ws.readyState !== WebSocket.OPEN) return false;
      ws.send(JSON.stringify(data));
      return true;
    },
    close() { listeners.close = () => {}; listeners.message = () => {}; ws.close(); },
  };
}
