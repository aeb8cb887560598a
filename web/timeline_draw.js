// SPDX-License-Identifier: MIT
// How the timeline looks: rulers, frame boundaries, zones, the scheduler's band, gaps and marks. A painter is given
// a view for each drawing; it knows colours and widths of texts, and nothing of the page.

import { startDrawing } from './dom.js';
import { count, tickLabel } from './format.js';
import { hatch, palette, zoneColour } from './palette.js';
import { stretchColour, stretchesBetween } from './schedule.js';
import { boxesOf, flagBit, tickStep } from './zones.js';

/** @typedef {import('./zones.js').Lane} Lane */
/** @typedef {import('./zones.js').Row} Row */
/** @typedef {import('./zones.js').View} View */
/** @typedef {import('./range_tracks.js').Scene} Scene */
/** @typedef {import('./schedule.js').Stretch} Stretch */

export const RULER = 22;
export const FRAMES = 17; // the row of their numbers, of a range
export const TITLE = 25;
export const BAND = 6; // the scheduler's, at the foot of a title
export const ROW = 18;
export const TRACK_GAP = 6;
export const MARK = 5; // half of a message's mark
const FONT = '12px system-ui, sans-serif';
const WIDTHS = 5000;
const DIM = 0.3;

const BROKEN = flagBit('truncated') | flagBit('unbalanced') | flagBit('unclosed');
const GOES_ON = flagBit('clipped_end') | flagBit('open');
const ALIGNED = flagBit('aligned_to_submit_only');

export class Painter {
	constructor() {
		/** @type {Map<string, number>} */
		this.widths = new Map();
		/** Which names a search is for; null: there is none. @type {((name: string) => boolean)|null} */
		this.wanted = null;
		this.width = 0;
		this.height = 0;
		this.colours = palette();
		/** @type {View} */
		this.view = { t0: 0, t1: 1 };
	}

	/** @param {HTMLCanvasElement} canvas @param {View} view */
	begin(canvas, view) {
		const { context, width, height } = startDrawing(canvas);
		this.context = context;
		this.width = width;
		this.height = height;
		this.view = view;
		this.scale = width / (view.t1 - view.t0);
		this.colours = palette();
		context.font = FONT;
		context.textBaseline = 'middle';
		context.textAlign = 'left';
	}

	get pen() {
		return /** @type {CanvasRenderingContext2D} */ (this.context);
	}

	/** @param {number} time */
	x(time) {
		return (time - this.view.t0) * /** @type {number} */ (this.scale);
	}

	/** The rulers, over all else. @param {Scene} scene */
	ruler(scene) {
		const { pen, colours, width } = this;
		const { t0, t1 } = this.view;
		const step = tickStep(t1 - t0, width / 110);
		const foot = RULER + (scene.frames.length > 1 ? FRAMES : 0);
		pen.fillStyle = colours.panel;
		pen.fillRect(0, 0, width, foot - 2);
		pen.fillStyle = colours.line;
		pen.fillRect(0, foot - 2, width, 1);
		for (let time = Math.ceil(t0 / step) * step; time <= t1; time += step) {
			const x = Math.round(this.x(time));
			pen.fillStyle = colours.muted;
			pen.fillRect(x, RULER - 8, 1, 6);
			const label = tickLabel(time, step);
			if (x + 4 + pen.measureText(label).width < width)
				pen.fillText(label, x + 4, RULER / 2 - 1);
		}
		if (scene.frames.length > 1)
			this.frameNumbers(scene);
	}

	/** @param {Scene} scene */
	frameNumbers(scene) {
		const { pen, colours, width } = this;
		let free = -Infinity;
		for (const { frame, start, end } of scene.frames) {
			const [from, to] = [Math.max(0, this.x(start)), Math.min(width, this.x(end))];
			const label = count(frame);
			const wide = this.widthOf(label);
			if (to < 0 || from < free || from + 4 + wide > width)
				continue;
			pen.fillStyle = colours.muted;
			pen.fillRect(Math.round(from), RULER, 1, FRAMES - 3);
			pen.fillStyle = colours.text;
			pen.fillText(label, from + 4, RULER + FRAMES / 2 - 2);
			free = from + wide + 12;
		}
	}

	/** Hatches where there is no frame, or its events are gone. @param {Scene} scene @param {number} top */
	holes(scene, top) {
		let before = null;
		for (const { start, end, gone } of scene.frames) {
			if (gone)
				this.missing(this.x(start), this.x(end), top);
			if (before !== null && start > before)
				this.missing(this.x(before), this.x(start), top);
			before = end;
		}
	}

	/** Where frames begin and end, below the zones. @param {Scene} scene @param {number} top */
	bounds(scene, top) {
		const { pen, colours, height, width } = this;
		let last = -Infinity;
		pen.fillStyle = colours.line;
		for (const { start, end } of scene.frames) {
			for (const x of [this.x(start), this.x(end)]) {
				if (x < -1 || x > width || x - last < 6)
					continue;
				pen.fillRect(Math.round(x), top, 1, height - top);
				last = x;
			}
		}
	}

	/** The begin and the end of the selected frame, over the zones. @param {Scene} scene @param {number} top @param {number|null} frame */
	selected(scene, top, frame) {
		const found = scene.frames.find((one) => one.frame === frame);
		this.pen.fillStyle = this.colours.select;
		for (const x of found ? [this.x(found.start), this.x(found.end)] : []) {
			if (x >= -1 && x <= this.width)
				this.pen.fillRect(Math.round(x), top, 1, this.height - top);
		}
	}

	/** @param {number} from @param {number} to @param {number} top */
	missing(from, to, top) {
		const x = Math.max(0, from);
		if (to >= 0 && from <= this.width)
			hatch(this.pen, x, top, Math.max(3, Math.min(this.width, to) - x), this.height - top, this.colours.bad);
	}

	/**
	 * @param {Lane} lane what is drawn @param {import('./track_order.js').Ordered} track @param {number} y @param {number} height
	 * @param {Scene} scene @param {import('./schedule.js').Schedule} schedule
	 */
	track(lane, track, y, height, scene, schedule) {
		const { pen, colours, width } = this;
		pen.fillStyle = colours.line;
		pen.fillRect(0, y + height - TRACK_GAP / 2, width, 1);
		if (!track.folded) {
			lane.rows.forEach((row, depth) => {
				const top = y + TITLE + depth * ROW;
				if (top + ROW > 0 && top < this.height)
					this.row(lane, row, top);
			});
		}
		this.gaps(scene, lane, y + (track.folded ? 0 : TITLE), height - (track.folded ? 0 : TITLE) - TRACK_GAP);
		this.marks(scene, lane, y + TITLE / 2);
		this.schedule(schedule, lane, y + TITLE - BAND - 1);
		this.title(lane, track, y + (TITLE - BAND) / 2);
	}

	/** @param {Lane} lane @param {import('./track_order.js').Ordered} track @param {number} y */
	title(lane, track, y) {
		const { pen, colours } = this;
		const aligned = lane.thread.kind === 'gpu_queue' && lane.flags.some((bits) => bits & ALIGNED);
		const more = `${track.pinned ? '  pinned' : ''}${track.folded ? `  ${count(lane.count)} zones` : ''}${aligned ? '  aligned to submit only: its clock is not calibrated' : ''}`;
		pen.font = `600 ${FONT}`;
		const text = `${track.folded ? '▸' : '▾'} ${lane.title}`;
		const wide = pen.measureText(text).width;
		pen.fillStyle = colours.page;
		pen.fillRect(2, y - 8, wide + 8, 16);
		pen.fillStyle = colours.text;
		pen.fillText(text, 6, y);
		pen.font = FONT;
		pen.fillStyle = aligned ? colours.bad : colours.muted;
		pen.fillText(more, 6 + wide, y);
	}

	/** Events that were lost. @param {Scene} scene @param {Lane} lane @param {number} y @param {number} height */
	gaps(scene, lane, y, height) {
		let drawn = -Infinity;
		for (const gap of scene.gaps) {
			if (gap.thread !== lane.thread.id || gap.end < this.view.t0 || gap.start > this.view.t1)
				continue;
			const x = Math.max(0, this.x(gap.start));
			const to = Math.max(x + 3, Math.min(this.width, this.x(gap.end)));
			if (to > drawn)
				hatch(this.pen, Math.max(x, drawn), y, to - Math.max(x, drawn), height, this.colours.bad);
			drawn = Math.max(drawn, to);
		}
	}

	/** @param {Scene} scene @param {Lane} lane @param {number} y */
	marks(scene, lane, y) {
		const { pen, colours } = this;
		let drawn = -Infinity;
		for (const one of scene.messages) {
			const x = this.x(one.at);
			if (one.thread !== lane.thread.id || x < -MARK || x > this.width + MARK || x - drawn < 1)
				continue;
			pen.fillStyle = one.kind === 'mark' ? colours.muted : colours.text;
			if (one.kind === 'mark')
				pen.fillRect(Math.round(x), y - TITLE / 2, 1, TITLE - 4);
			else
				diamond(pen, x, y);
			drawn = x;
		}
	}

	/** The scheduler's band below a thread's name: running, runnable, blocked; the critical path is a line under it. @param {import('./schedule.js').Schedule} schedule @param {Lane} lane @param {number} y */
	schedule(schedule, lane, y) {
		const { pen, colours } = this;
		const id = Number(lane.thread.id);
		const least = 1 / /** @type {number} */ (this.scale);
		for (const { start, end, first, count: many } of stretchesBetween(schedule.byThread.get(id) ?? [], this.view.t0, this.view.t1, least)) {
			const running = first.state === 'running';
			const x = Math.max(0, this.x(start));
			pen.fillStyle = many > 1 ? colours.sliver : colours[stretchColour(first)];
			pen.fillRect(x, y + (running ? 0 : BAND / 4), Math.max(0.75, Math.min(this.width, this.x(end)) - x), running ? BAND : BAND / 2);
		}
		pen.fillStyle = colours.text;
		for (const { start, end } of stretchesBetween(schedule.critical.get(id) ?? [], this.view.t0, this.view.t1, least)) {
			const x = Math.max(0, this.x(start));
			pen.fillRect(x, y + BAND - 1, Math.max(0.75, Math.min(this.width, this.x(end)) - x), 3);
		}
	}

	/** @param {Lane} lane @param {Row} row @param {number} y */
	row(lane, row, y) {
		const { pen, colours, width, wanted } = this;
		for (const box of boxesOf(row, this.view.t0, this.view.t1, width)) {
			const x = Math.max(-4, box.x);
			const wide = Math.min(width + 4, box.x + box.width) - x;
			const index = row.zone[box.first];
			if (wanted)
				pen.globalAlpha = this.anyWanted(lane, row, box) ? 1 : DIM;
			if (box.count > 1 || box.width < 3 || (lane.merged && lane.merged[index] > 1)) {
				pen.fillStyle = wanted && pen.globalAlpha === 1 ? colours.select : colours.sliver;
				pen.fillRect(x, y, Math.max(1, wide), ROW - 2);
				continue;
			}
			const marker = lane.marker(index);
			pen.fillStyle = zoneColour(marker.name, marker.wait);
			pen.fillRect(x, y, wide - (wide > 4 ? 1 : 0), ROW - 2);
			this.edges(lane.flags[index], x, y, wide);
			this.label(marker, x, y, wide);
		}
		pen.globalAlpha = 1;
	}

	/** Is any of the zones of a box searched for? @param {Lane} lane @param {Row} row @param {import('./zones.js').Box} box */
	anyWanted(lane, row, box) {
		for (let at = box.first; at < box.first + box.count; at++) {
			if (this.wanted?.(lane.marker(row.zone[at]).name))
				return true;
		}
		return false;
	}

	/** Edges that are not this zone's own are drawn torn. @param {number} flags @param {number} x @param {number} y @param {number} wide */
	edges(flags, x, y, wide) {
		const { pen, colours } = this;
		if (colours.forced) {
			pen.strokeStyle = colours.text;
			pen.strokeRect(x + 0.5, y + 0.5, Math.max(1, wide - 2), ROW - 3);
		}
		if (!flags || wide < 8)
			return;
		if (flags & 1)
			tear(pen, x, y, 1);
		if (flags & GOES_ON)
			tear(pen, x + wide, y, -1);
		if (flags & BROKEN)
			hatch(pen, Math.max(x, x + wide - 8), y, 7, ROW - 2, colours.bad);
	}

	/** @param {import('./zones.js').Marker} marker @param {number} x @param {number} y @param {number} wide */
	label(marker, x, y, wide) {
		const { pen, colours } = this;
		const from = Math.max(x, 0) + 5;
		const text = this.fitText(marker.name, x + wide - from - 6);
		if (!text)
			return;
		pen.fillStyle = colours.forced ? colours.text : marker.wait ? '#000000' : colours['zone-text'];
		pen.fillText(text, from, y + ROW / 2 - 1);
	}

	/** A box around a zone. @param {number} start @param {number} end @param {number} y */
	outline(start, end, y) {
		const { pen, colours } = this;
		const x = Math.max(-4, this.x(start));
		pen.strokeStyle = colours.select;
		pen.lineWidth = 3;
		pen.strokeRect(x, y - 1, Math.max(3, Math.min(this.width + 4, this.x(end)) - x), ROW);
		pen.lineWidth = 1;
	}

	/** What is measured. @param {View} part @param {string} text @param {number} top */
	measure(part, text, top) {
		const { pen, colours, height } = this;
		const [from, to] = [this.x(part.t0), this.x(part.t1)];
		pen.fillStyle = colours.select;
		pen.globalAlpha = colours.forced ? 0 : 0.14;
		pen.fillRect(from, top, to - from, height - top);
		pen.globalAlpha = 1;
		pen.fillRect(Math.round(from), 0, 1, height);
		pen.fillRect(Math.round(to), 0, 1, height);
		const wide = this.widthOf(text) + 12;
		const x = Math.max(0, Math.min(this.width - wide, (Math.max(0, from) + Math.min(this.width, to) - wide) / 2));
		pen.fillStyle = colours.page;
		pen.fillRect(x, 1, wide, RULER - 4);
		pen.fillStyle = colours.text;
		pen.fillText(text, x + 6, RULER / 2 - 1);
	}

	/** @param {string} text */
	widthOf(text) {
		let wide = this.widths.get(text);
		if (wide === undefined) {
			if (this.widths.size > WIDTHS)
				this.widths.clear();
			wide = this.pen.measureText(text).width;
			this.widths.set(text, wide);
		}
		return wide;
	}

	/** As much of a name as there is room for. @param {string} name @param {number} room */
	fitText(name, room) {
		if (room < 14)
			return '';
		const text = name.length > 200 ? name.slice(0, 200) : name;
		const wide = this.widthOf(text);
		if (wide <= room)
			return text;
		const letters = Math.floor((room / wide) * text.length) - 1;
		return letters < 2 ? '' : `${text.slice(0, letters)}…`;
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

/** A message's mark. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y */
function diamond(context, x, y) {
	context.beginPath();
	context.moveTo(x, y - MARK);
	context.lineTo(x + MARK, y);
	context.lineTo(x, y + MARK);
	context.lineTo(x - MARK, y);
	context.fill();
}
