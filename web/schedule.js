// SPDX-License-Identifier: MIT
// What the scheduler did with the threads of what the timeline shows, and the critical paths of its frames. Pure
// but for asking: the timeline draws it.

import { framePath, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { duration } from './format.js';
import { trackTitle } from './zones.js';

/**
 * @typedef {object} Stretch
 * @property {number} start ns from the timeline's begin
 * @property {number} end
 * @property {string} state
 * @property {string|null} reason
 * @property {number|null} cpu
 * @property {any|null} by
 */

export class Schedule {
	/** @param {import('./model.js').Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.states = new Asked(invalidate);
		this.invalidate = invalidate;
		/** The critical path of each frame, by what is asked. @type {Map<string, Asked>} */
		this.paths = new Map();
		/** @type {any} */
		this.takenStates = null;
		/** @type {any[]} */
		this.takenPaths = [];
		/** By thread, see threadOf. @type {Map<number, Stretch[]>} */
		this.byThread = new Map();
		/** A lane without zones for each thread that is told of. @type {import('./zones.js').Lane[]} */
		this.lanes = [];
		/** The critical path's, by thread. @type {Map<number, Stretch[]>} */
		this.critical = new Map();
		/** ns of the session at time 0 of the stretches. */
		this.origin = 0;
		/** How many intervals the answer left out. */
		this.leftOut = 0;
	}

	/** Asks about the frames that are shown. @param {{from: number, to: number, frames: number[], origin: number}|null} shown frames: whose critical paths */
	follow(shown) {
		const { session, stream } = this.model;
		const about = session && !session.aggregate ? shown : null;
		const more = stream === null ? '' : `&stream=${encodeURIComponent(stream)}`;
		this.states.want(about && `${sessionPath(String(session.id))}/schedule?from=${about.from}&to=${about.to}${more}`);
		this.wantPaths((about?.frames ?? []).map((frame) => `${framePath(String(session.id), null, frame)}/critical-path${more.replace('&', '?')}`));
		const origin = about?.origin ?? 0;
		const same = origin === this.origin && about !== null;
		this.origin = origin;
		// Those of other frames of the same range stay until the new ones are here.
		const states = this.states.fresh ? this.states.answer : same ? this.takenStates : null;
		const paths = [...this.paths.values()].map(({ answer }) => answer).filter(Boolean);
		if (!same) {
			this.takenStates = undefined;
			this.takenPaths = [];
			this.critical = new Map();
		}
		if (states !== this.takenStates) {
			this.takenStates = states;
			this.leftOut = states?.left_out ?? 0;
			this.byThread = new Map((states?.threads ?? []).map((/** @type {any} */ one) => [threadOf(one), one.intervals.map((/** @type {any} */ i) => stretchOf(i, origin))]));
			this.lanes = (states?.threads ?? []).map(emptyLane);
		}
		if (paths.length !== this.takenPaths.length || paths.some((one, at) => one !== this.takenPaths[at])) {
			this.takenPaths = paths;
			this.critical = new Map();
			for (const interval of paths.flatMap(({ intervals }) => intervals).sort((a, b) => a.start_ns - b.start_ns)) {
				const list = this.critical.get(threadOf(interval)) ?? [];
				list.push(stretchOf(interval, origin));
				this.critical.set(threadOf(interval), list);
			}
		}
	}

	/** @param {string[]} wanted */
	wantPaths(wanted) {
		for (const [path, asked] of this.paths) {
			if (!wanted.includes(path)) {
				asked.want(null);
				this.paths.delete(path);
			}
		}
		for (const path of wanted) {
			if (!this.paths.has(path))
				this.paths.set(path, new Asked(this.invalidate));
			this.paths.get(path)?.want(path);
		}
	}
}

/** The id of a thread's lane; of one that recorded nothing it is below 0. @param {{thread: number|null, tid: number}} one */
export const threadOf = ({ thread, tid }) => thread ?? -tid;

/** A lane for what the scheduler did with a thread without zones. @param {any} one @returns {import('./zones.js').Lane} */
function emptyLane(one) {
	const thread = /** @type {any} */ ({ id: threadOf(one), kind: 'thread', name: one.thread_name, tid: one.tid });
	const none = () => { throw new RangeError('it has no zones'); };
	return { thread, title: trackTitle(thread), count: 0, busy: 0, self: new Float64Array(), flags: new Uint16Array(), merged: null, rows: [], marker: none, zone: none };
}

/** @param {any} interval @param {number} origin @returns {Stretch} */
export function stretchOf(interval, origin) {
	const start = interval.start_ns - origin;
	return { start, end: start + interval.duration_ns, state: interval.state, reason: interval.reason, cpu: interval.cpu ?? null, by: interval.by };
}

/**
 * The stretches of a list in [t0, t1]; those shorter than `least` are merged with their short neighbours, none is left out.
 * @param {Stretch[]} list by time @param {number} t0 @param {number} t1 @param {number} least ns
 * @returns {{start: number, end: number, first: Stretch, count: number}[]}
 */
export function stretchesBetween(list, t0, t1, least) {
	/** @type {{start: number, end: number, first: Stretch, count: number}[]} */
	const made = [];
	for (let at = firstEndingAfter(list, t0); at < list.length && list[at].start <= t1; at++) {
		const one = list[at];
		const last = made[made.length - 1];
		if (last && one.end - one.start < least && last.end - last.start < least && one.end - last.start <= least) {
			last.end = one.end;
			last.count++;
			continue;
		}
		made.push({ start: one.start, end: one.end, first: one, count: 1 });
	}
	return made;
}

/** @param {Stretch[]} list @param {number} time */
function firstEndingAfter(list, time) {
	let low = 0;
	let high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/** The stretch at a time; null: none. @param {Stretch[]} list by time @param {number} time */
export function stretchAt(list, time) {
	const found = list[firstEndingAfter(list, time)];
	return found && found.start <= time ? found : null;
}

/** Who ended a wait: the next stretch of a thread says it. @param {Stretch[]} list @param {Stretch} stretch */
export function endedBy(list, stretch) {
	const next = list[list.indexOf(stretch) + 1];
	return next?.state === 'runnable' && next.by?.did === 'woke' ? next.by : null;
}

/** @param {any} by */
export function byText(by) {
	switch (by.kind) {
	case 'thread': return by.name ?? `thread ${by.tid}`;
	case 'process': return `${by.name ?? 'a process'} (process ${by.process})`;
	case 'interrupt': return 'an interrupt: a timer or a device';
	case 'kernel': return `the kernel (${by.name ?? 'a thread of it'})`;
	default: return 'nobody knows who';
	}
}

/** What a stretch says. @param {Stretch[]} list @param {Stretch} stretch @returns {string[]} */
export function stretchLines(list, stretch) {
	const length = duration(stretch.end - stretch.start);
	const waker = endedBy(list, stretch);
	switch (stretch.state) {
	case 'running': return [`running on cpu ${stretch.cpu}`, length, ...(stretch.by ? [`had waited for it while ${byText(stretch.by)} ran`] : [])];
	case 'runnable': return ['runnable: wants a cpu and has none', length, ...(stretch.by ? [`${stretch.by.did === 'woke' ? 'woken' : 'preempted'} by ${byText(stretch.by)}`] : [])];
	case 'blocked': return [`blocked: ${stretch.reason ?? 'not known in what'}`, length, ...(waker ? [`woken by ${byText(waker)}${waker.kind === 'thread' ? '; click to go there' : ''}`] : [])];
	case 'gone': return ['the thread has ended'];
	default: return ['not known: the scheduler source told nothing here', length];
	}
}

/** Which colour of the palette a stretch has. @param {Stretch} stretch */
export function stretchColour({ state, reason }) {
	if (state === 'running')
		return 'hold-cpu';
	if (state === 'runnable')
		return 'hold-scheduler';
	if (state !== 'blocked')
		return 'hold-unknown';
	switch (reason) {
	case 'lock': return 'hold-lock';
	case 'read': case 'write': case 'disk': case 'socket': return 'hold-io';
	case 'memory': return 'hold-memory';
	case 'gpu': return 'hold-gpu';
	default: return 'line';
	}
}
