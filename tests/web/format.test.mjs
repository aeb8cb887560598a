// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { bytes, count, duration, milliseconds, percent, place, plural, quantity, sessionState, sourceState, tickLabel } from '../../web/format.js';

test('a duration has a unit and three digits', () => {
	assert.equal(duration(0), '0 ns');
	assert.equal(duration(812), '812 ns');
	assert.equal(duration(999.6), '1.00 µs');
	assert.equal(duration(12_345), '12.3 µs');
	assert.equal(duration(16_666_667), '16.7 ms');
	assert.equal(duration(999_600_000), '1.00 s');
	assert.equal(duration(-2_500_000), '-2.50 ms');
});

test('what was not measured is unknown, never 0', () => {
	for (const format of [duration, milliseconds, count, bytes, percent])
		assert.equal(format(null), 'unknown');
	assert.equal(duration(NaN), 'unknown');
	assert.equal(milliseconds(NaN), 'unknown');
	assert.equal(quantity(null, 'ms'), 'unknown');
});

test('large numbers are grouped', () => {
	assert.equal(count(1281), '1,281');
	assert.equal(count(999), '999');
	assert.equal(milliseconds(1_234_567_890), '1,234.57 ms');
	assert.equal(plural(1, 'event'), '1 event');
	assert.equal(plural(1000, 'event'), '1,000 events');
});

test('bytes and counters carry their unit', () => {
	assert.equal(bytes(512), '512 B');
	assert.equal(bytes(134_217_728), '128 MiB');
	assert.equal(bytes(1_572_864), '1.5 MiB');
	assert.equal(quantity(1024, 'bytes'), '1.0 KiB');
	assert.equal(quantity(71.25, 'percent'), '71.3 %');
	assert.equal(quantity(0.5, 'ms'), '0.500 ms');
	assert.equal(quantity(412, 'count'), '412');
	assert.equal(quantity(1766.6, 'count'), '1,766.6');
});

test('states are told by glyph and word, and an unknown one is shown', () => {
	assert.deepEqual(sessionState('crashed'), { glyph: '✖', text: 'crashed' });
	assert.notEqual(sessionState('live').glyph, sessionState('ended').glyph);
	assert.equal(sessionState('odd').text, 'odd');
	assert.equal(sourceState('on').mark, 'good');
	assert.equal(sourceState('degraded').mark, 'warn');
	assert.equal(sourceState('unavailable').mark, 'warn');
});

test('a source that is off is no trouble', () => {
	assert.equal(sourceState('off').mark, 'muted');
});

test('a place names the line only when there is one', () => {
	assert.equal(place('a.c', 3), 'a.c:3');
	assert.equal(place('a.c', null), 'a.c');
	assert.equal(place(null, 3), '');
});

test('two ticks never have the same label', () => {
	assert.equal(tickLabel(20e6, 10e6), '20 ms');
	assert.equal(tickLabel(33_820_000, 20_000), '33.82 ms');
	assert.equal(tickLabel(0, 10), '0');
	assert.equal(tickLabel(500e6, 500e6), '500 ms');
	assert.equal(tickLabel(1_500_000_000, 500_000_000), '1.5 s');
	for (const step of [1, 20, 500, 1000, 50_000, 2e6, 5e8]) {
		const labels = Array.from({ length: 400 }, (_, at) => tickLabel(at * step, step));
		assert.equal(new Set(labels).size, 400, String(step));
	}
});
