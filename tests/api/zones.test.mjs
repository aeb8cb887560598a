// SPDX-License-Identifier: MIT
// Tables, timelines and statistics of a range, held against what the frames themselves say.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World } from './world.mjs';

const world = new World();
const ofFrames = []; // what naive() has read
let session, at, first, last;

before(async () => {
	await world.startDaemon();
	session = await world.played(['--frames', '150', '--fps', '500', '--zones', '200', '--hitch-every', '40', '--hitch-ms', '5']);
	at = `/sessions/${session.id}`;
	first = session.rows.first;
	last = session.rows.last;
});
after(() => world.close());

const ZONES = '/api/v1/sessions/{id}/zones';
const TIMELINE = '/api/v1/sessions/{id}/timeline';
const STATS = '/api/v1/sessions/{id}/stats';

/** An answer that must be good and as documented. */
async function good(route, query) {
	const answer = await world.get(`/api/v1${at}/${route.split('/').at(-1)}?${query}`);
	assert.equal(answer.status, 200, `${query}: ${answer.text.slice(0, 300)}`);
	assert.deepEqual(answerProblems(route, answer), [], query);
	return JSON.parse(answer.text);
}

/** All zones of the frames after the first as frames/{n} has them: { name, path, thread, duration, self, frame }. */
async function naive() {
	if (ofFrames.length > 0)
		return ofFrames;
	for (let frame = first + 1; frame <= last; frame++) {
		const detail = await world.api(`${at}/frames/${frame}?max_zones=200000`);
		assert.equal(detail.truncated, false);
		for (const thread of detail.threads) {
			const mine = thread.zones.map((zone) => ({ ...zone, thread: thread.id, frame, self: zone.duration_ns }));
			for (const zone of mine) {
				const above = zone.parent === null ? null : mine[zone.parent];
				zone.path = [...(above?.path ?? []), zone.name];
				zone.nested = zone.path.slice(0, -1).includes(zone.name);
				if (above)
					above.self -= zone.duration_ns;
			}
			ofFrames.push(...mine);
		}
	}
	return ofFrames;
}

const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

/** Rows by a key of each call. What goes on in the next frame is one call of the range. */
function grouped(calls, key) {
	const groups = new Map();
	for (const call of calls) {
		const group = groups.get(key(call));
		if (group)
			group.push(call);
		else
			groups.set(key(call), [call]);
	}
	return groups;
}

test('a table by name is what its frames add up to', async () => {
	const table = await good(ZONES, `view=flat&from=${first + 1}&to=${last}&limit=100000`);
	const groups = grouped(await naive(), (call) => call.name);
	const rows = table.zones.filter((row) => !row.gpu);
	assert.equal(table.range.frames, last - first);
	assert.ok(rows.length >= 8);
	assert.ok(rows.some((row) => row.wait !== null));
	assert.deepEqual(rows.map((row) => row.name).sort(), [...groups.keys()].sort());
	for (const row of rows) {
		const calls = groups.get(row.name);
		const begun = calls.filter((call) => call.frame === first + 1 || !call.flags.includes('clipped_begin'));
		assert.equal(row.total_ns, sum(calls.filter((call) => !call.nested), (call) => call.duration_ns), row.name);
		assert.equal(row.self_ns, sum(calls, (call) => call.self), row.name);
		assert.equal(row.calls, begun.length, row.name);
		assert.equal(row.wait, calls[0].wait, row.name);
		assert.equal(row.frames, new Set(calls.map((call) => call.frame)).size, row.name);
		if (calls.some((call) => call.flags.length > 0))
			continue; /* its calls are in parts there */
		const sorted = calls.map((call) => call.duration_ns).sort((a, b) => a - b);
		assert.equal(row.min_ns, sorted[0]);
		assert.equal(row.max_ns, sorted.at(-1));
		for (const [key, p] of [['p50_ns', 50], ['p95_ns', 95], ['p99_ns', 99]])
			assert.equal(row[key], sorted.length * (100 - p) >= 100 ? sorted[Math.ceil(sorted.length * p / 100) - 1] : null,
				`${row.name} ${key}`);
	}
});

test('a tree has the paths of its frames, and its self times sum to the thread', async () => {
	const tree = await good(ZONES, `view=tree&from=${first + 1}&to=${last}&limit=100000`);
	const groups = grouped(await naive(), (call) => JSON.stringify([call.thread, call.path]));
	const rows = tree.zones.filter((row) => !row.gpu);
	assert.deepEqual(rows.map((row) => JSON.stringify([row.thread, row.path])).sort(), [...groups.keys()].sort());
	for (const row of rows) {
		const calls = groups.get(JSON.stringify([row.thread, row.path]));
		assert.equal(row.total_ns, sum(calls, (call) => call.duration_ns), row.path.join('/'));
		assert.equal(row.self_ns, sum(calls, (call) => call.self), row.path.join('/'));
		assert.equal(row.depth, row.path.length - 1);
		assert.equal(row.name, row.path.at(-1));
	}
	for (const thread of tree.threads)
		assert.equal(sum(tree.zones.filter((row) => row.thread === thread.thread), (row) => row.self_ns), thread.total_ns);
	const graphics = tree.threads.find((thread) => thread.gpu);
	assert.ok(graphics.total_ns > 0, 'a GPU queue is a track of the tree');
});

test('a timeline adds up to the tree at any resolution', async () => {
	const range = `from=${first + 1}&to=${last}`;
	const tree = await good(ZONES, `view=tree&frames=all&limit=100000&${range}`);
	let fewer = Infinity;
	for (const resolution of [0, 1000, 100000, 10000000]) {
		const line = await good(TIMELINE, `${range}&max_zones=200000&resolution=${resolution}`);
		assert.equal(line.resolution_ns, resolution);
		assert.ok(line.items < fewer);
		fewer = line.items;
		for (const thread of line.threads) {
			const rows = tree.zones.filter((row) => row.thread === thread.id);
			for (const depth of new Set(rows.map((row) => row.depth))) {
				const zones = thread.zones.filter((zone) => zone.depth === depth);
				const level = rows.filter((row) => row.depth === depth);
				assert.equal(sum(zones, (zone) => zone.busy_ns ?? zone.duration_ns), sum(level, (row) => row.total_ns),
					`${thread.name} ${depth} at ${resolution}`);
				assert.equal(sum(zones, (zone) => zone.merged ?? 1), sum(level, (row) => row.calls));
			}
		}
	}
	const coarse = await good(TIMELINE, `${range}&max_zones=1000`);
	assert.ok(coarse.resolution_ns > 0 && coarse.items <= 1000);
	assert.equal(coarse.asked_resolution_ns, 0);
});

test('a binary timeline is the JSON one', async () => {
	const query = `from=${first + 5}&to=${first + 9}&resolution=500&max_zones=200000`;
	const line = await good(TIMELINE, query);
	const answer = await world.get(`/api/v1${at}/timeline?${query}&format=binary`);
	assert.equal(answer.headers['content-type'], 'application/octet-stream');
	const { buffer, byteOffset, byteLength } = answer.bytes;
	const bytes = buffer.slice(byteOffset, byteOffset + byteLength);
	const head = new Uint32Array(bytes, 0, 12);
	assert.equal(answer.bytes.toString('latin1', 0, 4), 'FPTL');
	assert.equal(head[1], 1);
	const [n, described] = [head[2], head[3]];
	const column = (i, Type) => new Type(bytes, head[4 + i], n);
	const begin = column(0, Float64Array), duration = column(1, Float64Array), busy = column(2, Float64Array);
	const marker = column(3, Uint32Array), count = column(4, Uint32Array), depth = column(5, Uint16Array);
	const description = JSON.parse(answer.bytes.toString('utf8', head[11], head[11] + described));
	assert.equal(head[11] + described, bytes.byteLength);
	assert.equal(n, line.items);
	assert.ok(n > 50);
	for (const [t, thread] of description.threads.entries()) {
		assert.equal(thread.zones, undefined);
		const zones = line.threads[t].zones;
		assert.equal(zones.length, thread.items);
		for (const [i, zone] of zones.entries()) {
			const k = thread.first + i;
			assert.deepEqual([begin[k], duration[k], busy[k], count[k], depth[k], description.markers[marker[k]].name],
				[zone.start_ns, zone.duration_ns, zone.busy_ns ?? zone.duration_ns, zone.merged ?? 1, zone.depth, zone.name]);
		}
	}
});

test('a timeline has the marks of other streams, and says which zones wait', async () => {
	const line = await good(TIMELINE, `from=${first + 1}&to=${last}&max_zones=200000`);
	const { streams } = await world.api(`${at}/streams`);
	const named = streams.filter((one) => one.name !== 'main');
	assert.ok(named.length > 0);
	for (const { name, thread } of named) {
		const { frames } = await world.api(`${at}/frames?stream=${name}&last=3600`);
		const ends = frames.map((frame) => frame.begin_ns + frame.wall_ns).filter((end) => end >= line.range.begin_ns && end < line.range.end_ns);
		const marks = line.threads.find((one) => one.id === thread).events.filter((event) => event.kind === 'mark' && event.text === name);
		assert.deepEqual(marks.map((mark) => mark.time_ns), ends, name);
	}
	const detail = await world.api(`${at}/frames/${last}`);
	const waits = new Map(detail.threads.flatMap((thread) => thread.zones).map((zone) => [zone.name, zone.wait]));
	assert.ok([...waits.values()].includes('present'));
	for (const { name, wait } of line.markers)
		assert.equal(wait, waits.get(name) ?? null, name);
	const aligned = new Set(detail.gpu_spans.filter((one) => !one.calibrated).map((one) => one.queue));
	const later = await good(TIMELINE, `from=${last}&to=${last}`);
	for (const thread of later.threads.filter((one) => one.kind === 'gpu_queue'))
		assert.ok(thread.zones.every((zone) => zone.flags.includes('aligned_to_submit_only') === aligned.has(thread.id)));
});

test('a part of a range is what its frames hold of it', async () => {
	const [a, b] = [first + 10, first + 12];
	const details = [];
	for (let frame = a; frame <= b; frame++)
		details.push(await world.api(`${at}/frames/${frame}?max_zones=200000`));
	const begin = details[0].begin_ns + Math.floor(details[0].wall_ns / 3);
	const end = details[2].begin_ns + Math.floor(details[2].wall_ns / 2);
	const table = await good(ZONES, `view=flat&frames=all&from=${a}&to=${b}&begin_ns=${begin}&end_ns=${end}&limit=100000`);
	const { begin_ns: from, end_ns: to } = table.range;
	assert.ok(from - begin >= 0 && from - begin < 10 && to - end >= 0 && to - end < 10, `${from} ${to}`);
	assert.equal(table.range.wall_ns, to - from);
	const within = (start, length) => Math.max(0, Math.min(to, start + length) - Math.max(from, start));
	const threads = details.flatMap((detail) => detail.threads.map((thread) => [thread, thread.zones]));
	const totals = new Map();
	for (const [thread, zones] of threads) {
		if (thread.kind === 'gpu_queue')
			continue;
		for (const zone of zones)
			totals.set(zone.name, (totals.get(zone.name) ?? 0) + within(zone.start_ns, zone.duration_ns));
	}
	const rows = table.zones.filter((row) => !row.gpu);
	assert.ok(rows.length >= 5);
	for (const row of rows)
		assert.equal(row.total_ns, totals.get(row.name), row.name);
	const spans = details.flatMap((detail) => detail.gpu_spans);
	for (const row of table.zones.filter((one) => one.gpu))
		assert.equal(row.total_ns, sum(spans.filter((one) => one.name === row.name), (one) => within(one.start_ns, one.duration_ns)), row.name);
	const whole = await good(ZONES, `view=flat&frames=all&from=${a}&to=${b}&begin_ns=${details[0].begin_ns}&limit=100000`);
	assert.deepEqual(whole.zones.filter((row) => !row.gpu).map((row) => row.total_ns),
		(await good(ZONES, `view=flat&frames=all&from=${a}&to=${b}&limit=100000`)).zones.filter((row) => !row.gpu).map((row) => row.total_ns));
	for (const [query, parameter] of [[`begin_ns=${details[1].begin_ns}`, 'begin_ns'], [`end_ns=${begin}`, 'end_ns'], [`begin_ns=${begin}&end_ns=${begin}`, 'begin_ns']]) {
		const answer = await world.get(`/api/v1${at}/zones?from=${a}&to=${b}&${query}`);
		assert.equal(answer.status, 400, query);
		assert.equal(JSON.parse(answer.text).parameter, parameter);
	}
});

test('calls are single zones, and as many as the table says', async () => {
	const flat = await good(ZONES, `view=flat&from=${first + 1}&to=${last}&name=job*`);
	assert.ok(flat.zones.length >= 2 && flat.zones.every((row) => row.name.startsWith('job')));
	const row = flat.zones.find((one) => one.name === 'job');
	const calls = await good(ZONES, `view=calls&from=${first + 1}&to=${last}&name=job&limit=100000`);
	assert.equal(calls.count, row.calls);
	assert.equal(sum(calls.zones, (call) => call.duration_ns), row.total_ns);
	assert.equal(sum(calls.zones, (call) => call.self_ns), row.self_ns);
	assert.equal(calls.zones[0].duration_ns, row.max_ns);
	const page = await good(ZONES, `view=calls&from=${first + 1}&to=${last}&name=job&limit=5&offset=3`);
	assert.deepEqual(page.zones, calls.zones.slice(3, 8));
	const early = await good(ZONES, `view=calls&from=${first + 1}&to=${last}&name=job&limit=9&sort=start`);
	for (let i = 1; i < early.zones.length; i++)
		assert.ok(early.zones[i - 1].start_ns <= early.zones[i].start_ns);
});

test('callers are the zones around a name, callees those inside', async () => {
	const answer = await good(ZONES, `view=callers&name=work&from=${first + 1}&to=${last}`);
	const flat = await good(ZONES, `view=flat&name=work&from=${first + 1}&to=${last}`);
	assert.equal(sum(answer.zones, (row) => row.calls), flat.zones[0].calls);
	assert.equal(sum(answer.zones, (row) => row.total_ns), flat.zones[0].total_ns);
	assert.deepEqual(answer.callees, []);
	const inside = await good(ZONES, `view=callers&name=frame&from=${first + 1}&to=${last}`);
	assert.deepEqual(inside.zones.map((row) => row.name), [null]);
	assert.ok(inside.callees.map((row) => row.name).includes('simulate'));
});

test('rows are sorted, limited and paged', async () => {
	const all = await good(ZONES, `view=flat&from=${first + 1}&to=${last}`);
	for (const [sort, key] of [['self', 'self_ns'], ['calls', 'calls'], ['max', 'max_ns'], ['p95', 'p95_ns'], ['avg', 'avg_ns']]) {
		const rows = (await good(ZONES, `view=flat&sort=${sort}&from=${first + 1}&to=${last}`)).zones.map((row) => row[key]);
		assert.deepEqual(rows, [...rows].sort((a, b) => b - a), sort);
		assert.equal(rows.length, all.count);
	}
	const names = (await good(ZONES, `view=flat&sort=name&from=${first + 1}&to=${last}`)).zones.map((row) => row.name);
	assert.deepEqual(names, [...names].sort());
	const page = await good(ZONES, `view=flat&limit=2&offset=1&from=${first + 1}&to=${last}`);
	assert.deepEqual(page.zones, all.zones.slice(1, 3));
	assert.equal(page.count, all.count);
	const main = await good(ZONES, `view=tree&thread=main&thread=graphics&from=${first + 1}&to=${last}`);
	assert.deepEqual([...new Set(main.zones.map((row) => row.thread_name))].sort(), ['graphics', 'main']);
});

test('per=frame is of what frames add up to', async () => {
	const table = await good(ZONES, `view=flat&per=frame&name=work&from=${first + 1}&to=${last}`);
	const frames = grouped((await naive()).filter((call) => call.name === 'work'), (call) => call.frame);
	const totals = [...frames.values()].map((calls) => sum(calls, (call) => call.duration_ns)).sort((a, b) => a - b);
	const [row] = table.zones;
	assert.equal(row.frames, totals.length);
	assert.equal(row.max_ns, totals.at(-1));
	assert.equal(row.min_ns, totals[0]);
	assert.equal(row.p95_ns, totals[Math.ceil(totals.length * 0.95) - 1]);
});

test('the startup frame is outside statistics, unless it is asked for', async () => {
	const counted = await good(ZONES, `view=flat&from=1&to=${last}&name=frame`);
	assert.equal(counted.range.left_out.startup, 1);
	assert.equal(counted.range.frames, last - 1);
	const all = await good(ZONES, `view=flat&from=1&to=${last}&name=frame&frames=all`);
	assert.equal(all.range.left_out.startup, 0);
	assert.ok(all.zones[0].total_ns > counted.zones[0].total_ns);
	const alone = await good(ZONES, 'view=flat&from=1&to=1&name=frame');
	assert.equal(alone.range.frames, 1);
});

test('statistics are those of the frames', async () => {
	const { frames } = await world.api(`${at}/frames?from=${first + 1}&to=${last}`);
	const stats = await good(STATS, `from=${first + 1}&to=${last}&metric=wall&metric=gpu&metric=zone:work&over_ms=4,1`);
	const [wall, gpu, work] = stats.metrics;
	const values = frames.map((frame) => frame.wall_ns);
	const sorted = [...values].sort((a, b) => a - b);
	assert.equal(wall.frames, values.length);
	assert.ok(Math.abs(wall.mean_ns - sum(values, (v) => v) / values.length) < 1e-3);
	assert.equal(wall.p50_ns, sorted[Math.ceil(values.length / 2) - 1]);
	assert.equal(wall.p99_ns, sorted[Math.ceil(values.length * 0.99) - 1]);
	assert.equal(wall['p99.9_ns'], null);
	assert.match(wall.reasons['p99.9_ns'], /needs 1000 frames, there are/);
	assert.equal(wall.worst_ns, sorted.at(-1));
	assert.equal(frames.find((frame) => frame.frame === wall.worst_frame).wall_ns, wall.worst_ns);
	const [over] = wall.over;
	const slow = values.filter((v) => v > 4e6);
	assert.equal(over.frames, slow.length);
	assert.equal(over.time_ns, sum(slow, (v) => v));
	assert.ok(Math.abs(over.time_share - sum(slow, (v) => v) / sum(values, (v) => v)) < 1e-12);
	assert.ok(wall.one_percent_low.definition.length > 0);
	assert.equal(gpu.worst_ns, Math.max(...frames.map((frame) => frame.gpu_ns)));
	const totals = grouped((await naive()).filter((call) => call.name === 'work'), (call) => call.frame);
	assert.equal(work.worst_ns, Math.max(...[...totals.values()].map((calls) => sum(calls, (call) => call.duration_ns))));
	assert.equal(wall.values, undefined);
	const each = await good(STATS, `from=${first + 1}&to=${last}&metric=wall&metric=zone:work&values=yes`);
	assert.deepEqual(each.metrics[0].values, frames.map((frame) => [frame.frame, frame.wall_ns]));
	assert.deepEqual(each.metrics[1].values, frames.map(({ frame }) => [frame, sum(totals.get(frame) ?? [], (call) => call.duration_ns)]));
});

test('a path of a thread has in each frame what its row says', async () => {
	const query = `from=${first + 1}&to=${last}`;
	const { zones } = await good(ZONES, `${query}&view=tree&per=frame&limit=100000`);
	const many = grouped(zones, (row) => row.name);
	assert.ok([...many.values()].some((rows) => rows.length > 1), 'a name is on several paths');
	assert.ok(zones.some((row) => row.gpu));
	for (const row of zones) {
		const parts = new URLSearchParams([['metric', row.gpu ? 'gpu_path' : 'path'], ['thread', row.thread], ...row.path.map((name) => ['path', name])]);
		const [metric] = (await good(STATS, `${query}&values=yes&${parts}`)).metrics;
		assert.deepEqual([sum(metric.values, ([, ns]) => ns), metric.frames_with, metric.worst_ns], [row.total_ns, row.frames, row.max_ns], row.path.join('/'));
	}
	const calls = grouped((await naive()).filter((call) => call.path.join() === many.get('work')[0].path.join() && call.thread === many.get('work')[0].thread), (call) => call.frame);
	const [work] = (await good(STATS, `${query}&values=yes&metric=path&thread=${many.get('work')[0].thread}&${many.get('work')[0].path.map((name) => `path=${name}`).join('&')}`)).metrics;
	assert.deepEqual(work.values.filter(([, ns]) => ns), [...calls].map(([frame, list]) => [frame, sum(list, (call) => call.duration_ns)]).sort(([a], [b]) => a - b));
	const [none] = (await good(STATS, `${query}&metric=path&path=work&path=work`)).metrics;
	assert.deepEqual([none.frames, none.frames_with, none.worst_ns], [last - first, 0, 0]);
});

test('the parts of a row are the longest of its frames in each stretch', async () => {
	const query = `from=${first + 1}&to=${last}`;
	const { frames } = await world.api(`${at}/frames?${query}`);
	const ends = new Map(frames.map((frame) => [frame.frame, frame.begin_ns + frame.wall_ns]));
	const { zones, range } = await good(ZONES, `${query}&view=tree&part_ms=40&limit=100000`);
	const [end, ms] = [ends.get(last), 40e6];
	for (const row of zones) {
		const { metrics: [{ values }] } = await good(STATS, `${query}&values=yes&metric=${row.gpu ? 'gpu_' : ''}path&thread=${row.thread}&${row.path.map((name) => `path=${name}`).join('&')}`);
		const wanted = new Array(Math.ceil((end - frames[0].begin_ns) / ms)).fill(null);
		for (const [frame, ns] of values.filter((value) => value[1] > 0)) {
			const part = wanted.length - 1 - Math.floor((end - ends.get(frame)) / ms);
			wanted[part] = Math.max(wanted[part] ?? 0, ns);
		}
		assert.deepEqual(row.parts.map((ns) => ns || null), wanted, row.path.join('/'));
	}
	assert.ok(zones[0].parts.length > 3 && range.frames === frames.length);
});

test('too few frames are null with the reason', async () => {
	const [wall] = (await good(STATS, `from=${first + 1}&to=${first + 1}`)).metrics;
	for (const key of ['sd_ns', 'p50_ns', 'p99_ns'])
		assert.equal(wall[key], null);
	assert.match(wall.reasons.p50_ns, /needs 2 frames, there is 1/);
	assert.equal(wall.jitter.mean_ns, null);
	assert.equal(wall.one_percent_low.per_second, null);
	const { zones } = await good(ZONES, `view=flat&name=frame&from=${first + 1}&to=${first + 3}`);
	assert.equal(zones[0].p99_ns, null);
	assert.match(zones[0].reasons.p99_ns, /needs 100 calls, there are 3/);
});

test('bad parameters name themselves', async () => {
	for (const [what, status, parameter] of [
		['zones?view=none', 400, 'view'], ['zones?view=callers', 400, 'name'], ['zones?sort=duration', 400, 'sort'],
		['zones?view=calls&sort=total', 400, 'sort'], ['zones?view=flat&part_ms=500', 400, 'part_ms'], ['zones?limit=0', 400, 'limit'], ['zones?from=5&to=4', 400, 'to'],
		['zones?last=3&from=2', 400, 'last'], ['zones?thread=nobody', 404, 'thread'],
		['zones?view=callers&name=nobody', 404, 'name'], ['stats?metric=zone:', 400, 'metric'],
		['stats?metric=zone:nobody', 404, 'metric'], ['stats?metric=counter:nobody', 404, 'metric'],
		['stats?metric=path', 400, 'path'], ['stats?path=work', 400, 'path'], ['stats?metric=path&path=nobody', 404, 'path'],
		['stats?over_ms=x', 400, 'over_ms'], ['stats?values=1', 400, 'values'], ['timeline?format=xml', 400, 'format'], ['timeline?max_zones=3', 400, 'max_zones'],
		['zones?from=100000&to=100001', 404, undefined], ['zones?stream=none', 404, undefined],
	]) {
		const answer = await world.get(`/api/v1${at}/${what}`);
		assert.equal(answer.status, status, `${what}: ${answer.text}`);
		assert.equal(answer.headers['content-type'].split(';')[0], 'application/problem+json');
		assert.equal(JSON.parse(answer.text).parameter, parameter, what);
	}
});

test('the command says the same', async () => {
	const run = async (...args) => {
		const { code, text } = await world.spawn(path.join(BUILD, 'fprof'), [...args, '--url', `http://127.0.0.1:${world.port}`]).done;
		assert.equal(code, 0, text);
		return text;
	};
	const flat = JSON.parse(await run('zones', String(session.id), '--json', '--from', '2', '--to', '9'));
	assert.deepEqual(flat, await good(ZONES, 'view=flat&from=2&to=9'));
	assert.match(await run('zones', String(session.id), '--view', 'tree'), /simulate/);
	assert.match(await run('zones', String(session.id), '--view', 'calls', '--limit', '3'), /3 of \d+ rows/);
	const stats = JSON.parse(await run('stats', String(session.id), '--json', '--metric', 'cpu', '--over-ms', '4'));
	assert.deepEqual(stats, await good(STATS, 'metric=cpu&over_ms=4'));
	assert.match(await run('stats', String(session.id)), /wall over 16\.7 ms/);
	assert.deepEqual(JSON.parse(await run('stats', String(session.id), '--json', '--metric', 'path', '--path', 'frame', '--path', 'simulate', '--thread', 'main')),
		await good(STATS, 'metric=path&path=frame&path=simulate&thread=main'));
});

test('a session of sums has tables, and says why it has no more', async () => {
	const cases = path.join(ROOT, 'tests/cases/vprof');
	const body = readFileSync(path.join(cases, 'growing.vprof'));
	const imported = await world.request('POST', '/api/v1/import?format=vprof', { body });
	const sums = `/api/v1/sessions/${JSON.parse(imported.text).session}`;
	const expected = JSON.parse(readFileSync(path.join(cases, 'growing.expected.json'), 'utf8'));
	assert.ok(expected.frames.length > 0);
	for (const { tick, nodes } of expected.frames) {
		const answer = await world.get(`${sums}/zones?view=tree&from=${tick}&to=${tick}`);
		assert.deepEqual(answerProblems(ZONES, answer), []);
		const tree = JSON.parse(answer.text);
		assert.equal(tree.aggregate, true);
		const rows = tree.zones.map((row) => [row.path.join('/'), { calls: row.calls, us: row.total_ns / 1000, group: row.category }]);
		assert.deepEqual(Object.fromEntries(rows), nodes);
		assert.ok(tree.zones.every((row) => row.p50_ns === null && row.reasons.percentiles.length > 0));
	}
	const flat = JSON.parse((await world.get(`${sums}/zones?view=flat&name=A`)).text);
	assert.equal(flat.zones[0].total_ns, sum(expected.frames, (frame) => (frame.nodes.A?.us ?? 0) * 1000));
	for (const what of ['timeline', 'zones?view=calls', 'stats?metric=zone:A']) {
		const answer = await world.get(`${sums}/${what}`);
		assert.equal(answer.status, 409, what);
		assert.equal(JSON.parse(answer.text).type, '/problems/aggregate-session');
	}
});
