// SPDX-License-Identifier: MIT
// The tables of the page: frames and zones (each beside its canvas), counters, messages, data sources.

import { byId, element } from './dom.js';
import { count, duration, milliseconds, place, quantity, sourceState, words } from './format.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./frames.js').FrameRow} FrameRow */
/** @typedef {{zone: import('./zones.js').Zone, self: number, track: string, start: number}} ZoneRow */

const REFRESH_MS = 1000;

/** @param {string} id of a details element @returns {{details: HTMLDetailsElement, at: HTMLElement}} */
function detailsOf(id) {
	const details = byId(id, HTMLDetailsElement);
	return { details, at: /** @type {HTMLElement} */ (details.querySelector('div')) };
}

/** The frames on the strip. While live it is read anew each second, but not under the reader's hand. */
export class FramesTable {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		const { details, at } = detailsOf('frames-table');
		this.details = details;
		this.table = new Table(at, {
			caption: 'Frames on the strip', limit: 600, filter: true, empty: 'No frame yet.',
			columns: frameColumns((row) => model.select(row.frame)),
		});
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

/** @param {(row: FrameRow) => void} open @returns {import('./table.js').Column<FrameRow>[]} */
function frameColumns(open) {
	/** @param {string} label @param {(row: FrameRow) => number|null} value @param {(value: number|null) => string} text */
	const number = (label, value, text) => ({
		label, number: true,
		text: (/** @type {FrameRow} */ row) => text(value(row)),
		order: (/** @type {FrameRow} */ row) => value(row) ?? -1,
	});
	return [
		{ ...number('Frame', (row) => row.frame, count), open },
		number('Wall', (row) => row.wall_ns, milliseconds),
		number('Cpu', (row) => row.cpu_ns, milliseconds),
		number('Gpu', (row) => row.gpu_ns, milliseconds),
		number('Wait: gpu', (row) => row.wait_ns.gpu, milliseconds),
		number('Wait: present', (row) => row.wait_ns.present, milliseconds),
		number('Wait: cap', (row) => row.wait_ns.cap, milliseconds),
		number('Events', (row) => row.events, count),
		number('Lost', (row) => row.lost_events, count),
		number('Late', (row) => row.late_events ?? 0, count),
		{ label: 'Flags', text: (row) => row.flags.map(words).join(', ') },
	];
}

/** The zones of the selected frame. */
export class ZonesTable {
	/** @param {Model} model @param {(start: number, length: number) => void} zoomTo */
	constructor(model, zoomTo) {
		this.model = model;
		const { details, at } = detailsOf('zones-table');
		this.details = details;
		/** @type {import('./model.js').Detail|null|undefined} */
		this.filled = undefined;
		this.table = new Table(at, {
			caption: 'Zones of the selected frame', filter: true, empty: 'No zone in this frame.',
			columns: zoneColumns((row) => zoomTo(row.start, row.zone.duration_ns)),
		});
		details.addEventListener('toggle', () => this.draw());
	}

	draw() {
		const { detail } = this.model;
		if (!this.details.open || this.filled === detail)
			return;
		this.filled = detail;
		const origin = detail?.frame.begin_ns ?? 0;
		this.table.show((detail?.tracks ?? []).flatMap((track) => track.zones.map((zone, at) => ({
			zone, self: track.self[at], track: track.title, start: zone.start_ns - origin,
		}))));
	}
}

/** @param {(row: ZoneRow) => void} open @returns {import('./table.js').Column<ZoneRow>[]} */
function zoneColumns(open) {
	return [
		{ label: 'Thread', whole: true, text: (row) => row.track },
		{ label: 'Zone', text: (row) => row.zone.name, indent: (row) => row.zone.depth, open },
		{ label: 'Start', number: true, text: (row) => duration(row.start), order: (row) => row.start },
		{ label: 'Duration', number: true, text: (row) => duration(row.zone.duration_ns), order: (row) => row.zone.duration_ns },
		{ label: 'Self', number: true, text: (row) => duration(row.self), order: (row) => row.self },
		{ label: 'Category', text: (row) => row.zone.category ?? '' },
		{ label: 'Source', whole: true, text: (row) => place(row.zone.file, row.zone.line) },
		{ label: 'Text or value', text: (row) => [row.zone.text, row.zone.value].filter((one) => one !== null && one !== undefined).join(' ') },
		{ label: 'Flags', text: (row) => (row.zone.flags ?? []).map(words).join(', ') },
	];
}

/** Counters and messages of the selected frame. */
export class FrameLists {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		this.counters = new Table(byId('counters', HTMLElement), {
			caption: 'Counters of the frame', empty: 'No counter has a value in this frame.',
			columns: [
				{ label: 'Counter', text: (/** @type {any} */ row) => row.name ?? '' },
				{ label: 'Value', number: true, text: (row) => quantity(row.value, row.unit), order: (row) => row.value ?? -Infinity },
				{ label: 'Unit', text: (row) => row.unit ?? '' },
				{ label: 'Note', text: (row) => (row.incomplete ? 'incomplete: events were lost' : '') },
			],
		});
		this.messages = new Table(byId('messages', HTMLElement), {
			caption: 'Messages of the frame', empty: 'No message in this frame.',
			columns: [
				{ label: 'Time', number: true, text: (/** @type {any} */ row) => duration(row.at), order: (row) => row.at },
				{ label: 'Thread', text: (row) => row.threadName },
				{ label: 'Message', text: (row) => row.text },
			],
		});
	}

	draw() {
		const { detail } = this.model;
		const names = new Map(detail?.tracks.map((track) => [track.thread.id, track.title]));
		this.counters.show(detail?.counters ?? []);
		this.messages.show((detail?.messages ?? []).map((message) => ({
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
