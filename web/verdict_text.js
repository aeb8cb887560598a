// SPDX-License-Identifier: MIT
// The parts of a verdict as the page stacks them. Pure: no DOM.

import { HOLDERS } from './palette.js';

/** Which holder a part of the API belongs to. @type {Map<string, number>} */
const PLACE = new Map(HOLDERS.flatMap(({ parts }, at) => parts.map((part) => /** @type {[string, number]} */ ([part, at]))));

/** @param {{part: string, ns: number}[]} parts @returns {number[]} ns by HOLDERS; a part that is not known counts as unknown */
export function heldBy(parts) {
	const stack = new Array(HOLDERS.length).fill(0);
	for (const { part, ns } of parts)
		stack[PLACE.get(part) ?? HOLDERS.length - 1] += ns;
	return stack;
}

/**
 * Frames whose events are gone have nothing to be judged by: what is left of them is in their rows.
 * @param {{frame: number, events: string, parts: {part: string, ns: number}[]}[]} frames of a verdict @returns {Map<number, number[]>}
 */
export const stacksOf = (frames) => new Map(frames.filter(({ events }) => events !== 'gone').map(({ frame, parts }) => [frame, heldBy(parts)]));
