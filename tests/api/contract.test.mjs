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

/** The routing table, as the source has it: path -> names of its query parameters. */
function routesOfSource() {
	const text = readFileSync(path.join(ROOT, 'daemon/route.c'), 'utf8');
	const table = /routes\[\] = \{([\s\S]*?)\n\};/.exec(text)[1];
	return new Map([...table.matchAll(/\{ROUTE_\w+,\s*"([^"]+)",\s*\{([^}]*)\}\}/g)].map(([, route, params]) =>
		[route, [...params.matchAll(/"([^"]+)"/g)].map(([, name]) => name).sort()]));
}

const queryOf = (operation) => (operation.parameters ?? []).map((one) => (one.$ref ? resolve(one.$ref) : one))
	.filter((one) => one.in === 'query').map((one) => one.name).sort();

test('every route is documented with its parameters, and nothing else is', () => {
	const documented = new Map(Object.entries(document.paths).map(([route, item]) => [route, queryOf(item.get)]));
	const routes = routesOfSource();
	assert.ok(routes.size >= 12, 'the table was found');
	assert.deepEqual([...documented].sort(), [...routes].sort());
});

test('every documented parameter of a path stands in it', () => {
	for (const [route, item] of Object.entries(document.paths)) {
		const named = (item.get.parameters ?? []).map((one) => (one.$ref ? resolve(one.$ref) : one))
			.filter((one) => one.in === 'path').map((one) => one.name).sort();
		assert.deepEqual(named, [...route.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort(), route);
	}
});

test('every documented path answers as documented', async () => {
	for (const route of Object.keys(document.paths)) {
		const what = route.replace('{id}', 'current').replace('{frame}', 'slowest');
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
