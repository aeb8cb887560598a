// SPDX-License-Identifier: MIT
// The routes and their description are the same, in both directions, and answers are as described.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems, document, problems, resolve } from './schema.mjs';
import { EventReader, ROOT, World, until } from './world.mjs';

const world = new World();
let session;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--frames', '120', '--fps', '0', '--zones', '300', '--hitch-every', '40', '--hitch-ms', '5']);
});
after(() => world.close());

const METHODS = ['get', 'put', 'post', 'patch', 'delete'];

/** All operations of the document: { method, route, operation }. */
const operations = Object.entries(document.paths).flatMap(([route, item]) =>
	METHODS.filter((method) => item[method]).map((method) => ({ method, route, operation: item[method] })));

/** The routing table, as the source has it: 'METHOD path' -> names of its query parameters. */
function routesOfSource() {
	const text = readFileSync(path.join(ROOT, 'daemon/route.c'), 'utf8');
	const table = /routes\[\] = \{([\s\S]*?)\n\};/.exec(text)[1];
	const row = /\{ROUTE_\w+,\s*ROUTE_(\w+),\s*[^,]+,\s*"([^"]+)",\s*\{([^}]*)\}\}/g;
	return new Map([...table.matchAll(row)].map(([, method, route, params]) =>
		[`${method} ${route}`, [...params.matchAll(/"([^"]+)"/g)].map(([, name]) => name).sort()]));
}

const parametersOf = (operation) => (operation.parameters ?? []).map((one) => (one.$ref ? resolve(one.$ref) : one));
const queryOf = (operation) => parametersOf(operation).filter((one) => one.in === 'query').map((one) => one.name).sort();

test('every route is documented with its parameters, and nothing else is', () => {
	const documented = operations.map(({ method, route, operation }) => [`${method.toUpperCase()} ${route}`, queryOf(operation)]);
	const routes = routesOfSource();
	assert.ok(routes.size >= 12, 'the table was found');
	assert.deepEqual(documented.sort(), [...routes].sort());
});

test('every operation says what a problem looks like', () => {
	for (const { method, route, operation } of operations)
		assert.ok(operation.responses.default || !route.startsWith('/api/'), `${method} ${route}`);
});

test('every documented parameter of a path stands in it', () => {
	for (const { method, route, operation } of operations) {
		const named = parametersOf(operation).filter((one) => one.in === 'path').map((one) => one.name).sort();
		assert.deepEqual(named, [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(), `${method} ${route}`);
	}
});

/** An address of a GET: what a path or a query needs is the `example` of its parameter. */
function addressOf(route, operation) {
	const needed = parametersOf(operation).filter((one) => one.required);
	const examples = Object.fromEntries(needed.map((one) => [one.name, one.example]));
	const filled = { id: 'current', frame: 'slowest', ...Object.fromEntries(Object.entries(examples).filter(([, value]) => value)) };
	const query = needed.filter((one) => one.in === 'query').map((one) => `${one.name}=${encodeURIComponent(one.example)}`);
	return route.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(filled[name])) + (query.length ? `?${query.join('&')}` : '');
}

/* What needs more than a played session says in `x-tested-in` which file asks it. */
test('every documented GET answers as documented', async () => {
	for (const { method, route, operation } of operations) {
		if (method !== 'get')
			continue;
		if (operation['x-tested-in']) {
			const file = readFileSync(path.join(ROOT, operation['x-tested-in']), 'utf8');
			assert.match(file, /answerProblems/, `${operation['x-tested-in']} holds answers against the document`);
			continue;
		}
		const what = addressOf(route, operation);
		if (route === '/api/v1/stream') {
			const head = await world.request('HEAD', what);
			assert.equal(head.status, 200, route);
			assert.equal(head.headers['content-type'], 'text/event-stream');
			continue;
		}
		const answer = await world.get(what);
		assert.equal(answer.status, 200, `${what}: ${answer.text.slice(0, 300)}`);
		assert.deepEqual(answerProblems(route, answer), [], route);
	}
});

test('every frame of a session is as documented', async () => {
	for (let frame = session.rows.first; frame <= session.rows.last; frame++)
		assert.deepEqual(problems('FrameDetail', await world.api(`/sessions/${session.id}/frames/${frame}`)), []);
});

test('events of the stream are as documented', async () => {
	const reader = await EventReader.open(world);
	const game = world.game(['--frames', '60', '--fps', '0', '--zones', '100']);
	await game.done;
	const ended = await world.ended(game.pid);
	await until('the session\'s end is told', () => reader.of('session').some((one) => one.data.state !== 'live'));
	await reader.close();
	assert.equal(reader.of('frame').length, ended.frames_total);
	const schemas = document.paths['/api/v1/stream'].get.responses['200']['x-event-data'];
	for (const event of reader.events)
		assert.deepEqual(problems(schemas[event.name].$ref.split('/').at(-1), event.data), [], event.name);
});

test('the description is served as it is', async () => {
	const answer = await world.get('/api/v1/openapi.yaml');
	assert.equal(answer.text, readFileSync(path.join(ROOT, 'docs/openapi.yaml'), 'utf8'));
});

test('the metrics can be parsed', async () => {
	const { text } = await world.get('/metrics');
	const types = new Map();
	for (const line of text.trimEnd().split('\n')) {
		const type = /^# TYPE (\w+) (counter|gauge)$/.exec(line);
		if (type) {
			assert.ok(!types.has(type[1]), `${type[1]} once`);
			types.set(type[1], type[2]);
		} else if (!line.startsWith('# HELP ')) {
			const [, name, value] = /^([a-z_]+)(?:\{[^}]*\})? ([0-9.eE+-]+)$/.exec(line) ?? [];
			assert.ok(types.has(name), line);
			assert.ok(Number.isFinite(Number(value)), line);
			assert.equal(types.get(name) === 'counter', name.endsWith('_total'), line);
		}
	}
	assert.ok(types.size >= 20);
});
