// SPDX-License-Identifier: MIT
// What a test of the page needs around it: a daemon of its own, games under it, a browser. Everything lives in one
// temporary directory and is ended by the process that began it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BUILD = path.resolve(ROOT, process.env.FPROF_BUILD ?? 'build');
export const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const DEADLINE_MS = 60_000;

/** Asks again until the answer is truthy; fails, saying what it waited for, at the deadline. */
export async function until(what, ask) {
	const end = Date.now() + DEADLINE_MS;
	for (;;) {
		const answer = await ask();
		if (answer)
			return answer;
		if (Date.now() > end)
			throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

/** A port that was free just now. */
async function freePort() {
	const server = createServer();
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const { port } = server.address();
	server.close();
	await once(server, 'close');
	return port;
}

export class World {
	static async make() {
		const world = new World();
		world.dir = mkdtempSync(path.join(tmpdir(), 'fprof-page-'));
		for (const name of ['state', 'profile', 'shots'])
			mkdirSync(path.join(world.dir, name), { mode: 0o700 });
		// The rolling history belongs on a tmpfs, which /tmp need not be.
		world.run = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : world.dir, 'fprof-page-'));
		world.port = await freePort();
		world.url = `http://127.0.0.1:${world.port}`;
		world.socket = path.join(world.run, 'fprofd.sock');
		world.children = new Set();
		return world;
	}

	shot(name) {
		return path.join(process.env.FPROF_SHOTS ?? path.join(this.dir, 'shots'), `${name}.png`);
	}

	/** Starts a program; its output is kept for the case that something fails. */
	spawn(program, args, options = {}) {
		const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], ...options,
			env: { ...process.env, FPROF_SOCKET: this.socket, ...options.env } });
		child.text = '';
		child.stdout.on('data', (data) => { child.text += data; });
		child.stderr.on('data', (data) => { child.text += data; });
		child.done = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
		this.children.add(child);
		child.done.then(() => this.children.delete(child));
		return child;
	}

	async startDaemon() {
		this.daemon = this.spawn(path.join(BUILD, 'fprofd'), ['--http', `127.0.0.1:${this.port}`, '--socket', this.socket,
			'--runtime-dir', this.run, '--state-dir', path.join(this.dir, 'state')]);
		await until(`fprofd is ready\n${this.daemon.text}`, async () => {
			if (this.daemon.exitCode !== null)
				throw new Error(`fprofd ended (${this.daemon.exitCode}): ${this.daemon.text}`);
			return fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false);
		});
	}

	async stopDaemon() {
		this.daemon.kill('SIGTERM');
		await this.daemon.done;
	}

	/** Runs a game to its end under `fprof run`. */
	async play(args, env = {}) {
		const child = this.spawn(path.join(BUILD, 'fprof'), ['run', '--', ...args], { env });
		const end = await child.done;
		return { ...end, text: child.text };
	}

	async api(what) {
		const answer = await fetch(`${this.url}/api/v1${what}`);
		if (!answer.ok)
			throw new Error(`${what}: ${answer.status} ${await answer.text()}`);
		return answer.json();
	}

	/** The session of this name, once it has ended. */
	ended(name) {
		return until(`session ${name} has ended`, async () => {
			const { sessions } = await this.api('/sessions');
			return sessions.find((one) => one.name === name && one.state !== 'live');
		});
	}

	async close() {
		for (const child of this.children)
			child.kill('SIGKILL');
		await Promise.all([...this.children].map((child) => child.done));
		for (const dir of [this.dir, this.run])
			rmSync(dir, { recursive: true, force: true });
	}
}

/** Opens a page in a browser of its own; what goes wrong in it is collected in `faults`. */
export async function openBrowser(chromium, world) {
	const context = await chromium.launchPersistentContext(path.join(world.dir, 'profile'), {
		executablePath: CHROMIUM,
		headless: true,
		viewport: { width: 1280, height: 720 },
		args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
			'--disable-component-update', '--disable-sync'],
	});
	const page = context.pages()[0] ?? await context.newPage();
	const faults = [];
	page.on('console', (message) => {
		if (message.type() === 'error' || message.type() === 'warning')
			faults.push(message.text());
	});
	page.on('pageerror', (error) => faults.push(error.stack));
	return { context, page, faults };
}

export const have = (file) => existsSync(file);
