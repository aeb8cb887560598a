// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { Slots } from '../../web/slots.js';

test('a key keeps its place while others come and go, with the largest value of each slot', () => {
	const slots = new Slots(3);
	slots.push([['a', 5], ['b', 1], ['a', 3]]);
	slots.push([['b', 2]]);
	slots.push([['c', 9], ['a', 4], ['b', null]]);
	assert.deepEqual(slots.of('a'), [5, null, 4]);
	assert.deepEqual(slots.of('b'), [1, 2, null]);
	assert.deepEqual(slots.of('c'), [null, null, 9]);
	assert.deepEqual(slots.of('d'), []);
});

test('a key that had nothing in all slots is forgotten', () => {
	const slots = new Slots(2);
	slots.push([['a', 1]]);
	slots.push([]);
	assert.deepEqual(slots.of('a'), [1, null]);
	slots.push([]);
	assert.deepEqual([...slots.series.keys()], []);
});
