// SPDX-License-Identifier: MIT
// The event stream: each frame once and in order, resumed where it stopped, bounded for those who are slow.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { EventReader, ROOT, World, until } from './world.mjs';

const world = new World();

before(() => world.startDaemon());
after(() => world.close());

const numbers = (events) => events.map((event) => event.data.frame);
const count = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

test('every frame comes once, in order, as the frames\' list has it', async () => {
	const reader = await EventReader.open(world);
	const session = await world.played(['--frames', '100', '--fps', '0', '--zones', '50']);
	await until('the end is told', () => reader.of('session').some((one) => one.data.state === 'ended'));
	await reader.close();
	assert.deepEqual(numbers(reader.of('frame')), count(1, 100));
	assert.deepEqual(reader.of('frame').map((one) => one.id), count(1, 100).map((n) => `${session.id}:${n}`));
	assert.ok(reader.of('session').some((one) => one.data.state === 'live'), 'the begin is told');
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=100`);
	const latest = new Map(reader.events.filter((one) => one.name !== 'session').map((one) => [one.data.frame, one.data]));
	for (const one of frames)
		assert.deepEqual(latest.get(one.frame), { session: session.id, ...one }, `frame ${one.frame}`);
});

test('GPU results that come late complete their frame, those that never come leave it without', async () => {
	const program = await world.compile(path.join(ROOT, 'tests/api/gpu.c'));
	const reader = await EventReader.open(world);
	const game = world.spawn(program, [], { stdio: ['pipe', 'pipe', 'pipe'] });
	const told = (name, frame) => reader.of(name).map((one) => one.data).find((one) => one.frame === frame);
	await until('both frames came', () => told('frame', 1) && told('frame', 2));
	for (const frame of [1, 2]) {
		assert.ok(told('frame', frame).flags.includes('gpu_pending'));
		assert.equal(told('frame', frame).gpu_ns, null);
	}
	game.stdin.write('\n');
	await until('frame 1 is complete', () => reader.of('gpu').some((one) => one.data.frame === 1 && one.data.gpu_ns !== null));
	const late = reader.of('gpu').map((one) => one.data).findLast((one) => one.frame === 1);
	assert.equal(late.gpu_ns, 50_000);
	assert.ok(!late.flags.includes('gpu_pending') && !late.flags.includes('gpu_incomplete'));
	await until('frame 2 is given up', () => reader.of('gpu').some((one) => one.data.flags.includes('gpu_incomplete')));
	const incomplete = reader.of('gpu').map((one) => one.data).findLast((one) => one.flags.includes('gpu_incomplete'));
	assert.equal(incomplete.frame, 2);
	assert.equal(incomplete.gpu_ns, null);
	assert.deepEqual(incomplete.gpu.map(({ span_ns, spans, missing, final }) => ({ span_ns, spans, missing, final })),
		[{ span_ns: 30_000, spans: 1, missing: 1, final: true }]);
	game.stdin.end('\n');
	assert.equal((await game.done).code, 0);
	const session = await world.ended(game.pid);
	await reader.close();
	assert.equal(session.losses.repaired.gpu_missing, 1);
	const { losses } = await world.api('/status');
	assert.equal(losses.gpu_missing, 1);
	assert.match((await world.get('/metrics')).text, /^fprof_gpu_results_missing_total 1$/m);
});

test('a client that comes again gets what it missed', async () => {
	const first = await EventReader.open(world);
	const game = world.game(['--frames', '0', '--fps', '200', '--zones', '50']);
	const { id } = await world.live(game.pid, 20);
	await until('some frames came', () => first.of('frame').length >= 20);
	await first.close();
	const last = first.of('frame').at(-1).id;
	await world.live(game.pid, Number(last.split(':')[1]) + 50);
	const second = await EventReader.open(world, `?session=${id}`, { 'last-event-id': last });
	await until('it goes on live', () => second.of('frame').length >= 100);
	game.kill('SIGINT');
	const ended = await world.ended(game.pid);
	await until('the end is told', () => second.of('session').some((one) => one.data.state !== 'live'));
	await second.close();
	assert.deepEqual(numbers([...first.of('frame'), ...second.of('frame')]), count(1, ended.frames_total));
	assert.equal(second.of('dropped').length, 0);
});

test('the past of an ended session can be read from its beginning', async () => {
	const session = await world.played(['--frames', '300', '--fps', '0', '--zones', '50']);
	const reader = await EventReader.open(world, '', { 'last-event-id': `${session.id}:0` });
	await until('all came', () => reader.of('frame').length >= 300);
	await reader.close();
	assert.deepEqual(numbers(reader.of('frame')), count(1, 300));
});

test('only the session that was asked for', async () => {
	const one = world.game(['--frames', '0', '--fps', '100', '--zones', '50']);
	const two = world.game(['--frames', '0', '--fps', '100', '--zones', '50']);
	const { id } = await world.live(one.pid, 5);
	await world.live(two.pid, 5);
	const reader = await EventReader.open(world, `?session=${id}`);
	await until('frames came', () => reader.of('frame').length >= 20);
	one.kill('SIGINT');
	two.kill('SIGINT');
	await Promise.all([world.ended(one.pid), world.ended(two.pid)]);
	await until('the end is told', () => reader.of('session').length > 0);
	await reader.close();
	assert.deepEqual(new Set(reader.events.map((event) => event.data.session ?? event.data.id)), new Set([id]));
});

test('a client that does not read is told how many it missed, and delays nobody', async (t) => {
	const FRAMES = 12_000;
	const slow = await EventReader.open(world);
	const quick = await EventReader.open(world);
	t.after(() => Promise.all([slow.close(), quick.close()]));
	slow.answer.pause();
	const session = await world.played(['--frames', String(FRAMES), '--fps', '0', '--zones', '1', '--threads', '1']);
	assert.equal(session.frames_total, FRAMES);
	assert.equal((await world.get('/healthz')).status, 200);
	await until('the quick one has heard the end', () => quick.of('session').some((one) => one.data.state === 'ended'));
	assert.equal(slow.of('frame').length, 0);
	slow.answer.resume();
	// Nothing is lost without a word: what did not come was counted.
	const missed = (reader) => reader.of('dropped').reduce((sum, one) => sum + one.data.missed, 0);
	const accounted = (reader) => missed(reader) + reader.of('frame').length >= FRAMES;
	await until('the slow one is told of all', () => accounted(slow));
	await until('the quick one, too', () => accounted(quick));
	assert.ok(slow.of('dropped').some((one) => one.data.reason === 'slow'));
	const got = numbers(slow.of('frame'));
	assert.ok(got.length < FRAMES, 'it is bounded');
	assert.ok(got.every((n, at) => at === 0 || n > got[at - 1]), 'in order');
	// It lives on.
	const next = await world.played(['--frames', '10', '--fps', '0', '--zones', '50']);
	await until('it hears the next game', () => slow.of('frame').some((one) => one.id === `${next.id}:10`));
});

test('at most 32 may listen, and those who left make room', async (t) => {
	const readers = [];
	t.after(() => Promise.all(readers.map((reader) => reader.close())));
	for (let i = 0; i < 32; i++)
		readers.push(await EventReader.open(world));
	assert.equal((await world.api('/status')).stream_clients, 32);
	const refused = await world.get('/api/v1/stream');
	assert.equal(refused.status, 503);
	assert.equal(JSON.parse(refused.text).type, '/problems/too-many-streams');
	await Promise.all(readers.map((reader) => reader.close()));
	await until('they are gone', async () => (await world.api('/status')).stream_clients === 0);
});

test('the daemon ends streams when it stops', async () => {
	const reader = await EventReader.open(world);
	const { code } = await world.stopDaemon();
	assert.equal(code, 0);
	await reader.ended;
});
