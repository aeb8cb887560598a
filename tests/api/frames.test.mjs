// SPDX-License-Identifier: MIT
// Sessions, frames and what is in them: what the example game did is what the API answers.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { answerProblems } from './schema.mjs';
import { until, World } from './world.mjs';

const FRAMES = 200;
const ZONES = 400;
const world = new World();
let session, frames;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--frames', String(FRAMES), '--fps', '120', '--zones', String(ZONES), '--hitch-every', '70',
		'--hitch-ms', '80'], { FPROF_NAME: 'the game' });
	({ frames } = await world.api(`/sessions/${session.id}/frames?last=3600`));
});
after(() => world.close());

test('the session says who it was', () => {
	assert.equal(session.name, 'the game');
	assert.equal(session.state, 'ended');
	assert.equal(session.uid, process.getuid());
	assert.match(session.exe, /\/game$/);
	assert.match(session.start_utc, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
	assert.ok(Math.abs(Date.parse(session.start_utc) - Date.now()) < 3_600_000);
	assert.ok(session.facts.argv.includes('--hitch-every'));
	assert.ok(session.end_ns > 0);
	assert.notEqual(session.end_reason, null);
	assert.equal(session.recording_state, 'stopped');
	assert.ok(session.threads >= 5, `${session.threads} threads`);
	assert.equal(session.threads_active, 0);
	assert.deepEqual(new Set(session.streams), new Set(['main', 'audio', 'streaming'].filter((one) => session.streams.includes(one))));
	assert.ok(session.streams.includes('main') && session.streams.includes('audio'));
});

test('every frame is counted, none is lost', () => {
	assert.equal(session.frames_total, FRAMES);
	assert.equal(session.frames_retained, FRAMES);
	assert.deepEqual(session.retained, { first: 1, last: FRAMES });
	assert.deepEqual(session.rows, session.retained);
	assert.equal(session.lost_events, 0);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: FRAMES }, (_, at) => at + 1));
	assert.deepEqual(frames.map((one) => one.engine_id), Array.from({ length: FRAMES }, (_, at) => at + 1));
});

test('the ledger balances', () => {
	const { produced, received, overwritten, stored, discarded } = session.ledger;
	assert.ok(produced > FRAMES * ZONES * 2 * 0.9, `${produced} events`);
	assert.equal(produced, received + overwritten);
	assert.equal(received, stored + discarded);
	assert.equal(session.lost_events, overwritten + session.losses.reentrant + session.losses.refused.events);
});

test('frames touch each other, and their parts add up', () => {
	for (const [at, one] of frames.entries()) {
		if (at > 0)
			assert.equal(one.begin_ns, frames[at - 1].begin_ns + frames[at - 1].wall_ns, `frame ${one.frame}`);
		const waits = Object.values(one.wait_ns).reduce((sum, ns) => sum + (ns ?? 0), 0);
		assert.equal(one.cpu_ns + waits, one.wall_ns, `frame ${one.frame}`);
		assert.equal(one.flags.includes('startup'), one.frame === 1, `frame ${one.frame}`);
	}
});

test('the hitch is the slowest frame and says so', async () => {
	const slowest = await world.api(`/sessions/${session.id}/frames/slowest`);
	const measured = frames.slice(1).reduce((worst, one) => (one.wall_ns > worst.wall_ns ? one : worst));
	assert.equal(slowest.frame, measured.frame);
	const hitch = await world.api(`/sessions/${session.id}/frames/140`);
	const zones = hitch.threads.flatMap((thread) => thread.zones);
	const load = zones.filter((zone) => zone.name === 'load_level');
	assert.equal(load.length, 1);
	assert.ok(load[0].duration_ns >= 80e6, `${load[0].duration_ns} ns`);
	assert.equal(load[0].category, 'loading');
	assert.match(load[0].file, /game\.c$/);
	assert.ok(hitch.messages.some((one) => one.text === 'frame 140: loading for 80 ms'));
});

test('every zone of a frame is there, inside its parent', async () => {
	const detail = await world.api(`/sessions/${session.id}/frames/100`);
	const begin = detail.begin_ns, end = detail.begin_ns + detail.wall_ns;
	let count = 0;
	for (const { name, zones } of detail.threads) {
		for (const [at, zone] of zones.entries()) {
			count++;
			const label = `${name}: zone ${at} ${zone.name}`;
			assert.ok(zone.start_ns >= begin && zone.start_ns + zone.duration_ns <= end, label);
			if (zone.parent === null) {
				assert.equal(zone.depth, 0, label);
				continue;
			}
			const parent = zones[zone.parent];
			assert.ok(zone.parent < at, label);
			assert.equal(zone.depth, parent.depth + 1, label);
			assert.ok(zone.start_ns >= parent.start_ns
				&& zone.start_ns + zone.duration_ns <= parent.start_ns + parent.duration_ns, label);
		}
	}
	// those of its workers may come late, on a busy machine
	assert.ok(count >= ZONES * 0.4, `${count} zones`);
	assert.equal(detail.truncated, false);
	const top = detail.threads[0].zones.find((zone) => zone.name === 'frame');
	assert.equal(top.value, 100);
	assert.ok(detail.counters.some((one) => one.name === 'objects' && one.unit === 'count' && Number.isInteger(one.value)));
	assert.ok(detail.counters.some((one) => one.name === 'frame_ms' && one.unit === 'ms' && one.value > 0));
});

test('a frame can be cut at a depth, and says so', async () => {
	const all = await world.api(`/sessions/${session.id}/frames/100`);
	const cut = await world.api(`/sessions/${session.id}/frames/100?max_zones=20`);
	const count = (detail) => detail.threads.reduce((sum, one) => sum + one.zones.length, 0);
	assert.equal(cut.truncated, true);
	assert.ok(count(cut) <= 20 && count(cut) > 0, `${count(cut)} zones`);
	const depth = (detail) => Math.max(...detail.threads.flatMap((one) => one.zones.map((zone) => zone.depth)));
	assert.ok(depth(cut) < depth(all));
});

test('GPU results land in their own frame', () => {
	const done = frames.filter((one) => one.gpu_ns !== null);
	assert.ok(done.length > FRAMES / 2, `${done.length} frames with GPU times`);
	for (const one of done) {
		assert.equal(one.gpu_ns, Math.max(...one.gpu.map((queue) => queue.span_ns)));
		for (const queue of one.gpu)
			assert.ok(queue.busy_ns <= queue.span_ns);
	}
});

test('ranges are inclusive, the newest come last', async () => {
	const numbers = async (query) => (await world.api(`/sessions/${session.id}/frames?${query}`)).frames.map((one) => one.frame);
	assert.deepEqual(await numbers('from=5&to=8'), [5, 6, 7, 8]);
	assert.deepEqual(await numbers('last=3'), [FRAMES - 2, FRAMES - 1, FRAMES]);
	assert.deepEqual(await numbers(`from=${FRAMES - 1}`), [FRAMES - 1, FRAMES]);
	assert.deepEqual(await numbers('to=2'), [1, 2]);
	assert.equal((await world.api(`/sessions/${session.id}/frames/latest`)).frame, FRAMES);
});

test('a thread that writes says how full its ring lately was', async (t) => {
	const small = new World();
	t.after(() => small.close());
	writeFileSync(small.config, 'ring_kib = 64\n');
	await small.startDaemon();
	const game = small.game(['--frames', '0', '--fps', '60', '--zones', '2000']);
	const { id } = await small.live(game.pid, 2);
	const fills = async () => {
		const answer = await small.get(`/api/v1/sessions/${id}/threads`);
		assert.deepEqual(answerProblems('/api/v1/sessions/{id}/threads', answer), []);
		return new Map(JSON.parse(answer.text).threads.map((one) => [one.name, one.ring_fill_max]));
	};
	await until('the main thread has more to say than the audio thread', async () => {
		const now = await fills();
		return now.get('main') > 0.005 && now.get('main') > now.get('audio') && now.get('main') <= 1;
	});
	game.kill();
	await game.done;
	await small.ended(game.pid);
	assert.deepEqual(new Set((await fills()).values()), new Set([null]));
});

test('named streams have their own frames', async () => {
	const { streams } = await world.api(`/sessions/${session.id}/streams`);
	const { threads } = await world.api(`/sessions/${session.id}/threads`);
	assert.equal(streams[0].name, 'main');
	const audio = streams.find((one) => one.name === 'audio');
	assert.equal(threads.find((one) => one.id === audio.thread).name, 'audio');
	const answer = await world.api(`/sessions/${session.id}/frames?stream=audio`);
	assert.equal(answer.stream, 'audio');
	assert.ok(answer.frames.length > 50, `${answer.frames.length} audio frames`);
	assert.equal((await world.api(`/sessions/${session.id}/frames/slowest?stream=audio`)).stream, 'audio');
});

test('current is the newest live session, else the newest', async () => {
	assert.equal((await world.api('/sessions/current')).id, session.id);
	const game = world.game(['--frames', '0', '--fps', '100', '--zones', '50']);
	const { id } = await world.live(game.pid, 5);
	const current = await world.api('/sessions/current');
	assert.equal(current.id, id);
	assert.equal(current.state, 'live');
	assert.equal(current.recording_state, 'recording');
	assert.ok(current.threads_active > 0);
	assert.equal((await world.api('/status')).sessions.live, 1);
	game.kill('SIGKILL');
	const ended = await world.ended(game.pid);
	assert.equal(ended.state, 'crashed');
	assert.match(ended.end_reason, /SIGKILL/);
	assert.equal((await world.api('/sessions?last=1')).sessions[0].id, id);
});

test('what does not change need not be sent again', async () => {
	for (const what of [`/api/v1/sessions/${session.id}/frames`, `/api/v1/sessions/${session.id}/frames/100`, '/']) {
		const first = await world.get(what);
		assert.ok(first.headers.etag, what);
		const again = await world.get(what, { headers: { 'if-none-match': first.headers.etag } });
		assert.equal(again.status, 304, what);
		assert.equal(again.text, '');
		assert.equal((await world.get(what, { headers: { 'if-none-match': '"other"' } })).status, 200, what);
	}
	const { headers } = await world.get('/api/v1/status');
	assert.equal(headers.etag, undefined);
	assert.equal(headers['cache-control'], 'no-store');
});

test('gzip for those who ask', async () => {
	const what = `/api/v1/sessions/${session.id}/frames`;
	const plain = await world.get(what);
	const packed = await world.get(what, { headers: { 'accept-encoding': 'gzip' } });
	assert.equal(plain.headers['content-encoding'], undefined);
	assert.equal(packed.headers['content-encoding'], 'gzip');
	assert.ok(packed.bytes.length < plain.bytes.length / 2);
	assert.equal(gunzipSync(packed.bytes).toString(), plain.text);
	const refused = await world.get(what, { headers: { 'accept-encoding': 'gzip;q=0' } });
	assert.equal(refused.headers['content-encoding'], undefined);
});

test('a connection serves many requests', async () => {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	let connections = 0;
	agent.createConnection = ((make) => (...args) => {
		connections++;
		return make.apply(agent, args);
	})(agent.createConnection);
	for (let i = 0; i < 50; i++)
		assert.equal((await world.get('/api/v1/sessions', { agent })).status, 200);
	agent.destroy();
	assert.equal(connections, 1);
});

test('the status knows the daemon', async () => {
	const status = await world.api('/status');
	assert.equal(status.daemon.pid, world.daemon.pid);
	assert.ok(status.daemon.cpu_ns > 0 && status.daemon.rss_bytes > 1e6);
	assert.ok(status.event_cost_ns > 0 && status.event_cost_ns < 10_000);
	assert.ok(status.drain.events >= session.ledger.received);
	assert.ok(status.history.raw_bytes > 0 && status.history.stored_bytes > 0);
	assert.equal(status.losses.lost_events, 0);
	const current = await world.api('/sessions/current');
	assert.deepEqual(status.current, { session: current.id, state: current.state, frames_total: current.frames_total,
		frames_retained: current.frames_retained, retained: current.retained, rows: current.rows, lost_events: 0, own_cost: current.own_cost });
	assert.ok(Math.abs(current.own_cost.frame_ns - current.own_cost.events_per_frame * status.event_cost_ns) < 1);
	for (const source of status.sources)
		assert.ok(source.state === 'on' || source.reason, source.name);
});
