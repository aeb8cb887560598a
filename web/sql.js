// SPDX-License-Identifier: MIT
// Questions in SQL: an editor with examples, the answer as a table, as CSV, and as a plot of one of its columns. The
// statement is in the address, so that an answer can be sent to someone.

import { ApiError, sendJson } from './api.js';
import { element, setText } from './dom.js';
import { count, plural } from './format.js';
import { Plot } from './plot.js';
import { EXAMPLES, cellText, csvPath, isNumeric } from './sql_text.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */

const LIMIT = 10_000;

export class SqlPanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.invalidate = invalidate;
		this.parts = ['session', 'settings'];
		/** @type {any} */
		this.answer = null;
		this.problem = '';
		this.running = false;
		this.editor = element('textarea', { rows: '7', spellcheck: 'false', 'aria-label': 'SQL statement', class: 'code' });
		this.editor.addEventListener('change', () => this.remember());
		this.editor.addEventListener('keydown', (event) => {
			if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
				this.run();
		});
		this.examples = element('select', { 'aria-label': 'Examples' }, element('option', { value: '' }, 'Examples…'),
			...EXAMPLES.map(({ title }, index) => element('option', { value: String(index) }, title)));
		this.examples.addEventListener('change', () => this.takeExample());
		this.everything = element('input', { type: 'checkbox' });
		this.everything.addEventListener('change', () => model.set('sql.all', this.everything.checked ? 'yes' : null));
		this.button = element('button', { type: 'button' }, 'Run ', element('kbd', {}, 'Ctrl'), ' + ', element('kbd', {}, 'Enter'));
		this.button.addEventListener('click', () => this.run());
		this.csv = element('a', { download: 'fprof-query.csv' }, 'As CSV');
		this.note = element('p', { class: 'note', role: 'status' });
		at.append(this.editor, element('div', { class: 'fields' }, this.button, this.examples,
			element('label', {}, this.everything, ' all sessions, not only the one shown'), this.csv), this.note);
		this.result = element('div', { hidden: '' });
		at.append(this.result);
		this.table = new Table(this.result, { caption: 'Answer', columns: [], empty: 'No row.', filter: true });
		this.column = element('select');
		this.column.addEventListener('change', () => model.set('sql.plot', this.column.value || null));
		this.plotBox = element('div', { hidden: '' }, element('h2', {}, 'Plot'), element('div', { class: 'fields' }, element('label', {}, 'Column ', this.column)));
		at.append(this.plotBox);
		/** @type {Plot|null} */
		this.plot = null;
		this.plotted = '';
	}

	draw() {
		const { model } = this;
		if (document.activeElement !== this.editor)
			this.editor.value = model.setting('sql.text', EXAMPLES[0].sql);
		this.everything.checked = model.setting('sql.all', '') === 'yes';
		this.csv.setAttribute('href', csvPath(this.editor.value, this.session()));
		this.button.disabled = this.running;
		setText(this.note, this.noteText());
		this.drawPlot();
	}

	/** The session that is asked alone; null: all. */
	session() {
		const { session } = this.model;
		return this.model.setting('sql.all', '') === 'yes' || !session ? null : String(session.id);
	}

	noteText() {
		if (this.running)
			return 'Asking…';
		if (this.problem)
			return this.problem;
		if (!this.answer)
			return 'The tables are those of docs/guide/sql.md: frame_times, zones, events, counters, gpu_zones, tracks, markers, …';
		const { rows, truncated, elapsed_ms: ms } = this.answer;
		return `${plural(rows.length, 'row')} in ${ms.toFixed(1)} ms${truncated ? `: cut, there are more than ${count(LIMIT)}` : ''}`;
	}

	takeExample() {
		const example = EXAMPLES[Number(this.examples.value)];
		if (this.examples.value === '' || !example)
			return;
		this.examples.value = '';
		this.editor.value = example.sql;
		this.remember();
		this.run();
	}

	remember() {
		this.model.set('sql.text', this.editor.value === EXAMPLES[0].sql ? null : this.editor.value);
	}

	async run() {
		if (this.running)
			return;
		this.remember();
		const session = this.session();
		this.running = true;
		this.invalidate();
		try {
			this.answer = await sendJson('POST', `/query?limit=${LIMIT}${session ? `&session=${session}` : ''}`, { sql: this.editor.value });
			this.problem = '';
			this.showRows();
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.problem = error.message;
		} finally {
			this.running = false;
			this.invalidate();
		}
	}

	showRows() {
		const { columns, rows } = this.answer;
		this.table.setColumns(columns.map((/** @type {string} */ label, /** @type {number} */ index) => ({
			label,
			number: isNumeric(rows, index),
			text: (/** @type {any[]} */ row) => cellText(row[index]),
			order: (/** @type {any[]} */ row) => row[index] ?? -Infinity,
			...(label === 'frame' && this.session() ? { open: (/** @type {any[]} */ row) => this.model.select(row[index]) } : {}),
		})));
		this.table.show(rows);
		this.result.hidden = false;
	}

	drawPlot() {
		const { answer } = this;
		const numeric = answer ? answer.columns.filter((/** @type {string} */ _, /** @type {number} */ index) => isNumeric(answer.rows, index)) : [];
		this.plotBox.hidden = !numeric.length || answer.rows.length < 2;
		if (this.plotBox.hidden)
			return;
		const name = numeric.includes(this.model.setting('sql.plot', '')) ? this.model.setting('sql.plot', '') : numeric.find((/** @type {string} */ one) => one !== 'frame') ?? numeric[0];
		this.column.replaceChildren(...numeric.map((/** @type {string} */ one) => element('option', { value: one }, one)));
		this.column.value = name;
		const key = JSON.stringify([answer.elapsed_ms, answer.rows.length, name]);
		if (key === this.plotted)
			return;
		this.plotted = key;
		this.showPlot(name);
	}

	/** Over the frame numbers where they rise, else over the rows. @param {string} name */
	showPlot(name) {
		const { columns, rows } = this.answer;
		const [y, frame] = [columns.indexOf(name), columns.indexOf('frame')];
		const rises = frame >= 0 && frame !== y && rows.every((/** @type {any[]} */ row, /** @type {number} */ at) =>
			typeof row[frame] === 'number' && (!at || row[frame] > rows[at - 1][frame]));
		this.plot?.remove();
		this.plot = new Plot(this.plotBox, {
			label: `${name} over ${rises ? 'frames' : 'rows'}; the values are in the table above`, height: 180,
			value: (n) => cellText(n), lines: [{ label: name, colour: 'plot' }],
			...(rises ? { open: (/** @type {number} */ n) => this.model.select(n) } : {}),
		});
		this.plot.show([rows.map((/** @type {any[]} */ row, /** @type {number} */ at) => (rises ? row[frame] : at + 1)),
			rows.map((/** @type {any[]} */ row) => row[y])]);
	}
}
