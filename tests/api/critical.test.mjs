// SPDX-License-Identifier: MIT
// The critical path against truths made on purpose: who a frame waited for, and where.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World, until } from './world.mjs';

const FRAMES = 40;
const MS = 5;
const world = new World();
let program;
let off = false;

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/held.c'));
	off = 'not known yet';
	await play('cap', 5);
	const scheduler = (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
	off = scheduler.state === 'on' ? false : `the scheduler cannot be traced here: ${scheduler.reason}`;
});
after(() => world.close());

/** A game's session and the sum of its frames' paths, once the scheduler was heard to its end. */
async function play(mode, frames = FRAMES) {
	const child = world.spawn(program, [mode, `${frames}`, `${MS}`], { cwd: world.dir });
	const { code, text } = await child.done;
	assert.equal(code, 0, text);
	const { id } = await world.ended(child.pid);
	if (off)
		return { id };
	await until('the last frame is known', async () => {
		const last = await ask(id, `frames/${frames + 1}/critical-path`);
		return last.sources.includes('scheduler') && last.unknown_ns === 0;
	});
	return { id, paths: await ask(id, `critical-path?from=2&to=${frames + 1}`) };
}

/** An answer that fits its schema. */
async function ask(id, what) {
	const answer = await world.get(`/api/v1/sessions/${id}/${what}`);
	const route = what.startsWith('frames/') ? '/frames/{frame}/critical-path' : `/${what.replace(/\?.*/, '')}`;
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(`/api/v1/sessions/{id}${route}`, answer), []);
	return JSON.parse(answer.text);
}

/** Of a game whose threads waited for a CPU the paths are others. */
const queued = (paths) => paths.runnable_ns > 0.1 * paths.range.wall_ns;
const sum = (list, of) => list.reduce((all, one) => all + of(one), 0);
const STATES = ['running_ns', 'runnable_ns', 'blocked_ns', 'gpu_ns', 'unknown_ns'];
const states = (one) => sum(STATES, (name) => one[name]);

/** Everything adds up, of the rows and of each frame's intervals. */
async function exact({ id, paths }) {
	assert.equal(sum(paths.zones, (row) => row.self_ns), paths.range.wall_ns, 'rows add up');
	assert.equal(states(paths), paths.range.wall_ns, 'states add up');
	for (const row of paths.zones)
		assert.equal(states(row), row.self_ns);
	for (let n = paths.range.from; n <= paths.range.to; n += 7) {
		const frame = await ask(id, `frames/${n}/critical-path`);
		let at = frame.start_ns;
		for (const one of frame.intervals) {
			assert.equal(one.start_ns, at, 'intervals touch');
			assert.ok(one.duration_ns >= 0);
			at += one.duration_ns;
		}
		assert.equal(at, frame.start_ns + frame.wall_ns, 'intervals cover the frame');
		assert.equal(states(frame), frame.wall_ns);
	}
}

const of = (paths, thread, name, member) =>
	sum(paths.zones.filter((row) => row.thread_name === thread && row.name === name), (row) => row[member]);

test('a chain of three threads: the path is where the work was', async (t) => {
	if (off)
		return t.skip(off);
	const game = await play('chain');
	const { paths } = game;
	await exact(game);
	// B computes MS, A a tenth of it before and a fifth after, the frame's own thread a moment: as they ran.
	const ran = of(paths, 'B', 'X', 'running_ns');
	const near = (value, ratio, what) =>
		assert.ok(value > 0.7 * ratio * ran && value < 1.5 * ratio * ran, `${what}: ${value / ran} of ${ratio}`);
	assert.ok(ran > 0.9 * FRAMES * MS * 1e6, `X ran for ${ran / 1e6} ms`);
	near(of(paths, 'A', 'prepare', 'running_ns'), 0.1, 'prepare');
	near(of(paths, 'A', 'finish', 'running_ns'), 0.2, 'finish');
	assert.ok(ran / paths.running_ns > 0.65, 'most of what ran is X');
	// nearly all of it was waited for (not what ran while those who wait were on their way to it), so it is gained
	const [x] = paths.zones.filter((row) => row.name === 'X');
	assert.ok(x.gain_ns > 0.7 * x.total_ns && x.gain_ns <= x.total_ns, JSON.stringify(x));
	// what is waited for by threads is never the waiting thread's own
	assert.equal(of(paths, 'held', 'wait for A', 'blocked_ns'), 0);
	assert.equal(of(paths, 'A', 'wait for B', 'blocked_ns'), 0);
	// on a busy machine one that is to be woken may not have slept yet
	const seen = [];
	for (let n = 5; n < 15; n++) {
		const { intervals } = await ask(game.id, `frames/${n}/critical-path`);
		assert.deepEqual([...new Set(intervals.map((one) => one.thread_name))].sort(), ['A', 'B', 'held']);
		seen.push(intervals.filter((one) => one.by?.did === 'woke' && one.by.kind === 'thread').map((one) => `${one.by.name} woke ${one.thread_name}`));
	}
	assert.ok(seen.some((woken) => ['A woke B', 'B woke A', 'A woke held'].every((one) => woken.includes(one))), JSON.stringify(seen));
	return undefined;
});

test('the tool shows the path, and what zones ran and waited', async (t) => {
	if (off)
		return t.skip(off);
	const { id, paths } = await play('chain', 10);
	if (queued(paths))
		return t.skip('the machine is busy: its threads were queued');
	const fprof = async (...args) => {
		const { code, text } = await world.spawn(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${world.port}`, ...args]).done;
		assert.equal(code, 0, text);
		return text.split('\n').map((line) => line.trim().split(/\s{2,}/));
	};
	const sums = await fprof('critical-path', '--session', `${id}`, '--from', '2');
	assert.deepEqual(sums[0].slice(0, 4), ['zone', 'thread', 'self', 'share']);
	assert.deepEqual(sums[1].slice(0, 2), ['X', 'B']);
	const frame = await fprof('critical-path', '--session', `${id}`, '5');
	const rows = frame.slice(1, frame.findIndex((cells) => / rows; frame 5/.test(cells[0])));
	assert.ok(rows.some((cells) => cells.includes('X') && cells.includes('B') && /^running/.test(cells[4])), JSON.stringify(frame));
	for (let i = 1; i < rows.length; i++)
		assert.notDeepEqual(rows[i].slice(2, 4), rows[i - 1].slice(2, 4), 'one thread in one zone is one row');
	assert.ok(frame.some((cells) => /^woken by A/.test(cells.at(-1))), JSON.stringify(frame));
	const zones = await fprof('zones', `${id}`);
	assert.deepEqual(zones[0].slice(3, 6), ['on cpu', 'runnable', 'blocked']);
	return undefined;
});

test('a zone has what its thread ran, queued and was blocked', async (t) => {
	if (off)
		return t.skip(off);
	const { id, paths } = await play('chain');
	const rows = (await ask(id, `zones?view=flat&from=2&to=${FRAMES + 1}`)).zones;
	const row = (name) => rows.find((one) => one.name === name);
	for (const one of rows) {
		assert.ok(one.on_cpu_ns + one.runnable_ns + one.blocked_ns <= one.total_ns, JSON.stringify(one));
		assert.ok(one.self_on_cpu_ns + one.self_runnable_ns + one.self_blocked_ns <= one.self_ns, JSON.stringify(one));
	}
	const x = row('X');
	if (x.runnable_ns > 0.05 * x.total_ns)
		return t.skip('the machine is busy: what computes was queued');
	assert.ok(x.on_cpu_ns + x.runnable_ns > 0.9 * FRAMES * MS * 1e6 && x.on_cpu_ns + x.runnable_ns > 0.98 * x.total_ns, JSON.stringify(x));
	// all of B's X is on the path, to the ns
	const [on_path] = paths.zones.filter((one) => one.name === 'X');
	assert.deepEqual([on_path.running_ns, on_path.runnable_ns], [x.on_cpu_ns, x.runnable_ns]);
	const wait = row('wait for A');
	assert.ok(wait.blocked_ns > 0.5 * wait.total_ns && wait.on_cpu_ns < 0.1 * wait.total_ns, JSON.stringify(wait));
	const { zones: [longest] } = await ask(id, 'zones?view=calls&name=X&limit=1');
	assert.ok(longest.on_cpu_ns + longest.runnable_ns > 0.9 * MS * 1e6 && longest.on_cpu_ns + longest.runnable_ns + longest.blocked_ns <= longest.duration_ns,
		JSON.stringify(longest));
	return undefined;
});

test('what a zone would gain ends where the thread beside it would be waited for', async (t) => {
	if (off)
		return t.skip(off);
	const game = await play('beside');
	const { paths } = game;
	await exact(game);
	const [x] = paths.zones.filter((row) => row.name === 'X');
	assert.ok(x.gain_ns < 0.9 * x.total_ns, JSON.stringify(x));
	// without X the frame's thread would not have been blocked, and that is all
	const { zones } = await ask(game.id, `zones?view=flat&from=2&to=${FRAMES + 1}`);
	const { blocked_ns: blocked } = zones.find((row) => row.name === 'wait for B');
	assert.ok(x.gain_ns <= blocked && x.gain_ns > 0.8 * blocked, `${x.gain_ns} of ${blocked}`);
	for (const row of paths.zones)
		assert.ok(row.gain_ns === null || row.gain_ns <= row.total_ns, JSON.stringify(row));
	return undefined;
});

test('a thread that gets no CPU is runnable on the path, and who had it is told', async (t) => {
	if (off)
		return t.skip(off);
	const game = await play('starve');
	const { paths } = game;
	await exact(game);
	assert.ok(paths.runnable_ns > 0.4 * paths.range.wall_ns, `${paths.runnable_ns / paths.range.wall_ns}`);
	const waited = [];
	for (let n = paths.range.from; n <= paths.range.to; n++)
		waited.push(...(await ask(game.id, `frames/${n}/critical-path`)).intervals.filter((one) => one.state === 'runnable'));
	const told = waited.filter((one) => one.by?.did === 'preempted' && one.by.kind === 'process' && one.by.name);
	assert.ok(sum(told, (one) => one.duration_ns) > 0.8 * paths.runnable_ns, JSON.stringify(waited));
	const rival = waited.filter((one) => one.cpu_had?.name === 'held' && one.cpu_had.process !== one.tid);
	assert.ok(rival.length > 0, 'the rival is among those who had the CPU');
	const verdict = await ask(game.id, `verdict?from=${paths.range.from}&to=${paths.range.to}`);
	assert.deepEqual([verdict.cpu_had_by.kind, verdict.cpu_had_by.name], ['process', 'held']);
	assert.match(verdict.sentence, /held \(process \d+\) had the CPU for \d+\.\d\d ms meanwhile\./);
	const { threads: [main] } = await ask(game.id, `schedule?from=${paths.range.from}&to=${paths.range.to}`);
	assert.ok(main.intervals.some(({ state, by }) => state === 'running' && by?.did === 'ran_before' && by.name === 'held' && by.kind === 'process'));
	return undefined;
});

test('what a thread does to which nothing happens is known all the same', async (t) => {
	if (off)
		return t.skip(off);
	const still = await world.compile(path.join(ROOT, 'tests/api/still.c'));
	const frames = 50;
	const child = world.spawn(still, [`${frames}`, '10'], { cwd: world.dir });
	const { code, text } = await child.done;
	if (code === 77)
		return t.skip('this machine has one CPU');
	assert.equal(code, 0, text);
	const { id } = await world.ended(child.pid);
	const { threads } = await until('both threads are heard of', async () => {
		const all = await ask(id, `schedule?from=${frames / 5}&to=${frames}`);
		return ['runs', 'waits'].every((name) => all.threads.some((one) => one.thread_name === name)) && all;
	});
	const [runs, waits] = ['runs', 'waits'].map((name) => threads.find((one) => one.thread_name === name));
	assert.deepEqual(waits.intervals.map(({ state, reason }) => [state, reason]), [['blocked', 'lock']], JSON.stringify(waits));
	// threads of the kernel come before it, now and then
	const states = new Set(runs.intervals.map(({ state }) => state));
	assert.ok(states.has('running') && [...states].every((one) => ['running', 'runnable'].includes(one)), JSON.stringify(runs));
	const [, switched] = /runs switched (\d+) times/.exec(text).map(Number);
	if (switched > 0)
		return t.skip(`no CPU was its own all the time: it was switched ${switched} times`);
	assert.deepEqual(runs.intervals.map(({ state }) => state), ['running'], JSON.stringify(runs));
	return undefined;
});

test('a sleep is the sleeping thread\'s own, and a timer ended it', async (t) => {
	if (off)
		return t.skip(off);
	for (const [mode, zone, reason, evidence] of [['sleep', 'frame', 'sleep', 'kernel'], ['cap', 'cap', 'cap', 'both']]) {
		const game = await play(mode, 15);
		const { paths } = game;
		await exact(game);
		if (queued(paths))
			return t.skip('the machine is busy: it waited for a CPU after its sleep');
		assert.ok(of(paths, 'held', zone, 'blocked_ns') > 0.9 * paths.blocked_ns, JSON.stringify(paths.zones));
		assert.ok(paths.blocked_ns + paths.unknown_ns > 0.8 * 15 * MS * 1e6, JSON.stringify(paths));
		// whatever is saved before it, the limiter waits for its moment
		const [slept] = paths.zones.filter((row) => row.name === zone);
		assert.ok(slept.gain_ns > 0.8 * paths.blocked_ns, JSON.stringify(slept));
		// a wake in some hundreds is told to nobody, and on a busy machine a switch, too
		const ended = paths.waits_ended_by_ns;
		assert.ok(ended.interrupt > 0.6 * paths.blocked_ns, JSON.stringify(ended));
		assert.ok(ended.interrupt + ended.lost + ended.still > 0.9 * paths.blocked_ns, JSON.stringify(ended));
		const slept_in = []; // on a busy machine it waits for other things, too
		for (const n of [4, 5, 6, 7, 8])
			slept_in.push(...(await ask(game.id, `frames/${n}/critical-path`)).intervals.filter((one) =>
				one.state === 'blocked' && one.duration_ns > MS * 1e6 / 2));
		for (const one of slept_in)
			assert.deepEqual([one.reason, one.evidence], [reason, evidence]);
		assert.ok(slept_in.some((one) => one.by?.did === 'woke' && one.by.kind === 'interrupt'), JSON.stringify(slept_in));
	}
	return undefined;
});

test('a lock leads to the thread that had it', async (t) => {
	if (off)
		return t.skip(off);
	const game = await play('lock', 15);
	await exact(game);
	// it slept with the lock: that is the holder's wait
	assert.ok(sum(game.paths.zones.filter((row) => row.thread_name === 'holder'), (row) => row.blocked_ns) > 0.8 * 15 * MS * 1e6,
		JSON.stringify(game.paths.zones));
	return undefined;
});

test('threads that were just made are followed to who made them, however many have been', async (t) => {
	if (off)
		return t.skip(off);
	const game = await play('spawn', 15);
	const { paths } = game;
	await exact(game);
	assert.ok(of(paths, 'spawned', 'spawned', 'running_ns') > 0.9 * 15 * MS * 1e6, JSON.stringify(paths.zones));
	assert.equal(paths.unknown_ns + paths.waits_ended_by_ns.lost, 0);
	const frame = await ask(game.id, 'frames/10/critical-path');
	assert.ok(frame.intervals.some((one) => one.thread_name === 'spawned' && one.by?.did === 'woke' && one.by.name === 'held'));
	return undefined;
});

test('bad requests are told', async () => {
	const { id } = (await world.api('/sessions')).sessions[0];
	for (const [what, status, parameter] of [['frames/tail/critical-path', 400, 'frame'], ['frames/0/critical-path', 400, 'frame'],
		['frames/99999/critical-path', 404, undefined], ['critical-path?sort=name', 400, 'sort'], ['critical-path?frames=x', 400, 'frames'],
		['critical-path?limit=0', 400, 'limit'], ['critical-path?thread=1', 400, undefined]]) {
		const answer = await world.get(`/api/v1/sessions/${id}/${what}`);
		assert.equal(answer.status, status, `${what}: ${answer.text}`);
		if (parameter)
			assert.equal(JSON.parse(answer.text).parameter, parameter);
	}
});
