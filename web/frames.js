// SPDX-License-Identifier: MIT
// The newest frames of one stream, in typed arrays indexed by frame number. A frame that never came
// has no slot of its own number, so gaps are seen. Pure: no DOM.

/**
 * A frame row of the API.
 * @typedef {object} FrameRow
 * @property {number} frame
 * @property {number} begin_ns
 * @property {number} wall_ns
 * @property {number|null} cpu_ns
 * @property {number|null} gpu_ns
 * @property {{gpu: number|null, present: number|null, cap: number|null}} wait_ns
 * @property {number} events
 * @property {number} lost_events
 * @property {number} [late_events]
 * @property {string[]} flags
 */

/** The flags that the page knows; their place is their bit. */
export const FLAGS = [
	'startup', 'lost_events', 'gpu_incomplete', 'gpu_pending', 'clock_step', 'events_evicted',
	'late_events', 'marks_lost', 'counters_incomplete', 'clock_doubtful', 'paused', 'unfinished',
	'loading',
];

/** @param {string} name */
export const flagBit = (name) => 1 << FLAGS.indexOf(name);

/** Outside statistics. */
export const FLAGS_LEFT_OUT = flagBit('startup') | flagBit('paused') | flagBit('loading') | flagBit('clock_step');
/** The clock is not to be trusted there. */
export const FLAGS_DOUBTFUL = flagBit('clock_doubtful') | flagBit('clock_step');
/** Something of the frame was lost: hatched. */
export const FLAGS_LOSSY = flagBit('lost_events') | flagBit('marks_lost');

/** @param {number|null|undefined} value */
const orNaN = (value) => (value === null || value === undefined ? NaN : value);
/** @param {number} value */
const orNull = (value) => (Number.isNaN(value) ? null : value);

export class FrameRing {
	/** @param {number} [capacity] a power of two */
	constructor(capacity = 2048) {
		this.capacity = capacity;
		/** Which frame a slot holds; 0: none. */
		this.number = new Float64Array(capacity);
		this.begin = new Float64Array(capacity);
		this.wall = new Float64Array(capacity);
		this.cpu = new Float64Array(capacity);
		this.gpu = new Float64Array(capacity);
		this.waitGpu = new Float64Array(capacity);
		this.waitPresent = new Float64Array(capacity);
		this.waitCap = new Float64Array(capacity);
		this.events = new Float64Array(capacity);
		this.lost = new Float64Array(capacity);
		this.late = new Float64Array(capacity);
		this.flags = new Uint32Array(capacity);
		/** Newest frame number; 0: none. */
		this.last = 0;
		/** Oldest frame number that was ever put. */
		this.first = 0;
		/** How often anything was put or taken away. */
		this.changes = 0;
	}

	clear() {
		this.number.fill(0);
		this.last = 0;
		this.first = 0;
		this.changes++;
	}

	/** The slot of a frame, or -1. @param {number} frame */
	slot(frame) {
		const at = frame % this.capacity;
		return frame > 0 && this.number[at] === frame ? at : -1;
	}

	/** Adds a frame or replaces what was known of it. @param {FrameRow} row */
	put(row) {
		const frame = row.frame;
		if (!(frame > 0) || (this.last && frame <= this.last - this.capacity))
			return;
		const at = frame % this.capacity;
		this.number[at] = frame;
		this.begin[at] = row.begin_ns;
		this.wall[at] = row.wall_ns;
		this.cpu[at] = orNaN(row.cpu_ns);
		this.gpu[at] = orNaN(row.gpu_ns);
		this.waitGpu[at] = orNaN(row.wait_ns?.gpu);
		this.waitPresent[at] = orNaN(row.wait_ns?.present);
		this.waitCap[at] = orNaN(row.wait_ns?.cap);
		this.events[at] = row.events;
		this.lost[at] = row.lost_events;
		this.late[at] = row.late_events ?? 0;
		this.flags[at] = bitsOf(row.flags);
		this.last = Math.max(this.last, frame);
		this.first = this.first ? Math.min(this.first, frame) : frame;
		this.changes++;
	}

	/** @param {number} frame @returns {FrameRow|null} */
	get(frame) {
		const at = this.slot(frame);
		if (at < 0)
			return null;
		return {
			frame,
			begin_ns: this.begin[at],
			wall_ns: this.wall[at],
			cpu_ns: orNull(this.cpu[at]),
			gpu_ns: orNull(this.gpu[at]),
			wait_ns: {
				gpu: orNull(this.waitGpu[at]),
				present: orNull(this.waitPresent[at]),
				cap: orNull(this.waitCap[at]),
			},
			events: this.events[at],
			lost_events: this.lost[at],
			late_events: this.late[at],
			flags: FLAGS.filter((_, bit) => this.flags[at] & (1 << bit)),
		};
	}

	/** A copy that new frames do not change. */
	snapshot() {
		const copy = new FrameRing(this.capacity);
		for (const key of /** @type {const} */ (['number', 'begin', 'wall', 'cpu', 'gpu', 'waitGpu',
			'waitPresent', 'waitCap', 'events', 'lost', 'late', 'flags']))
			copy[key].set(this[key]);
		copy.last = this.last;
		copy.first = this.first;
		return copy;
	}

	/**
	 * The frame next to one, skipping gaps; the nearest end when there is none. 0: nothing at all.
	 * @param {number} frame @param {number} step -1 or 1 @param {number} low @param {number} high
	 */
	neighbour(frame, step, low, high) {
		for (let n = Math.min(high + 1, Math.max(low - 1, frame)) + step; n >= low && n <= high; n += step) {
			if (this.slot(n) >= 0)
				return n;
		}
		return this.slot(frame) >= 0 ? frame : 0;
	}
}

/** @param {string[]|undefined} names */
function bitsOf(names) {
	let bits = 0;
	for (const name of names ?? []) {
		const bit = FLAGS.indexOf(name);
		if (bit >= 0)
			bits |= 1 << bit;
	}
	return bits;
}
