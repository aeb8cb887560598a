// SPDX-License-Identifier: MIT
// What a test of the API needs around it: a daemon of its own on a free port with directories of its own, games under it,
// and plain HTTP requests (fetch would not let a test choose its Host header). What a test began, the test ends.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
export const BUILD = path.resolve(ROOT, process.env.FPROF_BUILD ?? 'build');
export const DOOM = '/usr/games/chocolate-doom';
export const WAD = '/usr/share/games/doom/freedoom1.wad';
const DEADLINE_MS = 60_000;

/** Asks again until the answer is truthy; fails at the deadline, saying what it waited for. */
export async function until(what, ask) {
	const end = Date.now() + DEADLINE_MS;
	for (;;) {
		const answer = await ask();
		if (answer)
			return answer;
		if (Date.now() > end)
			throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 40));
	}
}

/** Kills a process that may have ended by itself. */
export function killIfThere(pid) {
	try {
		process.kill(Number(pid), 'SIGKILL');
	} catch (error) {
		if (error.code !== 'ESRCH')
			throw error;
	}
}

export class World {
	constructor() {
		// The rolling history belongs on a tmpfs, which /tmp need not be; tests/run.sh's TMPDIR is one.
		const place = process.env.TMPDIR ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());
		this.dir = mkdtempSync(path.join(place, 'fprof-api-'));
		this.run = path.join(this.dir, 'run');
		this.state = path.join(this.dir, 'state');
		for (const dir of [this.run, this.state])
			mkdirSync(dir, { mode: 0o755 });
		this.socket = path.join(this.run, 'fprofd.sock');
		this.httpSocket = path.join(this.run, 'http.sock');
		this.children = new Set();
		// On a busy machine any frame may be a spike: what is kept without asking would be among the sessions.
		this.config = path.join(this.dir, 'fprofd.conf');
		writeFileSync(this.config, 'triggers = []\n');
	}

	/** Starts a program; its output is kept in `text`, its end in `done`. */
	spawn(program, args, options = {}) {
		const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options,
			env: { ...process.env, FPROF_SOCKET: this.socket, ...options.env } });
		child.text = '';
		child.stdout.on('data', (data) => { child.text += data; });
		child.stderr.on('data', (data) => { child.text += data; });
		child.done = once(child, 'close').then(([code, signal]) => ({ code, signal, text: child.text }));
		this.children.add(child);
		child.done.then(() => this.children.delete(child), () => this.children.delete(child));
		return child;
	}

	/** Without triggers, where no other configuration is given. `through`: a command that becomes the daemon. */
	spawnDaemon(args = [], env = {}, through = []) {
		const config = args.includes('--config') ? [] : ['--config', this.config];
		const [program, ...before] = [...through, path.join(BUILD, 'fprofd')];
		return this.spawn(program, [...before, '--http', '127.0.0.1:0', '--socket', this.socket,
			'--runtime-dir', this.run, '--state-dir', this.state, ...config, ...args], { env });
	}

	/** Starts the daemon and waits until it answers; sets `port`. */
	async startDaemon(args = [], env = {}, through = []) {
		this.daemon = this.spawnDaemon(args, env, through);
		this.port = await until('fprofd says where it listens', () => {
			if (this.daemon.exitCode !== null || this.daemon.signalCode !== null)
				throw new Error(`fprofd ended: ${this.daemon.text}`);
			return Number(/http:\/\/[^ ]*:(\d+)\//.exec(this.daemon.text)?.[1] ?? 0);
		});
		await until('fprofd is ready', async () => (await this.get('/readyz')).status === 200);
	}

	/** Ends the daemon in order; everything that it was told is stored then. */
	async stopDaemon() {
		this.daemon.kill('SIGTERM');
		return this.daemon.done;
	}

	/** One request. `unix`: through the Unix socket. `agent`: keep the connection. */
	request(method, what, { headers = {}, unix = false, agent, body } = {}) {
		const at = unix ? { socketPath: this.httpSocket } : { host: '127.0.0.1', port: this.port };
		return new Promise((resolve, reject) => {
			const request = http.request({ ...at, method, path: what, headers, agent: agent ?? false,
				setHost: !('host' in headers) }, (answer) => {
				const chunks = [];
				answer.on('data', (chunk) => chunks.push(chunk));
				answer.on('error', reject);
				answer.on('end', () => {
					const bytes = Buffer.concat(chunks);
					resolve({ status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString('utf8') });
				});
			});
			request.on('error', reject);
			request.end(body);
		});
	}

	get(what, options) {
		return this.request('GET', what, options);
	}

	/** The JSON of an answer that must be good. Who is told to come later does. */
	async api(what, options) {
		const answer = await until(`${what} is answered`, async () => {
			const now = await this.get(`/api/v1${what}`, options);
			return (now.status !== 503 || !now.text.includes('/problems/busy')) && now;
		});
		if (answer.status !== 200)
			throw new Error(`${what}: ${answer.status} ${answer.text}`);
		return JSON.parse(answer.text);
	}

	/** Compiles a game of the tests, with the library in it; returns where it is. */
	async compile(source, flags = [], name = path.parse(source).name) {
		const program = path.join(this.dir, name);
		const compiler = source.endsWith('.cpp') ? [process.env.CXX ?? 'c++', '-std=c++17'] : [process.env.CC ?? 'cc', '-std=c11'];
		const { code, text } = await this.spawn(compiler[0], [compiler[1], '-D_GNU_SOURCE', `-I${ROOT}`,
			`-I${path.join(ROOT, 'client')}`, ...(process.env.FPROF_SANITIZED ? ['-fsanitize=address,undefined'] : []),
			...flags, '-o', program, source, `-L${BUILD}`, '-lfprof', `-Wl,-rpath,${BUILD}`, '-lpthread']).done;
		if (code !== 0)
			throw new Error(`${source} does not compile: ${text}`);
		return program;
	}

	/** Plays the example game. */
	game(args, env = {}) {
		return this.spawn(path.join(BUILD, 'game'), args, { env });
	}

	/** Plays the example game to its end and returns its session. */
	async played(args, env = {}) {
		const game = this.game(args, env);
		const end = await game.done;
		if (end.code !== 0)
			throw new Error(`the game ended with ${end.code ?? end.signal}: ${end.text}`);
		return this.ended(game.pid);
	}

	/** The session of a process, once it has ended. */
	ended(pid) {
		return until(`the session of ${pid} has ended`, async () => {
			const { sessions } = await this.api('/sessions');
			return sessions.find((one) => one.pid === pid && one.kind === 'recorded' && one.state !== 'live');
		});
	}

	/** The session of a process, once it has so many frames. */
	live(pid, frames) {
		return until(`the session of ${pid} has ${frames} frames`, async () => {
			const { sessions } = await this.api('/sessions');
			return sessions.find((one) => one.pid === pid && one.kind === 'recorded' && one.frames_total >= frames);
		});
	}

	/** Ends everything. A daemon that is still there has to end in order: a sanitizer speaks then. */
	async close() {
		const { daemon } = this;
		let end = { code: 0 };
		if (daemon && this.children.has(daemon)) {
			daemon.kill('SIGTERM');
			const timer = setTimeout(() => daemon.kill('SIGABRT'), DEADLINE_MS);
			end = await daemon.done;
			clearTimeout(timer);
		}
		for (const child of this.children)
			child.kill('SIGKILL');
		await Promise.all([...this.children].map((child) => child.done));
		rmSync(this.dir, { recursive: true, force: true });
		if (end.code !== 0)
			throw new Error(`fprofd ended with ${end.code ?? end.signal}: ${end.text}`);
	}
}

/** Why a child cannot become another user, or false. */
export const cannotSwitchUser = process.getuid() === 0 ? false : 'becoming another user needs root';

/** An open event stream; events are collected in `events` as they come. */
export class EventReader {
	static open(world, what = '', headers = {}) {
		const reader = new EventReader();
		reader.events = [];
		reader.rest = '';
		reader.ended = new Promise((resolve) => { reader.end = resolve; });
		return new Promise((resolve, reject) => {
			reader.request = http.request({ host: '127.0.0.1', port: world.port, path: `/api/v1/stream${what}`,
				headers, agent: false }, (answer) => {
				reader.answer = answer;
				answer.setEncoding('utf8');
				answer.on('data', (text) => reader.take(text));
				answer.on('close', reader.end);
				answer.on('error', () => {});
				resolve(reader);
			});
			reader.request.on('error', reject);
			reader.request.end();
		});
	}

	take(text) {
		const parts = (this.rest + text).split('\n\n');
		this.rest = parts.pop();
		for (const part of parts) {
			const event = { name: 'message', id: null, data: '' };
			for (const line of part.split('\n')) {
				if (line.startsWith('event: '))
					event.name = line.slice(7);
				else if (line.startsWith('id: '))
					event.id = line.slice(4);
				else if (line.startsWith('data: '))
					event.data += line.slice(6);
			}
			if (event.data)
				this.events.push({ ...event, data: JSON.parse(event.data) });
		}
	}

	of(name) {
		return this.events.filter((event) => event.name === name);
	}

	close() {
		this.request.destroy();
		return this.ended;
	}
}
