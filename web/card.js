// SPDX-License-Identifier: MIT
// The card beside the panels: the selected frame's numbers, or else what a live game does now, held still; and the numbers
// over the range. Numbers over a live strip change at most four times a second.

import { heldNumbers, summary } from './columns.js';
import { byId, element, setText } from './dom.js';
import { count, milliseconds, percent, words } from './format.js';
import { BUDGET_MS, budgetOf } from './marks.js';

/** @typedef {import('./model.js').Model} Model */

const FRAME_ROWS = ['Frame', 'Wall', 'Cpu ≤', 'Gpu', 'Wait: gpu', 'Wait: present', 'Wait: cap', 'Events', 'Lost events', 'Late events', 'Flags'];
const HELD_ROWS = ['Frames', 'Worst', 'Wall', 'Cpu ≤', 'Gpu', 'Wait: gpu', 'Wait: present', 'Wait: cap'];
const RANGE_ROWS = ['Frames', 'Per second', 'Mean', 'Median', 'p95', 'p99', 'Worst', 'Time in slow frames', 'Lost events'];
const OPEN_THREADS = 8;

export class Card {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		this.title = byId('card-title', HTMLElement);
		this.frameList = byId('card-frame', HTMLElement);
		this.heldList = byId('card-held', HTMLElement);
		this.frame = rows(this.frameList, FRAME_ROWS);
		this.frame[FRAME_ROWS.length - 1].className = 'wide wrap';
		this.held = rows(this.heldList, HELD_ROWS);
		this.range = rows(byId('card-range', HTMLElement), RANGE_ROWS);
		this.range[6].className = 'wide';
		this.range[7].previousElementSibling?.classList.add('long');
		/** @type {import('./zones.js').Open[]} the open zones that are shown */
		this.open = [];
	}

	draw() {
		const { view, session } = this.model;
		const live = view.frame === null && session?.state === 'live';
		this.frameList.hidden = live;
		this.heldList.hidden = !live;
		if (live)
			this.drawHeld();
		else
			this.drawFrame();
		this.drawRange();
		this.drawOpen();
	}

	/** Means of a quarter of a second, which can be read while the plots go on. */
	drawHeld() {
		const numbers = heldNumbers(this.model.shown, this.model.window().last);
		setText(this.title, 'Last whole 250 ms: means');
		const texts = numbers ? [count(numbers.frames), ...[numbers.worst, numbers.wall, numbers.cpu, numbers.gpu, ...numbers.waits].map(milliseconds)] : [];
		this.held.forEach((at, n) => setText(at, texts[n] ?? '–'));
	}

	/** What each thread of a session that has ended had open. */
	drawOpen() {
		const { open } = this.model;
		if (open === this.open)
			return;
		this.open = open;
		const rest = open.length - OPEN_THREADS;
		const lines = open.slice(0, OPEN_THREADS).map(({ title, names }) => [title, names.join(' › ')]);
		if (rest > 0)
			lines.push([`${count(rest)} more`, '']);
		byId('card-open', HTMLElement).hidden = !open.length;
		byId('open-list', HTMLElement).replaceChildren(...lines.flatMap(([title, names]) =>
			[element('dt', {}, title), element('dd', {}, names)]));
	}

	drawFrame() {
		setText(this.title, 'Selected frame');
		const { view, shown, detail } = this.model;
		const known = detail?.frame.frame === view.frame ? detail?.frame : null;
		const row = known ?? (view.frame === null ? null : shown.get(view.frame));
		const texts = row ? [
			count(row.frame), milliseconds(row.wall_ns), milliseconds(row.cpu_ns), milliseconds(row.gpu_ns),
			milliseconds(row.wait_ns?.gpu), milliseconds(row.wait_ns?.present), milliseconds(row.wait_ns?.cap),
			count(row.events), count(row.lost_events), count(row.late_events ?? 0), row.flags.map(words).join(', ') || 'none',
		] : FRAME_ROWS.map((_, at) => (at ? '–' : view.frame === null ? 'none selected' : count(view.frame)));
		texts.forEach((text, at) => setText(this.frame[at], text));
		this.frame[8].classList.toggle('warn', Boolean(row?.lost_events));
	}

	drawRange() {
		const { view, shown } = this.model;
		const { first, last } = view.range ?? this.model.window();
		const slow = budgetOf(this.model.setting('strip.budget', '')) ?? BUDGET_MS;
		const numbers = summary(shown, first, last, slow * 1e6);
		setText(byId('range-title', HTMLElement), view.range
			? `Range ${count(first)} to ${count(last)}` : 'Frames shown');
		const texts = [
			count(numbers.frames), Number.isNaN(numbers.fps) ? '–' : numbers.fps.toFixed(1),
			milliseconds(numbers.mean), milliseconds(numbers.p50), milliseconds(numbers.p95), milliseconds(numbers.p99),
			numbers.worstFrame ? `${milliseconds(numbers.worst)} (frame ${count(numbers.worstFrame)})` : '–',
			percent(numbers.slowShare * 100), count(numbers.lost),
		];
		texts.forEach((text, at) => setText(this.range[at], numbers.present ? text : '–'));
		setText(/** @type {Element} */ (this.range[7].previousElementSibling), `Time in frames over ${slow.toFixed(1)} ms`);
		this.range[8].classList.toggle('warn', numbers.lost > 0);
	}
}

/** Fills a list once; its values are changed in place. @param {HTMLElement} list @param {string[]} labels */
function rows(list, labels) {
	return labels.map((label) => {
		const value = element('dd');
		list.append(element('dt', {}, label), value);
		return value;
	});
}
