// SPDX-License-Identifier: MIT
// What the table of zones asks for and how its rows read. Pure: no DOM.

import { bytes, count, duration, place } from './format.js';

/** @typedef {import('./table.js').Column<any>} Column */

export const VIEWS = /** @type {const} */ (['tree', 'flat', 'calls', 'callers']);

/** Columns that can be hidden, by key, and the views that have them. @type {(Column & {key: string, views: string, usual: boolean})[]} */
const COLUMNS = [
	{ ...time('total', 'Total', 'Time in the zone, zones inside included, recursion counted once'), views: 'tree flat callers', usual: true },
	{ ...time('self', 'Self', 'Time in the zone without the zones right inside'), views: 'tree flat callers', usual: true },
	{ ...number('calls', 'Calls', (row) => row.calls, count), views: 'tree flat callers', usual: true },
	{ ...time('avg', 'Avg', 'Mean of the calls'), views: 'tree flat callers', usual: true },
	{ ...time('min', 'Min', 'Shortest call'), views: 'tree flat callers', usual: false },
	{ ...time('max', 'Max', 'Longest call'), views: 'tree flat callers', usual: true },
	{ ...time('p50', 'p50', 'Half of the calls take at most this'), views: 'tree flat callers', usual: false },
	{ ...time('p95', 'p95', '95% of the calls take at most this'), views: 'tree flat callers', usual: true },
	{ ...time('p99', 'p99', '99% of the calls take at most this'), views: 'tree flat callers', usual: false },
	{ ...number('frames', 'Frames', (row) => row.frames, count), hint: 'In how many frames it ran', views: 'tree flat callers', usual: false },
	{ ...number('per_frame', 'Calls a frame', (row) => row.calls_per_frame, (n) => n.toFixed(n < 10 ? 1 : 0)), views: 'tree flat', usual: false },
	{ ...number('alloc_bytes', 'Alloc', (row) => row.alloc_bytes, bytes), hint: 'Bytes allocated in it; unknown: not tracked', views: 'tree flat callers', usual: false },
	{ ...number('alloc_count', 'Allocs', (row) => row.alloc_count, count), views: 'tree flat callers', usual: false },
	{ ...time('on_cpu', 'On cpu', 'Of Total, the time its thread ran; needs the scheduler source'), views: 'tree flat callers', usual: false },
	{ ...time('runnable', 'Runnable', 'Of Total, the time its thread could run and did not'), views: 'tree flat callers', usual: false },
	{ ...time('blocked', 'Blocked', 'Of Total, the time its thread waited'), views: 'tree flat callers', usual: false },
	{ ...time('duration', 'Duration', 'Of the call'), views: 'calls', usual: true },
	{ ...time('self', 'Self', 'Of the call, without the zones right inside'), views: 'calls', usual: true },
	{ ...time('start', 'Start', 'From the start of the session'), views: 'calls', usual: true },
	{ key: 'source', label: 'Source', text: (row) => place(row.file, row.line), views: 'tree flat calls callers', usual: false },
];

/** What the daemon can order by. */
const SORTS = new Set(['total', 'self', 'calls', 'avg', 'min', 'max', 'p50', 'p95', 'p99', 'frames', 'duration', 'start']);

/** @param {string} key @param {string} label @param {string} hint @returns {Column & {key: string}} */
function time(key, label, hint) {
	return { ...number(key, label, (row) => row[`${key}_ns`], duration), hint };
}

/** @param {string} key @param {string} label @param {(row: any) => number|null|undefined} value @param {(n: number) => string} text @returns {Column & {key: string}} */
function number(key, label, value, text) {
	return {
		key, label, number: true,
		text: (row) => {
			const n = value(row);
			return n === null || n === undefined ? '–' : text(n);
		},
	};
}

/** The columns of a view that may be chosen. @param {string} view */
export const choosable = (view) => COLUMNS.filter(({ views }) => views.split(' ').includes(view));

/** Those that are shown. @param {string} view @param {string} chosen keys with commas; '': the usual ones @returns {Column[]} */
export function columnsOfView(view, chosen) {
	const keys = chosen.split(',').filter(Boolean);
	return choosable(view).filter(({ key, usual }) => (keys.length ? keys.includes(key) : usual))
		.map(({ key, ...column }) => (SORTS.has(key) ? { ...column, key } : column));
}

/** The order that a view is in when nothing else was asked for. @param {string} view */
export const usualOrder = (view) => ({ key: view === 'calls' ? 'duration' : 'total', down: true });

/**
 * @typedef {object} Wanted
 * @property {string} view
 * @property {import('./table.js').Order} order
 * @property {string} text of the name; with callers the whole name
 * @property {string} thread its id; '': all
 * @property {string} category '': all
 * @property {boolean} perFrame
 * @property {number} limit
 * @property {number} [partMs] what each row took in parts of so long, too
 */

/** @param {NonNullable<ReturnType<import('./model.js').Model['scope']>>} scope @param {Wanted} wanted */
export function zonesPath(scope, wanted) {
	const parts = new URLSearchParams({ view: wanted.view, from: String(scope.from), to: String(scope.to), limit: String(wanted.limit) });
	if (scope.stream !== null)
		parts.set('stream', scope.stream);
	if (scope.what === 'frame')
		parts.set('frames', 'all');
	if (wanted.view === 'callers')
		parts.set('name', wanted.text);
	else if (wanted.text)
		parts.set('name', /[*?]/.test(wanted.text) ? wanted.text : `*${wanted.text}*`);
	if (wanted.thread)
		parts.set('thread', wanted.thread);
	if (wanted.category)
		parts.set('category', wanted.category);
	if (wanted.perFrame && wanted.view !== 'calls')
		parts.set('per', 'frame');
	if (wanted.partMs)
		parts.set('part_ms', String(wanted.partMs));
	if (wanted.view !== 'callers') {
		parts.set('sort', wanted.order.key);
		parts.set('order', wanted.order.down ? 'desc' : 'asc');
	}
	return `/sessions/${encodeURIComponent(scope.session)}/zones?${parts}`;
}

/**
 * What the history of a row asks for, as parameters of /stats: of the tree its path on its thread, of a call the name on its
 * thread, else the name on the threads that the table is about.
 * @param {any} row @param {string} thread that the table is of; '': all
 */
export function historyOf(row, thread) {
	const on = row.thread ?? thread;
	return String(new URLSearchParams([['metric', `${row.gpu ? 'gpu_' : ''}${row.path ? 'path' : `zone:${row.name}`}`],
		...(row.path ?? []).map((/** @type {string} */ name) => ['path', name]), ...(on === '' ? [] : [['thread', on]])]));
}

/** The order of the rows that answer a path; null: it has none to choose. @param {string|null} path @returns {import('./table.js').Order|null} */
export function orderOf(path) {
	const parts = new URLSearchParams(path?.split('?')[1] ?? '');
	const key = parts.get('sort');
	return key === null ? null : { key, down: parts.get('order') === 'desc' };
}

/**
 * The length of a row's bar: its share of the range's wall time, on every row and every thread the same scale. Calls
 * are shares of the longest frame there may be: the range's mean frame.
 * @param {any} row @param {{range: {wall_ns: number, frames: number}, view: string}} answer
 */
export function shareOf(row, answer) {
	const { wall_ns: wall, frames } = answer.range;
	const scale = answer.view === 'calls' ? wall / Math.max(1, frames) : wall;
	const ns = answer.view === 'calls' ? row.duration_ns : row.total_ns;
	return scale > 0 ? ns / scale : 0;
}

/** A path as the detail levels know it: the thread's name, then the zones'. @param {any} row of the tree @returns {string[]} */
export const levelPath = (row) => [row.thread_name ?? '', ...row.path];

/**
 * The level of a node: its own, and the one in force below it, from the nearest node above that has one.
 * @param {{default: number, levels: {path: string[], own: number|null}[]}} detail @param {string[]} path
 * @returns {{own: number|null, inherited: number, from: string[]|null}}
 */
export function levelOf(detail, path) {
	let own = null;
	let inherited = detail.default;
	let from = null;
	for (const level of detail.levels) {
		if (level.own === null || level.path.length > path.length || level.path.some((name, at) => name !== path[at]))
			continue;
		if (level.path.length === path.length)
			own = level.own;
		else if (!from || level.path.length > from.length)
			[inherited, from] = [level.own, level.path];
	}
	return { own, inherited, from };
}

/** Values in bins of equal width from 0 to the largest. @param {number[]} values @param {number} bins @returns {{from: number, to: number, count: number}[]} */
export function histogram(values, bins) {
	const top = Math.max(...values, 0);
	if (!values.length || top <= 0)
		return [];
	const made = Array.from({ length: bins }, (_, at) => ({ from: (top * at) / bins, to: (top * (at + 1)) / bins, count: 0 }));
	for (const value of values)
		made[Math.min(bins - 1, Math.floor((value / top) * bins))].count++;
	return made;
}
