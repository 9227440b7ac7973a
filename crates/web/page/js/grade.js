// How bad was a move? Its cost is the value of the agent's own move less its own. What counts as much depends on the agent's unit, so costs are
// measured against the luck of a single spawn: how far the best value moves, in the middle, from one position to the next.

/** A cost beyond so many times the luck of one spawn has a name. */
export const MISTAKE = 1.5;
export const BLUNDER = 4;

/** @param {number[]} numbers */
function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** The value of the move that the agent would make. @param {(number | null)[]} values @param {number | null} best */
export const bestOf = (values, best) => (best === null ? null : (values[best] ?? null));

/**
 * The luck of one spawn, from the best values of successive positions.
 * @param {(number | null)[]} bests
 * @returns {number | null} null if there are too few to tell
 */
export function luck(bests) {
  const steps = [];
  for (let i = 1; i < bests.length; i++) {
    const [before, after] = [bests[i - 1], bests[i]];
    if (before != null && after != null) steps.push(Math.abs(after - before));
  }
  return steps.length >= 8 ? Math.max(median(steps), 1e-9) : null;
}

/**
 * What a move cost; null if the agent has no value for it. An agent that goes by something else, such as visits, may hold its own move
 * for worse than another: that costs nothing.
 * @param {(number | null)[]} values @param {number | null} best @param {number} played
 */
export function costOf(values, best, played) {
  const [wanted, own] = [bestOf(values, best), values[played] ?? null];
  return wanted === null || own === null ? null : Math.max(0, wanted - own);
}

/**
 * The luck to measure a single position with: that of the game so far, else a guess from its own values.
 * @param {(number | null)[]} values @param {number | null} known
 */
export function scaleOf(values, known) {
  if (known !== null) return known;
  const numbers = values.filter((v) => v !== null);
  const best = Math.max(...numbers);
  return Math.max((best - Math.min(...numbers)) / 6, 0.05 * Math.abs(best), 1e-9);
}

/** @param {number | null} cost @param {number} scale @returns {'' | 'mistake' | 'blunder'} */
export function gradeOf(cost, scale) {
  if (cost === null) return '';
  return cost > BLUNDER * scale ? 'blunder' : cost > MISTAKE * scale ? 'mistake' : '';
}

/** 100 for the agent's own moves, less for costly ones, on average. @param {(number | null)[]} costs @param {number} scale */
export function accuracyOf(costs, scale) {
  const known = costs.filter((cost) => cost !== null);
  if (known.length === 0) return null;
  return (100 * known.reduce((sum, cost) => sum + Math.exp(-cost / (BLUNDER * scale)), 0)) / known.length;
}
