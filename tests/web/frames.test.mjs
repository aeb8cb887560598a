// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { columnOf, columnsOf, heldNumbers, percentile, scaleFor, stackOf, summary, windowOf } from '../../web/columns.js';
import { FrameRing } from '../../web/frames.js';

/** A frame row with the given wall time in ms. */
function row(frame, wallMs, more = {}) {
	return {
		frame, begin_ns: frame * 1e7, wall_ns: wallMs * 1e6, cpu_ns: wallMs * 1e6, gpu_ns: null,
		wait_ns: { gpu: null, present: null, cap: null }, events: 1, lost_events: 0, late_events: 0, flags: [], ...more,
	};
}

function ringOf(walls, first = 1) {
	const ring = new FrameRing();
	walls.forEach((wall, at) => ring.put(row(first + at, wall)));
	return ring;
}

test('what was put is read back, nulls as nulls', () => {
	const ring = new FrameRing();
	const one = row(7, 3, { gpu_ns: 5, wait_ns: { gpu: 0, present: null, cap: 9 }, flags: ['startup', 'paused'] });
	ring.put(one);
	assert.deepEqual(ring.get(7), one);
	assert.equal(ring.get(6), null);
	assert.equal(ring.get(0), null);
});

test('a frame that comes again replaces what was known', () => {
	const ring = ringOf([1, 2, 3]);
	ring.put(row(2, 9, { gpu_ns: 4 }));
	assert.equal(ring.get(2).wall_ns, 9e6);
	assert.equal(ring.get(2).gpu_ns, 4);
	assert.equal(ring.last, 3);
});

test('the ring forgets what is older than its capacity and takes nothing older', () => {
	const ring = new FrameRing(8);
	for (let n = 1; n <= 12; n++)
		ring.put(row(n, n));
	assert.equal(ring.get(4), null);
	assert.equal(ring.get(5).wall_ns, 5e6);
	ring.put(row(4, 99));
	assert.equal(ring.get(4), null);
	assert.equal(ring.get(12).wall_ns, 12e6);
});

test('a snapshot stays as it was', () => {
	const ring = ringOf([1, 2]);
	const held = ring.snapshot();
	ring.put(row(3, 3));
	assert.equal(held.last, 2);
	assert.equal(held.get(3), null);
	assert.equal(held.get(2).wall_ns, 2e6);
});

test('neighbours skip gaps and stop at the ends', () => {
	const ring = ringOf([1, 1]);
	ring.put(row(5, 1));
	assert.equal(ring.neighbour(2, 1, 1, 600), 5);
	assert.equal(ring.neighbour(5, -1, 1, 600), 2);
	assert.equal(ring.neighbour(5, 1, 1, 600), 5);
	assert.equal(ring.neighbour(601, -1, 1, 600), 5);
	assert.equal(new FrameRing().neighbour(3, 1, 1, 600), 0);
});

test('a column that stands for several frames shows the worst', () => {
	const walls = Array.from({ length: 600 }, (_, at) => (at === 333 ? 50 : 10));
	const { columns, worst } = columnsOf(ringOf(walls), 1, 600, 100);
	assert.equal(columns, 100);
	assert.equal(worst[columnOf(334, 1, 600, 100)], 334);
});

test('every frame falls into exactly one column, and columnOf finds it', () => {
	for (const pixels of [1, 7, 100, 599, 600, 5000]) {
		const ring = ringOf(Array.from({ length: 600 }, () => 1));
		const columns = Math.min(600, pixels);
		for (let n = 1; n <= 600; n++) {
			ring.put(row(n, 2));
			const { worst } = columnsOf(ring, 1, 600, pixels);
			assert.equal(worst[columnOf(n, 1, 600, columns)], n, `frame ${n} of ${pixels}`);
			ring.put(row(n, 1));
		}
	}
});

test('missing and lossy frames are gaps; the time before the first and after the last is none', () => {
	const ring = ringOf([1, 1], 100);
	ring.put(row(104, 1));
	ring.put(row(105, 1, { flags: ['lost_events'] }));
	const { gap } = columnsOf(ring, 1, 600, 600);
	const gaps = [...gap].flatMap((one, at) => (one ? [at + 1] : []));
	assert.deepEqual(gaps, [102, 103, 105]);
});

test('the window is the newest 600 frames', () => {
	assert.deepEqual(windowOf(2), { first: 1, last: 600 });
	assert.deepEqual(windowOf(1281), { first: 682, last: 1281 });
});

test('the stack adds up to the wall time and unknown waits hold nothing', () => {
	const ring = new FrameRing();
	ring.put(row(1, 10, { wait_ns: { gpu: 1e6, present: null, cap: 3e6 } }));
	assert.deepEqual(stackOf(ring, ring.slot(1)), [0, 1e6, 0, 0, 3e6, 0, 0, 0, 0, 0, 6e6], 'the rest is not known without a verdict');
});

test('the scale fits the 95th percentile and does not breathe', () => {
	assert.equal(scaleFor(16.7e6, 0), 40e6);
	assert.equal(scaleFor(2.2e6, 0), 5e6);
	assert.equal(scaleFor(20e6, 40e6), 40e6);
	assert.equal(scaleFor(31e6, 40e6), 80e6);
	assert.equal(scaleFor(3e6, 40e6), 5e6);
});

test('percentiles are by nearest rank', () => {
	const sorted = Float64Array.from({ length: 100 }, (_, at) => at + 1);
	assert.equal(percentile(sorted, 0.5), 50);
	assert.equal(percentile(sorted, 0.99), 99);
	assert.equal(percentile(Float64Array.of(4), 0.01), 4);
	assert.ok(Number.isNaN(percentile(new Float64Array(0), 0.5)));
});

test('a summary leaves startup out, takes the maximum as worst and counts losses', () => {
	const ring = ringOf([10, 20, 30]);
	ring.put(row(4, 900, { flags: ['startup'] }));
	ring.put(row(5, 40, { lost_events: 7 }));
	const numbers = summary(ring, 1, 600);
	assert.equal(numbers.frames, 4);
	assert.equal(numbers.present, 5);
	assert.equal(numbers.worst, 40e6);
	assert.equal(numbers.worstFrame, 5);
	assert.equal(numbers.mean, 25e6);
	assert.equal(numbers.fps, 40);
	assert.equal(numbers.lost, 7);
});

test('what the API leaves out of statistics is left out, unless there is nothing else', () => {
	const ring = new FrameRing();
	ring.put(row(1, 90, { flags: ['startup'] }));
	['paused', 'loading', 'clock_step', 'late_events'].forEach((flag, at) => ring.put(row(at + 2, 10 * (at + 1), { flags: [flag] })));
	const numbers = summary(ring, 1, 5);
	assert.deepEqual([numbers.frames, numbers.present, numbers.worst, numbers.worstFrame], [1, 5, 40e6, 5]);
	assert.deepEqual([summary(ring, 1, 1).frames, summary(ring, 1, 1).mean], [1, 90e6]);
});

test('the share of time in slow frames is of time, not of frames', () => {
	const { slowShare } = summary(ringOf([10, 10, 10, 30]), 1, 4, 16.7e6);
	assert.equal(slowShare, 0.5);
	assert.equal(summary(ringOf([10, 10]), 1, 2, 10e6).slowShare, 0);
	assert.ok(Number.isNaN(summary(new FrameRing(), 1, 2, 10e6).slowShare));
});

/** Frames of 10 ms that end at these times in ms. */
function endingAt(...ends) {
	const ring = new FrameRing();
	ends.forEach((end, at) => ring.put(row(at + 1, 10, { begin_ns: (end - 10) * 1e6, cpu_ns: (at + 1) * 1e6, gpu_ns: at % 2 ? null : 4e6 })));
	return ring;
}

test('held numbers are means of the last whole quarter of a second, and do not move within it', () => {
	const ring = endingAt(240, 260, 300, 499, 510);
	const held = heldNumbers(ring, 5);
	assert.deepEqual([held.frames, held.wall, held.cpu, held.worst], [3, 10e6, 3e6, 10e6]);
	assert.equal(held.gpu, 4e6);
	assert.deepEqual(held.waits, [null, null, null]);
	assert.equal(heldNumbers(ring, 4).frames, 1);
	ring.put(row(6, 10, { begin_ns: 735e6 }));
	assert.deepEqual(heldNumbers(ring, 6), held);
	ring.put(row(7, 10, { begin_ns: 745e6 }));
	assert.equal(heldNumbers(ring, 7).frames, 2);
});

test('a window in which no frame ended is passed over; in the first there is nothing yet', () => {
	assert.equal(heldNumbers(endingAt(20, 900), 2).frames, 1);
	assert.equal(heldNumbers(endingAt(20, 30), 2), null);
	assert.equal(heldNumbers(new FrameRing(), 0), null);
});
