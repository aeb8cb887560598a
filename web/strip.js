// SPDX-License-Identifier: MIT
// The frame strip: the last 600 frames as columns, stacked by what held them. It draws the model and turns the pointer into
// selections; it owns its scale and nothing else.

import { columnOf, columnsOf, scaleFor, stackOf, summary } from './columns.js';
import { fitCanvas, startDrawing } from './dom.js';
import { count, duration, milliseconds } from './format.js';
import { FLAGS_LOSSY, flagBit } from './frames.js';
import { budgetOf, headText, keptFrom } from './marks.js';
import { HOLDERS, hatch, palette } from './palette.js';
import { drawAxis, drawBudgets, drawCounter, drawCut, drawEvicted, drawFlags, drawHead, drawLane, FONT, heightOf, label } from './strip_lines.js';
import { hideTip, showTip } from './tip.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./frames.js').FrameRing} FrameRing */
/** @typedef {import('./strip_lines.js').Plot} Plot */

const TOP = 26; // room for flags, and below them for the mark of a cut column
const BOTTOM = 16; // room for frame numbers
const LANE = 9; // and for allocations and collections, where they are counted
const DRAG_PX = 4; // less is a click
const FLAG_EVICTED = flagBit('events_evicted');

export class Strip {
	/**
	 * @param {HTMLCanvasElement} canvas @param {Model} model @param {import('./overlay.js').Overlay} overlay
	 * @param {import('./verdict.js').StripVerdicts} verdicts @param {import('./strip_marks.js').StripMarks} marks
	 * @param {() => void} invalidate
	 */
	constructor(canvas, model, overlay, verdicts, marks, invalidate) {
		this.canvas = canvas;
		this.model = model;
		this.overlay = overlay;
		this.verdicts = verdicts;
		this.marks = marks;
		this.scale = 0;
		/** Where a drag began: a frame; 0: none. */
		/** The frame that was pressed on; 0: none. */
		this.dragFrom = 0;
		this.pressedAt = 0;
		/** The pointer went on far enough since. */
		this.drags = false;
		/** @type {PointerEvent|null} where the pointer is, while it is over the strip */
		this.pointer = null;
		this.columns = columnsOf(model.shown, 1, 1, 1);
		this.first = 1;
		this.last = 1;
		fitCanvas(canvas, /** @type {Element} */ (canvas.parentElement), invalidate);
		this.listen();
	}

	listen() {
		const canvas = this.canvas;
		canvas.addEventListener('pointerdown', (event) => this.press(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', () => this.release());
		canvas.addEventListener('pointercancel', () => this.letGo());
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
		this.pressedAt = event.clientX;
		this.drags = false;
		this.canvas.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	move(event) {
		const frame = this.frameAt(event);
		this.pointer = event;
		// The frames of a live game move below a pointer that does not.
		this.drags ||= this.dragFrom !== 0 && Math.abs(event.clientX - this.pressedAt) >= DRAG_PX;
		if (frame && this.drags)
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

	letGo() {
		this.dragFrom = 0;
		this.drags = false;
	}

	release() {
		if (this.dragFrom && !this.drags)
			this.model.select(this.dragFrom);
		this.letGo();
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
			...this.marks.tell(frame),
			...(this.overlay.values.has(frame) ? [`${this.overlay.name}: ${this.overlay.text(this.overlay.values.get(frame))}`] : []),
			...(row.lost_events ? [`lost events: ${row.lost_events}`] : []),
			...(row.flags.length ? [row.flags.join(', ').replaceAll('_', ' ')] : []),
			...(frame < this.kept && !row.flags.includes('events_evicted') ? ['events evicted'] : []),
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

	/** The first frame whose events are there; what is known of it comes every two seconds, and of the main stream. */
	get kept() {
		const { session, stream } = this.model;
		return stream === null ? keptFrom(session) : 0;
	}

	draw() {
		const { context, width, height } = startDrawing(this.canvas);
		const ring = this.model.shown;
		const { first, last } = this.model.window();
		this.first = first;
		this.last = last;
		this.columns = columnsOf(ring, first, last, width);
		const { p95 } = summary(ring, first, last);
		const fixed = budgetOf(this.model.setting('strip.height', ''));
		this.scale = fixed ? fixed * 1e6 : scaleFor(p95 || 16e6, this.scale);
		const lane = this.marks.lane ? LANE : 0;
		const plot = { context, width, base: height - BOTTOM - lane, top: TOP, step: width / this.columns.columns, lane, scale: this.scale };
		this.drawRange(plot);
		this.drawColumns(plot, ring);
		this.drawGpuLine(plot, ring);
		this.drawCounter(plot);
		drawBudgets(plot, budgetOf(this.model.setting('strip.budget', '')));
		this.drawMarks(plot);
		this.drawEnds(plot, height);
		this.drawSelection(plot);
	}

	/** @param {Iterable<number>} frames @returns {number[]} their columns */
	columnsWith(frames) {
		return [...frames].map((frame) => this.columnOf(frame)).filter((column) => column !== null);
	}

	/** @param {Plot} plot */
	drawMarks(plot) {
		const { spikes, allocations, collections } = this.marks;
		drawFlags(plot, this.columnsWith(spikes.keys()));
		if (plot.lane)
			drawLane(plot, this.inColumns(allocations), this.columnsWith(collections));
	}

	/** The largest value of each column's frames. @param {Map<number, number>} values by frame @returns {(number|null)[]} */
	inColumns(values) {
		/** @type {(number|null)[]} */
		const made = new Array(this.columns.columns).fill(null);
		for (let frame = this.first; frame <= this.last; frame++) {
			const value = values.get(frame);
			const column = this.columnOf(frame);
			if (value !== undefined && column !== null)
				made[column] = Math.max(made[column] ?? -Infinity, value);
		}
		return made;
	}

	/** Where the events begin, and where the recording ends. @param {Plot} plot @param {number} height */
	drawEnds(plot, height) {
		const { shown, ring, session } = this.model;
		const { kept, first, last } = this;
		if (shown.first && kept > Math.max(first, shown.first))
			drawEvicted(plot, kept > last ? plot.width : (this.columnOf(kept) ?? 0) * plot.step);
		const newer = ring.last - last;
		if (ring.last && newer <= 0)
			drawHead(plot, ((this.columnOf(ring.last) ?? 0) + 1) * plot.step);
		drawAxis(plot, height, { first, last, from: shown.first, to: shown.last,
			head: ring.last ? (newer > 0 ? `${count(newer)} newer ▶` : headText(session)) : '' });
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
		context.globalAlpha = ring.flags[at] & FLAG_EVICTED || frame < this.kept ? 0.45 : 1;
		let below = 0;
		stackOf(ring, at, this.verdicts.stacks.get(frame)).forEach((ns, index) => {
			const low = heightOf(plot, below);
			below += ns;
			const high = heightOf(plot, below);
			if (high <= low)
				return;
			context.fillStyle = colours[HOLDERS[index].colour.slice(2)];
			context.fillRect(x, plot.base - high, width, Math.max(high - low, low ? 0 : 1));
		});
		context.globalAlpha = 1;
		if (ring.wall[at] > this.scale)
			drawCut(plot, x + width / 2);
		if (ring.flags[at] & FLAGS_LOSSY) {
			context.fillStyle = colours.bad;
			context.fillRect(x, plot.base, Math.max(2, width), 3);
		}
	}

	/** @param {Plot} plot @param {FrameRing} ring */
	drawGpuLine(plot, ring) {
		const { columns, worst } = this.columns;
		const { context } = plot;
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
			const y = plot.base - heightOf(plot, gpu);
			if (open)
				context.lineTo(x, y);
			else
				context.moveTo(x - plot.step / 2, y);
			open = true;
		}
		for (const [colour, width] of [['page', 4.5], ['hold-gpu', 2]]) { // it has to be told from the columns behind it
			context.strokeStyle = palette()[colour];
			context.lineWidth = Number(width);
			context.stroke();
		}
	}

	/** The counter that was laid over the frames. @param {Plot} plot */
	drawCounter(plot) {
		if (this.overlay.name)
			drawCounter(plot, this.overlay, this.inColumns(this.overlay.values));
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
		if (column === null) {
			const left = frame < this.first;
			context.font = FONT;
			const text = left ? `◀ frame ${frame}` : `frame ${frame} ▶`;
			label(plot, text, left ? 4 : plot.width - 4 - context.measureText(text).width, plot.base - 10);
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
