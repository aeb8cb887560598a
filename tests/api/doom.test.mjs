// SPDX-License-Identifier: MIT
// A game that knows nothing of us: Doom's demo draws 1281 frames, so there are 1281 frames, every run.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { problems } from './schema.mjs';
import { BUILD, DOOM, WAD, World } from './world.mjs';

const FRAMES = 1281;
const world = new World();
const skip = existsSync(DOOM) && existsSync(WAD) ? false : 'chocolate-doom and freedoom are not installed';

before(async () => {
	if (!skip)
		await world.startDaemon();
});
after(() => world.close());

test('the demo has as many frames as it draws', { skip }, async () => {
	const game = world.spawn(path.join(BUILD, 'fprof'), ['run', '--name', 'doom', '--', DOOM, '-iwad', WAD, '-timedemo', 'demo3',
		'-nosound', '-nogui'], { env: { SDL_VIDEODRIVER: 'dummy', SDL_AUDIODRIVER: 'dummy', HOME: world.dir } });
	const { code, text } = await game.done;
	assert.equal(code, 255, text); // as without us
	assert.match(text, /timed \d+ gametics/);
	const session = await world.ended(game.pid);
	assert.equal(session.name, 'doom');
	assert.equal(session.frames_total, FRAMES);
	assert.equal(session.lost_events, 0);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=3600`);
	assert.equal(frames.length, FRAMES);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: FRAMES }, (_, at) => at + 1));
	assert.equal(frames.filter((one) => one.wait_ns.present === null).length, 0, 'the hook times presents');
	const slowest = await world.api(`/sessions/${session.id}/frames/slowest`);
	assert.equal(slowest.wall_ns, Math.max(...frames.slice(1).map((one) => one.wall_ns)));
	assert.deepEqual(problems('FrameDetail', slowest), []);
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
});
