// SPDX-License-Identifier: MIT
// Numbers and states as the page prints them. Pure: no DOM. null means "could not be measured" and is
// printed as such, never as 0.

export const UNKNOWN = 'unknown';

/** @param {number} value @param {number} digits */
function fixed(value, digits) {
	return value.toFixed(digits);
}

/**
 * A duration with three or four significant digits and a unit.
 * @param {number|null|undefined} ns
 */
export function duration(ns) {
	if (ns === null || ns === undefined || Number.isNaN(ns))
		return UNKNOWN;
	const size = Math.abs(ns);
	if (size < 999.5)
		return `${Math.round(ns)} ns`;
	const [value, unit] = size < 999_500 ? [ns / 1e3, 'µs']
		: size < 999_500_000 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
	const big = Math.abs(value);
	return `${fixed(value, big < 9.995 ? 2 : big < 99.95 ? 1 : 0)} ${unit}`;
}

/**
 * A time on an axis with ticks a step apart: as many decimals as tell two ticks apart.
 * @param {number} ns @param {number} step ns
 */
export function tickLabel(ns, step) {
	const size = Math.max(Math.abs(ns), step);
	const [unit, name] = size >= 1e9 ? [1e9, 's'] : size >= 1e6 ? [1e6, 'ms'] : size >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
	const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
	return Math.abs(ns) < step / 2 ? '0' : `${fixed(ns / unit, digits)} ${name}`;
}

/**
 * Milliseconds with two decimals, for columns of numbers that are compared with each other.
 * @param {number|null|undefined} ns
 */
export function milliseconds(ns) {
	if (ns === null || ns === undefined || Number.isNaN(ns))
		return UNKNOWN;
	return `${grouped(ns / 1e6, 2)} ms`;
}

/** @param {number} value @param {number} digits */
function grouped(value, digits) {
	const [whole, part] = fixed(value, digits).split('.');
	const spaced = whole.replace(/\B(?=(\d{3})+$)/g, ',');
	return part === undefined ? spaced : `${spaced}.${part}`;
}

/** @param {number|null|undefined} n */
export function count(n) {
	return n === null || n === undefined || Number.isNaN(n) ? UNKNOWN : grouped(n, 0);
}

/** "12", or "12 of 40" of a list that is cut. @param {number} shown @param {number} all */
export const nOfM = (shown, all) => (shown < all ? `${count(shown)} of ${count(all)}` : count(all));

/** "1 frame", "2 frames". @param {number} n @param {string} noun */
export function plural(n, noun) {
	return `${count(n)} ${noun}${n === 1 ? '' : 's'}`;
}

/** @param {number|null|undefined} n */
export function bytes(n) {
	if (n === null || n === undefined)
		return UNKNOWN;
	if (n < 1024)
		return `${n} B`;
	const units = ['KiB', 'MiB', 'GiB', 'TiB'];
	let value = n / 1024;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit++;
	}
	return `${fixed(value, value < 9.95 ? 1 : 0)} ${units[unit]}`;
}

/** @param {number|null|undefined} value already in percent */
export function percent(value) {
	return value === null || value === undefined ? UNKNOWN : `${fixed(value, 1)} %`;
}

/** snake_case of the API as words. @param {string} key */
export function words(key) {
	return key.replaceAll('_', ' ');
}

/**
 * A counter's value in its unit.
 * @param {number|null|undefined} value @param {string|null|undefined} unit
 */
export function quantity(value, unit) {
	if (value === null || value === undefined)
		return UNKNOWN;
	if (unit === 'bytes')
		return bytes(value);
	if (unit === 'percent')
		return percent(value);
	const text = Number.isInteger(value) ? count(value) : grouped(value, Math.abs(value) < 100 ? 3 : 1);
	return unit === 'ms' ? `${text} ms` : text;
}

/** How a session's state looks: always a glyph and a word. @param {string} state */
export function sessionState(state) {
	switch (state) {
	case 'live': return { glyph: '●', text: 'live' };
	case 'ended': return { glyph: '■', text: 'ended' };
	case 'crashed': return { glyph: '✖', text: 'crashed' };
	default: return { glyph: '?', text: String(state) };
	}
}

/** How a source's state looks. One that is off is meant to be: that is no trouble. @param {string} state */
export function sourceState(state) {
	switch (state) {
	case 'on': return { glyph: '●', text: 'on', mark: 'good' };
	case 'degraded': return { glyph: '▲', text: 'degraded', mark: 'warn' };
	case 'off': return { glyph: '○', text: 'off', mark: 'muted' };
	default: return { glyph: '✖', text: String(state), mark: 'warn' };
	}
}

/** "game.c:12" from what is known. @param {string|null|undefined} file @param {number|null|undefined} line */
export function place(file, line) {
	if (!file)
		return '';
	return line ? `${file}:${line}` : file;
}
