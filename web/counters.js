// SPDX-License-Identifier: MIT
// What was counted, over the frames shown. First what every game has: frame, cpu and gpu time on one scale, and how
// much of each was used, with the headroom above, filled. Then a line for each counter, by module; one of them may lie over
// the strip. Values of the game belong to frames; sampled ones have their own times, about one a second, and are never
// shared out among frames.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { busier, counterText, frameSeries, rateOf, scaleOf } from './counter_series.js';
import { element, setText } from './dom.js';
import { count, duration, milliseconds, plural } from './format.js';
import { palette } from './palette.js';
import { Plot } from './plot.js';
import { Sparkline } from './sparkline.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */

/** @typedef {{name: string, of: any[], draw: () => void}} Piece */

const REFRESH_MS = 2000;
/** So many lines are drawn in one frame of the page. */
const LINES = 10;

export class CountersPanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['numbers', 'selection', 'session', 'settings', 'held', 'palette'];
		this.asked = new Asked(invalidate);
		this.askedAt = -Infinity;
		this.invalidate = invalidate;
		const open = (/** @type {number} */ frame) => model.select(frame);
		at.append(element('h2', {}, 'Frame, cpu and gpu time'));
		this.times = new Plot(at, { label: 'Frame, cpu and gpu time of each frame; the frames table has the values', height: 150, value: milliseconds, open, cut: true, lines: [
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
		this.details = element('details', {}, element('summary', {}, 'Counters as a table'), element('div'));
		this.details.addEventListener('toggle', invalidate);
		at.append(this.details);
		this.table = new Table(/** @type {HTMLElement} */ (this.details.lastElementChild), { caption: 'Counters', filter: true, columns: [
			{ label: 'Module', text: (row) => row.module },
			{ label: 'Counter', text: (row) => row.name, open: (row) => model.set('counters.of', keyOf(row)) },
			{ label: 'Value', text: (row) => counterText(row.value, row.unit), order: (row) => row.value ?? -Infinity, number: true },
			{ label: 'Per second', text: (row) => rateText(row), order: (row) => row.per_second ?? -Infinity, number: true },
			{ label: 'Age', text: (row) => (row.age_ns === undefined || row.age_ns === null ? '–' : milliseconds(row.age_ns)), number: true },
			{ label: 'Source', text: (row) => row.source },
		] });
		this.valuesTitle = element('h3');
		this.details.append(this.valuesTitle);
		this.values = new Table(this.details, { caption: 'Values of a counter', empty: 'Choose a counter above.', columns: [
			{ label: 'At', number: true, text: (row) => row.at, order: (row) => row.place },
			{ label: 'Value', number: true, text: (row) => row.text, order: (row) => row.value ?? -Infinity },
		] });
		/** @type {Map<string, {line: Sparkline, text: HTMLElement, box: HTMLElement}>} by module and name: a line stays its counter's */
		this.lines = new Map();
		/** What each piece was drawn from. @type {Map<string, any[]>} */
		this.drawn = new Map();
	}

	draw() {
		this.ask();
		const { answer } = this.asked;
		const counters = countersOf(answer);
		this.drawNote(counters);
		if (this.drawNext(this.pieces(answer, counters)))
			this.invalidate();
	}

	ask() {
		const { model } = this;
		const due = performance.now() - this.askedAt > REFRESH_MS && model.session?.state === 'live' && !model.held;
		if (due)
			this.askedAt = performance.now();
		this.asked.want(model.session ? `${sessionPath(String(model.session.id))}/counters?values=yes` : null, due);
	}

	/** @param {any[]} counters */
	drawNote(counters) {
		const { answer, problem } = this.asked;
		const chosen = this.model.setting('strip.counter', '');
		const lineless = counters.filter(({ values }) => !values).length;
		this.overlay.hidden = !chosen;
		setText(this.note, problem || (answer ? `${plural(counters.length, 'counter')}${lineless ? `, ${count(counters.length - lineless)} with a line` : ''}${chosen ? `; ${chosen} lies over the strip` : ''}. ${samplingText(answer.sampling)}` : 'Reading the counters…'));
	}

	/** All that is drawn, piece by piece, with what each is made of. @param {any} answer @param {any[]} counters @returns {Piece[]} */
	pieces(answer, counters) {
		const { shown } = this.model;
		const { first, last } = this.model.window();
		const frames = [shown, shown.changes, last, palette()];
		/** @type {Piece[]} */
		const lines = [];
		for (let at = 0; at < counters.length; at += LINES)
			lines.push({ name: `lines ${at}`, of: [answer, palette()], draw: () => counters.slice(at, at + LINES).forEach((counter) => this.drawLine(counter)) });
		return [
			{ name: 'times', of: frames, draw: () => this.drawTimes(frameSeries(shown, first, last)) },
			{ name: 'used', of: frames, draw: () => this.drawUsed(frameSeries(shown, first, last)) },
			{ name: 'wall', of: [JSON.stringify(counters.map(keyOf))], draw: () => this.buildWall(answer?.modules ?? []) },
			...lines,
			...(this.details.open ? [{ name: 'table', of: [answer], draw: () => this.table.show(counters) },
				{ name: 'values', of: [answer, this.model.setting('counters.of', '')], draw: () => this.drawValues(counters) }] : []),
		];
	}

	/** Draws one piece that is of other data: all in one frame of the page would make it late. @param {Piece[]} pieces @returns {boolean} whether there was one */
	drawNext(pieces) {
		const next = pieces.find(({ name, of }) => {
			const before = this.drawn.get(name);
			return !before || of.some((one, at) => one !== before[at]);
		});
		if (!next)
			return false;
		this.drawn.set(next.name, next.of);
		next.draw();
		return true;
	}

	/** @param {ReturnType<typeof frameSeries>} series */
	drawTimes({ x, wall, cpu, gpu }) {
		this.times.show([x, wall, cpu, gpu]);
	}

	/** @param {ReturnType<typeof frameSeries>} series */
	drawUsed({ x, wall, cpu, gpu }) {
		const [cpuShare, gpuShare] = [shareOf(cpu, wall), shareOf(gpu, wall)];
		this.used.show([x, cpuShare, gpuShare, busier(cpuShare, gpuShare)]);
	}

	/** Places the lines anew: other counters are there. @param {any[]} modules */
	buildWall(modules) {
		const before = this.lines;
		this.lines = new Map();
		this.wall.replaceChildren(...modules.map((module) => element('section', { class: 'module' }, element('h3', {}, module.module),
			...module.counters.map((/** @type {any} */ counter) => {
				const key = keyOf({ ...counter, module: module.module });
				const line = before.get(key) ?? this.makeLine(counter);
				this.lines.set(key, line);
				return line.box;
			}))));
	}

	/** @param {any} counter */
	makeLine(counter) {
		const button = element('button', { type: 'button', class: 'link' }, counter.name);
		button.title = counter.origin === 'game' ? 'Lay it over the strip, or take it off' : 'Lay its samples over the strip at their times, or take them off';
		button.addEventListener('click', () => this.model.set('strip.counter', this.model.setting('strip.counter', '') === counter.name ? null : counter.name));
		const text = element('span', { class: 'value' });
		const box = element('div', { class: 'counter' }, button, text);
		return { line: new Sparkline(box, counter.name), text, box };
	}

	/** What the line of the chosen counter is drawn from, the newest first. @param {any[]} counters */
	drawValues(counters) {
		const of = this.model.setting('counters.of', '');
		const one = counters.find((counter) => keyOf(counter) === of);
		setText(this.valuesTitle, one ? `${one.name}, as far as the newest 600 frames go back` : 'Values of a counter');
		this.values.show(one ? valuesOf(one).map(([place, value]) => ({ place, value,
			at: one.origin === 'game' ? `frame ${count(place)}` : duration(place),
			text: counterText(value, one.unit) + (one.cumulative ? '/s' : '') })).reverse() : []);
	}

	/** @param {any} counter */
	drawLine(counter) {
		const made = this.lines.get(keyOf(counter));
		if (!made)
			return;
		const values = valuesOf(counter);
		made.line.show(values, scaleOf(counter), counter.origin === 'game');
		setText(made.text, counter.cumulative ? rateText(counter) : counterText(counter.value, counter.unit));
	}
}

/** @param {any} counter @returns {[number, number][]} */
const valuesOf = ({ cumulative, values = [] }) => (cumulative ? rateOf(values) : values);

/** @param {any} counter */
const keyOf = (counter) => `${counter.module} ${counter.name}`;

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
