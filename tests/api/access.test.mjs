// SPDX-License-Identifier: MIT
// Who may ask: users are told apart, other sites' pages are kept out, the token opens everything.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';

import { BUILD, World, cannotSwitchUser, until } from './world.mjs';

const NOBODY = 65534;
const world = new World();
let session;

before(async () => {
	chmodSync(world.dir, 0o755);
	await world.startDaemon();
	session = await world.played(['--frames', '30', '--fps', '0', '--zones', '50']);
});
after(() => world.close());

const token = (of = world) => readFileSync(path.join(of.state, 'token'), 'utf8').trim();
const status = async (headers, what = '/healthz') => (await world.get(what, { headers })).status;

/** An answer as another user gets it, by curl. */
async function asNobody(args, of = world) {
	const curl = of.spawn('curl', ['-s', '-m', '20', '-w', '\n%{http_code}', ...args], { uid: NOBODY, gid: NOBODY });
	const { text } = await curl.done;
	const cut = text.lastIndexOf('\n');
	return { status: Number(text.slice(cut + 1)), text: text.slice(0, cut) };
}

test('only our own names are answered', async () => {
	const { port } = world;
	for (const host of ['localhost', '127.0.0.1', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, '[::1]', 'LOCALHOST'])
		assert.equal(await status({ host }), 200, host);
	for (const host of ['evil.example', `evil.example:${port}`, `localhost:${port + 1}`, 'localhost.evil.example', '127.0.0.2',
		'', `localhost:${port}@evil.example`])
		assert.ok([400, 403].includes(await status({ host })), host);
	const answer = await world.get('/api/v1/sessions', { headers: { host: 'evil.example' } });
	assert.equal(JSON.parse(answer.text).type, '/problems/foreign-host');
});

test('only our own page may ask', async () => {
	const { port } = world;
	for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`, `http://[::1]:${port}`])
		assert.equal(await status({ origin }), 200, origin);
	for (const origin of ['http://evil.example', 'null', 'http://localhost', `https://localhost:${port}`, 'http://localhost:3000',
		`http://localhost:${port}.evil.example`])
		assert.equal(await status({ origin }), 403, origin);
	assert.equal(await status({ 'sec-fetch-site': 'cross-site' }), 403);
	assert.equal(await status({ 'sec-fetch-site': 'same-site' }), 403);
	assert.equal(await status({ 'sec-fetch-site': 'same-origin' }), 200);
	assert.equal(await status({ 'sec-fetch-site': 'none' }), 200);
});

test('every answer forbids what a page does not need', async () => {
	for (const what of ['/', '/api/v1/status', '/nothing']) {
		const { headers } = await world.get(what);
		assert.match(headers['content-security-policy'], /^default-src 'self'/, what);
		assert.equal(headers['x-content-type-options'], 'nosniff', what);
		assert.equal(headers['access-control-allow-origin'], undefined, what);
	}
});

test('the token is its owner\'s alone', () => {
	const { mode } = statSync(path.join(world.state, 'token'));
	assert.equal(mode & 0o777, 0o600);
	assert.match(token(), /^[0-9a-f]{64}$/);
});

test('a wrong token is refused even where none is needed', async () => {
	for (const authorization of ['Bearer 0', `Bearer ${'0'.repeat(64)}`, `Basic ${token()}`, `Bearer ${token()}0`]) {
		const answer = await world.get('/api/v1/sessions', { headers: { authorization } });
		assert.equal(answer.status, 401, authorization);
		assert.match(answer.headers['www-authenticate'], /^Bearer/);
	}
	assert.equal(await status({ authorization: `Bearer ${token()}` }), 200);
});

test('the Unix socket answers the same', async () => {
	const [byTcp, byUnix] = await Promise.all([world.api(`/sessions/${session.id}`),
		world.api(`/sessions/${session.id}`, { unix: true, headers: { host: 'localhost' } })]);
	assert.deepEqual(byUnix, byTcp);
});

describe('another user', { skip: cannotSwitchUser }, () => {
	const url = (what) => `http://127.0.0.1:${world.port}/api/v1${what}`;

	test('sees no session of ours', async () => {
		assert.deepEqual(JSON.parse((await asNobody([url('/sessions')])).text), { sessions: [], total: 0 });
		for (const what of [`/sessions/${session.id}`, '/sessions/current', `/sessions/${session.id}/frames`,
			`/sessions/${session.id}/frames/1`, `/sessions/${session.id}/threads`, `/sessions/${session.id}/streams`,
			`/stream?session=${session.id}`])
			assert.equal((await asNobody([url(what)])).status, 404, what);
		const theirs = JSON.parse((await asNobody([url('/status')])).text);
		assert.equal(theirs.sessions.total, 0);
		assert.equal(theirs.drain.events, 0);
		assert.equal(theirs.drain.sessions, 0);
		assert.deepEqual([theirs.refusals, theirs.refusals_total, theirs.scheduler], [[], null, null]);
		assert.ok((await world.api('/status')).drain.events > 0);
		const metrics = (await asNobody([`http://127.0.0.1:${world.port}/metrics`])).text;
		assert.match(metrics, /^fprof_events_received_total 0$/m);
		assert.doesNotMatch(metrics, /fprof_clients_refused_total|fprof_scheduler/);
	});

	test('sees its own, and ours with the token', async () => {
		const game = world.spawn(path.join(BUILD, 'game'), ['--frames', '30', '--fps', '0', '--zones', '50'],
			{ uid: NOBODY, gid: NOBODY });
		assert.equal((await game.done).code, 0, game.text);
		const theirs = await world.ended(game.pid);
		assert.equal(theirs.uid, NOBODY);
		const own = JSON.parse((await asNobody([url('/sessions')])).text);
		assert.deepEqual(own.sessions.map((one) => one.id), [theirs.id]);
		const all = JSON.parse((await asNobody(['-H', `Authorization: Bearer ${token()}`, url('/sessions')])).text);
		assert.deepEqual(new Set(all.sessions.map((one) => one.id)), new Set([theirs.id, session.id]));
	});

	test('leaves connections to others', async () => {
		const hold = world.spawn('bash', ['-c', `for i in {1..140}; do exec {fd}<>/dev/tcp/127.0.0.1/${world.port} &&
			printf 'GET /healthz' >&$fd; done; echo held; read`], { uid: NOBODY, gid: NOBODY, stdio: ['pipe', 'pipe', 'pipe'] });
		await until('they are held', () => hold.text.includes('held'));
		assert.equal((await asNobody([url('/status')])).status, 0, 'it has its share');
		assert.equal(await status({}), 200);
		hold.kill();
		await hold.done;
	});

	test('leaves slow requests to others', async () => {
		const slow = { sql: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n' };
		const asked = Array.from({ length: 5 }, () => asNobody(['-H', 'Content-Type: application/json', '-d', JSON.stringify(slow),
			url('/query')]));
		const busy = await Promise.any(asked.map(async (one) => {
			const answer = await one;
			assert.equal(answer.status, 503, answer.text);
			return JSON.parse(answer.text);
		}));
		assert.equal(busy.type, '/problems/busy');
		assert.equal((await world.get(`/api/v1/sessions/${session.id}/stats`)).status, 200);
		await Promise.all(asked);
	});

	test('hears nothing of ours on the stream', async () => {
		const curl = world.spawn('curl', ['-sN', url('/stream'), '-H', `Last-Event-ID: ${session.id}:0`],
			{ uid: NOBODY, gid: NOBODY });
		await until('it listens', async () => (await world.api('/status')).stream_clients > 0);
		await world.played(['--frames', '30', '--fps', '0', '--zones', '50']);
		const game = world.spawn(path.join(BUILD, 'game'), ['--frames', '5', '--fps', '0', '--zones', '50'],
			{ uid: NOBODY, gid: NOBODY });
		await game.done;
		const { id } = await world.ended(game.pid);
		await until('it hears its own', () => curl.text.includes(`id: ${id}:5\n`));
		curl.kill();
		await curl.done;
		const heard = [...curl.text.matchAll(/^id: (\d+):/gm)].map(([, one]) => Number(one));
		assert.deepEqual(new Set(heard), new Set([id]));
	});

	test('over the Unix socket is known by its credentials', async () => {
		const answer = await asNobody(['--unix-socket', world.httpSocket, 'http://localhost/api/v1/sessions']);
		const ids = JSON.parse(answer.text).sessions.map((one) => one.uid);
		assert.ok(ids.length > 0);
		assert.deepEqual(new Set(ids), new Set([NOBODY]));
	});
});

test('root is nobody special to a user\'s daemon', { skip: cannotSwitchUser }, async () => {
	const theirs = new World();
	try {
		chmodSync(theirs.dir, 0o755);
		for (const dir of [theirs.run, theirs.state])
			chmodSync(dir, 0o777);
		// The build directory need not be readable by others.
		const bin = path.join(theirs.dir, 'bin');
		mkdirSync(bin);
		for (const name of ['fprofd', 'game', 'libfprof.so', 'libfprof.so.0'])
			cpSync(path.join(BUILD, name), path.join(bin, name), { dereference: true });
		const owner = { uid: NOBODY, gid: NOBODY, env: { HOME: theirs.dir, XDG_CONFIG_HOME: theirs.dir } };
		const daemon = theirs.spawn(path.join(bin, 'fprofd'), ['--http', '127.0.0.1:0', '--socket', theirs.socket,
			'--runtime-dir', theirs.run, '--state-dir', theirs.state], owner);
		theirs.port = await until('it listens', () => {
			assert.equal(daemon.exitCode, null, daemon.text);
			return Number(/http:\/\/[^ ]*:(\d+)\//.exec(daemon.text)?.[1] ?? 0);
		});
		const game = theirs.spawn(path.join(bin, 'game'), ['--frames', '30', '--fps', '0', '--zones', '50'], owner);
		assert.equal((await game.done).code, 0, game.text);
		const url = `http://127.0.0.1:${theirs.port}/api/v1/sessions`;
		await until('its owner sees the game', async () =>
			JSON.parse((await asNobody([url], theirs)).text).sessions.length === 1);
		assert.equal((await theirs.api('/sessions')).total, 0);
		const headers = { authorization: `Bearer ${token(theirs)}` };
		assert.equal((await theirs.api('/sessions', { headers })).total, 1);
	} finally {
		await theirs.close();
	}
});

/** Why no network of its own can be made, or false. */
const cannotIsolate = cannotSwitchUser || (spawnSync('unshare', ['-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0
	? false : 'a network namespace needs unshare and ip');

test('a server that other machines can reach always wants the token', { skip: cannotIsolate }, async () => {
	const open = new World(); // in a network of its own, so that no other machine really can
	try {
		const daemon = open.spawn('unshare', ['-n', 'sh', '-c', 'ip link set lo up && exec "$0" "$@"', path.join(BUILD, 'fprofd'),
			'--http', '0.0.0.0:7600', '--socket', open.socket, '--runtime-dir', open.run, '--state-dir', open.state]);
		await until('it listens', () => {
			assert.equal(daemon.exitCode, null, daemon.text);
			return daemon.text.includes(':7600/');
		});
		const ask = async (args) => {
			const curl = open.spawn('nsenter', ['-t', String(daemon.pid), '-n', 'curl', '-s', '-o', '/dev/null', '-w', '%{http_code}',
				...args]);
			return (await curl.done).text;
		};
		const url = 'http://127.0.0.1:7600/api/v1/status';
		assert.equal(await ask([url]), '401');
		assert.equal(await ask(['-H', `Authorization: Bearer ${token(open)}`, url]), '200');
		assert.equal(await ask(['-H', `Authorization: Bearer ${token(open)}`, '-H', 'Host: evil.example', url]), '403');
		assert.equal(await ask(['--unix-socket', open.httpSocket, 'http://localhost/api/v1/status']), '200');
	} finally {
		await open.close();
	}
});
