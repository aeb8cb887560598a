// SPDX-License-Identifier: MIT
// Bad requests get a problem that names what is wrong and what would be right.

import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';

import { problems } from './schema.mjs';
import { World } from './world.mjs';

const world = new World();
let session;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--frames', '30', '--fps', '0', '--zones', '50']);
});
after(() => world.close());

async function problem(method, what, status, options) {
	const answer = await world.request(method, what, options);
	assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 200)}`);
	assert.equal(answer.headers['content-type'], 'application/problem+json');
	const body = JSON.parse(answer.text);
	assert.deepEqual(problems('Problem', body), []);
	assert.equal(body.status, status);
	return { ...body, headers: answer.headers };
}

const BAD = [
	['/sessions/abc', 'id', 'current'],
	['/sessions/0', 'id', 'current'],
	['/sessions/-1', 'id', 'current'],
	['/sessions/99999999999999999999', 'id', 'current'],
	['/sessions?last=0', 'last', '1..1000'],
	['/sessions?last=1001', 'last', '1..1000'],
	['/sessions/current/frames?last=0', 'last', '1..3600'],
	['/sessions/current/frames?last=3601', 'last', '1..3600'],
	['/sessions/current/frames?last=', 'last', '1..3600'],
	['/sessions/current/frames?last=1e3', 'last', '1..3600'],
	['/sessions/current/frames?last=5&from=1', 'last', 'not together with from or to'],
	['/sessions/current/frames?from=0', 'from', 'a frame\'s number, from 1'],
	['/sessions/current/frames?to=x', 'to', 'a frame\'s number, from 1'],
	['/sessions/current/frames?from=5&to=4', 'to', 'from..from+3599'],
	['/sessions/current/frames?from=1&to=3601', 'to', 'from..from+3599'],
	['/sessions/current/frames/fastest', 'frame', 'slowest'],
	['/sessions/current/frames/0', 'frame', 'slowest'],
	['/sessions/current/frames/slowest?max_zones=0', 'max_zones', '1..200000'],
	['/stream?session=x', 'session', 'current'],
];

test('a bad value names the parameter and what is allowed', async () => {
	for (const [what, parameter, allowed] of BAD) {
		const body = await problem('GET', `/api/v1${what}`, 400);
		assert.equal(body.type, '/problems/bad-parameter', what);
		assert.equal(body.parameter, parameter, what);
		assert.ok(body.allowed.includes(allowed), `${what}: ${body.allowed}`);
	}
});

test('a bad Last-Event-ID is refused', async () => {
	for (const id of ['x', '1', '1:', ':1', '1:x', '0:1']) {
		const body = await problem('GET', '/api/v1/stream', 400, { headers: { 'last-event-id': id } });
		assert.equal(body.parameter, 'Last-Event-ID');
	}
});

test('an unknown parameter is refused and the known ones are named', async () => {
	const body = await problem('GET', '/api/v1/sessions/current/frames?first=1', 400);
	assert.equal(body.type, '/problems/unknown-parameter');
	assert.equal(body.parameter, 'first');
	assert.deepEqual(body.allowed, ['last', 'from', 'to', 'stream']);
});

test('a parameter may come once', async () => {
	const body = await problem('GET', '/api/v1/sessions?last=1&last=2', 400);
	assert.equal(body.type, '/problems/repeated-parameter');
	assert.equal(body.parameter, 'last');
});

test('what is not there is 404', async () => {
	for (const what of ['/nothing', '/api/v1', '/api/v2/status', '/api/v1/sessions/', '/schema.sql', '/../etc/passwd',
		'/api/v1/sessions/4711', '/api/v1/sessions/4711/frames', '/api/v1/sessions/current/frames/999999',
		'/api/v1/sessions/current/frames?stream=none', '/api/v1/sessions/current/frames/slowest?stream=none',
		'/api/v1/stream?session=4711'])
		assert.equal((await problem('GET', what, 404)).type, '/problems/not-found', what);
});

test('what is not there is told of in a sentence', async () => {
	const told = [];
	for (const what of ['frames?stream=none', 'frames/999999', 'zones?from=999999', 'stats?metric=wall&from=999999', 'timeline?from=999999',
		'verdict?from=999999', 'critical-path?from=999999', 'frames/999999/critical-path', 'check?from=999999', 'export?format=chrome&from=999999'])
		told.push([what, await world.get(`/api/v1/sessions/current/${what}`)]);
	told.push(['diff', await world.get(`/api/v1/diff?a=${session.id}:999990-999999&b=${session.id}`)]);
	const missing = told.filter(([, { status }]) => status === 404);
	assert.ok(missing.length >= 6, `${missing.map(([what]) => what)}`);
	for (const [what, { text }] of missing)
		assert.match(JSON.parse(text).detail, /^There is no such (stream|frame|range of frames|stream or frame|stream or range of frames), or it/, what);
});

test('malformed addresses are 400', async () => {
	for (const what of ['/%', '/%zz', '/%00', '/api%2Fv1/status', '/%ff', '/api/v1/sessions?last=%c0%af'])
		assert.equal((await problem('GET', what, 400)).type, '/problems/bad-request', what);
});

test('an address that is too long is 414', async () => {
	await problem('GET', `/${'a'.repeat(3000)}`, 414);
	await problem('GET', `/healthz?${'a'.repeat(3000)}`, 414);
	await problem('GET', `/healthz?${'a&'.repeat(5000)}`, 414);
	assert.equal((await world.get(`/${'a'.repeat(2000)}`)).status, 404);
	assert.equal((await problem('GET', `/healthz?${'a&'.repeat(1000)}`, 400)).type, '/problems/repeated-parameter');
});

test('only GET and HEAD', async () => {
	for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
		const body = await problem(method, '/api/v1/status', 405);
		assert.equal(body.headers.allow, 'GET, HEAD');
	}
	const got = await world.get('/healthz');
	const head = await world.request('HEAD', '/healthz');
	assert.equal(head.status, 200);
	assert.equal(head.text, '');
	assert.equal(head.headers['content-length'], got.headers['content-length']);
});

test('a body on GET is refused', async () => {
	const body = await problem('GET', '/healthz', 400, { body: 'x', headers: { 'content-length': '1' } });
	assert.equal(body.type, '/problems/body-not-allowed');
});

/** What comes back for raw bytes; '' when the server just closes. */
function raw(bytes) {
	return new Promise((resolve, reject) => {
		const socket = net.connect(world.port, '127.0.0.1');
		let text = '';
		socket.setEncoding('latin1');
		socket.on('data', (data) => { text += data; });
		socket.on('error', (error) => (error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve(text) : reject(error)));
		socket.on('close', () => resolve(text));
		socket.end(bytes, 'latin1');
	});
}

test('garbage does no harm', async () => {
	const host = 'Host: localhost\r\n';
	for (const [bytes, status] of [
		['\0\0\0\0\r\n\r\n', null],
		['GET\r\n\r\n', null],
		[`GET /healthz HTTP/1.1\r\n${host}X: ${'a'.repeat(70000)}\r\n\r\n`, 4],
		[`GET /healthz HTTP/1.1\r\n${'A: b\r\n'.repeat(20000)}\r\n`, 4],
		[`GET http://evil.example/healthz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 4],
		['GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 4],
		[`GET /healthz HTTP/1.1\r\n${host}${host}Connection: close\r\n\r\n`, 4],
		[`GET /healthz?${'a=b&'.repeat(2000)} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 414],
		[`GET /\xff HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 4],
	]) {
		const answer = await raw(bytes);
		if (status !== null && answer !== '')
			assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status}`), bytes.slice(0, 60));
		assert.equal((await world.get('/healthz')).status, 200, `still there after ${bytes.slice(0, 60)}`);
	}
});

test('frames outside what is kept are no error', async () => {
	const { frames, rows } = await world.api(`/sessions/${session.id}/frames?from=1000&to=1001`);
	assert.deepEqual(frames, []);
	assert.deepEqual(rows, session.rows);
});
