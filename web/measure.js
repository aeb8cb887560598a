// SPDX-License-Identifier: MIT
// What is measured on the timeline, added up: the zones of that stretch by name, as the daemon counts them.

import { Asked } from './asked.js';
import { element, setText } from './dom.js';
import { count, duration, milliseconds, percent, place } from './format.js';
import { Table } from './table.js';
import { framesOf, measureText } from './timeline.js';
import { zonesPath } from './zone_rows.js';

const LIMIT = 200;

export class Measured {
	/** @param {HTMLElement} at @param {import('./model.js').Model} model @param {import('./timeline.js').Timeline} timeline @param {() => void} invalidate */
	constructor(at, model, timeline, invalidate) {
		this.at = at;
		this.model = model;
		this.timeline = timeline;
		this.asked = new Asked(invalidate);
		/** @type {any} */
		this.shown = null;
		/** Whether it is to be brought into view when it is filled. */
		this.opens = false;
		this.title = element('h2', { id: 'measured-title' });
		this.note = element('p', { class: 'note', role: 'status' });
		const zoom = element('button', { type: 'button' }, 'Zoom to it');
		const stop = element('button', { type: 'button' }, 'Stop measuring');
		zoom.addEventListener('click', () => {
			const part = timeline.measured();
			if (part)
				timeline.glide(part);
		});
		stop.addEventListener('click', () => timeline.measure(null));
		at.append(element('div', { class: 'head' }, this.title, element('div', { class: 'controls' }, zoom, stop)), this.note);
		this.table = new Table(at, { caption: 'Zones of what is measured', empty: 'No zone ran in it.', columns: columnsOf(() => this.shown?.range.wall_ns ?? 0) });
	}

	draw() {
		const part = this.timeline.measuring ? null : this.timeline.measured();
		const scene = this.timeline.scene();
		this.opens ||= this.at.hidden && Boolean(part && scene);
		this.at.hidden = !part || !scene;
		this.asked.want(part && scene ? this.path(scene, part) : null);
		if (!part || !scene)
			return;
		setText(this.title, `Measured ${measureText(scene, part)}`);
		const answer = this.asked.fresh ? this.asked.answer : null;
		setText(this.note, this.asked.problem || (answer ? noteOf(answer) : 'Adding up its zones…'));
		if (answer && answer !== this.shown) {
			this.shown = answer;
			this.table.show(answer.zones);
			if (this.opens)
				this.at.scrollIntoView({ block: 'nearest' });
			this.opens = false;
		}
	}

	/** @param {import('./range_tracks.js').Scene} scene @param {import('./zones.js').View} part @returns {string|null} */
	path(scene, part) {
		const { session, stream } = this.model;
		const touched = framesOf(scene, part);
		if (!touched.length)
			return null;
		const [first, last] = [touched[0], touched[touched.length - 1]];
		const path = zonesPath({ session: String(session.id), stream, from: first.frame, to: last.frame, what: 'frame' },
			{ view: 'flat', order: { key: 'self', down: true }, text: '', thread: '', category: '', perFrame: false, limit: LIMIT });
		const [from, to] = [Math.max(part.t0, first.start), Math.min(part.t1, last.end)];
		return `${path}&begin_ns=${Math.round(from + scene.origin)}&end_ns=${Math.round(to + scene.origin)}`;
	}
}

/** @param {any} answer */
function noteOf(answer) {
	const cut = answer.count > answer.zones.length ? `the ${count(answer.zones.length)} with the most self time of ${count(answer.count)} names` : 'by name';
	return `Its zones ${cut}, cut where it begins and ends; a share is of its ${milliseconds(answer.range.wall_ns)}.`;
}

/** @param {() => number} wall @returns {import('./table.js').Column<any>[]} */
function columnsOf(wall) {
	return [
		{ label: 'Zone', text: (row) => row.name ?? '' },
		{ label: 'Self', number: true, text: (row) => duration(row.self_ns), order: (row) => row.self_ns },
		{ label: 'Total', number: true, text: (row) => duration(row.total_ns), order: (row) => row.total_ns },
		{ label: 'Total of it', number: true, text: (row) => percent(wall() ? (row.total_ns / wall()) * 100 : null), order: (row) => row.total_ns },
		{ label: 'Calls', number: true, text: (row) => count(row.calls), order: (row) => row.calls },
		{ label: 'On', text: (row) => (row.gpu ? 'GPU' : row.threads === 1 ? '1 thread' : `${count(row.threads)} threads`) },
		{ label: 'Source', whole: true, text: (row) => place(row.file, row.line) },
	];
}
