// SPDX-License-Identifier: MIT
// What the page is for, done with the keyboard alone: find the slowest frame and the zone to blame, compare two builds, find
// who held the lock, save, reopen and get the same. What it shows is held against the API and against what the games do.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { count, duration, milliseconds, percent } from '../../web/format.js';
import { ROOT, until } from '../api/world.mjs';
import { missing, PageWorld } from './browser.mjs';

const HITCH = 120;

test('tasks, by keyboard', { skip: missing('game'), timeout: 300_000 }, async (t) => {
	const { chromium } = await import('playwright-core');
	const world = new PageWorld();
	t.after(() => world.close());
	await world.startDaemon();
	const [session, build] = await Promise.all([200, 4000].map((zones) =>
		world.played(['--frames', '260', '--fps', '120', '--zones', `${zones}`, '--hitch-every', `${HITCH}`, '--hitch-ms', '40'])));
	await world.openBrowser(chromium);
	const { page, faults } = world;
	const at = `/sessions/${session.id}`;
	const open = async (hash) => {
		await page.goto('about:blank');
		await page.goto(`${world.url}/#${hash}`);
		await page.waitForFunction(() => document.getElementById('connection').textContent === '● connected');
	};
	const noted = (selector, text) => page.waitForFunction(([where, wanted]) => document.querySelector(where)?.textContent.includes(wanted), [selector, text]);
	const lines = (id) => page.evaluate((list) => [...document.querySelectorAll(`#${list} li`)].map((line) => [...line.children].map((part) => part.textContent)).filter(([name]) => name), id);
	const numbers = (id) => page.evaluate((list) => Object.fromEntries([...document.querySelectorAll(`#${list} dt`)].map((term) => [term.textContent, term.nextElementSibling.textContent])), id);

	/** Goes on with Tab until this has the focus. */
	const tabTo = async (selector, text = '') => {
		for (let n = 0; n < 150; n++) {
			if (await page.evaluate(([where, wanted]) => document.activeElement?.matches(where) && (!wanted || document.activeElement.textContent === wanted), [selector, text]))
				return;
			await page.keyboard.press('Tab');
		}
		assert.fail(`Tab does not come to ${selector}`);
	};

	await t.test('the slowest frame, and the zone to blame', async () => {
		const { frames } = await world.api(`${at}/frames?last=600`);
		const slowest = frames.filter((one) => !one.flags.includes('startup')).reduce((a, b) => (b.wall_ns > a.wall_ns ? b : a));
		const { zones } = await world.api(`${at}/zones?view=flat&sort=self&order=desc&from=${slowest.frame}&to=${slowest.frame}&frames=all`);
		await open(`session=${session.id}`);
		await noted('#frames-note', 'Frames 1 to 260');
		await page.keyboard.press('Escape');
		await page.keyboard.press('x');
		await page.waitForFunction((frame) => new URLSearchParams(location.hash.slice(1)).get('frame') === String(frame), slowest.frame);
		const wanted = zones.filter((row) => !row.gpu && !row.wait).slice(0, 5).map((row) => [row.name, `${duration(row.self_ns)} in ${count(row.calls)}`]);
		await noted('#top-title', '1 frame');
		await noted('#card-top', wanted[0][1]);
		assert.deepEqual(await lines('card-top'), wanted);
		const gpu = zones.filter((row) => row.gpu).slice(0, 5);
		assert.ok(gpu.length > 0);
		await noted('#card-top-gpu', duration(gpu[0].self_ns));
		assert.deepEqual((await lines('card-top-gpu')).map(([name]) => name), gpu.map((row) => row.name));
		assert.deepEqual((await lines('card-waits')).map(([name]) => name), zones.filter((row) => row.wait).slice(0, 3).map((row) => row.name));
	});

	await t.test('a hitch is the level\'s that loads', async () => {
		await open(`session=${session.id}&frame=${HITCH}`);
		await noted('#top-title', '1 frame');
		await noted('#card-top', 'load_level');
		assert.equal((await lines('card-top'))[0][0], 'load_level');
		await noted('#card-path', 'load_level');
	});

	await t.test('the numbers over a range are those of the statistics', async () => {
		const paths = await world.api(`${at}/critical-path?from=20&to=200&limit=5`);
		const [stats] = (await world.api(`${at}/stats?metric=wall&from=20&to=200&over_ms=9`)).metrics;
		await open(`session=${session.id}&range=20-200&strip.budget=9`);
		await noted('#range-title', 'Range 20 to 200');
		await noted('#card-range', milliseconds(stats.mean_ns));
		assert.deepEqual(await numbers('card-range'), {
			Frames: count(stats.frames), 'Per second': ((stats.frames * 1e9) / stats.wall_ns).toFixed(1),
			Mean: milliseconds(stats.mean_ns), Median: milliseconds(stats.p50_ns), p95: milliseconds(stats.p95_ns), p99: milliseconds(stats.p99_ns),
			Worst: `${milliseconds(stats.worst_ns)} (frame ${count(stats.worst_frame)})`,
			'Time in frames over 9.0 ms': percent(stats.over[0].time_share * 100), 'Lost events': '0',
		});
		await noted('#card-path', duration(paths.zones[0].self_ns));
		assert.deepEqual(await lines('card-path'), paths.zones.slice(0, 5).map((row) =>
			[`${row.thread_name}: ${row.name ?? 'outside of zones'}`, `${duration(row.self_ns)}, ${percent(row.share * 100)}`]));
	});

	await t.test('two builds are compared, and the zones that moved are named', async () => {
		const diff = await world.api(`/diff?a=${session.id}&b=${build.id}`);
		await open(`session=${session.id}`);
		await page.keyboard.press('5');
		await page.waitForSelector('#panel-compare:not([hidden])');
		for (const [side, id] of [['A', session.id], ['B', build.id]]) {
			await tabTo(`[aria-label="Side ${side}"]`);
			await page.keyboard.type(`${id}`);
			await page.keyboard.press('Enter');
		}
		const work = diff.moved.filter((row) => row.path.at(-1) === 'work');
		assert.ok(work.length > 0 && work.every((row) => row.self.delta_ns > 0), 'the other build works more');
		await noted('#panel-compare [role=region][aria-label="Zones that moved"]', 'work');
		const rows = await page.evaluate(() => [...document.querySelectorAll('#panel-compare [aria-label="Zones that moved"] tbody tr')]
			.map((row) => [...row.children].slice(0, 4).map((cell) => cell.textContent)));
		assert.deepEqual(rows, diff.moved.map((row) => [row.path.join(' › '), row.thread, duration(row.self.a_ns), duration(row.self.b_ns)]));
	});

	await t.test('who held the lock', async (step) => {
		const scheduler = (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
		if (scheduler.state === 'unavailable') {
			step.skip(`the scheduler cannot be traced here: ${scheduler.reason}`);
			return;
		}
		const game = world.spawn(await world.compile(path.join(ROOT, 'tests/api/held.c')), ['lock', '40', '5']);
		assert.equal((await game.done).code, 0, game.text);
		const { id } = await world.ended(game.pid);
		await until('the scheduler is stored', async () => {
			const { sources, unknown_ns: unknown } = await world.api(`/sessions/${id}/frames/41/critical-path`);
			return sources.includes('scheduler') && unknown === 0;
		});
		await open(`session=${id}`);
		await noted('#verdict-title', 'Bound by');
		await page.keyboard.press('x');
		await noted('#card-path', 'holder');
		assert.ok((await lines('card-path')).some(([row]) => /^holder: /.test(row)), 'its work is on the path');
	});

	await t.test('what is saved and opened again is the same', async () => {
		const seen = async () => [await page.textContent('#verdict-sentence'), await numbers('card-range'), await lines('card-top'), await lines('card-path')];
		/** The view of the range, when all of it is there. */
		const shown = async (id) => {
			await page.goto('about:blank');
			const { zones } = await world.api(`/sessions/${id}/zones?view=flat&sort=self&order=desc&from=60&to=140`);
			const { zones: onPath } = await world.api(`/sessions/${id}/critical-path?from=60&to=140`);
			const { sentence } = await world.api(`/sessions/${id}/verdict?from=60&to=140`);
			await open(`session=${id}&range=60-140`);
			await noted('#top-title', '81 frames');
			await noted('#card-top', duration(zones.find((row) => !row.gpu && !row.wait).self_ns));
			await noted('#card-path', duration(onPath[0].self_ns));
			await noted('#verdict-sentence', sentence);
			return seen();
		};
		const before = await shown(session.id);
		await open(`session=${session.id}&range=50-150`);
		await noted('#range-title', 'Range 50 to 150');
		await tabTo('#actions button', 'Save');
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => /^Saved as session \d+: 101 frames\.$/.test(document.querySelector('#actions [role=status]').textContent));
		const id = /session (\d+)/.exec(await page.textContent('#actions [role=status]'))[1];
		const file = path.join(world.scratch, 'saved.fprof');
		writeFileSync(file, (await world.get(`/api/v1/captures/${id}/file`)).bytes);
		await page.setInputFiles('#actions input[type=file]', file);
		await page.waitForFunction(() => /^saved\.fprof is session \d+/.test(document.querySelector('#actions [role=status]').textContent));
		const again = /session (\d+)/.exec(await page.textContent('#actions [role=status]'))[1];
		assert.equal(await page.evaluate(() => document.getElementById('session').value), again);
		assert.match(await page.locator('#session option:checked').textContent(), new RegExp(`^■ upload: .* #${again}$`), 'what it is, is told');
		assert.deepEqual(await shown(again), before);
	});

	assert.deepEqual(faults, []);
});
