// SPDX-License-Identifier: MIT
// The timeline of the selected frame: one track per thread, zones nested by depth. The canvas is as large as its box; the
// box scrolls over a spacer of the full height, so that any number of threads costs only what is seen.

import { fitCanvas, startDrawing } from './dom.js';
import { duration, place, quantity, tickLabel, words } from './format.js';
import { hatch, palette, zoneColour } from './palette.js';
import { endedBy, stretchAt, stretchColour, stretchLines } from './schedule.js';
import { hideTip, showTip } from './tip.js';
import { boxesOf, clampView, fitView, tickStep, zonesBetween, zoomView } from './zones.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./zones.js').Track} Track */
/** @typedef {import('./zones.js').Row} Row */
/** @typedef {import('./zones.js').View} View */

const RULER = 22;
const TITLE = 25;
const BAND = 6; // the scheduler's, at the foot of a title
const ROW = 18;
const TRACK_GAP = 6;
const MARK = 5; // half of a message's mark
const FONT = '12px system-ui, sans-serif';

/** @typedef {{track: Track, top: number, height: number}} Placed */

export class Timeline {
	/**
	 * @param {HTMLCanvasElement} canvas @param {HTMLElement} box scrolls
	 * @param {HTMLElement} spacer gives the box its height @param {Model} model
	 * @param {import('./schedule.js').Schedule} schedule
	 * @param {() => void} invalidate
	 */
	constructor(canvas, box, spacer, model, schedule, invalidate) {
		this.canvas = canvas;
		this.box = box;
		this.spacer = spacer;
		this.model = model;
		this.schedule = schedule;
		/** @type {Placed[]} */
		this.placed = [];
		/** @type {import('./model.js').Detail|null} */
		this.laidOut = null;
		/** @type {{x: number, y: number, view: View, scroll: number}|null} */
		this.drag = null;
		/** @type {Map<string, number>} */
		this.widths = new Map();
		fitCanvas(canvas, box, invalidate);
		box.addEventListener('scroll', invalidate, { passive: true });
		this.listen();
	}

	listen() {
		const canvas = this.canvas;
		canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
		canvas.addEventListener('pointerdown', (event) => this.press(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', () => { this.drag = null; });
		canvas.addEventListener('pointercancel', () => { this.drag = null; });
		canvas.addEventListener('pointerleave', hideTip);
		canvas.addEventListener('click', (event) => this.followWaker(event));
		canvas.addEventListener('dblclick', (event) => this.open(event));
	}

	/** @returns {View} */
	view() {
		return this.model.view.zoom ?? fitView(this.extent());
	}

	extent() {
		return this.model.detail?.extent ?? 1;
	}

	/** @param {View} view */
	setView(view) {
		this.model.setZoom(clampView(view, this.extent()));
	}

	/** Zooms around the middle. @param {number} factor */
	zoom(factor) {
		const { t0, t1 } = this.view();
		this.setView(zoomView({ t0, t1 }, factor, (t0 + t1) / 2, this.extent()));
	}

	/** @param {number} share of the view */
	pan(share) {
		const { t0, t1 } = this.view();
		const by = (t1 - t0) * share;
		this.setView({ t0: t0 + by, t1: t1 + by });
	}

	/** Shows a zone with some room around it. @param {number} start ns from the frame's begin @param {number} length */
	zoomTo(start, length) {
		const margin = Math.max(50, length * 0.1);
		this.setView({ t0: start - margin, t1: start + length + margin });
	}

	/** @param {MouseEvent} event */
	timeAt(event) {
		const box = this.canvas.getBoundingClientRect();
		const { t0, t1 } = this.view();
		return t0 + ((event.clientX - box.left) / box.width) * (t1 - t0);
	}

	/** @param {WheelEvent} event */
	wheel(event) {
		if (!event.ctrlKey || !this.model.detail)
			return;
		event.preventDefault();
		this.setView(zoomView(this.view(), Math.exp(event.deltaY * 0.0022), this.timeAt(event), this.extent()));
	}

	/** @param {PointerEvent} event */
	press(event) {
		if (event.button !== 0 || !this.model.detail)
			return;
		this.drag = { x: event.clientX, y: event.clientY, view: this.view(), scroll: this.box.scrollTop };
		this.canvas.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	move(event) {
		if (!this.drag) {
			this.hover(event);
			return;
		}
		hideTip();
		const { view, x, y, scroll } = this.drag;
		const by = ((x - event.clientX) / this.canvas.clientWidth) * (view.t1 - view.t0);
		this.setView({ t0: view.t0 + by, t1: view.t1 + by });
		this.box.scrollTop = scroll + y - event.clientY;
	}

	/** The track under the pointer, and how far down. @param {MouseEvent} event */
	trackAt(event) {
		const y = event.clientY - this.canvas.getBoundingClientRect().top + this.box.scrollTop;
		return { y, placed: this.placed.find(({ top, height }) => y >= top && y < top + height) };
	}

	/** The zones under the pointer. @param {MouseEvent} event */
	hit(event) {
		const { y, placed } = this.trackAt(event);
		const row = placed?.track.rows[Math.floor((y - placed.top - TITLE) / ROW)];
		if (!placed || !row || y < placed.top + TITLE)
			return null;
		const { t0, t1 } = this.view();
		const slack = (t1 - t0) / this.canvas.clientWidth;
		const time = this.timeAt(event);
		const exact = zonesBetween(row, time, time);
		const found = exact.count ? exact : zonesBetween(row, time - slack, time + slack);
		return found.count ? { track: placed.track, row, ...found } : null;
	}

	/** What the scheduler did with the thread under the pointer, where the pointer is on its band. @param {MouseEvent} event */
	stretchAt(event) {
		const { y, placed } = this.trackAt(event);
		const list = placed && this.schedule.byThread.get(Number(placed.track.thread.id));
		if (!placed || !list || y < placed.top + TITLE - BAND - 2 || y >= placed.top + TITLE)
			return null;
		const stretch = stretchAt(list, this.timeAt(event));
		return stretch ? { list, stretch } : null;
	}

	/** A click on a wait goes to the thread that ended it, at that moment. @param {MouseEvent} event */
	followWaker(event) {
		const found = this.stretchAt(event);
		const waker = found && (found.stretch.state === 'runnable' ? found.stretch.by : endedBy(found.list, found.stretch));
		const goal = this.placed.find(({ track }) => waker?.thread !== null && track.thread.id === waker?.thread);
		if (!found || !goal)
			return;
		this.box.scrollTop = goal.top - RULER;
		const { t0, t1 } = this.view();
		const at = found.stretch.state === 'runnable' ? found.stretch.start : found.stretch.end;
		this.setView({ t0: at - (t1 - t0) / 2, t1: at + (t1 - t0) / 2 });
	}

	/** @param {MouseEvent} event */
	hover(event) {
		const told = this.stretchAt(event);
		if (told) {
			showTip(stretchLines(told.list, told.stretch), event.clientX, event.clientY);
			return;
		}
		const found = this.hit(event);
		const messages = found ? [] : this.messagesAt(event);
		if (messages.length)
			showTip(messages.slice(0, 8).map((one) => one.text), event.clientX, event.clientY);
		else if (!found)
			hideTip();
		if (!found)
			return;
		let longest = found.first;
		for (let at = found.first; at < found.first + found.count; at++) {
			if (found.row.end[at] - found.row.start[at] > found.row.end[longest] - found.row.start[longest])
				longest = at;
		}
		const lines = zoneLines(found.track, found.row.zone[longest]);
		if (found.count > 1)
			lines.push(`and ${found.count - 1} more here, too small to tell apart: zoom in`);
		showTip(lines, event.clientX, event.clientY);
	}

	/** The messages whose marks are under the pointer. @param {MouseEvent} event */
	messagesAt(event) {
		const { y, placed } = this.trackAt(event);
		if (!placed || y >= placed.top + TITLE)
			return [];
		const { t0, t1 } = this.view();
		const slack = ((t1 - t0) / this.canvas.clientWidth) * MARK;
		const time = this.timeAt(event);
		return (this.model.detail?.messages ?? []).filter((one) =>
			one.thread === placed.track.thread.id && Math.abs(one.at - time) <= slack);
	}

	/** @param {MouseEvent} event */
	open(event) {
		const found = this.hit(event);
		if (found)
			this.zoomTo(found.row.start[found.first], found.row.end[found.first] - found.row.start[found.first]);
	}

	/** Places the tracks, once for each frame. */
	layout() {
		const detail = this.model.detail;
		if (detail === this.laidOut)
			return;
		this.laidOut = detail;
		let top = RULER;
		this.placed = (detail?.tracks ?? []).map((track) => {
			const height = TITLE + Math.max(1, track.rows.length) * ROW + TRACK_GAP;
			const placed = { track, top, height };
			top += height;
			return placed;
		});
		this.spacer.style.height = `${Math.max(0, top)}px`;
	}

	draw() {
		this.layout();
		const { context, width, height } = startDrawing(this.canvas);
		const detail = this.model.detail;
		if (!detail)
			return;
		const view = this.view();
		const scroll = this.box.scrollTop;
		context.font = FONT;
		context.textBaseline = 'middle';
		for (const placed of this.placed) {
			if (placed.top + placed.height < scroll || placed.top > scroll + height)
				continue;
			this.drawTrack(context, placed, placed.top - scroll, view, width, detail);
		}
		this.drawBounds(context, view, width, height, detail.frame.wall_ns);
		this.drawRuler(context, view, width);
	}

	/** The frame's begin and end. @param {CanvasRenderingContext2D} context @param {View} view @param {number} width @param {number} height @param {number} wall */
	drawBounds(context, view, width, height, wall) {
		context.fillStyle = palette().select;
		for (const time of [0, wall]) {
			const x = ((time - view.t0) / (view.t1 - view.t0)) * width;
			if (x >= -1 && x <= width)
				context.fillRect(Math.round(x), 0, 1, height);
		}
	}

	/** @param {CanvasRenderingContext2D} context @param {View} view @param {number} width */
	drawRuler(context, view, width) {
		const colours = palette();
		const span = view.t1 - view.t0;
		const step = tickStep(span, width / 110);
		context.fillStyle = colours.panel;
		context.fillRect(0, 0, width, RULER - 2);
		context.fillStyle = colours.line;
		context.fillRect(0, RULER - 2, width, 1);
		context.textAlign = 'left';
		for (let time = Math.ceil(view.t0 / step) * step; time <= view.t1; time += step) {
			const x = Math.round(((time - view.t0) / span) * width);
			context.fillStyle = colours.muted;
			context.fillRect(x, RULER - 8, 1, 6);
			const label = tickLabel(time, step);
			if (x + 4 + context.measureText(label).width < width)
				context.fillText(label, x + 4, RULER / 2 - 1);
		}
	}

	/**
	 * @param {CanvasRenderingContext2D} context @param {Placed} placed @param {number} y
	 * @param {View} view @param {number} width @param {import('./model.js').Detail} detail
	 */
	drawTrack(context, placed, y, view, width, detail) {
		const { track, height } = placed;
		const colours = palette();
		context.fillStyle = colours.line;
		context.fillRect(0, y + height - TRACK_GAP / 2, width, 1);
		track.rows.forEach((row, depth) => this.drawRow(context, track, row, y + TITLE + depth * ROW, view, width));
		for (const gap of detail.gaps.filter((one) => one.thread === track.thread.id)) {
			const x0 = ((gap.start - view.t0) / (view.t1 - view.t0)) * width;
			const x1 = Math.min(width, ((gap.end - view.t0) / (view.t1 - view.t0)) * width);
			if (x1 >= 0 && x0 <= width)
				hatch(context, Math.max(0, x0), y + TITLE, Math.max(3, x1 - Math.max(0, x0)), height - TITLE - TRACK_GAP, colours.bad);
		}
		context.fillStyle = colours.select;
		for (const one of detail.messages.filter(({ thread }) => thread === track.thread.id))
			drawMark(context, ((one.at - view.t0) / (view.t1 - view.t0)) * width, y + TITLE / 2);
		this.drawSchedule(context, track, y + TITLE - BAND - 1, view, width);
		context.fillStyle = colours.text;
		context.textAlign = 'left';
		context.font = `600 ${FONT}`;
		context.fillText(track.title, 6, y + (TITLE - BAND) / 2);
		context.font = FONT;
	}

	/** The scheduler's band below a thread's name: running, runnable, blocked; the critical path is a line under it. @param {CanvasRenderingContext2D} context @param {Track} track @param {number} y @param {View} view @param {number} width */
	drawSchedule(context, track, y, view, width) {
		const id = Number(track.thread.id);
		const scale = width / (view.t1 - view.t0);
		const draw = (/** @type {import('./schedule.js').Stretch} */ one, /** @type {string} */ colour, /** @type {number} */ top, /** @type {number} */ height) => {
			if (one.end < view.t0 || one.start > view.t1)
				return;
			const x = Math.max(0, (one.start - view.t0) * scale);
			context.fillStyle = colour;
			context.fillRect(x, top, Math.max(0.75, Math.min(width, (one.end - view.t0) * scale) - x), height);
		};
		const colours = palette();
		for (const one of this.schedule.byThread.get(id) ?? [])
			draw(one, colours[stretchColour(one)], y + (one.state === 'running' ? 0 : BAND / 4), one.state === 'running' ? BAND : BAND / 2);
		for (const one of this.schedule.critical.get(id) ?? [])
			draw(one, colours.select, y + BAND - 1, 2);
	}

	/**
	 * @param {CanvasRenderingContext2D} context @param {Track} track @param {Row} row @param {number} y
	 * @param {View} view @param {number} width
	 */
	drawRow(context, track, row, y, view, width) {
		const colours = palette();
		for (const box of boxesOf(row, view.t0, view.t1, width)) {
			const x = Math.max(-4, box.x);
			const wide = Math.min(width + 4, box.x + box.width) - x;
			if (box.count > 1 || box.width < 3) {
				context.fillStyle = colours.sliver;
				context.fillRect(x, y, Math.max(1, wide), ROW - 2);
				continue;
			}
			const zone = track.zones[row.zone[box.first]];
			context.fillStyle = zoneColour(zone.name, zone.wait);
			context.fillRect(x, y, wide - (wide > 4 ? 1 : 0), ROW - 2);
			this.drawEdges(context, zone, x, y, wide);
			this.drawLabel(context, zone, x, y, wide);
		}
	}

	/** Edges that are not this zone's own are drawn torn. @param {CanvasRenderingContext2D} context @param {import('./zones.js').Zone} zone @param {number} x @param {number} y @param {number} wide */
	drawEdges(context, zone, x, y, wide) {
		const flags = zone.flags ?? [];
		const colours = palette();
		if (colours.forced) {
			context.strokeStyle = colours.text;
			context.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 2), ROW - 3);
		}
		if (wide < 8)
			return;
		if (flags.includes('clipped_begin'))
			tear(context, x, y, 1);
		if (flags.some((flag) => flag === 'clipped_end' || flag === 'open'))
			tear(context, x + wide, y, -1);
		if (flags.some((flag) => flag === 'truncated' || flag === 'unbalanced'))
			hatch(context, Math.max(x, x + wide - 8), y, 7, ROW - 2, colours.bad);
	}

	/** @param {CanvasRenderingContext2D} context @param {import('./zones.js').Zone} zone @param {number} x @param {number} y @param {number} wide */
	drawLabel(context, zone, x, y, wide) {
		const from = Math.max(x, 0) + 5;
		const room = x + wide - from - 6;
		if (room < 14)
			return;
		const text = this.fitText(context, zone.name, room);
		if (!text)
			return;
		const colours = palette();
		context.fillStyle = zone.wait ? '#000000' : colours['zone-text'];
		if (colours.forced)
			context.fillStyle = colours.text;
		context.fillText(text, from, y + ROW / 2 - 1);
	}

	/** As much of a name as there is room for. @param {CanvasRenderingContext2D} context @param {string} name @param {number} room */
	fitText(context, name, room) {
		if (this.widths.size > 5000)
			this.widths.clear();
		let wide = this.widths.get(name);
		if (wide === undefined) {
			wide = context.measureText(name.slice(0, 200)).width;
			this.widths.set(name, wide);
		}
		if (wide <= room)
			return name.slice(0, 200);
		const letters = Math.floor((room / wide) * Math.min(200, name.length)) - 1;
		return letters < 2 ? '' : `${name.slice(0, letters)}…`;
	}
}

/** Cuts teeth out of a zone's edge. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {1|-1} inward */
function tear(context, x, y, inward) {
	context.fillStyle = palette().page;
	context.beginPath();
	for (let tooth = 0; tooth < 4; tooth++) {
		const top = y + (tooth * (ROW - 2)) / 4;
		context.moveTo(x, top);
		context.lineTo(x + inward * 4, top + (ROW - 2) / 8);
		context.lineTo(x, top + (ROW - 2) / 4);
	}
	context.fill();
}

/** A message's mark: a diamond. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y */
function drawMark(context, x, y) {
	context.beginPath();
	context.moveTo(x, y - MARK);
	context.lineTo(x + MARK, y);
	context.lineTo(x, y + MARK);
	context.lineTo(x - MARK, y);
	context.fill();
}

/** All that is known of a zone, as lines. @param {Track} track @param {number} index */
function zoneLines(track, index) {
	const zone = track.zones[index];
	const where = place(zone.file, zone.line);
	return [
		zone.name,
		`${duration(zone.duration_ns)}, self ${duration(track.self[index])}`,
		...(zone.wait ? [`waits for: ${zone.wait}`] : []),
		...(zone.category ? [`category ${zone.category}`] : []),
		...(where ? [where] : []),
		...(zone.text ? [`text: ${zone.text}`] : []),
		...(zone.value === null || zone.value === undefined ? [] : [`value: ${quantity(zone.value, null)}`]),
		...(zone.flags?.length ? [zone.flags.map(words).join(', ')] : []),
		track.title,
	];
}
