// SPDX-License-Identifier: MIT
// The one counter of the game that lies over the strip, when one was chosen: its value in each frame.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';

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
		if (this.asked.answer === this.taken)
			return;
		this.taken = this.asked.answer;
		this.unit = this.taken?.unit ?? '';
		this.values = new Map((this.taken?.values ?? []).filter((/** @type {any} */ one) => one.frame !== undefined)
			.map((/** @type {any} */ one) => [one.frame, one.value]));
	}
}
