// SPDX-License-Identifier: MIT
// Triggers and spikes: what fires is kept with its neighbours and says why; two that are near each other are one; no
// more are kept than asked for; a daemon that dies in between leaves it to the next one.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems, problems } from './schema.mjs';
import { BUILD, DOOM, EventReader, WAD, World, until } from './world.mjs';

const TRIGGERS = '/api/v1/sessions/{id}/triggers';
const world = new World();

/** The configuration that a machine without one has. */
const start = () => world.startDaemon(['--config', '/dev/null']);

before(start);
after(() => world.close());

/** A game that plays until it is told to end; its session once it has a frame. */
async function play(args) {
	const game = world.game(['--frames', '0', '--fps', '120', '--zones', '50', ...args]);
	const session = await world.live(game.pid, 1);
	return { game, id: session.id };
}

/** A trigger on a frame that is still to come, however slow the machine; the frame's number. */
async function setOnFrame(id, what) {
	const number = (await world.api(`/sessions/${id}`)).frames_total + 120;
	await set(id, [{ on: 'frame_number', number, ...what }]);
	return number;
}

async function end({ game }) {
	game.kill('SIGINT');
	assert.equal((await game.done).code, 0);
	return world.ended(game.pid);
}

async function put(id, list) {
	const answer = await world.request('PUT', `/api/v1/sessions/${id}/triggers`, { body: JSON.stringify(list) });
	assert.deepEqual(answerProblems(TRIGGERS, answer, 'put'), []);
	return { status: answer.status, body: JSON.parse(answer.text) };
}

async function set(id, list) {
	const { status, body } = await put(id, list);
	assert.equal(status, 200, JSON.stringify(body));
	return body;
}

async function spikesOf(id) {
	const answer = await world.get(`/api/v1/sessions/${id}/spikes`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/spikes', answer), []);
	return JSON.parse(answer.text).spikes;
}

const saved = (id, count) => until(`session ${id} has ${count} saved spikes`, async () => {
	const spikes = (await spikesOf(id)).filter((one) => one.state === 'saved');
	return spikes.length >= count && spikes;
});

/** All are saved: none is open. */
const settled = (id) => until(`no spike of ${id} is open`, async () => {
	const spikes = await spikesOf(id);
	return spikes.every((one) => one.state !== 'open') && spikes;
});

test('the default triggers are those of the configuration', async () => {
	const playing = await play([]);
	const answer = await world.get(`/api/v1/sessions/${playing.id}/triggers`);
	assert.deepEqual(answerProblems(TRIGGERS, answer), []);
	const list = JSON.parse(answer.text);
	assert.deepEqual(list.map((one) => one.on), ['frame', 'exit_without_goodbye']);
	assert.deepEqual(list[0], { on: 'frame', label: 'frame above 3 times the median', times_median: 3, floor_ms: 50, warm_up: 60,
		before: 60, after: 30, cool_down_ms: 10000, freeze: false, keep: 8 });
	assert.equal(list[1].before, 600);
	const session = await end(playing);
	assert.deepEqual(await world.api(`/sessions/${session.id}/triggers`), list, 'an ended session had them');
	const late = await put(session.id, []);
	assert.equal(late.status, 409);
	assert.equal(late.body.type, '/problems/not-live');
});

test('of a session that has ended the triggers it was given are listed', async () => {
	const playing = await play([]);
	const given = await set(playing.id, [{ on: 'frame_number', number: 1000000 }]);
	await end(playing);
	assert.deepEqual(await world.api(`/sessions/${playing.id}/triggers`), given);
});

test('hitches that a rest kept back are told when no spike follows', async () => {
	const playing = await play(['--hitch-every', '40', '--hitch-ms', '20']);
	await set(playing.id, [{ on: 'zone', name: 'load_level', above_ms: 1, before: 1, after: 1, warm_up: 0, cool_down_ms: 3600000 }]);
	await world.live(playing.game.pid, 150);
	await end(playing);
	const [spike] = await settled(playing.id);
	const answer = await world.get(`/api/v1/sessions/${playing.id}/spikes`);
	const { suppressed } = JSON.parse(answer.text);
	assert.equal(suppressed.length, 1, answer.text);
	const [one] = suppressed;
	assert.equal(one.session, playing.id);
	assert.equal(one.trigger.name, 'load_level');
	const first = spike.reason.fired[0].frame;
	const { frames_total: frames } = await world.api(`/sessions/${playing.id}`);
	assert.deepEqual(one.frames, { first: first + 40, last: frames - frames % 40 });
	assert.equal(one.count, (one.frames.last - first) / 40);
	assert.deepEqual((await world.api('/spikes')).suppressed.filter((other) => other.session === playing.id), suppressed);
});

test('what was cleared by order is not missed', async () => {
	const playing = await play([]);
	await set(playing.id, [{ on: 'exit_without_goodbye', before: 600 }]);
	await world.live(playing.game.pid, 100);
	assert.equal((await world.request('POST', `/api/v1/sessions/${playing.id}/clear`)).status, 200);
	const { frames_total: cleared } = await world.api(`/sessions/${playing.id}`);
	await world.live(playing.game.pid, cleared + 50);
	playing.game.kill('SIGKILL');
	const [crash] = await saved(playing.id, 1);
	assert.equal(crash.kind, 'crash');
	assert.equal(crash.reason.missing, undefined, JSON.stringify(crash.reason.missing));
	assert.ok(crash.frames.first > 100 && crash.frames.last >= cleared + 50, JSON.stringify(crash.frames));
});

test('a list with a mistake changes nothing, and entry and member are named', async () => {
	const playing = await play([]);
	const before_ = await set(playing.id, [{ on: 'frame', above_ms: 500 }]);
	const wrong = [
		['{}', 'body', /array/],
		['[{"on": "frame", "above_ms": 3}', 'body', /JSON/],
		['[7]', '[0]', /object/],
		['[{}]', '[0].on', /missing/],
		['[{"on": "frames", "above_ms": 3}]', '[0].on', /not known/],
		['[{"on": "frame", "above_ms": 3}, {"on": "frame"}]', '[1]', /above_ms, times_median/],
		['[{"on": "frame", "above_ms": "3"}]', '[0].above_ms', /number from 0 to 3600000/],
		['[{"on": "frame", "above_ms": -1}]', '[0].above_ms', /number from 0/],
		['[{"on": "frame", "above": 1}]', '[0].above', /no member of 'frame'/],
		['[{"on": "frame", "above_ms": 1, "keep": 0}]', '[0].keep', /whole number from 1 to 1000/],
		['[{"on": "frame", "above_ms": 1, "before": 1.5}]', '[0].before', /whole number/],
		['[{"on": "frame", "above_ms": 1, "floor_ms": 1}]', '[0].times_median', /missing/],
		['[{"on": "zone", "above_ms": 1}]', '[0].name', /missing/],
		['[{"on": "zone", "name": "x", "of": "gpu", "above_ms": 1}]', '[0].of', /allowed/],
		['[{"on": "frame", "above_ms": 1, "freeze": 1}]', '[0].freeze', /boolean/],
		['[{"on": "exit_without_goodbye", "after": 3}]', '[0].after', /no member/],
		[`[${Array(65).fill('{"on": "lost_data"}').join(',')}]`, 'body', /at most 64/],
	];
	for (const [body, parameter, detail] of wrong) {
		const answer = await world.request('PUT', `/api/v1/sessions/${playing.id}/triggers`, { body });
		const problem = JSON.parse(answer.text);
		assert.equal(answer.status, 400, `${body}: ${answer.text}`);
		assert.equal(problem.type, '/problems/bad-trigger');
		assert.equal(problem.parameter, parameter, body);
		assert.match(problem.detail, detail, body);
	}
	assert.deepEqual(await world.api(`/sessions/${playing.id}/triggers`), before_);
	assert.deepEqual(await set(playing.id, []), []);
	const again = await set(playing.id, before_);
	assert.deepEqual(again, before_, 'what is answered can be given');
	await end(playing);
});

test('a hitch is a spike with its neighbours, and says why with the numbers', async () => {
	const stream = await EventReader.open(world);
	const playing = await play(['--hitch-every', '100', '--hitch-ms', '600']);
	await set(playing.id, [{ on: 'frame', above_ms: 500, cool_down_ms: 3600000 }]);
	const [spike] = await saved(playing.id, 1);
	const [fired] = spike.reason.fired;
	assert.equal(spike.kind, 'spike');
	assert.equal(fired.frame % 100, 0);
	assert.equal(spike.reason.frame, fired.frame);
	assert.ok(fired.value_ms >= 600, `${fired.value_ms}`);
	assert.equal(fired.threshold_ms, 500);
	assert.equal(fired.median_ms, undefined);
	assert.equal(fired.trigger.label, 'frame above 500 ms');
	assert.equal(spike.reason.missing, undefined);
	assert.deepEqual(spike.frames, { first: fired.frame - 60, last: fired.frame + 30 });
	const { frames } = await world.api(`/sessions/${spike.id}/frames?last=3600`);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: 91 }, (_, at) => fired.frame - 60 + at));
	assert.ok(frames[60].wall_ns >= 600e6);
	const longest = frames.reduce((most, one) => one.wall_ns > most.wall_ns ? one : most);
	assert.deepEqual(spike.reason.worst, { frame: longest.frame, wall_ms: longest.wall_ns / 1e6 });
	assert.equal(frames.filter((one) => one.flags.includes('gpu_pending')).length, 0, 'it has waited for the GPU');
	const detail = await world.api(`/sessions/${spike.id}/frames/${fired.frame}`);
	assert.ok(detail.threads.some((one) => one.zones.some((zone) => zone.name === 'load_level')));
	await end(playing);
	const events = stream.of('spike').map((one) => one.data).filter((one) => one.session === playing.id);
	assert.deepEqual(events.map((one) => one.state), ['open', 'saved']);
	assert.equal(events[1].id, spike.id);
	assert.deepEqual(events[1].reason, spike.reason, 'the stream says what the list says');
	for (const event of events)
		assert.deepEqual(problems('Spike', event), []);
	await stream.close();
});

test('a spike in the after-frames of another makes it longer', async () => {
	const playing = await play(['--hitch-every', '80', '--hitch-ms', '20']);
	await set(playing.id, [{ on: 'zone', name: 'load_level', above_ms: 1, before: 10, after: 90, cool_down_ms: 3600000 }]);
	await world.live(playing.game.pid, 250);
	await end(playing);
	const spikes = await settled(playing.id);
	assert.equal(spikes.length, 1, JSON.stringify(spikes.map((one) => one.frames)));
	const frames = spikes[0].reason.fired.map((one) => one.frame);
	assert.deepEqual(frames.slice(0, 2), [80, 160]);
	assert.equal(spikes[0].frames.first, 70);
	assert.equal(spikes[0].reason.missing.before, 0);
	assert.ok(spikes[0].reason.missing.after > 0);
	assert.match(spikes[0].reason.missing.why, /session ended/);
});

test('of more spikes than are kept the oldest go', async () => {
	const playing = await play(['--hitch-every', '20', '--hitch-ms', '5']);
	await set(playing.id, [{ on: 'message', contains: 'loading for', before: 2, after: 2, cool_down_ms: 0, keep: 2, label: 'loads' }]);
	await world.live(playing.game.pid, 160);
	await end(playing);
	const spikes = await settled(playing.id);
	assert.equal(spikes.length, 2);
	const total = (await world.api(`/sessions/${playing.id}`)).frames_total;
	const newest = spikes.map((one) => one.reason.frame).sort((a, b) => b - a);
	assert.equal(newest[0] - newest[1], 20, 'the newest two are left');
	assert.ok(newest[0] > total - 20 && total >= 160, `${newest} of ${total}`);
	assert.match(spikes[0].reason.fired[0].text, /^frame \d+: loading for 5 ms$/);
	const { spikes: all } = await world.api('/spikes');
	assert.ok(spikes.every((one) => all.some((other) => other.id === one.id)));
});

test('a freeze waits for the after-frames', async () => {
	const playing = await play([]);
	const number = await setOnFrame(playing.id, { after: 40, freeze: true });
	const [spike] = await saved(playing.id, 1);
	assert.deepEqual(spike.frames, { first: number - 60, last: number + 40 });
	assert.equal(spike.reason.missing, undefined);
	const recording = await world.api(`/sessions/${playing.id}/recording`);
	assert.equal(recording.state, 'frozen');
	await end(playing);
});

test('a daemon killed in the after-frames leaves the spike to the next one', async () => {
	const playing = await play([]);
	const number = await setOnFrame(playing.id, { before: 20, after: 200 });
	await until('the spike is open', async () => (await spikesOf(playing.id)).some((one) => one.state === 'open'));
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await start();
	const [spike] = await saved(playing.id, 1);
	assert.equal(spike.reason.frame, number);
	assert.deepEqual(spike.frames, { first: number - 20, last: number + 200 });
	const { frames } = await world.api(`/sessions/${spike.id}/frames?last=3600`);
	assert.deepEqual(frames.map((one) => one.frame), Array.from({ length: 221 }, (_, at) => number - 20 + at));
	assert.deepEqual((await world.api(`/sessions/${playing.id}/triggers`)).map((one) => one.on), ['frame_number'],
		'triggers outlive the daemon');
	await end(playing);
	assert.equal((await spikesOf(playing.id)).length, 1, 'it is saved once');
});

test('a spike whose game ends while no daemon is there says what is missing', async () => {
	const playing = await play([]);
	const number = await setOnFrame(playing.id, { before: 20, after: 3000 });
	await until('the spike is open', async () => (await spikesOf(playing.id)).some((one) => one.state === 'open'));
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	playing.game.kill('SIGKILL');
	await playing.game.done;
	await start();
	const [spike] = await saved(playing.id, 1);
	assert.equal(spike.frames.first, number - 20);
	assert.equal(spike.reason.missing.before, 0);
	assert.equal(spike.reason.missing.after, number + 3000 - spike.frames.last);
	assert.match(spike.reason.missing.why, /session ended/);
});

test('a spike that is open when the history goes is kept as far as it was there', async () => {
	const playing = await play([]);
	const number = await setOnFrame(playing.id, { before: 20, after: 3000 });
	await until('the spike is open', async () => (await spikesOf(playing.id)).some((one) => one.state === 'open'));
	assert.equal((await world.stopDaemon()).code, 0);
	playing.game.kill('SIGKILL');
	await playing.game.done;
	for (const name of readdirSync(world.run).filter((one) => one.startsWith('history.db')))
		rmSync(path.join(world.run, name));
	await start();
	const [spike] = await saved(playing.id, 1);
	assert.equal(spike.frames.first, number - 20);
	assert.ok(spike.frames.last >= number);
	assert.equal((await spikesOf(playing.id)).length, 1);
	assert.ok((await world.api(`/sessions/${spike.id}/frames?last=3600`)).frames.length >= 21);
});

test('the frames of a spike stay until it is saved, however short the history is', async () => {
	const config = path.join(world.dir, 'own.conf');
	assert.equal((await world.stopDaemon()).code, 0);
	writeFileSync(config, 'history_frames = 50\n');
	await world.startDaemon(['--config', config]);
	const playing = await play([]);
	const number = await setOnFrame(playing.id, { before: 30, after: 150 });
	const [spike] = await saved(playing.id, 1);
	assert.equal(spike.reason.missing, undefined, JSON.stringify(spike.reason.missing));
	assert.deepEqual(spike.frames, { first: number - 30, last: number + 150 });
	await until('the history is short again', async () =>
		(await world.api(`/sessions/${playing.id}`)).frames_retained < 100);
	await end(playing);
	assert.equal((await world.stopDaemon()).code, 0);
	await start();
});

test('what is lost is told on the stream, and is a spike where that is asked for', async () => {
	const stream = await EventReader.open(world);
	const game = world.game(['--frames', '0', '--fps', '60', '--zones', '5000'], { FPROF_RING_KIB: '16' });
	const { id } = await world.live(game.pid, 1);
	await set(id, [{ on: 'lost_data', before: 1, after: 1, cool_down_ms: 0, keep: 1 }]);
	await until('something is lost', async () => {
		world.daemon.kill('SIGSTOP');
		await new Promise((resolve) => setTimeout(resolve, 300)); // no hurry: its rings hold a frame or two
		world.daemon.kill('SIGCONT');
		return stream.of('loss').some((one) => one.data.session === id);
	});
	const losses = stream.of('loss').map((one) => one.data).filter((one) => one.session === id);
	for (const loss of losses)
		assert.deepEqual(problems('Loss', loss), []);
	assert.equal(losses[0].lost_events, losses[0].new);
	const [spike] = await saved(id, 1);
	assert.equal(spike.reason.label, 'lost_data');
	assert.ok(spike.reason.fired[0].value > 0);
	await end({ game });
	await stream.close();
});

const noDoom = existsSync(DOOM) && existsSync(WAD) ? false : 'chocolate-doom and freedoom are not installed';

test('the one hitch of about a second in Doom\'s demo is one spike', { skip: noDoom }, async () => {
	assert.equal((await world.stopDaemon()).code, 0);
	const config = path.join(world.dir, 'own.conf');
	// It is the second frame, before anyone could set a trigger.
	writeFileSync(config, 'triggers = [{"on": "frame", "above_ms": 700, "warm_up": 1}]\n');
	await world.startDaemon(['--config', config]);
	const game = world.spawn(path.join(BUILD, 'fprof'), ['run', '--name', 'doom', '--', DOOM, '-iwad', WAD, '-timedemo', 'demo3',
		'-nosound', '-nogui'], { env: { SDL_VIDEODRIVER: 'dummy', SDL_AUDIODRIVER: 'dummy', HOME: world.dir } });
	await game.done;
	const { id } = await world.ended(game.pid);
	const spikes = await settled(id);
	const { frames } = await world.api(`/sessions/${id}/frames?last=3600`);
	const slow = frames.filter((one) => one.wall_ns > 500e6).map((one) => [one.frame, one.wall_ns / 1e6, ...one.flags]);
	assert.equal(spikes.length, 1, `of ${frames.length} frames slow are ${JSON.stringify(slow)}`);
	assert.deepEqual(spikes[0].frames, { first: 1, last: 32 });
	assert.equal(spikes[0].reason.missing, undefined);
	assert.ok(spikes[0].reason.fired[0].value_ms > 900);
});
