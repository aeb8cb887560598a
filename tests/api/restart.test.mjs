// SPDX-License-Identifier: MIT
// The daemon is killed and started again under a running game: the session goes on, and its ledger balances.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';

import { World } from './world.mjs';

const world = new World();
after(() => world.close());

function databases(dir) {
	return readdirSync(dir, { recursive: true, withFileTypes: false }).map(String)
		.filter((name) => name.endsWith('.db')).map((name) => path.join(dir, name));
}

test('a killed daemon goes on with a game that goes on', async () => {
	await world.startDaemon();
	const game = world.game(['--frames', '0', '--fps', '250', '--zones', '400']);
	let before = await world.live(game.pid, 60);
	for (let round = 0; round < 3; round++) {
		world.daemon.kill('SIGKILL');
		await world.daemon.done;
		await world.startDaemon();
		const now = await world.live(game.pid, before.frames_total + 60);
		assert.equal(now.id, before.id, 'it is the same session');
		before = now;
	}
	game.kill('SIGINT');
	const { text } = await game.done;
	const drawn = Number(/frames=(\d+)/.exec(text)[1]);
	const session = await world.ended(game.pid);
	const { sessions } = await world.api('/sessions');
	assert.deepEqual(sessions.map((one) => one.id), [session.id]);
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
	assert.ok(session.frames_total <= drawn);
	if (session.lost_events === 0)
		assert.equal(session.frames_total, drawn, 'nothing was lost, so every frame is there');
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=3600`);
	assert.equal(new Set(frames.map((one) => one.frame)).size, frames.length);
	assert.equal((await world.stopDaemon()).code, 0);
	const files = databases(world.dir);
	assert.ok(files.length >= 2, `${files}`);
	for (const file of files)
		assert.equal(execFileSync('sqlite3', [file, 'PRAGMA integrity_check'], { encoding: 'utf8' }).trim(), 'ok', file);
});

test('what ended while fprofd was away has not crashed, and what is missing is said', async () => {
	await world.startDaemon();
	const game = world.game(['--frames', '0', '--fps', '250', '--zones', '10']);
	const before = await world.live(game.pid, 60);
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	game.kill('SIGINT');
	await game.done;
	await world.startDaemon();
	const session = await world.ended(game.pid);
	assert.equal(session.id, before.id);
	assert.equal(session.state, 'ended');
	assert.equal(session.end_known, false);
	assert.match(session.end_reason, /^ended while fprofd was not running; how is unknown, and events after \d+ ms are missing$/);
	assert.equal(Number(/(\d+) ms/.exec(session.end_reason)[1]), Math.floor(session.end_ns / 1e6));
	assert.equal(session.threads_active, 0);
	const { threads } = await world.api(`/sessions/${session.id}/threads`);
	assert.ok(threads.length > 1);
	for (const thread of threads)
		assert.ok(thread.end_ns <= session.end_ns && thread.end_ns >= thread.begin_ns, JSON.stringify(thread));
	await world.stopDaemon();
});

test('a game that ends as its daemon comes back is whole', async () => {
	await world.startDaemon();
	const game = world.game(['--frames', '0', '--fps', '250', '--zones', '10']);
	const before = await world.live(game.pid, 60);
	game.kill('SIGSTOP');
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await world.startDaemon();
	game.kill('SIGINT');
	game.kill('SIGCONT');
	const { text } = await game.done;
	const session = await world.ended(game.pid);
	assert.equal(session.id, before.id);
	assert.equal(session.state, 'ended');
	assert.equal(session.end_reason, 'exit');
	assert.equal(session.end_known, true);
	assert.equal(session.lost_events, 0);
	assert.equal(session.frames_total, Number(/frames=(\d+)/.exec(text)[1]));
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
	const { threads } = await world.api(`/sessions/${session.id}/threads`);
	for (const thread of threads)
		assert.notEqual(thread.end_ns, null, thread.name);
	await world.stopDaemon();
});

test('a port that is taken is said, and the daemon ends', async () => {
	await world.startDaemon();
	const other = new World();
	try {
		const second = other.spawnDaemon(['--http', `127.0.0.1:${world.port}`]);
		const { code, text } = await second.done;
		assert.equal(code, 1, text);
		assert.match(text, new RegExp(`port ${world.port} .*taken`));
		assert.match(text, /--http/);
	} finally {
		await other.close();
	}
	assert.equal((await world.get('/healthz')).status, 200);
});

test('an address that is none is said', async () => {
	const other = new World();
	try {
		const { code, text } = await other.spawnDaemon(['--http', 'nonsense:1']).done;
		assert.notEqual(code, 0);
		assert.match(text, /nonsense/);
	} finally {
		await other.close();
	}
});
