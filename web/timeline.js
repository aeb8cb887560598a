// SPDX-License-Identifier: MIT
// The timeline of the selected frame, or of the selected range of frames: one track per thread, zones nested by depth. The
// canvas is as large as its box; the box scrolls over a spacer of the full height, so that any number of threads costs only
// what is seen. Tracks that are pinned stay below the rulers while the others scroll.

import { fitCanvas } from './dom.js';
import { duration, percent, place, plural, quantity, words } from './format.js';
import { hideTip, showTip } from './tip.js';
import { endedBy, stretchAt, stretchLines, threadOf } from './schedule.js';
import { BAND, FRAMES, MARK, Painter, ROW, RULER, TITLE, TRACK_GAP } from './timeline_draw.js';
import { orderTracks, toggleKey } from './track_order.js';
import { clampView, fitView, zonesBetween, zoomView } from './zones.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./zones.js').Lane} Lane */
/** @typedef {import('./zones.js').View} View */
/** @typedef {import('./range_tracks.js').Scene} Scene */
/** @typedef {import('./track_order.js').Ordered & {top: number, height: number, stays: boolean}} Placed */

const GLIDE_MS = 130;
const ASK_MS = 150; // how long the pointer rests on a zone before its frame is asked about it
const PATHS = 8; // frames whose critical paths are drawn
const CLICK = 4; // pixels: what moves less is no drag
const STAYS = 0.6; // of the height: pinned tracks that take more scroll with the others

export class Timeline {
	/**
	 * @param {HTMLCanvasElement} canvas @param {HTMLElement} box scrolls
	 * @param {HTMLElement} spacer gives the box its height @param {Model} model
	 * @param {import('./schedule.js').Schedule} schedule @param {import('./range_zones.js').RangeZones} source
	 * @param {() => void} invalidate
	 */
	constructor(canvas, box, spacer, model, schedule, source, invalidate) {
		this.canvas = canvas;
		this.box = box;
		this.spacer = spacer;
		this.model = model;
		this.schedule = schedule;
		this.source = source;
		this.invalidate = invalidate;
		this.painter = new Painter();
		/** @type {Placed[]} */
		this.placed = [];
		/** What the tracks were placed for. @type {{scene: Scene|null, text: string, told: Lane[]}} */
		this.laidOut = { scene: null, text: '', told: [] };
		/** What is drawn: lanes by thread. @type {Map<number|string, Lane>} */
		this.lanes = new Map();
		/** @type {{x: number, y: number, view: View, scroll: number, pans: boolean, moved: boolean}|null} */
		this.drag = null;
		/** What a drag measures just now. @type {View|null} */
		this.measuring = null;
		/** The frames that the scheduler's states were asked of. @type {{of: Scene, from: number, to: number}|null} */
		this.near = null;
		/** A zone that was found, ns of the session. @type {{thread: number|string, start: number, length: number, depth: number}|null} */
		this.found = null;
		/** @type {View|null} where the view glides to */
		this.goal = null;
		/** @type {ReturnType<typeof setTimeout>|undefined} */
		this.resting = undefined;
		fitCanvas(canvas, box, invalidate);
		box.addEventListener('scroll', invalidate, { passive: true });
		this.listen();
	}

	listen() {
		const canvas = this.canvas;
		canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
		canvas.addEventListener('pointerdown', (event) => this.press(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', (event) => this.release(event));
		canvas.addEventListener('pointercancel', () => this.drop());
		canvas.addEventListener('pointerenter', () => { this.model.reading = true; });
		canvas.addEventListener('pointerleave', () => {
			this.model.reading = false;
			this.leave();
		});
		canvas.addEventListener('dblclick', (event) => this.open(event));
	}

	/** @returns {Scene|null} */
	scene() {
		return this.source.scene();
	}

	/** @returns {View} */
	view() {
		return this.model.view.zoom ?? fitView(this.extent());
	}

	extent() {
		return this.scene()?.extent ?? 1;
	}

	/** @param {View} view */
	setView(view) {
		this.goal = null;
		this.model.setZoom(clampView(view, this.extent()));
	}

	/** Moves there in a moment; at once where no motion is wanted. @param {View} view */
	glide(view) {
		if (matchMedia('(prefers-reduced-motion: reduce)').matches) {
			this.setView(view);
			return;
		}
		const [from, to] = [this.view(), clampView(view, this.extent())];
		const begun = performance.now();
		this.goal = to;
		const step = () => {
			if (this.goal !== to)
				return;
			const part = Math.min(1, (performance.now() - begun) / GLIDE_MS);
			this.model.setZoom(part === 1 ? to : { t0: from.t0 + (to.t0 - from.t0) * part, t1: from.t1 + (to.t1 - from.t1) * part });
			if (part < 1)
				requestAnimationFrame(step);
			else
				this.goal = null;
		};
		step();
	}

	/** Zooms around the middle. @param {number} factor */
	zoom(factor) {
		const { t0, t1 } = this.goal ?? this.view();
		this.glide(zoomView({ t0, t1 }, factor, (t0 + t1) / 2, this.extent()));
	}

	/** @param {number} share of the view */
	pan(share) {
		const { t0, t1 } = this.goal ?? this.view();
		const by = (t1 - t0) * share;
		this.glide({ t0: t0 + by, t1: t1 + by });
	}

	fit() {
		this.goal = null;
		this.model.setZoom(null);
	}

	/** Shows a zone with some room around it. @param {number} start ns from the timeline's begin @param {number} length */
	zoomTo(start, length) {
		const margin = Math.max(50, length * 0.1);
		this.glide({ t0: start - margin, t1: start + length + margin });
	}

	/** Brings a zone into view, and marks it. @param {{thread: number|string, start: number, length: number, depth: number}} zone start: ns of the session */
	reveal(zone) {
		const scene = this.scene();
		if (!scene)
			return;
		this.model.pinPassing();
		this.found = zone;
		const start = zone.start - scene.origin;
		const { t0, t1 } = this.view();
		const share = zone.length / (t1 - t0);
		const span = share > 0.9 || share < 0.02 ? Math.max(1000, zone.length * 8) : t1 - t0;
		this.setView({ t0: start + zone.length / 2 - span / 2, t1: start + zone.length / 2 + span / 2 });
		const track = this.placed.find(({ lane }) => lane.thread.id === zone.thread);
		if (!track)
			return;
		if (track.folded)
			this.toggle('fold', track.key);
		this.layout();
		this.scrollTo(track.key, TITLE + zone.depth * ROW);
	}

	/** @param {string} key of a track @param {number} down from its top, to be seen */
	scrollTo(key, down) {
		const track = this.placed.find((one) => one.key === key);
		if (!track || track.stays)
			return;
		const y = track.top + down;
		const head = this.head() + this.staying();
		if (y < this.box.scrollTop + head || y + ROW > this.box.scrollTop + this.box.clientHeight)
			this.box.scrollTop = Math.max(0, Math.min(track.top - head, y - head));
	}

	/** @param {'fold'|'pin'} what @param {string} key of a track */
	toggle(what, key) {
		const name = `timeline.${what}`;
		this.model.set(name, toggleKey(this.model.setting(name, ''), key));
	}

	/** What is measured, ns from the timeline's begin. @returns {View|null} */
	measured() {
		if (this.measuring)
			return this.measuring;
		const scene = this.scene();
		const match = /^(\d{1,16})-(\d{1,16})$/.exec(this.model.setting('timeline.measure', ''));
		if (!scene || !match || Number(match[1]) >= Number(match[2]))
			return null;
		const part = { t0: Number(match[1]) - scene.origin, t1: Number(match[2]) - scene.origin };
		return part.t1 > 0 && part.t0 < scene.extent ? part : null;
	}

	/** @param {View|null} part */
	measure(part) {
		const scene = this.scene();
		const last = scene?.frames[scene.frames.length - 1];
		if (!part || !scene || !last) {
			this.model.set('timeline.measure', null);
			return;
		}
		const [t0, t1] = [Math.max(0, part.t0), Math.min(last.end, part.t1)].map((time) => Math.round(time + scene.origin));
		this.model.set('timeline.measure', t1 > t0 ? `${t0}-${t1}` : null);
	}

	/** What is in view, or nothing any more. */
	measureView() {
		this.model.pinPassing();
		this.measure(this.measured() ? null : this.view());
	}

	/** @param {MouseEvent} event */
	timeAt(event) {
		const box = this.canvas.getBoundingClientRect();
		const { t0, t1 } = this.view();
		return t0 + ((event.clientX - box.left) / box.width) * (t1 - t0);
	}

	/** @param {WheelEvent} event */
	wheel(event) {
		const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
		if (!this.scene() || (!event.ctrlKey && !sideways))
			return;
		event.preventDefault();
		if (event.ctrlKey) {
			this.setView(zoomView(this.view(), Math.exp(event.deltaY * 0.0022), this.timeAt(event), this.extent()));
			return;
		}
		const { t0, t1 } = this.view();
		const by = ((event.deltaX || event.deltaY) / this.canvas.clientWidth) * (t1 - t0);
		this.setView({ t0: t0 + by, t1: t1 + by });
	}

	/** @param {PointerEvent} event */
	press(event) {
		if (event.button > 1 || !this.scene())
			return;
		this.model.pinPassing();
		this.drag = { x: event.clientX, y: event.clientY, view: this.view(), scroll: this.box.scrollTop, pans: event.shiftKey || event.button === 1, moved: false };
		this.canvas.setPointerCapture(event.pointerId);
	}

	/** @param {PointerEvent} event */
	move(event) {
		const { drag } = this;
		if (!drag) {
			this.hover(event);
			return;
		}
		drag.moved ||= Math.abs(event.clientX - drag.x) >= CLICK || (drag.pans && Math.abs(event.clientY - drag.y) >= CLICK);
		if (!drag.moved)
			return;
		this.leave();
		const { view, x, y } = drag;
		const each = (view.t1 - view.t0) / this.canvas.clientWidth;
		if (drag.pans) {
			const by = (x - event.clientX) * each;
			this.setView({ t0: view.t0 + by, t1: view.t1 + by });
			this.box.scrollTop = drag.scroll + y - event.clientY;
			return;
		}
		const [from, to] = [this.timeAt(event), this.timeAt(event) + (x - event.clientX) * each];
		this.measuring = { t0: Math.min(from, to), t1: Math.max(from, to) };
		this.invalidate();
	}

	/** @param {PointerEvent} event */
	release(event) {
		const { drag, measuring } = this;
		this.drop();
		if (measuring)
			this.measure(measuring);
		else if (drag && !drag.moved)
			this.click(event);
	}

	drop() {
		this.drag = null;
		this.measuring = null;
	}

	/** @param {PointerEvent} event */
	click(event) {
		const { y, placed } = this.trackAt(event);
		const title = placed && y < placed.top + TITLE - BAND - 2;
		const left = event.clientX - this.canvas.getBoundingClientRect().left;
		if (title && left < this.painter.widthOf(placed.lane.title) + 34)
			this.toggle(event.shiftKey ? 'pin' : 'fold', placed.key);
		else
			this.followWaker(event);
	}

	/** How far down the tracks begin. */
	head() {
		return RULER + ((this.scene()?.frames.length ?? 0) > 1 ? FRAMES : 0);
	}

	/** How much of the height the tracks take that stay. */
	staying() {
		return this.placed.reduce((sum, one) => sum + (one.stays ? one.height : 0), 0);
	}

	/** The track under the pointer, and how far down. @param {MouseEvent} event */
	trackAt(event) {
		const at = event.clientY - this.canvas.getBoundingClientRect().top;
		const stays = at < this.head() + this.staying();
		const y = stays ? at : at + this.box.scrollTop;
		return { y, placed: this.placed.find((one) => one.stays === stays && y >= one.top && y < one.top + one.height) };
	}

	/** @param {Placed} placed */
	laneOf(placed) {
		return this.lanes.get(placed.lane.thread.id) ?? placed.lane;
	}

	/** The zones under the pointer. @param {MouseEvent} event */
	hit(event) {
		const { y, placed } = this.trackAt(event);
		if (!placed || placed.folded || y < placed.top + TITLE)
			return null;
		const lane = this.laneOf(placed);
		const row = lane.rows[Math.floor((y - placed.top - TITLE) / ROW)];
		if (!row)
			return null;
		const { t0, t1 } = this.view();
		const slack = (t1 - t0) / this.canvas.clientWidth;
		const time = this.timeAt(event);
		const exact = zonesBetween(row, time, time);
		const found = exact.count ? exact : zonesBetween(row, time - slack, time + slack);
		return found.count ? { lane, row, ...found } : null;
	}

	/** What the scheduler did with the thread under the pointer, where the pointer is on its band. @param {MouseEvent} event */
	stretchAt(event) {
		const { y, placed } = this.trackAt(event);
		const list = placed && this.schedule.byThread.get(Number(placed.lane.thread.id));
		if (!placed || !list || y < placed.top + TITLE - BAND - 2 || y >= placed.top + TITLE)
			return null;
		const stretch = stretchAt(list, this.timeAt(event));
		return stretch ? { list, stretch } : null;
	}

	/** A click on a wait goes to the thread that ended it, at that moment. @param {MouseEvent} event */
	followWaker(event) {
		const found = this.stretchAt(event);
		const waker = found && (found.stretch.state === 'runnable' ? found.stretch.by : endedBy(found.list, found.stretch));
		const goal = this.placed.find(({ lane }) => waker?.kind === 'thread' && lane.thread.id === threadOf(waker));
		if (!found || !goal)
			return;
		this.scrollTo(goal.key, 0);
		const { t0, t1 } = this.view();
		const at = found.stretch.state === 'runnable' ? found.stretch.start : found.stretch.end;
		this.glide({ t0: at - (t1 - t0) / 2, t1: at + (t1 - t0) / 2 });
	}

	leave() {
		clearTimeout(this.resting);
		hideTip();
	}

	/** @param {MouseEvent} event */
	hover(event) {
		clearTimeout(this.resting);
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
		this.tell(found.lane, found.row.zone[longest], found.count, event);
	}

	/** @param {Lane} lane @param {number} index @param {number} together zones under the pointer @param {MouseEvent} event */
	tell(lane, index, together, event) {
		const more = together > 1 ? [`and ${together - 1} more here, too small to tell apart: zoom in`] : [];
		const zone = lane.zone(index);
		showTip([...zoneLines(lane, index, zone), ...more], event.clientX, event.clientY);
		if (!this.model.view.range || (zone.merged ?? 1) > 1)
			return;
		this.resting = setTimeout(async () => {
			const { resting } = this;
			const whole = await this.source.wholeZone(lane, index);
			if (whole && resting === this.resting && !this.drag)
				showTip([...zoneLines(lane, index, whole), ...more], event.clientX, event.clientY);
		}, ASK_MS);
	}

	/** The messages whose marks are under the pointer. @param {MouseEvent} event */
	messagesAt(event) {
		const { y, placed } = this.trackAt(event);
		if (!placed || y >= placed.top + TITLE)
			return [];
		const { t0, t1 } = this.view();
		const slack = ((t1 - t0) / this.canvas.clientWidth) * MARK;
		const time = this.timeAt(event);
		return (this.scene()?.messages ?? []).filter((one) =>
			one.thread === placed.lane.thread.id && Math.abs(one.at - time) <= slack);
	}

	/** A double-click goes to a zone, on the rulers to a frame. @param {MouseEvent} event */
	open(event) {
		const found = this.hit(event);
		const time = this.timeAt(event);
		const onRuler = event.clientY - this.canvas.getBoundingClientRect().top < this.head();
		const frame = onRuler ? this.scene()?.frames.find((one) => one.start <= time && time < one.end) : null;
		if (found)
			this.zoomTo(found.row.start[found.first], found.row.end[found.first] - found.row.start[found.first]);
		else if (frame)
			this.zoomTo(frame.start, frame.end - frame.start);
	}

	/** Those with zones in what is shown, and those that the scheduler alone tells of. @returns {Lane[]} */
	allLanes() {
		const tracks = this.scene()?.tracks;
		const known = new Set(tracks?.map(({ thread }) => thread.id));
		return tracks ? [...tracks, ...this.schedule.lanes.filter(({ thread }) => !known.has(thread.id))] : [];
	}

	/** Places the tracks, once for each scene and setting. */
	layout() {
		const { model } = this;
		const scene = this.scene();
		const settings = { sort: model.setting('timeline.sort', 'order'), folded: model.setting('timeline.fold', ''), pinned: model.setting('timeline.pin', '') };
		const text = `${JSON.stringify(settings)} ${this.box.clientHeight}`;
		const told = this.schedule.lanes;
		if (scene === this.laidOut.scene && text === this.laidOut.text && told === this.laidOut.told)
			return;
		this.laidOut = { scene, text, told };
		let top = this.head();
		this.placed = orderTracks(this.allLanes(), settings).map((one) => {
			const height = TITLE + (one.folded ? 0 : Math.max(1, one.lane.rows.length) * ROW) + TRACK_GAP;
			const placed = { ...one, top, height, stays: false };
			top += height;
			return placed;
		});
		const pinned = this.placed.filter((one) => one.pinned);
		const room = pinned.reduce((sum, one) => sum + one.height, this.head());
		for (const one of pinned)
			one.stays = room < this.box.clientHeight * STAYS;
		this.spacer.style.height = `${Math.max(0, top)}px`;
	}

	draw() {
		this.layout();
		const { painter } = this;
		const view = this.view();
		const scene = this.source.finest(view, this.canvas.clientWidth);
		painter.begin(this.canvas, view);
		if (!scene)
			return;
		this.lanes = new Map(scene.tracks.map((lane) => [lane.thread.id, lane]));
		const head = this.head();
		const under = head + this.staying();
		const whole = /** @type {Scene} */ (this.scene());
		painter.holes(whole, head);
		painter.bounds(whole, head);
		this.drawTracks(scene, false, under);
		if (under > head) {
			painter.pen.clearRect(0, 0, painter.width, under);
			this.drawTracks(scene, true, head);
		}
		painter.selected(whole, head, this.model.view.frame);
		painter.ruler(whole);
		const part = this.measured();
		if (part)
			painter.measure(part, measureText(whole, part), head);
	}

	/** @param {Scene} scene @param {boolean} stays @param {number} top what is above is covered */
	drawTracks(scene, stays, top) {
		const scroll = stays ? 0 : this.box.scrollTop;
		for (const placed of this.placed) {
			const y = placed.top - scroll;
			if (placed.stays !== stays || y + placed.height < top || y > this.painter.height)
				continue;
			this.painter.track(this.laneOf(placed), placed, y, placed.height, scene, this.schedule);
			const { found } = this;
			if (found?.thread === placed.lane.thread.id && !placed.folded)
				this.painter.outline(found.start - scene.origin, found.start + found.length - scene.origin, y + TITLE + found.depth * ROW);
		}
	}

	/** The frames whose scheduler's states are to be shown: all, or where that was too much those in view and around it. */
	about() {
		const scene = this.scene();
		const last = scene?.frames[scene.frames.length - 1];
		if (!scene || !last)
			return null;
		const { frame } = this.model.view;
		if (this.near?.of !== scene)
			this.near = { of: scene, from: scene.frames[0].frame, to: last.frame };
		const seen = framesOf(scene, this.view());
		const covers = seen.length && this.near.from <= seen[0].frame && this.near.to >= seen[seen.length - 1].frame;
		const tooWide = this.schedule.leftOut > 0 && this.near.to - this.near.from > 3 * seen.length + 2;
		if (seen.length && (!covers || tooWide))
			this.near = { of: scene, from: Math.max(scene.frames[0].frame, seen[0].frame - seen.length), to: Math.min(last.frame, seen[seen.length - 1].frame + seen.length) };
		const shown = this.near;
		return { from: shown.from, to: shown.to, origin: scene.origin, frames: seen.length > PATHS ? seen.map((one) => one.frame).filter((one) => one === frame) : seen.map((one) => one.frame) };
	}
}

/** The frames that a part of a scene touches. @param {Scene} scene @param {View} part */
export const framesOf = (scene, part) => scene.frames.filter((one) => one.end > part.t0 && one.start < part.t1);

/** "2.31 ms: 13.9 % of frame 412". @param {Scene} scene @param {View} part */
export function measureText(scene, part) {
	const length = part.t1 - part.t0;
	const touched = framesOf(scene, part);
	const wall = touched.reduce((sum, one) => sum + one.end - one.start, 0);
	if (!wall)
		return duration(length);
	const [first, last] = [touched[0].frame, touched[touched.length - 1].frame];
	return `${duration(length)}: ${percent((length / wall) * 100)} of ${first === last ? `frame ${first}` : `frames ${first} to ${last}`}`;
}

/** All that is known of a zone, as lines. @param {Lane} lane @param {number} index @param {import('./zones.js').Zone} zone */
function zoneLines(lane, index, zone) {
	const where = place(zone.file, zone.line);
	const merged = zone.merged ?? 1;
	return [
		...(merged > 1 ? [`${plural(merged, 'zone')}, too short to tell apart: zoom in`, `the longest: ${zone.name}`] : [zone.name]),
		merged > 1 ? `within ${duration(zone.duration_ns)}` : `${duration(zone.duration_ns)}, self ${duration(lane.self[index])}`,
		...(zone.wait ? [`waits for: ${zone.wait}`] : []),
		...(zone.category ? [`category ${zone.category}`] : []),
		...(where ? [where] : []),
		...(zone.text ? [lane.thread.kind === 'gpu_queue' ? zone.text : `text: ${zone.text}`] : []),
		...(zone.value === null || zone.value === undefined ? [] : [`value: ${quantity(zone.value, null)}`]),
		...(zone.flags?.length ? [zone.flags.map(words).join(', ')] : []),
		lane.title,
	];
}
