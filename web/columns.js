// SPDX-License-Identifier: MIT
// From frames to what the strip draws: columns, their worst frame, the scale, and the numbers over a range.
// Pure: no DOM.

import { FLAGS_LEFT_OUT, FLAGS_LOSSY } from './frames.js';
import { HOLDERS } from './palette.js';

/** @typedef {import('./frames.js').FrameRing} FrameRing */

export const WINDOW = 600;

/** The frames that the strip shows: WINDOW numbers that end at the newest. @param {number} newest */
export function windowOf(newest) {
	const last = Math.max(newest, WINDOW);
	return { first: last - WINDOW + 1, last };
}

/**
 * Columns of a window of frames. `worst` holds the slowest frame of each column (0: none), `gap` is 1
 * where a frame that should be there is missing or has lost something.
 * @param {FrameRing} ring @param {number} first @param {number} last @param {number} pixels
 */
export function columnsOf(ring, first, last, pixels) {
	const frames = last - first + 1;
	const columns = Math.max(1, Math.min(frames, Math.floor(pixels)));
	const worst = new Float64Array(columns);
	const gap = new Uint8Array(columns);
	for (let column = 0; column < columns; column++) {
		const begin = first + Math.floor((column * frames) / columns);
		const end = first + Math.floor(((column + 1) * frames) / columns);
		let wall = -1;
		for (let n = begin; n < end; n++) {
			const at = ring.slot(n);
			if (at < 0) {
				if (n > ring.first && n < ring.last)
					gap[column] = 1;
				continue;
			}
			if (ring.flags[at] & FLAGS_LOSSY)
				gap[column] = 1;
			if (ring.wall[at] > wall) {
				wall = ring.wall[at];
				worst[column] = n;
			}
		}
	}
	return { columns, worst, gap };
}

/** The column of a frame, and back. @param {number} frame @param {number} first @param {number} frames @param {number} columns */
export function columnOf(frame, first, frames, columns) {
	return Math.min(columns - 1, Math.max(0, Math.ceil(((frame - first + 1) * columns) / frames) - 1));
}

/** The place of each of HOLDERS. @type {{[key: string]: number}} */
const AT = Object.fromEntries(HOLDERS.map(({ key }, at) => [key, at]));

/**
 * What held the frame, stacked from the bottom, by palette.js's HOLDERS: it adds up to the wall time. A verdict knows; until
 * there is one there are only the wait zones, unknown waits hold nothing, and the rest is not known yet.
 * @param {FrameRing} ring @param {number} at slot @param {number[]|undefined} verdict ns by HOLDERS
 * @returns {number[]}
 */
export function stackOf(ring, at, verdict) {
	if (verdict)
		return verdict;
	const gpu = ring.waitGpu[at] || 0;
	const present = ring.waitPresent[at] || 0;
	const cap = ring.waitCap[at] || 0;
	const stack = new Array(HOLDERS.length).fill(0);
	stack[AT.gpu] = gpu;
	stack[AT.present] = present;
	stack[AT.cap] = cap;
	stack[HOLDERS.length - 1] = Math.max(0, ring.wall[at] - gpu - present - cap);
	return stack;
}

const SCALES_MS = [1, 2, 5, 10, 20, 40, 80, 150, 300, 600, 1200, 2500, 5000, 10000, 30000, 60000];

/**
 * The height of the strip in ns: room for the 95th percentile and a third more, so that one long frame does not flatten
 * the rest (it is drawn cut, and marked). It keeps the old scale while that still fits, so that the plot
 * does not breathe.
 * @param {number} p95 ns @param {number} before the scale in use, 0: none
 */
export function scaleFor(p95, before) {
	const need = p95 * 1.33;
	if (before && need <= before && need > before / 3)
		return before;
	const ms = SCALES_MS.find((scale) => scale * 1e6 >= need) ?? SCALES_MS[SCALES_MS.length - 1];
	return ms * 1e6;
}

/** The value below which a share of a sorted array lies (nearest rank). @param {Float64Array} sorted @param {number} share */
export function percentile(sorted, share) {
	if (!sorted.length)
		return NaN;
	return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
}

/**
 * The numbers over a range of frames, as the API's statistics have them: startup, paused and loading frames and those with
 * a step of the clock are left out, unless there are no others; worst is a maximum.
 * @param {FrameRing} ring @param {number} first @param {number} last @param {number} [slow] a frame above so many ns is slow
 */
export function summary(ring, first, last, slow = Infinity) {
	const present = slotsOf(ring, first, last);
	const counted = present.filter((at) => !(ring.flags[at] & FLAGS_LEFT_OUT));
	const slots = counted.length ? counted : present;
	const sorted = Float64Array.from(slots, (at) => ring.wall[at]).sort();
	const total = sorted.reduce((sum, wall) => sum + wall, 0);
	const worstAt = slots.reduce((best, at) => (best < 0 || ring.wall[at] > ring.wall[best] ? at : best), -1);
	return {
		frames: slots.length,
		present: present.length,
		lost: present.reduce((sum, at) => sum + ring.lost[at], 0),
		worst: worstAt < 0 ? 0 : ring.wall[worstAt],
		worstFrame: worstAt < 0 ? 0 : ring.number[worstAt],
		mean: slots.length ? total / slots.length : NaN,
		fps: total ? (slots.length * 1e9) / total : NaN,
		slowShare: total ? sorted.reduce((sum, wall) => sum + (wall > slow ? wall : 0), 0) / total : NaN,
		p50: percentile(sorted, 0.5),
		p95: percentile(sorted, 0.95),
		p99: percentile(sorted, 0.99),
	};
}

/** @param {FrameRing} ring @param {number} first @param {number} last @returns {number[]} of the frames that are there */
function slotsOf(ring, first, last) {
	const made = [];
	for (let n = first; n <= last; n++) {
		const at = ring.slot(n);
		if (at >= 0)
			made.push(at);
	}
	return made;
}

const HELD_NS = 250e6;

/**
 * Numbers that hold still: means over the frames that ended in the last whole quarter of a second of the session's time, or
 * in the last one before it in which any did; worst is a maximum. null: there is none yet.
 * @param {FrameRing} ring @param {number} last
 */
export function heldNumbers(ring, last) {
	const endOf = (/** @type {number} */ at) => ring.begin[at] + ring.wall[at];
	const newest = ring.slot(last);
	if (newest < 0)
		return null;
	const open = Math.floor(endOf(newest) / HELD_NS);
	let window = -1;
	/** @type {number[]} */
	const slots = [];
	for (let n = last; n >= ring.first; n--) {
		const at = ring.slot(n);
		const of = at < 0 ? open : Math.floor(endOf(at) / HELD_NS);
		if (of >= open)
			continue;
		if (slots.length && of !== window)
			break;
		window = of;
		slots.push(at);
	}
	/** @param {Float64Array} values */
	const mean = (values) => {
		const known = slots.map((at) => values[at]).filter((ns) => !Number.isNaN(ns));
		return known.length ? known.reduce((sum, ns) => sum + ns, 0) / known.length : null;
	};
	return slots.length ? {
		frames: slots.length, worst: Math.max(...slots.map((at) => ring.wall[at])),
		wall: mean(ring.wall), cpu: mean(ring.cpu), gpu: mean(ring.gpu),
		waits: [mean(ring.waitGpu), mean(ring.waitPresent), mean(ring.waitCap)],
	} : null;
}
