// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { StripVerdicts } from '../../web/verdict.js';
import { disputeText, heldBy, stacksOf } from '../../web/verdict_text.js';

const part = (name, ns, kernel = 0) => ({ part: name, ns, evidence_ns: { zone: 0, kernel, both: 0 } });

test('parts stand where their holder does, and what is not known stands for itself', () => {
	assert.deepEqual(heldBy([part('cpu', 1), part('spin', 2), part('lock', 3), part('new', 4), part('other', 5)]), [1, 0, 0, 0, 2, 0, 3, 0, 0, 9]);
});

test('each frame that was judged is stacked', () => {
	const frame = (number) => ({ frame: number, parts: [part('unknown', 7)] });
	assert.deepEqual([...stacksOf([frame(1), frame(3)])].map(([number, stack]) => [number, stack.at(-1)]), [[1, 7], [3, 7]]);
});

test('where kernel and zones differ is told, when it is worth a word', () => {
	const answer = (parts) => ({ wall_ns: 200e6, frames_judged: 10, parts });
	assert.equal(disputeText(answer([part('cpu', 100e6, 100e6), part('present', 100e6), part('runnable', 9e6, 9e6)])), '');
	assert.equal(disputeText(answer([part('spin', 1.9e6), part('lock', 2e6, 1.9e6)])), '');
	assert.equal(disputeText(answer([part('spin', 20e6), part('lock', 30e6, 10e6), part('io', 10e6, 10e6)])),
		'Kernel and zones differ: 2.00 ms (10.0 %) ran within wait zones; 2.00 ms (10.0 %) waited outside of wait zones.');
});

test('the strip asks as soon as there are frames, and then now and then', () => {
	const model = { session: { id: 7 }, stream: null, shown: { first: 0, last: 0 }, window: () => ({ first: 1, last: 600 }) };
	const strip = new StripVerdicts(model, () => {});
	strip.follow();
	assert.equal(strip.asked.path, null);
	model.shown = { first: 1, last: 100 };
	strip.follow();
	assert.match(String(strip.asked.path), /\/sessions\/7\/verdict\?from=1&to=100$/);
	model.shown.last = 200;
	strip.follow();
	assert.match(String(strip.asked.path), /to=100$/, 'not again at once');
	strip.asked.want(null);
});
