// SPDX-License-Identifier: MIT
// Counters as series: of frames, of samples, as rates. Pure: no DOM.

import { quantity } from './format.js';

/** @param {number|null|undefined} value @param {string} unit */
export const counterText = (value, unit) => (value === null || value === undefined ? '–' : quantity(value, unit));

/**
 * Frame, cpu and gpu times of a window, in ns; null where unknown, and for frames that are missing.
 * @param {import('./frames.js').FrameRing} ring @param {number} first @param {number} last
 */
export function frameSeries(ring, first, last) {
	/** @type {{x: number[], wall: (number|null)[], cpu: (number|null)[], gpu: (number|null)[]}} */
	const made = { x: [], wall: [], cpu: [], gpu: [] };
	const known = (/** @type {number} */ n) => (Number.isNaN(n) ? null : n);
	for (let frame = Math.max(first, 1); frame <= last; frame++) {
		const at = ring.slot(frame);
		made.x.push(frame);
		made.wall.push(at < 0 ? null : known(ring.wall[at]));
		made.cpu.push(at < 0 ? null : known(ring.cpu[at]));
		made.gpu.push(at < 0 ? null : known(ring.gpu[at]));
	}
	return made;
}

/** The larger of two shares at each place, at most 100; null where neither is known. @param {(number|null)[]} a @param {(number|null)[]} b in percent */
export const busier = (a, b) => a.map((left, at) => {
	const right = b[at];
	return left === null && right === null ? null : Math.min(100, Math.max(left ?? 0, right ?? 0));
});

/** What a growing counter grew by, a second, at the later of each two samples. @param {[number, number][]} values ns and value @returns {[number, number][]} */
export function rateOf(values) {
	/** @type {[number, number][]} */
	const made = [];
	for (let at = 1; at < values.length; at++) {
		const [[t0, v0], [t1, v1]] = [values[at - 1], values[at]];
		if (t1 > t0 && v1 >= v0)
			made.push([t1, ((v1 - v0) * 1e9) / (t1 - t0)]);
	}
	return made;
}

/**
 * Samples at the frames that were going on when they were taken; those in none are left out.
 * @param {[number, number][]} samples ns and value, by time @param {import('./frames.js').FrameRing} ring @param {number} first @param {number} last
 * @returns {Map<number, number>}
 */
export function samplesByFrame(samples, ring, first, last) {
	/** @type {Map<number, number>} */
	const made = new Map();
	let next = 0;
	for (let frame = first; frame <= last; frame++) {
		const at = ring.slot(frame);
		if (at < 0)
			continue;
		const end = ring.begin[at] + ring.wall[at];
		for (; next < samples.length && samples[next][0] < end; next++) {
			if (samples[next][0] >= ring.begin[at])
				made.set(frame, samples[next][1]);
		}
	}
	return made;
}

/** The fixed scale of percentages; null: the counter's own. @param {{unit: string}} counter @returns {{min: number, max: number}|null} */
export const scaleOf = ({ unit }) => (unit === 'percent' ? { min: 0, max: 100 } : null);

/**
 * One value a pixel column, the largest of those in it.
 * @param {[number, number][]} values by place @param {number} from @param {number} to places @param {number} columns
 * @returns {(number|null)[]}
 */
export function maximaOf(values, from, to, columns) {
	/** @type {(number|null)[]} */
	const made = new Array(columns).fill(null);
	for (const [place, value] of values) {
		if (place < from || place > to || value === null)
			continue;
		const at = Math.min(columns - 1, Math.floor(((place - from) / Math.max(1, to - from)) * columns));
		made[at] = made[at] === null ? value : Math.max(/** @type {number} */ (made[at]), value);
	}
	return made;
}
