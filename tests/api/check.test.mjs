// SPDX-License-Identifier: MIT
// The regression gate: its verdicts and their statuses, over one run, over several, over snapshots.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World, until } from './world.mjs';

const ROUTE = '/api/v1/check';
const FRAMES = 40;
const world = new World();
/** Ids of five runs of 10 steps a frame, and of five of 11. */
const ten = [], eleven = [];
let program;

async function play(...args) {
	const game = world.spawn(program, args.map(String));
	const end = await game.done;
	assert.equal(end.code, 0, end.text);
	return world.ended(game.pid);
}

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/compared.c'));
	for (let run = 0; run < 5; run++) {
		ten.push((await play(FRAMES, 0, 10)).id);
		eleven.push((await play(FRAMES, 0, 11)).id);
	}
});
after(() => world.close());

/** Asks, and holds the answer against the document. */
async function check(query, { session, headers } = {}) {
	const answer = await world.get(`/api/v1${session ? `/sessions/${session}` : ''}/check?${query}`, { headers });
	if (!headers)
		assert.deepEqual(answerProblems(session ? '/api/v1/sessions/{id}/check' : ROUTE, answer), []);
	return { status: answer.status, type: answer.headers['content-type'], text: answer.text,
		...(headers ? {} : JSON.parse(answer.text)) };
}

const snapshot = (body) => world.request('POST', '/api/v1/snapshots',
	{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

test('what was lost before the first frame that is there is lost', async () => {
	world.daemon.kill('SIGSTOP');
	const game = world.game(['--frames', '300', '--fps', '0', '--zones', '2000']);
	await game.done;
	world.daemon.kill('SIGCONT');
	const session = await world.ended(game.pid);
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=600`);
	assert.ok(frames[0].frame > 1 && frames.length > 20, `${frames.length} from ${frames[0].frame} on`);
	const lost = await check('metric=frame.p50&max_ms=60000', { session: session.id });
	assert.equal(lost.status, 409, lost.text);
	assert.equal(lost.conditions[0].reason, 'lost');
	assert.equal((await check('metric=frame.p50&max_ms=60000&allow_loss=yes', { session: session.id })).status, 200);
	const stats = await world.api(`/sessions/${session.id}/stats`);
	assert.equal(stats.range.left_out.startup, 1);
	assert.ok(stats.lost.frames_that_stand_for_several > 0 && stats.lost.events > 0, JSON.stringify(stats.lost));
	assert.deepEqual((await world.api(`/sessions/${session.id}/verdict`)).lost, stats.lost);
	for (const format of ['chrome', 'folded', 'speedscope']) {
		const file = await world.get(`/api/v1/sessions/${session.id}/export?format=${format}`);
		assert.match(file.headers['fprof-lost'], /^\d+ events of \d+ frames were lost as they were recorded$/, format);
	}
});

test('no frame counts twice, however often it is named', async () => {
	const all = `${ten[0]}:2-${FRAMES}`;
	for (const runs of [[ten[0], ten[0], ten[0]], [ten[0], all, `${ten[0]}:5-9`]]) {
		const few = await check(`metric=frame.p99&max_ms=60000&runs=${runs}`);
		assert.equal(few.status, 409, few.text);
		assert.equal(few.conditions[0].reason, 'too_few_frames');
		assert.equal(few.runs[0].frames, (await check(`metric=frame.p50&max_ms=60000&runs=${ten[0]}`)).runs[0].frames);
	}
	for (const [runs, parameter] of [[`runs=${ten[0]}:2-20,${ten[0]}:15-30`, 'runs'],
		[`runs=${ten[1]}&baseline=${ten[0]}:2-20,${ten[0]}:15-30`, 'baseline']]) {
		const answer = await check(`metric=frame.p50${parameter === 'runs' ? '&max_ms=1' : ''}&${runs}`);
		assert.equal(answer.status, 400, answer.text);
		assert.equal(answer.parameter, parameter);
		assert.match(answer.detail, /named before/);
	}
	const diff = await world.get(`/api/v1/diff?a=${ten[0]}:2-20,${ten[0]}:15-30&b=${ten[1]}`);
	assert.equal(diff.status, 400, diff.text);
	assert.equal((await world.get(`/api/v1/diff?a=${ten[0]}&b=${ten[1]}&floor_ms=1e308`)).status, 400);
});

test('a bound passes with 200, fails with 417, and is inconclusive with 409 on too few frames', async () => {
	const pass = await check('metric=frame.p50&max_ms=60000', { session: ten[0] });
	assert.equal(pass.status, 200, pass.text);
	assert.equal(pass.verdict, 'pass');
	assert.equal(pass.conditions[0].reason, 'within');
	assert.ok(pass.conditions[0].interval.low <= pass.conditions[0].value);
	const fail = await check('metric=frame.p50&max_ms=0', { session: ten[0] });
	assert.equal(fail.status, 417);
	assert.equal(fail.conditions[0].reason, 'above');
	const few = await check('metric=frame.p99&max_ms=60000', { session: ten[0] });
	assert.equal(few.status, 409);
	assert.equal(few.conditions[0].reason, 'too_few_frames');
	assert.equal(few.conditions[0].value, null);
	assert.match(few.conditions[0].detail, /needs 100 frames/);
});

test('the startup frame is left out and counted', async () => {
	const { runs } = await check('metric=frame.max&max_ms=60000', { session: ten[0] });
	assert.equal(runs[0].frames, FRAMES - 1);
	assert.equal(runs[0].left_out.startup, 1);
	assert.equal(runs[0].session, ten[0]);
});

test('what zones and counters say is exact', async () => {
	for (const [metric, value] of [['zone:step.calls.mean', 10], ['zone:step.calls.max', 10], ['counter:steps.p50', 10],
		['zone:frame.calls.p95', 1]]) {
		const { conditions } = await check(`metric=${metric}&max=${value}`, { session: ten[0] });
		assert.equal(conditions[0].value, value, metric);
		assert.equal(conditions[0].verdict, 'pass', metric);
		const below = await check(`metric=${metric}&max=${value - 0.5}`, { session: ten[0] });
		assert.equal(below.status, 417, metric);
	}
});

test('a zone\'s total is its self time and that of its children', async () => {
	const value = async (metric) => (await check(`metric=${metric}.mean&max_ms=60000`, { session: ten[1] })).conditions[0].value;
	const total = await value('zone:frame.total');
	const parts = [await value('zone:frame.self'), await value('zone:work'), await value('zone:step'), await value('zone:older')];
	assert.ok(Math.abs(total - parts.reduce((sum, one) => sum + one, 0)) < 1e-6, `${total} ${parts}`);
});

test('five runs against five: one step more fails, the same passes', async () => {
	const fail = await check(`metric=zone:step.calls.mean&runs=${eleven}&baseline=${ten}&tolerance=5%`);
	assert.equal(fail.status, 417, fail.text);
	const [condition] = fail.conditions;
	assert.equal(condition.effect, 1);
	assert.equal(condition.allowance, 0.5);
	assert.ok(Math.abs(condition.test.p - 1 / 252) < 1e-12);
	assert.equal(condition.test.arrangements, 252);
	assert.ok(condition.test.exact);
	assert.equal(condition.runs.length, 5);
	assert.equal(fail.baselines.length, 5);
	const allowed = await check(`metric=zone:step.calls.mean&runs=${eleven}&baseline=${ten}&tolerance=20%`);
	assert.equal(allowed.status, 200, allowed.text);
	const better = await check(`metric=zone:step.calls.mean&runs=${ten}&baseline=${eleven}&tolerance=5%`);
	assert.equal(better.status, 200, better.text);
});

test('fewer than five runs a side are inconclusive, and it says how many it takes', async () => {
	const answer = await check(`metric=zone:step.calls.mean&runs=${eleven.slice(0, 4)}&baseline=${ten}`);
	assert.equal(answer.status, 409);
	assert.equal(answer.conditions[0].reason, 'too_few_runs');
	assert.equal(answer.conditions[0].effect, 1);
	assert.equal(answer.runs_needed, 5);
});

test('several conditions are corrected for each other and fail before they are inconclusive', async () => {
	const two = await check(`runs=${eleven}&baseline=${ten}&metric=zone:step.calls.mean&metric=counter:steps.mean`);
	assert.equal(two.status, 409);
	assert.equal(two.runs_needed, 6);
	assert.deepEqual(two.conditions.map((one) => one.reason), ['too_few_runs', 'too_few_runs']);
	assert.ok(Math.abs(two.conditions[0].test.p_holm - 2 / 252) < 1e-12);
	const mixed = await check(`runs=${eleven}&metric=zone:step.calls.mean&max=10&metric=counter:steps.mean&baseline=${ten}`);
	assert.equal(mixed.status, 417);
	assert.deepEqual(mixed.conditions.map((one) => one.verdict), ['fail', 'fail']);
});

test('two ranges of one start of a game are one run', async () => {
	const parts = ten.flatMap((id) => [`${id}:2-19`, `${id}:20-40`]);
	const answer = await check(`metric=zone:step.calls.mean&max=10&runs=${parts}`);
	assert.equal(answer.status, 200, answer.text);
	assert.equal(answer.runs.length, 5);
	assert.ok(answer.runs.every((one) => one.frames === FRAMES - 1));
});

test('frames that are gone make it inconclusive, unless that is allowed', async () => {
	const query = `metric=zone:step.calls.mean&max=10&runs=${ten[0]}:2-60`;
	const lost = await check(query);
	assert.equal(lost.status, 409);
	assert.equal(lost.conditions[0].reason, 'lost');
	assert.equal(lost.runs[0].missing_frames, 20);
	const allowed = await check(`${query}&allow_loss=yes`);
	assert.equal(allowed.status, 200, allowed.text);
});

test('an open end asks for no frames by number', async () => {
	for (const ends of ['to=25', 'from=10', 'from=1&to=40']) {
		const answer = await check(`metric=frame.p50&max_ms=60000&${ends}`, { session: ten[0] });
		assert.equal(answer.runs[0].missing_frames, 0, answer.text);
		assert.equal(answer.conditions[0].reason === 'lost', false, answer.text);
	}
	const beyond = await check('metric=frame.p50&max_ms=60000&to=50', { session: ten[0] });
	assert.equal(beyond.runs[0].missing_frames, 10);
});

test('checks and statistics say the same of the same frames', async () => {
	const query = 'metric=frame.jitter&max_ms=60000&metric=frame.mean&max_ms=60000&metric=zone:frame.mean&max_ms=60000';
	const { conditions } = await check(query, { session: ten[0] });
	const { metrics } = await world.api(`/sessions/${ten[0]}/stats?from=1&to=${FRAMES}&metric=wall&metric=zone:frame&metric=wait`);
	const [wall, zone, wait] = metrics;
	const near = (ms, ns) => assert.ok(Math.abs(ms * 1e6 - ns) < 1e-3, `${ms} ${ns}`);
	near(conditions[0].value, wall.jitter.mean_ns);
	assert.equal(conditions[0].runs[0].samples, wall.jitter.steps);
	near(conditions[1].value, wall.mean_ns);
	near(conditions[2].value, zone.mean_ns);
	// A game without wait zones waits for nobody knows how long: no number of either.
	const waits = await check('metric=wait.mean&max_ms=60000', { session: ten[0] });
	assert.equal(waits.conditions[0].value, null);
	assert.equal(wait.frames, 0);
	assert.equal(wait.unknown, FRAMES - 1);
});

test('snapshots of a name are the runs of a baseline', async () => {
	for (const session of ten) {
		const taken = await snapshot({ name: 'release', session, seconds: 60 });
		assert.equal(taken.status, 201, taken.text);
		assert.deepEqual(answerProblems('/api/v1/snapshots', taken, 'post'), []);
		assert.equal(JSON.parse(taken.text).frames.last, FRAMES);
	}
	const fail = await check(`metric=zone:step.calls.mean&runs=${eleven}&baseline=release`);
	assert.equal(fail.status, 417, fail.text);
	assert.equal(fail.baselines.length, 5);
	// A snapshot of a session is that session: the same numbers, and the same run.
	const same = await check(`metric=zone:step.calls.mean&runs=${ten}&baseline=release`);
	assert.equal(same.status, 200, same.text);
	assert.ok(same.conditions[0].same_run_on_both_sides);
});

test('a snapshot takes the frames that it is told', async () => {
	const taken = await snapshot({ name: 'part', session: ten[0], from: 5, to: 9 });
	assert.deepEqual(JSON.parse(taken.text).frames, { first: 5, last: 9 });
	assert.deepEqual(JSON.parse(taken.text).asked, { first: 5, last: 9 });
	const less = await snapshot({ name: 'less', session: ten[0], from: 30, to: 90 });
	assert.deepEqual(answerProblems('/api/v1/snapshots', less, 'post'), []);
	assert.deepEqual([JSON.parse(less.text).asked, JSON.parse(less.text).frames], [{ first: 30, last: 90 }, { first: 30, last: FRAMES }]);
	const said = await world.spawn(path.join(BUILD, 'fprof'), ['snapshot', 'less', '--session', String(ten[0]), '--from', '30', '--to', '90'],
		{ env: { FPROF_URL: `http://127.0.0.1:${world.port}` } }).done;
	assert.match(said.text, /only frames 30 to 40 are there/);
	for (const [body, parameter] of [[{}, 'name'], [{ name: '12' }, 'name'], [{ name: 'a,b' }, 'name'], [{ name: 'x', seconds: 0 }, 'seconds'],
		[{ name: 'x', seconds: 'long' }, 'seconds'], [{ name: 'x', from: 3 }, 'to'], [{ name: 'x', from: 5, to: 2 }, 'to'],
		[{ name: 'x', from: 1, to: 2, seconds: 3 }, 'seconds'], [{ name: 'x', frames: 1 }, 'frames']]) {
		const answer = await snapshot(body);
		assert.equal(answer.status, 400, JSON.stringify(body));
		assert.equal(JSON.parse(answer.text).parameter, parameter, answer.text);
	}
	assert.equal((await snapshot({ name: 'x', session: 987654321 })).status, 404);
});

test('a snapshot waits for frames that are not stored yet', async () => {
	const game = world.spawn(program, ['200', '0', '1', 'older', '0', '100']);
	const { id } = await until('the game stands still', async () => (await world.api('/sessions')).sessions
		.find((one) => one.pid === game.pid && one.frames_total === 100));
	const taking = snapshot({ name: 'waited', session: id, from: 2, to: 200 });
	for (let i = 0; i < 10; i++)
		await world.get('/healthz'); // by then it is asked for
	game.kill('SIGCONT');
	const taken = await taking;
	assert.deepEqual(JSON.parse(taken.text).frames, { first: 2, last: 200 }, taken.text);
	await game.done;
});

test('unknown names answer 404 with those that there are', async () => {
	const baseline = await check('metric=frame.mean&baseline=nothing');
	assert.equal(baseline.status, 404);
	assert.ok(baseline.allowed.includes('release'), baseline.text);
	const zone = await check('metric=zone:nothing.mean&max_ms=1', { session: ten[0] });
	assert.equal(zone.status, 404);
	assert.ok(zone.allowed.includes('step') && !zone.allowed.includes('steps'), zone.text);
	assert.equal((await check('metric=zone:steps.calls.mean&max=1', { session: ten[0] })).status, 404, 'a counter is no zone');
	const counter = await check('metric=counter:nothing.mean&max=1', { session: ten[0] });
	assert.deepEqual(counter.allowed, ['steps']);
});

test('what is asked wrongly answers 400 with the parameter', async () => {
	for (const [query, parameter] of [['metric=frame.p99', 'metric'], ['metric=frames.p99&max_ms=1', 'metric'], ['metric=frame.p99&max=1', 'max'],
		['metric=frame.p99&max_ms=x', 'max_ms'], ['metric=frame.p99&baseline=a&tolerance=x', 'tolerance'], ['metric=frame.p99&max_ms=1&allow_loss=2', 'allow_loss'],
		['metric=frame.p99&max_ms=1&last=0', 'last'], ['metric=frame.p99&max_ms=1&from=5&to=3', 'to'], ['metric=frame.p99&max_ms=1&bound=3', 'bound']]) {
		const answer = await check(query, { session: ten[0] });
		assert.equal(answer.status, 400, query);
		assert.equal(answer.parameter, parameter, query);
	}
});

test('JUnit XML on Accept', async () => {
	const xml = async (query, status) => {
		const answer = await check(query, { session: ten[0], headers: { accept: 'application/xml' } });
		assert.equal(answer.status, status);
		assert.equal(answer.type, 'application/xml');
		const parsed = spawnSync('python3', ['-c', 'import sys, xml.etree.ElementTree as e; r = e.fromstring(sys.stdin.buffer.read()); '
			+ 's = r[0]; print(s.get("tests"), s.get("failures"), s.get("errors"), s[0].get("name"))'], { input: answer.text, encoding: 'utf8' });
		assert.equal(parsed.status, 0, parsed.stderr + answer.text);
		return parsed.stdout.trim();
	};
	assert.equal(await xml('metric=frame.p50&max_ms=60000', 200), '1 0 0 frame.p50 at most 60000 ms');
	assert.equal(await xml('metric=frame.p50&max_ms=0', 417), '1 1 0 frame.p50 at most 0 ms');
	assert.equal(await xml('metric=frame.p99&max_ms=1', 409), '1 0 1 frame.p99 at most 1 ms');
});

test('fprof check: the verdict is the exit code', async () => {
	const fprof = (...args) => world.spawn(path.join(BUILD, 'fprof'), ['check', ...args], { env: { FPROF_URL: `http://127.0.0.1:${world.port}` } }).done;
	const session = ['--session', String(ten[0])];
	assert.equal((await fprof('frame.p50<=60000ms', ...session)).code, 0);
	assert.equal((await fprof('frame.p50<=0', ...session)).code, 1);
	assert.equal((await fprof('frame.p99<=60000', ...session)).code, 3);
	assert.equal((await fprof('zone:step.calls.mean', 'baseline=release', 'tolerance=5%', '--runs', eleven.join(','))).code, 1);
	assert.equal((await fprof('frame.p50', 'baseline=nothing', ...session)).code, 2);
	assert.equal((await fprof()).code, 2);
	const below = await fprof('frame.p99<16.7', ...session);
	assert.deepEqual([below.code, /written with <=/.test(below.text)], [2, true], below.text);
	const slow = await fprof('frame.slow_share<=100%', ...session);
	assert.deepEqual([slow.code, /note: frames longer than 16\.7 ms are slow/.test(slow.text)], [0, true], slow.text);
	const lost = await fprof('frame.p50<=60000', '--runs', `${ten[0]}:2-60`);
	assert.match(lost.text, /20 frames are missing, and 0 stand for several\n +try --allow-loss\n/);
	const json = await fprof('frame.p50<=0', '--json', ...session);
	assert.equal(JSON.parse(json.text).verdict, 'fail');
});
