// SPDX-License-Identifier: MIT
// Why a spike was kept, in words. Pure: no DOM.

import { bytes, count, plural, words } from './format.js';

/** @param {any} spike */
export function spikeTitle(spike) {
	const crash = spike.kind === 'crash';
	const game = spike.reason?.game ?? spike.name ?? 'a game';
	const label = words(spike.reason?.label ?? spike.name ?? '');
	return { crash, title: crash ? `${game}: ${label}` : `${game}, frame ${count(spike.reason?.frame)}: ${label}` };
}

/** @param {any} spike */
export function stateText(spike) {
	if (spike.state === 'open')
		return 'Still open: its after-frames, or its GPU results, are to come.';
	if (spike.state === 'failed')
		return `Could not be saved: ${spike.why ?? 'no reason given'}`;
	const { first, last } = spike.frames;
	const when = spike.created_utc ? `, ${spike.created_utc.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}` : '';
	const { worst } = spike.reason ?? {};
	const longest = worst ? `, the longest ${count(worst.frame)}: ${worst.wall_ms.toFixed(2)} ms` : '';
	return `Frames ${count(first)} to ${count(last)}${longest}, ${bytes(spike.bytes)}${when}`;
}

/** A line for each firing: the value, the bound, the median. @param {any} spike @returns {string[]} */
export function firedText(spike) {
	const fired = spike.reason?.fired ?? [];
	const lines = fired.map((/** @type {any} */ one) => {
		const value = valueText(one, 'value');
		const bound = valueText(one, 'threshold');
		const median = valueText(one, 'median');
		return `Frame ${count(one.frame)}: ${[value, bound && `bound ${bound}`, median && `running median ${median}`].filter(Boolean).join(', ') || words(one.trigger?.label ?? '')}`
			+ `${one.suppressed_before ? `; ${plural(one.suppressed_before, 'firing')} before it fell into the cool-down` : ''}`;
	});
	const more = spike.reason?.more;
	return more ? [...lines, `and ${plural(more, 'firing')} more`] : lines;
}

/** A member with or without its unit. @param {any} one @param {string} name */
function valueText(one, name) {
	const ms = one[`${name}_ms`];
	if (ms !== undefined && ms !== null)
		return `${ms.toFixed(2)} ms`;
	const plain = one[name];
	return plain === undefined || plain === null ? '' : String(plain);
}
