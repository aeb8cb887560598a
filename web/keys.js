// SPDX-License-Identifier: MIT
// The key table: the one list from which both the handler and the help dialog are made. Letters are found by their place
// on the keyboard (code), signs by what they print (key).

import { TABS } from './view.js';

/**
 * @typedef {object} Key
 * @property {string} id the action
 * @property {string[]} shown how the help names the keys
 * @property {string} text what it does
 * @property {string} group
 * @property {string[]} [codes] KeyboardEvent.code, with Shift+ before it where that is meant
 * @property {string[]} [keys] KeyboardEvent.key
 * @property {'strip'} [on] only while this has the focus
 * @property {boolean} [mouse] described only: whoever is pressed or clicked handles it
 */

/** @type {Key[]} */
export const KEYS = [
	{ id: 'previous', shown: ['['], keys: ['['], text: 'Select the frame before', group: 'Frames' },
	{ id: 'next', shown: [']'], keys: [']'], text: 'Select the frame after', group: 'Frames' },
	{ id: 'previous', shown: ['←'], keys: ['ArrowLeft'], on: 'strip', text: 'The frame before, on the strip', group: 'Frames' },
	{ id: 'next', shown: ['→'], keys: ['ArrowRight'], on: 'strip', text: 'The frame after, on the strip', group: 'Frames' },
	{ id: 'first', shown: ['Home'], keys: ['Home'], on: 'strip', text: 'The first frame shown', group: 'Frames' },
	{ id: 'last', shown: ['End'], keys: ['End'], on: 'strip', text: 'The last frame shown', group: 'Frames' },
	{ id: 'older', shown: ['Page Up'], keys: ['PageUp'], on: 'strip', text: 'Older frames (holds the strip)', group: 'Frames' },
	{ id: 'newer', shown: ['Page Down'], keys: ['PageDown'], on: 'strip', text: 'Newer frames', group: 'Frames' },
	{ id: 'extendLeft', shown: ['Shift', '←'], keys: ['Shift+ArrowLeft'], on: 'strip', text: 'Widen the range to the left', group: 'Frames' },
	{ id: 'extendRight', shown: ['Shift', '→'], keys: ['Shift+ArrowRight'], on: 'strip', text: 'Widen the range to the right', group: 'Frames' },
	{ id: 'extendFarLeft', shown: ['Shift', 'Page Up'], keys: ['Shift+PageUp'], on: 'strip', text: 'Widen the range by 50 frames to the left', group: 'Frames' },
	{ id: 'extendFarRight', shown: ['Shift', 'Page Down'], keys: ['Shift+PageDown'], on: 'strip', text: 'Widen the range by 50 frames to the right', group: 'Frames' },
	{ id: 'extendFirst', shown: ['Shift', 'Home'], keys: ['Shift+Home'], on: 'strip', text: 'Widen the range to the first frame shown', group: 'Frames' },
	{ id: 'extendLast', shown: ['Shift', 'End'], keys: ['Shift+End'], on: 'strip', text: 'Widen the range to the last frame shown', group: 'Frames' },
	{ id: 'slowest', shown: ['X'], codes: ['KeyX'], text: 'Select the slowest frame of the range, or else of the strip', group: 'Frames' },
	{ id: 'slowestKept', shown: ['Shift', 'X'], codes: ['Shift+KeyX'], text: 'Select the slowest frame that is kept at all', group: 'Frames' },
	{ id: 'hold', shown: ['Space'], codes: ['Space'], text: 'Hold this page\'s strip, or follow the newest again; recording goes on', group: 'Frames' },
	{ id: 'budget', shown: ['B'], codes: ['KeyB'], text: 'Your own budget of a frame, in ms: a line on the strip, and what counts as slow', group: 'Frames' },
	{ id: 'clear', shown: ['Esc'], keys: ['Escape'], text: 'Stop measuring, then clear the selected range, then the frame', group: 'Frames' },
	{ id: 'mouse', shown: ['Click'], mouse: true, text: 'Select a frame; with Shift, or by dragging, a range', group: 'Frames' },
	{ id: 'zoomIn', shown: ['W'], codes: ['KeyW'], text: 'Zoom in', group: 'Timeline' },
	{ id: 'zoomOut', shown: ['S'], codes: ['KeyS'], text: 'Zoom out', group: 'Timeline' },
	{ id: 'panLeft', shown: ['A'], codes: ['KeyA'], text: 'Move left', group: 'Timeline' },
	{ id: 'panRight', shown: ['D'], codes: ['KeyD'], text: 'Move right', group: 'Timeline' },
	{ id: 'fit', shown: ['F'], codes: ['KeyF'], text: 'Show the whole frame or range', group: 'Timeline' },
	{ id: 'measure', shown: ['M'], codes: ['KeyM'], text: 'Measure what is in view, or stop measuring', group: 'Timeline' },
	{ id: 'search', shown: ['/'], keys: ['/'], text: 'Search zones; Enter and Shift+Enter go to the next and the one before', group: 'Timeline' },
	{ id: 'findNext', shown: ['N'], codes: ['KeyN'], text: 'The next zone that was found', group: 'Timeline' },
	{ id: 'findPrevious', shown: ['Shift', 'N'], codes: ['Shift+KeyN'], text: 'The one before', group: 'Timeline' },
	{ id: 'mouse', shown: ['Ctrl', 'Wheel'], mouse: true, text: 'Zoom at the pointer', group: 'Timeline' },
	{ id: 'mouse', shown: ['Drag'], mouse: true, text: 'Measure a stretch, and add up its zones', group: 'Timeline' },
	{ id: 'mouse', shown: ['Shift', 'Drag'], mouse: true, text: 'Move; so does dragging with the middle button, and Shift with the wheel', group: 'Timeline' },
	{ id: 'mouse', shown: ['Double-click'], mouse: true, text: 'Zoom to a zone; on the numbers of frames to a frame', group: 'Timeline' },
	{ id: 'mouse', shown: ['Click'], mouse: true, text: 'On a track\'s name: fold it; with Shift keep it at the top', group: 'Timeline' },
	{ id: 'mouse', shown: ['Click'], mouse: true, text: 'On a wait in the band under a name: go to the thread that ended it', group: 'Timeline' },
	...TABS.map(({ name, text }, at) => ({ id: `open:${name}`, shown: [String(at + 1)], codes: [`Digit${at + 1}`], text, group: 'Panels' })),
	{ id: 'mouse', shown: ['Click'], mouse: true, text: 'Flame: go into a box; on the one that fills the width go out again', group: 'In panels' },
	{ id: 'mouse', shown: ['Double-click'], mouse: true, text: 'Flame: who calls a zone, and what it calls. In time order the timeline shows it', group: 'In panels' },
	{ id: 'mouse', shown: ['Click'], mouse: true, text: 'Zones: on a name, its time in each frame; on a header, the order', group: 'In panels' },
	{ id: 'mouse', shown: ['Double-click'], mouse: true, text: 'Zones: on a row, where it is in the source', group: 'In panels' },
	{ id: 'run', shown: ['Ctrl', 'Enter'], mouse: true, text: 'SQL: run the statement', group: 'In panels' },
	{ id: 'help', shown: ['?'], keys: ['?'], text: 'This list', group: 'Page' },
];

/**
 * The action that a key press asks for, or null.
 * @param {{key: string, code: string, ctrlKey: boolean, altKey: boolean, metaKey: boolean, shiftKey: boolean}} event
 * @param {string|null} focus what has the focus: 'strip', or something else
 */
export function actionOf(event, focus) {
	// AltGr (ctrl and alt together) types the brackets on many keyboards.
	const altGr = event.ctrlKey && event.altKey;
	if (event.metaKey || (!altGr && (event.ctrlKey || event.altKey)))
		return null;
	const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
	const code = event.shiftKey ? `Shift+${event.code}` : event.code;
	for (const key of KEYS) {
		if (key.mouse || (key.on && key.on !== focus))
			continue;
		if (key.keys?.includes(name) || (!altGr && key.codes?.includes(code)))
			return key.id;
	}
	return null;
}

/** Is the user typing? Then no single key is a command. @param {EventTarget|null} target */
export function isTyping(target) {
	const element = /** @type {any} */ (target);
	const tag = element?.tagName;
	return tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT' || element?.isContentEditable === true;
}

/** Does a key press belong to what has the focus (Space on a button)? @param {EventTarget|null} target @param {string} code */
export function isPressing(target, code) {
	const tag = /** @type {any} */ (target)?.tagName;
	return (code === 'Space' || code === 'Enter') && (tag === 'BUTTON' || tag === 'SUMMARY' || tag === 'A');
}
