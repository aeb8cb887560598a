// SPDX-License-Identifier: MIT
// The card beside the timeline: the selected frame's numbers, the numbers over the range, and the zones that took the time.
// The numbers over a live strip change at most four times a second.

import { summary } from './columns.js';
import { byId, element, setText } from './dom.js';
import { count, duration, milliseconds, words } from './format.js';
import { selfByName } from './zones.js';

/** @typedef {import('./model.js').Model} Model */

const FRAME_ROWS = ['Frame', 'Wall', 'Cpu', 'Gpu', 'Wait: gpu', 'Wait: present', 'Wait: cap', 'Events', 'Lost events', 'Flags'];
const RANGE_ROWS = ['Frames', 'Per second', 'Mean', 'Median', '95th percentile', '99th percentile', 'Worst', 'Lost events'];
const TOP = 5;
const OPEN_THREADS = 8;
const TOP_WAITS = 3;

export class Card {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		this.frame = rows(byId('card-frame', HTMLElement), FRAME_ROWS);
		this.frame[FRAME_ROWS.length - 1].className = 'wrap';
		this.range = rows(byId('card-range', HTMLElement), RANGE_ROWS);
		/** @type {import('./zones.js').Open[]} the open zones that are shown */
		this.open = [];
		this.top = makeLines(byId('card-top', HTMLElement), TOP);
		this.waits = makeLines(byId('card-waits', HTMLElement), TOP_WAITS);
	}

	draw() {
		this.drawFrame();
		this.drawRange();
		this.drawTop();
		this.drawOpen();
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
		const { view, shown, detail } = this.model;
		const known = detail?.frame.frame === view.frame ? detail?.frame : null;
		const row = known ?? (view.frame === null ? null : shown.get(view.frame));
		const texts = row ? [
			count(row.frame), milliseconds(row.wall_ns), milliseconds(row.cpu_ns), milliseconds(row.gpu_ns),
			milliseconds(row.wait_ns?.gpu), milliseconds(row.wait_ns?.present), milliseconds(row.wait_ns?.cap),
			count(row.events), count(row.lost_events), row.flags.map(words).join(', ') || 'none',
		] : FRAME_ROWS.map((_, at) => (at ? '–' : view.frame === null ? 'none selected' : count(view.frame)));
		texts.forEach((text, at) => setText(this.frame[at], text));
		this.frame[8].classList.toggle('warn', Boolean(row?.lost_events));
	}

	drawRange() {
		const { view, shown } = this.model;
		const { first, last } = view.range ?? this.model.window();
		const numbers = summary(shown, first, last);
		setText(byId('range-title', HTMLElement), view.range
			? `Range ${count(first)} to ${count(last)}` : 'Frames shown');
		const texts = [
			count(numbers.present), Number.isNaN(numbers.fps) ? '–' : numbers.fps.toFixed(1),
			milliseconds(numbers.mean), milliseconds(numbers.p50), milliseconds(numbers.p95), milliseconds(numbers.p99),
			numbers.worstFrame ? `${milliseconds(numbers.worst)} (frame ${count(numbers.worstFrame)})` : '–',
			count(numbers.lost),
		];
		texts.forEach((text, at) => setText(this.range[at], numbers.present ? text : '–'));
		this.range[7].classList.toggle('warn', numbers.lost > 0);
	}

	drawTop() {
		const tracks = (this.model.detail?.tracks ?? []).filter((track) => track.thread.kind !== 'gpu_queue');
		fillLines(this.top, selfByName(tracks));
		fillLines(this.waits, selfByName(tracks, true));
	}
}

/** Makes the lines of a list once. @param {HTMLElement} list @param {number} length */
function makeLines(list, length) {
	list.replaceChildren(...Array.from({ length }, () => element('li', {}, element('span'), element('span'))));
	return list;
}

/** @param {HTMLElement} list @param {{name: string, self: number, calls: number}[]} zones */
function fillLines(list, zones) {
	[...list.children].forEach((item, at) => {
		const [name, time] = item.children;
		const zone = zones[at];
		setText(name, zone?.name ?? (at ? '' : '–'));
		setText(time, zone ? `${duration(zone.self)} in ${count(zone.calls)}` : '');
		/** @type {HTMLElement} */ (name).title = zone?.name ?? '';
	});
}

/** Fills a list once; its values are changed in place. @param {HTMLElement} list @param {string[]} labels */
function rows(list, labels) {
	return labels.map((label) => {
		const value = element('dd');
		list.append(element('dt', {}, label), value);
		return value;
	});
}
