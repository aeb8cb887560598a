// SPDX-License-Identifier: MIT
// What moved between two runs: a zone that takes longer, one that is new, one that is gone.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World } from './world.mjs';

const ROUTE = '/api/v1/diff';
const FRAMES = 60;
const SLOWER_MS = 10;
const world = new World();
let a, b, other, deep;

before(async () => {
	await world.startDaemon();
	const program = await world.compile(path.join(ROOT, 'tests/api/compared.c'));
	const play = async (...args) => {
		const game = world.spawn(program, args.map(String));
		assert.equal((await game.done).code, 0);
		return (await world.ended(game.pid)).id;
	};
	a = await play(FRAMES, 0, 10, 'older');
	b = await play(FRAMES, SLOWER_MS, 10, 'newer');
	deep = await play(30, 0, 10, 'older', 300);
	other = (await world.played(['--frames', '30', '--fps', '0', '--zones', '100'])).id;
});
after(() => world.close());

async function diff(query) {
	const answer = await world.get(`${ROUTE}?${query}`);
	assert.deepEqual(answerProblems(ROUTE, answer), []);
	return { http: answer.status, ...JSON.parse(answer.text) };
}

test('a zone that takes longer moved, and leads by its self time', async () => {
	const { moved } = await diff(`a=${a}&b=${b}`);
	const [first] = moved;
	assert.deepEqual(first.path, ['frame', 'work']);
	assert.ok(first.self.delta_ns >= 0.9 * SLOWER_MS * 1e6, `${first.self.delta_ns}`);
	assert.ok(first.self.interval_ns.low > 0 && first.self.interval_ns.low <= first.self.delta_ns);
	assert.equal(first.a_calls, 1);
	assert.equal(first.b_calls, 1);
	// `frame` has it in its total, not in its self time.
	const { moved: byTotal } = await diff(`a=${a}&b=${b}&by=total`);
	const frame = byTotal.find((one) => one.path.length === 1 && one.path[0] === 'frame');
	assert.ok(frame.total.delta_ns >= first.self.delta_ns * 0.9);
	assert.ok(Math.abs(frame.self.delta_ns) < first.self.delta_ns);
});

test('what appeared and what vanished is told apart', async () => {
	const { appeared, vanished, counts } = await diff(`a=${a}&b=${b}`);
	assert.deepEqual(appeared.map((one) => one.path), [['frame', 'newer']]);
	assert.deepEqual(vanished.map((one) => one.path), [['frame', 'older']]);
	assert.equal(counts.appeared, 1);
	assert.equal(counts.vanished, 1);
	const back = await diff(`a=${b}&b=${a}`);
	assert.deepEqual(back.appeared.map((one) => one.path), [['frame', 'older']]);
});

test('the budget comes with intervals, of the frames of play', async () => {
	const answer = await diff(`a=${a}&b=${b}`);
	const wall = answer.budget.find((one) => one.part === 'wall');
	assert.ok(wall.delta_ns >= 0.9 * SLOWER_MS * 1e6);
	assert.ok(wall.moved && wall.interval_ns.low > 0);
	assert.equal(answer.a.runs[0].frames, FRAMES - 1);
	assert.equal(answer.a.runs[0].left_out.startup, 1);
	assert.deepEqual(answer.warnings, []);
	const { frames } = await world.api(`/sessions/${a}/frames?last=3600`);
	const walls = frames.slice(1).map((one) => one.wall_ns);
	assert.ok(Math.abs(wall.a_ns - walls.reduce((sum, one) => sum + one, 0) / walls.length) < 1);
});

test('what was lost of a run is said, in the table too', async () => {
	const answer = await diff(`a=${a}:2-80&b=${b}`);
	assert.deepEqual(answer.lost.map((one) => [one.side, one.run, one.missing_frames, one.events]), [['a', `${a}:2-80`, 20, 0]]);
	assert.deepEqual((await diff(`a=${a}&b=${b}`)).lost, []);
	const table = await world.spawn(path.join(BUILD, 'fprof'), ['diff', `${a}:2-80`, String(b)],
		{ env: { FPROF_URL: `http://127.0.0.1:${world.port}` } }).done;
	assert.match(table.text, /warning: a, run \d+:2-80: 20 frames missing\n/);
});

test('no name of a deep path is left out', async () => {
	const { appeared } = await diff(`a=${a}&b=${deep}&limit=1000`);
	const deepest = appeared.reduce((most, one) => one.path.length > most.length ? one.path : most, []);
	assert.deepEqual(deepest, ['frame', ...Array(300).fill('deep')]);
});

test('a side against itself has no difference', async () => {
	const answer = await diff(`a=${b}&b=${b}&floor_ms=0`);
	assert.deepEqual([answer.moved, answer.appeared, answer.vanished], [[], [], []]);
	assert.ok(answer.budget.every((one) => one.delta_ns === 0 && one.moved === false));
});

test('ranges of one session, and snapshots of them, give the same', async () => {
	for (const [name, from, to] of [['first', 2, 30], ['second', 31, 60]]) {
		const taken = await world.request('POST', '/api/v1/snapshots', { headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ name, session: b, from, to }) });
		assert.equal(taken.status, 201, taken.text);
	}
	const ranges = await diff(`a=${b}:2-30&b=${b}:31-60`);
	const snapshots = await diff('a=first&b=second');
	assert.deepEqual(snapshots.budget, ranges.budget);
	assert.deepEqual(snapshots.moved, ranges.moved);
	assert.deepEqual(snapshots.counts, ranges.counts);
	assert.equal(snapshots.a.runs[0].frames, 29);
});

test('several runs of a side are runs', async () => {
	const answer = await diff(`a=${a},${other}&b=${b}`);
	assert.equal(answer.a.runs.length, 2);
	assert.match(answer.intervals, /^runs/);
	assert.ok(answer.warnings.some((one) => one.differs === 'build' && one.run === String(other)), JSON.stringify(answer.warnings));
});

test('too few frames have no intervals, and do not claim that something moved', async () => {
	const answer = await diff(`a=${a}:2-10&b=${b}:2-10`);
	assert.ok(answer.budget.every((one) => one.interval_ns === null && one.moved === null));
	assert.ok(answer.moved.every((one) => one.self.interval_ns === null));
});

test('rows are limited and counted', async () => {
	const answer = await diff(`a=${other}&b=${b}&limit=2`);
	assert.equal(answer.vanished.length, 2);
	assert.ok(answer.counts.vanished > 2);
	assert.ok(answer.vanished[0].total.a_ns >= answer.vanished[1].total.a_ns);
});

test('unknown names answer 404 with those that there are, wrong parameters 400', async () => {
	const unknown = await diff(`a=${a}&b=third`);
	assert.equal(unknown.http, 404);
	assert.ok(unknown.allowed.includes('first') && unknown.allowed.includes('second'));
	assert.equal((await diff(`a=${a}&b=987654321`)).http, 404);
	assert.equal((await diff(`a=${a}:70-80&b=${b}`)).http, 404);
	for (const [query, parameter] of [[`a=${a}`, 'b'], [`a=&b=${b}`, 'a'], [`a=${a}&b=${b}&by=calls`, 'by'], [`a=${a}&b=${b}&limit=0`, 'limit'],
		[`a=${a}&b=${b}&floor_ms=x`, 'floor_ms'], [`a=${a},,${b}&b=${b}`, 'a']]) {
		const answer = await diff(query);
		assert.equal(answer.http, 400, query);
		assert.equal(answer.parameter, parameter, query);
	}
});

test('fprof diff and fprof snapshot', async () => {
	const fprof = (...args) => world.spawn(path.join(BUILD, 'fprof'), args, { env: { FPROF_URL: `http://127.0.0.1:${world.port}` } }).done;
	const table = await fprof('diff', String(a), String(b));
	assert.equal(table.code, 0, table.text);
	assert.match(table.text, /zones that moved, by self time: \d+\n.*frame > work/);
	const json = await fprof('diff', String(a), String(b), '--json');
	assert.deepEqual(JSON.parse(json.text).moved[0].path, ['frame', 'work']);
	assert.equal((await fprof('diff', String(a), 'third')).code, 1);
	assert.equal((await fprof('diff', String(a))).code, 2);
	const taken = await fprof('snapshot', 'third', '--session', String(a), '--json');
	assert.equal(JSON.parse(taken.text).name, 'third');
	assert.equal((await fprof('diff', String(a), 'third')).code, 0);
});
