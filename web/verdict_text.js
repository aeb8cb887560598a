// SPDX-License-Identifier: MIT
// The parts of a verdict as the page stacks them. Pure: no DOM.

import { milliseconds, percent } from './format.js';
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

/** @param {{frame: number, parts: {part: string, ns: number}[]}[]} frames of a verdict @returns {Map<number, number[]>} */
export const stacksOf = (frames) => new Map(frames.map(({ frame, parts }) => [frame, heldBy(parts)]));

/** Of the wall time: what is less is not worth a word. */
const WORTH = 0.01;

/**
 * Where the kernel and the game's zones tell different things. Running within a wait zone is the one; waiting, where no
 * wait zone says so, the other.
 * @param {{wall_ns: number, frames_judged: number, parts: {part: string, ns: number, evidence_ns: {kernel: number}}[]}} answer of the verdict
 */
export function disputeText({ wall_ns: wall, frames_judged: frames, parts }) {
	const spin = parts.find(({ part }) => part === 'spin')?.ns ?? 0;
	const silent = parts.filter(({ part }) => !['cpu', 'spin', 'runnable', 'unknown'].includes(part)).reduce((sum, { evidence_ns: { kernel } }) => sum + kernel, 0);
	/** @param {number} ns */
	const text = (ns) => `${milliseconds(ns / Math.max(1, frames))} (${percent((ns / wall) * 100)})`;
	const told = [
		...(spin > wall * WORTH ? [`${text(spin)} ran within wait zones`] : []),
		...(silent > wall * WORTH ? [`${text(silent)} waited outside of wait zones`] : []),
	];
	return told.length ? `Kernel and zones differ: ${told.join('; ')}.` : '';
}
