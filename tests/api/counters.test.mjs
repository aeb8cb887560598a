// SPDX-License-Identifier: MIT
// Counters: the game's own, and those that are sampled from outside.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { ROOT, World, until } from './world.mjs';

const world = new World();
let game;

const all = (body) => body.modules.flatMap((one) => one.counters.map((counter) => ({ module: one.module, ...counter })));
const sampledOf = (body) => all(body).filter((one) => one.origin === 'sampled');

before(async () => {
	await world.startDaemon();
	game = world.game(['--frames', '100000', '--fps', '200', '--zones', '50']);
	await until('two readings', async () => {
		const answer = await world.get('/api/v1/sessions/current/counters');
		return answer.status === 200 && sampledOf(JSON.parse(answer.text)).some((one) => one.per_second !== null);
	});
});
after(() => world.close());

test('both kinds are listed by module, as documented', async () => {
	const answer = await world.get('/api/v1/sessions/current/counters');
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/counters', answer), []);
	const body = JSON.parse(answer.text);
	for (const name of ['resident_bytes', 'minor_faults', 'major_faults', 'threads', 'voluntary_switches', 'involuntary_switches', 'cpu_time'])
		assert.ok(sampledOf(body).some((one) => one.name === name), name);
	assert.ok(all(body).some((one) => one.origin === 'game'));
	assert.ok(body.modules.every((one) => one.counters.length > 0), 'empty modules are left out');
	assert.ok(body.sampling.cost_ns_per_sample > 0);
});

test('a sample is what the kernel said at its time', async () => {
	const body = await world.api('/sessions/current/counters');
	const threads = sampledOf(body).find((one) => one.name === 'threads');
	const kernel = Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${game.pid}/status`, 'utf8'))[1]);
	assert.equal(threads.value, kernel);
	const resident = sampledOf(body).find((one) => one.name === 'resident_bytes');
	const rss = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${game.pid}/status`, 'utf8'))[1]) * 1024;
	assert.ok(Math.abs(resident.value - rss) < 0.2 * rss, `${resident.value} of ${rss}`);
	assert.ok(threads.age_ns >= 0 && threads.sampled_at_ns > 0);
});

test('what grows has a rate over the time between two readings', async () => {
	const switches = sampledOf(await world.api('/sessions/current/counters')).find((one) => one.name === 'voluntary_switches');
	assert.equal(switches.cumulative, true);
	const { values } = await world.api('/sessions/current/counters/voluntary_switches');
	const i = values.findIndex((one) => one.sampled_at_ns === switches.sampled_at_ns);
	assert.ok(i > 0);
	const over = values[i].sampled_at_ns - values[i - 1].sampled_at_ns;
	assert.equal(switches.over_ns, over);
	assert.ok(Math.abs(switches.per_second - (values[i].value - values[i - 1].value) * 1e9 / over) < 1e-6 * switches.per_second + 1e-6);
});

test('one counter over time, of both kinds', async () => {
	const own = all(await world.api('/sessions/current/counters')).find((one) => one.origin === 'game');
	for (const name of ['threads', own.name]) {
		const answer = await world.get(`/api/v1/sessions/current/counters/${encodeURIComponent(name)}?last=50`);
		assert.equal(answer.status, 200, answer.text);
		assert.deepEqual(answerProblems('/api/v1/sessions/{id}/counters/{name}', answer), []);
	}
	const series = await world.api(`/sessions/current/counters/${encodeURIComponent(own.name)}?last=50`);
	assert.equal(series.values.length, 50);
	const frames = series.values.map((one) => one.frame);
	assert.deepEqual(frames, frames.map((_, i) => frames[0] + i));
	const detail = await world.api(`/sessions/current/frames/${frames[10]}`);
	assert.equal(series.values[10].value, detail.counters.find((one) => one.name === own.name).value);
});

test('all counters over time are what each is alone', async () => {
	const path = '/api/v1/sessions/{id}/counters';
	const answer = await world.get('/api/v1/sessions/current/counters?values=yes&last=20');
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems(path, answer), []);
	const own = all(JSON.parse(answer.text)).filter((one) => one.origin === 'game');
	assert.ok(own.length > 0);
	for (const one of own) {
		assert.equal(one.values.length, 20);
		const { values } = await world.api(`/sessions/current/counters/${encodeURIComponent(one.name)}?last=3600`);
		const alone = new Map(values.map(({ frame, value }) => [frame, value]));
		assert.deepEqual(one.values.map(([frame]) => alone.get(frame)), one.values.map(([, value]) => value));
	}
	assert.ok(sampledOf(JSON.parse(answer.text)).every((one) => one.values.at(-1)[1] === one.value));
	assert.equal((await world.get('/api/v1/sessions/current/counters?values=1')).status, 400);
});

test('an unknown counter is told with those that there are', async () => {
	const answer = await world.get('/api/v1/sessions/current/counters/nope');
	assert.equal(answer.status, 404);
	assert.ok(JSON.parse(answer.text).allowed.includes('resident_bytes'));
});

test('sampling can be switched off', async () => {
	const quiet = new World();
	try {
		const config = path.join(quiet.dir, 'fprofd.conf');
		writeFileSync(config, 'sample_ms = 0\n');
		await quiet.startDaemon(['--config', config]);
		await quiet.played(['--frames', '60', '--fps', '60']);
		const body = await quiet.api('/sessions/current/counters');
		assert.equal(body.sampling.state, 'off');
		assert.deepEqual(sampledOf(body), []);
	} finally {
		await quiet.close();
	}
});

test('hardware counters, where the machine has them', async (t) => {
	const counting = new World();
	try {
		const config = path.join(counting.dir, 'fprofd.conf');
		writeFileSync(config, 'pmu = yes\nsample_ms = 200\n');
		await counting.startDaemon(['--config', config]);
		const source = (await counting.api('/status')).sources.find((one) => one.name === 'pmu');
		if (source.state !== 'on') {
			assert.equal(source.state, 'unavailable');
			assert.ok(source.reason);
			t.skip(source.reason);
			return;
		}
		counting.game(['--frames', '100000', '--fps', '200', '--zones', '50']);
		const told = await until('it was counted', async () => {
			const answer = await counting.get('/api/v1/sessions/current/counters');
			const list = answer.status === 200 ? sampledOf(JSON.parse(answer.text)) : [];
			return list.some((one) => one.name === 'pmu_coverage') && list;
		});
		const of = (name) => told.find((one) => one.name === name)?.value;
		assert.ok(of('instructions_per_1000_cycles') >= 20 && of('instructions_per_1000_cycles') <= 10000);
		assert.ok(of('pmu_coverage') > 0 && of('pmu_coverage') <= 100);
		assert.equal(of('pmu_threads'), of('threads'));
	} finally {
		await counting.close();
	}
});

test('whoever asks while the daemon ends does no harm', async () => {
	const ending = new World();
	try {
		await ending.startDaemon();
		ending.game(['--frames', '100000', '--fps', '100', '--zones', '5']);
		await until('it is there', async () => (await ending.get('/api/v1/sessions/current/counters')).status === 200);
		const ask = async () => {
			for (let answer = { status: 200 }; answer.status === 200;)
				answer = await ending.get('/api/v1/sessions/current/counters').catch(() => ({ status: 0 }));
		};
		const asked = [ask(), ask(), ask(), ask()];
		const end = await ending.stopDaemon();
		await Promise.all(asked);
		assert.deepEqual([end.code, end.signal], [0, null], end.text);
	} finally {
		await ending.close();
	}
});

test('the standard names are those of the guide', () => {
	const table = readFileSync(path.join(ROOT, 'daemon/counter_names.c'), 'utf8');
	const names = [...table.matchAll(/\{"(\w+)", "(\w+)", FPROF_UNIT_(\w+), "([^"]+)"\}/g)].map(([, name, module, unit, meaning]) =>
		`| ${module} | \`${name}\` | ${unit.toLowerCase()} | ${meaning} |`);
	const [guide] = readFileSync(path.join(ROOT, 'docs/guide/counters.md'), 'utf8').split('## What every game has');
	assert.ok(names.length > 30);
	assert.deepEqual(guide.split('\n').filter((line) => line.startsWith('| ') && line.includes('`')), names);
});
