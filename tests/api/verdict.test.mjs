// SPDX-License-Identifier: MIT
// The verdict against truths made on purpose: games whose frames are held by one thing each.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World, until } from './world.mjs';

const FRAMES = 60;
const MS = 5;
const world = new World();
let program;
let off = false;

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/held.c'));
	const first = await play('cap', 5);
	const scheduler = (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
	if (!first.frames.some((one) => one.kernel))
		off = `the scheduler cannot be traced here: ${scheduler.reason ?? 'no frame was traced'}`;
});
after(() => world.close());

/** The verdict over the frames of one game. */
async function play(mode, frames = FRAMES) {
	const child = world.spawn(program, [mode, `${frames}`, `${MS}`], { cwd: mode === 'disk' ? BUILD : world.dir });
	const { code, text } = await child.done;
	assert.equal(code, 0, text);
	const session = await world.ended(child.pid);
	await until('the scheduler\'s chunks are stored', async () => (await world.api('/status')).history.queued_bytes === 0);
	const answer = await world.get(`/api/v1/sessions/${session.id}/verdict?from=2&to=${frames + 1}`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/verdict', answer), []);
	return JSON.parse(answer.text);
}

const share = (verdict, part) => (verdict.parts.find((one) => one.part === part)?.ns ?? 0) / verdict.wall_ns;

function exact(verdict) {
	for (const one of [verdict, ...verdict.frames]) {
		assert.equal(one.parts.reduce((sum, part) => sum + part.ns, 0), one.wall_ns, 'parts add up');
		for (const { ns, evidence_ns: by } of one.parts)
			assert.equal(by.zone + by.kernel + by.both, ns, 'evidence adds up');
	}
}

/* What a mode is held by, and in which part most of its time must lie. The machine may be busy: what it takes away is
 * runnable, and the rest is compared. */
const truths = [
	['cpu', 'cpu', 'cpu'],
	['sleep', 'cap', 'cap'],
	['cap', 'cap', 'cap'],
	['present', 'display', 'present'],
	['lock', 'lock', 'lock'],
	['disk', 'io', 'io'],
];
for (const [mode, word, part] of truths) {
	test(`a frame held by ${mode} is bound by ${word}`, async (t) => {
		if (off)
			return t.skip(off);
		const verdict = await play(mode);
		exact(verdict);
		const rest = 1 - share(verdict, 'runnable');
		if (mode === 'disk' && share(verdict, 'io') < 0.05)
			return t.skip('fsync does not wait on this file system');
		assert.ok(mode === 'disk' || share(verdict, part) / rest > 0.6, `${part}: ${JSON.stringify(verdict.parts)}`);
		const judged = verdict.frames.filter((one) => share(one, 'runnable') < 0.3);
		if (judged.length === 0 && mode !== 'disk')
			return t.skip('the machine is busy: no frame had its CPU');
		const right = judged.filter((one) => one.bound_by === word);
		assert.ok(mode === 'disk' || right.length > 0.8 * judged.length, JSON.stringify(verdict.bounds));
		return undefined;
	});
}

test('a frame whose thread gets no CPU is held by the scheduler', async (t) => {
	if (off)
		return t.skip(off);
	const verdict = await play('starve');
	exact(verdict);
	assert.ok(share(verdict, 'runnable') > 0.5, JSON.stringify(verdict.parts));
	assert.equal(verdict.bound_by, 'scheduler');
	return undefined;
});

test('a wait in a zone has both for evidence, an unmarked one the kernel', async (t) => {
	if (off)
		return t.skip(off);
	for (const [mode, by] of [['cap', 'both'], ['sleep', 'kernel']]) {
		const cap = (await play(mode, 10)).parts.find((one) => one.part === 'cap');
		assert.ok(cap.evidence_ns[by] > 0.9 * cap.ns, JSON.stringify(cap));
	}
	return undefined;
});

test('a saved range has the same verdict', async (t) => {
	if (off)
		return t.skip(off);
	const live = await play('lock', 30);
	const saved = await world.request('POST', '/api/v1/captures', { headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ session: live.session, from: 5, to: 25, name: 'lock' }) });
	assert.equal(saved.status, 201, saved.text);
	const session = JSON.parse(saved.text).id;
	const same = await world.api(`/sessions/${session}/verdict?from=5&to=25`);
	const frames = live.frames.filter((one) => one.frame >= 5 && one.frame <= 25);
	assert.deepEqual(same.frames.map((one) => [one.frame, one.wall_ns, one.parts]), frames.map((one) => [one.frame, one.wall_ns, one.parts]));
	return undefined;
});

test('the source says what it read, what it lost and how far its clock may be off', async (t) => {
	if (off)
		return t.skip(off);
	const { scheduler } = await world.api('/status');
	assert.ok(scheduler.events > 0 && scheduler.cpu_ns > 0, JSON.stringify(scheduler));
	assert.deepEqual([scheduler.lost, scheduler.dropped, scheduler.interruptions], [0, 0, 0]);
	assert.ok(scheduler.clock_error_ns > 0 && scheduler.clock_error_ns < 5000, `${scheduler.clock_error_ns} ns`);
	return undefined;
});

test('a helper that is killed is noticed, counted and followed by another', async (t) => {
	if (off)
		return t.skip(off);
	const game = world.game(['--frames', '100000', '--fps', '100', '--zones', '5']);
	const helpers = () => spawnSync('pgrep', ['-P', `${world.daemon.pid}`, '-x', 'fprof-probe']).stdout.toString().split('\n')
		.filter((one) => one).map(Number);
	const scheduler = async () => (await world.api('/status')).scheduler;
	const traced = (await scheduler()).events;
	await until('it is traced', async () => (await scheduler()).events > traced);
	const [first] = helpers();
	if (!first)
		return t.skip('the helper is a service here');
	process.kill(first, 'SIGKILL');
	await until('it is counted', async () => (await scheduler()).interruptions === 1);
	await until('another one is there', () => helpers().some((one) => one !== first));
	const { events } = await scheduler();
	await until('it traces again', async () => (await scheduler()).events > events);
	assert.equal((await world.api('/status')).sources.find((one) => one.name === 'scheduler').state, 'on');
	game.kill();
	await game.done;
	return undefined;
});

test('the schedule covers every frame, and a lock says who let it go', async (t) => {
	if (off)
		return t.skip(off);
	const { session } = await play('lock', 20);
	const answer = await world.get(`/api/v1/sessions/${session}/schedule?from=2&to=21`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/schedule', answer), []);
	const { begin_ns: begin, end_ns: end, threads, left_out: left } = JSON.parse(answer.text);
	assert.equal(left, 0);
	for (const { intervals } of threads) {
		assert.equal(intervals[0].start_ns, begin);
		assert.equal(intervals.reduce((sum, one) => sum + one.duration_ns, 0), end - begin);
		intervals.forEach((one, i) => assert.equal(one.start_ns, i ? intervals[i - 1].start_ns + intervals[i - 1].duration_ns : begin));
	}
	const [main, ...others] = threads;
	const locks = main.intervals.filter((one) => one.state === 'blocked' && one.reason === 'lock' && one.duration_ns > 1e6);
	assert.ok(locks.length > 0, JSON.stringify(main.intervals.slice(0, 20)));
	const wakers = locks.map((one) => main.intervals[main.intervals.indexOf(one) + 1]?.by).filter((by) => by?.kind === 'thread');
	assert.ok(wakers.length > 0);
	for (const by of wakers)
		assert.ok(others.some((one) => one.tid === by.tid), `${by.tid} is a thread of the game`);
	const cut = JSON.parse((await world.get(`/api/v1/sessions/${session}/schedule?from=2&to=21&max_intervals=5`)).text);
	const total = threads.reduce((sum, one) => sum + one.intervals.length, 0);
	assert.equal(cut.left_out, total - 5);
});
