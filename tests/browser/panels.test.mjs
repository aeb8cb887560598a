// SPDX-License-Identifier: MIT
// The panels of the page over a saved range and a live game: their numbers are the API's, what is pressed is done, axe
// finds nothing. The steps build on each other.

import assert from 'node:assert/strict';
import test from 'node:test';

import { bytes, count, duration, milliseconds, percent } from '../../web/format.js';
import { HOLDERS } from '../../web/palette.js';
import { heldBy } from '../../web/verdict_text.js';
import { TABS } from '../../web/view.js';
import { until } from '../api/world.mjs';
import { axe, COLOURS, missing, PageWorld, RULES_OF_COLOUR } from './browser.mjs';

const HITCH = 120;

/** The cells of the table in a panel, by row. */
const cellsOf = (page, selector) => page.evaluate((at) => [...document.querySelectorAll(`${at} tbody tr`)]
	.map((row) => [...row.children].map((cell) => cell.textContent)), selector);

/** In the page: does a canvas have pixels of the style sheet's colour of lines? */
function gridIn(selector) {
	const at = document.querySelector(selector);
	const copy = new OffscreenCanvas(at.width, at.height).getContext('2d', { willReadFrequently: true });
	copy.drawImage(at, 0, 0);
	const { data } = copy.getImageData(0, 0, at.width, at.height);
	const wanted = parseInt(getComputedStyle(document.documentElement).getPropertyValue('--line').trim().slice(1), 16);
	for (let i = 0; i < data.length; i += 4) {
		if (data[i + 3] === 255 && ((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]) === wanted)
			return true;
	}
	return false;
}

test('the panels', { skip: missing('game'), timeout: 900_000 }, async (t) => {
	const { chromium } = await import('playwright-core');
	const world = new PageWorld();
	t.after(() => world.close());
	await world.startDaemon();
	const game = world.game(['--frames', '260', '--fps', '120', '--zones', '200', '--hitch-every', `${HITCH}`, '--hitch-ms', '40']);
	await game.done;
	const session = await world.ended(game.pid);
	await world.openBrowser(chromium);
	const { page, faults } = world;
	const open = async (hash) => {
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${session.id}&${hash}`);
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
	};
	const noted = (id, text) => page.waitForFunction(([at, wanted]) => document.querySelector(at)?.textContent.includes(wanted), [id, text]);

	await t.test('a key opens each panel, and the address holds it', async () => {
		await open('range=20-200');
		for (const [at, { name }] of TABS.entries()) {
			await page.keyboard.press(`${at + 1}`);
			await page.waitForSelector(`#panel-${name}:not([hidden])`);
			assert.equal(new URLSearchParams(new URL(page.url()).hash.slice(1)).get('tab'), name);
			assert.equal(await page.locator('[role=tabpanel]:visible').count(), 1);
		}
	});

	await t.test('the verdict is the daemon\'s', async () => {
		await open('range=20-200');
		const verdict = await world.api(`/sessions/${session.id}/verdict?from=20&to=200`);
		await noted('#verdict-title', `Bound by ${verdict.bound_by}`);
		assert.equal(await page.textContent('#verdict-sentence'), verdict.sentence);
		await noted('#verdict-note', `${verdict.frames_judged} frames judged`);
		const [frame] = verdict.frames.filter((one) => one.frame === HITCH);
		await open(`frame=${HITCH}`);
		await noted('#verdict-sentence', frame.sentence);
	});

	await t.test('the table of zones is the API\'s, sorted as asked, and a zone has a history', async () => {
		await open('range=20-200&tab=tables&tables.view=flat');
		const wanted = await world.api(`/sessions/${session.id}/zones?view=flat&from=20&to=200&sort=self&order=desc`);
		await page.click('#panel-tables th button:has-text("Self")');
		await page.waitForFunction((n) => document.querySelectorAll('#panel-tables .table-box tbody tr').length >= n, wanted.zones.length);
		await page.waitForSelector('#panel-tables th[aria-sort=descending] button:has-text("Self")');
		const rows = await cellsOf(page, '#panel-tables > .table-box');
		assert.deepEqual(rows.map((row) => [row[0], row[3], row[4], row[5]]), wanted.zones.map((zone) =>
			[zone.name, duration(zone.total_ns), duration(zone.self_ns), count(zone.calls)]));
		await page.click('#panel-tables .table-box button.link:text-is("simulate")');
		const stats = await world.api(`/sessions/${session.id}/stats?metric=zone:simulate&values=yes&frames=all&from=1&to=260`);
		await noted('.zone-history', `worst ${duration(stats.metrics[0].worst_ns)}`);
		await page.click('.zone-history summary');
		await page.waitForFunction(() => document.querySelectorAll('.zone-history details tbody tr').length > 100);
		const values = await cellsOf(page, '.zone-history details');
		assert.deepEqual(values, stats.metrics[0].values.map(([frame, ns]) => [count(frame), duration(ns)]));
	});

	await t.test('the history of a row of the tree is that of its path on its thread, and the address holds it', async () => {
		await open('range=20-200&tab=tables');
		const { zones } = await world.api(`/sessions/${session.id}/zones?view=tree&from=20&to=200`);
		const [row] = zones.filter((zone) => zone.name === 'work' && zone.thread_name === 'render');
		const title = `${row.path.join(' › ')}, on render`;
		await page.click('#panel-tables > .table-box tr:has(td:text-is("render")) button.link:text-is("work")');
		await page.waitForFunction((wanted) => document.querySelector('.zone-history h2').textContent === wanted, title);
		await page.reload();
		await page.click('.zone-history summary');
		const asked = `metric=path&thread=${row.thread}&${row.path.map((name) => `path=${name}`).join('&')}&values=yes&frames=all&from=1&to=260`;
		const [path] = (await world.api(`/sessions/${session.id}/stats?${asked}`)).metrics;
		const [name] = (await world.api(`/sessions/${session.id}/stats?metric=zone:work&frames=all&from=1&to=260`)).metrics;
		assert.ok(path.worst_ns < name.worst_ns, 'others of the name take more');
		await page.waitForFunction(() => document.querySelectorAll('.zone-history details tbody tr').length > 100);
		assert.deepEqual(await cellsOf(page, '.zone-history details'), path.values.map(([frame, ns]) => [count(frame), duration(ns)]));
		assert.equal(await page.textContent('.zone-history h2'), title);
	});

	await t.test('a filter leaves what else could be chosen, and bars tell their scale', async () => {
		const options = (label) => page.evaluate((wanted) => [...[...document.querySelectorAll('#panel-tables label')]
			.find((one) => one.firstChild.textContent.startsWith(wanted)).querySelectorAll('option')].map((one) => one.textContent), label);
		const { categories } = await world.api(`/sessions/${session.id}/detail`);
		const names = ['all', ...categories.map((one) => one.category).sort()];
		assert.ok(names.length > 2);
		await open(`range=20-200&tab=tables&tables.category=${names[1]}`);
		await until('all categories are there', async () => (await options('Category')).join() === names.join());
		assert.equal(await page.locator('#panel-tables .fields').getByLabel('Category').inputValue(), names[1]);
		const threads = await options('Thread');
		await page.locator('#panel-tables .fields').getByLabel('Thread').selectOption({ label: 'render' });
		await world.settled();
		assert.ok(threads.length > 3);
		assert.deepEqual(await options('Thread'), threads);
		assert.equal(await page.textContent('#panel-tables th .scale'), '255075100');
	});

	await t.test('the table of frames has what the strip shows', async () => {
		const [{ frames }, { values }, verdict] = await Promise.all(['frames?last=600', 'counters/draw_calls?last=600', 'verdict?from=1&to=260']
			.map((path) => world.api(`/sessions/${session.id}/${path}`)));
		await open('strip.counter=draw_calls');
		await world.settled();
		await page.click('#frames-table > summary');
		const heads = await page.evaluate(() => [...document.querySelectorAll('#frames-table th')].map((one) => one.textContent));
		const column = (rows, name) => rows.map((row) => row[heads.indexOf(name)]);
		const rows = (await cellsOf(page, '#frames-table')).reverse();
		assert.deepEqual(column(rows, 'Frame'), frames.map((one) => count(one.frame)));
		const share = (ns, { wall_ns: wall }) => (ns === null || !wall ? null : Math.min(100, (ns / wall) * 100));
		assert.deepEqual(column(rows, 'Cpu used ≤'), frames.map((one) => percent(share(one.cpu_ns, one))));
		assert.deepEqual(column(rows, 'Gpu used'), frames.map((one) => percent(share(one.gpu_ns, one))));
		const [hitch] = frames.filter((one) => one.frame === HITCH);
		assert.equal(column(rows, 'Headroom ≥')[HITCH - 1], percent(100 - Math.max(share(hitch.cpu_ns, hitch), share(hitch.gpu_ns, hitch) ?? 0)));
		const counted = new Map(values.map((one) => [one.frame, count(one.value)]));
		assert.deepEqual(column(rows, 'draw_calls'), frames.map((one) => counted.get(one.frame) ?? '–'));
		const stack = heldBy(verdict.frames.find((one) => one.frame === HITCH));
		const most = HOLDERS[stack.indexOf(Math.max(...stack))].label;
		assert.ok(column(rows, 'Held by')[HITCH - 1].startsWith(`${most} ${duration(Math.max(...stack))}`), column(rows, 'Held by')[HITCH - 1]);
		await page.click('#frames-table > summary');
	});

	await t.test('the scheduler\'s states have a table', async () => {
		await open(`frame=${HITCH}`);
		await page.click('#states-table > summary');
		const { threads, left_out: out } = await world.api(`/sessions/${session.id}/schedule?from=${HITCH}&to=${HITCH}`);
		const wanted = threads.flatMap((thread) => thread.intervals.map((one, at) => {
			const next = thread.intervals[at + 1]?.by;
			return [one.state, duration(one.duration_ns), Boolean(one.state === 'blocked' ? next?.did === 'woke' : one.by)];
		}));
		if (wanted.length)
			await page.waitForFunction((n) => document.querySelector('#states-table .table-foot').textContent.startsWith(n), count(wanted.length));
		else
			await noted('#states-table tbody', 'told nothing');
		const rows = (await cellsOf(page, '#states-table')).filter((row) => row.length > 1);
		assert.deepEqual(rows.map((row) => [row[2], row[4], row[5] !== '']), wanted.slice(0, 500));
		assert.equal(out, 0);
	});

	await t.test('a row says where it is and what its threads did, as the API has it', async () => {
		const query = 'view=flat&from=20&to=200&sort=total&order=desc';
		const { zones } = await world.api(`/sessions/${session.id}/zones?${query}`);
		const scheduler = (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
		await open('range=20-200&tab=tables&tables.view=flat&tables.columns=on_cpu,runnable,blocked');
		await page.waitForFunction((n) => document.querySelectorAll('#panel-tables > .table-box tbody tr').length === n, zones.length);
		const text = (ns) => (ns === null ? '–' : duration(ns));
		assert.deepEqual((await cellsOf(page, '#panel-tables > .table-box')).map((row) => [row[0], ...row.slice(3)]),
			zones.map((zone) => [zone.name, text(zone.on_cpu_ns), text(zone.runnable_ns), text(zone.blocked_ns)]));
		if (scheduler.state === 'on')
			assert.ok(zones.some((zone) => zone.on_cpu_ns > 0), 'the scheduler tells of threads');
		await page.dblclick(`#panel-tables > .table-box tr:has(button:text-is("simulate")) td:nth-child(2)`);
		const { file, line } = zones.find((zone) => zone.name === 'simulate');
		await noted('#panel-tables [role=status]', `simulate: ${file}:${line}. `);
	});

	await t.test('the flame is as wide as the tree says', async () => {
		await open('range=20-200&tab=flame');
		const { zones } = await world.api(`/sessions/${session.id}/zones?view=tree&from=20&to=200&limit=100000`);
		const main = zones.filter((zone) => zone.thread === zones[0].thread);
		await page.click('#panel-flame summary');
		await page.waitForFunction((n) => document.querySelectorAll('#panel-flame tbody tr').length === n, main.length + 1);
		const rows = await cellsOf(page, '#panel-flame');
		const sum = main.filter((zone) => zone.depth === 0).reduce((total, zone) => total + zone.total_ns, 0);
		assert.deepEqual(rows[0].slice(0, 2), [main[0].thread_name, duration(sum)]);
		assert.deepEqual(rows.slice(1).map((row) => row[0]).sort(), main.map((zone) => zone.name).sort());
		const simulate = main.find((zone) => zone.name === 'simulate');
		await page.click('#panel-flame button.link:text-is("simulate")');
		await noted('#panel-flame [role=status]', `In simulate: ${duration(simulate.total_ns)}.`);
		await page.reload();
		await noted('#panel-flame [role=status]', `In simulate: ${duration(simulate.total_ns)}.`);
		await page.click('#panel-flame button:text-is("Whole flame")');
		await noted('#panel-flame [role=status]', 'A click goes into a box');
		const [first, second] = main.filter((zone) => zone.depth === 0).sort((a, b) => b.total_ns - a.total_ns);
		await page.locator('#panel-flame canvas').scrollIntoViewIfNeeded();
		const { x, y, width } = await page.locator('#panel-flame canvas').boundingBox();
		await page.mouse.move(x + ((first.total_ns + second.total_ns / 2) / sum) * width, y + 28);
		for (const clickCount of [1, 2]) { // so slowly that what the first does is drawn
			await page.mouse.down({ clickCount });
			await page.mouse.up({ clickCount });
			await noted('#panel-flame [role=status]', clickCount < 2 ? `In ${second.name}:` : '');
		}
		await page.waitForFunction(() => location.hash.includes('flame.view=sandwich'));
		const parts = new URLSearchParams(new URL(page.url()).hash.slice(1));
		assert.equal(parts.get('flame.name'), second.name);
		assert.deepEqual(JSON.parse(parts.get('flame.in')), [true, [second.name, main[0].thread_name]]);
	});

	await t.test('counters are listed with their values, and one lies over the strip', async () => {
		await open('tab=counters');
		const { modules } = await world.api(`/sessions/${session.id}/counters`);
		const wanted = modules.flatMap((module) => module.counters);
		await page.waitForFunction((n) => document.querySelectorAll('#panel-counters .counter canvas').length === n, wanted.length); // what comes moves what is below
		await page.click('#panel-counters summary');
		await page.waitForFunction((n) => document.querySelectorAll('#panel-counters details > div > .table-box tbody tr').length === n, wanted.length);
		const rows = await cellsOf(page, '#panel-counters details > div > .table-box');
		assert.deepEqual(rows.map((row) => row[1]), wanted.map((one) => one.name));
		const resident = wanted.find((one) => one.name === 'resident_bytes');
		if (resident)
			assert.equal(rows.find((row) => row[1] === 'resident_bytes')[2], bytes(resident.value));
		for (const [name, text] of [['draw_calls', ([, value]) => count(value)], ['resident_bytes', ([, value]) => bytes(value)]].filter(([one]) => wanted.some((other) => other.name === one))) {
			await page.click(`#panel-counters details button.link:text-is("${name}")`);
			await page.waitForFunction((of) => document.querySelector('#panel-counters details h3').textContent.startsWith(of), name);
			const { values } = (await world.api(`/sessions/${session.id}/counters?values=yes`)).modules.flatMap((module) => module.counters).find((one) => one.name === name);
			assert.deepEqual((await cellsOf(page, '#panel-counters details h3 + .table-box')).map((row) => row[1]), values.map(text).reverse().slice(0, 500));
		}
		await page.click('#panel-counters .counter button:text-is("draw_calls")');
		await noted('#panel-counters [role=status]', 'draw_calls lies over the strip');
	});

	await t.test('a file that is dropped on the page is opened', async () => {
		await open('tab=timeline');
		const trace = JSON.stringify({ traceEvents: [
			{ ph: 'X', pid: 1, tid: 1, ts: 0, dur: 4000, name: 'dropped zone' },
			{ ph: 'I', pid: 1, tid: 1, ts: 5000, name: 'frame', s: 'g' },
		] });
		const drop = await page.evaluateHandle((content) => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([content], 'dropped.json', { type: 'application/json' }));
			return transfer;
		}, trace);
		await page.dispatchEvent('#strip', 'drop', { dataTransfer: drop });
		await noted('#actions [role=status]', 'dropped.json is session ');
		const { sessions } = await world.api('/sessions');
		const opened = sessions.find((one) => one.name === 'dropped');
		await page.waitForFunction((id) => document.getElementById('session').value === id, String(opened.id));
		await page.selectOption('#session', String(session.id));
		await page.waitForFunction(() => !document.querySelector('#actions [role=status]').textContent.includes('is session')); // that was said of the other
	});

	await t.test('two ranges are compared as the API does', async () => {
		const [a, b] = [`${session.id}:20-110`, `${session.id}:121-239`];
		await open(`tab=compare&compare.a=${a}&compare.b=${b}`);
		const diff = await world.api(`/diff?a=${a}&b=${b}`);
		await page.waitForFunction((n) => document.querySelectorAll('#panel-compare .table-box:first-of-type tbody tr').length >= n, diff.budget.length);
		const rows = await cellsOf(page, '#panel-compare .table-box:first-of-type');
		assert.deepEqual(rows.slice(0, diff.budget.length).map((row) => row.slice(0, 3)), diff.budget.map((part) =>
			[part.part.replaceAll('_', ' '), milliseconds(part.a_ns), milliseconds(part.b_ns)]));
	});

	await t.test('a range is saved from the bar, shown, and is the same', async () => {
		await open('range=1-260'); // the frames around tell what is usual
		await page.click('#actions button:text-is("Save")');
		await page.waitForFunction(() => /^Saved as session \d+: 260 frames\.$/.test(document.querySelector('#actions [role=status]').textContent));
		const id = /session (\d+)/.exec(await page.textContent('#actions [role=status]'))[1];
		const [left, right] = await Promise.all([session.id, id].map((one) => world.api(`/sessions/${one}/verdict?from=60&to=140`)));
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${id}&range=60-140`);
		await noted('#verdict-sentence', left.sentence);
		assert.equal(right.sentence, left.sentence);
	});

	await t.test('SQL is asked, told and refused', async () => {
		await open('tab=sql');
		await page.fill('#panel-sql textarea', 'SELECT count(*) AS n, max(frame) AS last FROM frame_times');
		await page.keyboard.press('Control+Enter');
		await page.waitForSelector('#panel-sql tbody td.number');
		assert.deepEqual(await cellsOf(page, '#panel-sql'), [['260', '260']]);
		await page.fill('#panel-sql textarea', 'DELETE FROM frames');
		await page.click('#panel-sql button:has-text("Run")');
		await page.waitForFunction(() => /only|read|not/i.test(document.querySelector('#panel-sql [role=status]').textContent));
		faults.splice(0, faults.length, ...faults.filter((fault) => !/status of 4\d\d/.test(fault)));
	});

	const live = world.game(['--frames', '100000', '--fps', '100', '--zones', '50', '--hitch-every', `${HITCH}`, '--hitch-ms', '40']);
	await t.test('a trigger that is set fires, and its spike shows and opens', async () => {
		const { id } = await until('the game is live', async () => (await world.api('/sessions')).sessions.find((one) => one.pid === live.pid && one.frames_total > 50));
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${id}&tab=spikes`);
		await page.click('#actions summary:has-text("Trigger")');
		await page.fill('#actions input[type=number]', '30');
		await page.click('#actions button:text-is("Set")');
		await until('it is in force', async () => (await world.api(`/sessions/${id}/triggers`)).some((one) => one.above_ms === 30));
		await until('a spike is saved', async () => (await world.api(`/sessions/${id}/spikes`)).spikes.some((one) => one.state === 'saved'));
		await page.waitForSelector('#panel-spikes li button:text-is("Open")');
		const [spike] = (await world.api(`/sessions/${id}/spikes`)).spikes.filter((one) => one.state === 'saved');
		await noted('#panel-spikes', `frame ${count(spike.reason.frame)}`);
		await page.click('#frames-table > summary');
		await page.waitForFunction(() => [...document.querySelectorAll('#frames-table tbody tr')].some((row) => row.textContent.includes('spike: ')));
		await page.click('#frames-table > summary');
	});

	await t.test('the plots of rows have the known history at once, and stay with their paths when a row comes and goes', async () => {
		const { id } = await until('some seconds of it', async () => {
			const one = await world.api('/sessions/current');
			return one.retained.last - one.retained.first > 400 && one;
		});
		let gone = false;
		await page.route(/\/zones\?view=tree/, async (route) => {
			const answer = await route.fetch();
			const body = await answer.json();
			if (gone && !route.request().url().includes('per=frame'))
				body.zones.filter((row) => row.name === 'simulate').forEach((row) => Object.assign(row, { calls: 0, total_ns: 0 }));
			await route.fulfill({ response: answer, json: body });
		});
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${id}&tab=tables`);
		const plotted = () => page.evaluate(() => {
			const canvas = document.querySelector('#panel-tables tr:has(button[title^="simulate"]) canvas.path-plot');
			if (!canvas || !/^The longest.*at most/.test(canvas.title))
				return 0;
			const { data, width } = canvas.getContext('2d').getImageData(0, canvas.height - 1, canvas.width, 1);
			return Array.from({ length: 24 }, (_, at) => data[4 * Math.floor((at * width) / 24) + 3]).filter((alpha) => alpha > 0).length;
		});
		assert.ok(await until('a plot is drawn', plotted) >= 6);
		gone = true;
		await page.waitForSelector('#panel-tables tr:has(button[title^="simulate"])', { state: 'detached' });
		await noted('#panel-tables [role=status]', '1 row without a call left out');
		gone = false;
		assert.ok(await until('the row is there again', plotted) >= 6);
		await page.unroute(/\/zones\?view=tree/);
	});

	await t.test('a level of detail is set on a row, told of apart, and taken away without the row', async () => {
		const { id } = await world.api('/sessions/current');
		const levels = async () => (await world.api(`/sessions/${id}/detail`)).levels.map((one) => [one.path.join(), one.own]);
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${id}&tab=tables`);
		const select = '#panel-tables tr:has(button:text-is("simulate")) select.level';
		await page.waitForSelector(select);
		assert.equal(await page.locator(`${select} option:checked`).textContent(), '2 inherited');
		await page.selectOption(select, '1');
		await until('it is ordered', async () => (await levels()).length === 1);
		assert.deepEqual(await levels(), [['main,frame,simulate', 1]]);
		await noted('#panel-tables .set-levels', 'main › frame › simulate: 1');
		await page.waitForSelector(`${select}.own`);
		await page.fill('#panel-tables input[type=search]', 'no zone of this name');
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => /^No zone/.test(document.querySelector('#panel-tables > .table-box tbody').textContent));
		await page.click('#panel-tables .set-levels button');
		await until('it is taken away', async () => (await levels()).length === 0);
		await page.waitForSelector('#panel-tables .set-levels', { state: 'hidden' });
	});

	await t.test('the rings are those of the threads that write, as full as the API says', async () => {
		const { id } = await world.api('/sessions/current');
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${id}&tab=diagnostics`);
		await page.waitForSelector('#ring-list tbody tr:nth-child(4)');
		await until('each has the name and a number that the API has, or had', async () => {
			const before = await world.api(`/sessions/${id}/threads`);
			const rows = await cellsOf(page, '#ring-list');
			const writing = before.threads.filter((one) => one.ring_fill_max !== null);
			assert.deepEqual(rows.map(([name]) => name).sort(), writing.map((one) => one.name).sort());
			return rows.some(([name, fill]) => writing.some((one) => one.name === name && one.ring_fill_max > 0 && percent(one.ring_fill_max * 100) === fill));
		});
	});

	await t.test('recording is frozen and goes on from the bar', async () => {
		const state = async () => (await world.api('/sessions/current/recording')).state;
		await page.click('#actions button:has-text("Freeze")');
		await until('it is frozen', async () => await state() === 'frozen');
		await page.click('#actions button:has-text("Record")');
		await until('it records', async () => await state() === 'recording');
	});

	await t.test('axe finds nothing in any panel, in light, dark and forced colours', async () => {
		live.kill('SIGTERM');
		await live.done;
		await open(`frame=${HITCH}&compare.a=${session.id}:20-110&compare.b=${session.id}:121-239`);
		await noted('#verdict-title', 'Bound by');
		for (const [tab, { name }] of TABS.entries()) {
			await page.keyboard.press(`${tab + 1}`);
			await page.waitForSelector(`#panel-${name}:not([hidden])`);
			if (name === 'sql') {
				await page.click('#panel-sql button:has-text("Run")');
				await page.waitForSelector('#panel-sql tbody td.number');
			}
			await world.settled();
			for (const [at, media] of COLOURS.entries()) {
				await page.emulateMedia(media);
				if (name === 'compare' && media.colorScheme)
					await page.waitForFunction(gridIn, '#panel-compare .plot canvas');
				if (media.colorScheme)
					await world.shot(`${name}-${media.colorScheme}`);
				// what is around the panels is the same around each
				assert.deepEqual(await axe(page, name === TABS[0].name ? 'html' : `#panel-${name}`, at > 0 && RULES_OF_COLOUR), [],
					`${name}, ${Object.values(media)[0]}`);
			}
			await page.emulateMedia({ colorScheme: null, forcedColors: null });
		}
		assert.deepEqual(faults, []);
	});
});
