// SPDX-License-Identifier: MIT
// What the strip marks beside frames: spikes that fired, allocations where they are tracked, and these and garbage collections
// where the game counts them by their standard names. Each is asked for again every few seconds while a live game is followed.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { gcFrames, spikeFrames } from './marks.js';

/** @typedef {import('./model.js').Model} Model */

const REFRESH_MS = 4000;
/** Where a live game's counters have values, these are asked for as the frames go by. */
const VALUES_MS = 1000;
/** Of so many frames of a live game it is asked whether allocations are tracked; once they are, of all that are shown. */
const PROBED = 60;
const COUNTERS = /** @type {const} */ (['allocations', 'gc_collections', 'gc_pause']);

export class StripMarks {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = { spikes: new Asked(invalidate), counters: new Asked(invalidate) };
		this.series = new Map(COUNTERS.map((name) => [name, new Asked(invalidate)]));
		this.tracked = new Asked(invalidate);
		this.askedAt = -Infinity;
		this.valuesAt = -Infinity;
		this.seen = -1;
		/** What the maps were made of. @type {any[]} */
		this.taken = [];
		/** What fired, by frame. @type {Map<number, string[]>} */
		this.spikes = new Map();
		/** How many allocations, by frame; empty: not counted. @type {Map<number, number>} */
		this.allocations = new Map();
		/** @type {Set<number>} */
		this.collections = new Set();
	}

	/** Whether anything is counted that has a lane of its own below the frames. */
	get lane() {
		return this.allocations.size > 0 || this.has('gc_collections') || this.has('gc_pause');
	}

	/** Whether the session counts it. @param {string} name */
	has(name) {
		return (this.of(this.asked.counters)?.modules ?? []).some((/** @type {any} */ module) =>
			module.counters.some((/** @type {any} */ one) => one.name === name && one.origin === 'game'));
	}

	/** An answer, if it is about the session shown. @param {Asked|undefined} asked @returns {any} */
	of(asked) {
		return asked?.answer?.session === this.model.session?.id ? asked?.answer : null;
	}

	/** What frames allocated, as far as it is tracked. @returns {[number, number][]} */
	get told() {
		return this.of(this.tracked)?.metrics[0].values ?? [];
	}

	follow() {
		const { session, spikesSeen } = this.model;
		const base = session ? sessionPath(String(session.id)) : null;
		const due = session?.state === 'live' && performance.now() - this.askedAt > REFRESH_MS;
		if (due)
			this.askedAt = performance.now();
		this.asked.spikes.want(session ? '/spikes' : null, this.seen !== spikesSeen);
		this.seen = spikesSeen;
		this.asked.counters.want(base && `${base}/counters`, due);
		const newer = session?.state === 'live' && performance.now() - this.valuesAt > (this.lane ? VALUES_MS : REFRESH_MS);
		if (newer)
			this.valuesAt = performance.now();
		for (const [name, asked] of this.series)
			asked.want(base && this.has(name) ? `${base}/counters/${name}?last=3600` : null, newer);
		this.followTracked(newer);
		this.take();
	}

	/** @param {boolean} due */
	followTracked(due) {
		const { session, stream, shown } = this.model;
		const { first, last } = this.model.window();
		const live = session?.state === 'live';
		if (!session || session.aggregate || !shown.last || this.has('allocations')) {
			this.tracked.want(null);
			return;
		}
		const to = Math.min(last, shown.last);
		const from = Math.max(live && !this.told.length ? to - PROBED : first, shown.first, 1);
		const answer = this.of(this.tracked);
		if (live && !due && answer && answer.range.from <= from)
			return;
		const parts = new URLSearchParams({ metric: 'allocations', values: 'yes', frames: 'all', from: String(from), to: String(to) });
		if (stream !== null)
			parts.set('stream', stream);
		this.tracked.want(`${sessionPath(String(session.id))}/stats?${parts}`);
	}

	take() {
		const [allocations, collections, pauses] = COUNTERS.map((name) => this.of(this.series.get(name)));
		const { told } = this;
		const made = [this.asked.spikes.answer, this.model.session?.id, allocations, collections, pauses, this.tracked.answer];
		if (made.every((one, at) => one === this.taken[at]))
			return;
		this.taken = made;
		this.spikes = spikeFrames(this.asked.spikes.answer?.spikes ?? [], this.model.session?.id);
		this.allocations = new Map(allocations ? allocations.values.map((/** @type {any} */ one) => [one.frame, one.value]) : told);
		this.collections = gcFrames(collections?.values ?? [], pauses?.values ?? []);
	}

	/** What there is to say of a frame. @param {number} frame @returns {string[]} */
	tell(frame) {
		const count = this.allocations.get(frame);
		return [
			...(this.spikes.get(frame) ?? []).map((label) => `spike: ${label}`),
			...(count === undefined ? [] : [`${count} allocations`]),
			...(this.collections.has(frame) ? ['garbage was collected'] : []),
		];
	}
}
