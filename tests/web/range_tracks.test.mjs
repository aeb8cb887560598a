// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { sceneOfFrame, sceneOfRange, withMarks, zonesOf } from '../../web/range_tracks.js';
import { binary } from './binary.mjs';

const marker = (name, wait = null) => ({ name, category: null, wait, file: 'a.c', line: 3, colour: null });
const item = (begin, length, which, depth, more = {}) => ({ begin, length, busy: length, marker: which, count: 1, depth, flags: 0, ...more });
const thread = (id, name, first, items, more = {}) => ({ id, kind: 'thread', tid: id, name, first, items, events: [], gaps: [], ...more });
const frame = (n, begin, wall, flags = []) => ({ frame: n, begin_ns: begin, wall_ns: wall, flags });

const ABOUT = {
	range: { begin_ns: 1000, end_ns: 3000 }, resolution_ns: 40, frames: [frame(7, 1000, 900), frame(9, 2100, 900, ['events_evicted'])],
	markers: [marker('unknown marker'), marker('frame'), marker('draw'), marker('present', 'present')],
	threads: [
		thread(1, 'main', 0, 4, { events: [
			{ kind: 'message', time_ns: 1500, marker: 0, colour: null, text: 'hello', count: 3 },
			{ kind: 'mark', time_ns: 1200, marker: 0, colour: null, text: 'audio', count: 1 },
		] }),
		thread(2, 'queue', 4, 2, { kind: 'gpu_queue', tid: null, gaps: [{ begin_ns: 1100, end_ns: 1200, events: 5 }] }),
	],
};
const ITEMS = [item(1000, 1500, 1, 0), item(1100, 200, 2, 1, { flags: 0b100 }), item(1400, 60, 2, 1, { busy: 30, count: 12 }), item(2600, 400, 3, 0),
	item(1500, 300, 2, 0, { flags: 0x80 }), item(1600, 1700, 2, 0, { flags: 0x80 })];

test('columns become lanes with times from the range\'s begin', () => {
	const scene = sceneOfRange(binary(ABOUT, ITEMS));
	assert.equal(scene.origin, 1000);
	assert.equal(zonesOf(scene), 17);
	const [main, queue] = scene.tracks;
	assert.equal(main.title, 'main (1)');
	assert.equal(main.count, 15);
	assert.equal(main.busy, 1900);
	assert.deepEqual([...main.self], [1270, 200, 30, 400]);
	assert.deepEqual(main.rows.map((row) => [...row.start]), [[0, 1600], [100, 400]]);
	assert.deepEqual([main.marker(3).name, main.marker(3).wait], ['present', 'present']);
	const { name, start_ns: start, merged, flags } = main.zone(1);
	assert.deepEqual([name, start, merged, flags], ['draw', 1100, 1, ['truncated']]);
	assert.equal(main.zone(2).merged, 12);
	assert.equal(queue.title, 'queue (GPU queue)');
	assert.deepEqual(queue.zone(0).flags, ['aligned_to_submit_only']);
	assert.equal(scene.extent, 2300, 'what a queue does ends after the frames');
});

test('what overlaps on a queue goes a row down, and none is lost', () => {
	const [, queue] = sceneOfRange(binary(ABOUT, ITEMS)).tracks;
	assert.deepEqual(queue.rows.map((row) => [...row.zone]), [[0], [1]]);
});

test('frames, gaps and what was said are told by time', () => {
	const scene = sceneOfRange(binary(ABOUT, ITEMS));
	assert.deepEqual(scene.frames, [{ frame: 7, start: 0, end: 900, gone: false }, { frame: 9, start: 1100, end: 2000, gone: true }]);
	assert.deepEqual(scene.messages.map(({ kind, at, text }) => [kind, at, text]),
		[['mark', 200, 'end of a frame of the stream audio'], ['message', 500, 'hello, and 2 more']]);
	assert.deepEqual(scene.gaps, [{ thread: 2, start: 100, end: 200, events: 5 }]);
});

test('a frame shows the marks of other streams, and threads that did nothing else', () => {
	const about = { ...ABOUT, frames: [ABOUT.frames[0]], threads: [...ABOUT.threads,
		thread(3, 'audio', 6, 0, { events: [{ kind: 'mark', time_ns: 1300, marker: 0, colour: null, text: 'audio', count: 1 }] }),
		thread(4, 'idle', 6, 0)] };
	const [main] = sceneOfRange(binary(about, ITEMS)).tracks;
	const frame = sceneOfFrame({ frame: { ...ABOUT.frames[0] }, tracks: [main], extent: 900, counters: [], gaps: [], truncated: false,
		messages: [{ thread: 1, at: 250, text: 'hello' }] });
	const scene = withMarks(frame, sceneOfRange(binary(about, ITEMS), 1000));
	assert.deepEqual(scene.tracks.map(({ title }) => title), ['main (1)', 'audio (3)']);
	assert.deepEqual(scene.messages.map(({ kind, at, thread }) => [kind, at, thread]), [['mark', 200, 1], ['message', 250, 1], ['mark', 300, 3]]);
});

test('a part has the times of the whole', () => {
	const part = sceneOfRange(binary(ABOUT, ITEMS), 400);
	assert.equal(part.tracks[0].rows[0].start[0], 600);
	assert.equal(part.tracks[0].zone(0).start_ns, 1000);
});

test('another format is refused in words', () => {
	const bytes = binary(ABOUT, ITEMS);
	new DataView(bytes).setUint32(4, 2, true);
	assert.throws(() => sceneOfRange(bytes), /format/);
});
