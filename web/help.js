// SPDX-License-Identifier: MIT
// The help dialog, made from the key table.

import { element } from './dom.js';
import { KEYS } from './keys.js';

/** @param {HTMLElement} at */
export function fillHelp(at) {
	const groups = [...new Set(KEYS.map((key) => key.group))];
	for (const group of groups) {
		const rows = KEYS.filter((key) => key.group === group).map((key) => element('tr', {},
			element('td', { class: 'keys' }, ...key.shown.flatMap((name, at) => [...(at ? [' + '] : []), element('kbd', {}, name)])),
			element('td', {}, key.text)));
		at.append(element('h3', {}, group), element('table', {},
			element('thead', { class: 'hidden-text' }, element('tr', {}, element('th', { scope: 'col' }, 'Key'), element('th', { scope: 'col' }, 'What it does'))),
			element('tbody', {}, ...rows)));
	}
	at.append(element('p', { class: 'note' }, 'Letters are found by their place on a US keyboard. No key is a command while you type in a field.'));
}
