// SPDX-License-Identifier: MIT
// The tables of the page: frames, zones and the scheduler's states (each beside its canvas), counters, messages, data sources.

import { byId, element, setText } from './dom.js';
import { count, duration, milliseconds, percent, place, quantity, sourceState, words } from './format.js';
import { byText } from './schedule.js';
import { Table } from './table.js';
import { zonesBetween } from './zones.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./frames.js').FrameRow} FrameRow */
/** @typedef {{zone: import('./zones.js').Zone, self: number, track: string, start: number}} ZoneRow */
/** @typedef {import('./range_tracks.js').Scene} Scene */

const REFRESH_MS = 1000;
const ZONES = 20_000; // rows of a table that is sorted and filtered here

/** @param {string} id of a details element @returns {{details: HTMLDetailsElement, at: HTMLElement}} */
function detailsOf(id) {
	const details = byId(id, HTMLDetailsElement);
	return { details, at: /** @type {HTMLElement} */ (details.querySelector('div')) };
}

/** The frames on the strip. While live it is read anew each second, but not under the reader's hand. */
export class FramesTable {
	/** @param {Model} model @param {import('./strip.js').Strip} strip */
	constructor(model, strip) {
		this.model = model;
		this.strip = strip;
		/** What the columns depend on. */
		this.columns = '';
		const { details, at } = detailsOf('frames-table');
		this.details = details;
		this.table = new Table(at, { caption: 'Frames on the strip', limit: 600, filter: true, empty: 'No frame yet.', columns: [] });
		details.addEventListener('toggle', () => this.fill());
	}

	draw() {
		if (!this.details.open)
			return;
		if (this.model.session?.state === 'live' && !this.model.held)
			this.model.later('frames-table', REFRESH_MS, () => this.table.inUse() || this.fill());
		else
			this.fill();
	}

	fill() {
		if (!this.details.open)
			return;
		const { first, last } = this.model.window();
		const name = `${this.strip.overlay.name} ${this.strip.marks.lane}`;
		if (name !== this.columns)
			this.table.setColumns(frameColumns((row) => this.model.select(row.frame), this.strip));
		this.columns = name;
		/** @type {FrameRow[]} */
		const rows = [];
		for (let n = last; n >= first; n--) {
			const row = this.model.shown.get(n);
			if (row)
				rows.push(row);
		}
		this.table.show(rows);
	}
}

/** All that the strip shows. @param {(row: FrameRow) => void} open @param {import('./strip.js').Strip} strip @returns {import('./table.js').Column<FrameRow>[]} */
function frameColumns(open, strip) {
	const { marks, overlay } = strip;
	/** @param {number|null} ns @param {FrameRow} row */
	const share = (ns, row) => (ns === null || !row.wall_ns ? null : Math.min(100, (ns / row.wall_ns) * 100));
	/** @param {FrameRow} row */
	const left = (row) => share(row.cpu_ns === null && row.gpu_ns === null ? null : Math.max(0, row.wall_ns - Math.max(row.cpu_ns ?? 0, row.gpu_ns ?? 0)), row);
	/** @param {string} label @param {(row: FrameRow) => number|null} value @param {(value: number|null) => string} text */
	const number = (label, value, text) => ({
		label, number: true,
		text: (/** @type {FrameRow} */ row) => text(value(row)),
		order: (/** @type {FrameRow} */ row) => value(row) ?? -1,
	});
	return [
		{ ...number('Frame', (row) => row.frame, count), open },
		number('Wall', (row) => row.wall_ns, milliseconds),
		number('Cpu ≤', (row) => row.cpu_ns, milliseconds),
		number('Gpu', (row) => row.gpu_ns, milliseconds),
		{ label: 'Held by', text: (row) => (strip.heldText(row.frame)[0] ?? '').replace('held by ', '') },
		number('Cpu used ≤', (row) => share(row.cpu_ns, row), percent),
		number('Gpu used', (row) => share(row.gpu_ns, row), percent),
		number('Headroom ≥', left, percent),
		number('Wait: gpu', (row) => row.wait_ns.gpu, milliseconds),
		number('Wait: present', (row) => row.wait_ns.present, milliseconds),
		number('Wait: cap', (row) => row.wait_ns.cap, milliseconds),
		number('Events', (row) => row.events, count),
		number('Lost', (row) => row.lost_events, count),
		number('Late', (row) => row.late_events ?? 0, count),
		...(marks.lane ? [number('Allocations', (row) => marks.allocations.get(row.frame) ?? null, count)] : []),
		...(overlay.name ? [number(overlay.name, (row) => overlay.values.get(row.frame) ?? null, (value) => (value === null ? '–' : overlay.text(value)))] : []),
		{ label: 'Marks', text: (row) => [...(marks.spikes.get(row.frame) ?? []).map((one) => `spike: ${one}`), ...(marks.collections.has(row.frame) ? ['garbage was collected'] : [])].join(', ') },
		{ label: 'Flags', text: (row) => row.flags.map(words).join(', ') },
	];
}

/** The zones of the timeline: of a range those in view. */
export class ZonesTable {
	/** @param {import('./timeline.js').Timeline} timeline */
	constructor(timeline) {
		this.timeline = timeline;
		const { details, at } = detailsOf('zones-table');
		this.details = details;
		/** What the table was filled with. @type {any[]} */
		this.filled = [];
		this.note = element('p', { class: 'note' });
		this.table = new Table(at, {
			caption: 'Zones of the timeline', filter: true, empty: 'No zone in view.',
			columns: zoneColumns((row) => timeline.zoomTo(row.start, row.zone.duration_ns)),
		});
		at.append(this.note);
		details.addEventListener('toggle', () => this.draw());
	}

	draw() {
		const { timeline } = this;
		const view = timeline.view();
		const scene = timeline.source.finest(view, timeline.canvas.clientWidth);
		const part = scene && scene.frames.length > 1 ? view : { t0: -Infinity, t1: Infinity };
		const filled = [scene, part.t0, part.t1];
		if (!this.details.open || timeline.goal || filled.every((one, at) => one === this.filled[at]))
			return;
		this.filled = filled;
		const { rows, all } = rowsOf(scene, part);
		this.table.show(rows);
		setText(this.note, rows.length < all ? `The first ${count(rows.length)} of ${count(all)} in view: zoom in for the others.` : '');
	}
}

/** The zones of a scene in a view, a track after the other. @param {Scene|null} scene @param {import('./zones.js').View} view */
function rowsOf(scene, view) {
	/** @type {ZoneRow[]} */
	const rows = [];
	let all = 0;
	for (const lane of scene?.tracks ?? []) {
		const shown = lane.rows.flatMap((row) => {
			const { first, count: many } = zonesBetween(row, view.t0, view.t1);
			all += many;
			return [...row.zone.subarray(first, first + Math.min(many, ZONES))];
		}).sort((a, b) => a - b);
		for (const at of shown.slice(0, ZONES - rows.length)) {
			const zone = lane.zone(at);
			rows.push({ zone, self: lane.self[at], track: lane.title, start: zone.start_ns - (scene?.origin ?? 0) });
		}
	}
	return { rows, all };
}

/** @param {(row: ZoneRow) => void} open @returns {import('./table.js').Column<ZoneRow>[]} */
function zoneColumns(open) {
	return [
		{ label: 'Thread', narrow: true, text: (row) => row.track },
		{ label: 'Zone', text: (row) => ((row.zone.merged ?? 1) > 1 ? `${count(row.zone.merged)} short zones, the longest ${row.zone.name}` : row.zone.name), indent: (row) => row.zone.depth, open },
		{ label: 'Start', number: true, text: (row) => duration(row.start), order: (row) => row.start },
		{ label: 'Duration', number: true, text: (row) => duration(row.zone.duration_ns), order: (row) => row.zone.duration_ns },
		{ label: 'Self', number: true, text: (row) => duration(row.self), order: (row) => row.self },
		{ label: 'Category', text: (row) => row.zone.category ?? '' },
		{ label: 'Source', whole: true, text: (row) => place(row.zone.file, row.zone.line) },
		{ label: 'Text or value', text: (row) => [row.zone.text, row.zone.value].filter((one) => one !== null && one !== undefined).join(' ') },
		{ label: 'Flags', text: (row) => (row.zone.flags ?? []).map(words).join(', ') },
	];
}

/** Counters of the selected frame, and messages of the timeline. */
export class FrameLists {
	/** @param {Model} model @param {import('./timeline.js').Timeline} timeline */
	constructor(model, timeline) {
		this.model = model;
		this.timeline = timeline;
		/** @type {any[]} what the lists were filled with */
		this.filled = [];
		/** @type {any} */
		this.filledStates = null;
		this.counters = new Table(byId('counters', HTMLElement), {
			caption: 'Counters of the frame', empty: 'No counter has a value in this frame.',
			columns: [
				{ label: 'Counter', text: (/** @type {any} */ row) => row.name ?? '' },
				{ label: 'Value', number: true, text: (row) => quantity(row.value, row.unit), order: (row) => row.value ?? -Infinity },
				{ label: 'Unit', text: (row) => row.unit ?? '' },
				{ label: 'Note', text: (row) => (row.incomplete ? 'incomplete: events were lost' : '') },
			],
		});
		const states = element('details', { id: 'states-table' }, element('summary', {}, 'Scheduler states as a table'), element('div'), element('p', { class: 'note' }));
		byId('path-table', HTMLElement).after(states);
		states.addEventListener('toggle', () => this.draw());
		this.statesBox = states;
		this.states = new Table(/** @type {HTMLElement} */ (states.querySelector('div')), { caption: 'Scheduler states', filter: true, empty: 'The scheduler told nothing here.', columns: [
			{ label: 'Thread', narrow: true, text: (row) => row.thread },
			{ label: 'Start', number: true, text: (row) => duration(row.start), order: (row) => row.start },
			{ label: 'State', text: (row) => row.state },
			{ label: 'Where or why', text: (row) => row.reason ?? (row.cpu === null ? '' : `cpu ${row.cpu}`) },
			{ label: 'Duration', number: true, text: (row) => duration(row.end - row.start), order: (row) => row.end - row.start },
			{ label: 'Woken by', text: ({ by, state }) => (by ? `${state === 'running' ? 'after ' : by.did === 'woke' ? '' : 'preempted by '}${byText(by)}` : '') },
		] });
		this.messages = new Table(byId('messages', HTMLElement), {
			caption: 'Messages', empty: 'No message here.',
			columns: [
				{ label: 'Time', number: true, text: (/** @type {any} */ row) => duration(row.at), order: (row) => row.at },
				{ label: 'Thread', text: (row) => row.threadName },
				{ label: 'Message', text: (row) => row.text },
			],
		});
	}

	drawStates() {
		const { schedule } = this.timeline;
		if (!this.statesBox.open || schedule.byThread === this.filledStates)
			return;
		this.filledStates = schedule.byThread;
		const names = new Map(schedule.lanes.map((lane) => [lane.thread.id, lane.title]));
		const rows = [...schedule.byThread].flatMap(([thread, list]) => list.map((one, at) => {
			const next = list[at + 1]?.by;
			return { ...one, thread: names.get(thread) ?? '', by: one.state !== 'blocked' ? one.by : next?.did === 'woke' ? next : null };
		}));
		this.states.show(rows);
		setText(/** @type {Element} */ (this.statesBox.lastElementChild), schedule.leftOut ? `The first ${count(rows.length)} of ${count(rows.length + schedule.leftOut)} states.` : '');
	}

	draw() {
		const { detail } = this.model;
		const scene = this.timeline.scene();
		this.drawStates();
		if (detail === this.filled[0] && scene === this.filled[1])
			return;
		this.filled = [detail, scene];
		const names = new Map(scene?.tracks.map((track) => [track.thread.id, track.title]));
		this.counters.show(detail?.counters ?? []);
		this.messages.show((scene?.messages ?? []).map((message) => ({
			...message,
			threadName: names.get(message.thread) ?? String(message.thread ?? ''),
		})));
	}
}

/** One source as a row: its state, why, and what to do. @param {any} source @param {(text: string) => HTMLElement} fix */
export function sourceRow(source, fix) {
	const { glyph, text, mark } = sourceState(source.state);
	const state = element('td', { class: mark }, `${glyph} ${text}`);
	const why = element('td', {}, source.reason || (mark === 'good' ? '' : 'no reason given'));
	if (source.fix)
		why.append(fix(source.fix));
	return element('tr', {}, element('th', { scope: 'row' }, source.name), state, why);
}
