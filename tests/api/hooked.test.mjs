// SPDX-License-Identifier: MIT
// Games under `fprof run` that mark frames themselves: theirs are the frames, the hook's marks are counted and void, whether
// the game has the library of the hook (linked dynamically) or one of its own (linked statically).

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { BUILD, ROOT, World } from './world.mjs';

const world = new World();
const skip = process.env.FPROF_SANITIZED ? 'a sanitized hook cannot be loaded into a game that is not' : false;
const source = (name) => path.join(ROOT, 'tests', name);
const program = (name) => path.join(world.dir, name);

async function cc(...args) {
	const { code, text } = await world.spawn(process.env.CC ?? 'cc', ['-D_GNU_SOURCE', `-I${ROOT}`, `-I${path.join(ROOT, 'client')}`,
		...args]).done;
	assert.equal(code, 0, text);
}

before(async () => {
	if (skip)
		return;
	await cc('-shared', '-fPIC', '-o', program('libfake.so'), source('preload/fake_sdl.c'), source('preload/fake_gl.c'));
	const game = [source('api/instrumented.c'), `-L${world.dir}`, '-lfake', `-Wl,-rpath,${world.dir}`];
	await cc('-o', program('shared'), ...game, `-L${BUILD}`, '-lfprof', `-Wl,-rpath,${BUILD}`);
	await cc('-o', program('static'), ...game, path.join(BUILD, 'libfprof.a'), '-lpthread');
	await world.startDaemon();
});
after(() => world.close());

/** Plays it and returns its session and frames. */
async function played(name, args) {
	const game = world.spawn(path.join(BUILD, 'fprof'), ['run', '--', program(name), ...args.map(String)]);
	const { code, text } = await game.done;
	assert.equal(code, 0, text);
	const session = await world.ended(game.pid);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=600`);
	return { session, frames };
}

test('a comparison says which run had the hook', { skip }, async () => {
	const { session: hooked } = await played('shared', [5, 0, 0]);
	const game = world.spawn(program('shared'), ['5', '0', '0']);
	assert.equal((await game.done).code, 0);
	const bare = await world.ended(game.pid);
	const warningsOf = async (a, b) => (await world.api(`/diff?a=${a}&b=${b}`)).warnings.filter((one) => one.differs === 'recording');
	const [warning] = await warningsOf(hooked.id, bare.id);
	assert.match(warning.a, /^under `fprof run`/);
	assert.match(warning.other, /^without/);
	assert.deepEqual(await warningsOf(bare.id, bare.id), []);
});

const pace = { fast: [0, 0], slow: [40, 0], 'slow, marking late': [40, 20] };

for (const linked of ['shared', 'static'])
	for (const [what, [ms, later]] of Object.entries(pace))
		test(`an instrumented game has the frames that it marks, ${linked}, ${what}`, { skip }, async () => {
			const { session, frames } = await played(linked, [5, ms, later]);
			assert.equal(session.frames_total, 5);
			assert.deepEqual(frames.map((one) => one.frame), [1, 2, 3, 4, 5]);
			assert.equal(session.losses.discarded.hook_mark, 5);
			assert.equal(session.lost_events, 0);
			assert.equal(session.losses.repaired.clock_step, 0);
			assert.ok(frames.every((one) => !one.flags.includes('clock_step')));
			for (const one of frames)
				assert.ok(one.wall_ns >= ms * 1e6, `frame ${one.frame} takes ${one.wall_ns} ns`);
		});
