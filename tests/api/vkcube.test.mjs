// SPDX-License-Identifier: MIT
// A Vulkan program that fetches its present with vkGetDeviceProcAddr and knows nothing of us: as many frames as it is told to
// draw. On a display without a screen and a GPU without hardware.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { BUILD, until, World } from './world.mjs';

const FRAMES = 300;
const VKCUBE = '/usr/bin/vkcube';
const XVFB = '/usr/bin/Xvfb';
const DRIVERS = '/usr/share/vulkan/icd.d';
const lavapipe = existsSync(DRIVERS) ? readdirSync(DRIVERS).find((name) => /^lvp_icd.*\.json$/.test(name)) : undefined;
const skip = !existsSync(VKCUBE) ? 'vkcube is not installed'
	: !existsSync(XVFB) ? 'Xvfb is not installed'
		: !lavapipe ? 'lavapipe, the Vulkan driver without hardware, is not installed' : false;
const world = new World();
let display;

before(async () => {
	if (skip)
		return;
	await world.startDaemon();
	const xvfb = world.spawn(XVFB, ['-displayfd', '1', '-screen', '0', '640x480x24', '-nolisten', 'tcp']);
	display = await until('Xvfb says its display', () => {
		assert.equal(xvfb.exitCode, null, `Xvfb ended: ${xvfb.text}`);
		return /^(\d+)\n/m.exec(xvfb.text)?.[1];
	});
});
after(() => world.close());

test('vkcube on lavapipe has the 300 frames that it is told to draw', { skip }, async () => {
	const game = world.spawn(path.join(BUILD, 'fprof'), ['run', '--name', 'cube', '--', VKCUBE, '--c', String(FRAMES),
		'--suppress_popups', '--present_mode', '0'], { env: { DISPLAY: `:${display}`, HOME: world.dir,
		VK_ICD_FILENAMES: path.join(DRIVERS, lavapipe) } });
	const { code, text } = await game.done;
	assert.equal(code, 0, text);
	const session = await world.ended(game.pid);
	assert.equal(session.name, 'cube');
	assert.equal(session.state, 'ended');
	assert.equal(session.frames_total, FRAMES);
	assert.equal(session.lost_events, 0);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=600`);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: FRAMES }, (_, at) => at + 1));
	assert.equal(frames.filter((one) => one.wait_ns.present === null).length, 0, 'the hook times presents');
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
});

test('vkcube, attached while it runs, is seen through its driver', { skip }, async (t) => {
	const game = world.spawn(VKCUBE, ['--suppress_popups', '--present_mode', '0'], { env: { DISPLAY: `:${display}`, HOME: world.dir,
		VK_ICD_FILENAMES: path.join(DRIVERS, lavapipe) } });
	await until('it has its driver', () => readFileSync(`/proc/${game.pid}/maps`, 'utf8').includes('libvulkan_lvp'));
	const answer = await world.request('POST', '/api/v1/attachments', { headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ pid: game.pid }) });
	if (answer.status === 503)
		return t.skip(`games cannot be attached to here: ${JSON.parse(answer.text).detail}`);
	assert.equal(answer.status, 201, answer.text);
	const [one] = JSON.parse(answer.text).attachments;
	assert.deepEqual([one.functions, one.unseen], [['vkQueuePresentKHR'], null]);
	await world.live(game.pid, 100);
	game.kill('SIGTERM');
	const session = await world.ended(game.pid);
	const { zones } = await world.api(`/sessions/${session.id}/zones?view=flat&frames=all&from=1&to=${session.frames_total}`);
	assert.deepEqual(zones.map((zone) => [zone.name, zone.calls]), [['vkQueuePresentKHR', session.frames_total]]);
	return undefined;
});
