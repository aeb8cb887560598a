// SPDX-License-Identifier: MIT
// What is marked on the strip beside the frames themselves: budgets, spikes, allocations, collections. Pure: no DOM.

const USUAL_MS = [16.7, 33.3];
/** A frame above it is slow, where the user has no budget. */
export const BUDGET_MS = USUAL_MS[0];
const HIGHEST_MS = 60_000;

/** The user's own budget in ms; null: none, or no number. @param {string} text */
export function budgetOf(text) {
	const ms = Number(text);
	return text.trim() && ms > 0 && ms <= HIGHEST_MS ? ms : null;
}

/** The budget lines: the user's own first, then the usual ones that are not the same. @param {number|null} own ms */
export function budgetLines(own) {
	const usual = USUAL_MS.filter((ms) => own === null || Math.abs(ms - own) > 0.1);
	return [...(own === null ? [] : [{ ms: own, own: true }]), ...usual.map((ms) => ({ ms, own: false }))];
}

/**
 * The frames in which triggers fired, in a session or in the capture that was made of it.
 * @param {any[]} spikes of the API @param {number|undefined} session
 * @returns {Map<number, string[]>} what fired, by frame
 */
export function spikeFrames(spikes, session) {
	/** @type {Map<number, string[]>} */
	const made = new Map();
	for (const spike of spikes.filter((one) => one.session === session || one.id === session)) {
		for (const { frame, trigger } of spike.reason?.fired ?? [])
			made.set(frame, [...(made.get(frame) ?? []), trigger?.label ?? spike.reason.label]);
	}
	return made;
}

/**
 * The frames in which garbage was collected: `gc_collections` grew there, or `gc_pause` is above 0.
 * @param {{frame: number, value: number}[]} collections @param {{frame: number, value: number}[]} pauses
 * @returns {Set<number>}
 */
export function gcFrames(collections, pauses) {
	const grew = collections.filter(({ frame, value }, at) => at && collections[at - 1].frame === frame - 1 && value > collections[at - 1].value);
	return new Set([...grew, ...pauses.filter(({ value }) => value > 0)].map(({ frame }) => frame));
}

/**
 * How far the events of frames are gone: the first frame that has them.
 * @param {{retained?: {first: number}|null, frames_total?: number}|null} session
 */
export const keptFrom = (session) => session?.retained?.first ?? (session?.frames_total ? Infinity : 0);

/** The recording's end as the strip names it. @param {any} session */
export function headText(session) {
	if (!session)
		return '';
	if (session.state !== 'live')
		return session.state === 'crashed' ? '✖ crashed' : '■ end';
	return { recording: '● recording', frozen: '❄ frozen' }[/** @type {string} */ (session.recording_state)] ?? '■ stopped';
}
