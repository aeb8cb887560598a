// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { matcherOf } from '../../web/search.js';
import { stretchesBetween } from '../../web/schedule.js';
import { keysOf, orderTracks, toggleKey } from '../../web/track_order.js';

const lane = (name, busy) => ({ thread: { id: busy, kind: 'thread', tid: busy, name, zones: [] }, title: `${name} (${busy})`, busy });
const LANES = [lane('main', 5), lane('worker', 3), lane('worker', 9), lane('a,b~c', 1)];
const settings = (more) => ({ sort: 'order', folded: '', pinned: '', ...more });
const keys = (list) => list.map((one) => one.key);

test('the main thread is first, pinned ones above it, others as sorted', () => {
	assert.deepEqual(keys(orderTracks(LANES, settings())), ['main', 'worker', 'worker~2', 'a%2cb%7ec']);
	assert.deepEqual(keys(orderTracks(LANES, settings({ sort: 'busy' }))), ['main', 'worker~2', 'worker', 'a%2cb%7ec']);
	assert.deepEqual(keys(orderTracks(LANES, settings({ sort: 'name' }))), ['main', 'a%2cb%7ec', 'worker', 'worker~2']);
	assert.deepEqual(keys(orderTracks(LANES, settings({ pinned: 'worker~2,a%2cb%7ec' }))), ['worker~2', 'a%2cb%7ec', 'main', 'worker']);
	assert.deepEqual(orderTracks(LANES, settings({ folded: 'worker~2' })).map((one) => one.folded), [false, false, true, false]);
});

test('a key is put into a text and taken out again', () => {
	assert.equal(toggleKey('', 'main'), 'main');
	assert.equal(toggleKey('main', 'worker~2'), 'main,worker~2');
	assert.equal(toggleKey('main,worker~2', 'main'), 'worker~2');
	assert.equal(toggleKey('main', 'main'), null);
	assert.deepEqual([...keysOf(',a,,b')], ['a', 'b']);
});

test('a search is for a part of a name, or with signs for all of it', () => {
	assert.deepEqual(['draw', 'redraw', 'Draw'].map(matcherOf('draw')), [true, true, false]);
	assert.deepEqual(['draw', 'redraw', 'drawn'].map(matcherOf('draw*')), [true, false, true]);
	assert.deepEqual(['a.b', 'axb'].map(matcherOf('a.?')), [true, false]);
	assert.deepEqual(['a(b', 'ab'].map(matcherOf('a(')), [true, false]);
});

test('short stretches are merged, long ones stay, none is left out', () => {
	const list = [[0, 10], [10, 11], [11, 12], [12, 14], [14, 40], [40, 41]].map(([start, end]) => ({ start, end, state: 'running', reason: null, cpu: 0, by: null }));
	const found = stretchesBetween(list, 5, 100, 3);
	assert.deepEqual(found.map(({ start, end, count }) => [start, end, count]), [[0, 10, 1], [10, 12, 2], [12, 14, 1], [14, 40, 1], [40, 41, 1]]);
	assert.equal(found.reduce((sum, one) => sum + one.count, 0), list.length);
	assert.deepEqual(stretchesBetween(list, 14, 39, 3).map(({ start }) => start), [14]);
	assert.deepEqual(stretchesBetween([], 0, 1, 1), []);
});
