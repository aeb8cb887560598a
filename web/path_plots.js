// SPDX-License-Identifier: MIT
// The rows of the tree of zones over the last 12 seconds of a live game: what each path took in a frame, the longest of each
// half second. The daemon's history is asked for once, what is new twice a second; a plot belongs to its path, wherever the row
// goes.

import { Asked } from './asked.js';
import { element } from './dom.js';
import { duration } from './format.js';
import { palette } from './palette.js';
import { Slots } from './slots.js';
import { zonesPath } from './zone_rows.js';

/** @typedef {import('./model.js').Model} Model */

const SLOT_MS = 500;
const SLOTS = 24;
const SIZE = { width: 72, height: 18 };
/** Rows that get a plot: more would cost a frame of the page. */
export const PLOTTED = 100;

/** @param {any} row of the tree */
const keyOf = (row) => JSON.stringify([row.gpu, row.thread, row.path]);

export class PathPlots {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.slots = new Slots(SLOTS);
		/** @type {any} */
		this.taken = null;
		this.session = 0;
		/** The first frame that was not asked for; 0: the known history is still to be. */
		this.next = 0;
		this.askedAt = -Infinity;
		/** Of the newest answer, counted from the page's begin; Infinity: there is none. */
		this.slot = Infinity;
		/** The canvases on the page, by path. @type {Map<string, HTMLCanvasElement>} */
		this.canvases = new Map();
	}

	/** Whether there is anything to plot. @param {string} view */
	serves(view) {
		return view === 'tree' && this.model.session?.state === 'live' && this.model.stream === null;
	}

	/** Asks for the frames since the last question. @param {string} view */
	follow(view) {
		const { model } = this;
		const session = model.session?.id ?? 0;
		if (session !== this.session || !this.serves(view)) {
			this.session = session;
			this.slots.clear();
			this.slot = Infinity;
			this.next = 0;
			this.asked.want(null);
		}
		if (!this.serves(view))
			return;
		this.take();
		const waits = this.asked.path !== null && !this.asked.fresh && !this.asked.problem;
		const from = this.next || this.history();
		if (waits || performance.now() - this.askedAt < SLOT_MS || !from || model.ring.last < from)
			return;
		this.askedAt = performance.now();
		const scope = { session: String(session), stream: null, from, to: model.ring.last, what: /** @type {'range'} */ ('range') };
		const partMs = this.next ? 0 : SLOT_MS;
		this.next = model.ring.last + 1;
		this.asked.want(zonesPath(scope, { view: 'tree', order: { key: 'total', down: true }, text: '', thread: '', category: '', perFrame: true, limit: 1000, partMs }));
	}

	/** Where the known history of all slots begins, as far as the frames that are here tell how fast they come; 0: not yet. */
	history() {
		const { ring } = this.model;
		let first = ring.last;
		while (ring.slot(first - 1) >= 0)
			first--;
		const ns = ring.last ? ring.begin[ring.slot(ring.last)] - ring.begin[ring.slot(first)] : 0;
		return ns > 0 ? Math.max(1, Math.floor(ring.last - ((ring.last - first) * SLOTS * SLOT_MS * 1e6) / ns)) : 0;
	}

	take() {
		const { answer } = this.asked;
		if (!answer || answer === this.taken)
			return;
		this.taken = answer;
		// time in which nobody looked, or no frame came, has passed all the same
		const slot = Math.floor(this.askedAt / SLOT_MS);
		for (let empty = Math.min(SLOTS, slot - this.slot - 1); empty > 0; empty--)
			this.slots.push([]);
		this.slot = slot;
		const parts = Math.min(SLOTS, answer.zones[0]?.parts?.length ?? 1);
		for (let part = parts; part > 0; part--)
			this.slots.push(answer.zones.map((/** @type {any} */ row) => [keyOf(row), row.parts ? row.parts.at(-part) : row.max_ns]));
		this.canvases.forEach((canvas, key) => this.paint(canvas, key));
	}

	/** Lets go of those whose rows are gone. */
	forget() {
		for (const [key, canvas] of this.canvases) {
			if (!canvas.isConnected)
				this.canvases.delete(key);
		}
	}

	/** @param {any} row @returns {Node} */
	cell(row) {
		if (this.canvases.size >= PLOTTED)
			return document.createTextNode('');
		const ratio = Math.min(3, Math.max(1, Math.round(window.devicePixelRatio || 1)));
		const canvas = element('canvas', { width: String(SIZE.width * ratio), height: String(SIZE.height * ratio), class: 'path-plot', role: 'img' });
		const key = keyOf(row);
		this.canvases.set(key, canvas);
		this.paint(canvas, key);
		return canvas;
	}

	/** @param {HTMLCanvasElement} canvas @param {string} key */
	paint(canvas, key) {
		const values = this.slots.of(key);
		const most = Math.max(0, ...values.map((value) => value ?? 0));
		const now = values.at(-1);
		const text = most ? `The longest frame of each half second of 12 s: now ${now ? duration(now) : 'none'}, at most ${duration(most)}` : 'Nothing in these 12 s';
		canvas.setAttribute('aria-label', text);
		canvas.title = text;
		const context = canvas.getContext('2d');
		if (!context)
			return;
		context.clearRect(0, 0, canvas.width, canvas.height);
		context.fillStyle = palette().plot;
		const step = canvas.width / SLOTS;
		values.forEach((value, at) => {
			const high = value && most ? Math.max(1, (value / most) * canvas.height) : 0;
			context.fillRect(at * step, canvas.height - high, Math.max(1, step - 1), high);
		});
	}
}
