// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { KEYS, actionOf, isPressing, isTyping } from '../../web/keys.js';
import { lossTotals, lossesOf } from '../../web/losses.js';
import { decodeView, emptyView, encodeView, streamOf } from '../../web/view.js';
import { historyOf, orderOf, zonesPath } from '../../web/zone_rows.js';

test('a view survives the address', () => {
	const views = [
		emptyView(),
		{
			session: '12', stream: 'a & b=c#', frame: 7, range: { first: 3, last: 9 }, zoom: { t0: -100, t1: 2500 },
			tab: 'diagnostics', settings: { 'sql.text': 'SELECT 1 & 2' },
		},
	];
	for (const view of views)
		assert.deepEqual(decodeView(`#${encodeView(view)}`), view);
});

test('what makes no sense in an address is left out', () => {
	assert.deepEqual(decodeView('#session=<img>&frame=-1&range=9-3&zoom=5..5'), emptyView());
	assert.deepEqual(decodeView('#frame=0&range=0-4'), emptyView());
	assert.deepEqual(decodeView('#%%%'), emptyView());
	assert.deepEqual(decodeView('#tab=a%20b&Sql.x=1&sql.=1&__proto__=1'), emptyView());
});

test('the history of a row asks for what the row is about', () => {
	const asked = (row, thread = '') => [...new URLSearchParams(historyOf(row, thread))];
	assert.deepEqual(asked({ name: 'c', path: ['a/b', 'c&d', 'c'], thread: 3, gpu: false }, '7'),
		[['metric', 'path'], ['path', 'a/b'], ['path', 'c&d'], ['path', 'c'], ['thread', '3']]);
	assert.deepEqual(asked({ name: 'c', path: ['c'], thread: 5, gpu: true }), [['metric', 'gpu_path'], ['path', 'c'], ['thread', '5']]);
	assert.deepEqual(asked({ name: 'c', threads: 2, gpu: false }), [['metric', 'zone:c']]);
	assert.deepEqual(asked({ name: 'c', threads: 1, gpu: true }, '7'), [['metric', 'gpu_zone:c'], ['thread', '7']]);
	assert.deepEqual(asked({ name: 'c', thread: 3, gpu: false }), [['metric', 'zone:c'], ['thread', '3']]);
});

const press = (key, code, more = {}) => ({ key, code, ctrlKey: false, altKey: false, metaKey: false, shiftKey: false, ...more });

test('letters are found by place, signs by what they print', () => {
	assert.equal(actionOf(press('z', 'KeyW'), null), 'zoomIn');
	assert.equal(actionOf(press('w', 'KeyZ'), null), null);
	assert.equal(actionOf(press('[', 'Digit8', { ctrlKey: true, altKey: true }), null), 'previous');
	assert.equal(actionOf(press('?', 'Slash', { shiftKey: true }), null), 'help');
});

test('a key with Ctrl, Alt or Meta is left to the browser', () => {
	for (const modifier of ['ctrlKey', 'altKey', 'metaKey'])
		assert.equal(actionOf(press('w', 'KeyW', { [modifier]: true }), null), null);
});

test('keys of the strip need its focus', () => {
	assert.equal(actionOf(press('ArrowLeft', 'ArrowLeft'), null), null);
	assert.equal(actionOf(press('ArrowLeft', 'ArrowLeft'), 'strip'), 'previous');
	assert.equal(actionOf(press('ArrowLeft', 'ArrowLeft', { shiftKey: true }), 'strip'), 'extendLeft');
});

test('a session without a main stream shows its first one', () => {
	const view = emptyView();
	assert.equal(streamOf(view, { streams: ['main', 'audio'] }), null);
	assert.equal(streamOf(view, { streams: ['tick', 'audio'] }), 'tick');
	assert.equal(streamOf({ ...view, stream: 'audio' }, { streams: ['tick', 'audio'] }), 'audio');
	assert.equal(streamOf(view, { streams: [] }), null);
	assert.equal(streamOf(view, null), null);
});

test('no two keys collide', () => {
	const seen = new Set();
	for (const key of KEYS.filter((one) => !one.mouse)) {
		for (const name of [...(key.codes ?? []), ...(key.keys ?? [])]) {
			const where = `${key.on ?? ''} ${name}`;
			assert.ok(!seen.has(where), where);
			seen.add(where);
		}
	}
});

test('typing in a field is no command, and Space presses a button', () => {
	assert.equal(isTyping({ tagName: 'INPUT' }), true);
	assert.equal(isTyping({ tagName: 'CANVAS' }), false);
	assert.equal(isPressing({ tagName: 'BUTTON' }, 'Space'), true);
	assert.equal(isPressing({ tagName: 'BUTTON' }, 'KeyW'), false);
});

test('losses: what is gone is loud, what was repaired is not, what was meant is neither', () => {
	const losses = { overwritten: 5, reentrant: 0, discarded: { malformed: 2, hook_mark: 900, foreign_mark: 7 }, repaired: { stray_end: 3, foreign_mark: 7 }, refused: { names: 1, truncated: 4 } };
	assert.deepEqual(lossTotals({ losses, lost_events: 5 }), { lost: 8, repaired: 14 });
	assert.deepEqual(lossesOf(losses).map((loss) => [loss.kind, loss.count, loss.weight]), [
		['overwritten', 5, 'lost'], ['discarded.malformed', 2, 'lost'], ['discarded.hook_mark', 900, 'intended'],
		['discarded.foreign_mark', 7, 'intended'], ['repaired.stray_end', 3, 'repaired'],
		['repaired.foreign_mark', 7, 'repaired'], ['refused.names', 1, 'lost'],
		['refused.truncated', 4, 'repaired']]);
	assert.deepEqual(lossTotals({ losses: {}, lost_events: 4 }), { lost: 4, repaired: 0 });
	assert.deepEqual(lossTotals(null), { lost: 0, repaired: 0 });
});

test('rows are in the order that they were asked for in, not in the one that is wanted next', () => {
	const scope = { session: '1', stream: null, from: 1, to: 2, what: 'range' };
	const wanted = { view: 'flat', order: { key: 'self', down: false }, text: '', thread: '', category: '', perFrame: false, limit: 9 };
	assert.deepEqual(orderOf(zonesPath(scope, wanted)), { key: 'self', down: false });
	assert.equal(orderOf(zonesPath(scope, { ...wanted, view: 'callers', text: 'a' })), null);
	assert.equal(orderOf(null), null);
});
