// SPDX-License-Identifier: MIT
// The table of zones: a tree, by name, single calls, or the callers of a name, over what is selected. A row opens the
// zone's history below; a row of the tree has the level of detail that is recorded there. It is drawn anew only
// when there is another answer, and not under the pointer of someone who reads it.

import { ApiError, sendJson, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { element, setText } from './dom.js';
import { count, duration, percent, place, plural } from './format.js';
import { PLOTTED, PathPlots } from './path_plots.js';
import { Table } from './table.js';
import { ZoneHistory } from './zone_history.js';
import { VIEWS, choosable, columnsOfView, historyOf, levelOf, levelPath, orderOf, shareOf, usualOrder, zonesPath } from './zone_rows.js';

/** @typedef {import('./model.js').Model} Model */

const LIMIT = 1000;
const LEVELS_MS = 2000;
const REFRESH_MS = 1000;

export class TablesPanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['frames', 'selection', 'session', 'settings', 'held'];
		this.zones = new Asked(invalidate);
		this.levels = new Asked(invalidate);
		this.levelsAt = -Infinity;
		this.askedAt = -Infinity;
		/** What the last question was about. */
		this.about = '';
		this.plots = new PathPlots(model, invalidate);
		/** Where the row that was asked for is; '' otherwise. */
		this.place = '';
		/** Why a level could not be set; '' otherwise. */
		this.refused = '';
		/** What the table shows. @type {any} */
		this.shown = null;
		this.shownKey = '';
		/** The names of the session's threads that answers told of, by id. @type {Map<string, string>} */
		this.threads = new Map();
		this.session = 0;
		/** @type {Map<string, HTMLElement>} the fields by their setting */
		this.fields = new Map();
		this.columnBox = element('details', { class: 'chooser' }, element('summary', {}, 'Columns'), element('div'));
		at.append(this.buildFields());
		this.note = element('p', { class: 'note', role: 'status' });
		this.setLevels = element('p', { class: 'note set-levels', hidden: '' });
		at.append(this.note, this.setLevels);
		this.table = new Table(at, {
			caption: 'Zones', columns: [], limit: LIMIT, empty: 'No zone ran here.',
			double: (row) => this.tellPlace(row),
			reorder: ({ key, down }) => model.set('tables.sort', `${key}-${down ? 'down' : 'up'}`),
		});
		this.history = new ZoneHistory(at, model, invalidate);
	}

	buildFields() {
		const view = this.choice('view', 'Show', [['tree', 'tree'], ['flat', 'by name'], ['calls', 'single calls'], ['callers', 'callers of']]);
		const text = element('input', { type: 'search', placeholder: 'part of a name, or a*b', 'aria-label': 'Name of the zone' });
		text.addEventListener('change', () => this.model.set('tables.name', text.value || null));
		this.fields.set('name', text);
		const thread = this.choice('thread', 'Thread', [['', 'all']]);
		const category = this.choice('category', 'Category', [['', 'all']]);
		const per = this.choice('per', 'Statistics of', [['call', 'calls'], ['frame', 'frames']]);
		return element('div', { class: 'fields' }, view, text, thread, category, per, this.columnBox);
	}

	/** A select that is a setting. @param {string} name @param {string} label @param {string[][]} options */
	choice(name, label, options) {
		const select = element('select', {}, ...options.map(([value, text]) => element('option', { value }, text)));
		select.addEventListener('change', () => this.model.set(`tables.${name}`, select.value === options[0][0] ? null : select.value));
		this.fields.set(name, select);
		return element('label', {}, `${label} `, select);
	}

	/** @returns {import('./zone_rows.js').Wanted} */
	wanted() {
		const { model } = this;
		const asked = model.setting('tables.view', 'tree');
		const view = VIEWS.find((one) => one === asked) ?? 'tree';
		const sort = /^([a-z0-9]+)-(down|up)$/.exec(model.setting('tables.sort', ''));
		const keys = columnsOfView(view, choosable(view).map(({ key }) => key).join()).map(({ key }) => key);
		return {
			view,
			order: sort && (keys.includes(sort[1]) || sort[1] === 'name') ? { key: sort[1], down: sort[2] === 'down' } : usualOrder(view),
			text: model.setting('tables.name', ''),
			thread: model.setting('tables.thread', ''),
			category: model.setting('tables.category', ''),
			perFrame: model.setting('tables.per', 'call') === 'frame',
			limit: LIMIT,
		};
	}

	draw() {
		const scope = this.model.scope();
		const wanted = this.wanted();
		const nameless = wanted.view === 'callers' && !wanted.text;
		this.ask(nameless ? null : scope, wanted);
		this.askLevels(scope);
		this.learnThreads();
		this.plots.follow(wanted.view);
		this.drawFields(wanted);
		this.drawRows(wanted, scope);
		this.drawSetLevels();
		setText(this.note, this.noteText(scope, nameless));
		this.history.draw(scope, this.model.setting('tables.zone', ''), this.threads);
	}

	/** A filter leaves the other threads to choose from. */
	learnThreads() {
		const { answer } = this.zones;
		const session = this.model.session?.id ?? 0;
		if (session !== this.session)
			this.threads.clear();
		this.session = session;
		if (answer?.session !== session)
			return;
		for (const { thread, thread_name: name } of answer.threads ?? answer.zones) {
			if (thread !== null)
				this.threads.set(String(thread), name ?? `thread ${thread}`);
		}
	}

	/** While frames come, newer ones are asked for once a second; anything else at once. @param {ReturnType<Model['scope']>} scope @param {import('./zone_rows.js').Wanted} wanted */
	ask(scope, wanted) {
		const about = JSON.stringify([scope?.what === 'shown' ? scope.session : scope, wanted]);
		if (about === this.about && scope?.what === 'shown' && performance.now() - this.askedAt < REFRESH_MS)
			return;
		if (about !== this.about)
			this.place = '';
		this.about = about;
		this.askedAt = performance.now();
		this.zones.want(scope && zonesPath(scope, wanted));
	}

	/** Where a zone is in the source. @param {any} row */
	tellPlace(row) {
		this.place = `${row.name ?? 'no zone'}: ${place(row.file, row.line) || 'its place in the source is not known'}. `;
		this.draw();
	}

	/** What is set anywhere, and a way to take each away, whatever rows there are. */
	drawSetLevels() {
		const levels = (this.detail()?.live ? this.detail().levels : []).filter((/** @type {any} */ level) => level.own !== null && level.path.length);
		const text = JSON.stringify(levels.map((/** @type {any} */ level) => [level.path, level.own]));
		this.setLevels.hidden = !levels.length;
		if (text === this.setLevels.dataset.levels)
			return;
		this.setLevels.dataset.levels = text;
		this.setLevels.replaceChildren('Detail set here: ', ...levels.map((/** @type {any} */ level) => {
			const name = level.path.join(' › ');
			const clear = element('button', { type: 'button', 'aria-label': `Clear the detail of ${name}` }, 'Clear');
			clear.addEventListener('click', () => this.setLevel(level.path, null));
			return element('span', {}, `${name}: ${level.own} `, clear);
		}));
	}

	/** @param {ReturnType<Model['scope']>} scope */
	askLevels(scope) {
		const due = this.model.session?.state === 'live' && performance.now() - this.levelsAt > LEVELS_MS;
		if (scope && due)
			this.levelsAt = performance.now();
		this.levels.want(scope && `${sessionPath(scope.session)}/detail`, due);
	}

	/** Levels and categories of the session shown. @returns {any} */
	detail() {
		const { answer } = this.levels;
		return answer?.session === this.model.session?.id ? answer : null;
	}

	/** @param {ReturnType<Model['scope']>} scope @param {boolean} nameless */
	noteText(scope, nameless) {
		const { answer, problem } = this.zones;
		if (this.refused || problem)
			return this.refused || problem;
		if (nameless)
			return 'Write the name of a zone, or choose one by its row in another table.';
		if (!scope)
			return 'No frame yet.';
		if (!answer)
			return 'Reading the zones…';
		const { range } = answer;
		const out = Object.entries(range.left_out).filter(([, n]) => n).map(([why, n]) => `${count(/** @type {number} */ (n))} ${why.replaceAll('_', ' ')}`);
		const lost = answer.lost_events ? ` ${plural(answer.lost_events, 'event')} lost here: numbers are too small.` : '';
		const idle = answer.zones.length - this.rows(answer).length;
		const rows = answer.zones.length - idle;
		const plots = this.plots.serves(answer.view) && rows > PLOTTED ? ` ${count(PLOTTED)} of ${count(rows)} rows are plotted.` : '';
		const rest = idle ? ` ${plural(idle, 'row')} without a call left out.` : '';
		return `${this.place}Frames ${count(range.from)} to ${count(range.to)}: ${plural(range.frames, 'frame')}, ${duration(range.wall_ns)}`
			+ `${out.length ? ` (left out: ${out.join(', ')})` : ''}. ${count(answer.zones.length)} of ${plural(answer.count, 'row')}.${rest}${plots}${lost}`;
	}

	/** Those in which any time was spent. @param {any} answer @returns {any[]} */
	rows(answer) {
		return (answer?.zones ?? []).filter((/** @type {any} */ row) => row.calls !== 0 || row.total_ns > 0);
	}

	/** @param {import('./zone_rows.js').Wanted} wanted */
	drawFields(wanted) {
		fill(this.fields.get('thread'), [['', 'all'], ...this.threads], wanted.thread);
		const categories = (this.detail()?.categories ?? []).map((/** @type {any} */ one) => one.category).sort();
		fill(this.fields.get('category'), [['', 'all'], ...categories.map((/** @type {string} */ one) => [one, one])], wanted.category);
		for (const [name, value] of [['view', wanted.view], ['per', wanted.perFrame ? 'frame' : 'call']])
			/** @type {HTMLSelectElement} */ (this.fields.get(name)).value = value;
		const text = /** @type {HTMLInputElement} */ (this.fields.get('name'));
		if (document.activeElement !== text)
			text.value = wanted.text;
	}

	/** @param {import('./zone_rows.js').Wanted} wanted @param {ReturnType<Model['scope']>} scope */
	drawRows(wanted, scope) {
		const { answer, answered } = this.zones;
		const order = orderOf(answered) ?? wanted.order;
		const chosen = this.model.setting('tables.columns', '');
		const key = JSON.stringify([wanted.view, chosen, order, this.detail()?.levels, this.detail()?.default, this.detail()?.live, this.plots.serves(wanted.view)]);
		if (answer === this.shown && key === this.shownKey)
			return;
		const asked = key !== this.shownKey || scope?.what !== 'shown';
		if (!asked && this.table.inUse())
			return;
		if (answer && answer.view !== wanted.view)
			return;
		if (key !== this.shownKey) {
			this.table.setColumns(this.columns(wanted.view, chosen));
			this.drawChooser(wanted.view, chosen);
		}
		this.shown = answer;
		this.shownKey = key;
		this.table.show([...this.rows(answer), ...(answer?.callees ?? []).map((/** @type {any} */ row) => ({ ...row, inside: true }))], order);
		this.plots.forget();
	}

	/** @param {string} view @param {string} chosen @returns {import('./table.js').Column<any>[]} */
	columns(view, chosen) {
		const name = {
			label: view === 'callers' ? 'Around or inside' : 'Zone',
			key: view === 'callers' || view === 'calls' ? undefined : 'name',
			text: (/** @type {any} */ row) => nameOf(row, view),
			indent: (/** @type {any} */ row) => (view === 'tree' ? row.depth : 0),
			node: (/** @type {any} */ row) => this.nameCell(row, view),
			stamp: (/** @type {any} */ row) => JSON.stringify([nameOf(row, view), row.name, row.gpu, row.path, row.thread, row.file, row.line]),
		};
		const share = (/** @type {any} */ row) => (this.shown ? shareOf(row, this.shown) : 0);
		const bar = {
			label: view === 'calls' ? 'Of a frame' : 'Share', bar: share, number: true,
			hint: 'Of the wall time of the frames, the same scale on every row and thread',
			text: (/** @type {any} */ row) => percent(share(row) * 100),
		};
		const thread = { label: 'Thread', narrow: true, text: (/** @type {any} */ row) => row.thread_name ?? (row.threads > 1 ? `${row.threads} threads` : row.gpu ? 'gpu' : '') };
		const level = { label: 'Detail', hint: 'What is recorded below this zone', text: () => '', node: (/** @type {any} */ row) => this.levelCell(row), stamp: stampOf };
		const plot = { label: 'Last 12 s', hint: 'The longest frame of each half second, on a scale of the row\'s own', text: () => '', node: (/** @type {any} */ row) => this.plots.cell(row), stamp: stampOf };
		return [name, bar, ...(this.plots.serves(view) ? [plot] : []), thread, ...(view === 'tree' && this.detail()?.live ? [level] : []), ...columnsOfView(view, chosen)];
	}

	/** @param {any} row @param {string} view */
	nameCell(row, view) {
		if (row.name === null)
			return document.createTextNode(nameOf(row, view));
		const button = element('button', { type: 'button', class: 'link' }, nameOf(row, view));
		const where = place(row.file, row.line);
		button.title = [nameOf(row, view), where].filter(Boolean).join('\n');
		button.addEventListener('click', () => this.model.set('tables.zone', historyOf(row, this.wanted().thread)));
		return button;
	}

	/** The level of a node of the tree: inherited, or set here. @param {any} row */
	levelCell(row) {
		if (row.gpu)
			return document.createTextNode('');
		const path = levelPath(row);
		const { own, inherited, from } = levelOf(this.detail(), path);
		const select = element('select', { 'aria-label': `Detail below ${row.name}`, class: own === null ? 'level' : 'level own' },
			element('option', { value: '' }, `${inherited} inherited`), element('option', { value: '1' }, '1 here'), element('option', { value: '2' }, '2 here'));
		if (own === 0)
			select.append(element('option', { value: '0' }, '0 here'));
		select.value = own === null ? '' : String(own);
		select.title = own === null ? `From ${from ? from.join(' › ') || 'the session' : 'the session\'s default'}` : 'Set on this zone';
		select.addEventListener('change', () => this.setLevel(path, select.value === '' ? null : Number(select.value)));
		return select;
	}

	/** @param {string[]} path @param {number|null} level */
	async setLevel(path, level) {
		const { session } = this.model;
		try {
			this.levels.answer = await sendJson('PUT', `${sessionPath(String(session.id))}/detail`, { path, level });
			this.refused = '';
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.refused = error.message;
		}
		this.shownKey = '';
		this.draw();
	}

	/** @param {string} view @param {string} chosen */
	drawChooser(view, chosen) {
		const shown = new Set(chosen ? chosen.split(',') : choosable(view).filter(({ usual }) => usual).map(({ key }) => key));
		const boxes = choosable(view).map(({ key, label, hint }) => {
			const box = element('input', { type: 'checkbox', value: key });
			box.checked = shown.has(key);
			box.addEventListener('change', () => {
				if (box.checked)
					shown.add(key);
				else
					shown.delete(key);
				this.model.set('tables.columns', [...shown].join() || null);
			});
			return element('label', { title: hint ?? '' }, box, ` ${label}`);
		});
		this.columnBox.lastElementChild?.replaceChildren(...boxes);
	}
}

/** What a row of the tree is of. @param {any} row */
const stampOf = (row) => JSON.stringify([row.gpu, row.thread, row.thread_name, row.path]);

/** @param {any} row @param {string} view */
function nameOf(row, view) {
	if (view !== 'callers')
		return row.name;
	return row.inside ? `inside: ${row.name}` : `called in: ${row.name ?? 'no zone'}`;
}

/** @param {HTMLElement|undefined} at a select @param {string[][]} options @param {string} value */
function fill(at, options, value) {
	const select = /** @type {HTMLSelectElement} */ (at);
	const all = options.some(([one]) => one === value) ? options : [...options, [value, value]];
	const text = JSON.stringify(all);
	if (select.dataset.options !== text) {
		select.dataset.options = text;
		select.replaceChildren(...all.map(([one, label]) => element('option', { value: one }, label)));
	}
	select.value = value;
}
