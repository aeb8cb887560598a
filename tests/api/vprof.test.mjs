// SPDX-License-Identifier: MIT
// VProf recordings over the API: every case of tests/cases/vprof, what an aggregate session refuses, and exports.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { ROOT, World } from './world.mjs';

const CASES = path.join(ROOT, 'tests/cases/vprof');
const names = readdirSync(CASES).filter((name) => name.endsWith('.vprof')).map((name) => name.slice(0, -6));
const bytesOf = (name) => readFileSync(path.join(CASES, `${name}.vprof`));
const expectedOf = (name) => JSON.parse(readFileSync(path.join(CASES, `${name}.expected.json`)));

const world = new World();

before(() => world.startDaemon());
after(() => world.close());

const upload = async (body, query = '') => {
	const answer = await world.request('POST', `/api/v1/import${query}`, { body });
	return { status: answer.status, json: JSON.parse(answer.text) };
};

const imported = async (body, query = '') => {
	const { status, json } = await upload(body, query);
	assert.equal(status, 201, JSON.stringify(json));
	return json;
};

const tree = async (session, from, to = from) =>
	world.api(`/sessions/${session}/zones?view=tree&from=${from}&to=${to}&limit=10000`);

const exported = async (session, query = '') => {
	const answer = await world.get(`/api/v1/sessions/${session}/export?format=vprof${query}`);
	assert.equal(answer.status, 200, answer.text);
	return answer;
};

/** Little-endian pieces of a recording. */
const i32 = (n) => { const b = Buffer.alloc(4); b.writeInt32LE(n); return b; };
const u16 = (n) => { const b = Buffer.alloc(2); b.writeUInt16LE(n); return b; };
const header = (version = 1) => Buffer.concat([i32(version), i32(0)]);
const node = (parent, name, group, id) =>
	Buffer.concat([Buffer.from([1]), i32(parent), Buffer.from(`${name}\0`), i32(group), i32(id)]);
const time = (units, wide) => units < 0xffff ? u16(units)
	: Buffer.concat([u16(0xffff), i32(units), ...(wide ? [i32(0)] : [])]);
const frame = (tick, nodes, timings, wide = false) => Buffer.concat([Buffer.from([0]), i32(tick), ...nodes,
	Buffer.from([3]), ...timings.map(([calls, units]) => Buffer.concat([Buffer.from([calls]), time(units, wide)])),
	Buffer.from([4])]);

for (const name of names.filter((one) => expectedOf(one).frames.length > 0)) {
	test(`the case ${name}`, async () => {
		const want = expectedOf(name);
		const { session, frames, first, note } = await imported(bytesOf(name));
		assert.equal(frames, want.frames.length);
		assert.equal(first?.what, want.error);
		assert.match(note, /4 bytes/);
		for (const { tick, nodes } of want.frames) {
			const { zones, aggregate } = await tree(session, tick);
			assert.equal(aggregate, true);
			const got = Object.fromEntries(zones.map((row) => [row.path.join('/'),
				{ calls: row.calls, us: row.total_ns / 1000, group: row.category }]));
			assert.deepEqual(got, nodes, `tick ${tick}`);
			const root = zones.find((row) => row.path.length === 0);
			assert.equal(zones.reduce((sum, row) => sum + row.self_ns, 0), root.total_ns);
		}
		const rows = await world.api(`/sessions/${session}/frames?from=1`);
		assert.deepEqual(rows.frames.map((row) => [row.frame, row.wall_ns]),
			want.frames.map(({ tick, nodes }) => [tick, nodes[''].us * 1000]));
	});
}

test('what cannot be read is refused with the reason', async () => {
	const { status, json } = await upload(bytesOf('badversion'));
	assert.equal(status, 422);
	assert.match(json.detail, /unsupported version 2/);
	const other = await upload(Buffer.concat([header(), Buffer.from([9])]));
	assert.equal(other.status, 422);
	assert.match(other.json.detail, /token 9 .*at byte 8/);
});

test('the place of what cannot be read is named', async () => {
	const good = Buffer.concat([header(), frame(1, [node(0, 'a', 3, 1)], [[1, 10], [1, 5]])]);
	const { frames, counts, first } = await imported(Buffer.concat([good, Buffer.from([0]), i32(2), node(8, 'b', 3, 2)]));
	assert.equal(frames, 1);
	assert.deepEqual(counts, { malformed: 1 });
	assert.equal(first.event, 1);
	assert.equal(first.byte, good.length + 6);
	assert.match(first.what, /parent 8/);
});

test('a build with long times of 8 bytes is read so, and that is said', async () => {
	const timings = [[1, 100000], [2, 70000]];
	const wide = Buffer.concat([header(), frame(1, [node(0, 'a', 3, 1)], timings, true), frame(2, [], timings, true)]);
	const { session, frames, note, counts } = await imported(wide);
	assert.equal(frames, 2);
	assert.deepEqual(counts, {});
	assert.match(note, /8 bytes: only so/);
	const { zones } = await tree(session, 2);
	assert.deepEqual(zones.map((row) => [row.name, row.calls, row.total_ns]), [['', 1, 4e8], ['a', 2, 2.8e8]]);
	assert.equal((await world.api(`/sessions/${session}`)).info['vprof.long_time_bytes'], '8');
});

test('ticks that cannot number frames are kept beside them', async () => {
	const { session, frames_from: from } = await imported(Buffer.concat([header(), frame(0, [], [[1, 1]]),
		frame(7, [], [[1, 2]]), frame(7, [], [[1, 3]])]));
	assert.match(from, /numbered from 1/);
	const { frames } = await world.api(`/sessions/${session}/frames`);
	assert.deepEqual(frames.map((row) => [row.frame, row.engine_id]), [[1, 0], [2, 7], [3, 7]]);
	const again = Buffer.concat([header(), frame(0, [], [[1, 1]]), frame(7, [], [[1, 2]]), frame(7, [], [[1, 3]])]);
	assert.deepEqual((await exported(session)).bytes, again);
});

test('a node within one of its own name has its own time', async () => {
	const { session } = await imported(Buffer.concat([header(), frame(5,
		[node(0, 'a', 3, 1), node(1, 'a', 3, 2)], [[1, 10], [1, 8], [3, 5]])]));
	const { zones } = await tree(session, 5);
	assert.deepEqual(zones.map((row) => [row.path.join('/'), row.calls, row.total_ns, row.self_ns]),
		[['', 1, 40000, 8000], ['a', 1, 32000, 12000], ['a/a', 3, 20000, 20000]]);
});

test('an aggregate session has no timeline and no calls, and says why', async () => {
	const { session } = await imported(bytesOf('plain'));
	for (const what of ['timeline?from=101&to=103', 'zones?view=calls&from=101&to=103', 'export?format=chrome']) {
		const answer = await world.get(`/api/v1/sessions/${session}/${what}`);
		assert.equal(answer.status, 409, what);
		const problem = JSON.parse(answer.text);
		assert.match(problem.type, /aggregate-session$/);
		assert.match(problem.detail, /how often and how long/);
	}
});

test('import of export is the identity', async () => {
	const { session } = await imported(bytesOf('plain'));
	const all = await exported(session, '&from=1&to=1000');
	assert.deepEqual(all.bytes, bytesOf('plain'));
	assert.equal(all.headers['fprof-lost'], 'only frames 100 to 159 are there');
	const answer = await exported(session, '&last=1000');
	assert.deepEqual(answer.bytes, bytesOf('plain'));
	assert.equal(answer.headers['fprof-lost'], undefined);
	const grown = await imported(bytesOf('growing'));
	const again = await imported((await exported(grown.session, '&from=1&to=1000')).bytes);
	for (const { tick } of expectedOf('growing').frames)
		assert.deepEqual((await tree(again.session, tick)).zones, (await tree(grown.session, tick)).zones);
});

test('a recorded game is exported by path, and its rounding is told', async () => {
	const { id } = await world.played(['--frames', '40', '--fps', '200', '--zones', '200', '--cap']);
	const answer = await exported(id, '&from=10&to=30');
	assert.match(answer.headers['fprof-lost'], /^times are in units of 4 us: \d+ of \d+ were rounded/);
	assert.match(answer.headers['content-disposition'], /\.vprof/);
	const { session, frames, counts } = await imported(answer.bytes);
	assert.equal(frames, 21);
	assert.deepEqual(counts, {});
	const { threads } = await world.api(`/sessions/${id}/threads`);
	for (const number of [10, 20, 30]) {
		const { zones } = await tree(session, number);
		const there = await tree(id, number);
		const byPath = new Map(zones.map((row) => [JSON.stringify(row.path), row]));
		assert.ok(there.zones.length > 20);
		// Two threads of one name are told apart; of them only what is on the first is looked up here.
		const single = there.zones.filter((row) => threads.filter((one) => one.name === row.thread_name).length === 1);
		assert.ok(single.length > 10);
		for (const row of single) {
			const got = byPath.get(JSON.stringify([row.thread_name, ...row.path]));
			assert.ok(got, `${row.thread_name}: ${row.path.join(' > ')}`);
			assert.equal(got.calls, row.calls);
			assert.ok(Math.abs(got.total_ns - row.total_ns) <= 2000, `${row.path}: ${got.total_ns} ${row.total_ns}`);
		}
	}
});
