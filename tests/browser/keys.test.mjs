// SPDX-License-Identifier: MIT
// Each key of the table does what the help says of it; a page that can be seen holds the session, a hidden one lets go; a
// doubtful clock is told of at every number.

import assert from 'node:assert/strict';
import test from 'node:test';

import { KEYS } from '../../web/keys.js';
import { TABS } from '../../web/view.js';
import { until } from '../api/world.mjs';
import { missing, PageWorld } from './browser.mjs';

const FRAMES = 900;

test('keys', { skip: missing('game'), timeout: 300_000 }, async (t) => {
	const { chromium } = await import('playwright-core');
	const world = new PageWorld();
	t.after(() => world.close());
	await world.startDaemon();
	const session = await world.played(['--frames', `${FRAMES}`, '--fps', '400', '--zones', '60', '--hitch-every', '850', '--hitch-ms', '30']);
	await world.openBrowser(chromium);
	const { page, faults } = world;
	const last = session.frames_total;
	const open = async (hash) => {
		await page.goto('about:blank');
		await page.goto(`${world.url}/#${hash}`);
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
		await page.waitForFunction(() => document.getElementById('frames-note').textContent.startsWith('Frames '));
	};
	const address = async () => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
	/** Waits until the address has this; null: it has none of that name. */
	const becomes = (name, value) => page.waitForFunction(([key, wanted]) => new URLSearchParams(location.hash.slice(1)).get(key) === wanted, [name, value]);
	const newest = () => page.evaluate(() => Number(document.getElementById('strip').getAttribute('aria-valuemax')));
	const zoom = async () => (await address()).zoom?.split('..').map(Number);
	const drawn = () => page.waitForFunction(() => document.getElementById('timeline-note').textContent.startsWith('Frame '));
	const length = ([from, to]) => to - from;

	/** What each key does, seen from outside: begins with frame 700 selected and the strip in focus. */
	const does = {
		previous: () => becomes('frame', '699'),
		next: () => becomes('frame', '701'),
		first: () => becomes('frame', String(last - 599)),
		last: () => becomes('frame', String(last)),
		older: () => until('older frames', async () => await newest() < last),
		newer: () => until('newer frames', async () => await newest() === last),
		extendLeft: () => becomes('range', '699-700'),
		extendRight: () => becomes('range', '700-701'),
		extendFarLeft: () => becomes('range', '650-700'),
		extendFarRight: () => becomes('range', '700-750'),
		extendFirst: async () => becomes('range', `${last - 599}-700`),
		extendLast: () => becomes('range', `700-${last}`),
		slowest: async () => {
			const { frames } = await world.api(`/sessions/${session.id}/frames?last=600`);
			await becomes('frame', String(frames.reduce((a, b) => (b.wall_ns > a.wall_ns ? b : a)).frame));
		},
		slowestKept: async () => becomes('frame', String((await world.api(`/sessions/${session.id}/frames/slowest`)).frame)),
		hold: () => page.waitForFunction(() => document.getElementById('hold').getAttribute('aria-pressed') === 'true'),
		budget: async () => {
			await page.keyboard.type('8.5');
			await page.keyboard.press('Enter');
			await becomes('strip.budget', '8.5');
			assert.equal(await page.evaluate(() => document.activeElement.id), 'strip');
		},
		clear: () => becomes('frame', null),
		zoomIn: async (before) => until('the view is narrower', async () => await zoom() && (!before || length(await zoom()) < length(before))),
		zoomOut: async (before) => until('the view is wider', async () => !await zoom() || length(await zoom()) > length(before)),
		panLeft: async (before) => until('the view moved left', async () => (await zoom())[0] < before[0]),
		panRight: async (before) => until('the view moved right', async () => (await zoom())[0] > before[0]),
		fit: () => becomes('zoom', null),
		measure: () => page.waitForSelector('#measured:not([hidden])'),
		search: () => page.waitForFunction(() => document.querySelector('#timeline-search input') === document.activeElement),
		findNext: () => page.waitForFunction(() => /^1 of /.test(document.querySelector('#timeline-search .found').textContent)),
		findPrevious: () => page.waitForFunction(() => /^(\d+) of \1(?!\d)/.test(document.querySelector('#timeline-search .found').textContent)),
		help: () => page.waitForSelector('#help[open]'),
		...Object.fromEntries(TABS.map(({ name }) => [`open:${name}`, () => page.waitForSelector(`#panel-${name}:not([hidden])`)])),
	};
	/** What the address has besides, where a key needs it. */
	const given = {
		zoomIn: '&zoom=100000..900000', zoomOut: '&zoom=100000..900000', panLeft: '&zoom=100000..900000', panRight: '&zoom=100000..900000',
		fit: '&zoom=100000..900000', findNext: '&timeline.search=work', findPrevious: '&timeline.search=frame', 'open:timeline': '&tab=sql',
	};
	const pressOf = ({ codes, keys }) => (codes ?? keys)[0];

	await t.test('each key does what the help says', async () => {
		await open(`session=${session.id}&frame=700`);
		for (const key of KEYS.filter((one) => !one.mouse)) {
			assert.ok(does[key.id], `${key.id}: what it does is not tried here`);
			await page.evaluate((hash) => { location.hash = hash; }, `session=${session.id}&frame=700${given[key.id] ?? ''}`);
			await page.waitForFunction(() => document.querySelector('#card-frame dd').textContent === '700');
			if (key.group === 'Timeline')
				await drawn();
			await page.locator('#strip').focus();
			const before = await zoom();
			if (key.id.startsWith('find'))
				await page.waitForFunction(() => / found$/.test(document.querySelector('#timeline-search .found').textContent));
			if (key.id === 'newer') {
				await page.keyboard.press('PageUp');
				await until('older frames', async () => await newest() < last);
			}
			await page.keyboard.press(pressOf(key));
			await does[key.id](before).catch((error) => assert.fail(`${key.shown.join('+')}: ${key.text}: ${error.message}`));
			if (await page.getAttribute('#hold', 'aria-pressed') === 'true')
				await page.click('#hold');
			if (key.id === 'help')
				await page.keyboard.press('Escape');
		}
	});

	await t.test('no key is a command while a field has the focus', async () => {
		await open(`session=${session.id}&frame=700&tab=tables`);
		await page.focus('#panel-tables input[type=search]');
		await page.keyboard.type('x[1?b');
		assert.equal((await address()).frame, '700');
		assert.equal((await address()).tab, 'tables');
		assert.equal(await page.locator('#help').isVisible(), false);
	});

	await t.test('a page that can be seen holds the session, a hidden one and a closed one let go', async () => {
		const game = world.game(['--frames', '100000', '--fps', '60', '--zones', '20']);
		const { id } = await world.live(game.pid, 5);
		const held = async () => (await world.api(`/sessions/${id}/recording`)).consumers;
		const hide = (hidden) => page.evaluate((value) => {
			Object.defineProperty(document, 'hidden', { value, configurable: true });
			document.dispatchEvent(new Event('visibilitychange'));
		}, hidden);
		await page.goto('about:blank');
		await until('nobody looks', async () => await held() === 0);
		const both = 2; // the lease and the event stream
		await open(`session=${id}`);
		await until('it is held', async () => await held() === both);
		await hide(true);
		await until('it is let go', async () => await held() === 0);
		const taken = page.waitForResponse((answer) => answer.url().endsWith('/consumers') && answer.status() === 201);
		await hide(false);
		await taken; // a page that goes before it has the answer leaves its lease to run out
		await until('it is held again', async () => await held() === both);
		await page.goto('about:blank');
		await until('a page that went lets go', async () => await held() === 0);
		await open(`session=${id}`);
		await until('it is held by another', async () => await held() === both);
		await world.stopDaemon();
		await page.waitForFunction(() => document.getElementById('connection').textContent === '✖ disconnected');
		await world.restartDaemon();
		await until('it is held after the daemon was away', async () => await held() === both);
		game.kill('SIGTERM');
		await game.done;
		faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 409|net::ERR/.test(fault)));
	});

	await t.test('a doubtful clock is told of, and at every number', async () => {
		const doubtful = await world.played(['--frames', '60', '--fps', '0', '--zones', '50'], { FPROF_CLOCK: 'monotonic' });
		const sign = (selector) => page.evaluate((at) => getComputedStyle(document.querySelector(at), '::after').content, selector);
		await open(`session=${doubtful.id}&frame=20&tab=tables`);
		await page.waitForFunction(() => document.getElementById('doubt').textContent.startsWith('⚠ Clock doubtful: '));
		await page.waitForSelector('#panel-tables td.number');
		for (const selector of ['#card-frame dd', '#card-range dd', '#card-top li span:last-child', '#panel-tables td.number'])
			assert.match(await sign(selector), /\?/, selector);
		await open(`session=${session.id}&frame=700&tab=tables`);
		await page.waitForSelector('#panel-tables td.number');
		assert.equal(await page.textContent('#doubt'), '');
		assert.equal(await sign('#card-frame dd'), 'none');
	});

	assert.deepEqual(faults, []);
});
