// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { StripVerdicts } from '../../web/verdict.js';
import { HOLDERS } from '../../web/palette.js';
import { disputeText, heldBy, heldTogether, stacksOf } from '../../web/verdict_text.js';

const part = (name, ns, kernel = 0, denied = 0) => ({ part: name, ns, evidence_ns: { zone: 0, kernel, both: 0, denied } });

test('parts stand where their holder does, and what is not known stands for itself', () => {
	const named = (stack) => Object.fromEntries(HOLDERS.map(({ key }, at) => [key, stack[at]]).filter(([, ns]) => ns));
	const parts = [part('cpu', 1), part('spin', 2), part('lock', 3), part('new', 4), part('other', 5), part('present', 6)];
	assert.deepEqual(named(heldBy({ bound_by: 'cpu', parts })), { cpu: 1, spin: 2, lock: 3, present: 6, unknown: 9 });
	for (const bound of ['gpu', 'display', 'cap'])
		assert.deepEqual(named(heldBy({ bound_by: bound, parts })), { cpu: 1, spin: 2, lock: 3, [bound]: 6, unknown: 9 }, 'a present waits for what the verdict says');
	const judged = (bound, counted = true) => ({ bound_by: bound, counted, parts });
	assert.deepEqual(named(heldTogether({ frames_judged: 2, bound_by: 'cap', parts, frames: [judged('cap'), judged('cpu'), judged('gpu', false)] })),
		{ cpu: 2, spin: 4, lock: 6, cap: 6, present: 6, unknown: 18 });
	assert.deepEqual(named(heldTogether({ frames_judged: 3, bound_by: 'cap', parts, frames: [judged('cpu')] })), { cpu: 1, spin: 2, lock: 3, cap: 6, unknown: 9 }, 'not all are told of');
});

test('each frame that was judged is stacked', () => {
	const frame = (number) => ({ frame: number, bound_by: 'cpu', parts: [part('unknown', 7)] });
	assert.deepEqual([...stacksOf([frame(1), frame(3)])].map(([number, stack]) => [number, stack.at(-1)]), [[1, 7], [3, 7]]);
});

test('where kernel and zones differ is told, when it is worth a word', () => {
	const answer = (parts) => ({ wall_ns: 200e6, frames_judged: 10, parts });
	assert.equal(disputeText(answer([part('cpu', 100e6, 100e6), part('present', 100e6), part('runnable', 9e6, 9e6)])), '');
	assert.equal(disputeText(answer([part('spin', 1.9e6), part('lock', 2e6, 1.9e6)])), '');
	assert.equal(disputeText(answer([part('spin', 20e6), part('lock', 30e6, 10e6), part('io', 10e6, 10e6), part('cap', 40e6, 0, 6e6)])),
		'Kernel and zones differ: 2.00 ms (10.0 %) ran within wait zones; 0.60 ms (3.0 %) waited within wait zones for something else; 2.00 ms (10.0 %) waited outside of wait zones.');
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
	const answers = (session, from, to) => {
		strip.asked.answered = `/sessions/${session}/verdict?from=${from}&to=${to}`;
		strip.asked.answer = { session, stream: 'main', frames: [{ frame: to, bound_by: 'cpu', parts: [part('cpu', to)] }] };
		strip.askedAt = -Infinity;
		strip.follow();
	};
	answers(7, 1, 300);
	assert.equal(strip.stacks.get(300)[0], 300);
	model.shown.last = 400;
	answers(7, 180, 400);
	assert.match(String(strip.asked.path), /from=280&to=400$/, 'those that are new, and those before that may change');
	assert.equal(strip.stacks.get(300)[0], 300, 'the others stay');
	answers(8, 280, 400);
	assert.equal(strip.stacks.get(400)[0], 400);
	model.session = { id: 8 };
	strip.follow();
	assert.equal(strip.stacks.size, 0, 'what is of another session goes');
	assert.match(String(strip.asked.path), /\/sessions\/8\/verdict\?from=1&to=400$/);
	strip.asked.want(null);
});
