// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { boxesOf, buildTrack, clampView, extentOf, fitView, openOf, selfByName, selfTimes, tickStep, withGpuSpans, zonesBetween, zoomView } from '../../web/zones.js';

const zone = (name, start, length, depth = 0, parent = null) => ({
	name, start_ns: start, duration_ns: length, depth, parent, flags: [],
});

const trackOf = (zones) => buildTrack({ id: 1, kind: 'thread', tid: 7, name: 'main', zones }, 0);

/** A generator that gives the same numbers each time. */
function random(seed) {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

test('self time is what the children leave', () => {
	const zones = [zone('frame', 0, 100), zone('update', 0, 30, 1, 0), zone('ai', 5, 10, 2, 1), zone('draw', 40, 50, 1, 0)];
	assert.deepEqual([...selfTimes(zones)], [20, 20, 10, 50]);
});

test('threads with nothing open are left out', () => {
	const threads = [{ kind: 'thread', tid: 7, name: 'main', open: ['frame', 'draw'] }, { kind: 'thread', tid: 8, name: 'idle', open: [] },
		{ kind: 'fiber', tid: null, name: null, open: ['job'] }];
	assert.deepEqual(openOf({ threads }), [{ title: 'main (7)', names: ['frame', 'draw'] }, { title: 'fiber', names: ['job'] }]);
	assert.deepEqual(openOf({}), []);
});

test('waits are no work', () => {
	const track = trackOf([zone('frame', 0, 100), { ...zone('present', 20, 70, 1, 0), wait: 'present' }, { ...zone('sleep', 200, 9), wait: 'cap' }]);
	assert.deepEqual(selfByName([track]).map((one) => [one.name, one.self]), [['frame', 30]]);
	assert.deepEqual(selfByName([track], true).map((one) => [one.name, one.self]), [['present', 70], ['sleep', 9]]);
});

test('self times by name, largest first', () => {
	const track = trackOf([zone('a', 0, 10), zone('b', 20, 40), zone('a', 70, 15)]);
	const names = selfByName([track, trackOf([zone('a', 0, 1)])]);
	assert.deepEqual(names.map(({ name, self, calls, longest }) => [name, self, calls, longest]),
		[['b', 40, 1, 40], ['a', 26, 3, 15]]);
});

test('a track has a row for each depth, times counted from the frame', () => {
	const track = buildTrack({ id: 1, kind: 'thread', tid: 7, name: 'main',
		zones: [zone('b', 1500, 10, 1, 1), zone('a', 1000, 900)] }, 1000);
	assert.equal(track.title, 'main (7)');
	assert.equal(track.rows.length, 2);
	assert.deepEqual([...track.rows[0].start], [0]);
	assert.deepEqual([...track.rows[1].start], [500]);
	assert.deepEqual([...track.rows[1].zone], [0]);
});

test('a depth that has no zone leaves an empty row', () => {
	const track = trackOf([zone('deep', 0, 10, 2)]);
	assert.deepEqual(track.rows.map((row) => row.start.length), [0, 0, 1]);
});

test('zones that can be seen have a box each; small ones are merged, none dropped', () => {
	const next = random(5);
	for (let round = 0; round < 200; round++) {
		const zones = [];
		let at = 0;
		for (let i = 0; i < 300; i++) {
			at += next() < 0.3 ? 0 : next() * 40;
			const length = next() < 0.2 ? 0 : next() * (next() < 0.1 ? 400 : 4);
			zones.push(zone('z', at, length));
			at += length;
		}
		const [row] = trackOf(zones).rows;
		const t0 = next() * at * 0.5;
		const t1 = t0 + 1 + next() * at;
		const boxes = boxesOf(row, t0, t1, 200);
		const expected = [...row.start.keys()].filter((place) => row.start[place] <= t1
			&& (row.end[place] > t0 || (row.end[place] === t0 && row.start[place] === t0)));
		const covered = boxes.flatMap((box) => Array.from({ length: box.count }, (_, i) => box.first + i));
		assert.deepEqual(covered.filter((place) => row.start[place] <= t1), expected, `round ${round}`);
		for (const box of boxes) {
			assert.ok(box.width >= 1);
			if (box.count > 1)
				assert.ok(zones[row.zone[box.first]].duration_ns * (200 / (t1 - t0)) < 2);
		}
	}
});

test('a hundred thousand tiny zones come to as many boxes as there are pixels, at most', () => {
	const [row] = trackOf(Array.from({ length: 100_000 }, (_, at) => zone('z', at * 10, 8))).rows;
	const boxes = boxesOf(row, 0, 1e6, 1000);
	assert.ok(boxes.length <= 1001);
	assert.equal(boxes.reduce((sum, box) => sum + box.count, 0), 100_000);
});

test('what lies under a time', () => {
	const [row] = trackOf([zone('a', 0, 10), zone('b', 20, 10), zone('c', 30, 0)]).rows;
	assert.deepEqual(zonesBetween(row, 5, 5), { first: 0, count: 1 });
	assert.deepEqual(zonesBetween(row, 15, 16), { first: 1, count: 0 });
	assert.deepEqual(zonesBetween(row, 29, 31), { first: 1, count: 2 });
	assert.deepEqual(zonesBetween(row, 30, 30), { first: 2, count: 1 });
});

test('GPU spans become zones of their queue, nested by time', () => {
	const spans = [
		{ queue: 9, name: 'shadow', start_ns: 10, duration_ns: 20, submission: 1, view: 0, calibrated: true },
		{ queue: 9, name: 'pass', start_ns: 0, duration_ns: 50, submission: 1, view: 0, calibrated: false },
		{ queue: 9, name: 'post', start_ns: 60, duration_ns: 5, submission: 2, view: 0, calibrated: true },
	];
	const [main, queue] = withGpuSpans([{ id: 1, kind: 'thread', name: 'main', zones: [] }], spans);
	assert.equal(main.zones.length, 0);
	assert.equal(queue.kind, 'gpu_queue');
	assert.deepEqual(queue.zones.map((one) => [one.name, one.depth, one.parent]),
		[['pass', 0, null], ['shadow', 1, 0], ['post', 0, null]]);
	assert.deepEqual(queue.zones[0].flags, ['aligned_to_submit_only']);
});

test('a frame goes as far as what belongs to it', () => {
	assert.equal(extentOf(100, [trackOf([zone('a', 0, 50), zone('b', 60, 90)])]), 150);
	assert.equal(extentOf(100, [trackOf([zone('a', 0, 50)]), trackOf([])]), 100);
});

test('ticks are round and few', () => {
	assert.equal(tickStep(16.7e6, 8), 5e6);
	assert.equal(tickStep(1000, 10), 100);
	assert.equal(tickStep(70, 10), 10);
	for (const span of [51, 999, 12345, 1e9])
		assert.ok(span / tickStep(span, 7) <= 7);
});

test('zoom keeps the time under the pointer and stays within the frame', () => {
	const wall = 1000;
	const zoomed = zoomView(fitView(wall), 0.5, 300, wall);
	const before = (300 - fitView(wall).t0) / (fitView(wall).t1 - fitView(wall).t0);
	assert.ok(Math.abs((300 - zoomed.t0) / (zoomed.t1 - zoomed.t0) - before) < 1e-9);
	assert.deepEqual(zoomView(zoomed, 100, 300, wall), fitView(wall));
	const least = clampView({ t0: 500, t1: 500.5 }, wall);
	assert.equal(least.t1 - least.t0, 50);
	const far = clampView({ t0: 5000, t1: 5100 }, wall);
	assert.equal(far.t1, fitView(wall).t1);
});
