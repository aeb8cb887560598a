// SPDX-License-Identifier: MIT
// Flame views over what is selected. Left-heavy: the zones of each thread added up, the largest at the left. Sandwich: one
// name, who calls it above and what it calls below. The same in time order is the timeline. A click goes into a box, a
// second one on the lowest goes out again; too narrow boxes are drawn as slivers, never left out.

import { Asked } from './asked.js';
import { element, fitCanvas, setText, startDrawing } from './dom.js';
import { count, duration, percent, plural } from './format.js';
import { flamesOf, placeFlame, sandwichOf } from './flame_tree.js';
import { palette, zoneColour } from './palette.js';
import { Table } from './table.js';
import { hideTip, showTip } from './tip.js';
import { usualOrder, zonesPath } from './zone_rows.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./flame_tree.js').Placed} Placed */

const ROW = 19;
const LIMIT = 100_000;
const NAMES = 2000; // that are offered
const FONT = '12px system-ui, sans-serif';

export class FlamePanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['frames', 'selection', 'session', 'settings', 'held', 'palette'];
		this.asked = new Asked(invalidate);
		this.view = this.select('view', [['left', 'left-heavy'], ['sandwich', 'sandwich of'], ['time', 'in time order: the timeline']]);
		this.thread = this.select('thread', [['', 'main thread']]);
		this.name = element('input', { type: 'search', 'aria-label': 'Zone of the sandwich', list: 'flame-names', placeholder: 'name of a zone' });
		this.name.addEventListener('change', () => model.set('flame.name', this.name.value || null));
		this.names = element('datalist', { id: 'flame-names' });
		this.out = element('button', { type: 'button' }, 'Whole flame');
		this.out.addEventListener('click', () => this.enter(null));
		at.append(element('div', { class: 'fields' }, element('label', {}, 'Show ', this.view), element('label', {}, 'Thread ', this.thread), this.name, this.names, this.out));
		this.note = element('p', { class: 'note', role: 'status' });
		this.canvas = element('canvas', { role: 'img', 'aria-label': 'Flame graph; its boxes are in the table below' });
		this.box = element('div', { class: 'flame-box' }, this.canvas);
		at.append(this.note, this.box);
		const details = element('details', {}, element('summary', {}, 'Boxes as a table'), element('div'));
		at.append(details);
		this.table = new Table(/** @type {HTMLElement} */ (details.lastElementChild), { caption: 'Boxes of the flame', filter: true, columns: [
			{ label: 'Zone', text: (one) => one.name, indent: (one) => one.level, open: (one) => this.enter(one) },
			{ label: 'Total', text: (one) => duration(one.total), order: (one) => one.total, number: true },
			{ label: 'Self', text: (one) => duration(one.flame.self), order: (one) => one.flame.self, number: true },
			{ label: 'Calls', text: (one) => count(one.flame.calls), order: (one) => one.flame.calls, number: true },
		] });
		/** @type {Placed[]} with `level`, which grows downwards; callers have negative ones */
		this.placed = [];
		/** @type {Placed|null} the box that fills the width */
		this.entered = null;
		/** What it was looked for by; null: what is placed is new. @type {string|null} */
		this.enteredPath = null;
		this.shownKey = '';
		/** @type {any} */
		this.shown = null;
		fitCanvas(this.canvas, this.box, invalidate);
		this.listen();
	}

	/** @param {string} name @param {string[][]} options */
	select(name, options) {
		const select = element('select', {}, ...options.map(([value, text]) => element('option', { value }, text)));
		select.addEventListener('change', () => {
			if (select.value === 'time')
				this.showInTime();
			else
				this.model.set(`flame.${name}`, select.value === options[0][0] ? null : select.value);
		});
		return select;
	}

	/** What the flame is of, on the timeline. */
	showInTime() {
		const scope = this.model.scope();
		if (scope && scope.what === 'shown')
			this.model.setRange(scope.from, scope.to);
		this.model.openTab('timeline');
	}

	listen() {
		this.canvas.addEventListener('pointermove', (event) => this.hover(event));
		this.canvas.addEventListener('pointerleave', hideTip);
		this.canvas.addEventListener('click', (event) => {
			const hit = event.detail > 1 ? null : this.hit(event); // of a double-click the first alone
			if (hit)
				this.enter(hit === this.entered ? hit.parent : hit);
		});
		this.canvas.addEventListener('dblclick', (event) => {
			const hit = this.hit(event);
			if (hit) {
				this.model.set('flame.name', hit.name);
				this.model.set('flame.view', 'sandwich');
			}
		});
	}

	/** @param {Placed|null} placed */
	enter(placed) {
		this.model.set('flame.in', pathOf(placed));
	}

	/** The box that the address has, among those that are placed now. */
	findEntered() {
		const path = this.model.setting('flame.in', '');
		if (path === this.enteredPath)
			return;
		this.enteredPath = path;
		this.entered = this.placed.find((one) => path.includes(JSON.stringify(one.name)) && pathOf(one) === path) ?? null;
	}

	draw() {
		const { model } = this;
		const scope = model.scope();
		const view = model.setting('flame.view', 'left') === 'sandwich' ? 'sandwich' : 'left';
		this.asked.want(scope ? zonesPath(scope, { view: 'tree', order: usualOrder('tree'), text: '', thread: '', category: '', perFrame: false, limit: LIMIT }) : null);
		this.view.value = view;
		this.name.hidden = view !== 'sandwich';
		/** @type {HTMLElement} */ (this.thread.parentElement).hidden = view === 'sandwich';
		if (document.activeElement !== this.name)
			this.name.value = model.setting('flame.name', '');
		this.build(view);
		this.findEntered();
		this.paint();
	}

	/** @param {'left'|'sandwich'} view */
	build(view) {
		const { answer } = this.asked;
		const name = this.model.setting('flame.name', '');
		const thread = this.model.setting('flame.thread', '');
		const key = `${view} ${name} ${thread}`;
		if (answer === this.shown && key === this.shownKey)
			return;
		if (key === this.shownKey && (this.table.inUse() || this.box.matches(':hover')) && this.model.scope()?.what === 'shown')
			return;
		this.shown = answer;
		this.shownKey = key;
		const rows = answer?.zones ?? [];
		const flames = flamesOf(rows);
		this.fillThreads(flames.map((one) => one.name), thread);
		const names = [...new Set(rows.map((/** @type {any} */ row) => row.name))];
		this.names.replaceChildren(...names.slice(0, NAMES).map((one) => element('option', { value: one })));
		this.name.title = names.length > NAMES ? `${count(NAMES)} of ${count(names.length)} names are offered; write any` : '';
		const root = flames.find((one) => one.name === thread) ?? flames[0];
		this.placed = view === 'sandwich' ? sandwichBoxes(rows, name) : root ? placeFlame(root).map((one) => withLevel(one, one.depth)) : [];
		this.enteredPath = null;
		this.table.show(this.placed);
		this.box.style.height = `${Math.max(160, this.rows() * ROW + 4)}px`;
	}

	/** @param {string[]} names @param {string} chosen */
	fillThreads(names, chosen) {
		const text = names.join('\n');
		if (this.thread.dataset.names !== text) {
			this.thread.dataset.names = text;
			this.thread.replaceChildren(...names.map((name, at) => element('option', { value: at ? name : '' }, name)));
		}
		this.thread.value = names.indexOf(chosen) > 0 ? chosen : '';
	}

	/** The uppermost level, and how many there are. */
	levels() {
		let [top, bottom] = [0, 0];
		for (const one of this.placed) {
			const { level } = /** @type {any} */ (one);
			top = Math.min(top, level);
			bottom = Math.max(bottom, level);
		}
		return { top, bottom };
	}

	rows() {
		const { top, bottom } = this.levels();
		return this.placed.length ? bottom - top + 1 : 0;
	}

	/** What the width stands for. */
	extent() {
		const at = this.entered ?? this.placed[0];
		return at ? { from: at.from, to: at.from + at.total } : { from: 0, to: 1 };
	}

	paint() {
		const { context, width } = startDrawing(this.canvas);
		const { from, to } = this.extent();
		const { top } = this.levels();
		const scale = to > from ? width / (to - from) : 0;
		context.font = FONT;
		context.textBaseline = 'middle';
		for (const one of this.placed)
			this.paintBox(context, one, (one.from - from) * scale, one.total * scale, (/** @type {any} */ (one).level - top) * ROW, width);
		const whole = this.placed[0]?.total ?? 0;
		this.out.disabled = !this.entered;
		const { problem, answer } = this.asked;
		setText(this.note, problem || (!answer ? 'Reading the zones…' : !this.placed.length
			? (this.model.setting('flame.view', 'left') === 'sandwich' ? 'Choose a zone: write its name, or double-click a box.' : 'No zone ran here.')
			: `${plural(answer.range.frames, 'frame')}, ${duration(whole)} in zones.${cutOf(answer)} ${this.entered ? `In ${this.entered.name}: ${duration(this.entered.total)}.` : 'A click goes into a box, a double-click shows who calls it.'}`));
	}

	/** @param {CanvasRenderingContext2D} context @param {Placed} one @param {number} x @param {number} wide @param {number} y @param {number} width */
	paintBox(context, one, x, wide, y, width) {
		if (x + wide < 0 || x > width)
			return;
		const left = Math.max(0, x);
		const right = Math.min(width, x + Math.max(wide, 0.6));
		const sliver = wide < 2;
		context.fillStyle = sliver ? palette().sliver : zoneColour(one.name, one.flame.row?.wait);
		context.fillRect(left, y, Math.max(0.6, right - left - (sliver ? 0 : 1)), ROW - 1);
		if (palette().forced) {
			context.strokeStyle = palette().text;
			context.strokeRect(left + 0.5, y + 0.5, Math.max(0.6, right - left - 1), ROW - 2);
		}
		if (right - left < 28)
			return;
		context.save();
		context.beginPath();
		context.rect(left, y, right - left - 3, ROW);
		context.clip();
		context.fillStyle = palette().forced || !one.flame.row?.wait ? palette()['zone-text'] : '#000000';
		context.fillText(`${one.name}  ${duration(one.total)}`, left + 4, y + ROW / 2);
		context.restore();
	}

	/** @param {MouseEvent} event */
	hit(event) {
		const area = this.canvas.getBoundingClientRect();
		const { from, to } = this.extent();
		const { top } = this.levels();
		const at = from + ((event.clientX - area.left) / area.width) * (to - from);
		const level = Math.floor((event.clientY - area.top) / ROW) + top;
		return this.placed.find((one) => /** @type {any} */ (one).level === level && at >= one.from && at < one.from + one.total) ?? null;
	}

	/** @param {MouseEvent} event */
	hover(event) {
		const hit = this.hit(event);
		if (!hit) {
			hideTip();
			return;
		}
		const { flame } = hit;
		const wall = this.shown?.range.wall_ns ?? 0;
		showTip([hit.name, `total ${duration(hit.total)}${wall ? `, ${percent((hit.total / wall) * 100)} of the frames` : ''}`, `self ${duration(flame.self)}, ${plural(flame.calls, 'call')}`],
			event.clientX, event.clientY);
	}
}

/** @param {any} answer */
const cutOf = (answer) => (answer.count > answer.zones.length ? ` The first ${count(answer.zones.length)} of ${count(answer.count)} paths.` : '');

/** @param {Placed} one @param {number} level @returns {Placed} */
const withLevel = (one, level) => Object.assign(one, { level });

/** Callers above the name, callees below it. @param {any[]} rows @param {string} name @returns {Placed[]} */
function sandwichBoxes(rows, name) {
	if (!name)
		return [];
	const { callees, callers } = sandwichOf(rows, name);
	if (!callees.total)
		return [];
	const below = placeFlame(callees).map((one) => withLevel(one, one.depth));
	const above = placeFlame(callers).slice(1).map((one) => withLevel(one, -one.depth));
	return [...below, ...above];
}

/** Where a box stands, as a text that the address has: the same box of the next answer is found by it. @param {Placed|null} placed */
function pathOf(placed) {
	const names = [];
	for (let at = placed; at; at = at.parent)
		names.push(at.name);
	return names.length ? JSON.stringify([/** @type {any} */ (placed).level >= 0, names]) : null;
}
