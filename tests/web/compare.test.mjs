// SPDX-License-Identifier: MIT
// How frame times are spread: bins over both sides, and where a plot draws them.

import assert from 'node:assert/strict';
import test from 'node:test';

import { overlay, stepsOf } from '../../web/compare_text.js';

test('a frame is in the bin that ends at or above it, in percent of its side', () => {
	const bins = overlay([10, 10, 10, 20], [30], 3);
	assert.deepEqual(bins, [[10, 75, 0], [20, 25, 0], [30, 0, 100]]);
	assert.deepEqual(overlay([], [], 3), []);
});

test('a bin is drawn from its lower end to its upper one', () => {
	const [ends, a, b] = stepsOf([[10e6, 75, 0], [20e6, 25, 100]]);
	// a step holds from its place until the next one
	assert.deepEqual([ends, a, b], [[0, 10, 20], [75, 25, 25], [0, 100, 100]]);
	assert.deepEqual(stepsOf([]), [[0], [0], [0]]);
});
