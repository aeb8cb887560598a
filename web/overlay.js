// SPDX-License-Identifier: MIT
// The one counter that lies over the strip, when one was chosen: of the game's own its value in each frame, of a sampled one
// its samples at the frames in which they were taken.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { counterText, rateOf, samplesByFrame } from './counter_series.js';

const REFRESH_MS = 1000;

export class Overlay {
	/** @param {import('./model.js').Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.askedAt = -Infinity;
		/** @type {any} */
		this.taken = null;
		/** @type {Map<number, number>} by frame */
		this.values = new Map();
		this.unit = '';
		/** Whether it is read from outside, at times of its own. */
		this.sampled = false;
		/** Whether it is shown as its growth a second. */
		this.rate = false;
	}

	/** @param {number|undefined} value */
	text(value) {
		return `${counterText(value, this.unit)}${this.rate ? '/s' : ''}`;
	}

	/** The counter's name; '': none. */
	get name() {
		return this.model.setting('strip.counter', '');
	}

	/** Asks what is not known yet. */
	follow() {
		const { session } = this.model;
		const due = performance.now() - this.askedAt > REFRESH_MS && session?.state === 'live';
		if (due)
			this.askedAt = performance.now();
		this.asked.want(this.name && session ? `${sessionPath(String(session.id))}/counters/${encodeURIComponent(this.name)}?last=3600` : null, due);
		this.take();
	}

	take() {
		const { answer } = this.asked;
		if (answer === this.taken && !this.sampled)
			return;
		this.taken = answer;
		this.sampled = answer?.origin === 'sampled';
		this.unit = answer?.unit ?? '';
		this.rate = Boolean(answer?.cumulative);
		const values = answer?.values ?? [];
		this.values = this.sampled ? this.placed(values, answer.cumulative) : new Map(values.map((/** @type {any} */ one) => [one.frame, one.value]));
	}

	/** @param {any[]} values @param {boolean} cumulative then its rate */
	placed(values, cumulative) {
		const { first, last } = this.model.window();
		/** @type {[number, number][]} */
		const samples = values.map((one) => [one.sampled_at_ns, one.value]);
		return samplesByFrame(cumulative ? rateOf(samples) : samples, this.model.shown, first, last);
	}
}
