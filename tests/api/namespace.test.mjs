// SPDX-License-Identifier: MIT
// Games in a pid namespace of their own (Flatpak, pressure-vessel, containers): known by both their numbers, their threads
// by the game's own, in rings as in what the kernel says. (Attached ones: attach.test.mjs.)

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { judged, untraceable } from './held.mjs';
import { BUILD, World, until } from './world.mjs';

const world = new World();
const UNSHARE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const able = spawnSync(UNSHARE[0], [...UNSHARE.slice(1), 'true']);
const not = able.status === 0 ? false : `no pid namespace can be made here: ${able.stderr ?? able.error}`;
let off = false;

before(async () => {
	if (not)
		return;
	writeFileSync(world.config, 'triggers = []\nsample_ms = 200\n');
	await world.startDaemon();
	off = await untraceable(world);
});
after(() => world.close());

/** The session of what runs in there; `shell`: the game is not the namespace's first process. */
async function play(command, shell) {
	const before = (await world.api('/sessions')).sessions.map((one) => one.id);
	const inner = shell ? ['sh', '-c', '"$@"; exit $?', 'sh', ...command] : command;
	const game = world.spawn(UNSHARE[0], [...UNSHARE.slice(1), ...inner]);
	const { code, text } = await game.done;
	assert.equal(code, 0, text);
	return until('its session has ended', async () => (await world.api('/sessions')).sessions
		.find((one) => !before.includes(one.id) && one.state !== 'live'));
}

const GAME = [path.join(BUILD, 'game'), '--frames', '90', '--fps', '60', '--zones', '20'];
for (const [what, command, shell] of [['that is instrumented', GAME, true], ['that is its first process', GAME, false],
	['under `fprof run`', [path.join(BUILD, 'fprof'), 'run', ...GAME], true]]) {
	test(`a game ${what} goes by both its numbers`, { skip: not }, async (t) => {
		const session = await play(command, shell);
		assert.equal(session.frames_total, 90);
		assert.notEqual(session.pid, session.ns_pid);
		assert.ok(shell ? session.ns_pid > 1 && session.ns_pid < 20 : session.ns_pid === 1, `${session.ns_pid}`);
		const { threads } = await world.api(`/sessions/${session.id}/threads`);
		const known = threads.filter((one) => one.kind === 'thread').map((one) => one.tid);
		assert.ok(known.includes(session.ns_pid) && known.every((tid) => tid >= session.ns_pid && tid < 50), JSON.stringify(threads));
		const ran = spawnSync('sqlite3', ['-readonly', path.join(world.run, 'history.db'),
			`SELECT DISTINCT tid FROM thread_ran WHERE session = ${session.id}`], { encoding: 'utf8' });
		const tids = ran.stdout.trim().split('\n').map(Number);
		assert.ok(tids.includes(session.ns_pid) && tids.every((tid) => known.includes(tid)), `${tids} ${ran.stderr}`);
		if (off)
			return t.skip(off);
		// the kernel has other numbers for them: its word is the game's threads' all the same
		const verdict = await judged(world, session, 89);
		const heard = verdict.frames.filter((one) => one.kernel);
		assert.ok(heard.length > 20, `${heard.length} frames of 88`);
		const schedule = await world.api(`/sessions/${session.id}/schedule?from=60&to=80`);
		assert.ok(schedule.threads.length > 1 && schedule.threads.some((one) => one.tid === session.ns_pid));
		assert.ok(schedule.threads.every((one) => known.includes(one.tid)), JSON.stringify([known, schedule.threads.map((one) => one.tid)]));
		return undefined;
	});
}
