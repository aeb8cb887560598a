// SPDX-License-Identifier: MIT
// What the actions send. Pure but for reading the head of a file.

/** The trigger that this page sets: frames above so many ms. @param {any[]} triggers in force */
export const triggerOf = (triggers) => triggers.find((one) => one.on === 'frame' && typeof one.above_ms === 'number') ?? null;

/** The triggers with that one set; all others stay. @param {any[]} triggers in force @param {number} above ms @param {boolean} freeze */
export function frameTrigger(triggers, above, freeze) {
	const old = triggerOf(triggers);
	const others = triggers.filter((one) => one !== old);
	return [{ on: 'frame', above_ms: above, freeze }, ...others];
}

const FORMATS = [['chrome', 'Chrome trace JSON'], ['speedscope', 'speedscope'], ['folded', 'folded stacks'], ['vprof', 'VProf']];

/** @param {any|null} session @param {{first: number, last: number}|null} range @param {string|null} stream */
export function exportLinks(session, range, stream) {
	if (!session)
		return [];
	return FORMATS.map(([format, label]) => {
		const parts = new URLSearchParams({ format, ...(range ? { from: String(range.first), to: String(range.last) } : {}), ...(stream === null ? {} : { stream }) });
		return { href: `/api/v1/sessions/${session.id}/export?${parts}`, label };
	});
}

/** Where a file is sent: a capture is an SQLite file, anything else is for the importer. @param {Blob & {name: string}} file */
export async function fileRoute(file) {
	const head = await file.slice(0, 15).text();
	return head === 'SQLite format 3' ? '/captures/upload' : `/import?name=${encodeURIComponent(file.name.replace(/\.[^.]*$/, '').slice(0, 60) || 'import')}`;
}
