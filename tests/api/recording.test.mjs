// SPDX-License-Identifier: MIT
// Stopping, freezing, resuming, clearing, and recording only while somebody wants to see it.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { EventReader, ROOT, World, until } from './world.mjs';

const ROUTE = '/api/v1/sessions/{id}/recording';
const world = new World();
let program, game, id;

const send = (where, method, what, body) => where.request(method, `/api/v1${what}`,
	{ headers: { 'content-type': 'application/json' }, body: body === undefined ? undefined : JSON.stringify(body) });
const recording = (where = world, session = id) => where.api(`/sessions/${session}/recording`);
const put = (state, session = id) => send(world, 'PUT', `/sessions/${session}/recording`, { state });
const session = () => world.api(`/sessions/${id}`);

/** Orders a state and waits until the game has taken it over. */
async function ordered(state) {
	const answer = await put(state);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(ROUTE, answer, 'put'), []);
	assert.equal(JSON.parse(answer.text).state, state);
	return until(`${state} is in force`, async () => {
		const now = await recording();
		return now.in_force === state && now.state === state && now;
	});
}

/** The game's own count of its frames, as it says it. */
const said = (child) => Number(/frame (\d+)\n$/.exec(child.text)?.[1] ?? 0);
const goesOn = async (child, frames) => {
	const from = said(child);
	await until(`the game draws ${frames} more frames`, () => said(child) >= from + frames);
};

function balances({ ledger }) {
	assert.equal(ledger.produced, ledger.received + ledger.overwritten);
	assert.equal(ledger.received, ledger.stored + ledger.discarded);
}

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/controlled.c'));
	game = world.spawn(program, []);
	({ id } = await world.live(game.pid, 30));
});
after(() => world.close());

test('a session records from its first event on', async () => {
	const now = await recording();
	assert.deepEqual([now.live, now.state, now.in_force, now.on_demand, now.consumers], [true, 'recording', 'recording', false, 0]);
	assert.equal((await session()).recording_state, 'recording');
	assert.equal((await world.api('/status')).recording_state, 'recording');
});

test('freezing takes effect at a frame boundary, and nothing comes after it', async () => {
	const now = await ordered('frozen');
	await goesOn(game, 60);
	const frozen = await until('the row says frozen', async () => {
		const one = await session();
		return one.recording_state === 'frozen' && one;
	});
	assert.equal(frozen.frames_total, now.from_frame - 1);
	assert.equal((await world.api('/status')).recording_state, 'stopped');
	await goesOn(game, 30);
	const later = await session();
	assert.equal(later.frames_total, frozen.frames_total);
	assert.equal(later.ledger.stored, frozen.ledger.stored);
	balances(later);
});

test('scopes that were open there are flagged truncated, in the last frame', async () => {
	const { frames_total } = await session();
	const frame = await world.api(`/sessions/${id}/frames/${frames_total}`);
	const zones = new Map(frame.threads.flatMap((thread) => thread.zones.map((zone) => [`${thread.name}/${zone.name}`, zone])));
	for (const name of ['worker/forever', 'main/game'])
		assert.ok(zones.get(name).flags.includes('truncated'), `${name}: ${zones.get(name).flags}`);
	assert.ok(!zones.get('main/frame').flags.includes('truncated'), 'what ended before is whole');
	const tail = await world.api(`/sessions/${id}/frames/tail`);
	assert.deepEqual(tail.threads.flatMap((thread) => thread.open ?? []), []);
});

test('resuming begins with a paused frame; frames are numbered on', async () => {
	const before = await session();
	const now = await ordered('recording');
	await until('frames come again', async () => (await session()).frames_total >= now.from_frame + 20);
	const { frames } = await world.api(`/sessions/${id}/frames?from=${before.frames_total + 1}`);
	assert.ok(frames[0].flags.includes('paused'), `${frames[0].flags}`);
	assert.ok(frames[0].frame > before.frames_total + 60);
	assert.ok(frames.slice(1).every((one) => !one.flags.includes('paused')));
	for (const one of frames)
		assert.equal(one.frame, one.engine_id);
	const detail = await world.api(`/sessions/${id}/frames/${frames[5].frame}`);
	assert.deepEqual([...new Set(detail.threads.find((one) => one.name === 'main').zones.map((zone) => zone.name))].sort(),
		['draw/call', 'frame', 'render', 'step', 'update']);
});

test('the ends of the scopes that were truncated are no mistakes', async () => {
	const other = world.spawn(program, []);
	const { id: its } = await world.live(other.pid, 20);
	for (const state of ['stopped', 'recording']) {
		assert.equal((await put(state, its)).status, 200);
		await until(state, async () => (await recording(world, its)).in_force === state);
	}
	await world.live(other.pid, (await world.api(`/sessions/${its}`)).frames_total + 20);
	world.daemon.kill('SIGSTOP');
	other.kill('SIGTERM');
	await other.done;
	const asked = world.api(`/sessions/${its}`);
	await new Promise((resolve) => { setTimeout(resolve, 50); }); // it is on its way, or not: the answer is the same
	world.daemon.kill('SIGCONT');
	const ended = await asked;
	assert.equal(ended.state, 'ended', 'who has waited for a game sees its end');
	assert.equal(ended.losses.repaired.stray_end, 0);
	assert.equal(ended.losses.repaired.unbalanced_end, 0);
	const truncated = ended.losses.repaired.truncated_zone;
	assert.ok(truncated === 2 || truncated === 3, `main/game and worker/forever, once, and a part where one was open: ${truncated}`);
	balances(ended);
	const { lost } = await world.api(`/sessions/${its}/stats`);
	assert.ok(Object.values(lost).every((count) => count === 0), `what was ordered is no loss: ${JSON.stringify(lost)}`);
	const gate = await world.get(`/api/v1/sessions/${its}/check?metric=frame.p50&max_ms=60000`);
	assert.equal(gate.status, 200, gate.text);
	const { losses } = await world.api('/status');
	assert.ok(losses.truncated_zones >= truncated && losses.truncated_zones <= losses.malformed_scopes, JSON.stringify(losses));
	const answer = await put('recording', its);
	assert.equal(answer.status, 409);
	assert.equal(JSON.parse(answer.text).type, '/problems/not-live');
	assert.equal((await send(world, 'POST', `/sessions/${its}/clear`)).status, 409);
	const last = await recording(world, its);
	assert.deepEqual([last.session, last.live, last.state, last.in_force, last.from_frame, last.waits_for_consumer, last.consumers],
		[its, false, 'stopped', 'stopped', null, false, 0]);
});

test('clear empties the history and keeps recording and markers', async () => {
	const before = await session();
	assert.ok(before.rows.first === 1);
	const { categories } = await world.api(`/sessions/${id}/detail`);
	const answer = await send(world, 'POST', `/sessions/${id}/clear`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/clear', answer, 'post'), []);
	assert.equal(JSON.parse(answer.text).state, 'recording');
	const now = await session();
	assert.ok(now.rows === null || now.rows.first > before.rows.last, 'no old frame is left');
	assert.equal((await world.get(`/api/v1/sessions/${id}/frames/${before.rows.last}`)).status, 404);
	await until('new frames come', async () => (await session()).frames_retained >= 10);
	const later = await session();
	assert.ok(later.frames_total > before.frames_total, 'numbers go on');
	assert.deepEqual((await world.api(`/sessions/${id}/detail`)).categories, categories);
	const { threads } = await world.api(`/sessions/${id}/threads`);
	assert.ok(['main', 'worker'].every((name) => threads.some((one) => one.name === name)));
	balances(later);
});

test('clear of a frozen session stops it, clear of a stopped one leaves it so', async () => {
	await ordered('frozen');
	const answer = await send(world, 'POST', `/sessions/${id}/clear`);
	assert.equal(JSON.parse(answer.text).state, 'stopped');
	await until('stopped is in force', async () => (await recording()).in_force === 'stopped');
	let now = await session();
	assert.deepEqual([now.rows, now.frames_retained], [null, 0]);
	assert.equal(JSON.parse((await send(world, 'POST', `/sessions/${id}/clear`)).text).state, 'stopped');
	const frozen = await put('frozen');
	assert.equal(frozen.status, 409);
	assert.deepEqual(answerProblems(ROUTE, frozen, 'put'), []);
	assert.equal(JSON.parse(frozen.text).type, '/problems/not-recording');
	await goesOn(game, 30);
	now = await session();
	assert.equal(now.rows, null);
	await ordered('recording');
	await until('frames come', async () => (await session()).frames_retained >= 10);
});

test('what is no state, and what is no session, is refused', async () => {
	for (const [body, parameter] of [[{ state: 'paused' }, 'state'], [{ state: 1 }, 'state'], [{}, 'state'],
		[{ state: 'stopped', also: 1 }, 'also']]) {
		const answer = await send(world, 'PUT', `/sessions/${id}/recording`, body);
		assert.equal(answer.status, 400, JSON.stringify(body));
		assert.deepEqual(answerProblems(ROUTE, answer, 'put'), []);
		assert.equal(JSON.parse(answer.text).parameter, parameter);
	}
	for (const text of ['', '{', '[]', 'null', '{"state":"stopped","state":"recording"}', '{"state":"stop\\u0000ped"}']) {
		const answer = await world.request('PUT', `/api/v1/sessions/${id}/recording`, { body: text });
		assert.equal(answer.status, 400, text);
	}
	for (const what of ['recording', 'clear'])
		assert.equal((await send(world, what === 'clear' ? 'POST' : 'PUT', `/sessions/999/${what}`, { state: 'stopped' })).status,
			what === 'clear' ? 400 : 404);
	assert.equal((await send(world, 'POST', '/sessions/999/clear')).status, 404);
	assert.equal((await recording()).state, 'recording');
});

test('the stream tells of each change, as ordered and as taken over', async () => {
	const reader = await EventReader.open(world, `?session=${id}`);
	await until('the stream flows', () => reader.of('frame').length > 0);
	assert.equal((await recording()).consumers, 1, 'an open stream is a consumer');
	for (const state of ['stopped', 'recording', 'frozen', 'recording']) {
		await ordered(state);
		await until(`a state event says ${state}`, () => {
			const last = reader.of('state').at(-1)?.data;
			return last?.in_force === state && last.state === state;
		});
	}
	assert.ok(reader.of('state').every((event) => event.data.session === id));
	await reader.close();
});

test('a restarted daemon goes on with what was ordered', async () => {
	await ordered('frozen');
	const before = await until('the last frames are stored', async () => {
		const one = await session();
		return one.frames_total === (await recording()).from_frame - 1 && one;
	});
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await world.startDaemon();
	await until('the session is taken up again', async () => (await recording()).live);
	const now = await recording();
	assert.deepEqual([now.state, now.in_force], ['frozen', 'frozen']);
	await goesOn(game, 40);
	const later = await session();
	assert.equal(later.frames_total, before.frames_total);
	assert.deepEqual(later.retained, before.retained);
	await ordered('recording');
	await until('frames come', async () => (await session()).frames_total > before.frames_total + 20);
	balances(await session());
});

test('on demand a session is recorded while a consumer holds it', async () => {
	const quiet = new World();
	try {
		const config = path.join(quiet.dir, 'fprofd.conf');
		writeFileSync(config, 'on_demand = yes\n');
		await quiet.startDaemon(['--config', config]);
		const child = quiet.spawn(program, []);
		const its = (await until('the session is there', async () => (await quiet.api('/sessions')).sessions[0])).id;
		const force = (state) => until(`${state} is in force`, async () => (await recording(quiet, its)).in_force === state);
		await force('stopped');
		const waiting = await recording(quiet, its);
		assert.deepEqual([waiting.state, waiting.on_demand, waiting.waits_for_consumer], ['recording', true, true]);

		const taken = await send(quiet, 'POST', '/consumers', { session: its, lease_s: 600 });
		assert.equal(taken.status, 201, taken.text);
		assert.deepEqual(answerProblems('/api/v1/consumers', taken, 'post'), []);
		const { token } = JSON.parse(taken.text);
		await force('recording');
		const renewed = await send(quiet, 'PUT', `/consumers/${token}`, { lease_s: 300 });
		assert.deepEqual(answerProblems('/api/v1/consumers/{name}', renewed, 'put'), []);
		assert.deepEqual(JSON.parse(renewed.text), { token, session: its, lease_s: 300 });
		const released = await send(quiet, 'DELETE', `/consumers/${token}`);
		assert.deepEqual(answerProblems('/api/v1/consumers/{name}', released, 'delete'), []);
		await force('stopped');
		assert.equal((await send(quiet, 'PUT', `/consumers/${token}`)).status, 404);
		assert.equal((await send(quiet, 'DELETE', `/consumers/${token}`)).status, 404);

		await send(quiet, 'POST', '/consumers', { session: 'current', lease_s: 1 });
		await force('recording');
		await force('stopped');
		assert.equal((await recording(quiet, its)).consumers, 0, 'its lease ran out');

		const reader = await EventReader.open(quiet);
		await force('recording');
		await until('the stream flows', () => reader.of('frame').length > 0);
		await reader.close();
		await force('stopped');

		for (const [body, parameter] of [[{ session: its, lease_s: 0 }, 'lease_s'], [{ session: its, lease_s: 3601 }, 'lease_s'],
			[{ lease_s: 5 }, 'session'], [{ session: its, until: 5 }, 'until']]) {
			const answer = await send(quiet, 'POST', '/consumers', body);
			assert.equal(answer.status, 400, answer.text);
			assert.equal(JSON.parse(answer.text).parameter, parameter);
		}
		assert.equal((await send(quiet, 'POST', '/consumers', { session: 999 })).status, 404);
		const now = await quiet.api(`/sessions/${its}`);
		balances(now);
		assert.equal(now.losses.repaired.stray_end, 0);
		child.kill('SIGTERM');
		await child.done;
	} finally {
		await quiet.close();
	}
});
