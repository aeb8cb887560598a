// SPDX-License-Identifier: MIT
// What the page costs a browser that draws in software: a timeline with 100,000 zones in view that is moved and zoomed,
// and a 144 fps game with 2,000 zones a frame that is followed, with the heap after a full collection at its
// begin and its end. A frame's cost is the time from its first callback until the main thread is free again: script, style,
// layout and paint. On a busy machine that includes waiting for a CPU; so of what is traced the CPU time of each task of the
// main thread is told, too: a frame is one task. PAGE_SECONDS: how long the game is followed (300). PAGE_FPS, PAGE_ZONES: its
// frames a second (144) and zones a frame (2000); many small frames are hours of a game in minutes, for the heap. The heap is
// told once more after each panel was open.

import { existsSync } from 'node:fs';

import { CHROMIUM, PageWorld } from '../browser/browser.mjs';
import { until } from '../api/world.mjs';

const SECONDS = Number(process.env.PAGE_SECONDS ?? 300);
const FPS = Number(process.env.PAGE_FPS ?? 144);
const ZONES = Number(process.env.PAGE_ZONES ?? 2000);
const EACH_S = 12; // of a panel
const WARM_S = 15;
const PARTS = 5; // of the time in which the heap is looked at
const MOVES = 'ddaawwssddaa';

/** In the page: each frame's cost, and how long after the one before it began. */
function watchFrames() {
	const frames = { costs: [], gaps: [], last: 0, open: false };
	globalThis.benchFrames = frames;
	const channel = new MessageChannel();
	let begun = 0;
	channel.port1.onmessage = () => {
		frames.costs.push(performance.now() - begun);
		frames.open = false;
	};
	const request = globalThis.requestAnimationFrame.bind(globalThis);
	globalThis.requestAnimationFrame = (run) => request((time) => {
		if (!frames.open) {
			begun = performance.now();
			if (frames.last)
				frames.gaps.push(begun - frames.last);
			frames.last = begun;
			frames.open = true;
			channel.port2.postMessage(0);
		}
		run(time);
	});
}

const sorted = (list) => [...list].sort((a, b) => a - b);
const rank = (list, share) => list[Math.min(list.length - 1, Math.ceil(share * list.length) - 1)] ?? 0;

/** @param {number} bytes */
const inMiB = (bytes) => (bytes / 2 ** 20).toFixed(2);

/** @param {number[]} costs ms */
function spread(costs) {
	const list = sorted(costs);
	const over = (ms) => list.filter((one) => one > ms).length;
	return `p50 ${rank(list, 0.5).toFixed(1)}, p99 ${rank(list, 0.99).toFixed(1)}, worst ${rank(list, 1).toFixed(1)} ms; over 16.7 ms ${over(16.7)}, over 33.3 ms ${over(33.3)}`;
}

/** @param {string} what @param {number[]} costs @param {number[]} [tasks] */
function print(what, costs, tasks) {
	console.log(`${what}: ${costs.length} frames, ${spread(costs)}`);
	if (tasks)
		console.log(`  CPU time of ${tasks.length} tasks: ${spread(tasks)}`);
}

class Bench {
	/** @param {PageWorld} world @param {any} devtools */
	constructor(world, devtools) {
		this.world = world;
		this.devtools = devtools;
	}

	/** Frames from here on. */
	reset() {
		return this.world.page.evaluate(() => Object.assign(globalThis.benchFrames, { costs: [], gaps: [], last: 0 }));
	}

	costs() {
		return this.world.page.evaluate(() => globalThis.benchFrames.costs);
	}

	/** Runs something, and gives the CPU time in ms of each task of the main thread meanwhile. @param {() => Promise<void>} run */
	async traced(run) {
		const events = [];
		const take = ({ value }) => events.push(...value.filter((one) => one.name === 'thread_name' || /RunTask$/.test(one.name)));
		this.devtools.on('Tracing.dataCollected', take);
		await this.devtools.send('Tracing.start', { traceConfig: { includedCategories: ['toplevel', '__metadata'], excludedCategories: ['*'] }, transferMode: 'ReportEvents' });
		await run();
		const ended = new Promise((resolve) => { this.devtools.once('Tracing.tracingComplete', resolve); });
		await this.devtools.send('Tracing.end');
		await ended;
		this.devtools.off('Tracing.dataCollected', take);
		const busy = new Map();
		for (const one of events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain'))
			busy.set(`${one.pid} ${one.tid}`, []);
		for (const one of events)
			busy.get(`${one.pid} ${one.tid}`)?.push((one.tdur ?? 0) / 1000);
		return [...busy.values()].sort((a, b) => b.length - a.length)[0] ?? [];
	}

	/** Bytes in use after a full collection. */
	async heap() {
		for (let i = 0; i < 2; i++)
			await this.devtools.send('HeapProfiler.collectGarbage');
		return (await this.devtools.send('Runtime.getHeapUsage')).usedSize;
	}

	/** @param {string} hash */
	async open(hash) {
		await this.world.page.goto('about:blank');
		await this.world.page.goto(`${this.world.url}/#${hash}`);
	}

	async manyZones() {
		const { world } = this;
		const session = await world.played(['--frames', '60', '--fps', '60', '--zones', '2000']);
		await this.open(`session=${session.id}&range=5-54`);
		await world.page.waitForFunction(() => /zones on/.test(document.getElementById('timeline-note').textContent));
		console.log(await world.page.textContent('#timeline-note'));
		await world.page.locator('#timeline-box').focus();
		for (const name of ['all of them in view', 'half of them in view']) {
			await this.reset();
			const tasks = await this.traced(() => this.move());
			print(`moved and zoomed, ${name}`, await this.costs(), tasks);
			await world.page.keyboard.press('f');
			await world.page.keyboard.press('w');
			await world.page.waitForTimeout(500);
		}
	}

	async move() {
		for (let round = 0; round < 6; round++) {
			for (const key of MOVES) {
				await this.world.page.keyboard.press(key);
				await this.world.page.waitForTimeout(60);
			}
		}
	}

	async follow() {
		const { world } = this;
		const game = world.game(['--frames', '0', '--fps', `${FPS}`, '--zones', `${ZONES}`, '--hitch-every', '500']);
		const live = await until('the game is live', async () => (await world.api('/sessions')).sessions.find((one) => one.pid === game.pid && one.frames_total > 700));
		await this.open(`session=${live.id}`);
		await world.page.waitForTimeout(WARM_S * 1000);
		const heaps = [await this.heap()];
		const costs = [];
		for (let part = 0; part < PARTS; part++) {
			await this.reset();
			await world.page.waitForTimeout((SECONDS * 1000) / PARTS);
			costs.push(...await this.costs());
			await this.reset();
			heaps.push(await this.heap());
		}
		print(`followed for ${SECONDS} s`, costs);
		console.log(`heap, every ${SECONDS / PARTS} s: ${heaps.map(inMiB).join(', ')} MiB`);
		for (const tab of ['timeline', 'flame', 'tables', 'counters', 'diagnostics']) {
			await world.page.click(`#tab-${tab}`);
			await world.page.waitForTimeout(2000);
			await this.reset();
			const tasks = await this.traced(() => world.page.waitForTimeout(EACH_S * 1000));
			print(`followed, ${tab} open`, await this.costs(), tasks);
		}
		await world.page.click('#tab-timeline');
		await world.page.waitForTimeout(2000);
		console.log(`heap, after each panel was open: ${inMiB(await this.heap())} MiB`);
		const { frames_total: frames, lost_events: lost } = await world.api(`/sessions/${live.id}`);
		console.log(`the game: ${frames} frames, ${lost ?? 0} events lost`);
		game.kill('SIGINT');
		await game.done;
	}
}

const playwright = await import('playwright-core').catch(() => null);
if (!playwright || !existsSync(CHROMIUM)) {
	console.log(`skipped: ${playwright ? `no browser, ${CHROMIUM}` : 'no driver for one, playwright-core'} is not there`);
} else {
	const { chromium } = playwright;
	const world = new PageWorld();
	try {
		await world.startDaemon();
		await world.openBrowser(chromium);
		await world.page.addInitScript(watchFrames);
		const devtools = await world.browser.newCDPSession(world.page);
		await devtools.send('HeapProfiler.enable');
		const bench = new Bench(world, devtools);
		await bench.manyZones();
		await bench.follow();
		for (const fault of world.faults)
			console.log(`fault: ${fault}`);
	} finally {
		await world.close();
	}
}
