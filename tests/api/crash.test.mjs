// SPDX-License-Identifier: MIT
// A game that dies leaves a capture: its last frames, what followed them, how it ended, and what was open on each thread.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { ROOT, World, until } from './world.mjs';

const OPEN = {
	main: ['frame', 'render', 'wait for the loader'],
	loader: ['load level', 'read file', 'decompress'],
};
const world = new World();
let program;

before(async () => {
	// Of the default triggers that for the end alone: on a busy machine a frame before it may be a spike, which it goes on.
	const config = path.join(world.dir, 'conf');
	writeFileSync(config, 'triggers = [{"on": "exit_without_goodbye", "before": 600}]\n');
	await world.startDaemon(['--config', config]);
	program = await world.compile(path.join(ROOT, 'tests/api/dies.c'));
});
after(() => world.close());

/** Lets a game hang after so many frames and kills it; its session. */
async function kill(marks, signal) {
	const game = world.spawn(program, [String(marks)], { env: { ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:handle_segv=0` } });
	await until('the game hangs', () => {
		if (game.exitCode !== null || game.signalCode !== null)
			throw new Error(`it ended: ${game.text}`);
		return game.text.includes('stuck');
	});
	game.kill(signal);
	assert.equal((await game.done).signal, signal);
	return world.ended(game.pid);
}

const crashes = ({ spikes }) => spikes.filter((one) => one.kind === 'crash');

const crashOf = (id) => until(`the crash of ${id} is saved`, async () => {
	const answer = await world.get(`/api/v1/sessions/${id}/spikes`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/spikes', answer), []);
	return crashes(JSON.parse(answer.text)).find((one) => one.state === 'saved');
});

for (const [signal, reason] of [['SIGKILL', /signal 9 \(SIGKILL\)/], ['SIGSEGV', /signal 11 \(SIGSEGV\)/], ['SIGABRT', /signal 6 \(SIGABRT\)/]]) {
	test(`a game killed by ${signal} leaves a crash capture`, async () => {
		const session = await kill(700, signal);
		const crash = await crashOf(session.id);
		assert.match(crash.reason.fired[0].text, reason);
		assert.equal(crash.reason.fired[0].trigger.on, 'exit_without_goodbye');
		assert.deepEqual(crash.frames, { first: 101, last: 700 }, 'its last 600 frames');
		assert.equal(crash.reason.missing, undefined);
		const capture = await world.api(`/sessions/${crash.id}`);
		assert.equal(capture.state, 'crashed');
		assert.match(capture.end_reason, reason);
		const { frames } = await world.api(`/sessions/${crash.id}/frames?last=3600`);
		assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: 600 }, (_, at) => 101 + at));
		const tail = await world.api(`/sessions/${crash.id}/frames/tail`);
		assert.deepEqual(Object.fromEntries(tail.threads.map((one) => [one.name, one.open])), OPEN);
	});
}

test('a game without any mark leaves its tail', async () => {
	const session = await kill(0, 'SIGKILL');
	const crash = await crashOf(session.id);
	assert.equal(crash.frames, null);
	const tail = await world.api(`/sessions/${crash.id}/frames/tail`);
	assert.deepEqual(Object.fromEntries(tail.threads.map((one) => [one.name, one.open])), OPEN);
});

test('a game that is ended in order leaves none', async () => {
	const ended = await world.played(['--frames', '60', '--fps', '0', '--zones', '50']);
	const term = await kill(10, 'SIGTERM');
	const last = await kill(10, 'SIGKILL');
	await crashOf(last.id); // what was before it is settled
	for (const session of [ended, term])
		assert.deepEqual(crashes(await world.api(`/sessions/${session.id}/spikes`)), []);
});

test('of a game killed again and again the newest eight crashes are kept', async () => {
	let last;
	for (let i = 0; i < 9; i++) {
		last = await kill(5 + i, 'SIGKILL');
		await crashOf(last.id);
	}
	// the ninth goes when the new one is there
	let now = [];
	const spikes = await until({ toString: () => `eight are kept: ${now.map(({ id, state, session }) => `${id} ${state} of ${session}`)}; ${world.daemon.text}` },
		async () => (now = crashes(await world.api('/spikes'))).length === 8 && now);
	assert.deepEqual(spikes.map((one) => one.frames.last), [13, 12, 11, 10, 9, 8, 7, 6]);
});
