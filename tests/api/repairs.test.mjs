// SPDX-License-Identifier: MIT
// What is wrong or doubtful in a recording is repaired, counted and said, once.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ROOT, World } from './world.mjs';

const ROUNDS = 5;
const world = new World();
let program;

before(async () => {
	program = await world.compile(path.join(ROOT, 'tests/api/repairs.c'));
	await world.startDaemon();
});
after(() => world.close());

async function played(env = {}) {
	const game = world.spawn(program, [], { env });
	const { code, text } = await game.done;
	assert.equal(code, 0, text);
	const session = await world.ended(game.pid);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=10`);
	return { session, frames };
}

test('unbalanced ends are counted, and reported once a marker with thread and open zones', async () => {
	const { session } = await played();
	assert.equal(session.losses.repaired.unbalanced_end, ROUNDS);
	assert.equal(session.losses.repaired.stray_end, ROUNDS);
	const lines = world.daemon.text.split('\n').filter((line) => line.includes(`session ${session.id}, `));
	assert.equal(lines.length, 2, lines.join('\n'));
	const who = `session ${session.id}, thread "crooked" \\(tid \\d+\\): `;
	assert.match(lines[0], new RegExp(`${who}an end that leaves inner zones open of zone "outer"; open there: "outer" > "inner"$`));
	assert.match(lines[1], new RegExp(`${who}an end without a begin of zone "inner"; open there: nothing$`));
});

test('a counter is null before its first value', async () => {
	const { session } = await played();
	const values = [];
	for (const n of [1, 2, 3, 4]) {
		const { counters } = await world.api(`/sessions/${session.id}/frames/${n}`);
		values.push(Object.fromEntries(counters.map((one) => [one.name, one.value])));
	}
	assert.deepEqual(values, [{ early: 1, late: null }, { early: 2, late: null }, { early: 3, late: 30 }, { early: 4, late: 40 }]);
});

test('a clock that is not invariant marks every frame that rests on it', async () => {
	const doubtful = await played({ FPROF_CLOCK: 'monotonic' });
	assert.equal(doubtful.session.clock.kind, 'monotonic');
	assert.equal(doubtful.frames.length, 4);
	assert.ok(doubtful.frames.every((one) => one.flags.includes('clock_doubtful')));
	const plain = await played();
	const invariant = plain.session.clock.kind !== 'monotonic';
	assert.ok(plain.frames.every((one) => one.flags.includes('clock_doubtful') === !invariant));
});
