// SPDX-License-Identifier: MIT
// Tables: sortable by their headers, filtered by text, cut with "n of m" and never silently. Every canvas has one
// with the same data. All cells are text. Rows are kept when others come in their place: making elements is what costs.

import { element, setText } from './dom.js';
import { count } from './format.js';

/**
 * @template R
 * @typedef {object} Column
 * @property {string} label
 * @property {(row: R) => string} text
 * @property {(row: R) => number|string} [order] sorts by this; without it by the text
 * @property {boolean} [whole] never broken into lines
 * @property {boolean} [narrow] cut where it is long, and told in full by a tip
 * @property {boolean} [number] aligned right, sorted largest first
 * @property {(row: R) => number} [indent] steps of nesting
 * @property {(row: R) => void} [open] the cell is a button that does this
 * @property {(row: R) => number} [bar] the share of the table's one scale, 0 to 1, drawn behind the text
 * @property {(row: R) => Node} [node] what the cell holds instead of the text
 * @property {(row: R) => string} [stamp] a cell keeps its node while this stays; without it the node is made anew
 * @property {string} [key] how the order by this column is asked for, in a table whose rows come ordered
 * @property {string} [hint] what the column means
 */

/** @typedef {{key: string, down: boolean}} Order */

const MORE = 500;

/** @template R */
export class Table {
	/**
	 * @param {HTMLElement} at where it is put
	 * @param {{caption: string, columns: Column<R>[], filter?: boolean, empty?: string, limit?: number, double?: (row: R) => void,
	 *   reorder?: (order: Order) => void}} options reorder: the rows come ordered; called when another order is wanted
	 */
	constructor(at, options) {
		this.options = options;
		this.limit = options.limit ?? MORE;
		/** @type {R[]} */
		this.rows = [];
		/** What each row on the page is of. @type {WeakMap<Element, R>} */
		this.shown = new WeakMap();
		/** @type {{column: number, down: boolean}|null} */
		this.sort = null;
		/** @type {Order|null} how the rows that came are ordered */
		this.order = null;
		this.needle = '';
		this.head = element('tr');
		this.body = element('tbody');
		this.note = element('p', { class: 'note' });
		this.more = element('button', { type: 'button', hidden: '' }, 'Show all');
		this.more.addEventListener('click', () => {
			this.limit = Infinity;
			this.draw();
		});
		const box = element('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': options.caption },
			element('table', {}, element('caption', { class: 'hidden-text' }, options.caption),
				element('thead', {}, this.head), this.body));
		this.box = box;
		this.buildHead();
		if (options.filter)
			at.append(this.buildFilter());
		at.append(box, element('div', { class: 'table-foot' }, this.note, this.more));
	}

	buildFilter() {
		const input = element('input', { type: 'search', 'aria-label': `Filter: ${this.options.caption}`, placeholder: 'Filter by text' });
		input.addEventListener('input', () => {
			this.needle = input.value.toLowerCase();
			this.draw();
		});
		return input;
	}

	buildHead() {
		this.options.columns.forEach((column, index) => {
			const fixed = this.options.reorder && !column.key;
			const button = fixed ? element('span', {}, column.label) : element('button', { type: 'button' }, column.label);
			button.title = column.hint ?? '';
			if (!fixed)
				button.addEventListener('click', () => this.sortBy(index));
			const scale = column.bar ? [element('div', { class: 'scale', 'aria-hidden': 'true' }, ...['25', '50', '75', '100'].map((one) => element('span', {}, one)))] : [];
			this.head.append(element('th', { scope: 'col', ...(column.number ? { class: 'number' } : {}) }, button, ...scale));
		});
	}

	/** @param {number} index */
	sortBy(index) {
		const { number, key } = this.options.columns[index];
		const first = Boolean(number);
		if (this.options.reorder && key) {
			this.options.reorder({ key, down: this.order?.key === key ? !this.order.down : first });
			return;
		}
		if (this.sort?.column !== index)
			this.sort = { column: index, down: first };
		else
			this.sort = this.sort.down === first ? { column: index, down: !first } : null;
		this.draw();
	}

	/** @param {R[]} rows @param {Order|null} [order] how they are ordered */
	show(rows, order = null) {
		this.rows = rows;
		this.order = order;
		this.draw();
	}

	/** Other columns. @param {Column<R>[]} columns */
	setColumns(columns) {
		this.options.columns = columns;
		this.sort = null;
		this.head.replaceChildren();
		this.body.replaceChildren();
		this.buildHead();
		this.draw();
	}

	/** Is someone reading it just now? */
	inUse() {
		return this.box.matches(':hover, :focus-within');
	}

	draw() {
		const rows = this.ordered();
		const shown = rows.slice(0, this.limit);
		const kept = [...this.body.children].filter((row) => this.shown.has(row)).slice(0, shown.length);
		kept.forEach((row, at) => this.fillRow(row, shown[at]));
		const made = shown.slice(kept.length).map((row) => this.buildRow(row));
		for (const row of [...this.body.children].filter((one) => !kept.includes(one)))
			row.remove();
		this.body.append(...made, ...(rows.length ? [] : [this.buildEmpty()]));
		[...this.head.children].forEach((head, index) => {
			const down = this.order ? this.order.key === this.options.columns[index].key && this.order.down
				: this.sort?.column === index && this.sort.down;
			const on = this.order ? this.order.key === this.options.columns[index].key : this.sort?.column === index;
			head.setAttribute('aria-sort', !on ? 'none' : down ? 'descending' : 'ascending');
		});
		const hidden = this.rows.length !== rows.length;
		setText(this.note, shown.length < rows.length || hidden
			? `${count(shown.length)} of ${count(this.rows.length)}${hidden ? ' (filtered)' : ''}`
			: `${count(rows.length)} in all`);
		this.more.hidden = shown.length === rows.length;
	}

	buildEmpty() {
		const text = this.rows.length ? 'Nothing matches the filter.' : this.options.empty ?? 'Nothing here.';
		return element('tr', {}, element('td', { colspan: String(this.options.columns.length), class: 'muted' }, text));
	}

	ordered() {
		const columns = this.options.columns;
		const kept = this.needle
			? this.rows.filter((row) => columns.some((column) => column.text(row).toLowerCase().includes(this.needle)))
			: [...this.rows];
		if (!this.sort)
			return kept;
		const column = columns[this.sort.column];
		const order = column.order ?? column.text;
		const sign = this.sort.down ? -1 : 1;
		return kept.sort((a, b) => {
			const [left, right] = [order(a), order(b)];
			return left === right ? 0 : (left < right ? -sign : sign);
		});
	}

	/** @param {R} row */
	buildRow(row) {
		const made = element('tr');
		const rowOf = () => /** @type {R} */ (this.shown.get(made));
		const { double } = this.options;
		if (double)
			made.addEventListener('dblclick', () => double(rowOf()));
		for (const { open } of this.options.columns) {
			const cell = element('td');
			if (open) {
				const button = element('button', { type: 'button', class: 'link' });
				button.addEventListener('click', () => open(rowOf()));
				cell.append(button);
			}
			made.append(cell);
		}
		this.fillRow(made, row);
		return made;
	}

	/** Puts a row where there was none yet, or another. @param {Element} at @param {R} row */
	fillRow(at, row) {
		const before = this.shown.get(at);
		this.shown.set(at, row);
		this.options.columns.forEach((column, index) => {
			const cell = /** @type {HTMLElement} */ (at.children[index]);
			const steps = Math.min(12, column.indent?.(row) ?? 0);
			const classes = [column.number ? 'number' : '', column.whole ? 'whole' : '', column.narrow ? 'narrow' : '', steps ? `in-${steps}` : '', column.bar ? 'bar-cell' : ''].filter(Boolean).join(' ');
			if (cell.className !== classes)
				cell.className = classes;
			if (column.bar)
				cell.style.setProperty('--share', String(Math.min(1, Math.max(0, column.bar(row)))));
			if (column.narrow && cell.title !== column.text(row))
				cell.title = column.text(row);
			if (!column.node)
				setText(column.open ? /** @type {Element} */ (cell.firstElementChild) : cell, column.text(row));
			else if (before === undefined || !column.stamp || column.stamp(before) !== column.stamp(row))
				cell.replaceChildren(column.node(row));
		});
	}
}
