// SPDX-License-Identifier: MIT
// From frames to what the strip draws: columns, their worst frame, the scale, and the numbers over a range.
// Pure: no DOM.

import { FLAG_STARTUP, FLAGS_LOSSY } from './frames.js';

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

/**
 * What held the frame, stacked from the bottom, by palette.js's HOLDERS: it adds up to the wall time. A verdict knows; without
 * one there are only the wait zones, unknown waits hold nothing, and cpu stands for all the rest.
 * @param {FrameRing} ring @param {number} at slot @param {number[]|undefined} verdict ns by HOLDERS
 * @returns {number[]}
 */
export function stackOf(ring, at, verdict) {
	if (verdict)
		return verdict;
	const gpu = ring.waitGpu[at] || 0;
	const present = ring.waitPresent[at] || 0;
	const cap = ring.waitCap[at] || 0;
	return [Math.max(0, ring.wall[at] - gpu - present - cap), gpu, present, cap];
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
 * The numbers over a range of frames. Startup frames are outside statistics; worst is a maximum.
 * @param {FrameRing} ring @param {number} first @param {number} last
 */
export function summary(ring, first, last) {
	const walls = new Float64Array(Math.max(0, last - first + 1));
	let frames = 0;
	let total = 0;
	let worst = 0;
	let worstFrame = 0;
	let lost = 0;
	let present = 0;
	for (let n = first; n <= last; n++) {
		const at = ring.slot(n);
		if (at < 0)
			continue;
		present++;
		lost += ring.lost[at];
		if (ring.flags[at] & FLAG_STARTUP)
			continue;
		const wall = ring.wall[at];
		walls[frames++] = wall;
		total += wall;
		if (wall > worst) {
			worst = wall;
			worstFrame = n;
		}
	}
	const sorted = walls.subarray(0, frames).sort();
	return {
		frames, present, lost, worst, worstFrame,
		mean: frames ? total / frames : NaN,
		fps: total ? (frames * 1e9) / total : NaN,
		p50: percentile(sorted, 0.5),
		p95: percentile(sorted, 0.95),
		p99: percentile(sorted, 0.99),
	};
}
