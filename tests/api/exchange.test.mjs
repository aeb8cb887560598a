// SPDX-License-Identifier: MIT
// Files for and of other tools, through the API and the command: exports are read by tools that nobody here wrote (jq,
// python3, speedscope in a browser), imports come back as the sessions that they were.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import { chromium } from '../node_modules/playwright-core/index.mjs';
import { BUILD, ROOT, World } from './world.mjs';

const CASES = path.join(ROOT, 'tests/cases/chrome');
const SPEEDSCOPE = path.join(ROOT, 'tests/node_modules/speedscope/dist/release/index.html');
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

const world = new World();
let session;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--fps', '240', '--frames', '90', '--zones', '300']);
});
after(() => world.close());

const exported = async (format, id = session.id, query = '') => {
	const answer = await world.get(`/api/v1/sessions/${id}/export?format=${format}${query}`);
	assert.equal(answer.status, 200, answer.text);
	return answer;
};

const imported = async (body, query = '') => {
	const answer = await world.request('POST', `/api/v1/import${query}`, { body });
	assert.equal(answer.status, 201, answer.text);
	return JSON.parse(answer.text);
};

const file = (name, bytes) => {
	const where = path.join(world.dir, name);
	writeFileSync(where, bytes);
	return where;
};

const events = async (id, query) => JSON.parse((await exported('chrome', id, query)).text).traceEvents;

const nanoseconds = (us) => {
	assert.match(us, /^-?\d+\.\d{3}$/);
	return BigInt(us.replace('.', ''));
};

/** Complete events with their times as they are printed, which no JSON parser keeps. */
function printed(text) {
	const zones = [];
	const pattern = /\{"ph":"X","pid":(\d+),"tid":(\d+),"ts":([-\d.]+),"dur":([-\d.]+)/g;
	for (const [, pid, tid, ts, dur] of text.matchAll(pattern))
		zones.push({ track: `${pid}/${tid}`, begin: nanoseconds(ts), end: nanoseconds(ts) + nanoseconds(dur) });
	return zones;
}

test('an export is JSON to python3 and jq, and has every kind of event', async () => {
	const where = file('trace.json', (await exported('chrome')).bytes);
	const python = spawnSync('python3', ['-m', 'json.tool', where, '/dev/null'], { encoding: 'utf8' });
	assert.equal(python.status, 0, python.stderr);
	const jq = spawnSync('jq', ['-c', '[.traceEvents[].ph] | group_by(.) | map({(.[0]): length}) | add', where],
		{ encoding: 'utf8' });
	assert.equal(jq.status, 0, jq.stderr);
	const phases = JSON.parse(jq.stdout);
	for (const phase of ['X', 'M', 'C', 'i', 's', 'f'])
		assert.ok(phases[phase] > 0, `${phase} in ${jq.stdout}`);
	assert.equal(phases.s, phases.f);
});

test('every frame is an instant, every thread has its name, GPU queues are a process of their own', async () => {
	const all = await events();
	const frames = all.filter((one) => one.cat === 'fprof.frame').map((one) => one.args.frame);
	assert.deepEqual(frames, Array.from({ length: 90 }, (_, i) => i + 1));
	const { threads } = await world.api(`/sessions/${session.id}/threads`);
	const names = all.filter((one) => one.name === 'thread_name').map((one) => one.args.name);
	assert.deepEqual([...names].sort(), threads.map((one) => one.name).sort());
	const pids = new Map(all.filter((one) => one.name === 'process_name').map((one) => [one.pid, one.args.name]));
	assert.deepEqual([...pids.values()], ['game', 'GPU']);
	const gpu = [...pids].find(([, name]) => name === 'GPU')[0];
	const queues = all.filter((one) => one.name === 'thread_name' && one.pid === gpu);
	assert.deepEqual(queues.map((one) => one.args.name), ['graphics']);
	assert.ok(all.some((one) => one.ph === 'X' && one.pid === gpu));
});

test('printed zones nest: none ends after its parent, none after its next sibling begins', async () => {
	const zones = printed((await exported('chrome')).text).filter((one) => one.track.startsWith('1/'));
	const tracks = Map.groupBy ? Map.groupBy(zones, (one) => one.track) : zones.reduce((map, one) =>
		map.set(one.track, [...(map.get(one.track) ?? []), one]), new Map());
	let nested = 0;
	assert.ok(zones.length > 10000, `${zones.length}`);
	for (const list of tracks.values()) {
		list.sort((a, b) => (a.begin < b.begin ? -1 : a.begin > b.begin ? 1 : a.end > b.end ? -1 : 1));
		const open = [];
		for (const zone of list) {
			while (open.length > 0 && open.at(-1).end <= zone.begin)
				open.pop();
			if (open.length > 0) {
				assert.ok(zone.end <= open.at(-1).end, `${zone.track} ${zone.begin}`);
				nested++;
			}
			open.push(zone);
		}
	}
	assert.ok(nested > 5000, `${nested}`);
});

test('zones carry no args, which would make viewers take each call for another zone', async () => {
	const zones = (await events()).filter((one) => one.ph === 'X');
	assert.deepEqual(zones.filter((one) => 'args' in one), []);
});

test('a range exports its frames only, and what reaches in is clipped', async () => {
	const text = (await exported('chrome', session.id, '&from=10&to=12')).text;
	const all = JSON.parse(text).traceEvents;
	assert.deepEqual(all.filter((one) => one.cat === 'fprof.frame').map((one) => one.args.frame), [10, 11, 12]);
	const { frames } = await world.api(`/sessions/${session.id}/frames?from=10&to=12`);
	const begin = BigInt(frames[0].begin_ns);
	const end = BigInt(frames[2].begin_ns + frames[2].wall_ns);
	const zones = printed(text).filter((one) => one.track.startsWith('1/'));
	assert.ok(zones.length > 100);
	for (const zone of zones)
		assert.ok(zone.begin >= begin && zone.end <= end, `${zone.begin} ${zone.end}`);
});

test('importing an export gives the same threads, frames, zones and counters', async () => {
	const first = await exported('chrome');
	const answer = await imported(first.bytes);
	assert.equal(answer.frames_from, 'fprof');
	assert.deepEqual(answer.counts, {});
	assert.equal(answer.first, null);
	const strip = (one) => {
		const { session: _, ...rest } = one;
		return rest;
	};
	// Who was seen first decides the numbers: a thread or queue that began later, where the daemon was late.
	const named = (answered, names) => {
		for (const one of answered) {
			for (const list of [one.gpu, one.gpu_spans ?? []]) {
				list.forEach((part) => { part.queue = names.get(part.queue); });
				list.sort((a, b) => (a.queue < b.queue ? -1 : a.queue > b.queue ? 1 : (a.start_ns ?? 0) - (b.start_ns ?? 0)));
			}
			for (const part of [...one.messages ?? [], ...one.gaps ?? []])
				part.thread = names.get(part.thread);
		}
		return answered;
	};
	const namesOf = async (id) => new Map((await world.api(`/sessions/${id}/threads`)).threads.map((one) => [one.id, one.name]));
	const rows = async (id) => {
		const { frames, ...rest } = strip(await world.api(`/sessions/${id}/frames?last=600`));
		return { ...rest, frames: named(frames, await namesOf(id)) };
	};
	assert.deepEqual(await rows(answer.session), await rows(session.id));
	const inOrder = (list) => list.map(({ id: _, ...rest }) => rest)
		.sort((a, b) => (`${a.name} ${a.tid ?? ''}` < `${b.name} ${b.tid ?? ''}` ? -1 : 1));
	const threads = async (id) => inOrder((await world.api(`/sessions/${id}/threads`)).threads);
	assert.deepEqual(await threads(answer.session), await threads(session.id));
	for (const frame of [1, 2, 45, 90]) {
		const detail = async (id) => {
			const one = await world.api(`/sessions/${id}/frames/${frame}?max_zones=200000`);
			one.counters.sort((a, b) => (a.name < b.name ? -1 : 1));
			one.threads = inOrder(one.threads);
			return strip(named([one], await namesOf(id))[0]);
		};
		assert.deepEqual(await detail(answer.session), await detail(session.id), `frame ${frame}`);
	}
	const lines = ({ text, names }) => text.split('\n').filter((line) => line.startsWith('{"ph"') && !line.includes('fprof.flow'))
		.map((line) => line.replace(/,$/, '').replace(/"tid":(\d+)/, (_, id) => `"tid":"${names.get(Number(id))}"`))
		.map((line) => (line.includes('"thread_sort_index"') ? line.replace(/\d+\}\}$/, '') : line)).sort();
	assert.deepEqual(lines({ text: (await exported('chrome', answer.session)).text, names: await namesOf(answer.session) }),
		lines({ text: first.text, names: await namesOf(session.id) }));
});

const zonesOf = async (id) => {
	const { frames } = await world.api(`/sessions/${id}/frames?last=600`);
	const zones = [];
	for (const { frame } of frames) {
		const { threads } = await world.api(`/sessions/${id}/frames/${frame}?max_zones=200000`);
		for (const thread of threads)
			for (const zone of thread.zones)
				zones.push({ ...zone, thread: thread.name });
	}
	return zones;
};

test('each case of the rules is answered with its counts and its first offender', async () => {
	const names = readdirSync(CASES).filter((name) => name.endsWith('.expected.json')).map((name) => name.split('.')[0]);
	assert.equal(names.length, 14);
	for (const name of names) {
		const expected = JSON.parse(readFileSync(path.join(CASES, `${name}.expected.json`), 'utf8'));
		const bytes = readFileSync(path.join(CASES, `${name}.json`));
		const answer = await imported(bytes, `?format=chrome&name=${name}`);
		assert.deepEqual(answer.counts, expected.counts, name);
		assert.equal(answer.first?.event ?? null, expected.first, name);
		if (answer.first)
			assert.equal(bytes[answer.first.byte], 0x7b, `${name}: byte ${answer.first.byte} begins an event`);
		assert.equal(answer.zones, expected.zones.length, name);
		const { name: called } = await world.api(`/sessions/${answer.session}`);
		assert.equal(called, name);
	}
});

test('a zone that overlaps keeps its extent and says so, on a track of the same name', async () => {
	const { session: id } = await imported(readFileSync(path.join(CASES, 'overlap.json')));
	const zones = await zonesOf(id);
	const b = zones.find((one) => one.name === 'b');
	assert.deepEqual([b.start_ns, b.duration_ns, b.flags, b.thread], [6000, 10000, ['overlap'], '1']);
	const a = zones.find((one) => one.name === 'a');
	assert.deepEqual([a.start_ns, a.duration_ns, a.flags, a.thread], [0, 10000, [], '1']);
});

test('frames come from a zone, from an instant, from known marks, or the file is one', async () => {
	const trace = [];
	for (let i = 0; i < 4; i++) {
		trace.push({ ph: 'X', pid: 1, tid: 1, ts: 100 * i + 10, dur: 80, name: 'tick' });
		trace.push({ ph: 'i', pid: 1, tid: 1, ts: 100 * i + 95, name: 'swap' });
		trace.push({ ph: 'X', pid: 1, tid: 1, ts: 100 * i + 20, dur: 60, name: 'PlayerLoop' });
	}
	const body = JSON.stringify(trace);
	const walls = async (query) => {
		const answer = await imported(body, query);
		const { frames } = await world.api(`/sessions/${answer.session}/frames`);
		return [answer.frames_from, frames.map((one) => one.wall_ns), frames[0].flags];
	};
	assert.deepEqual(await walls('?frames=zone:tick'), ['zone:tick', [100000, 100000, 100000, 80000], []]);
	assert.deepEqual(await walls('?frames=instant:swap'), ['instant:swap', [85000, 100000, 100000, 100000], ['startup']]);
	assert.deepEqual(await walls(''), ['zone:PlayerLoop', [10000, 100000, 100000, 100000, 60000], ['startup']]);
	const one = await imported('[{"ph":"X","ts":0,"dur":5,"name":"a"}]');
	assert.deepEqual([one.frames_from, one.frames], ['the whole file is one frame', 1]);
});

test('what holds no event is refused, with the byte and what was expected', async () => {
	for (const [body, detail] of [
		['', /byte 0: '\[' or '\{' was expected/],
		['  hello', /byte 2: '\[' or '\{' was expected/],
		['{"a": 1}', /byte 7: "traceEvents" and an array were expected/],
		['[ ]', /byte 3: an event, '\{', was expected; what is read is Chrome's trace JSON, .vprof and fprof's own .fprof$/],
		[gzipSync('[{"ph":"X","ts":1,"dur":1,"name":"z"}]'), /compressed by gzip/],
		['SQLite format 3\0', /captures\/upload/],
	]) {
		const answer = await world.request('POST', '/api/v1/import?format=chrome', { body });
		assert.equal(answer.status, 422, answer.text);
		const problem = JSON.parse(answer.text);
		assert.equal(problem.type, '/problems/import-refused');
		assert.match(problem.detail, detail);
	}
	const { captures } = await world.api('/captures');
	assert.ok(!captures.some((one) => one.kind === 'imported' && one.name === ''));
});

test('a file to be saved has whole characters in its name, and no slash', async () => {
	const name = `a/b${'é'.repeat(90)}`;
	const made = await world.request('POST', `/api/v1/import?name=${encodeURIComponent(name)}`,
		{ body: '[{"ph":"X","ts":1,"dur":1,"name":"z"}]' });
	const id = JSON.parse(made.text).session;
	const saved = [(await world.get(`/api/v1/sessions/${id}/export`)).headers, (await world.get(`/api/v1/captures/${id}/file`)).headers]
		.map((headers) => decodeURIComponent(/filename\*=UTF-8''([^;]*)/.exec(headers['content-disposition'])[1]));
	assert.match(saved[0], /^a_bé{50,60}-1-1\.trace\.json$/);
	assert.match(saved[1], /^a_bé{50,60}\.fprof$/);
});

test('wrong parameters are refused by name with what is allowed', async () => {
	const cases = [
		['GET', `/api/v1/sessions/${session.id}/export?format=pdf`, 'format', 'speedscope'],
		['GET', `/api/v1/sessions/${session.id}/export?from=0`, 'from', null],
		['POST', '/api/v1/import?format=pdf', 'format', 'vprof'],
		['POST', '/api/v1/import?frames=some', 'frames', 'zone:NAME'],
		['POST', '/api/v1/import?name=', 'name', null],
	];
	for (const [method, what, parameter, allowed] of cases) {
		const answer = await world.request(method, what, { body: method === 'POST' ? '[]' : undefined });
		assert.equal(answer.status, 400, what);
		const problem = JSON.parse(answer.text);
		assert.equal(problem.parameter, parameter);
		if (allowed)
			assert.ok(problem.allowed.includes(allowed), answer.text);
	}
	assert.equal((await world.get('/api/v1/sessions/999999/export')).status, 404);
});

test('speedscope and folded stacks add up to the time of the zones', async () => {
	const scope = JSON.parse((await exported('speedscope')).text);
	const folded = (await exported('folded')).text.trimEnd().split('\n');
	const total = new Map();
	for (const profile of scope.profiles) {
		const stack = [];
		let last = profile.startValue;
		for (const { type, frame, at } of profile.events) {
			assert.ok(at >= last && at <= profile.endValue, `${profile.name} at ${at}`);
			if (stack.length > 0) {
				const where = [profile.name, ...stack.map((index) => scope.shared.frames[index].name)].join(';');
				total.set(where, (total.get(where) ?? 0) + at - last);
			}
			last = at;
			if (type === 'O')
				stack.push(frame);
			else
				assert.equal(stack.pop(), frame);
		}
		assert.deepEqual(stack, []);
	}
	const same = new Map();
	for (const line of folded) {
		const [, where, ns] = /^(.*) (\d+)$/.exec(line);
		if (!where.startsWith('graphics;')) // GPU zones may run past the range, which speedscope's format cuts off
			same.set(where, (same.get(where) ?? 0) + Number(ns));
	}
	for (const [where, ns] of total)
		if (ns > 0 && !where.startsWith('graphics;'))
			assert.equal(same.get(where), ns, where);
	assert.equal(same.size, [...total].filter(([where, ns]) => ns > 0 && !where.startsWith('graphics;')).length);
});

test('speedscope itself reads all three formats', {
	skip: existsSync(CHROMIUM) ? (existsSync(SPEEDSCOPE) ? false : 'npm\'s speedscope is not here') : `${CHROMIUM} is not here`,
}, async () => {
	const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--allow-file-access-from-files'] });
	const { threads } = await world.api(`/sessions/${session.id}/threads`);
	try {
		for (const format of ['chrome', 'speedscope', 'folded']) {
			const bytes = (await exported(format)).bytes.toString('base64');
			const name = `game.${format === 'folded' ? 'txt' : 'json'}`;
			const script = file(`${format}.js`, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, '${bytes}')`);
			const page = await browser.newPage();
			const faults = [];
			page.on('pageerror', (error) => faults.push(error.message));
			page.on('dialog', (dialog) => {
				faults.push(dialog.message());
				dialog.dismiss();
			});
			await page.goto(`${pathToFileURL(SPEEDSCOPE)}#localProfilePath=${script}`);
			await page.waitForFunction(() => document.title.includes(' - '), null, { timeout: 60_000 });
			const download = page.waitForEvent('download', { timeout: 60_000 });
			await page.keyboard.press('Control+s');
			const read = JSON.parse(readFileSync(await (await download).path(), 'utf8'));
			assert.deepEqual(faults, [], format);
			const names = read.shared.frames.map((one) => one.name);
			for (const zone of ['frame', 'simulate', 'render', 'opaque'])
				assert.equal(names.filter((one) => one === zone).length, 1, `${zone} in ${format}`);
			if (format !== 'folded')
				for (const { name: thread } of threads.filter((one) => one.name?.startsWith('job')))
					assert.ok(read.profiles.some((one) => one.name.includes(thread)), `${thread} in ${format}`);
			await page.close();
		}
	} finally {
		await browser.close();
	}
});

test('the command exports into a file, which appears whole or not at all', async () => {
	const dir = path.join(world.dir, 'out');
	mkdirSync(dir);
	const fprof = (...args) => world.spawn(path.join(BUILD, 'fprof'), ['export', ...args,
		'--url', `http://127.0.0.1:${world.port}`]).done;
	const good = await fprof(String(session.id), '--format', 'folded', '--from', '5', '--to', '9', '-o', path.join(dir, 'a.txt'));
	assert.equal(good.code, 0, good.text);
	assert.equal(readFileSync(path.join(dir, 'a.txt'), 'utf8'),
		(await exported('folded', session.id, '&from=5&to=9')).text);
	const bad = await fprof('999999', '-o', path.join(dir, 'b.json'));
	assert.equal(bad.code, 1, bad.text);
	assert.equal((await fprof(String(session.id))).code, 2);
	assert.deepEqual(readdirSync(dir), ['a.txt']);
});
