// SPDX-License-Identifier: MIT
// What held the frames back, over what is selected: the word, the parts of the wall time as a bar and in numbers, and the
// sentence, all as the daemon says them. And for the strip: the parts of each frame shown.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { byId, element, setText } from './dom.js';
import { count, milliseconds, percent, plural } from './format.js';
import { HOLDERS } from './palette.js';
import { disputeText, heldTogether, stacksOf } from './verdict_text.js';

/** @typedef {import('./model.js').Model} Model */

const REFRESH_MS = 500;
const AGAIN = 120; // frames whose verdict may change yet: by late results, by their neighbours
const KEPT = 1200; // frames
const CARD_MS = 1000;

/** The parts of each frame on the strip. */
export class StripVerdicts {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.askedAt = -Infinity;
		/** @type {any} */
		this.taken = null;
		/** The frames that were asked for and answered. @type {{from: number, to: number}|null} */
		this.covered = null;
		/** By frame: ns by HOLDERS. @type {Map<number, number[]>} */
		this.stacks = new Map();
		/** Which session and stream the stacks are of. */
		this.about = '';
	}

	/** Asks for the frames shown, and twice a second for those that are new. */
	follow() {
		const { session, stream, shown } = this.model;
		const window = this.model.window();
		const now = performance.now();
		const about = `${session?.id} ${stream ?? 'main'}`;
		if (about !== this.about) {
			this.about = about;
			this.stacks = new Map();
			this.covered = null;
		} else {
			this.take();
			if (now - this.askedAt < REFRESH_MS)
				return;
		}
		const [low, high] = [Math.max(window.first, shown.first, 1), Math.min(window.last, shown.last)];
		const { covered } = this;
		const from = covered && covered.from <= low && covered.to >= low ? Math.max(low, Math.min(high, covered.to) - AGAIN) : low;
		const parts = new URLSearchParams({ from: String(from), to: String(high), ...(stream === null ? {} : { stream }) });
		const path = session && shown.last ? `${sessionPath(String(session.id))}/verdict?${parts}` : null;
		this.askedAt = path ? now : -Infinity; // frames that come are asked for at once
		this.asked.want(path);
	}

	take() {
		const { answer, answered } = this.asked;
		if (answer === this.taken)
			return;
		this.taken = answer;
		if (`${answer?.session} ${answer?.stream}` !== this.about)
			return;
		const asked = new URLSearchParams(answered?.split('?')[1]);
		const [from, to] = [Number(asked.get('from')), Number(asked.get('to'))];
		const { covered } = this;
		const joins = covered && from >= covered.from && from <= covered.to + 1;
		this.covered = { from: joins ? covered.from : from, to: joins ? Math.max(covered.to, to) : to };
		stacksOf(answer.frames).forEach((stack, frame) => this.stacks.set(frame, stack));
		for (const frame of this.stacks.keys()) {
			if (frame < to - KEPT)
				this.stacks.delete(frame);
		}
	}
}

export class VerdictCard {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.title = byId('verdict-title', HTMLElement);
		this.sentence = byId('verdict-sentence', HTMLElement);
		this.bar = byId('verdict-bar', HTMLElement);
		this.parts = byId('verdict-parts', HTMLElement);
		this.note = byId('verdict-note', HTMLElement);
		this.dispute = byId('verdict-dispute', HTMLElement);
		this.askedAt = -Infinity;
		/** The session whose newest frames were asked for; null: another selection was. @type {string|null} */
		this.about = null;
		/** @type {any} */
		this.drawn = null;
		/** What the heights are kept for. */
		this.kept = '';
	}

	draw() {
		const scope = this.model.scope();
		const now = performance.now();
		if (scope?.what === 'shown' && this.about === scope.session && now - this.askedAt < CARD_MS)
			return this.drawAnswer(scope);
		this.about = scope?.what === 'shown' ? scope.session : null;
		this.askedAt = now;
		const stream = scope?.stream === null || !scope ? '' : `&stream=${encodeURIComponent(scope.stream)}`;
		this.asked.want(scope ? `${sessionPath(scope.session)}/verdict?from=${scope.from}&to=${scope.to}${stream}` : null);
		this.drawAnswer(scope);
	}

	/** @param {any} scope */
	drawAnswer(scope) {
		const { answer, problem } = this.asked;
		if (!answer) {
			setText(this.title, 'Verdict');
			setText(this.sentence, problem || (scope ? 'Judging…' : 'No frame yet.'));
			this.bar.replaceChildren();
			this.parts.replaceChildren();
			this.drawn = null;
			return;
		}
		if (answer === this.drawn)
			return;
		this.drawn = answer;
		this.show(answer);
	}

	/** @param {any} answer */
	show(answer) {
		const [only] = answer.frames.length === 1 ? answer.frames : [];
		setText(this.title, `Bound by ${answer.bound_by}`);
		setText(this.sentence, only ? only.sentence : answer.sentence);
		const stack = heldTogether(answer);
		const held = HOLDERS.map((holder, at) => ({ ...holder, ns: stack[at] })).filter(({ ns }) => ns > 0);
		this.bar.replaceChildren(...held.map(({ key, label, ns }) => {
			const part = element('span', { class: `swatch ${key}`, title: `${label}: ${milliseconds(ns)}` });
			part.style.flexGrow = String(ns);
			return part;
		}));
		this.bar.setAttribute('aria-label', held.map(({ label, ns }) => `${label} ${percent((ns / answer.wall_ns) * 100)}`).join(', '));
		this.parts.replaceChildren(...held.flatMap(({ key, label, ns }) => [
			element('dt', {}, element('span', { class: `swatch ${key}` }), ` ${label}`),
			element('dd', {}, `${milliseconds(ns / Math.max(1, answer.frames_judged))}  ${percent((ns / answer.wall_ns) * 100)}`)]));
		const kernel = answer.frames.filter((/** @type {any} */ one) => one.counted && one.kernel).length;
		setText(this.note, `${plural(answer.frames_judged, 'frame')} judged, means per frame; the kernel saw ${count(kernel)}. Confidence ${Math.round(answer.confidence * 100)} %.`);
		setText(this.dispute, disputeText(answer));
		this.keepHeights();
	}

	/** While frames are followed nothing below moves with how much there is to say: what was needed once is kept. */
	keepHeights() {
		const about = `${this.about} ${innerWidth}`;
		for (const at of [this.sentence, this.parts, this.note, this.dispute]) {
			if (this.about === null || about !== this.kept)
				at.style.minHeight = '';
			if (this.about !== null)
				at.style.minHeight = `${at.offsetHeight}px`;
		}
		this.kept = about;
	}
}
