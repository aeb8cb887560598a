// SPDX-License-Identifier: MIT
// What was counted, over the frames shown. First what every game has: frame, cpu and gpu time on one scale, and how
// much of each was used, with the headroom above, filled. Then a line for each counter, by module; one of them may lie over
// the strip. Values of the game belong to frames; sampled ones have their own times, about one a second, and are never
// shared out among frames.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { busier, counterText, frameSeries, rateOf, scaleOf } from './counter_series.js';
import { element, setText } from './dom.js';
import { count, milliseconds, plural } from './format.js';
import { Plot } from './plot.js';
import { Sparkline } from './sparkline.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */

const REFRESH_MS = 2000;

export class CountersPanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['numbers', 'selection', 'session', 'settings', 'held', 'palette'];
		this.asked = new Asked(invalidate);
		this.askedAt = -Infinity;
		/** @type {any} */
		this.shown = null;
		const open = (/** @type {number} */ frame) => model.select(frame);
		at.append(element('h2', {}, 'Frame, cpu and gpu time'));
		this.times = new Plot(at, { label: 'Frame, cpu and gpu time of each frame; the frames table has the values', height: 150, value: milliseconds, open, lines: [
			{ label: 'frame', colour: 'text' }, { label: 'cpu', colour: 'hold-cpu' }, { label: 'gpu', colour: 'hold-gpu' }] });
		at.append(element('h2', {}, 'Used of the frame; the filled area is headroom'));
		this.used = new Plot(at, { label: 'Share of each frame in which the cpu and the gpu were busy, and what is left of the busier one; the frames table has the values', height: 130, value: (n) => `${n.toFixed(0)} %`, open, scale: { min: 0, max: 100 }, lines: [
			{ label: 'cpu', colour: 'hold-cpu' }, { label: 'gpu', colour: 'hold-gpu' },
			{ label: 'headroom', colour: 'good', above: true, value: (n) => `${(100 - n).toFixed(0)} %` }] });
		this.note = element('p', { class: 'note', role: 'status' });
		this.overlay = element('button', { type: 'button' }, 'Take it off the strip');
		this.overlay.addEventListener('click', () => model.set('strip.counter', null));
		this.wall = element('div', { class: 'modules' });
		at.append(element('div', { class: 'head' }, this.note, element('div', { class: 'controls' }, this.overlay)), this.wall);
		const table = element('details', {}, element('summary', {}, 'Counters as a table'), element('div'));
		at.append(table);
		this.table = new Table(/** @type {HTMLElement} */ (table.lastElementChild), { caption: 'Counters', filter: true, columns: [
			{ label: 'Module', text: (row) => row.module },
			{ label: 'Counter', text: (row) => row.name },
			{ label: 'Value', text: (row) => counterText(row.value, row.unit), order: (row) => row.value ?? -Infinity, number: true },
			{ label: 'Per second', text: (row) => rateText(row), order: (row) => row.per_second ?? -Infinity, number: true },
			{ label: 'Age', text: (row) => (row.age_ns === undefined || row.age_ns === null ? '–' : milliseconds(row.age_ns)), number: true },
			{ label: 'Source', text: (row) => row.source },
		] });
		/** @type {Map<string, {line: Sparkline, text: HTMLElement, box: HTMLElement}>} by module and name: a line stays its counter's */
		this.lines = new Map();
	}

	draw() {
		const { model } = this;
		const { first, last } = model.window();
		const { x, wall, cpu, gpu } = frameSeries(model.shown, first, last);
		this.times.show([x, wall, cpu, gpu]);
		const [cpuShare, gpuShare] = [shareOf(cpu, wall), shareOf(gpu, wall)];
		this.used.show([x, cpuShare, gpuShare, busier(cpuShare, gpuShare)]);
		const due = performance.now() - this.askedAt > REFRESH_MS && model.session?.state === 'live' && !model.held;
		if (due)
			this.askedAt = performance.now();
		this.asked.want(model.session ? `${sessionPath(String(model.session.id))}/counters?values=yes` : null, due);
		const chosen = model.setting('strip.counter', '');
		this.overlay.hidden = !chosen;
		const counters = countersOf(this.asked.answer);
		setText(this.note, this.asked.problem || (this.asked.answer ? `${plural(counters.length, 'counter')}${chosen ? `; ${chosen} lies over the strip` : ''}. ${samplingText(this.asked.answer.sampling)}` : 'Reading the counters…'));
		if (this.asked.answer === this.shown)
			return;
		this.shown = this.asked.answer;
		this.drawWall();
		this.table.show(counters);
	}

	drawWall() {
		const modules = this.shown?.modules ?? [];
		const boxes = modules.map((/** @type {any} */ module) => element('section', { class: 'module' }, element('h3', {}, module.module),
			...module.counters.map((/** @type {any} */ counter) => this.line(module.module, counter))));
		this.wall.replaceChildren(...boxes);
	}

	/** @param {string} module @param {any} counter */
	line(module, counter) {
		const key = `${module} ${counter.name}`;
		let known = this.lines.get(key);
		if (!known) {
			const button = element('button', { type: 'button', class: 'link' }, counter.name);
			button.title = counter.origin === 'game' ? 'Lay it over the strip, or take it off' : 'Lay its samples over the strip at their times, or take them off';
			button.addEventListener('click', () => this.model.set('strip.counter', this.model.setting('strip.counter', '') === counter.name ? null : counter.name));
			const text = element('span', { class: 'value' });
			const box = element('div', { class: 'counter' }, button, text);
			known = { line: new Sparkline(box, counter.name), text, box };
			this.lines.set(key, known);
		}
		const values = counter.cumulative ? rateOf(counter.values ?? []) : (counter.values ?? []);
		known.line.show(values, scaleOf(counter), counter.origin === 'game');
		setText(known.text, counter.cumulative ? rateText(counter) : counterText(counter.value, counter.unit));
		return known.box;
	}
}

/** @param {any} answer @returns {any[]} */
function countersOf(answer) {
	return (answer?.modules ?? []).flatMap((/** @type {any} */ module) => module.counters.map((/** @type {any} */ one) => ({ ...one, module: module.module })));
}

/** @param {(number|null)[]} part @param {(number|null)[]} whole */
const shareOf = (part, whole) => part.map((ns, at) => (ns === null || !whole[at] ? null : (ns / /** @type {number} */ (whole[at])) * 100));

/** @param {any} counter */
function rateText(counter) {
	const { per_second: rate } = counter;
	return rate === null || rate === undefined ? '–' : `${counterText(Number(rate.toPrecision(4)), counter.unit)}/s`;
}

/** @param {any} sampling */
function samplingText(sampling) {
	if (sampling?.state !== 'on')
		return 'Sampling from outside is off.';
	const cost = sampling.cost_ns_per_sample;
	return `Sampled every ${count(sampling.interval_ms)} ms${cost === null ? '' : `, ${milliseconds(cost)} a time`}.`;
}
