// SPDX-License-Identifier: MIT
// In which order the timeline has its tracks, which are folded and which stay at the top: as texts in the address.
// A track is known by its thread's name and, where several have it, by which of them it is, so that
// what was folded is folded in the next session of the same game. Pure: no DOM.

/** @typedef {import('./zones.js').Lane} Lane */
/** @typedef {{lane: Lane, key: string, folded: boolean, pinned: boolean}} Ordered */

export const SORTS = /** @type {const} */ ([['order', 'as they began'], ['name', 'by name'], ['busy', 'busiest first']]);

/** The keys in a text. @param {string} text @returns {Set<string>} */
export const keysOf = (text) => new Set(text.split(',').filter(Boolean));

/** A text with a key more, or less; null: none is left. @param {string} text @param {string} key */
export function toggleKey(text, key) {
	const keys = keysOf(text);
	if (!keys.delete(key))
		keys.add(key);
	return keys.size ? [...keys].join(',') : null;
}

/** @param {Lane[]} lanes the main thread first @returns {{lane: Lane, key: string}[]} */
export function withKeys(lanes) {
	/** @type {Map<string, number>} */
	const seen = new Map();
	return lanes.map((lane) => {
		const name = (lane.thread.name || lane.thread.kind).slice(0, 60).replace(/[%,~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
		const nth = (seen.get(name) ?? 0) + 1;
		seen.set(name, nth);
		return { lane, key: nth > 1 ? `${name}~${nth}` : name };
	});
}

/**
 * Pinned ones first, then the main thread, then the others as sorted.
 * @param {Lane[]} lanes the main thread first @param {{sort: string, folded: string, pinned: string}} settings @returns {Ordered[]}
 */
export function orderTracks(lanes, settings) {
	const [folded, pinned] = [keysOf(settings.folded), keysOf(settings.pinned)];
	const all = withKeys(lanes).map((one, at) => ({ ...one, at, folded: folded.has(one.key), pinned: pinned.has(one.key) }));
	const rank = (/** @type {typeof all[number]} */ one) => (one.pinned ? 0 : one.at === 0 ? 1 : 2);
	const by = (/** @type {typeof all[number]} */ a, /** @type {typeof all[number]} */ b) => {
		if (settings.sort === 'busy')
			return b.lane.busy - a.lane.busy;
		return settings.sort === 'name' ? a.lane.title.localeCompare(b.lane.title, 'en', { numeric: true }) : 0;
	};
	return all.sort((a, b) => rank(a) - rank(b) || by(a, b) || a.at - b.at).map(({ at, ...one }) => one);
}
