// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { StripMarks } from '../../web/strip_marks.js';

/** A daemon with sessions that count nothing; their frames have allocated what `told` says of them. */
function daemon(told) {
	const asked = [];
	globalThis.fetch = async (path) => {
		const [, id, what, query] = /\/sessions\/(\d+)\/(\w+)\??(.*)/.exec(path) ?? [];
		const parts = new URLSearchParams(query);
		const [from, to] = [Number(parts.get('from')), Number(parts.get('to'))];
		if (what === 'stats')
			asked.push([Number(id), from, to]);
		return Response.json(what === 'counters' ? { session: Number(id), modules: [] }
			: what === 'stats' ? { session: Number(id), range: { from, to }, metrics: [{ values: told[id].filter(([frame]) => frame >= from && frame <= to) }] }
				: { spikes: [] });
	};
	return asked;
}

const model = (id, state) => ({
	session: { id, state }, stream: null, spikesSeen: 0, shown: { first: 1, last: 700 }, window: () => ({ first: 101, last: 700 }),
});

/** Follows until this is so. */
async function until(marks, what) {
	while (!what()) {
		marks.follow();
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

test('what frames allocated is marked, of a live game once it is known to be tracked', async () => {
	const asked = daemon({ 3: [[120, 5], [690, 7]], 4: [] });
	const live = new StripMarks(model(3, 'live'), () => {});
	await until(live, () => live.allocations.size === 2);
	assert.deepEqual(asked, [[3, 640, 700], [3, 101, 700]]);
	assert.deepEqual([...live.allocations], [[120, 5], [690, 7]]);
	assert.equal(live.lane, true);
	assert.deepEqual(live.tell(690), ['7 allocations']);
});

test('an answer about another session marks nothing', async () => {
	const asked = daemon({ 3: [[120, 5]], 4: [] });
	const marks = new StripMarks(model(3, 'ended'), () => {});
	await until(marks, () => marks.allocations.size === 1);
	marks.model = model(4, 'ended');
	marks.follow();
	assert.equal(marks.lane, false);
	await until(marks, () => marks.tracked.answer.session === 4);
	assert.deepEqual(asked, [[3, 101, 700], [4, 101, 700]]);
	assert.equal(marks.lane, false);
});
