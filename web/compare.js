// SPDX-License-Identifier: MIT
// Two sides of runs beside each other: the budget of a frame, how frame times are spread, and the zones that moved, with the
// interval of each difference. A side is what the API takes: a session, a range of it, the name of captures, several.

import { ApiError, sendJson, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { budgetRow, deltaText, intervalText, overlay, sideOf, stepsOf, warningsOf } from './compare_text.js';
import { element, setText } from './dom.js';
import { count, duration, milliseconds, nOfM, plural, words } from './format.js';
import { Plot } from './plot.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */

const SIDES = /** @type {const} */ (['a', 'b']);
const BINS = 60;
const LIMIT = 200;
/** Of a side, in the picture of their spread. */
const RUNS = 16;

/** The frame times of a run. @param {any} run @param {string} stream */
const spreadPath = (run, stream) => `${sessionPath(String(run.session))}/stats?${new URLSearchParams({ metric: 'wall', values: 'yes', from: String(run.first), to: String(run.last), stream })}`;

/** @param {'self'|'total'} by @returns {import('./table.js').Column<any>[]} */
const movedColumns = (by) => [
	{ label: 'Zone', text: (row) => row.path.join(' › ') },
	{ label: 'Thread', text: (row) => row.thread },
	{ label: 'A', text: (row) => duration(row[by].a_ns), order: (row) => row[by].a_ns, number: true },
	{ label: 'B', text: (row) => duration(row[by].b_ns), order: (row) => row[by].b_ns, number: true },
	{ label: 'B − A', text: (row) => deltaText(row[by]), order: (row) => Math.abs(row[by].delta_ns), number: true },
	{ label: '99% interval', text: (row) => intervalText(row[by].interval_ns), number: true },
	{ label: 'Calls a frame', text: (row) => `${callsText(row.a_calls)} → ${callsText(row.b_calls)}`, number: true },
];

/** @type {import('./table.js').Column<any>[]} */
const BUDGET = [
	{ label: 'Part', text: (row) => words(row.part) },
	{ label: 'A', text: (row) => milliseconds(row.a_ns), number: true },
	{ label: 'B', text: (row) => milliseconds(row.b_ns), number: true },
	{ label: 'B − A', text: (row) => deltaText(row), order: (row) => Math.abs(row.delta_ns ?? 0), number: true },
	{ label: '99% interval', text: (row) => intervalText(row.interval_ns), number: true },
	{ label: 'Verdict', text: budgetRow, whole: true },
];

/** @param {number|null|undefined} n */
const callsText = (n) => (n === null || n === undefined ? '–' : n.toFixed(n < 1 ? 2 : n < 10 ? 1 : 0));

/** @type {{[kind: string]: string}} */
const KINDS = { moved: 'Zones that moved', appeared: 'Only in B', vanished: 'Only in A' };

export class ComparePanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['selection', 'session', 'sessions', 'settings', 'palette'];
		this.diff = new Asked(invalidate);
		this.invalidate = invalidate;
		/** The frame times of each run. @type {{[side: string]: Asked[]}} */
		this.spread = { a: [], b: [] };
		this.said = '';
		/** What was compared when it was said. @type {string|null} */
		this.saidOf = null;
		/** @type {any} */
		this.shown = null;
		this.plotted = '';
		/** @type {Plot|null} */
		this.plot = null;
		/** @type {{[kind: string]: HTMLElement}} */
		this.titles = {};
		this.names = element('datalist', { id: 'compare-names' });
		/** @type {{[side: string]: HTMLInputElement}} */
		this.inputs = {};
		at.append(this.names, element('div', { class: 'fields' }, ...SIDES.map((side) => this.buildSide(side)), this.buildBy(), this.buildSnapshot()));
		this.note = element('p', { class: 'note', role: 'status' });
		this.warnings = element('ul', { class: 'warnings' });
		at.append(this.note, this.warnings);
		this.body = element('div', { hidden: '' });
		at.append(this.body);
		this.buildBody();
	}

	/** @param {'a'|'b'} side */
	buildSide(side) {
		const input = element('input', { list: 'compare-names', placeholder: side === 'a' ? '12 or 12:100-300' : 'a session, range or name', 'aria-label': `Side ${side.toUpperCase()}` });
		input.addEventListener('change', () => this.model.set(`compare.${side}`, input.value.trim() || null));
		this.inputs[side] = input;
		const use = element('button', { type: 'button', 'aria-label': `Use the selection as side ${side.toUpperCase()}` }, 'Use selection');
		use.addEventListener('click', () => this.model.set(`compare.${side}`, sideOf(this.model.scope())));
		return element('label', {}, `${side.toUpperCase()} `, input, ' ', use);
	}

	buildBy() {
		this.by = element('select', {}, element('option', { value: 'self' }, 'self time'), element('option', { value: 'total' }, 'total time'));
		this.by.addEventListener('change', () => this.model.set('compare.by', this.by?.value === 'total' ? 'total' : null));
		return element('label', {}, 'by ', this.by);
	}

	buildSnapshot() {
		const name = element('input', { placeholder: 'name', 'aria-label': 'Name of the snapshot', maxlength: '128' });
		const take = element('button', { type: 'button' }, 'Take a snapshot');
		take.addEventListener('click', () => this.snapshot(name.value.trim()));
		return element('span', { class: 'snapshot' }, name, ' ', take);
	}

	/** Keeps the selected range, or the last five seconds, under a name. @param {string} name */
	async snapshot(name) {
		const scope = this.model.scope();
		if (!scope || !name) {
			this.said = scope ? 'A snapshot needs a name.' : 'There is no session to take a snapshot of.';
			this.draw();
			return;
		}
		const range = scope.what === 'range' ? { from: scope.from, to: scope.to } : {};
		try {
			const { id } = await sendJson('POST', '/snapshots', { name, session: Number(scope.session), ...range });
			this.said = `Kept as ${name}, session ${id}.`;
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.said = error.message;
		}
		this.draw();
	}

	buildBody() {
		const { body } = this;
		body.append(element('h2', {}, 'Budget of a frame'));
		this.budget = new Table(body, { caption: 'Budget of a frame', columns: BUDGET });
		body.append(element('h2', {}, 'How frame times are spread'));
		this.plotBox = element('div');
		body.append(this.plotBox);
		const table = element('details', {}, element('summary', {}, 'The same as a table'), element('div'));
		body.append(table);
		this.bins = new Table(/** @type {HTMLElement} */ (table.lastElementChild), { caption: 'Share of the frames by frame time', columns: [
			{ label: 'Up to', text: (row) => milliseconds(row[0]), order: (row) => row[0], number: true },
			{ label: 'A', text: (row) => `${row[1].toFixed(1)} %`, order: (row) => row[1], number: true },
			{ label: 'B', text: (row) => `${row[2].toFixed(1)} %`, order: (row) => row[2], number: true },
		] });
		/** @type {{[kind: string]: Table<any>}} */
		this.tables = {};
		for (const [kind, title] of Object.entries(KINDS)) {
			this.titles[kind] = body.appendChild(element('h2'));
			this.tables[kind] = new Table(body, { caption: title, columns: movedColumns('self'), empty: kind === 'moved' ? 'No zone moved by more than chance.' : 'None.' });
		}
	}

	draw() {
		const { model } = this;
		const [a, b] = SIDES.map((side) => model.setting(`compare.${side}`, ''));
		const by = model.setting('compare.by', 'self') === 'total' ? 'total' : 'self';
		SIDES.forEach((side, at) => {
			if (document.activeElement !== this.inputs[side])
				this.inputs[side].value = at ? b : a;
		});
		if (this.by)
			this.by.value = by;
		const options = [...new Set(model.sessions.flatMap((one) => [String(one.id), one.kind === 'recorded' ? '' : one.name ?? '']).filter(Boolean))];
		if (this.names.dataset.options !== options.join('\n')) {
			this.names.dataset.options = options.join('\n');
			this.names.replaceChildren(...options.map((value) => element('option', { value })));
		}
		this.diff.want(a && b ? `/diff?${new URLSearchParams({ a, b, by, limit: String(LIMIT), ...(model.stream === null ? {} : { stream: model.stream }) })}` : null);
		if (this.diff.path !== this.saidOf)
			this.said = '';
		this.saidOf = this.diff.path;
		setText(this.note, this.said || this.noteText(a && b));
		this.drawAnswer();
	}

	/** @param {string} both */
	noteText(both) {
		if (!both)
			return 'Select a range on the strip (drag) and use it as side A, then another as side B; or write sessions and names of captures.';
		if (this.diff.problem)
			return this.diff.problem;
		const { answer } = this.diff;
		if (!answer)
			return 'Comparing…';
		const [a, b] = SIDES.map((side) => plural(answer[side].runs.reduce((/** @type {number} */ sum, /** @type {any} */ run) => sum + run.frames, 0), 'frame'));
		const { counts } = answer;
		const cut = SIDES.some((side) => answer[side].runs.length > RUNS) ? ` The spread is of the first ${RUNS} runs of a side.` : '';
		return `A: ${a}, B: ${b}. Means per frame; ${plural(counts.same, 'zone')} not told apart from chance, ${count(counts.below_floor)} that differ by less than ${answer.floor_ms} ms${counts.not_tried ? `, ${count(counts.not_tried)} not looked at` : ''}. Intervals from ${answer.intervals}.${cut}`;
	}

	drawAnswer() {
		const { answer } = this.diff;
		this.body.hidden = !answer;
		if (!answer)
			return;
		if (answer !== this.shown) {
			this.shown = answer;
			this.budget?.show(answer.budget);
			for (const [kind, table] of Object.entries(this.tables ?? {})) {
				table.setColumns(movedColumns(answer.by));
				table.show(answer[kind]);
				setText(this.titles[kind], `${KINDS[kind]}: ${nOfM(answer[kind].length, answer.counts[kind])}`);
			}
			this.warnings.replaceChildren(...warningsOf(answer).map((text) => element('li', { class: 'warn' }, text)));
		}
		for (const side of SIDES) {
			const runs = answer[side].runs.slice(0, RUNS);
			while (this.spread[side].length < runs.length)
				this.spread[side].push(new Asked(this.invalidate));
			this.spread[side].forEach((asked, at) => asked.want(runs[at] ? spreadPath(runs[at], answer.stream) : null));
		}
		this.drawSpread();
	}

	drawSpread() {
		const [a, b] = SIDES.map((side) => this.spread[side].filter(({ path }) => path !== null));
		if (!a.length || !b.length || ![...a, ...b].every(({ fresh }) => fresh) || !this.plotBox)
			return;
		const key = [a, b].map((side) => side.map(({ answered }) => answered).join(' ')).join(' | ');
		if (key === this.plotted)
			return;
		this.plotted = key;
		const [left, right] = [a, b].map((side) => side.flatMap((one) => one.answer.metrics[0].values.map((/** @type {any} */ pair) => pair[1])));
		const bins = overlay(left, right, BINS);
		this.plot ??= new Plot(this.plotBox, {
			label: 'Share of the frames of each side by frame time', height: 190, value: (n) => `${n.toFixed(1)} %`,
			place: (ms) => `${ms} ms`,
			lines: [{ label: 'A', colour: 'plot', fill: true, steps: true }, { label: 'B', colour: 'side-b', fill: true, steps: true }],
		});
		this.plot.show(stepsOf(bins));
		this.bins?.show(bins.filter((bin) => bin[1] || bin[2]));
	}
}
