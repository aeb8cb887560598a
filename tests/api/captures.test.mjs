// SPDX-License-Identifier: MIT
// Captures: what is saved, downloaded and uploaded answers as what it was saved from, in every path, while recording goes on.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, World, until } from './world.mjs';

const world = new World();
let session, saved, uploaded;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--frames', '150', '--fps', '0', '--zones', '300', '--hitch-every', '40', '--hitch-ms', '5']);
});
after(() => world.close());

const send = async (method, what, body) => {
	const answer = await world.request(method, `/api/v1${what}`, { body: body === undefined ? undefined : JSON.stringify(body) });
	return { ...answer, json: answer.text.startsWith('{') ? JSON.parse(answer.text) : null };
};

/** The same but for who answers, and what else there is. */
function strip(value) {
	if (Array.isArray(value))
		return value.map(strip);
	if (value === null || typeof value !== 'object')
		return value;
	return Object.fromEntries(Object.entries(value).filter(([key]) => key !== 'session' && key !== 'rows').map(([key, one]) => [key, strip(one)]));
}

async function assertSame(a, b, { first, last }) {
	const range = `from=${first}&to=${last}`;
	const asks = ['threads', 'streams', `zones?view=tree&${range}`, `zones?view=flat&${range}`, `stats?${range}`];
	const [busiest] = (await world.api(`/sessions/${a}/zones?view=flat&${range}`)).zones;
	asks.push(`zones?view=callers&name=${encodeURIComponent(busiest.name)}&${range}`);
	for (let frame = first; frame <= last; frame += 7)
		asks.push(`frames/${frame}?max_zones=200000`);
	for (const ask of asks)
		assert.deepEqual(strip(await world.api(`/sessions/${b}/${ask}`)), strip(await world.api(`/sessions/${a}/${ask}`)), ask);
	const rows = async (id) => strip((await world.api(`/sessions/${id}/frames?${range}`)).frames);
	assert.deepEqual(await rows(b), await rows(a));
}

test('a saved session answers as the recorded one', async () => {
	const answer = await send('POST', '/captures', { session: session.id, name: 'größe 日本', note: 'first' });
	assert.equal(answer.status, 201, answer.text);
	assert.deepEqual(answerProblems('/api/v1/captures', answer, 'post'), []);
	saved = answer.json;
	assert.deepEqual(saved.frames, session.retained);
	assert.equal(saved.source_session, session.id);
	await assertSame(session.id, saved.id, saved.frames);
	const [a, b] = [await world.api(`/sessions/${session.id}`), await world.api(`/sessions/${saved.id}`)];
	assert.equal(b.kind, 'capture');
	assert.equal(a.kind, 'recorded');
	for (const key of ['losses', 'ledger', 'info', 'facts', 'clock', 'start_utc', 'name', 'exe', 'retained', 'state', 'end_reason'])
		assert.deepEqual(b[key], a[key], key);
});

test('a capture and its file are as documented', async () => {
	const one = await world.get(`/api/v1/captures/${saved.id}`);
	assert.deepEqual(answerProblems('/api/v1/captures/{id}', one), []);
	assert.ok(JSON.parse(one.text).sources.some((source) => source.name === 'rings' && source.state === 'on'));
	const file = await world.get(`/api/v1/captures/${saved.id}/file`);
	assert.equal(file.status, 200);
	assert.match(file.headers['content-disposition'], /filename\*=UTF-8''gr%C3%B6%C3%9Fe%20%E6%97%A5%E6%9C%AC\.fprof/);
	assert.equal(file.bytes.length, saved.bytes);
	writeFileSync(path.join(world.dir, 'saved.fprof'), file.bytes);
	assert.equal(execFileSync('sqlite3', [path.join(world.dir, 'saved.fprof'), 'PRAGMA integrity_check; SELECT count(*) FROM sessions'],
		{ encoding: 'utf8' }), 'ok\n1\n');
});

test('an uploaded capture is a session like any other', async () => {
	const body = readFileSync(path.join(world.dir, 'saved.fprof'));
	const answer = await world.request('POST', '/api/v1/captures/upload?name=from%20afar', { body });
	assert.equal(answer.status, 201, answer.text);
	assert.deepEqual(answerProblems('/api/v1/captures/upload', answer, 'post'), []);
	uploaded = JSON.parse(answer.text);
	assert.equal(uploaded.kind, 'upload');
	assert.equal(uploaded.name, 'from afar');
	assert.equal(uploaded.note, 'first');
	await assertSame(session.id, uploaded.id, saved.frames);
});

test('captures are among the sessions, and never current', async () => {
	const { sessions, total } = await world.api('/sessions');
	assert.deepEqual(sessions.map((one) => [one.id, one.kind]),
		[[uploaded.id, 'upload'], [saved.id, 'capture'], [session.id, 'recorded']]);
	assert.equal(total, 3);
	assert.equal((await world.api('/sessions/current')).id, session.id);
	assert.equal((await world.api('/sessions?last=1')).sessions.length, 1);
});

test('captures are renamed, annotated and deleted', async () => {
	const edited = await send('PATCH', `/captures/${uploaded.id}`, { name: 'another', note: '' });
	assert.equal(edited.status, 200, edited.text);
	assert.deepEqual(answerProblems('/api/v1/captures/{id}', edited, 'patch'), []);
	assert.deepEqual([edited.json.name, edited.json.note], ['another', '']);
	const gone = await send('DELETE', `/captures/${uploaded.id}`);
	assert.deepEqual([gone.status, gone.json], [200, { deleted: uploaded.id }]);
	assert.equal((await world.get(`/api/v1/captures/${uploaded.id}`)).status, 404);
	assert.equal((await world.get(`/api/v1/sessions/${uploaded.id}`)).status, 404);
	assert.deepEqual(readdirSync(path.join(world.state, 'captures')), [`${saved.id}.fprof`]);
});

test('a range is saved while recording goes on, and nothing of it is lost', async () => {
	const game = world.game(['--frames', '100000', '--fps', '200', '--zones', '200']);
	const live = await until('the game has frames', async () =>
		(await world.api('/sessions')).sessions.find((one) => one.pid === game.pid && one.frames_retained > 50));
	const answer = await send('POST', '/captures', { session: live.id, last: 40 });
	assert.equal(answer.status, 201, answer.text);
	const { frames, id } = answer.json;
	assert.equal(frames.last - frames.first, 39);
	const then = await world.api(`/sessions/${id}/zones?view=flat&from=${frames.first}&to=${frames.last}`);
	const cleared = await send('POST', `/sessions/${live.id}/clear`);
	assert.ok(cleared.status < 300, cleared.text);
	assert.deepEqual(await world.api(`/sessions/${id}/zones?view=flat&from=${frames.first}&to=${frames.last}`), then);
	game.kill('SIGTERM');
	await game.done;
	const ended = await world.ended(game.pid);
	assert.ok(ended.frames_total > live.frames_total);
	assert.equal(ended.lost_events, 0);
	assert.equal(ended.ledger.produced, ended.ledger.received + ended.ledger.overwritten);
	assert.deepEqual(await world.api(`/sessions/${id}/zones?view=flat&from=${frames.first}&to=${frames.last}`), then);
	assert.equal((await send('DELETE', `/captures/${id}`)).status, 200);
});

test('captures outlive the daemon', async () => {
	const ask = `/sessions/${saved.id}/frames/${saved.frames.first + 3}?max_zones=200000`;
	const answer = await world.api(ask);
	await world.stopDaemon();
	await world.startDaemon();
	assert.deepEqual(await world.api(ask), answer);
	assert.deepEqual((await world.api('/captures')).captures.map((one) => one.id), [saved.id]);
});

test('what is no capture is refused with the reason', async () => {
	const sound = readFileSync(path.join(world.dir, 'saved.fprof'));
	const flipped = Buffer.from(sound);
	flipped[sound.indexOf('capture.name') + 12] ^= 1;
	for (const [body, reason] of [['', /empty/], ['no', /no capture/], [sound.subarray(0, sound.length - 4096), /cut short/], [flipped, /checksum|damaged/]]) {
		const answer = await world.request('POST', '/api/v1/captures/upload', { body });
		assert.equal(answer.status, 422, answer.text);
		assert.match(JSON.parse(answer.text).detail, reason);
	}
	assert.equal((await world.api('/captures')).captures.length, 1);
	assert.deepEqual(readdirSync(path.join(world.state, 'captures')), [`${saved.id}.fprof`]);
});

test('a body that means nothing names what is wrong', async () => {
	for (const [body, status, parameter] of [
		[{ session: 0 }, 400, 'session'], [{ session: 'x' }, 400, 'session'], [{ session: 4711 }, 404],
		[{ session: session.id, from: 5, to: 2 }, 400, 'to'], [{ session: session.id, last: 3, from: 1 }, 400, 'last'],
		[{ session: session.id, from: '1' }, 400, 'from'], [{ session: session.id, from: 9000, to: 9001 }, 404],
		[{ spike: session.id }, 400, 'spike'], [{ spike: 1, session: 1 }, 400, 'spike'], [{ name: '' }, 400, 'name'],
		[{ tail: 1 }, 400, 'tail'], [{ wat: 1 }, 400, 'wat']]) {
		const answer = await send('POST', '/captures', body);
		assert.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`);
		if (parameter)
			assert.equal(answer.json.parameter, parameter, answer.text);
	}
	assert.equal((await world.request('POST', '/api/v1/captures', { body: '[' })).status, 400);
	assert.equal((await send('PATCH', `/captures/${saved.id}`, { name: 7 })).json.parameter, 'name');
	assert.equal((await world.get('/api/v1/captures/x')).status, 400);
});

test('the command saves, lists and imports', async () => {
	const fprof = (...args) => execFileSync(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${world.port}`, ...args],
		{ encoding: 'utf8' });
	const file = path.join(world.dir, 'über.fprof');
	const capture = JSON.parse(fprof('save', String(session.id), '--from', '10', '--to', '20', '-o', file, '--json'));
	assert.deepEqual(capture.frames, { first: 10, last: 20 });
	const { session: id } = JSON.parse(fprof('import', file, '--json'));
	await assertSame(session.id, id, { first: 10, last: 20 });
	fprof('captures', 'name', String(id), 'mine');
	assert.match(fprof('captures'), /mine/);
	fprof('captures', 'delete', String(id));
	assert.doesNotMatch(fprof('captures'), /mine/);
});

test('frames that are asked for and are not there, or have no events any more, are told of', async (t) => {
	const small = new World();
	t.after(() => small.close());
	const config = path.join(small.dir, 'conf');
	writeFileSync(config, 'history_frames = 30\n');
	await small.startDaemon(['--config', config]);
	const { id, retained } = await small.played(['--frames', '200', '--fps', '500', '--zones', '50']);
	assert.ok(retained.first > 20 && retained.last === 200, `${retained.first}`);
	const gone = `the events of ${retained.first - 11} of 190 frames had left the history`;
	for (const [range, lost] of [[{}, undefined], [{ from: retained.first, to: 200 }, undefined],
		[{ from: 1, to: 10 }, 'the events of 10 of 10 frames had left the history'], [{ from: 11, to: 200 }, gone],
		[{ from: 11, to: 300 }, `only frames 11 to 200 are there; ${gone}`]]) {
		const made = await small.request('POST', '/api/v1/captures', { body: JSON.stringify({ session: id, ...range }) });
		assert.equal(made.status, 201, made.text);
		assert.equal(made.headers['fprof-lost'], lost, JSON.stringify(range));
		const file = await small.get(`/api/v1/sessions/${id}/export?format=chrome&${new URLSearchParams(range)}`);
		assert.equal(file.status, 200);
		assert.equal(file.headers['fprof-lost'], lost, JSON.stringify(range));
		if (range.to > 200 || !range.to)
			continue;
		const kept = await small.request('POST', '/api/v1/snapshots', { body: JSON.stringify({ name: 'kept', session: id, ...range }) });
		assert.equal(kept.status, 201, kept.text);
		assert.equal(kept.headers['fprof-lost'], lost, JSON.stringify(range));
	}
	// what is left of them are their rows
	const judged = (await small.api(`/sessions/${id}/verdict?from=2&to=10`)).frames;
	const rows = (await small.api(`/sessions/${id}/frames?from=2&to=10`)).frames;
	assert.deepEqual(judged.map((one) => [one.events, one.parts.find(({ part }) => part === 'cap')?.ns ?? 0]), rows.map((one) => ['gone', one.wait_ns.cap ?? 0]));
	for (const what of ['frames/10/critical-path', 'critical-path?from=2&to=10']) {
		const answer = await small.get(`/api/v1/sessions/${id}/${what}`);
		assert.deepEqual([answer.status, JSON.parse(answer.text).type.split('/').pop()], [409, 'events-gone'], answer.text);
	}
	const stats = await small.api(`/sessions/${id}/stats?metric=wall&from=1&to=210`);
	assert.deepEqual([stats.lost.missing_frames, stats.lost.frames_without_events], [10, retained.first - 1]);
	const last = 200 - retained.first + 1;
	const check = async (query) => {
		const answer = await small.get(`/api/v1/sessions/${id}/check?${query}`);
		assert.deepEqual(answerProblems('/api/v1/sessions/{id}/check', answer), []);
		return { status: answer.status, ...JSON.parse(answer.text) };
	};
	for (const metric of ['zone:frame.total.max&max_ms=9999', 'zone:frame.calls.max&max=9999', 'counter:objects.max&max=9999999']) {
		const none = await check(`metric=${metric}`);
		const [{ reason, detail, try: { last: named } }] = none.conditions;
		assert.deepEqual([none.status, reason, named], [409, 'events_gone', last], metric);
		assert.ok(detail.includes(`of ${retained.first - 2} of 199 frames`) &&
			detail.includes(`${id}:${retained.first}-200, and the last ${last}`), detail);
		const there = await check(`metric=${metric}&last=${last}`);
		assert.equal(there.status, 200, JSON.stringify(there.conditions));
		assert.equal(there.conditions[0].try, null);
		const mixed = await check(`metric=${metric}&metric=frame.max&max_ms=9999`);
		assert.deepEqual(mixed.conditions.map((one) => one.verdict), ['inconclusive', 'pass']);
	}
	const all = await small.get(`/api/v1/check?metric=zone:frame.max&max_ms=9999&runs=${id}`);
	assert.deepEqual([all.status, JSON.parse(all.text).conditions[0].try], [409, null]);
	const base = await small.get(`/api/v1/check?metric=zone:frame.max&runs=${id}:${retained.first}-200&baseline=${id}`);
	assert.equal(JSON.parse(base.text).conditions[0].reason, 'events_gone');
	const said = (...args) => spawnSync(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${small.port}`, ...args], { encoding: 'utf8' });
	const text = said('check', 'zone:frame.max<=9999', '--session', String(id));
	assert.equal(text.status, 3);
	assert.match(text.stdout, new RegExp(`^ +try --last ${last}\nrun ${id}: 199 frames \\(1\\.\\.200\\); left out: 1 startup\ninconclusive`, 'm'));
	assert.match(said('stats', String(id), '--last', '10').stdout, /^10 frames \(191\.\.200\) of session \d+; times in ms; 190 older ones are not among them$/m);
	const table = said('stats', String(id), '--from', '1', '--to', '200', '--metric', 'wall').stdout;
	assert.doesNotMatch(table, /events are gone/);
	const zones = said('stats', String(id), '--from', '1', '--to', '200', '--metric', 'wall', '--metric', 'zone:frame').stdout;
	assert.match(zones, new RegExp(`^not in those of zones, counters and allocations: ${retained.first - 1} frames whose events are gone$`, 'm'));
	assert.match(said('frame', String(id), 'slowest').stdout,
		new RegExp(`^the slowest of frames ${retained.first} to 200, whose events are kept; ${retained.first - 1} older ones are not looked at`, 'm'));
	assert.match(said('frames', String(id), '--sort', 'wall').stdout, /^sorted are all frames that have a row \(1\.\.200\)/m);
});
