// SPDX-License-Identifier: MIT
// The parts of a verdict as the page stacks them. Pure: no DOM.

import { milliseconds, percent } from './format.js';
import { HOLDERS } from './palette.js';

/** Which holder a part of the API belongs to. @type {Map<string, number>} */
const PLACE = new Map(HOLDERS.flatMap(({ parts }, at) => parts.map((part) => /** @type {[string, number]} */ ([part, at]))));

/** @typedef {{bound_by: string, parts: {part: string, ns: number}[]}} Judged a frame, or frames, of a verdict */

/** What a present waited for is the verdict's to say: where it says none of these, it stays a wait in the present. */
const BEHIND_PRESENT = ['gpu', 'display', 'cap'];

/** @param {Judged} judged @returns {number[]} ns by HOLDERS; a part that is not known counts as unknown */
export function heldBy({ bound_by: bound, parts }) {
	const stack = new Array(HOLDERS.length).fill(0);
	for (const { part, ns } of parts) {
		const at = part === 'present' && BEHIND_PRESENT.includes(bound) ? HOLDERS.findIndex(({ key }) => key === bound) : PLACE.get(part);
		stack[at ?? HOLDERS.length - 1] += ns;
	}
	return stack;
}

/** @param {(Judged & {frame: number})[]} frames of a verdict @returns {Map<number, number[]>} */
export const stacksOf = (frames) => new Map(frames.map((one) => [one.frame, heldBy(one)]));

/** The same of all frames that were judged; one by one where each is there, as a present may have waited for other things. @param {Judged & {frames_judged: number, frames: any[]}} answer */
export function heldTogether(answer) {
	const counted = answer.frames.filter(({ counted }) => counted);
	if (counted.length < Math.max(1, answer.frames_judged))
		return heldBy(answer);
	return counted.map(heldBy).reduce((sum, stack) => sum.map((ns, at) => ns + stack[at]));
}

/** Of the wall time: what is less is not worth a word. */
const WORTH = 0.01;

/**
 * Where the kernel and the game's zones tell different things: running within a wait zone, waiting in one for what is none
 * of its waits, and waiting where no wait zone says so.
 * @param {{wall_ns: number, frames_judged: number, parts: {part: string, ns: number, evidence_ns: {kernel: number, denied: number}}[]}} answer of the verdict
 */
export function disputeText({ wall_ns: wall, frames_judged: frames, parts }) {
	const spin = parts.find(({ part }) => part === 'spin')?.ns ?? 0;
	const silent = parts.filter(({ part }) => !['cpu', 'spin', 'runnable', 'unknown'].includes(part)).reduce((sum, { evidence_ns: { kernel } }) => sum + kernel, 0);
	const denied = parts.reduce((sum, { evidence_ns }) => sum + evidence_ns.denied, 0);
	/** @param {number} ns */
	const text = (ns) => `${milliseconds(ns / Math.max(1, frames))} (${percent((ns / wall) * 100)})`;
	const told = [
		...(spin > wall * WORTH ? [`${text(spin)} ran within wait zones`] : []),
		...(denied > wall * WORTH ? [`${text(denied)} waited within wait zones for something else`] : []),
		...(silent > wall * WORTH ? [`${text(silent)} waited outside of wait zones`] : []),
	];
	return told.length ? `Kernel and zones differ: ${told.join('; ')}.` : '';
}
