// SPDX-License-Identifier: MIT
// The timeline over a range: what it shows, finds and measures is what the API says, by mouse and by keyboard. The steps
// build on each other.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';

import { count, duration, milliseconds, percent } from '../../web/format.js';
import { ROOT } from '../api/world.mjs';
import { axe, missing, PageWorld } from './browser.mjs';

const BUNDLE = 150_000;

const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

test('the timeline', { skip: missing('game'), timeout: 300_000 }, async (t) => {
	const { chromium } = await import('playwright-core');
	const world = new PageWorld();
	t.after(() => world.close());
	await world.startDaemon();
	const session = await world.played(['--frames', '80', '--fps', '120', '--zones', '300', '--hitch-every', '30', '--hitch-ms', '20']);
	const at = `/sessions/${session.id}`;
	await world.openBrowser(chromium);
	const { page, faults } = world;
	await page.emulateMedia({ reducedMotion: 'reduce' });
	const open = async (hash) => {
		await page.goto('about:blank');
		await page.goto(`${world.url}/#session=${session.id}&${hash}`);
		await page.waitForFunction(() => / zones? on /.test(document.getElementById('timeline-note').textContent));
	};
	const noted = (selector, text) => page.waitForFunction(([at, wanted]) => document.querySelector(at)?.textContent.includes(wanted), [selector, text]);
	const setting = (name, value) => page.waitForFunction(([key, wanted]) => new URLSearchParams(location.hash.slice(1)).get(key) === wanted, [name, value]);
	const hash = () => new URLSearchParams(new URL(page.url()).hash.slice(1));
	const zoom = () => hash().get('zoom').split('..').map(Number);

	await t.test('all that the page loads is at most 150 KB, packed', async () => {
		const files = readdirSync(path.join(ROOT, 'web'), { recursive: true }).filter((name) => /\.(js|css|html|svg)$/.test(name));
		const sizes = await Promise.all(files.map(async (name) => {
			const { status, text } = await world.get(`/${name}`);
			assert.equal(status, 200, name);
			return gzipSync(text).length;
		}));
		const packed = sum(sizes, (size) => size);
		assert.ok(packed > 50_000 && packed <= BUNDLE, `${packed} bytes`);
	});

	await t.test('a range is one timeline: its zones are the API\'s, those over a frame\'s end in one piece', async () => {
		const line = await world.api(`${at}/timeline?from=20&to=22&max_zones=120000`);
		assert.equal(line.resolution_ns, 0);
		await open('range=20-22&frame=21');
		const { begin_ns: begin, end_ns: end } = line.range;
		assert.equal(await page.textContent('#timeline-note'),
			`Frames 20 to 22, ${milliseconds(end - begin)}: ${count(line.items)} zones on ${line.threads.length} tracks.`);
		await page.click('#zones-table > summary');
		await page.waitForFunction(() => document.querySelector('#zones-table tbody tr td:nth-child(2)'));
		const more = page.locator('#zones-table .table-foot button');
		if (await more.isVisible())
			await more.click();
		const rows = await page.evaluate(() => [...document.querySelectorAll('#zones-table tbody tr')].map((row) => [...row.children].slice(0, 4).map((cell) => cell.textContent)));
		const shown = rows.map((row) => row.slice(1).join(' ')).sort();
		const margin = (Math.max(end, ...line.threads.flatMap((one) => one.zones.map((zone) => zone.start_ns + zone.duration_ns))) - begin) * 0.01;
		const wanted = line.threads.flatMap((one) => one.zones).filter((zone) => zone.start_ns + zone.duration_ns >= begin - margin)
			.map((zone) => [zone.name, duration(zone.start_ns - begin), duration(zone.duration_ns)].join(' ')).sort();
		assert.deepEqual(shown, wanted);
		await page.click('#zones-table > summary');
	});

	await t.test('a frame alone shows the marks of other streams in it, as a range does', async () => {
		const { frames, threads } = await world.api(`${at}/timeline?from=2&to=79&max_zones=120000`);
		const times = threads.flatMap(({ events }) => events.filter(({ kind }) => kind === 'mark')).map((mark) => mark.time_ns);
		const marksIn = ({ begin_ns: begin, wall_ns: wall }) => times.filter((time) => time >= begin && time < begin + wall).length;
		const most = frames.reduce((a, b) => (marksIn(b) > marksIn(a) ? b : a));
		assert.ok(marksIn(most) > 0);
		await open(`frame=${most.frame}`);
		await noted('#messages', 'end of a frame of the stream audio');
		const shown = await page.evaluate(() => [...document.querySelectorAll('#messages tbody tr')].filter((row) => /end of a frame of the stream/.test(row.textContent)).length);
		assert.equal(shown, marksIn(most));
	});

	await t.test('a search counts what the whole range has, and goes from one to the next and around', async () => {
		await open('range=2-79');
		const found = await world.api(`${at}/zones?view=calls&frames=all&sort=start&name=*load_level*&from=2&to=79`);
		assert.ok(found.count >= 2, `${found.count} hitches`);
		await page.keyboard.press('/');
		await page.keyboard.type('load_level');
		await noted('.found', `${found.count} found`);
		for (const [nth, zone] of [...found.zones.entries(), [0, found.zones[0]]]) {
			await page.keyboard.press('Enter');
			await noted('.found', `${nth + 1} of ${found.count}: load_level, ${duration(zone.duration_ns)}, frame ${zone.frame}`);
			await page.waitForFunction(([start, length]) => {
				const [t0, t1] = (/zoom=(-?\d+)\.\.(-?\d+)/.exec(location.hash) ?? []).slice(1).map(Number);
				return t0 < start && t1 > start + length;
			}, [zone.start_ns - found.range.begin_ns, zone.duration_ns]);
		}
		await page.keyboard.press('Shift+Enter');
		await noted('.found', `${found.count} of ${found.count}: load_level`);
		await page.fill('#timeline-search input', 'no such zone');
		await noted('.found', 'no zone of that name here');
		await page.keyboard.press('Escape');
		await setting('timeline.search', null);
	});

	await t.test('what is measured is named in ms and as a share, and added up as the API does', async () => {
		await open('range=20-22');
		await page.locator('#timeline-box').focus();
		await page.keyboard.press('w');
		await page.keyboard.press('d');
		await page.waitForFunction(() => location.hash.includes('zoom='));
		await page.keyboard.press('m');
		await page.waitForFunction(() => location.hash.includes('timeline.measure='));
		const check = async () => {
			const [begin, end] = hash().get('timeline.measure').split('-').map(Number);
			const { frames } = await world.api(`${at}/frames?from=20&to=22`);
			const touched = frames.filter((one) => one.begin_ns < end && one.begin_ns + one.wall_ns > begin);
			await noted('#measured h2', `Measured ${duration(end - begin)}: ${percent(((end - begin) / sum(touched, (one) => one.wall_ns)) * 100)} of frame`);
			const [from, to] = [touched[0].frame, touched.at(-1).frame];
			const table = await world.api(`${at}/zones?view=flat&frames=all&sort=self&from=${from}&to=${to}&begin_ns=${begin}&end_ns=${end}`);
			await noted('#measured .note', `${milliseconds(table.range.wall_ns)}.`);
			const rows = await page.evaluate(() => [...document.querySelectorAll('#measured tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent)));
			assert.deepEqual(rows.map((row) => [row[0], row[1], row[2], row[4]]), table.zones.map((zone) =>
				[zone.name, duration(zone.self_ns), duration(zone.total_ns), count(zone.calls)]));
		};
		await check();
		await page.keyboard.press('Escape');
		await setting('timeline.measure', null);
		const box = await page.locator('#timeline').boundingBox();
		await page.mouse.move(box.x + 300, box.y + 120);
		await page.mouse.down();
		await page.mouse.move(box.x + 520, box.y + 130, { steps: 3 });
		await page.mouse.up();
		await page.waitForFunction(() => location.hash.includes('timeline.measure='));
		await check();
		await page.click('#measured button:text-is("Stop measuring")');
		await page.waitForFunction(() => document.getElementById('measured').hidden);
	});

	await t.test('tracks fold, sort and stay at the top by keyboard, and the address says so', async () => {
		await open('range=20-22');
		await page.locator('#timeline-tracks summary').focus();
		await page.keyboard.press('Enter');
		const line = await world.api(`${at}/timeline?from=20&to=22&max_zones=120000`);
		await page.waitForFunction((n) => document.querySelectorAll('#timeline-tracks tbody tr').length === n, line.threads.length);
		const rows = await page.evaluate(() => [...document.querySelectorAll('#timeline-tracks tbody tr')].map((row) => [...row.children].slice(0, 2).map((cell) => cell.textContent)));
		assert.deepEqual(rows.map((row) => row[1]), line.threads.map((thread) => duration(sum(thread.zones.filter((zone) => !zone.depth), (zone) => zone.duration_ns))));
		const tall = await page.evaluate(() => document.getElementById('timeline-spacer').scrollHeight);
		await page.locator('#timeline-tracks input[aria-label^="Folded: main"]').focus();
		await page.keyboard.press('Space');
		await setting('timeline.fold', 'main');
		await page.waitForFunction((height) => document.getElementById('timeline-spacer').offsetHeight < height, tall);
		await page.locator('#timeline-tracks input[aria-label^="At the top: audio"]').focus();
		await page.keyboard.press('Space');
		await setting('timeline.pin', 'audio');
		await page.locator('#timeline-tracks select').focus();
		await page.keyboard.press('ArrowDown');
		await setting('timeline.sort', 'name');
		assert.deepEqual(await axe(page), []);
		await page.keyboard.press('Escape');
		assert.equal(await page.locator('#timeline-tracks details').getAttribute('open'), null);
	});

	await t.test('keys and wheel move and zoom, a double-click goes to a frame', async () => {
		await open('range=20-22');
		await page.locator('#timeline-box').focus();
		const spanAfter = async (act) => {
			const before = hash().get('zoom');
			await act();
			await page.waitForFunction((old) => new URLSearchParams(location.hash.slice(1)).get('zoom') !== old, before);
			return zoom();
		};
		const first = await spanAfter(() => page.keyboard.press('w'));
		const second = await spanAfter(() => page.keyboard.press('d'));
		assert.ok(second[0] > first[0] && Math.abs(second[1] - second[0] - (first[1] - first[0])) < 5, `${first} ${second}`);
		const third = await spanAfter(() => page.keyboard.press('a'));
		assert.ok(Math.abs(third[0] - first[0]) < 5, `${first} ${third}`);
		const box = await page.locator('#timeline').boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + 100);
		await page.keyboard.down('Control');
		const fourth = await spanAfter(() => page.mouse.wheel(0, -300));
		await page.keyboard.up('Control');
		assert.ok(fourth[1] - fourth[0] < third[1] - third[0]);
		await page.keyboard.press('f');
		await setting('zoom', null);
		const { frames } = await world.api(`${at}/frames?from=20&to=22`);
		const wall = sum(frames, (one) => one.wall_ns);
		const middle = frames[1].begin_ns - frames[0].begin_ns + frames[1].wall_ns / 2;
		const [from, to] = await spanAfter(() => page.mouse.dblclick(box.x + (box.width * (middle / wall + 0.01)) / 1.02, box.y + 30));
		const edge = frames[1].begin_ns - frames[0].begin_ns;
		assert.ok(from < edge && from > edge - frames[1].wall_ns && to > edge + frames[1].wall_ns && to - from < 1.3 * frames[1].wall_ns, `${from}..${to} of ${edge}`);
	});

	await t.test('what is pointed at is told: a zone of a range with what its frame knows', async () => {
		await open('range=20-22&timeline.search=');
		const detail = await world.api(`${at}/frames/21`);
		const zone = detail.threads[0].zones.find((one) => one.name === 'present');
		const { range } = await world.api(`${at}/timeline?from=20&to=22`);
		const start = zone.start_ns - range.begin_ns;
		await open(`range=20-22&zoom=${Math.round(start - zone.duration_ns)}..${Math.round(start + 2 * zone.duration_ns)}`);
		const box = await page.locator('#timeline').boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + 40 + 25 + zone.depth * 18 + 8);
		await noted('#tip', 'present');
		const tip = await page.textContent('#tip');
		assert.ok(tip.includes(duration(zone.duration_ns)) && tip.includes('self') && tip.includes(`${zone.file}:${zone.line}`) && tip.includes('waits for: present'), tip);
		const [span] = detail.gpu_spans;
		const queue = detail.threads.find((one) => one.id === span.queue) ?? { name: 'graphics' };
		await open(`range=20-22&timeline.pin=${queue.name}&zoom=${Math.round(span.start_ns - range.begin_ns - span.duration_ns)}..${Math.round(span.start_ns - range.begin_ns + 2 * span.duration_ns)}`);
		await page.mouse.move(box.x + box.width / 2 - 3, box.y + 40 + 25 + 8);
		await noted('#tip', `submission ${span.submission}, view ${span.view}, fence ${span.fence}`);
	});

	await t.test('a sandwich over a range is of as much time as the table says; in time order it is the timeline', async () => {
		const { zones } = await world.api(`${at}/zones?view=flat&from=20&to=40&name=work`);
		await page.goto(`${world.url}/#session=${session.id}&range=20-40&tab=flame&flame.view=sandwich&flame.name=work`);
		await page.click('#panel-flame summary');
		await page.waitForFunction((wanted) => document.querySelector('#panel-flame tbody tr')?.children[1]?.textContent === wanted, duration(zones[0].total_ns));
		const cells = await page.evaluate(() => [...document.querySelector('#panel-flame tbody tr').children].map((cell) => cell.textContent));
		assert.deepEqual([cells[0], cells[3]], ['work', count(zones[0].calls)]);
		await page.selectOption('#panel-flame select', 'time');
		await page.waitForFunction(() => document.getElementById('timeline-note').textContent.startsWith('Frames 20 to 40, '));
	});

	assert.deepEqual(faults, []);
});
