// SPDX-License-Identifier: MIT
// What a session lost, repaired or refused, from the API's losses: one list for the diagnostics and one verdict for
// the top bar. Pure: no DOM.

/** Left out on purpose, which is no loss: marks of the hook where the game has its own, time not recorded, and marks of
 * wrong threads, which are told once already, as repaired. */
const INTENDED = new Set(['discarded.hook_mark', 'discarded.not_recording', 'discarded.foreign_mark']);
/** Counted under refused, but something shorter was recorded. */
const SHORTENED = 'refused.truncated';
/** Events that are gone although they were recorded; the rest was repaired, and all of it is there. */
const LOST = new Set(['overwritten', 'reentrant', 'repaired.gpu_dropped', 'repaired.gpu_missing',
	'repaired.head_backwards', 'repaired.depth_limit', 'repaired.counters_refused']);

/**
 * @typedef {object} Loss
 * @property {string} kind "discarded.malformed"
 * @property {number} count
 * @property {'lost'|'repaired'|'intended'} weight
 */

/** All kinds that are not zero. @param {any} losses of a session @returns {Loss[]} */
export function lossesOf(losses) {
	/** @type {Loss[]} */
	const found = [];
	/** @param {string} kind @param {any} value */
	const add = (kind, value) => {
		if (typeof value === 'number' && value > 0)
			found.push({ kind, count: value, weight: weightOf(kind) });
		else if (value && typeof value === 'object')
			Object.entries(value).forEach(([name, inner]) => add(kind ? `${kind}.${name}` : name, inner));
	};
	add('', losses);
	return found;
}

/** @param {string} kind @returns {Loss['weight']} */
function weightOf(kind) {
	if (INTENDED.has(kind))
		return 'intended';
	if (kind === SHORTENED)
		return 'repaired';
	return LOST.has(kind) || kind.startsWith('discarded.') || kind.startsWith('refused.') ? 'lost' : 'repaired';
}

/** What the top bar says. @param {any} session @returns {{lost: number, repaired: number}} */
export function lossTotals(session) {
	const found = lossesOf(session?.losses);
	/** @param {Loss['weight']} weight */
	const sum = (weight) => found.reduce((total, loss) => total + (loss.weight === weight ? loss.count : 0), 0);
	return { lost: Math.max(sum('lost'), session?.lost_events ?? 0), repaired: sum('repaired') };
}
