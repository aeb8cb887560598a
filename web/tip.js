// SPDX-License-Identifier: MIT
// The one tooltip: lines of text beside the pointer. The tables hold the same, for those without a pointer.

import { byId, element } from './dom.js';

/** @param {string[]} lines the first is the title @param {number} x client @param {number} y client */
export function showTip(lines, x, y) {
	const tip = byId('tip', HTMLElement);
	tip.replaceChildren(...lines.map((line, at) => element(at ? 'span' : 'strong', {}, line)));
	tip.hidden = false;
	const left = x + 16 + tip.offsetWidth > innerWidth ? x - tip.offsetWidth - 12 : x + 16;
	const top = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18;
	tip.style.left = `${Math.max(4, left)}px`;
	tip.style.top = `${Math.max(4, top)}px`;
}

export function hideTip() {
	byId('tip', HTMLElement).hidden = true;
}
