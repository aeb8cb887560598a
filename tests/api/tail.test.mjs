// SPDX-License-Identifier: MIT
// The unfinished tail: what follows the last mark, with the zones that were open when the game was killed.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { ROOT, World, until } from './world.mjs';

const ROUTE = '/api/v1/sessions/{id}/frames/{frame}';
const OPEN = {
	main: ['frame', 'render', 'wait for the loader'],
	loader: ['load level', 'read file', 'decompress'],
};
const MARKS = 5;
const world = new World();
let program;

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/dies.c'));
});
after(() => world.close());

/** Starts the game and waits until it hangs. */
async function hang(marks) {
	const game = world.spawn(program, [String(marks)]);
	await until('the game hangs', () => {
		if (game.exitCode !== null || game.signalCode !== null)
			throw new Error(`it ended: ${game.text}`);
		return game.text.includes('stuck');
	});
	return game;
}

/** Kills a hanging game with SIGKILL; its session, once that is known. */
async function kill(game) {
	game.kill('SIGKILL');
	assert.equal((await game.done).signal, 'SIGKILL');
	const session = await world.ended(game.pid);
	assert.equal(session.state, 'crashed');
	return session;
}

/** The tail as documented. */
async function tailOf(id, query = '') {
	const answer = await world.get(`/api/v1/sessions/${id}/frames/tail${query}`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(ROUTE, answer), []);
	return JSON.parse(answer.text);
}

const openOf = (tail) => Object.fromEntries(tail.threads.map((one) => [one.name, one.open]));
/** What its zones say by themselves, which must be the same. */
const flaggedOf = (tail) => Object.fromEntries(tail.threads.map((one) =>
	[one.name, one.zones.filter((zone) => zone.flags.includes('open')).map((zone) => zone.name)]));

test('the zones open when a game is killed are those of its tail', async () => {
	const session = await kill(await hang(MARKS));
	assert.equal(session.frames_total, MARKS);
	assert.equal(session.lost_events, 0);
	const tail = await tailOf(session.id);
	assert.deepEqual(openOf(tail), OPEN);
	assert.deepEqual(flaggedOf(tail), OPEN);
	assert.equal(tail.frame, null);
	assert.deepEqual(tail.flags, ['unfinished']);
	assert.equal(tail.truncated, false);
	const last = await world.api(`/sessions/${session.id}/frames/latest`);
	assert.equal(tail.begin_ns, last.begin_ns + last.wall_ns);
	for (const { name, zones } of tail.threads) {
		for (const zone of zones) {
			const label = `${name}: ${zone.name}`;
			assert.equal(zone.flags.includes('open'), OPEN[name].includes(zone.name), label);
			assert.ok(zone.start_ns >= tail.begin_ns && zone.start_ns + zone.duration_ns <= tail.begin_ns + tail.wall_ns, label);
		}
	}
	// Six begins that stay open and three whole leaves.
	const zones = tail.threads.flatMap((one) => one.zones);
	assert.equal(zones.length, 9);
	assert.ok(tail.events >= 12, `${tail.events} events`);
	assert.equal('open' in last.threads[0], false, 'only the tail has it');
});

test('however few zones are asked for, all that are open are said', async () => {
	const { sessions: [session] } = await world.api('/sessions');
	const tail = await tailOf(session.id, '?max_zones=1');
	assert.deepEqual(openOf(tail), OPEN);
	assert.equal(tail.truncated, true);
	assert.equal(tail.threads.reduce((sum, one) => sum + one.zones.length, 0), 1);
});

test('a game without any mark is all tail', async () => {
	const session = await kill(await hang(0));
	assert.equal(session.frames_total, 0);
	assert.equal((await world.get(`/api/v1/sessions/${session.id}/frames/latest`)).status, 404);
	const tail = await tailOf(session.id);
	assert.deepEqual(openOf(tail), OPEN);
	assert.equal(tail.begin_ns, 0);
	assert.deepEqual(tail.flags, ['startup', 'unfinished']);
});

test('a game that hangs shows in what, while it lives', async () => {
	const game = await hang(MARKS);
	const session = await world.live(game.pid, MARKS);
	const tail = await until('its zones are stored', async () => {
		const now = await tailOf(session.id);
		return now.threads.length === 2 && now.threads.every((one) => one.open.length === 3) && now;
	});
	assert.deepEqual(openOf(tail), OPEN);
	assert.equal((await world.api(`/sessions/${session.id}`)).state, 'live');
	await kill(game);
	assert.deepEqual(openOf(await tailOf(session.id)), OPEN);
});

test('what was open survives the daemon', async () => {
	const { sessions: [session] } = await world.api('/sessions');
	assert.equal((await world.stopDaemon()).code, 0);
	await world.startDaemon();
	assert.deepEqual(openOf(await tailOf(session.id)), OPEN);
});

test('a game that ends in order has a tail with nothing open', async () => {
	// Slow enough for the audio thread to mark.
	const session = await world.played(['--frames', '60', '--fps', '60', '--zones', '50']);
	const tail = await tailOf(session.id);
	for (const { name, open, zones } of tail.threads) {
		assert.deepEqual(open, [], name);
		assert.ok(zones.every((zone) => !zone.flags.includes('open')), name);
	}
	const audio = await tailOf(session.id, '?stream=audio');
	assert.equal(audio.stream, 'audio');
	assert.equal((await world.get(`/api/v1/sessions/${session.id}/frames/tail?stream=none`)).status, 404);
});
