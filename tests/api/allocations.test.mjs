// SPDX-License-Identifier: MIT
// What zones allocate: malloc's through the preloaded library, a game's own allocator through fprof_alloc().

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World, until } from './world.mjs';

const FRAMES = 100;
const world = new World();
const preload = process.env.FPROF_SANITIZED ? 'a sanitized program has an allocator of its own' : false;
let program;

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/allocates.c'));
});
after(() => world.close());

async function played(env, frames = FRAMES) {
	const game = world.spawn(program, [`${frames}`], { env });
	const { code, text } = await game.done;
	assert.equal(code, 0, text);
	return world.ended(game.pid);
}

/** An answer about the frames after the first. */
async function asked(session, what, query, frames = FRAMES) {
	const answer = await world.get(`/api/v1/sessions/${session.id}/${what}?${query}&from=2&to=${frames}`);
	assert.deepEqual(answerProblems(`/api/v1/sessions/{id}/${what}`, answer), []);
	return JSON.parse(answer.text);
}

/** The rows of a table of one game's zones. */
const rows = async (session, view, frames) => (await asked(session, 'zones', `view=${view}`, frames)).zones;
const byFrame = async (session, frames) => (await asked(session, 'stats', 'metric=allocations&values=yes', frames)).metrics[0];

const only = (all, name) => all.find((one) => (one.name ?? one.path?.at(-1)) === name);
const sums = (row) => [row.alloc_bytes, row.alloc_count, row.self_alloc_bytes, row.self_alloc_count];

test('without tracking nobody knows', async () => {
	const session = await played({}, 20);
	assert.deepEqual(sums(only(await rows(session, 'flat', 20), 'update')), [null, null, null, null]);
	const { frames, unknown, values } = await byFrame(session, 20);
	assert.deepEqual([frames, unknown, values], [0, 19, []]);
});

test('fprof_alloc goes to the innermost zone', async () => {
	const n = FRAMES - 1;
	const session = await played({ FPROF_ALLOC: '1' });
	for (const view of ['flat', 'tree']) {
		const all = await rows(session, view);
		assert.deepEqual(sums(only(all, 'update')), [1000 * n, n, 1000 * n, n]);
		assert.deepEqual(sums(only(all, 'frame')), [1000 * n, n, 0, 0]);
		assert.deepEqual(sums(only(all, 'draw')), [0, 0, 0, 0]);
	}
	const { unit, unknown, values } = await byFrame(session);
	assert.deepEqual([unit, unknown], ['count', 0]);
	assert.deepEqual(values, Array.from({ length: n }, (_, at) => [at + 2, 1]));
});

test('malloc is counted by the preloaded library', { skip: preload }, async () => {
	const n = FRAMES - 1;
	const all = await rows(await played({ FPROF_ALLOC: '1', LD_PRELOAD: path.join(BUILD, 'libfprof-alloc.so') }), 'tree');
	assert.deepEqual(sums(only(all, 'ai')), [100 * n, 2 * n, 100 * n, 2 * n]);
	assert.deepEqual(sums(only(all, 'update')), [1400 * n, 6 * n, 1300 * n, 4 * n]);
	assert.deepEqual(sums(only(all, 'frame')), [1400 * n, 6 * n, 0, 0]);
});

test('fprof run --alloc does both', { skip: preload }, async () => {
	const game = world.spawn(path.join(BUILD, 'fprof'), ['run', '--alloc', '--', program, '30']);
	assert.equal((await game.done).code, 0);
	const session = await world.ended(game.pid);
	const { zones } = await world.api(`/sessions/${session.id}/zones?view=flat&from=2&to=30`);
	assert.deepEqual(sums(only(zones, 'update')), [1400 * 29, 6 * 29, 1300 * 29, 4 * 29]);
});

test('tracking is switched on and off while the game runs', async () => {
	const game = world.spawn(program, ['400']);
	await until('the game is there', async () => {
		const answer = await world.get('/api/v1/sessions/current');
		return answer.status === 200 && JSON.parse(answer.text).pid === game.pid && JSON.parse(answer.text).frames_total > 5;
	});
	const put = async (tracked) => world.request('PUT', '/api/v1/sessions/current/recording',
		{ body: JSON.stringify({ allocations: tracked }), headers: { 'content-type': 'application/json' } });
	const on = await put(true);
	assert.deepEqual([on.status, JSON.parse(on.text).allocations, JSON.parse(on.text).state], [200, true, 'recording']);
	await until('allocations are told of', async () => {
		const { zones } = await world.api('/sessions/current/zones?view=flat&last=5&frames=all');
		return only(zones, 'update')?.alloc_bytes > 0;
	});
	assert.equal((await put('yes')).status, 400);
	const off = await put(false);
	assert.equal(JSON.parse(off.text).allocations, false);
	await until('they are not any more', async () => {
		const { zones } = await world.api('/sessions/current/zones?view=flat&last=2&frames=all');
		return only(zones, 'update') && only(zones, 'update').alloc_bytes === null;
	});
	game.kill('SIGTERM');
	await game.done;
});
