// SPDX-License-Identifier: MIT
// Who the selected frames waited for at each moment: the critical path, added up by thread and zone. The card names the
// longest; the table beside the timeline, which draws the path, has all. It is about a selection: a live strip has none.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { byId, setText } from './dom.js';
import { count, duration, percent } from './format.js';
import { Table } from './table.js';
import { makeLines } from './top_zones.js';

/** @typedef {import('./model.js').Model} Model */

const TOP = 5;
const LIMIT = 200;

/** @param {string} label @param {string} key @param {string} hint @returns {import('./table.js').Column<any>} */
const time = (label, key, hint) => ({ label, hint, number: true, order: (row) => row[key] ?? -1, text: (row) => (row[key] === null ? '–' : duration(row[key])) });

/** @type {import('./table.js').Column<any>[]} */
const COLUMNS = [
	{ label: 'Thread', text: (row) => row.thread_name ?? `tid ${row.tid}` },
	{ label: 'Zone', text: (row) => row.path.join(' › ') || 'outside of all zones' },
	time('On the path', 'self_ns', 'How long the frames waited for it'),
	{ label: 'Share', number: true, text: (row) => percent(row.share * 100), order: (row) => row.share },
	time('Running', 'running_ns', 'Of it, on a cpu'),
	time('Runnable', 'runnable_ns', 'Of it, wanting a cpu'),
	time('Blocked', 'blocked_ns', 'Of it, waiting for nobody of the game'),
	time('Gain', 'gain_ns', 'What the frames would lose together if it took no time'),
	time('Own gain', 'self_gain_ns', 'What they would lose if it took none but for the zones inside of it'),
];

export class CriticalList {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		this.list = makeLines(byId('card-path', HTMLElement), TOP);
		this.note = byId('path-note', HTMLElement);
		const details = byId('path-table', HTMLDetailsElement);
		this.table = new Table(/** @type {HTMLElement} */ (details.querySelector('div')), { caption: 'Critical path', columns: COLUMNS, empty: 'Nothing is known of it.' });
		/** @type {any} */
		this.shown = null;
	}

	draw() {
		const scope = this.model.scope();
		const about = scope && scope.what !== 'shown' && !this.model.session?.aggregate ? scope : null;
		const parts = about && new URLSearchParams({ from: String(about.from), to: String(about.to), limit: String(LIMIT),
			...(about.what === 'frame' ? { frames: 'all' } : {}), ...(about.stream === null ? {} : { stream: about.stream }) });
		this.asked.want(about && `${sessionPath(about.session)}/critical-path?${parts}`);
		const { answer, problem } = this.asked;
		setText(this.note, problem || this.noteText(about));
		if (answer === this.shown)
			return;
		this.shown = answer;
		const rows = answer?.zones ?? [];
		this.table.show(rows);
		[...this.list.children].forEach((item, at) => fillLine(/** @type {HTMLElement} */ (item), rows[at]));
	}

	/** @param {ReturnType<Model['scope']>} about */
	noteText(about) {
		if (!about)
			return 'Select a frame or a range.';
		const { answer } = this.asked;
		if (!answer)
			return 'Reading…';
		const more = answer.count > TOP ? ` ${TOP} of ${count(answer.count)}${answer.count > answer.zones.length ? `; the table has ${count(answer.zones.length)}` : ''}.` : '';
		return `${answer.sources.includes('scheduler') ? '' : 'Without the scheduler only its own thread is known.'}${more}`.trim();
	}
}

/** @param {HTMLElement} item @param {any} row */
function fillLine(item, row) {
	const [name, value] = item.children;
	setText(name, row ? `${row.thread_name ?? `tid ${row.tid}`}: ${row.name ?? 'outside of zones'}` : '');
	setText(value, row ? `${duration(row.self_ns)}, ${percent(row.share * 100)}` : '');
	/** @type {HTMLElement} */ (name).title = row ? COLUMNS.slice(4, 7).map((column) => `${column.label} ${column.text(row)}`).join(', ') : '';
}
