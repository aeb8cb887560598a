// SPDX-License-Identifier: MIT
// The verdict: what it rests on, what it says of displays and of a sleep that nobody marked, where it has it from.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { judged, ns, play, share, untraceable } from './held.mjs';
import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, killIfThere, until, World } from './world.mjs';

const world = new World();
/** Without the kernel's word: cpu is by elimination there. */
const blind = new World();
let program;
let off = false;

const helpers = () => spawnSync('pgrep', ['-P', `${world.daemon.pid}`, '-x', 'fprof-probe']).stdout.toString().split('\n')
	.filter((one) => one).map(Number);
const scheduler = async () => (await world.api('/status')).scheduler;
const source = async () => (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
const verdictOf = async (id, first, last) => (await world.api(`/sessions/${id}/verdict?from=${first}&to=${last}`)).frames;

before(async () => {
	writeFileSync(blind.config, 'triggers = []\nscheduler = no\nsample_ms = 100\ndisplay_hz = 60\n');
	await Promise.all([world.startDaemon(), blind.startDaemon()]);
	program = await world.compile(path.join(ROOT, 'tests/api/held.c'));
	off = await untraceable(world);
});
after(() => Promise.all([world.close(), blind.close()]));

test('without the kernel a sleep that nobody marked is not cpu, and what computes is', async () => {
	const [sleep, cpu] = await Promise.all(['sleep', 'cpu'].map((mode) => play(blind, program, mode, { frames: 150, wait: 300 })));
	for (const verdict of [sleep, cpu])
		assert.ok(verdict.frames.every((one) => !one.kernel));
	const checked = (verdict) => verdict.frames.filter((one) => one.compared.schedstat);
	assert.ok(checked(sleep).length > 50 && checked(cpu).length > 50, `${checked(sleep).length} ${checked(cpu).length}`);
	for (const one of checked(sleep)) {
		assert.notEqual(one.bound_by, 'cpu', one.sentence);
		assert.ok(share(one, 'unattributed') > 0.5, JSON.stringify(one.parts));
		assert.match(one.sentence, /may have run it ran \d+ ms \(schedstat\)/);
	}
	// how much of a core it had the machine decides: what it ran is there, and never more
	for (const { compared: { schedstat } } of checked(cpu))
		assert.ok(schedstat.ran_ns > 0 && schedstat.ran_ns <= schedstat.window_ns + 10e6, JSON.stringify(schedstat));
	const most = checked(cpu).filter((one) => one.compared.schedstat.ran_ns > 0.8 * one.compared.schedstat.cpu_by_elimination_ns);
	assert.ok(most.filter((one) => one.bound_by === 'cpu').length >= 0.9 * most.length, most.map((one) => one.sentence).join('\n'));
	for (const one of sleep.frames.filter(({ compared }) => !compared.schedstat))
		assert.match(one.sentence, /whether it ran: that was not read/);
});

test('without the kernel a lone frame that waited unseen is told from those around it, live and saved', async (t) => {
	const { session: id, frames, queued } = await play(blind, program, 'once', { frames: 170, ms: 16, wait: 300 });
	const lone = frames.filter(({ wall_ns: wall }) => wall > 300e6);
	assert.deepEqual(lone.map(({ frame }) => frame), [51, 101, 151]);
	for (const one of lone) {
		assert.equal(one.bound_by, 'unknown', one.sentence);
		assert.ok(share(one, 'unattributed') > 0.85, JSON.stringify(one));
		const { least_ns: least, taken_ns: taken } = one.compared.schedstat.frame_not_run;
		assert.ok(least > 200e6 && taken >= least && taken <= one.wall_ns, `${least} ${taken}`);
		const path = await blind.api(`/sessions/${id}/frames/${one.frame}/critical-path`);
		assert.ok(path.unknown_ns > 0.9 * (one.wall_ns - path.blocked_ns), JSON.stringify(path).slice(0, 300));
	}
	const others = frames.filter((one) => one.compared.schedstat && !lone.includes(one));
	assert.ok(others.length > 100, `${others.length}`);
	for (const [from, to] of [[40, 60], [51, 51], [2, 171]]) {
		const saved = await blind.request('POST', '/api/v1/captures', { body: JSON.stringify({ session: id, from, to }) });
		assert.equal(saved.status, 201, saved.text);
		const again = await blind.api(`/sessions/${JSON.parse(saved.text).id}/verdict?from=${from}&to=${to}`);
		assert.deepEqual(again.frames, frames.filter(({ frame }) => frame >= from && frame <= to));
		const nested = await blind.request('POST', '/api/v1/captures',
			{ body: JSON.stringify({ session: JSON.parse(saved.text).id, from: 51, to: 51 }) });
		const [same] = (await blind.api(`/sessions/${JSON.parse(nested.text).id}/verdict?from=51&to=51`)).frames;
		assert.deepEqual(same, lone[0]);
	}
	if (queued > 0.03)
		return t.skip(`the machine is busy: the game waited for a CPU for ${(100 * queued).toFixed(0)} % of the time`);
	const accused = others.filter((one) => share(one, 'unattributed') > 0.1);
	assert.ok(accused.length <= others.length / 10, accused.map((one) => one.sentence).join('\n'));
	const ran = await blind.api(`/sessions/${id}/frames/${others[50].frame}/critical-path`);
	assert.equal(ran.unknown_ns, 0);
	return undefined;
});

test('frames that are none of play are judged, and are not in the sums', async () => {
	const { id } = await blind.played(['--frames', '40', '--fps', '200', '--zones', '5']);
	const counted = await blind.api(`/sessions/${id}/verdict?from=1&to=40`);
	assert.deepEqual([counted.frames.length, counted.frames_judged, counted.range.left_out.startup], [40, 39, 1]);
	assert.deepEqual(counted.frames.filter((one) => !one.counted).map(({ frame }) => frame), [1]);
	assert.equal(counted.wall_ns, counted.frames.filter((one) => one.counted).reduce((sum, one) => sum + one.wall_ns, 0));
	const all = await blind.api(`/sessions/${id}/verdict?from=1&to=40&frames=all`);
	assert.deepEqual([all.frames_judged, all.range.left_out.startup], [40, 0]);
	assert.equal((await blind.api(`/sessions/${id}/verdict?from=1&to=1`)).frames_judged, 1, 'who asks for it gets it');
});

test('a pace that fits a display is its, a faster one is told what is never shown', async (t) => {
	const games = await Promise.all([[60], [45], [100, '--cap']].map(async ([hz, ...more]) => {
		const frames = 2 * hz;
		const session = await blind.played(['--fps', `${hz}`, '--frames', `${frames}`, '--zones', '50', ...more]);
		return judged(blind, session, frames - 1);
	}));
	const displays = games.map((one) => one.display);
	for (const one of displays) {
		assert.deepEqual([one.source, one.rates_hz, one.compared_hz], ['configured', [60], 60]);
		// the numbers follow from the pace, whatever that was
		const over = 1 - 60 / one.cadence_hz;
		assert.ok(one.never_shown_of === 0 ? over < 0.021 : Math.abs(one.never_shown / one.never_shown_of - over) < 0.011, JSON.stringify(one));
	}
	const at = (hz, { cadence_hz: cadence }) => Math.abs(cadence / hz - 1) < 0.015;
	if (!at(60, displays[0]) || !at(45, displays[1]) || !at(100, displays[2]))
		return t.skip(`the machine is busy: the games kept no pace (${displays.map((one) => one.cadence_hz)})`);
	assert.deepEqual(displays.map((one) => one.refreshes_per_frame), [1, 0, 0]);
	assert.deepEqual([displays[2].never_shown, displays[2].never_shown_of], [2, 5]);
	assert.match(games[2].sentence, /display 2 of 5 frames are never shown\.$/);
	const paced = (verdict, word) => verdict.frames.filter((one) => one.bound_by === word);
	assert.ok(paced(games[0], 'display').length > 90, JSON.stringify(games[0].bounds));
	assert.equal(paced(games[1], 'display').length, 0, 'a pace that fits none is not the display\'s');
	// its GPU is known to be idle, so that something else holds it there
	assert.match(paced(games[1], 'cap')[0].sentence, /in the present for a limiter; .* The game is paced at 4\d(\.\d+)? Hz, which fits no display's 60 Hz\.$/);
	assert.match(paced(games[2], 'cap')[0].sentence, /on a 60 Hz display: 2 of 5 frames are never shown\.$/);
	return undefined;
});

test('without a game nothing stays in the kernel; what the next one did before it was listened to is unheard', async (t) => {
	if (off)
		return t.skip(off);
	await until('the source is off', async () => (await source()).state === 'off');
	assert.deepEqual([(await source()).reason, helpers()], ['no game is there', []]);
	const { events } = await scheduler();
	const game = world.game(['--frames', '0', '--fps', '100', '--zones', '5']);
	await until('it is traced', async () => (await scheduler()).events > events + 300);
	game.kill('SIGINT');
	await game.done;
	const session = await world.ended(game.pid);
	const [first] = await verdictOf(session.id, 1, 1);
	assert.ok(!first.kernel && first.unheard_ns > 0, JSON.stringify(first));
	await until('what the kernel told of the others is stored', async () =>
		(await verdictOf(session.id, 1, session.frames_total)).some((one) => one.kernel && one.unheard_ns === 0));
	return undefined;
});

test('a wait in a zone has both for evidence, an unmarked one the kernel', async (t) => {
	if (off)
		return t.skip(off);
	for (const [mode, by] of [['cap', 'both'], ['sleep', 'kernel']]) {
		const cap = (await play(world, program, mode, { frames: 10 })).parts.find((one) => one.part === 'cap');
		assert.ok(cap.evidence_ns[by] > 0.9 * cap.ns, JSON.stringify(cap));
	}
	return undefined;
});

test('a saved range has the same verdict', async (t) => {
	if (off)
		return t.skip(off);
	const live = await play(world, program, 'lock', { frames: 30 });
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
	const counted = await scheduler();
	assert.ok(counted.events > 0 && counted.cpu_ns > 0, JSON.stringify(counted));
	assert.deepEqual([counted.lost, counted.dropped, counted.interruptions], [0, 0, 0]);
	assert.ok(counted.clock_error_ns > 0 && counted.clock_error_ns < 1e6, `${counted.clock_error_ns} ns`);
	return undefined;
});

test('a helper that is killed is noticed, counted and followed by another; what nobody heard meanwhile is said', async (t) => {
	if (off)
		return t.skip(off);
	const game = world.game(['--frames', '100000', '--fps', '100', '--zones', '5']);
	const traced = (await scheduler()).events;
	await until('it is traced', async () => (await scheduler()).events > traced);
	const [first] = helpers();
	if (!first)
		return t.skip('the helper is a service here');
	const frames = async () => (await world.live(game.pid, 0)).frames_total;
	const said = new Set();
	const from = await frames() + 1;
	await until('nobody has heard of sixty frames: each helper is killed as it comes, and it is said why', async () => {
		for (const one of helpers())
			killIfThere(one);
		const { state, reason } = await source();
		if (state !== 'on')
			said.add(reason);
		return said.size > 0 && await frames() > from + 60;
	});
	const to = await frames();
	for (const reason of said)
		assert.match(reason, /^fprof-probe (has ended|ended before it answered)$/);
	await until('another one is there', async () => (await source()).state === 'on');
	const { events, interruptions } = await scheduler();
	assert.ok(interruptions >= 1);
	await until('it traces again', async () => (await scheduler()).events > events);
	game.kill();
	await game.done;
	const session = await world.ended(game.pid);
	const unheard = (await verdictOf(session.id, from, to)).filter((one) => one.unheard_ns > 0.05 * one.wall_ns);
	assert.ok(unheard.length > 0);
	// whatever range is asked for, and in a capture that has nothing else
	const { frame, unheard_ns: ns } = unheard[Math.floor(unheard.length / 2)];
	assert.deepEqual((await verdictOf(session.id, frame, frame)).map((one) => one.unheard_ns), [ns]);
	const saved = await world.request('POST', '/api/v1/captures', { headers: { 'content-type': 'application/json' },
		body: JSON.stringify({ session: session.id, from: frame, to: frame, name: 'unheard' }) });
	assert.deepEqual((await verdictOf(JSON.parse(saved.text).id, frame, frame)).map((one) => one.unheard_ns), [ns]);
	return undefined;
});

test('what the kernel had no room for is counted, and the verdict says that its evidence is incomplete', async (t) => {
	if (off)
		return t.skip(off);
	const { events, lost } = await scheduler();
	const game = world.spawn(program, ['swap', '8', '5'], { cwd: world.dir, env: { HELD_MS: '0' }, stdio: ['pipe', 'pipe', 'pipe'] });
	// At the third time it is this one's events: those of a game that has gone are read in two rounds at most.
	for (let round = 0; round < 3; round++) {
		const { events: seen } = await scheduler();
		await until('it is traced', async () => (await scheduler()).events > seen + 10);
	}
	world.daemon.kill('SIGSTOP'); // nobody reads now: 80,000 switches are more than there is room for
	game.stdin.end('go\n');
	assert.equal((await game.done).code, 0, game.text);
	world.daemon.kill('SIGCONT');
	const session = await world.ended(game.pid);
	let now;
	await until({ toString: () => `it is counted: ${JSON.stringify(now)}, before ${events} events, ${lost} lost` },
		async () => (now = await scheduler()).lost > lost + 1000);
	const verdict = await judged(world, session, 8);
	const unheard = verdict.frames.filter((one) => one.unheard_ns > 0.05 * one.wall_ns);
	assert.ok(unheard.length > 0, JSON.stringify(verdict.parts));
	for (const one of unheard) {
		assert.equal(one.kernel, false);
		assert.match(one.sentence, /The evidence is incomplete: \d+\.\d\d ms of the kernel's were not heard\.$/);
		assert.ok(one.confidence <= 1 - one.unheard_ns / one.wall_ns + 1e-9, `${one.confidence}`);
	}
	const told = spawnSync(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${world.port}`, 'status']).stdout.toString();
	assert.match(told, /\d+ switches and wakes found no room in the kernel's buffer/);
	assert.match(told, /the kernel's is within \d+\.\d\d us of it/);
	return undefined;
});

test('a wait that evens frames out paces them, one that is as long whatever the work does does not', async (t) => {
	const played = [];
	for (const mode of ['even', 'paid'])
		played.push(await play(blind, program, mode, { frames: 90, ms: 11, wait: 100 }));
	const busy = played.find(({ queued }) => queued > 0.03);
	if (busy)
		return t.skip(`the machine is busy: the game waited for a CPU for ${(100 * busy.queued).toFixed(0)} % of the time`);
	const [even, paid] = played.map(({ frames }) => frames.filter((one) => share(one, 'cap') > 0.03 && share(one, 'unattributed') < 0.1));
	const of = (frames, word) => frames.filter((one) => one.bound_by === word);
	assert.ok(even.length > 40 && of(even, 'cap').length > 0.8 * even.length, even.map((one) => one.sentence).join('\n'));
	assert.ok(paid.length > 40 && of(paid, 'cap').length === 0, of(paid, 'cap').map((one) => one.sentence).join('\n'));
	for (const one of of(paid, 'cpu'))
		assert.match(one.sentence, /The \d+\.\d\d ms that it waited as for a limiter or the display even nothing out\./);
	assert.ok(even.every(({ compared: { spread } }) => spread.frames >= 60 && spread.wall_ns < spread.work_ns), JSON.stringify(even[0].compared));
	return undefined;
});

test('the schedule covers every frame, and a lock says who let it go', async (t) => {
	if (off)
		return t.skip(off);
	const { session, ...verdict } = await play(world, program, 'lock', { frames: 20 });
	assert.equal(verdict.lock_let_go_by.name, 'holder', JSON.stringify(verdict.lock_let_go_by));
	assert.ok(verdict.lock_let_go_by.ns > 0.8 * ns(verdict, 'lock'));
	assert.match(verdict.sentence, /bound by lock\. holder let go of locks after \d+\.\d\d ms of waiting, of the longest in guarded\./);
	assert.equal(verdict.lock_let_go_by.zone, 'guarded');
	const held = verdict.frames.filter((one) => one.bound_by === 'lock' && one.lock_let_go_by?.name === 'holder');
	assert.ok(held.length >= 15, `${held.length}`);
	for (const one of held)
		assert.match(one.sentence, /waited for a lock; \d+\.\d\d ms until holder let go of it in guarded/);
	const answer = await world.get(`/api/v1/sessions/${session}/schedule?from=2&to=21`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/schedule', answer), []);
	const { begin_ns: begin, end_ns: end, threads, left_out: left } = JSON.parse(answer.text);
	assert.equal(left, 0);
	for (const { intervals, ...sums } of threads) {
		const of = (state) => intervals.filter((one) => one.state === state);
		const ran = of('running');
		for (const state of ['running', 'runnable', 'blocked', 'unknown'])
			assert.equal(sums[`${state}_ns`], of(state).reduce((sum, one) => sum + one.duration_ns, 0), state);
		assert.equal(sums.switches, ran.filter((one) => one.start_ns + one.duration_ns < end).length);
		assert.equal(sums.migrations, ran.filter((one, i) => i > 0 && one.cpu !== ran[i - 1].cpu).length);
		assert.ok(ran.every((one) => one.by === null || one.by.did === 'ran_before'));
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

test('threads that record nothing are in the schedule, without those that idle', async (t) => {
	if (off)
		return t.skip(off);
	const { session } = await play(world, program, 'mapped', { frames: 10 });
	const answer = await world.get(`/api/v1/sessions/${session}/schedule?from=2&to=11`);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/schedule', answer), []);
	const { threads, begin_ns: begin, end_ns: end } = JSON.parse(answer.text);
	const others = threads.filter(({ thread }) => thread === null);
	assert.ok(others.length >= 8, `${others.length}`);
	assert.equal(new Set(threads.map(({ tid }) => tid)).size, threads.length);
	for (const { intervals, running_ns: ran, runnable_ns: queued } of others) {
		assert.ok(ran + queued > 0, JSON.stringify(intervals));
		assert.equal(intervals.reduce((sum, one) => sum + one.duration_ns, 0), end - begin);
	}
	assert.ok(others.filter((one) => one.thread_name === 'held').length >= others.length / 2, JSON.stringify(others.map((one) => one.thread_name)));
	const { threads: [alone, ...rest] } = await world.api(`/sessions/${session}/schedule?from=2&to=11&thread=${threads[0].thread}`);
	assert.deepEqual([alone.thread, rest], [threads[0].thread, []]);
	return undefined;
});

test('a thread that moves to another CPU in each frame is seen to', async (t) => {
	if (off)
		return t.skip(off);
	if (os.availableParallelism() < 2)
		return t.skip('there is one CPU');
	const missed = (await scheduler()).missed;
	const { session, queued } = await play(world, program, 'move', { frames: 20 });
	// where it was before the first move is not known
	const { threads: [main] } = await world.api(`/sessions/${session}/schedule?from=3&to=21`);
	assert.equal(main.unknown_ns, 0);
	if (queued > 0.1 || (await scheduler()).missed > missed)
		return t.skip('the machine is busy: the kernel did not tell of all switches, or it waited for a CPU');
	assert.equal(main.migrations, 19);
	assert.ok(main.switches >= 19);
	return undefined;
});

/** Where cgroups can be frozen: [the file, what freezes, what thaws] of a new one. */
function freezers() {
	const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n').map((line) => line.split(' '));
	const found = [];
	for (const [, at, type, options] of mounts) {
		const first = type === 'cgroup' && options.split(',').includes('freezer');
		if (type !== 'cgroup2' && !first)
			continue;
		const dir = path.join(at, `fprof-test-${process.pid}`);
		try {
			mkdirSync(dir);
			found.push({ dir, type, ...(first ? { file: 'freezer.state', freeze: 'FROZEN', thaw: 'THAWED' } : { file: 'cgroup.freeze', freeze: '1', thaw: '0' }) });
		} catch { /* not allowed */ }
	}
	return found;
}

test('a thread whose cgroup is frozen is stopped, whatever it did', async (t) => {
	if (off)
		return t.skip(off);
	const places = freezers();
	t.after(() => places.forEach(({ dir }) => rmdirSync(dir)));
	if (places.length === 0)
		return t.skip('no cgroup can be made here');
	for (const { dir, type, file, freeze, thaw } of places) {
		const game = world.spawn(program, ['cpu', '300', '4'], { cwd: world.dir, env: { HELD_MS: '700' } }); // who sleeps may be frozen where it lies
		const { id } = await world.live(game.pid, 20);
		writeFileSync(path.join(dir, 'cgroup.procs'), `${game.pid}`);
		writeFileSync(path.join(dir, file), freeze);
		await new Promise((done) => setTimeout(done, 300));
		writeFileSync(path.join(dir, file), thaw);
		assert.equal((await game.done).code, 0, game.text);
		await judged(world, await world.ended(game.pid), 300);
		const { threads } = await world.api(`/sessions/${id}/schedule?from=2&to=301`);
		const main = threads.find((one) => one.tid === game.pid);
		const stopped = main.intervals.filter((one) => one.reason === 'stopped');
		const longest = Math.max(...main.intervals.filter((one) => one.state === 'blocked').map((one) => one.duration_ns));
		assert.ok(stopped.some((one) => one.duration_ns === longest && longest > 200e6), `${type}: ${JSON.stringify([stopped, longest])}`);
		const { frames } = await world.api(`/sessions/${id}/verdict?from=2&to=301`);
		assert.ok(frames.some((one) => /the frame's thread was stopped/.test(one.sentence)), type);
	}
	return undefined;
});

test('a helper that does nothing any more does not hold fprofd up', async (t) => {
	if (off)
		return t.skip(off);
	const game = world.game(['--frames', '0', '--fps', '100']);
	const { id } = await world.live(game.pid, 2);
	const order = (hz) => world.request('PUT', `/api/v1/sessions/${id}/sampling`,
		{ headers: { 'content-type': 'application/json' }, body: JSON.stringify({ hz }) });
	await order(100);
	const hung = helpers();
	if (hung.length === 0)
		return t.skip('no helper of ours is there');
	hung.forEach((one) => process.kill(one, 'SIGSTOP'));
	const refused = order(300).then(({ text }) => text, String);
	await until('an answer is waited for', async () => (await world.api('/status')).sources
		.some((one) => one.name === 'stacks' && one.reason === 'fprof-probe does not answer'));
	assert.equal((await world.stopDaemon()).code, 0);
	assert.doesNotMatch(await refused, /does not answer/, 'the daemon does not wait for it');
	for (const one of hung)
		assert.throws(() => process.kill(one, 0), { code: 'ESRCH' });
	return undefined;
});
