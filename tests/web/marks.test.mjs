// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { samplesByFrame } from '../../web/counter_series.js';
import { FrameRing } from '../../web/frames.js';
import { budgetLines, budgetOf, gcFrames, headText, keptFrom, spikeFrames } from '../../web/marks.js';

test('a budget is a number of milliseconds that a frame can take', () => {
	assert.equal(budgetOf('8'), 8);
	assert.equal(budgetOf(' 6.94 '), 6.94);
	for (const text of ['', ' ', 'x', '0', '-1', '60001', 'Infinity', 'NaN'])
		assert.equal(budgetOf(text), null, text);
});

test('the user\'s budget stands beside the usual ones, and for one that is the same', () => {
	assert.deepEqual(budgetLines(null).map(({ ms, own }) => [ms.toFixed(1), own]), [['16.7', false], ['33.3', false]]);
	assert.deepEqual(budgetLines(8).map(({ ms, own }) => [ms.toFixed(1), own]), [['8.0', true], ['16.7', false], ['33.3', false]]);
	assert.deepEqual(budgetLines(16.7).map(({ ms, own }) => [ms.toFixed(1), own]), [['16.7', true], ['33.3', false]]);
});

test('the frames that fired are those of the session, or of the capture made of it', () => {
	const spike = (id, session, ...frames) => ({ id, session, reason: { label: 'a', fired: frames.map((frame) => ({ frame, trigger: { label: `over ${frame}` } })) } });
	const all = [spike(7, 1, 40, 50), spike(8, 2, 60), { id: 9, session: 1, reason: null }];
	assert.deepEqual([...spikeFrames(all, 1).entries()], [[40, ['over 40']], [50, ['over 50']]]);
	assert.deepEqual([...spikeFrames(all, 8).keys()], [60]);
	assert.equal(spikeFrames(all, undefined).size, 0);
});

test('garbage was collected where the count grew from the frame before, or a pause was told of', () => {
	const of = (values) => values.map(([frame, value]) => ({ frame, value }));
	assert.deepEqual([...gcFrames(of([[1, 5], [2, 5], [3, 6], [5, 9], [6, 9]]), of([[2, 0], [6, 0.4]]))], [3, 6]);
});

test('events are kept from a frame on, or of none', () => {
	assert.equal(keptFrom({ retained: { first: 9 }, frames_total: 20 }), 9);
	assert.equal(keptFrom({ retained: null, frames_total: 20 }), Infinity);
	assert.equal(keptFrom({ retained: null, frames_total: 0 }), 0);
	assert.equal(keptFrom(null), 0);
});

test('the end of the recording has a name', () => {
	assert.deepEqual([null, { state: 'live', recording_state: 'recording' }, { state: 'live', recording_state: 'frozen' },
		{ state: 'live', recording_state: 'stopped' }, { state: 'ended' }, { state: 'crashed' }].map(headText),
	['', '● recording', '❄ frozen', '■ stopped', '■ end', '✖ crashed']);
});

test('a sample belongs to the frame that went on when it was taken', () => {
	const ring = new FrameRing();
	for (const frame of [1, 2, 4])
		ring.put({ frame, begin_ns: frame * 10, wall_ns: 10, cpu_ns: 1, gpu_ns: null, wait_ns: { gpu: null, present: null, cap: null }, events: 0, lost_events: 0, flags: [] });
	assert.deepEqual([...samplesByFrame([[5, 1], [10, 2], [19, 3], [20, 4], [35, 5], [49, 6], [50, 7]], ring, 1, 4)], [[1, 3], [2, 4], [4, 6]]);
});
