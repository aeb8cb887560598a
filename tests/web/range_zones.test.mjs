// SPDX-License-Identifier: MIT
// A daemon that merges whatever is longer than ten frames, and what the timeline asks of it.

import assert from 'node:assert/strict';
import test from 'node:test';

import { RangeZones } from '../../web/range_zones.js';
import { binary } from './binary.mjs';

const FRAME = 1000;

/** Frames from..to of a session: one zone in each, that takes half of it. */
function answerOf(from, to) {
	const frames = Array.from({ length: to - from + 1 }, (_, at) => ({ frame: from + at, begin_ns: (from + at) * FRAME, wall_ns: FRAME, flags: [] }));
	const items = frames.map((frame) => ({ begin: frame.begin_ns, length: FRAME / 2, busy: FRAME / 2, marker: 1, count: 1, depth: 0, flags: 0 }));
	const name = (text) => ({ name: text, category: null, wait: null, file: null, line: 0, colour: null });
	return binary({
		range: { begin_ns: from * FRAME, end_ns: (to + 1) * FRAME }, resolution_ns: frames.length > 10 ? 100 : 0, frames,
		markers: [name('unknown marker'), name('zone')],
		threads: [{ id: 1, kind: 'thread', tid: 1, name: 'main', first: 0, items: items.length, events: [], gaps: [] }],
	}, items);
}

/** What is asked lands in the list. @param {string[]} asked */
function standIn(asked) {
	globalThis.fetch = async (url) => {
		const query = new URL(url, 'http://localhost').searchParams;
		asked.push(`${query.get('from')}-${query.get('to')}`);
		return new Response(answerOf(Number(query.get('from')), Number(query.get('to'))));
	};
}

test('a range is read whole, and finer where it is looked at', async () => {
	/** @type {string[]} */
	const asked = [];
	standIn(asked);
	let heard = () => {};
	const model = { view: { range: { first: 1, last: 100 }, frame: null }, session: { id: 1 }, stream: null, detail: null };
	const zones = new RangeZones(/** @type {any} */ (model), () => heard());
	const answered = () => new Promise((resolve) => { heard = () => resolve(undefined); });

	let waiting = answered();
	zones.follow();
	assert.equal(zones.scene(), null);
	await waiting;
	zones.follow();
	const whole = zones.scene();
	assert.deepEqual([asked, whole?.resolution, whole?.frames.length, whole?.origin], [['1-100'], 100, 100, FRAME]);

	assert.equal(zones.finest({ t0: -10, t1: 100 * FRAME + 10 }, 500), whole, 'all of it is in view');
	assert.equal(zones.finest({ t0: 50 * FRAME, t1: 100 * FRAME }, 100), whole, 'nothing finer could be seen');
	assert.deepEqual(asked, ['1-100']);

	waiting = answered();
	const view = { t0: 50 * FRAME + 100, t1: 51 * FRAME + 900 };
	assert.equal(zones.finest(view, 1000), whole, 'until it is here');
	await waiting;
	const part = zones.finest(view, 1000);
	assert.deepEqual([asked, part?.resolution, part?.origin], [['1-100', '49-54'], 0, FRAME]);
	assert.deepEqual(part?.frames.map((one) => one.start), [48, 49, 50, 51, 52, 53].map((n) => n * FRAME), 'its times are those of the whole');
	assert.equal(part?.tracks[0].rows[0].start[2], 50 * FRAME);

	assert.equal(zones.finest({ t0: view.t0 + 800, t1: view.t1 + 800 }, 1000), part, 'it reaches a little further');
	assert.deepEqual(asked.length, 2);
	waiting = answered();
	assert.equal(zones.finest({ t0: 20 * FRAME, t1: 21 * FRAME }, 1000), whole);
	await waiting;
	assert.equal(zones.finest({ t0: 20 * FRAME, t1: 21 * FRAME }, 1000)?.resolution, 0);
	assert.equal(asked.length, 3);

	model.view.range = /** @type {any} */ (null);
	zones.follow();
	assert.equal(zones.scene(), null);
	assert.equal(zones.finest(view, 1000), null);
});
