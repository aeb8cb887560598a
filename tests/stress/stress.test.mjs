// SPDX-License-Identifier: MIT
// Games and machines at their worst, against the real daemon. After each, the ledger of the session must balance and
// say what the game made: produced = received + overwritten, received = stored + discarded.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BUILD, until, World } from '../api/world.mjs';

const MISBEHAVE = path.join(BUILD, 'tests/stress/misbehave');
const SEED = 20;

/** A random sequence that is the same in every run. */
function* random(seed) {
	let state = BigInt(seed);
	for (;;) {
		state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
		yield Number(state >> 33n) / 2 ** 31;
	}
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function balanced(session) {
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.equal(produced, received + overwritten, `produced = received + overwritten: ${JSON.stringify(session.ledger)}`);
	assert.equal(received, stored + discarded, `received = stored + discarded: ${JSON.stringify(session.ledger)}`);
}

/** Plays and returns the ended session and what the game says that it made. */
async function misbehave(world, what, n) {
	const game = world.spawn(MISBEHAVE, [what, String(n)]);
	const end = await game.done;
	assert.deepEqual([end.code, end.signal], [0, null], end.text);
	const session = await world.ended(game.pid);
	balanced(session);
	return { session, made: Number(/events (\d+)/.exec(end.text)[1]) };
}

/** All that the game made, a begin and an end of each thread that ended, and the begin of main's: no event more or less. */
function accounted(session, made, ended) {
	assert.equal(session.ledger.produced, made + 2 * ended + 1, JSON.stringify(session.ledger));
}

/** Every database of a directory is whole. */
function integrity(dir) {
	let seen = 0;
	for (const name of readdirSync(dir, { recursive: true }))
		if (name.endsWith('.db')) {
			seen++;
			assert.equal(execFileSync('sqlite3', ['-readonly', path.join(dir, name), 'PRAGMA integrity_check'],
				{ encoding: 'utf8' }).trim(), 'ok', name);
		}
	assert.ok(seen > 0, `no database in ${dir}`);
}

describe('games that misbehave', () => {
	const world = new World();
	before(() => world.startDaemon());
	after(() => world.close());

	test('300 threads at once', async () => {
		const { session, made } = await misbehave(world, 'threads', 300);
		assert.equal(session.losses.refused.threads, 0);
		accounted(session, made, 300);
		assert.equal(session.frames_total, 1);
	});

	test('more threads than slots: the rest is refused and counted', async () => {
		const { session } = await misbehave(world, 'threads', 600);
		assert.ok(session.losses.refused.threads >= 600 - 512, JSON.stringify(session.losses.refused));
	});

	test('100,000 dynamic names: what is refused is counted', async () => {
		const { session } = await misbehave(world, 'names', 100_000);
		const { names, markers } = session.losses.refused;
		assert.ok(names + markers > 0);
		// Each name was a zone or a refusal.
		assert.ok(session.ledger.produced / 2 + names + markers >= 100_000,
			`${session.ledger.produced} events, ${names} names and ${markers} markers refused`);
	});

	test('a frame mark in a tight loop: each is a frame, received or lost', async () => {
		const { session, made } = await misbehave(world, 'tight', 300_000);
		accounted(session, made, 0);
		assert.equal(session.frames_total, 300_000);
	});

	test('a game that closes all its descriptors keeps its frames', async () => {
		const { session, made } = await misbehave(world, 'closefds', 400);
		accounted(session, made, 0);
		assert.equal(session.frames_total, 400);
		assert.equal(session.lost_events, 0);
	});

	test('the daemon stands still while 8 writers run and threads come and go', async () => {
		const free = world.spawn(MISBEHAVE, ['churn', '20000']);
		const undisturbed = await free.done;
		assert.equal(undisturbed.code, 0, undisturbed.text);
		world.daemon.kill('SIGSTOP');
		let session;
		const game = world.spawn(MISBEHAVE, ['churn', '20000']);
		try {
			// It ends although nobody reads: a writer that waited would never end.
			const end = await game.done;
			assert.deepEqual([end.code, end.signal], [0, null], end.text);
		} finally {
			world.daemon.kill('SIGCONT');
		}
		session = await until('the stopped session has ended', async () =>
			(await world.api('/sessions')).sessions.find((one) => one.pid === game.pid && one.state !== 'live'))
			.catch(() => undefined);
		// A game that came and went while the daemon stood still left its memory in the socket.
		assert.ok(session, 'its session was lost');
		balanced(session);
		accounted(session, Number(/events (\d+)/.exec(game.text)[1]), 8 * 20);
	});

	test('the daemon stands still in the middle of a game: loss is exact', async () => {
		const game = world.spawn(MISBEHAVE, ['churn', '100000']);
		await until('the game is seen', async () =>
			(await world.api('/sessions')).sessions.find((one) => one.pid === game.pid));
		world.daemon.kill('SIGSTOP');
		const end = await game.done;
		world.daemon.kill('SIGCONT');
		assert.equal(end.code, 0, end.text);
		const session = await world.ended(game.pid);
		balanced(session);
		accounted(session, Number(/events (\d+)/.exec(end.text)[1]), 8 * 20);
		assert.ok(session.ledger.overwritten > 0, 'the rings were not lapped');
		assert.equal(session.frames_total, 8);
	});

	test('the daemon stands still: frames beside 8 writers wait for nothing and cost no more', async (t) => {
		const frames = async (stop) => {
			const game = world.spawn(MISBEHAVE, ['frames', '2000']);
			await until('the game has begun its frames', () => /begun/.test(game.text));
			if (stop)
				world.daemon.kill('SIGSTOP');
			const end = await game.done;
			if (stop)
				world.daemon.kill('SIGCONT');
			assert.deepEqual([end.code, end.signal], [0, null], end.text);
			const found = /frames (\d+) waits (\d+) cpu_us ([\d.]+) p50_us ([\d.]+) p99_us ([\d.]+)/.exec(end.text);
			const [count, waits, cpu, p50, p99] = found.slice(1).map(Number);
			t.diagnostic(`${stop ? 'stopped' : 'undisturbed'}: ${count} frames, p50 ${p50} us, p99 ${p99} us, ` +
				`CPU time ${cpu} us a frame, ${waits} waits`);
			balanced(await world.ended(game.pid));
			return { count, waits, cpu };
		};
		const undisturbed = await frames(false);
		const stopped = await frames(true);
		// Wall time is whatever others leave of the machine; waits and CPU time are the game's own.
		assert.ok(stopped.count > 100, `${stopped.count} frames`);
		assert.ok(stopped.waits < stopped.count / 10, `${stopped.waits} waits in ${stopped.count} frames`);
		assert.ok(stopped.cpu <= 2 * undisturbed.cpu, `${stopped.cpu} us a frame, undisturbed ${undisturbed.cpu} us`);
	});
});

describe('kill -9', () => {
	const world = new World();
	const draw = random(SEED);
	before(() => world.startDaemon());
	after(() => world.close());

	test('of the game, at 8 moments', async () => {
		for (let round = 0; round < 8; round++) {
			const game = world.game(['--frames', '0', '--cap', '--zones', '2000']);
			await world.live(game.pid, 0);
			await sleep(400 * draw.next().value);
			game.kill('SIGKILL');
			await game.done;
			const session = await world.ended(game.pid);
			assert.equal(session.state, 'crashed');
			assert.match(session.end_reason, /SIGKILL/);
			balanced(session);
			assert.equal(session.ledger.overwritten, 0);
		}
	});

	test('of the daemon, at 5 moments: the game goes on in the same session', async () => {
		// What is played while the daemon is away must fit the ring: 20 s of it do.
		const game = world.game(['--frames', '0', '--cap', '--zones', '50']);
		const first = await world.live(game.pid, 1);
		let frames = 0;
		for (let round = 0; round < 5; round++) {
			await sleep(50 + 400 * draw.next().value);
			world.daemon.kill('SIGKILL');
			await world.daemon.done;
			integrity(world.dir);
			await world.startDaemon();
			const session = await world.live(game.pid, frames + 1);
			assert.equal(session.id, first.id);
			assert.ok(session.frames_total > frames);
			frames = session.frames_total;
		}
		game.kill('SIGINT');
		await game.done;
		const session = await world.ended(game.pid);
		balanced(session);
		const { frames: rows } = await world.api(`/sessions/${session.id}/frames?last=600`);
		for (let i = 1; i < rows.length; i++)
			assert.equal(rows[i].frame, rows[i - 1].frame + 1, 'frame numbers go on across restarts');
		await world.stopDaemon();
		integrity(world.dir);
	});
});

/** A World whose history lies on a tmpfs of this size. */
function smallWorld(size) {
	const world = new World();
	const small = path.join(world.dir, 'small');
	mkdirSync(small);
	execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', small]);
	world.run = small;
	world.socket = path.join(small, 'fprofd.sock');
	world.httpSocket = path.join(small, 'http.sock');
	world.remount = (option) => execFileSync('mount', ['-o', `remount,${option}`, small]);
	world.unmount = () => spawnSync('umount', ['-l', small]);
	return world;
}

async function cannotMount() {
	if (process.getuid() !== 0)
		return 'mounting a small tmpfs needs root';
	try {
		const world = smallWorld('1m');
		world.unmount();
		await world.close();
		return false;
	} catch (error) {
		return `mount is refused here: ${error.message}`;
	}
}
const noMount = await cannotMount();

test('a full disk: history goes on in memory, is said, and comes back', { skip: noMount }, async () => {
	const world = smallWorld('6m');
	try {
		await world.startDaemon();
		const history = async () => (await world.api('/status')).history;
		assert.equal((await history()).place, 'disk');
		const game = world.game(['--frames', '0', '--zones', '4000', '--fps', '200']);
		await until('the history is said to be in memory', async () => {
			const { place, reason } = await history();
			return place === 'memory' && reason;
		});
		const before = (await world.live(game.pid, 1)).frames_total;
		const session = await world.live(game.pid, before + 50);
		const { frames } = await world.api(`/sessions/${session.id}/frames?last=5`);
		assert.equal(frames.length, 5);
		world.remount('size=512m');
		await until('the history is on the disk again', async () => (await history()).place === 'disk');
		game.kill('SIGINT');
		await game.done;
		const ended = await world.ended(game.pid);
		balanced(ended);
		await world.stopDaemon();
		integrity(world.run);
	} finally {
		world.unmount();
		await world.close();
	}
});

/** What there is no room for is refused, and what is there can go. */
async function captureOnFullDisk(world, session) {
	const save = () => world.request('POST', '/api/v1/captures', { body: JSON.stringify({ session: session.id, last: 20 }),
		headers: { 'content-type': 'application/json' } });
	const saved = await save();
	assert.equal(saved.status, 201, saved.text);
	const filler = path.join(world.state, 'filler');
	execFileSync('sh', ['-c', 'cat /dev/zero >"$0" 2>/dev/null || true', filler]);
	assert.equal((await save()).status, 507);
	const { id } = JSON.parse(saved.text);
	assert.deepEqual((await world.api('/captures')).captures.map((capture) => capture.id), [id]);
	const deleted = await world.request('DELETE', `/api/v1/captures/${id}`);
	assert.equal(deleted.status, 200, deleted.text);
	assert.deepEqual((await world.api('/captures')).captures, []);
	rmSync(filler);
}

test('a state directory that is read-only or full: said, and games are recorded all the same', { skip: noMount }, async () => {
	const world = smallWorld('16m');
	try {
		world.state = path.join(world.dir, 'small');
		world.run = path.join(world.dir, 'run');
		world.socket = path.join(world.run, 'fprofd.sock');
		world.httpSocket = path.join(world.run, 'http.sock');
		world.remount('ro');
		await world.startDaemon();
		const { state, history } = await world.api('/status');
		assert.equal(state.ok, false);
		assert.match(state.reason, /fprofd\.db: not writable$/);
		assert.equal(history.place, 'disk');
		const session = await world.played(['--frames', '20', '--fps', '0', '--zones', '50']);
		assert.equal(session.frames_total, 20);
		balanced(session);
		world.remount('rw');
		await until('the state is on its disk', async () => (await world.api('/status')).state.ok);
		await captureOnFullDisk(world, session);
		await world.stopDaemon();
		integrity(world.state);
	} finally {
		world.unmount();
		await world.close();
	}
});

test('a reader that holds a transaction open does not make the history grow without bound', async () => {
	const world = new World();
	try {
		await world.startDaemon();
		const game = world.game(['--frames', '0', '--zones', '4000', '--fps', '200']);
		await world.live(game.pid, 10);
		const database = readdirSync(world.run, { recursive: true }).find((name) => name.endsWith('history.db'));
		const reader = world.spawn('sqlite3', ['-readonly', path.join(world.run, database)],
			{ stdio: ['pipe', 'pipe', 'pipe'] });
		reader.stdin.write('BEGIN; SELECT count(*) FROM sessions;\n');
		await until('the reader has begun', () => /\d/.test(reader.text));
		const { frames_total: from } = await world.live(game.pid, 1);
		await world.live(game.pid, from + 800);
		const { history } = await world.api('/status');
		assert.ok(history.used_bytes <= 1.25 * history.budget_bytes + 16 * 2 ** 20, JSON.stringify(history));
		reader.stdin.end('END;\n');
		await reader.done;
		const { frames_total: then } = await world.live(game.pid, 1);
		await world.live(game.pid, then + 20);
		game.kill('SIGINT');
		await game.done;
		balanced(await world.ended(game.pid));
	} finally {
		await world.close();
	}
});
