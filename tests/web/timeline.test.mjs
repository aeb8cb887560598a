// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { Timeline, measureText } from '../../web/timeline.js';

const FRAMES = Array.from({ length: 100 }, (_, at) => ({ frame: at + 1, start: at * 1000, end: (at + 1) * 1000, gone: false }));
const SCENE = /** @type {any} */ ({ origin: 7, extent: 100_000, frames: FRAMES, tracks: [], messages: [], gaps: [], resolution: 0, truncated: false });

test('the scheduler is asked of all frames, and where that is too much of those in view and beside it', () => {
	const view = { t0: -10, t1: 100_010 };
	const schedule = { leftOut: 0 };
	const timeline = { near: null, schedule, view: () => view, scene: () => SCENE, model: { view: { frame: null } } };
	const about = () => {
		const { from, to, origin } = Timeline.prototype.about.call(/** @type {any} */ (timeline)) ?? {};
		return [from, to, origin];
	};
	assert.deepEqual(about(), [1, 100, 7]);
	schedule.leftOut = 500;
	assert.deepEqual(about(), [1, 100, 7], 'all of them are in view');
	Object.assign(view, { t0: 50_100, t1: 51_900 });
	assert.deepEqual(about(), [49, 54, 7]);
	Object.assign(view, { t0: 51_100, t1: 53_900 });
	assert.deepEqual(about(), [49, 54, 7], 'they are here');
	schedule.leftOut = 0;
	Object.assign(view, { t0: 60_100, t1: 60_900 });
	assert.deepEqual(about(), [60, 62, 7]);
	Object.assign(view, { t0: -10, t1: 100_010 });
	assert.deepEqual(about(), [1, 100, 7]);
});

test('what is measured is a share of the frames that it touches', () => {
	assert.equal(measureText(SCENE, { t0: 1250, t1: 1500 }), '250 ns: 25.0 % of frame 2');
	assert.equal(measureText(SCENE, { t0: 500, t1: 2500 }), '2.00 µs: 66.7 % of frames 1 to 3');
	assert.equal(measureText(SCENE, { t0: 200_000, t1: 200_100 }), '100 ns');
});
