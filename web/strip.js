// SPDX-License-Identifier: MIT
// The frame strip: the last 600 frames as columns, stacked by what held them. It draws the model and turns the pointer into
// selections; it owns its scale and nothing else.

import { columnOf, columnsOf, scaleFor, stackOf, summary } from './columns.js';
import { counterText } from './counter_series.js';
import { fitCanvas, startDrawing } from './dom.js';
import { duration, milliseconds } from './format.js';
import { FLAGS_LOSSY, flagBit } from './frames.js';
import { HOLDERS, hatch, palette } from './palette.js';
import { hideTip, showTip } from './tip.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./frames.js').FrameRing} FrameRing */
/** @typedef {{context: CanvasRenderingContext2D, width: number, base: number, top: number, step: number}} Plot */

const BUDGETS_MS = [1000 / 60, 1000 / 30];
const TOP = 16; // room for the mark of a cut column
const LABEL = 14; // the height of a label
const BOTTOM = 16; // room for frame numbers
const FLAG_EVICTED = flagBit('events_evicted');

export class Strip {
	/**
	 * @param {HTMLCanvasElement} canvas @param {Model} model @param {import('./overlay.js').Overlay} overlay
	 * @param {import('./verdict.js').StripVerdicts} verdicts
	 * @param {() => void} invalidate
	 */
	constructor(canvas, model, overlay, verdicts, invalidate) {
		this.canvas = canvas;
		this.model = model;
		this.overlay = overlay;
		this.verdicts = verdicts;
		this.scale = 0;
		/** The scale asked for; 0: by itself. */
		this.fixed = 0;
		/** Where a drag began: a frame; 0: none. */
		this.dragFrom = 0;
		/** @type {PointerEvent|null} where the pointer is, while it is over the strip */
		this.pointer = null;
		this.columns = columnsOf(model.shown, 1, 1, 1);
		this.first = 1;
		this.last = 1;
		fitCanvas(canvas, /** @type {Element} */ (canvas.parentElement), invalidate);
		this.listen();
	}

	/** The scale that the user asked for in ms; 0: by itself. @param {number} ms */
	setScale(ms) {
		this.fixed = ms * 1e6;
		this.scale = 0;
	}

	listen() {
		const canvas = this.canvas;
		canvas.addEventListener('pointerdown', (event) => this.press(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', (event) => this.release(event));
		canvas.addEventListener('pointercancel', () => { this.dragFrom = 0; });
		canvas.addEventListener('pointerleave', () => {
			this.pointer = null;
			hideTip();
		});
	}

	/** The worst frame of the column under the pointer; 0: none. @param {PointerEvent} event */
	frameAt(event) {
		const { columns, worst } = this.columns;
		const box = this.canvas.getBoundingClientRect();
		const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
		return worst[Math.min(columns - 1, Math.max(0, column))];
	}

	/** @param {PointerEvent} event */
	press(event) {
		const frame = this.frameAt(event);
		if (event.button !== 0 || !frame)
			return;
		if (event.shiftKey) {
			this.model.extendRange(frame);
			return;
		}
		this.dragFrom = frame;
		this.canvas.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	move(event) {
		const frame = this.frameAt(event);
		this.pointer = event;
		if (frame && this.dragFrom && frame !== this.dragFrom)
			this.model.setRange(this.dragFrom, frame);
		this.showTip();
	}

	/** Says what is under the pointer; to be called again when frames moved under it. */
	showTip() {
		if (!this.pointer)
			return;
		const frame = this.frameAt(this.pointer);
		if (frame)
			showTip(this.tipOf(frame), this.pointer.clientX, this.pointer.clientY);
		else
			hideTip();
	}

	/** @param {PointerEvent} event */
	release(event) {
		const frame = this.frameAt(event);
		if (this.dragFrom && frame === this.dragFrom)
			this.model.select(frame);
		this.dragFrom = 0;
	}

	/** @param {number} frame */
	tipOf(frame) {
		const row = this.model.shown.get(frame);
		if (!row)
			return [`Frame ${frame}`];
		const waits = [['gpu', row.wait_ns.gpu], ['present', row.wait_ns.present], ['cap', row.wait_ns.cap]];
		return [
			`Frame ${frame}: ${milliseconds(row.wall_ns)}`,
			`cpu ${duration(row.cpu_ns)}, gpu ${duration(row.gpu_ns)}`,
			...this.heldText(frame),
			`waits: ${waits.map(([name, ns]) => `${name} ${duration(/** @type {number|null} */ (ns))}`).join(', ')}`,
			...(this.overlay.values.has(frame) ? [`${this.overlay.name}: ${counterText(this.overlay.values.get(frame), this.overlay.unit)}`] : []),
			...(row.lost_events ? [`lost events: ${row.lost_events}`] : []),
			...(row.flags.length ? [row.flags.join(', ').replaceAll('_', ' ')] : []),
		];
	}

	/** @param {number} frame */
	heldText(frame) {
		const stack = this.verdicts.stacks.get(frame);
		if (!stack)
			return [];
		const held = HOLDERS.map(({ label }, at) => ({ label, ns: stack[at] })).filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
		return [`held by ${held.slice(0, 3).map(({ label, ns }) => `${label} ${duration(ns)}`).join(', ')}`];
	}

	draw() {
		const { context, width, height } = startDrawing(this.canvas);
		const ring = this.model.shown;
		const { first, last } = this.model.window();
		this.first = first;
		this.last = last;
		this.columns = columnsOf(ring, first, last, width);
		const { p95 } = summary(ring, first, last);
		this.scale = this.fixed || scaleFor(p95 || 16e6, this.scale);
		const plot = { context, width, base: height - BOTTOM, top: TOP, step: width / this.columns.columns };
		this.drawRange(plot);
		this.drawColumns(plot, ring);
		this.drawGpuLine(plot, ring);
		this.drawOverlay(plot);
		this.drawBudgets(plot);
		this.drawNumbers(plot, height);
		this.drawSelection(plot);
	}

	/** @param {Plot} plot @param {number} ns */
	heightOf(plot, ns) {
		return Math.min(1, ns / this.scale) * (plot.base - plot.top);
	}

	/** @param {Plot} plot @param {FrameRing} ring */
	drawColumns(plot, ring) {
		const { columns, worst, gap } = this.columns;
		const colours = palette();
		for (let column = 0; column < columns; column++) {
			const x = Math.round(column * plot.step);
			const width = Math.max(1, Math.round((column + 1) * plot.step) - x - (plot.step >= 4 ? 1 : 0));
			const at = worst[column] ? ring.slot(worst[column]) : -1;
			if (at >= 0)
				this.drawColumn(plot, ring, at, worst[column], x, width);
			if (gap[column])
				hatch(plot.context, x, plot.top, Math.max(3, width), plot.base - plot.top, colours.bad);
		}
	}

	/** @param {Plot} plot @param {FrameRing} ring @param {number} at @param {number} frame @param {number} x @param {number} width */
	drawColumn(plot, ring, at, frame, x, width) {
		const { context } = plot;
		const colours = palette();
		context.globalAlpha = ring.flags[at] & FLAG_EVICTED ? 0.45 : 1;
		let below = 0;
		stackOf(ring, at, this.verdicts.stacks.get(frame)).forEach((ns, index) => {
			const low = this.heightOf(plot, below);
			below += ns;
			const high = this.heightOf(plot, below);
			if (high <= low)
				return;
			context.fillStyle = colours[HOLDERS[index].colour.slice(2)];
			context.fillRect(x, plot.base - high, width, Math.max(high - low, low ? 0 : 1));
		});
		context.globalAlpha = 1;
		if (ring.wall[at] > this.scale)
			this.drawCut(plot, x + width / 2);
		if (ring.flags[at] & FLAGS_LOSSY) {
			context.fillStyle = colours.bad;
			context.fillRect(x, plot.base, Math.max(2, width), 3);
		}
	}

	/** The mark of a column that goes on beyond the top. @param {Plot} plot @param {number} x */
	drawCut(plot, x) {
		const { context } = plot;
		context.fillStyle = palette().bad;
		context.beginPath();
		context.moveTo(x, plot.top - 9);
		context.lineTo(x + 4.5, plot.top - 1);
		context.lineTo(x - 4.5, plot.top - 1);
		context.fill();
	}

	/** @param {Plot} plot @param {FrameRing} ring */
	drawGpuLine(plot, ring) {
		const { columns, worst } = this.columns;
		const { context } = plot;
		context.strokeStyle = palette()['gpu-line'];
		context.lineWidth = 1.5;
		context.beginPath();
		let open = false;
		for (let column = 0; column < columns; column++) {
			const at = worst[column] ? ring.slot(worst[column]) : -1;
			const gpu = at >= 0 ? ring.gpu[at] : NaN;
			if (Number.isNaN(gpu)) {
				open = false;
				continue;
			}
			const x = (column + 0.5) * plot.step;
			const y = plot.base - this.heightOf(plot, gpu);
			if (open)
				context.lineTo(x, y);
			else
				context.moveTo(x - plot.step / 2, y);
			open = true;
		}
		context.stroke();
	}

	/** The counter that was laid over the frames, on a scale of its own. @param {Plot} plot */
	drawOverlay(plot) {
		const { context } = plot;
		const { values, name, unit } = this.overlay;
		const { columns, worst } = this.columns;
		const shown = Array.from({ length: columns }, (_, at) => values.get(worst[at]) ?? null);
		const top = Math.max(...shown.map((value) => value ?? -Infinity));
		if (!name || !Number.isFinite(top))
			return;
		context.strokeStyle = palette().select;
		context.lineWidth = 1.5;
		context.setLineDash([5, 3]);
		context.beginPath();
		shown.forEach((value, at) => {
			const x = (at + 0.5) * plot.step;
			const y = plot.base - (top > 0 ? Math.max(0, (value ?? 0) / top) : 0) * (plot.base - plot.top);
			if (value !== null && at && shown[at - 1] !== null)
				context.lineTo(x, y);
			else
				context.moveTo(x, y);
		});
		context.stroke();
		context.setLineDash([]);
		context.font = '11px system-ui, sans-serif';
		context.textBaseline = 'middle';
		const text = `${name}, at most ${counterText(top, unit)}`;
		this.label(context, text, plot.width - context.measureText(text).width - 4, plot.top - 8);
	}

	/** @param {Plot} plot */
	drawBudgets(plot) {
		const { context } = plot;
		const colours = palette();
		context.font = '11px system-ui, sans-serif';
		context.textBaseline = 'middle';
		let free = plot.base - LABEL / 2; // the lowest place for the next label
		BUDGETS_MS.forEach((ms, index) => {
			if (ms * 1e6 > this.scale) {
				this.label(context, `${ms.toFixed(1)} ms ↑`, 4 + index * 62, plot.top - 8);
				return;
			}
			const y = plot.base - this.heightOf(plot, ms * 1e6);
			context.strokeStyle = colours.text;
			context.lineWidth = 1;
			context.setLineDash(index ? [2, 4] : [6, 4]);
			context.beginPath();
			context.moveTo(0, Math.round(y) + 0.5);
			context.lineTo(plot.width, Math.round(y) + 0.5);
			context.stroke();
			context.setLineDash([]);
			if (y > free)
				return;
			this.label(context, `${ms.toFixed(1)} ms`, 4, y);
			free = y - LABEL;
		});
	}

	/** Text on a plate of the page's colour. @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y */
	label(context, text, x, y) {
		const colours = palette();
		const wide = context.measureText(text).width;
		context.fillStyle = colours.page;
		context.globalAlpha = 0.85;
		context.fillRect(x - 3, y - LABEL / 2, wide + 6, LABEL);
		context.globalAlpha = 1;
		context.fillStyle = colours.text;
		context.fillText(text, x, y);
	}

	/** @param {Plot} plot @param {number} height */
	drawNumbers(plot, height) {
		const { context } = plot;
		const colours = palette();
		context.strokeStyle = colours.line;
		context.lineWidth = 1;
		context.beginPath();
		context.moveTo(0, plot.base + 0.5);
		context.lineTo(plot.width, plot.base + 0.5);
		context.stroke();
		context.fillStyle = colours.muted;
		context.textBaseline = 'alphabetic';
		const frames = this.last - this.first + 1;
		const every = plot.width / 6 >= 70 ? 100 : 200;
		for (let n = Math.ceil(this.first / every) * every; n <= this.last; n += every) {
			if (n > this.model.shown.last || n < this.model.shown.first)
				continue;
			const x = ((n - this.first + 0.5) / frames) * plot.width;
			context.textAlign = x < 24 ? 'left' : x > plot.width - 24 ? 'right' : 'center';
			context.fillText(String(n), x, height - 3);
		}
		context.textAlign = 'left';
	}

	/** @param {number} frame @returns {number|null} its column; null: out of the window */
	columnOf(frame) {
		if (frame < this.first || frame > this.last)
			return null;
		return columnOf(frame, this.first, this.last - this.first + 1, this.columns.columns);
	}

	/** @param {Plot} plot */
	drawRange(plot) {
		const range = this.model.view.range;
		if (!range || range.last < this.first || range.first > this.last)
			return;
		const from = (this.columnOf(Math.max(range.first, this.first)) ?? 0) * plot.step;
		const to = ((this.columnOf(Math.min(range.last, this.last)) ?? 0) + 1) * plot.step;
		const { context } = plot;
		context.fillStyle = palette().select;
		context.globalAlpha = 0.22;
		context.fillRect(from, plot.top, to - from, plot.base - plot.top);
		context.globalAlpha = 1;
		context.fillRect(from, plot.top, 1, plot.base - plot.top);
		context.fillRect(to - 1, plot.top, 1, plot.base - plot.top);
	}

	/** @param {Plot} plot */
	drawSelection(plot) {
		const frame = this.model.view.frame;
		if (frame === null)
			return;
		const { context } = plot;
		const column = this.columnOf(frame);
		context.font = '11px system-ui, sans-serif';
		context.textBaseline = 'middle';
		if (column === null) {
			const left = frame < this.first;
			const text = left ? `◀ frame ${frame}` : `frame ${frame} ▶`;
			this.label(context, text, left ? 4 : plot.width - 4 - context.measureText(text).width, plot.base - 10);
			return;
		}
		const x = column * plot.step;
		context.strokeStyle = palette().select;
		context.lineWidth = 2;
		context.strokeRect(x - 1.5, plot.top - 1, Math.max(3, plot.step) + 2, plot.base - plot.top + 2);
		context.fillStyle = palette().select;
		context.beginPath();
		context.moveTo(x + plot.step / 2, plot.base + 1);
		context.lineTo(x + plot.step / 2 + 5, plot.base + 8);
		context.lineTo(x + plot.step / 2 - 5, plot.base + 8);
		context.fill();
	}
}
