// SPDX-License-Identifier: MIT
// Colours for the canvases. The style sheet is the one place where they are chosen (light, dark, forced colours); here they
// are read back, and zone names are given hues. One colour per concept: what held a frame looks
// the same on the strip, in legends and on wait zones.

/** What may hold a frame, bottom of the stack first. */
export const HOLDERS = /** @type {const} */ ([
	{ key: 'cpu', label: 'cpu', colour: '--hold-cpu', parts: ['cpu'] },
	{ key: 'gpu', label: 'gpu', colour: '--hold-gpu', parts: ['gpu'] },
	{ key: 'display', label: 'display', colour: '--hold-display', parts: [] },
	{ key: 'present', label: 'present', colour: '--hold-present', parts: ['present'] },
	{ key: 'cap', label: 'frame cap', colour: '--hold-cap', parts: ['cap'] },
	{ key: 'spin', label: 'spin', colour: '--hold-spin', parts: ['spin'] },
	{ key: 'scheduler', label: 'scheduler', colour: '--hold-scheduler', parts: ['runnable'] },
	{ key: 'lock', label: 'lock', colour: '--hold-lock', parts: ['lock'] },
	{ key: 'io', label: 'io', colour: '--hold-io', parts: ['io'] },
	{ key: 'memory', label: 'memory', colour: '--hold-memory', parts: ['memory'] },
	{ key: 'unknown', label: 'unknown', colour: '--hold-unknown', parts: ['other', 'unknown'] },
]);

const NAMES = ['text', 'muted', 'line', 'page', 'panel', 'bad', 'good', 'select', 'hold-cpu', 'hold-gpu', 'hold-display', 'hold-present',
	'hold-cap', 'hold-spin', 'hold-scheduler', 'hold-lock', 'hold-io', 'hold-memory', 'hold-unknown', 'plot', 'side-b', 'zone-text', 'sliver'];

/** @typedef {{[name: string]: string} & {forced: string, zoneLight: string}} Palette */

/** @type {Palette|null} */
let current = null;

/** The colours in force. @returns {Palette} */
export function palette() {
	if (current)
		return current;
	const style = getComputedStyle(document.documentElement);
	/** @type {any} */
	const made = {};
	for (const name of NAMES)
		made[name] = style.getPropertyValue(`--${name}`).trim();
	made.zoneLight = style.getPropertyValue('--zone-light').trim();
	made.forced = matchMedia('(forced-colors: active)').matches ? 'yes' : '';
	current = made;
	return made;
}

/** Calls `changed` when the colours did. @param {() => void} changed @returns {() => void} ends that */
export function watchPalette(changed) {
	const watch = new AbortController();
	for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)', '(prefers-contrast: more)']) {
		matchMedia(query).addEventListener('change', () => {
			current = null;
			zoneColours.clear();
			changed();
		}, { signal: watch.signal });
	}
	return () => watch.abort();
}

/** @type {Map<string, string>} */
const zoneColours = new Map();

/** The fill of a zone. @param {string} name @param {string|null|undefined} wait what it waits for */
export function zoneColour(name, wait) {
	const colours = palette();
	if (colours.forced)
		return colours.page;
	if (wait && `hold-${wait}` in colours)
		return colours[`hold-${wait}`];
	let found = zoneColours.get(name);
	if (found === undefined) {
		found = `hsl(${hueOf(name)} ${colours.zoneLight})`;
		zoneColours.set(name, found);
	}
	return found;
}

/** FNV-1a over the name, spread over the circle. @param {string} name */
export function hueOf(name) {
	let hash = 0x811c9dc5;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193) >>> 0;
	return (hash * 137) % 360;
}

/** Diagonal lines over a box: something is missing here. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} width @param {number} height @param {string} colour */
export function hatch(context, x, y, width, height, colour) {
	context.save();
	context.beginPath();
	context.rect(x, y, width, height);
	context.clip();
	context.strokeStyle = colour;
	context.lineWidth = 1;
	context.beginPath();
	for (let at = Math.floor((x - height) / 5) * 5; at < x + width; at += 5) {
		context.moveTo(at, y + height);
		context.lineTo(at + height, y);
	}
	context.stroke();
	context.restore();
}
