// SPDX-License-Identifier: MIT
// A daemon with a browser in front of it. The daemon's side is that of the API tests.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { BUSY_TRIES } from '../../web/api.js';
import { BUILD, until, World } from '../api/world.mjs';

export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const require = createRequire(import.meta.url);

/** Why a test that needs a browser and these programs cannot run, or false. */
export function missing(...programs) {
	if (!existsSync(CHROMIUM))
		return `no browser: ${CHROMIUM} is not there`;
	const program = programs.find((name) => !existsSync(path.join(BUILD, name)));
	return program ? `not built: ${path.join(BUILD, program)}` : false;
}

/** The colours that the page is looked at in, and the rules of axe whose answer another colour changes. */
export const COLOURS = [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { forcedColors: 'active' }];
export const RULES_OF_COLOUR = ['color-contrast', 'link-in-text-block'];

/** All that axe finds in the page, or in an element of it, as readable lines. `rules`: only these. */
export async function axe(page, selector, rules) {
	if (!await page.evaluate(() => 'axe' in globalThis))
		await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
	const { violations } = await page.evaluate(([at, only]) => globalThis.axe.run(at ?? document,
		{ resultTypes: ['violations'], ...only && { runOnly: only } }), [selector, rules]);
	return violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${one.help}: ${node.html}`));
}

export class PageWorld extends World {
	constructor() {
		super();
		this.scratch = mkdtempSync(path.join(tmpdir(), 'fprof-page-'));
		this.shots = process.env.FPROF_SHOTS;
		if (this.shots)
			mkdirSync(this.shots, { recursive: true });
	}

	get url() {
		return `http://127.0.0.1:${this.port}`;
	}

	/** Starts the daemon again where it was. */
	restartDaemon() {
		return this.startDaemon(['--http', `127.0.0.1:${this.port}`]);
	}

	/** Runs a game to its end under `fprof run`. */
	play(args, env = {}) {
		const run = this.spawn(path.join(BUILD, 'fprof'), ['run', '--', ...args], { env: { HOME: this.scratch, ...env } });
		return run.done;
	}

	/** Compiles a game of the tests and starts it; it ends when its input does. */
	async startGame(source) {
		return this.spawn(await this.compile(source), [], { stdio: ['pipe', 'pipe', 'pipe'] });
	}

	/** Opens a page in a browser of its own; what goes wrong in it is collected in `faults`. */
	async openBrowser(chromium) {
		this.browser = await chromium.launchPersistentContext(path.join(this.scratch, 'profile'), {
			executablePath: CHROMIUM,
			headless: true,
			viewport: { width: 1280, height: 720 },
			args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
				'--disable-component-update', '--disable-sync'],
		});
		this.page = this.browser.pages()[0] ?? await this.browser.newPage();
		this.page.setDefaultTimeout(120_000); // a deadline, not an expectation
		this.faults = [];
		this.page.on('console', (message) => {
			if (/status of 503/.test(message.text()))
				return; // see watchBusy
			// A lease of a game that has ended is gone when it is to be renewed.
			if (/status of 404/.test(message.text()) && message.location().url.includes('/consumers/'))
				return;
			// A frame's events may leave the history of a live game while they are asked for.
			if (/status of 409/.test(message.text()) && message.location().url.includes('/critical-path'))
				return;
			if (message.type() === 'error' || message.type() === 'warning')
				this.faults.push(message.text());
		});
		this.page.on('pageerror', (error) => this.faults.push(error.stack));
		this.watchBusy();
		// What a document asks for is its own count: of one that is left no end is told.
		await this.page.addInitScript(() => {
			const { fetch } = window;
			window.asking = new Set();
			window.fetch = async (path, request) => {
				const one = { path };
				window.asking.add(one);
				try {
					const answer = await fetch(path, request);
					await answer.clone().arrayBuffer();
					return answer;
				} finally {
					window.asking.delete(one);
				}
			};
		});
	}

	/** A daemon that is busy with what the page before asked says 503 and when to come again: then the page has to get its answer. */
	watchBusy() {
		const busy = new Map();
		this.page.on('framenavigated', () => busy.clear());
		this.page.on('response', (answer) => {
			const what = `${answer.request().method()} ${answer.url()}`;
			const times = answer.status() === 503 ? (busy.get(what) ?? 0) + 1 : 0;
			busy.set(what, times);
			if (times > BUSY_TRIES || (times && !answer.headers()['retry-after']))
				this.faults.push(`${what}: 503, ${times} in a row`);
		});
	}

	/** Until what the page asked for has come and is drawn, and it asks for nothing more because of it. */
	async settled() {
		const asked = () => this.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() =>
			setTimeout(() => resolve([...window.asking].map(({ path }) => path))))));
		let open = [];
		const none = async () => (open = await asked()).length === 0;
		await until({ toString: () => `the page has what it asked for: ${open}` }, async () => await none() && none());
	}

	/** A picture for the documentation, where it is asked for. */
	async shot(name, options) {
		if (this.shots)
			await this.page.screenshot({ path: path.join(this.shots, `${name}.png`), ...options });
	}

	async close() {
		await this.browser?.close();
		await super.close();
		rmSync(this.scratch, { recursive: true, force: true });
	}
}
