// SPDX-License-Identifier: MIT
// What the user looks at, as text in the address: session, stream, frame, range, zoom, the panel that is open and what
// each panel was set to. Pure: no DOM.

/**
 * @typedef {object} ViewState
 * @property {string|null} session null: the newest, by itself
 * @property {string|null} stream null: main
 * @property {number|null} frame
 * @property {{first: number, last: number}|null} range
 * @property {{t0: number, t1: number}|null} zoom ns from the frame's begin; null: all of it
 * @property {string|null} tab the panel that is open; null: the first
 * @property {{[name: string]: string}} settings of panels: "tables.sort"; a panel checks what it reads
 */

/** The panels in the order of their tabs and of the keys 1 to 9: name in the address, label, what it shows. */
export const TABS = /** @type {const} */ ([
	{ name: 'timeline', label: 'Timeline', text: 'The timeline of the selected frame' },
	{ name: 'flame', label: 'Flame', text: 'Flame views: left-heavy, and the sandwich of a zone' },
	{ name: 'tables', label: 'Zones', text: 'Zones added up: tree, by name, single calls, callers' },
	{ name: 'counters', label: 'Counters', text: 'Counters over time' },
	{ name: 'compare', label: 'Compare', text: 'Two sides compared' },
	{ name: 'spikes', label: 'Spikes', text: 'Spikes and crashes that were kept' },
	{ name: 'sql', label: 'SQL', text: 'Questions in SQL' },
	{ name: 'diagnostics', label: 'Diagnostics', text: 'Sources, losses, the daemon itself' },
]);

const SETTING = /^[a-z]{1,16}\.[a-z_]{1,24}$/;
const SETTING_LENGTH = 4096;

/** @returns {ViewState} */
export const emptyView = () => ({ session: null, stream: null, frame: null, range: null, zoom: null, tab: null, settings: {} });

/** @param {ViewState} view @returns {string} without the # */
export function encodeView(view) {
	const parts = new URLSearchParams();
	if (view.session !== null)
		parts.set('session', view.session);
	if (view.stream !== null)
		parts.set('stream', view.stream);
	if (view.frame !== null)
		parts.set('frame', String(view.frame));
	if (view.range)
		parts.set('range', `${view.range.first}-${view.range.last}`);
	if (view.zoom)
		parts.set('zoom', `${Math.round(view.zoom.t0)}..${Math.round(view.zoom.t1)}`);
	if (view.tab !== null)
		parts.set('tab', view.tab);
	for (const [name, value] of Object.entries(view.settings))
		parts.set(name, value);
	return parts.toString();
}

/** Whatever is not understood is left out. @param {string} text with or without the # @returns {ViewState} */
export function decodeView(text) {
	const parts = new URLSearchParams(text.replace(/^#/, ''));
	const view = emptyView();
	view.session = matchOf(parts.get('session'), /^\d{1,16}$/)?.[0] ?? null;
	view.stream = parts.get('stream') || null;
	view.frame = frameOf(parts.get('frame'));
	const range = matchOf(parts.get('range'), /^(\d{1,15})-(\d{1,15})$/);
	if (range && Number(range[1]) > 0 && Number(range[1]) <= Number(range[2]))
		view.range = { first: Number(range[1]), last: Number(range[2]) };
	const zoom = matchOf(parts.get('zoom'), /^(-?\d{1,15})\.\.(-?\d{1,15})$/);
	if (zoom && Number(zoom[1]) < Number(zoom[2]))
		view.zoom = { t0: Number(zoom[1]), t1: Number(zoom[2]) };
	view.tab = matchOf(parts.get('tab'), /^[a-z]{1,16}$/)?.[0] ?? null;
	for (const [name, value] of parts) {
		if (SETTING.test(name) && value.length <= SETTING_LENGTH)
			view.settings[name] = value;
	}
	return view;
}

/**
 * The stream to show: the one asked for, else the main one, else the first of a session that has no main one.
 * @param {ViewState} view @param {{streams?: string[]}|null} session @returns {string|null} null: main
 */
export function streamOf(view, session) {
	const streams = session?.streams ?? [];
	if (view.stream !== null || streams.includes('main'))
		return view.stream;
	return streams[0] ?? null;
}

/** @param {string|null} text @param {RegExp} pattern */
function matchOf(text, pattern) {
	return text === null ? null : pattern.exec(text);
}

/** @param {string|null} text */
function frameOf(text) {
	const match = matchOf(text, /^\d{1,15}$/);
	return match && Number(match[0]) > 0 ? Number(match[0]) : null;
}
