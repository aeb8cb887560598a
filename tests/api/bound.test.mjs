// SPDX-License-Identifier: MIT
// Each word of the verdict, said of games that are held by one thing each: by two unlike changes for each.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { MS, judged, ns, play, share, untraceable } from './held.mjs';
import { ROOT, World, until } from './world.mjs';

const world = new World();
let program;
let off = false;
let side;

before(async () => {
	writeFileSync(world.config, `triggers = []\ndisplay_hz = ${1000 / MS}\n`);
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/held.c'));
	off = await untraceable(world);
});
after(() => world.close());

/* What a mode is held by, and in which part most of its time must lie, the machine's own share (runnable) left out. Those
 * that hardly compute are played side by side. */
const idle = [
	['sleep', 'cap', 'cap'],
	['cap', 'cap', 'cap'],
	['nap', 'cap', 'cap'],
	['timed', 'cap', 'cap'],
	['timer', 'cap', 'cap'],
	['legacy', 'cap', 'cap'],
	['fleeting', 'cap', 'cap'],
	['present', 'display', 'present'],
	['lock', 'lock', 'lock'],
	['chain', 'lock', 'lock'],
	['event', 'lock', 'lock'],
	['read', 'io', 'io'],
	['peer', 'io', 'io'],
	['disk', 'io', 'io'],
	['fault', 'memory', 'memory'],
	['cold', 'io', 'io'],
	['poll', 'unknown', 'other'],
	['stop', 'unknown', 'other'],
	['idle', 'gpu', 'cap'],
];
const busy = [
	['cpu', 'cpu', 'cpu'],
	['copy', 'cpu', 'cpu'],
	['mapped', 'memory', 'memory'],
	['worked', 'cap', 'cap'],
	['spun', 'cap', 'spin'],
	['shown', 'display', 'present'],
	['gpu', 'gpu', 'cpu'],
	['starve', 'scheduler', 'runnable'],
	['crowd', 'scheduler', 'runnable'],
];
/** Least share of the part, where it is not nearly all. */
const shares = { worked: 0.3, shown: 0.3, disk: 0, cold: 0.1, chain: 0.5, mapped: 0.3 };
/** Of these the disk, or how the kernel fills memory, decides. */
const byMachine = { disk: 'io', cold: 'io', mapped: 'memory' };

/** As long as it was asked to be, not for want of a CPU, and heard of: what was late does not wait. */
const undisturbed = (one) => share(one, 'runnable') < 0.2 && share(one, 'unknown') < 0.2 && one.wall_ns > 0.8 * MS * 1e6;

for (const [mode, word, part] of [...idle, ...busy]) {
	test(`a frame held by ${mode} is bound by ${word}`, async (t) => {
		if (off)
			return t.skip(off);
		side ??= new Map(idle.map(([one]) => [one, play(world, program, one)]));
		if (!side.has(mode))
			await Promise.allSettled(side.values());
		const verdict = await (side.get(mode) ?? play(world, program, mode, { frames: part === 'runnable' ? 12 : 30, wait: 500 }));
		if (!verdict)
			return t.skip(`${mode}: the kernel does not permit it here`);
		if (mode in byMachine && share(verdict, byMachine[mode]) < Math.max(0.1, shares[mode] ?? 0))
			return t.skip('this machine makes nobody wait so');
		const rest = part === 'runnable' ? 1 : 1 - share(verdict, 'runnable') - share(verdict, 'unknown');
		const asked = verdict.frames.filter(undisturbed);
		const disturbed = part !== 'runnable' && asked.length < verdict.frames.length / 2;
		assert.ok(disturbed || share(verdict, part) / rest > (shares[mode] ?? 0.6), `${part}: ${JSON.stringify(verdict.parts)}`);
		if (part === 'runnable')
			return assert.equal(verdict.bound_by, word, JSON.stringify(verdict.bounds));
		if (asked.length === 0 || (word === 'display' && verdict.display.refreshes_per_frame === 0))
			return t.skip('the machine is busy: no frame had its CPU, or they kept no pace');
		const right = asked.filter((one) => one.bound_by === word);
		assert.ok(mode in byMachine || right.length > 0.8 * asked.length, JSON.stringify([verdict.bounds, verdict.display, asked[0]]));
		return undefined;
	});
}

test('a wait in a GPU\'s driver is the GPU\'s', async (t) => {
	if (off)
		return t.skip(off);
	const earlier = (await world.api('/sessions')).sessions.map((one) => one.id);
	// a /dev of the game's own, in which a file system of ours is the device
	const device = await world.compile(path.join(ROOT, 'tests/api/gpu_device.c'));
	const script = 'mkdir dev && mount -t tmpfs tmpfs dev && mkdir dev/dri dev/shm && touch dev/fuse dev/null dev/zero dev/urandom'
		+ ' && for one in shm fuse null zero urandom; do mount --bind /dev/$one dev/$one || exit 77; done && mount --move dev /dev || exit 77'
		+ '; "$1" /dev/dri 5 & device=$!; until [ -e /dev/dri/card0 ]; do kill -0 $device || exit 77; sleep 0.02; done'
		+ '; "$2" ioctl 40 5; status=$?; kill $device; exit $status';
	const { code, text } = await world.spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', device, program],
		{ cwd: world.dir, env: { HELD_MS: '600' } }).done;
	if (code === 77 || /unshare/.test(text))
		return t.skip(`no device can be made here: ${text}`);
	assert.equal(code, 0, text);
	const session = await until('its session has ended', async () => (await world.api('/sessions')).sessions
		.find((one) => !earlier.includes(one.id) && one.state !== 'live'));
	const verdict = await judged(world, session, 40);
	assert.ok(share(verdict, 'gpu') / (1 - share(verdict, 'runnable')) > 0.6, JSON.stringify(verdict.parts));
	return share(verdict, 'runnable') < 0.3 ? assert.equal(verdict.bound_by, 'gpu', JSON.stringify(verdict.bounds)) : t.skip('the machine is busy');
});

test('a limiter that sleeps has its share at 30, 60 and 144 Hz', async (t) => {
	if (off)
		return t.skip(off);
	const played = await Promise.all([30, 60, 144].map(async (hz) =>
		[hz, await play(world, program, 'cap', { frames: Math.round(hz * 0.7), ms: 1000 / hz })]));
	const steady = played.filter(([, verdict]) => share(verdict, 'runnable') < 0.05);
	for (const [hz, verdict] of steady) {
		assert.equal(verdict.bound_by, 'cap');
		assert.ok(Math.abs(verdict.display.cadence_hz / hz - 1) < 0.05, `${hz}: ${verdict.display.cadence_hz}`);
		// 0.2 ms a frame are computed, and whatever the machine takes
		const slept = (ns(verdict, 'cap') + ns(verdict, 'spin') + ns(verdict, 'runnable')) / verdict.wall_ns;
		const wanted = 1 - (0.2 * hz) / 1000;
		assert.ok(slept > wanted - 0.1 && slept < wanted + 0.02, `${hz}: ${slept} of ${wanted}`);
	}
	return steady.length === 0 ? t.skip('the machine is busy: none had its CPU in time') : undefined;
});
