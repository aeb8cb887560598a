// SPDX-License-Identifier: MIT
// What zones came to over a whole session, held against a game that counts its frames: beyond the history, over a
// daemon that is killed, in captures.

import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { ROOT, until, World } from './world.mjs';

const world = new World();
const ROUTE = '/api/v1/sessions/{id}/zones';
const KEPT = 600;
let program, ended, captured;

before(async () => {
	program = await world.compile(path.join(ROOT, 'tests/api/counts.c'));
	await world.startDaemon();
});
after(() => world.close());

/** The rows by name. */
async function totals(id, query = '') {
	const answer = await world.get(`/api/v1/sessions/${id}/zones?view=flat&last=50${query}`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(ROUTE, answer), []);
	const json = JSON.parse(answer.text);
	assert.equal(json.session_uncounted, 0);
	return Object.fromEntries(json.zones.map((row) => [row.name, row]));
}

const post = (what, body) => world.request('POST', `/api/v1${what}`, { headers: { 'Content-Type': 'application/json' },
	body: body ? JSON.stringify(body) : undefined });

function assertCounted({ work, step, job }, frames) {
	assert.equal(work.session_calls, frames);
	assert.equal(step.session_calls, 3 * frames);
	assert.equal(job.session_calls, frames);
	assert.equal(step.session_max_frame, 7);
	assert.equal(work.session_max_frame, 7);
	assert.ok(step.session_max_ns >= 1e9 && work.session_max_ns >= step.session_max_ns);
	assert.ok(step.session_total_ns < work.session_total_ns, 'a step within a step counts once');
	assert.ok(step.max_ns < 1e9, 'the slow one is not in the range');
}

test('calls, total and longest call outlive the history and a daemon that is killed', async () => {
	const game = world.spawn(program, []);
	const first = await world.live(game.pid, KEPT + 300);
	assert.equal((await totals(first.id)).step.session_max_frame, 7);
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await world.startDaemon();
	await world.live(game.pid, first.frames_total + KEPT + 1);
	game.kill('SIGTERM');
	const frames = Number(/frames=(\d+)/.exec((await game.done).text)[1]);
	ended = await world.ended(game.pid);
	assert.equal(ended.id, first.id);
	assert.equal(ended.lost_events, 0);
	assert.equal(ended.frames_total, frames);
	assert.ok(ended.rows.last - ended.frames_retained > 7 && frames > 2 * KEPT);
	assertCounted(await totals(ended.id), frames);
	const { work, job } = await totals(ended.id, '&thread=jobs');
	assert.equal(work, undefined);
	assert.equal(job.session_calls, frames);
});

test('a capture has them as of when it was saved', async () => {
	const answer = await post('/captures', { session: ended.id, last: 60 });
	assert.equal(answer.status, 201, answer.text);
	captured = JSON.parse(answer.text).id;
	assert.deepEqual(await totals(captured), await totals(ended.id));
	const { bytes } = await world.get(`/api/v1/captures/${captured}/file`);
	const upload = await world.request('POST', '/api/v1/captures/upload', { body: bytes });
	assert.equal(upload.status, 201, upload.text);
	assert.deepEqual(await totals(JSON.parse(upload.text).id), await totals(captured));
});

test('they are the same with the next daemon', async () => {
	const then = await totals(ended.id);
	await world.stopDaemon();
	await world.startDaemon();
	assert.deepEqual(await totals(ended.id), then);
	assert.deepEqual(await totals(captured), then);
});

test('a clear begins anew', async () => {
	const game = world.spawn(program, []);
	const live = await world.live(game.pid, KEPT + 50);
	const cleared = await post(`/sessions/${live.id}/clear`);
	assert.ok(cleared.status < 300, cleared.text);
	const from = await until('its frames are gone', async () => {
		const { rows } = await world.api(`/sessions/${live.id}`);
		return rows?.first > 1 && rows.first;
	});
	await world.live(game.pid, live.frames_total + KEPT + 200);
	game.kill('SIGTERM');
	const frames = Number(/frames=(\d+)/.exec((await game.done).text)[1]);
	const session = await world.ended(game.pid);
	const { work, step } = await totals(session.id);
	assert.equal(work.session_calls, frames - from + 1);
	assert.equal(step.session_calls, 3 * work.session_calls);
	assert.ok(step.session_max_frame >= from);
});
