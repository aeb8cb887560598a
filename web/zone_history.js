// SPDX-License-Identifier: MIT
// One row of zones over the frames shown: its time in each, how often which time came, and the numbers. The plot is raw and
// stays that of the row's path and thread, whatever rows come and go.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { element, setText } from './dom.js';
import { count, duration, plural } from './format.js';
import { Plot } from './plot.js';
import { Table } from './table.js';
import { histogram } from './zone_rows.js';

const BINS = 24;

export class ZoneHistory {
	/** @param {HTMLElement} at @param {import('./model.js').Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.title = element('h2');
		this.close = element('button', { type: 'button' }, 'Close');
		this.close.addEventListener('click', () => model.set('tables.zone', null));
		this.note = element('p', { class: 'note' });
		this.box = element('div', { class: 'zone-history', hidden: '' }, element('div', { class: 'head' }, this.title, element('div', { class: 'controls' }, this.close)), this.note);
		at.append(this.box);
		this.plot = new Plot(this.box, {
			label: 'Time of the zone in each frame', height: 150, value: duration, cut: true,
			lines: [{ label: 'time in the frame', colour: 'plot', fill: true, steps: true }],
			open: (frame) => model.select(frame),
		});
		this.bins = element('div', { class: 'histogram', role: 'img', 'aria-label': 'How many frames spent how much time in the zone' });
		this.box.append(element('h2', {}, 'How often which time'), this.bins);
		const table = element('details', {}, element('summary', {}, 'The same as a table'), element('div'));
		this.table = new Table(/** @type {HTMLElement} */ (table.lastElementChild), {
			caption: 'Time of the zone by frame',
			columns: [
				{ label: 'Frame', text: (row) => count(row[0]), order: (row) => row[0], number: true, open: (row) => model.select(row[0]) },
				{ label: 'Time', text: (row) => duration(row[1]), order: (row) => row[1] ?? -1, number: true },
			],
		});
		this.box.append(table);
		/** @type {any} */
		this.shown = null;
	}

	/** @param {ReturnType<import('./model.js').Model['scope']>} scope @param {string} of as historyOf says; '': none @param {Map<string, string>} threads their names by id */
	draw(scope, of, threads) {
		const { session, stream, shown } = this.model;
		const window = this.model.window();
		const about = new URLSearchParams(of);
		const metric = about.get('metric');
		const opens = this.box.hidden && scope && metric;
		this.box.hidden = !scope || !metric;
		if (opens)
			this.box.scrollIntoView({ block: 'nearest' });
		if (!scope || !metric) {
			this.asked.want(null);
			return;
		}
		const parts = new URLSearchParams({ values: 'yes', frames: 'all', from: String(Math.max(window.first, shown.first)), to: String(Math.min(window.last, shown.last)) });
		if (stream !== null)
			parts.set('stream', stream);
		for (const name of ['metric', 'path', 'thread'])
			about.getAll(name).forEach((value) => parts.append(name, value));
		this.asked.want(`${sessionPath(String(session.id))}/stats?${parts}`);
		const thread = about.get('thread');
		setText(this.title, `${about.getAll('path').join(' › ') || metric.replace(/^(gpu_)?zone:/, '')}, ${thread ? `on ${threads.get(thread) ?? `thread ${thread}`}` : 'all threads'}`);
		const answer = this.asked.answer;
		const one = answer?.metrics[0];
		setText(this.note, this.asked.problem || (one ? noteOf(one) : 'Reading its frames…'));
		if (answer === this.shown)
			return;
		this.shown = answer;
		const values = one?.values ?? [];
		this.plot.show([values.map((/** @type {any} */ row) => row[0]), values.map((/** @type {any} */ row) => row[1])]);
		this.drawBins(values.map((/** @type {any} */ row) => row[1]).filter((/** @type {any} */ ns) => ns !== null));
		this.table.show(values);
	}

	/** @param {number[]} values ns */
	drawBins(values) {
		const bins = histogram(values, BINS);
		const most = Math.max(...bins.map((bin) => bin.count), 1);
		this.bins.replaceChildren(...bins.map((bin) => {
			const bar = element('div', { title: `${plural(bin.count, 'frame')} from ${duration(bin.from)} to ${duration(bin.to)}` });
			bar.style.height = bin.count ? `${Math.max(2, (bin.count / most) * 100)}%` : '0';
			return element('div', {}, bar);
		}));
		this.bins.append(element('span', { class: 'axis-from' }, '0'), element('span', { class: 'axis-to' }, bins.length ? duration(bins[bins.length - 1].to) : ''));
	}
}

/** @param {any} one a metric of the answer */
function noteOf(one) {
	return `In ${count(one.frames_with ?? one.frames)} of ${plural(one.frames, 'frame')}: median ${duration(one.p50_ns)}, p95 ${duration(one.p95_ns)}, `
		+ `worst ${duration(one.worst_ns)}${one.worst_frame ? ` in frame ${count(one.worst_frame)}` : ''}. Click the plot to select a frame.`;
}
