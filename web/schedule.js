// SPDX-License-Identifier: MIT
// What the scheduler did with the threads of the selected frame, and its critical path, for the timeline. Pure but for
// asking: the timeline draws it.

import { framePath, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { duration } from './format.js';

/**
 * @typedef {object} Stretch
 * @property {number} start ns from the frame's begin
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
		this.path = new Asked(invalidate);
		/** @type {any} */
		this.takenStates = null;
		/** @type {any} */
		this.takenPath = null;
		/** By thread. @type {Map<number, Stretch[]>} */
		this.byThread = new Map();
		/** The critical path's, by thread. @type {Map<number, Stretch[]>} */
		this.critical = new Map();
		/** How many intervals the answer left out. */
		this.leftOut = 0;
	}

	/** Asks about the frame that is shown. */
	follow() {
		const { detail, session, stream } = this.model;
		const frame = detail?.frame.frame;
		const shown = session && frame && !session.aggregate;
		const more = stream === null ? '' : `&stream=${encodeURIComponent(stream)}`;
		this.states.want(shown ? `${sessionPath(String(session.id))}/schedule?from=${frame}&to=${frame}${more}` : null);
		this.path.want(shown ? `${framePath(String(session.id), null, frame)}/critical-path${more.replace('&', '?')}` : null);
		const origin = detail?.frame.begin_ns ?? 0;
		const states = this.states.fresh ? this.states.answer : null;
		const path = this.path.fresh ? this.path.answer : null;
		if (states !== this.takenStates) {
			this.takenStates = states;
			this.leftOut = states?.left_out ?? 0;
			this.byThread = new Map((states?.threads ?? []).map((/** @type {any} */ one) => [one.thread, one.intervals.map((/** @type {any} */ i) => stretchOf(i, origin))]));
		}
		if (path !== this.takenPath) {
			this.takenPath = path;
			this.critical = new Map();
			for (const interval of path?.intervals ?? []) {
				const list = this.critical.get(interval.thread) ?? [];
				list.push(stretchOf(interval, origin));
				this.critical.set(interval.thread, list);
			}
		}
	}
}

/** @param {any} interval @param {number} origin @returns {Stretch} */
export function stretchOf(interval, origin) {
	const start = interval.start_ns - origin;
	return { start, end: start + interval.duration_ns, state: interval.state, reason: interval.reason, cpu: interval.cpu ?? null, by: interval.by };
}

/** The stretch at a time; null: none. @param {Stretch[]} list by time @param {number} time */
export function stretchAt(list, time) {
	let low = 0;
	let high = list.length - 1;
	while (low <= high) {
		const at = (low + high) >> 1;
		if (list[at].end <= time)
			low = at + 1;
		else if (list[at].start > time)
			high = at - 1;
		else
			return list[at];
	}
	return null;
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
	default: return 'nobody knows whom';
	}
}

/** What a stretch says. @param {Stretch[]} list @param {Stretch} stretch @returns {string[]} */
export function stretchLines(list, stretch) {
	const length = duration(stretch.end - stretch.start);
	const waker = endedBy(list, stretch);
	switch (stretch.state) {
	case 'running': return [`running on cpu ${stretch.cpu}`, length];
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
