// SPDX-License-Identifier: MIT
// Stacks of games that spend their time in a known way: shares, frames, names, and what is said where nothing can be known.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, killIfThere, until, World } from './world.mjs';

const world = new World();
const SAMPLES = 800;
const json = { 'content-type': 'application/json' };
let off = false;
let program;

const order = (id, body, at = world) => at.request('PUT', `/api/v1/sessions/${id}/sampling`, { headers: json, body: JSON.stringify(body) });
const source = async (name, at = world) => (await at.api('/status')).sources.find((one) => one.name === name);
const helpers = (at = world) => spawnSync('pgrep', ['-P', `${at.daemon.pid}`, 'fprof-probe'], { encoding: 'utf8' }).stdout.split('\n').filter((one) => one);

/** The samples of a session, in an answer that fits its schema. */
async function samples(id, what = 'last=100000', at = world) {
	const answer = await at.get(`/api/v1/sessions/${id}/samples?${what}`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/samples', answer), []);
	return JSON.parse(answer.text);
}

/** A game that is sampled until there are enough, then ended by a signal; its samples, with every name that will come. */
async function sampled(game, { count = SAMPLES, signal = 'SIGTERM', names = [], before: first = () => {} } = {}) {
	const child = world.spawn(game, ['0'], { cwd: world.dir });
	const { id } = await world.live(child.pid, 2);
	const answer = await order(id, { hz: 4000 });
	assert.equal(answer.status, 200, `${answer.text} ${child.exitCode} ${child.signalCode} ${child.text}`);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/sampling', answer, 'put'), []);
	await until('there are enough samples', async () => (await world.api(`/sessions/${id}/sampling`)).samples >= count);
	first();
	child.kill(signal);
	const end = await child.done;
	await world.ended(child.pid);
	await until('its last samples are stored', async () => (await world.api('/status')).stacks.finishing === 0);
	const all = await samples(id);
	for (const name of names)
		assert.ok(named(all, name), `${name} is known`);
	return { id, text: end.text, all };
}

const named = (all, name) => all.functions.find((one) => one.name === name);

before(async () => {
	await world.startDaemon();
	program = await world.compile(path.join(ROOT, 'tests/api/shares.c'), ['-fno-omit-frame-pointer']);
	const child = world.spawn(program, ['0'], { cwd: world.dir });
	const { id } = await world.live(child.pid, 2);
	const answer = await order(id, { hz: 1000 });
	if (answer.status === 503)
		off = `stacks cannot be sampled here: ${JSON.parse(answer.text).detail}`;
	child.kill('SIGKILL');
	await world.ended(child.pid);
});
after(() => world.close());

let played;
test('a function that has three quarters of the time has three quarters of the samples', async (t) => {
	if (off)
		return t.skip(off);
	played = await sampled(program, { names: ['heavy_part', 'light_part'] });
	const { all } = played;
	const [heavy, light] = [named(all, 'heavy_part'), named(all, 'light_part')];
	const [, a, b] = /heavy (\d+) light (\d+)/.exec(played.text).map(Number);
	const truth = a / (a + b);
	assert.ok(Math.abs(truth - 0.75) < 0.02, `the game itself had ${truth}`);
	const n = heavy.total + light.total;
	const share = heavy.total / n;
	// The interval is one of 95 %: five deviations instead of two keep a rightful answer from failing.
	assert.ok(Math.abs(share - truth) < 5 * Math.sqrt(truth * (1 - truth) / n), `${share} of ${n} samples, ${truth} by the game's clock`);
	for (const one of [heavy, light]) {
		assert.ok(one.total_low < one.total_share && one.total_share < one.total_high);
		assert.ok(one.self <= one.total && one.known && path.basename(one.module) === 'shares');
		// Wilson's interval, its half width by the usual approximation
		const half = 1.96 * Math.sqrt(one.total_share * (1 - one.total_share) / all.samples);
		assert.ok(Math.abs((one.total_high - one.total_low) / 2 - half) < 0.1 * half);
	}
	assert.equal(named(all, 'main').self, 0);
	assert.ok(named(all, 'main').total_share > 0.9, 'main called it all');
	assert.equal(all.threads.length, 1);
	assert.equal(all.modules.find((one) => path.basename(one.module ?? '') === 'shares').frame_pointers, 'seen');
	return undefined;
});

test('the tree leads from where the thread began to each function, and adds up', async (t) => {
	if (off)
		return t.skip(off);
	const { nodes, samples: count } = await samples(played.id, 'last=100000&view=tree');
	nodes.forEach((node, i) => {
		const inside = nodes.filter((one) => one.parent === i);
		assert.equal(node.total, inside.reduce((sum, one) => sum + one.total, node.self));
		assert.ok(node.parent === null ? node.depth === 0 : nodes[node.parent].depth === node.depth - 1);
	});
	assert.equal(nodes.filter((one) => one.parent === null).reduce((sum, one) => sum + one.total, 0), count);
	const way = (node) => (node ? [...way(nodes[node.parent]), node.name] : []);
	assert.match(way(nodes.find((one) => one.name === 'heavy_part')).join('/'), /^shares\/.*main\/one_frame\/heavy_part$/);
	return undefined;
});

test('frames and threads choose among the samples', async (t) => {
	if (off)
		return t.skip(off);
	const { from, to, samples: count } = played.all;
	const middle = Math.floor((from + to) / 2);
	const parts = [await samples(played.id, `from=${from}&to=${middle}`), await samples(played.id, `from=${middle + 1}&to=${to}`)];
	assert.ok(parts[0].samples < count && parts[1].samples > 0);
	assert.equal(parts[0].samples + parts[1].samples, count);
	assert.equal((await samples(played.id, 'last=100000&thread=shares')).samples, count);
	const nobody = await world.get(`/api/v1/sessions/${played.id}/samples?thread=nobody`);
	assert.equal(nobody.status, 404, nobody.text);
	const few = await samples(played.id, 'last=100000&limit=1');
	assert.deepEqual([few.functions.length, few.functions[0].name], [1, 'heavy_part']);
	assert.equal(few.left_out, played.all.functions.length - 1);
	return undefined;
});

test('code that the kernel maps into a game has its names, as that of files has', async (t) => {
	if (off)
		return t.skip(off);
	const { all } = await sampled(await world.compile(path.join(ROOT, 'tests/api/clocks.c'), ['-fno-omit-frame-pointer']));
	const of = all.functions.filter((one) => one.module === '[vdso]');
	const own = of.reduce((sum, one) => sum + one.self, 0);
	if (own < 0.05 * all.samples)
		return t.skip('clocks are read by the kernel here');
	const module = all.modules.find((one) => one.module === '[vdso]');
	assert.ok(module.symbols !== null && module.reason === null, JSON.stringify(module));
	// what it has no symbol for is known by where it begins, as in stripped files
	const known = of.filter((one) => one.known).reduce((sum, one) => sum + one.self, 0);
	assert.ok(known > 0.9 * own, JSON.stringify(of));
	assert.ok(of.some((one) => /clock_gettime/.test(one.name ?? '')), JSON.stringify(of));
	return undefined;
});

test('a game that was killed and deleted keeps its names, and so does a capture of it', async (t) => {
	if (off)
		return t.skip(off);
	const game = await world.compile(path.join(ROOT, 'tests/api/engine.cpp'), ['-fno-omit-frame-pointer']);
	const name = 'engine::Renderer<engine::Quick>::draw(unsigned long)';
	const { id, all } = await sampled(game, { count: 1, signal: 'SIGKILL', names: [name], before: () => rmSync(game) });
	const saved = await world.request('POST', '/api/v1/captures', { headers: json, body: JSON.stringify({ session: id, name: 'kept' }) });
	assert.equal(saved.status, 201, saved.text);
	const file = await world.get(`/api/v1/captures/${JSON.parse(saved.text).id}/file`);
	const upload = await world.request('POST', '/api/v1/captures/upload?name=again', { body: file.bytes });
	assert.equal(upload.status, 201, upload.text);
	const again = await samples(JSON.parse(upload.text).id);
	assert.deepEqual(again.functions, all.functions);
	assert.ok(again.samples > 0);
	return undefined;
});

test('a game without frame pointers is told the flag, and its functions are right all the same', async (t) => {
	if (off)
		return t.skip(off);
	const game = await world.compile(path.join(ROOT, 'tests/api/shares.c'), ['-O2', '-fomit-frame-pointer', '-fno-inline'], 'omitted');
	const { all } = await sampled(game, { names: ['heavy_part', 'light_part'] });
	const module = all.modules.find((one) => path.basename(one.module ?? '') === 'omitted');
	assert.equal(module.frame_pointers, 'missing');
	assert.match(module.fix, /omitted with -fno-omit-frame-pointer/);
	assert.ok(module.broken > all.samples / 2);
	assert.ok(named(all, 'heavy_part').self > 2 * named(all, 'light_part').self);
	return undefined;
});

test('a file whose section headers are nonsense costs its own names', async (t) => {
	if (off)
		return t.skip(off);
	const game = await world.compile(path.join(ROOT, 'tests/api/shares.c'), ['-fno-omit-frame-pointer'], 'damaged');
	const fd = openSync(game, 'r+');
	writeSync(fd, Buffer.from('ffffffffffffff7f', 'hex'), 0, 8, 0x28); // e_shoff, which no loader looks at
	closeSync(fd);
	const { all } = await sampled(game, { count: 200 });
	const module = all.modules.find((one) => path.basename(one.module ?? '') === 'damaged');
	assert.deepEqual([module.symbols, module.reason], [null, 'the file is stripped: it has no symbols']);
	assert.equal((await world.get('/readyz')).status, 200);
	return undefined;
});

test('sampling is off unless it was ordered, and says so', async (t) => {
	const session = await world.played(['--frames', '20', '--fps', '0']);
	const none = await samples(session.id);
	assert.deepEqual([none.samples, none.reason], [0, 'stacks are not sampled unless that is ordered']);
	const ended = await order(session.id, {});
	assert.equal(ended.status, 409, ended.text);
	for (const hz of [-1, 5, 10001, 'fast', 1.5]) {
		const bad = await order(session.id, { hz });
		assert.equal(bad.status, 400, bad.text);
		assert.match(bad.text, /10 to 10000/);
	}
	if (off)
		return t.skip(`the rest: ${off}`);
	assert.deepEqual([(await source('stacks')).state, (await world.api('/status')).stacks.sessions], ['off', 0]);
	const game = world.spawn(program, ['0'], { cwd: world.dir });
	const { id } = await world.live(game.pid, 2);
	await order(id, {});
	assert.equal((await source('stacks')).state, 'on');
	assert.equal((await world.api(`/sessions/${id}/sampling`)).hz, 4000);
	const stopped = JSON.parse((await order(id, { hz: 0 })).text);
	assert.equal(stopped.hz, 0);
	const { state, fix } = await source('stacks');
	assert.deepEqual([state, /fprof sampling on/.test(fix)], ['off', true]);
	game.kill('SIGTERM');
	await world.ended(game.pid);
	assert.equal((await samples(id)).samples, stopped.samples, 'not one more');
	return undefined;
});

test('without its helper sampling goes on with another, and says that it was interrupted', async (t) => {
	if (off)
		return t.skip(off);
	const game = world.spawn(program, ['0'], { cwd: world.dir });
	const { id } = await world.live(game.pid, 2);
	assert.equal((await order(id, {})).status, 200);
	const killed = new Set();
	let missed;
	await until('five were killed, as they came, and that is said', async () => {
		for (const pid of helpers()) {
			killIfThere(pid);
			killed.add(pid);
		}
		const now = await world.api(`/sessions/${id}/sampling`);
		missed = now.hz === 0 ? now : missed;
		return killed.size >= 5 && missed;
	});
	assert.match(missed.reason, /^fprof-probe (has ended|ended before it answered)$/);
	assert.ok((await world.api('/status')).stacks.interruptions >= 1);
	const { samples: then } = await world.api(`/sessions/${id}/sampling`);
	await until('there are samples of another helper', async () => (await world.api(`/sessions/${id}/sampling`)).samples > then + 50);
	assert.equal((await source('stacks')).state, 'on');
	game.kill('SIGTERM');
	await world.ended(game.pid);
	return undefined;
});

test('an order that is refused leaves the earlier one as it was; a helper that hangs is ended, and that is said',
	{ skip: process.getuid() === 0 ? false : 'a daemon that starts its helper needs root' }, async (t) => {
		const other = new World();
		t.after(() => other.close());
		for (const name of ['fprofd', 'fprof-probe'])
			copyFileSync(path.join(BUILD, name), path.join(other.dir, name));
		await other.startDaemon([], {}, ['sh', '-c', 'shift; exec "$0" "$@"', path.join(other.dir, 'fprofd')]);
		const [game, another] = [0, 1].map(() => other.spawn(program, ['0'], { cwd: other.dir }));
		const { id } = await other.live(game.pid, 2);
		await other.live(another.pid, 2);
		const now = () => other.api(`/sessions/${id}/sampling`);
		assert.equal((await order(id, { hz: 200 }, other)).status, off ? 503 : 200);
		if (off || helpers(other).length === 0)
			return t.skip(off || 'the helper is a service here');

		// no other helper can be had for a while
		const probe = path.join(other.dir, 'fprof-probe');
		renameSync(probe, `${probe}.away`);
		writeFileSync(probe, '', { mode: 0o755 });
		helpers(other).forEach((pid) => process.kill(Number(pid), 'SIGKILL'));
		await until('it is missed', async () => (await now()).hz === 0);
		for (const hz of [150, 151]) {
			const refused = await order(id, { hz }, other);
			assert.equal(refused.status, 503, refused.text);
			assert.match(refused.text, /fprof-probe cannot be started/);
		}
		renameSync(`${probe}.away`, probe);
		await until('the earlier order is in force again', async () => (await now()).hz === 200);
		assert.equal((await now()).reason, null);

		const scheduler = async () => (await other.api('/status')).scheduler;
		await until('there is another', async () => (await source('scheduler', other)).state === 'on');
		const { events, interruptions } = await scheduler();
		await until('both games are traced', async () => (await scheduler()).events > events + 10);
		const hung = helpers(other);
		hung.forEach((pid) => process.kill(Number(pid), 'SIGSTOP'));
		another.kill('SIGTERM');
		const refusal = order(id, { hz: 900 }, other);
		const silent = async (name) => (await source(name, other)).reason === 'fprof-probe does not answer';
		await until('it is said', async () => await silent('scheduler') && silent('stacks'));
		const { status, text } = await refusal;
		assert.deepEqual([status, /fprof-probe does not answer/.test(text)], [503, true], text);
		await until('it is replaced', async () => (await now()).hz !== 0 && (await scheduler()).interruptions > interruptions);
		await until('it is traced again', async () => (await source('scheduler', other)).state === 'on');
		for (const pid of hung)
			assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
		const { hz, samples: then } = await now();
		await until('there are more samples', async () => (await now()).samples > then + 20);
		assert.deepEqual([hz, (await samples(id, 'last=100000', other)).period_ns], [200, 5009823]);
		return undefined;
	});

test('what was ordered holds for the next daemon', async (t) => {
	if (off)
		return t.skip(off);
	const game = world.spawn(program, ['0'], { cwd: world.dir });
	const { id } = await world.live(game.pid, 2);
	assert.equal((await order(id, { hz: 997 })).status, 200);
	assert.equal((await world.stopDaemon()).code, 0);
	await world.startDaemon();
	const now = await until('it is sampled again', async () => {
		const answer = await world.get(`/api/v1/sessions/${id}/sampling`);
		return answer.status === 200 && JSON.parse(answer.text).samples > 20 && JSON.parse(answer.text);
	});
	assert.deepEqual([now.session, now.hz, now.reason], [id, 997, null]);
	game.kill('SIGTERM');
	await world.ended(game.pid);
	return undefined;
});

test('where kernel programs are not permitted an order is refused, with the reason and the fix',
	{ skip: process.getuid() === 0 ? false : 'taking capabilities away needs root' }, async (t) => {
		const other = new World();
		t.after(() => other.close());
		await other.startDaemon([], {}, ['setpriv', '--bounding-set=-bpf,-perfmon,-sys_admin']);
		const game = other.spawn(path.join(BUILD, 'game'), ['--frames', '0']);
		const { id } = await other.live(game.pid, 2);
		const answer = await other.request('PUT', `/api/v1/sessions/${id}/sampling`, { headers: json, body: '{}' });
		assert.equal(answer.status, 503, answer.text);
		assert.match(JSON.parse(answer.text).detail, /CAP_BPF and CAP_PERFMON.*fprof-probe\.socket/);
		const { sources } = await other.api('/status');
		assert.equal(sources.find((one) => one.name === 'stacks').state, 'unavailable');
		const { samples: count, reason } = await other.api(`/sessions/${id}/samples`);
		assert.equal(count, 0);
		assert.match(reason, /CAP_BPF/);
	});
