// SPDX-License-Identifier: MIT
// What the compare panel says of numbers. Pure: no DOM.

import { count, duration, plural } from './format.js';

/** What is selected as a side of a comparison; null: nothing is. @param {{session: string, from: number, to: number}|null} scope */
export const sideOf = (scope) => (scope ? `${scope.session}:${scope.from}-${scope.to}` : null);

/** The difference with its sign, and its share of A. @param {{a_ns: number|null, delta_ns: number|null}} row */
export function deltaText({ a_ns: a, delta_ns: delta }) {
	if (delta === null || delta === undefined)
		return '–';
	const sign = delta > 0 ? '+' : '';
	const share = a ? ` (${sign}${((delta / a) * 100).toFixed(1)} %)` : '';
	return `${sign}${duration(delta)}${share}`;
}

/** @param {{low: number, high: number}|null|undefined} interval */
export function intervalText(interval) {
	if (!interval)
		return 'too few frames';
	return `${interval.low > 0 ? '+' : ''}${duration(interval.low)} to ${interval.high > 0 ? '+' : ''}${duration(interval.high)}`;
}

/** What the interval of a part says. @param {{moved: boolean, delta_ns: number|null, interval_ns: object|null}} row */
export function budgetRow({ moved, delta_ns: delta, interval_ns: interval }) {
	if (!interval || delta === null)
		return '? cannot be told';
	return moved ? (delta > 0 ? '▲ B takes more' : '▼ B takes less') : '= no difference beyond chance';
}

/**
 * Two spreads over the same bins, in percent of their frames, from 0 to the larger 99.5th percentile; the last bin takes
 * what is above.
 * @param {number[]} a @param {number[]} b ns @param {number} bins
 * @returns {[number, number, number][]} upper end of the bin in ns, A, B
 */
export function overlay(a, b, bins) {
	const top = Math.max(high(a), high(b));
	if (top <= 0)
		return [];
	/** @type {[number, number, number][]} */
	const made = Array.from({ length: bins }, (_, at) => [(top * (at + 1)) / bins, 0, 0]);
	[a, b].forEach((values, side) => {
		for (const value of values)
			made[Math.min(bins - 1, Math.max(0, Math.ceil((value / top) * bins) - 1))][side + 1] += 100 / values.length;
	});
	return made;
}

/** What a plot in steps takes: each bin from its lower end on, and where the last one ends. @param {[number, number, number][]} bins @returns {number[][]} ms, A, B */
export function stepsOf(bins) {
	const ends = [0, ...bins.map(([end]) => end / 1e6)];
	return [ends, ...[1, 2].map((side) => [...bins.map((bin) => bin[side]), bins.at(-1)?.[side] ?? 0])];
}

/** @param {number[]} values */
function high(values) {
	const sorted = [...values].sort((x, y) => x - y);
	return sorted.length ? sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.995) - 1)] : 0;
}

/** What makes the comparison doubtful. @param {any} answer of the diff @returns {string[]} */
export function warningsOf(answer) {
	const differs = answer.warnings.map((/** @type {any} */ one) => `The ${one.differs} differs: ${one.a ?? 'unknown'} in A, ${one.other ?? 'unknown'} in ${one.run}.`);
	const lost = (answer.lost ?? []).map((/** @type {any} */ one) => {
		const parts = [
			one.events && plural(one.events, 'event'),
			one.missing_frames && plural(one.missing_frames, 'frame'),
			one.frames_without_events && `the events of ${plural(one.frames_without_events, 'frame')}`,
			one.frames_that_stand_for_several && `${count(one.frames_that_stand_for_several)} frames stand for several`,
		].filter(Boolean);
		return `Side ${one.side.toUpperCase()}, ${one.run}: lost or gone are ${parts.join(', ') || `events in ${plural(one.frames_with_lost_events, 'frame')}`}.`;
	});
	return [...differs, ...lost];
}
