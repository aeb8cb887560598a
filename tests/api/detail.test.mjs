// SPDX-License-Identifier: MIT
// Levels of detail by path, and masked categories: what is ordered is what the game records.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { ROOT, World, until } from './world.mjs';

const ROUTE = '/api/v1/sessions/{id}/detail';
const world = new World();
let game, id;

const put = (body) => world.request('PUT', `/api/v1/sessions/${id}/detail`,
	{ headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const reading = async (what = '') => {
	const answer = await world.get(`/api/v1/sessions/${id}/detail${what}`);
	assert.deepEqual(answerProblems(ROUTE, answer), []);
	return answer;
};
const detail = async (what) => JSON.parse((await reading(what)).text);

async function order(body) {
	const answer = await put(body);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(ROUTE, answer, 'put'), []);
	return JSON.parse(answer.text);
}

async function refused(body, status, type) {
	const answer = await put(body);
	assert.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`);
	assert.deepEqual(answerProblems(ROUTE, answer, 'put'), []);
	const problem = JSON.parse(answer.text);
	assert.equal(problem.type, `/problems/${type}`);
	return problem;
}

/** The zones of the main thread in its newest frame, as names with their depth. */
async function zones(thread = 'main') {
	const frame = await world.api(`/sessions/${id}/frames/latest`);
	const found = frame.threads.find((one) => one.name === thread)?.zones ?? [];
	return found.map((zone) => zone.name).sort();
}

const ALL = ['draw/call', 'draw/call', 'draw/call', 'frame', 'game', 'render', 'step', 'update'];
const records = (what, thread) => until(`${thread ?? 'main'} records ${what}`,
	async () => (await zones(thread)).join() === [...what].sort().join());

before(async () => {
	await world.startDaemon();
	const program = await world.compile(path.join(ROOT, 'tests/api/controlled.c'));
	game = world.spawn(program, []);
	({ id } = await world.live(game.pid, 50));
	await records(ALL);
});
after(() => world.close());

test('without orders everything is recorded, and the default says so', async () => {
	const now = await detail();
	assert.deepEqual([now.default, now.levels, now.node], [2, [], null]);
	assert.deepEqual(now.categories.map((one) => [one.category, one.masked]).sort(), [['graphics', false], ['physics', false]]);
});

test('an own level is told apart from an inherited one', async () => {
	await order({ path: ['main', 'game', 'frame'], level: 0 });
	assert.deepEqual((await detail('?path=main/game/frame')).node,
		{ path: ['main', 'game', 'frame'], own: 0, in_force: 0, from: ['main', 'game', 'frame'] });
	assert.deepEqual((await detail('?path=main/game/frame/render')).node,
		{ path: ['main', 'game', 'frame', 'render'], own: null, in_force: 0, from: ['main', 'game', 'frame'] });
	assert.deepEqual((await detail('?path=main&path=game')).node, { path: ['main', 'game'], own: null, in_force: 2, from: null });
	assert.deepEqual((await detail()).levels.map((one) => [one.path.join(), one.own]), [['main,game,frame', 0]]);
});

test('a level governs what is below its node; landmarks are always recorded', async () => {
	await records(['frame', 'game']);
	await records(['forever', 'part'], 'worker');
	await order({ path: ['main', 'game', 'frame'], level: 1 });
	await records(['frame', 'game', 'render', 'update']);
});

test('a level below another one wins for what is below it', async () => {
	const now = await order({ path: 'main/game/frame/render', level: 2 });
	assert.deepEqual(now.levels.map((one) => [one.path.join(), one.own]), [['main,game,frame', 1], ['main,game,frame,render', 2]]);
	assert.deepEqual(now.node.from, ['main', 'game', 'frame', 'render']);
	await records(['draw/call', 'draw/call', 'draw/call', 'frame', 'game', 'render', 'update']);
});

test('a level goes, and what was inherited holds again', async () => {
	const now = await order({ path: ['main', 'game', 'frame'], level: null });
	assert.deepEqual(now.node, { path: ['main', 'game', 'frame'], own: null, in_force: 2, from: null });
	await order({ path: ['main', 'game', 'frame', 'render'], level: 0 });
	await records(['frame', 'game', 'render', 'step', 'update']);
	await order({ path: ['main', 'game', 'frame', 'render'], level: null });
	await records(ALL);
	assert.deepEqual((await detail()).levels, []);
});

test('a thread, and the session as a whole, are nodes too', async () => {
	await order({ path: ['worker'], level: 0 });
	await records(['forever'], 'worker');
	await records(ALL);
	assert.equal((await order({ path: [], level: 1 })).default, 1);
	await records(['frame', 'game', 'render', 'update']);
	await records(['forever'], 'worker');
	await order({ path: ['worker'], level: null });
	await records(['forever', 'part'], 'worker');
	assert.equal((await order({ path: [], level: null })).default, 2);
	await records(ALL);
});

test('a masked category is left out, everything else is not', async () => {
	let now = await order({ category: 'physics', masked: true });
	assert.ok(now.categories.find((one) => one.category === 'physics').masked);
	await records(ALL.filter((name) => name !== 'update' && name !== 'step'));
	await order({ category: 'graphics', masked: true });
	await records(['frame', 'game']);
	await order({ category: 'physics', masked: false });
	await records(['frame', 'game', 'step', 'update']);
	now = await order({ category: 'graphics', masked: false });
	assert.ok(now.categories.every((one) => !one.masked));
	await records(ALL);
});

test('names with slashes are found where that is unambiguous', async () => {
	const now = await order({ path: 'main/game/frame/render/draw/call', level: 1 });
	assert.deepEqual(now.node.path, ['main', 'game', 'frame', 'render', 'draw/call']);
	await order({ path: ['main', 'game', 'frame', 'render', 'draw/call'], level: null });
});

test('an unknown path is answered with the names that stand in its place', async () => {
	const wrong = await refused({ path: 'main/game/frame/rendr', level: 1 }, 404, 'unknown-path');
	assert.equal(wrong.parameter, 'path');
	assert.deepEqual([...wrong.allowed].sort(), ['render', 'update']);
	assert.equal(wrong.allowed[0], 'render', 'the nearest first');
	assert.equal((await refused({ path: ['mian'], level: 1 }, 404, 'unknown-path')).allowed[0], 'main');
	assert.equal((await refused({ path: ['main', 'game', 'render'], level: 1 }, 404, 'unknown-path')).allowed[0], 'frame',
		'a zone that stands elsewhere does not stand here');
	assert.equal((await refused({ path: ['main', 'game', 'frame', 'render', 'draw'], level: null }, 404, 'unknown-path')).allowed[0],
		'draw/call');
	assert.equal((await reading('?path=main/gmae')).status, 404);
	assert.equal((await refused({ category: 'phisics', masked: true }, 404, 'unknown-category')).allowed[0], 'physics');
	assert.deepEqual((await detail()).levels, []);
});

test('a body that is neither form is refused, naming what is wrong', async () => {
	for (const [body, parameter] of [[{ path: ['main'], level: 3 }, 'level'], [{ path: ['main'], level: 1.5 }, 'level'],
		[{ path: ['main'], level: '1' }, 'level'], [{ path: [1], level: 1 }, 'path'], [{ path: 7, level: 1 }, 'path'],
		[{ path: Array(33).fill('main'), level: 1 }, 'path'], [{ category: '', masked: true }, 'category'],
		[{ category: 'physics', masked: 1 }, 'masked']])
		assert.equal((await refused(body, 400, 'bad-parameter')).parameter, parameter, JSON.stringify(body));
	for (const body of [{}, { path: ['main'] }, { level: 1 }, { category: 'physics' }, { path: ['main'], level: 1, category: 'physics', masked: true }])
		await refused(body, 400, 'bad-body');
	await refused({ path: ['main'], level: 1, more: 1 }, 400, 'unknown-parameter');
	assert.deepEqual((await detail()).levels, []);
});

test('a restarted daemon goes on with what was ordered', async () => {
	await order({ path: ['main', 'game', 'frame'], level: 1 });
	await order({ category: 'physics', masked: true });
	await records(['frame', 'game', 'render']);
	const before = await detail();
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await world.startDaemon();
	await until('the session is taken up again', async () => (await detail()).live);
	assert.deepEqual(await detail(), before);
	const { frames_total } = await world.api(`/sessions/${id}`);
	await until('frames come', async () => (await world.api(`/sessions/${id}`)).frames_total > frames_total + 20);
	assert.deepEqual(await zones(), ['frame', 'game', 'render']);
	await order({ category: 'physics', masked: false });
	await order({ path: ['main', 'game', 'frame'], level: null });
	await records(ALL);
});

test('of a session that has ended the last orders are read, and none is taken', async () => {
	await order({ path: ['main', 'game', 'frame'], level: 1 });
	await until('the order is stored', async () => (await zones()).length === 4);
	game.kill('SIGTERM');
	await game.done;
	const ended = await world.ended(game.pid);
	const now = await detail();
	assert.deepEqual([now.live, now.levels.map((one) => one.own)], [false, [1]]);
	await refused({ path: ['main'], level: 1 }, 409, 'not-live');
	await refused({ category: 'physics', masked: true }, 409, 'not-live');
	const { repaired } = ended.losses;
	assert.deepEqual([repaired.stray_end, repaired.unbalanced_end, repaired.truncated_zone], [0, 0, 0]);
	assert.equal(ended.ledger.received, ended.ledger.stored + ended.ledger.discarded);
});
