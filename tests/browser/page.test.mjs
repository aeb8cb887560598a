// SPDX-License-Identifier: MIT
// The page, as a user has it: the real daemon, real games under it, the system's Chromium in front of it. The steps build
// on each other, as a visit does. FPROF_SHOTS=DIR keeps the screenshots.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { count, duration, milliseconds } from '../../web/format.js';
import { KEYS } from '../../web/keys.js';
import { HOLDERS } from '../../web/palette.js';
import { TABS } from '../../web/view.js';
import { DOOM, ROOT, WAD, until } from '../api/world.mjs';
import { axe, COLOURS, missing, PageWorld, RULES_OF_COLOUR } from './browser.mjs';

// What `-timedemo demo3` draws: a machine that is busy makes it skip one or two steps of its melt.
const DOOM_FRAMES = 1281; // a Doom that has to wait draws some fewer

const hashOf = async (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));

/** How many pixels of a canvas are of each colour that the style sheet names so. */
function pixelsOf(page, canvas, names) {
	return page.evaluate(([id, wanted]) => {
		const at = document.getElementById(id);
		const copy = new OffscreenCanvas(at.width, at.height).getContext('2d', { willReadFrequently: true });
		copy.drawImage(at, 0, 0);
		const { data } = copy.getImageData(0, 0, at.width, at.height);
		const style = getComputedStyle(document.documentElement);
		const keys = wanted.map((name) => parseInt(style.getPropertyValue(name).trim().slice(1), 16));
		const counts = keys.map(() => 0);
		for (let i = 0; i < data.length; i += 4) {
			const found = data[i + 3] ? keys.indexOf((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) : -1;
			if (found >= 0)
				counts[found]++;
		}
		return counts;
	}, [canvas, names]);
}

/** A list of numbers as an object from label to value. */
function numbersOf(page, id) {
	return page.evaluate((list) => {
		const terms = [...document.querySelectorAll(`#${list} dt`)];
		return Object.fromEntries(terms.map((term) => [term.textContent, term.nextElementSibling.textContent]));
	}, id);
}

/** The text of all cells of a table beside a canvas. */
async function tableOf(page, id) {
	await page.evaluate((name) => new Promise((resolve) => {
		const at = document.getElementById(name);
		if (at.open)
			return resolve();
		at.addEventListener('toggle', resolve, { once: true }); // after that of the page, which fills it
		at.querySelector('summary').click();
	}), id);
	const more = page.locator(`#${id} .table-foot button`);
	if (await more.isVisible())
		await more.click();
	return page.evaluate((name) => [...document.querySelectorAll(`#${name} tbody tr`)]
		.map((row) => [...row.children].map((cell) => cell.textContent)), id);
}

test('the page', { skip: missing('fprofd', 'fprof', 'libfprof.so', 'libfprof-preload.so'), timeout: 900_000 }, async (t) => {
	const { chromium } = await import('playwright-core');
	const world = new PageWorld();
	t.after(() => world.close());
	await world.startDaemon();
	await world.openBrowser(chromium);
	const { page, faults } = world;
	const shot = (name, options) => world.shot(name, options);
	const text = (selector) => page.locator(selector).textContent();

	await t.test('a first visit shows how to start a game', async () => {
		await page.goto(world.url);
		await page.waitForSelector('#welcome:not([hidden])');
		assert.match(await text('#welcome'), /fprof run -- \.\/game/);
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
		assert.equal(await page.locator('#strip').isVisible(), false);
		const rows = await page.locator('#source-list tbody tr').count();
		const { sources } = await world.api('/status');
		assert.equal(rows, sources.length);
		assert.equal(await page.locator('#source-list td.muted').count(), sources.filter((one) => one.state === 'off').length);
		await shot('first-visit');
		assert.deepEqual(await axe(page), []);
	});

	let session;
	const noDoom = existsSync(DOOM) && existsSync(WAD) ? false : 'chocolate-doom or freedoom is not installed';
	await t.test('a game that ran shows with the frames that it drew', { skip: noDoom }, async () => {
		const run = await world.play([DOOM, '-iwad', WAD, '-timedemo', 'demo3', '-nosound', '-nogui'],
			{ SDL_VIDEODRIVER: 'dummy', SDL_AUDIODRIVER: 'dummy' });
		assert.equal(run.code, 255, run.text);
		session = await until('the session has ended', async () =>
			(await world.api('/sessions')).sessions.find((one) => one.name === 'chocolate-doom' && one.state !== 'live'));
		assert.ok(session.frames_total > DOOM_FRAMES - 40 && session.frames_total <= DOOM_FRAMES, `${session.frames_total} frames`);
		await page.waitForFunction((total) => document.getElementById('kept').textContent.endsWith(` of ${total}`), count(session.frames_total));
		assert.match(await text('#session option:checked'), /^■ ended: chocolate-doom #\d+$/);
		assert.equal(await text('#kept'), `${count(session.frames_retained)} of ${count(session.frames_total)}`);
		const cut = await page.evaluate(() => {
			const at = document.getElementById('session');
			const style = getComputedStyle(at);
			const ruler = new OffscreenCanvas(1, 1).getContext('2d');
			ruler.font = style.font;
			const arrow = 20;
			return ruler.measureText(at.selectedOptions[0].textContent).width + arrow
				- (at.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
		});
		assert.ok(cut <= 0, `the session's name is cut by ${cut} pixels`);
	});

	await t.test('the strip draws the frames, and its table says the same as the API', { skip: noDoom }, async () => {
		await page.waitForFunction(() => document.getElementById('timeline-note').textContent !== '');
		await until('the strip is drawn', async () => {
			const [line, ...holders] = await pixelsOf(page, 'strip', ['--line', ...HOLDERS.map(({ colour }) => colour)]);
			return line > 1000 && holders.reduce((sum, pixels) => sum + pixels) > 2000;
		});
		const wanted = Math.min(600, session.frames_total);
		const rows = await until(`${wanted} rows`, async () => {
			const found = await tableOf(page, 'frames-table');
			return found.length === wanted && found;
		});
		const numbers = rows.map((row) => Number(row[0].replaceAll(',', '')));
		const { frames } = await world.api(`/sessions/${session.id}/frames?from=${numbers.at(-1)}&to=${numbers[0]}`);
		assert.deepEqual(rows.map((row) => row.slice(0, 3)), frames.reverse().map((frame) =>
			[count(frame.frame), milliseconds(frame.wall_ns), milliseconds(frame.cpu_ns)]));
		await page.click('#frames-table > summary');
	});

	await t.test('the slowest frame that is kept shows, and says that its events are gone', { skip: noDoom }, async () => {
		const slowest = await world.api(`/sessions/${session.id}/frames/slowest`);
		await page.keyboard.press('Shift+X');
		await page.waitForFunction((frame) => document.querySelector('#card-frame dd').textContent === frame, count(slowest.frame));
		assert.equal((await numbersOf(page, 'card-frame')).Wall, milliseconds(slowest.wall_ns));
		const evicted = slowest.flags.includes('events_evicted');
		assert.equal(/have left the history/.test(await text('#timeline-hint')), evicted);
		await until('the strip shows it', () => page.evaluate((frame) => {
			const at = document.getElementById('strip');
			return Number(at.getAttribute('aria-valuenow')) === frame && /^frame \d+, /.test(at.getAttribute('aria-valuetext'));
		}, slowest.frame));
		await shot('slowest-kept');
		await page.click('#hold');
	});

	await t.test('the slowest frame of the strip shows with its numbers and zones', { skip: noDoom }, async () => {
		const { frames } = await world.api(`/sessions/${session.id}/frames?last=600`);
		const worst = frames.reduce((a, b) => (b.wall_ns > a.wall_ns ? b : a));
		const slowest = await world.api(`/sessions/${session.id}/frames/${worst.frame}`);
		await page.keyboard.press('x');
		await page.waitForFunction((frame) => document.getElementById('timeline-note').textContent.startsWith(`Frame ${frame},`), count(worst.frame));
		const numbers = await numbersOf(page, 'card-frame');
		assert.equal(numbers.Frame, count(slowest.frame));
		assert.equal(numbers.Wall, milliseconds(slowest.wall_ns));
		assert.equal(numbers['Cpu ≤'], milliseconds(slowest.cpu_ns));
		assert.equal(numbers.Gpu, milliseconds(slowest.gpu_ns));
		for (const wait of ['gpu', 'present', 'cap'])
			assert.equal(numbers[`Wait: ${wait}`], milliseconds(slowest.wait_ns[wait]));
		assert.equal(numbers.Events, count(slowest.events));
		const zones = slowest.threads.flatMap((thread) => thread.zones);
		assert.ok(zones.length > 0, 'the slowest frame has zones');
		const rows = await tableOf(page, 'zones-table');
		assert.deepEqual(rows.map((row) => [row[1], row[2], row[3]]), zones.map((zone) =>
			[zone.name, duration(zone.start_ns - slowest.begin_ns), duration(zone.duration_ns)]));
		await page.click('#zones-table > summary');
		await page.evaluate(() => scrollTo(0, 0));
		await shot('slowest-frame');
		await shot('whole-page', { fullPage: true });
	});

	await t.test('keys step, zoom, hold and clear; the address holds the view', { skip: noDoom }, async () => {
		const from = Number((await hashOf(page)).get('frame'));
		const waitFrame = (frame) => page.waitForFunction((n) =>
			new URLSearchParams(location.hash.slice(1)).get('frame') === String(n), frame);
		await world.settled();
		await page.locator('#strip').focus();
		await page.keyboard.press('[');
		await waitFrame(from - 1);
		await page.keyboard.press(']');
		await waitFrame(from);
		await page.keyboard.press('ArrowLeft');
		await waitFrame(from - 1);
		await page.keyboard.press('Shift+ArrowRight');
		assert.equal((await hashOf(page)).get('range'), `${from - 1}-${from}`);
		await page.keyboard.press('w');
		await page.waitForFunction(() => location.hash.includes('zoom='));
		const address = page.url();
		await page.keyboard.press('f');
		await page.waitForFunction(() => !location.hash.includes('zoom='));
		await page.keyboard.press('Escape');
		assert.equal((await hashOf(page)).get('range'), null);
		await page.goto('about:blank');
		await page.goto(address);
		await page.waitForFunction((frame) => document.querySelector('#card-frame dd').textContent === frame, count(from - 1));
		assert.equal(page.url(), address);
		assert.match(await text('#range-title'), new RegExp(`^Range ${count(from - 1)} to ${count(from)}$`));
	});

	await t.test('an address of a session that is not here says so, and shows no other', async () => {
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=999&frame=3`);
		await page.waitForFunction(() => document.getElementById('frames-note').textContent.startsWith('Session 999 is not here'));
		assert.equal(await text('#session option:checked'), 'session 999 is not here');
		assert.equal(await text('#kept'), '–');
		await shot('no-such-session');
		assert.deepEqual(faults.splice(0).filter((fault) => !/404/.test(fault)), []);
	});

	await t.test('a session with no frames but those of a named stream shows these', async () => {
		const game = world.spawn(await world.compile(path.join(ROOT, 'tests/browser/named.c')), []);
		await game.done;
		const { id } = await world.ended(game.pid);
		await page.waitForFunction((value) => [...document.querySelectorAll('#session option')].some((one) => one.value === value), String(id));
		await page.selectOption('#session', String(id));
		await page.waitForFunction(() => /^Frames 1 to 5\./.test(document.getElementById('frames-note').textContent));
		assert.equal(await text('#stream option:checked'), 'tick');
		assert.equal(await page.locator('#stream-label').isVisible(), true);
		await page.waitForFunction(() => document.getElementById('timeline-note').textContent.startsWith('Frame '));
		await shot('named-stream');
	});

	await t.test('the whole page is at most 150 KB', async () => {
		await page.goto('about:blank');
		await page.goto(world.url);
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
		const parts = await page.evaluate(() => ['/', ...performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname)]);
		const names = [...new Set(parts)].filter((name) => !name.startsWith('/api/'));
		const answers = await Promise.all(names.map((name) => world.get(name, { headers: { 'accept-encoding': 'gzip' } })));
		assert.ok(names.includes('/main.js') && names.includes('/vendor/uPlot.js') && answers.every(({ status }) => status === 200), `${names}`);
		const sum = answers.reduce((total, { bytes }) => total + bytes.length, 0);
		assert.ok(sum <= 150_000, `${sum} bytes`);
	});

	await t.test('the help lists every key of the table', async () => {
		await page.keyboard.press('?');
		assert.equal(await page.locator('#help').isVisible(), true);
		assert.equal(await page.locator('#help tbody tr').count(), KEYS.length);
		for (const what of ['Flame: who calls a zone', 'Zones: on a row, where it is in the source', 'SQL: run the statement'])
			assert.equal(await page.locator('#help tbody tr', { hasText: what }).count(), 1, what);
		await page.keyboard.press('Escape');
		assert.equal(await page.locator('#help').isVisible(), false);
	});

	const hostile = await world.startGame(path.join(ROOT, 'tests/browser/hostile.c'));
	await t.test('a live game is followed, and a selection is not stolen', async () => {
		const live = await until('the game is live', async () =>
			(await world.api('/sessions')).sessions.find((one) => one.state === 'live' && one.frames_total > 20));
		await page.waitForFunction((id) => [...document.querySelectorAll('#session option')].some((one) => one.value === id), String(live.id));
		await page.selectOption('#session', String(live.id));
		await page.waitForFunction(() => document.getElementById('hold').textContent === 'Following newest');
		const newest = () => page.evaluate(() => Number(document.getElementById('strip').getAttribute('aria-valuemax')));
		await until('frames up to the middle of the strip', async () => Number((await text('#frames-note')).match(/ to ([\d,]+)\./)?.[1].replaceAll(',', '')) > 350);
		// the frames move on below a button that is held
		const { x, y, width } = await page.locator('#strip').boundingBox();
		for (const held of [0, 60, 120]) {
			await page.mouse.move(x + width / 2, y + 60);
			await page.mouse.down();
			await page.waitForTimeout(held);
			await page.mouse.move(x + width / 2 + 1, y + 60);
			await page.mouse.up();
			await page.waitForFunction(() => location.hash.includes('frame='));
			assert.equal((await hashOf(page)).get('range'), null, `held for ${held} ms`);
			await page.keyboard.press('Escape');
			await page.waitForFunction(() => !location.hash.includes('frame='));
		}
		// nothing is selected: the timeline goes on too, and does not move about what is around it
		await page.waitForFunction(() => document.getElementById('timeline-note').textContent.includes('another each second'));
		const noted = await text('#timeline-note');
		assert.deepEqual(await page.evaluate(() => new Promise((done) => {
			/** @type {any[]} */
			const moved = [];
			new PerformanceObserver((list) => moved.push(...list.getEntries().filter((one) => !(/** @type {any} */ (one).hadRecentInput)).map((one) =>
				/** @type {any} */ (one).sources.map((/** @type {any} */ { node }) => `${node?.nodeName}#${node?.id}.${node?.className}`)))).observe({ type: 'layout-shift' });
			setTimeout(() => done(moved), 4000);
		})), [], 'nothing jumps');
		assert.notEqual(await text('#timeline-note'), noted);
		await page.click('#timeline', { position: { x: 300, y: 60 } });
		const kept = (await hashOf(page)).get('frame');
		assert.ok((await text('#timeline-note')).startsWith(`Frame ${count(Number(kept))}, `), 'a click keeps the frame that is shown');
		await page.keyboard.press('Escape');
		await page.locator('#strip').focus();
		await page.keyboard.press('End');
		await page.waitForFunction(() => location.hash.includes('frame='));
		const frame = (await hashOf(page)).get('frame');
		await page.waitForFunction(() => document.getElementById('timeline-note').textContent.startsWith('Frame '));
		const before = await numbersOf(page, 'card-frame');
		await until('600 frames and 50 more', async () => (await newest()) > Math.max(600, Number(frame)) + 50);
		assert.equal((await hashOf(page)).get('frame'), frame);
		assert.deepEqual(await numbersOf(page, 'card-frame'), before);
		await page.keyboard.press('Space');
		await page.waitForFunction(() => document.getElementById('hold').getAttribute('aria-pressed') === 'true');
		const held = await newest();
		const total = (await world.api(`/sessions/${live.id}`)).frames_total;
		await until('more frames', async () => (await world.api(`/sessions/${live.id}`)).frames_total > total + 20);
		assert.equal(await newest(), held);
		await page.keyboard.press('Space');
	});

	await t.test('names that are markup are shown and do nothing', async () => {
		const rows = await tableOf(page, 'zones-table');
		assert.ok(rows.some((row) => row[1] === '<img src=x onerror="document.title=\'broken\'">'), JSON.stringify(rows));
		assert.ok(rows.some((row) => row[0].startsWith('<b>main</b>')));
		assert.match(await text('#messages'), /<a href="javascript:0">message<\/a>/);
		assert.match(await text('#counters'), /<u>counter<\/u>/);
		await page.click('#tab-diagnostics');
		await page.waitForFunction(() => document.getElementById('session-facts').textContent.includes('<i>key</i>'));
		await page.locator('#strip').focus();
		await page.keyboard.press('Escape');
		for (const { name } of TABS) {
			await page.click(`#tab-${name}`);
			await page.waitForSelector(`#panel-${name}:not([hidden])`);
			if (name === 'tables' || name === 'counters')
				await page.waitForFunction((at) => /<(img|u>)/.test(document.getElementById(`panel-${at}`).textContent), name);
		}
		assert.equal(await page.title(), 'fprof');
		assert.equal(await page.locator('img, svg, main b, main u, main i, main a[href^=javascript], body script').count(), 0);
		await shot('hostile-names', { fullPage: true });
		await page.click('#tab-timeline');
	});

	await t.test('axe finds nothing, in light, dark and forced colours', async () => {
		await page.click('#frames-table > summary');
		await page.fill('#frames-table input', await text('#card-frame dd >> nth=0'));
		for (const [at, media] of COLOURS.entries()) {
			await page.emulateMedia(media);
			await page.evaluate(() => scrollTo(0, 0));
			await shot(`view-${Object.values(media)[0]}`);
			assert.deepEqual(await axe(page, undefined, at > 0 && RULES_OF_COLOUR), []);
		}
		await page.emulateMedia({ forcedColors: 'none', colorScheme: 'light' });
		assert.deepEqual(faults, []);
	});

	await t.test('a daemon that goes is missed, and found again', async () => {
		await world.stopDaemon();
		await page.waitForFunction(() => document.getElementById('connection').textContent === '✖ disconnected');
		assert.match(await text('#trouble'), /does not answer/);
		await shot('disconnected');
		await world.restartDaemon();
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
		await until('the game is recorded again', async () =>
			(await world.api('/sessions')).sessions.some((one) => one.state === 'live'));
		// 409: the page wants to hold the session, whose game is not back yet.
		const other = faults.filter((fault) => !/status of 409|net::ERR_(CONNECTION_REFUSED|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE)/.test(fault));
		assert.deepEqual(other, []);
	});
	hostile.stdin.end();
	await hostile.done;

	await t.test('what was open when a game was killed is shown', async () => {
		const game = world.spawn(await world.compile(path.join(ROOT, 'tests/api/dies.c')), ['3']);
		await until('the game hangs', () => game.text.includes('stuck'));
		game.kill('SIGKILL');
		const { id } = await world.ended(game.pid);
		const orderly = await world.ended(hostile.pid);
		const choose = async (session) => {
			await page.waitForFunction((value) => [...document.querySelectorAll('#session option')].some((one) => one.value === value), String(session));
			await page.selectOption('#session', String(session));
		};
		await choose(id);
		await page.waitForSelector('#card-open:not([hidden])');
		const open = Object.entries(await numbersOf(page, 'open-list'));
		assert.deepEqual(open.map(([thread, names]) => [thread.replace(/ \(\d+\)$/, ''), names]),
			[['main', 'frame › render › wait for the loader'], ['loader', 'load level › read file › decompress']]);
		await shot('open-at-the-end');
		assert.deepEqual(await axe(page), []);
		await choose(orderly.id);
		await page.waitForFunction(() => document.getElementById('card-open').hidden);
	});
});
