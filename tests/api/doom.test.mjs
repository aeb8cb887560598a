// SPDX-License-Identifier: MIT
// A game that knows nothing of us: there are as many frames as Doom's demo draws, counted by someone else: 1281. (A Doom
// that does not get its 35 steps a second skips steps of its screen melt and draws fewer. So tests/run.sh runs nothing
// beside this file, and Doom goes before everything else where that is permitted.)

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { problems } from './schema.mjs';
import { BUILD, DOOM, ROOT, WAD, World } from './world.mjs';

const FRAMES = 1281;
const world = new World();
const skip = process.env.FPROF_SANITIZED ? 'a sanitized hook cannot be loaded into a game that is not'
	: existsSync(DOOM) && existsSync(WAD) ? false : 'chocolate-doom and freedoom are not installed';
const counter = path.join(world.dir, 'presents.so');
const counted = path.join(world.dir, 'presents');

before(async () => {
	if (skip)
		return;
	execFileSync('cc', ['-D_GNU_SOURCE', '-shared', '-fPIC', '-O2', '-o', counter, path.join(ROOT, 'tests/api/presents.c'), '-ldl']);
	await world.startDaemon();
});
after(() => world.close());

test('doom, alone, has the 1281 frames that it draws', { skip }, async () => {
	const first = spawnSync('chrt', ['-f', '1', 'true']).status === 0 ? ['chrt', '-f', '1'] : ['env'];
	const game = world.spawn(first[0], [...first.slice(1), path.join(BUILD, 'fprof'), 'run', '--name', 'doom', '--', DOOM,
		'-iwad', WAD, '-timedemo', 'demo3', '-nosound', '-nogui'], { env: { SDL_VIDEODRIVER: 'dummy', SDL_AUDIODRIVER: 'dummy', HOME: world.dir, LD_PRELOAD: counter,
		PRESENTS_FILE: counted } });
	const { code, text } = await game.done;
	assert.equal(code, 255, text); // as without us
	assert.match(text, /timed \d+ gametics/);
	const drawn = Number(readFileSync(counted, 'utf8'));
	const session = await world.ended(game.pid);
	assert.equal(session.name, 'doom');
	assert.equal(session.frames_total, drawn);
	assert.equal(drawn, FRAMES, `Doom drew ${drawn} frames: fewer than ${FRAMES} means that it had to wait for a CPU`);
	assert.equal(session.lost_events, 0);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=3600`);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: drawn }, (_, at) => at + 1));
	assert.equal(frames.filter((one) => one.wait_ns.present === null).length, 0, 'the hook times presents');
	const slowest = await world.api(`/sessions/${session.id}/frames/slowest`);
	const longest = (of) => Math.max(...of.map((one) => one.wall_ns));
	assert.equal(slowest.wall_ns, longest(frames.slice(1).filter((one) => !one.flags.includes('events_evicted'))));
	assert.ok(longest(frames.slice(1)) > 900e6, 'the one real hitch takes about a second');
	assert.deepEqual(problems('FrameDetail', slowest), []);
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
});
