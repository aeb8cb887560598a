// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { flamesOf, placeFlame, sandwichOf } from '../../web/flame_tree.js';

const row = (thread, depth, name, total, self, calls = 1) => ({ thread, thread_name: `t${thread}`, depth, name, total_ns: total, self_ns: self, calls });

const ROWS = [
	row(1, 0, 'frame', 100, 10),
	row(1, 1, 'draw', 30, 20),
	row(1, 2, 'work', 10, 10, 4),
	row(1, 1, 'update', 60, 25),
	row(1, 2, 'work', 35, 30, 6),
	row(1, 3, 'work', 5, 5, 1),
	row(2, 0, 'work', 7, 7),
];

test('a flame has the largest first, and a thread is what its outermost zones are', () => {
	const [first, second] = flamesOf(ROWS);
	assert.deepEqual([first.name, first.total, second.name, second.total], ['t1', 100, 't2', 7]);
	assert.deepEqual(first.children[0].children.map((one) => one.name), ['update', 'draw']);
	const placed = placeFlame(first);
	const update = placed.find((one) => one.name === 'update');
	const draw = placed.find((one) => one.name === 'draw');
	assert.deepEqual([update.from, update.depth, draw.from], [0, 2, 60]);
	assert.equal(draw.parent.name, 'frame');
});

test('a sandwich counts what is nested in its own name once', () => {
	const { callees, callers } = sandwichOf(ROWS, 'work');
	assert.equal(callees.total, 10 + 35 + 7);
	assert.deepEqual(callees.children.map((one) => [one.name, one.total]), [['work', 5]]);
	assert.equal(callers.total, 52);
	assert.deepEqual(callers.children.map((one) => [one.name, one.total]), [['update', 35], ['draw', 10], ['t2', 7]]);
	assert.deepEqual(callers.children[0].children[0].children.map((one) => one.name), ['t1']);
});

test('a sandwich of a name that is not there is empty', () => {
	assert.equal(sandwichOf(ROWS, 'nobody').callees.total, 0);
	assert.deepEqual(flamesOf([]), []);
});

test('threads of one name are two flames', () => {
	const rows = [{ ...row(1, 0, 'a', 3, 3), thread_name: 'worker' }, { ...row(2, 0, 'b', 4, 4), thread_name: 'worker' }];
	assert.deepEqual(flamesOf(rows).map((one) => [one.name, one.total]), [['worker', 3], ['worker (2)', 4]]);
});
