// SPDX-License-Identifier: MIT
// Games that run already, watched from outside: their frames are what they present, and afterwards they are as before.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, DOOM, ROOT, WAD, World, cannotSwitchUser, until } from './world.mjs';

const world = new World();
const source = (name) => path.join(ROOT, 'tests', name);
const program = (name) => path.join(world.dir, name);
let off = false;
let helper; // that of attachments

before(async () => {
	const cc = (...args) => execFileSync(process.env.CC ?? 'cc', ['-D_GNU_SOURCE', '-O2', ...args]);
	cc('-shared', '-fPIC', '-o', program('libfake.so'), source('preload/fake_sdl.c'), source('preload/fake_gl.c'));
	cc('-o', program('attached'), source('api/attached.c'), `-L${world.dir}`, '-lfake', `-Wl,-rpath,${world.dir}`, '-lpthread', '-ldl');
	cc('-shared', '-fPIC', '-s', '-o', program('libdriver.so'), source('api/driver.c'), '-ldl');
	cc('-shared', '-fPIC', '-o', program('presents.so'), source('api/presents.c'), '-ldl');
	await world.startDaemon();
	const game = await play();
	const { status, body } = await attach({ pid: game.pid });
	if (status === 503)
		off = `games cannot be attached to here: ${body.detail}`;
	game.kill('SIGKILL');
	await game.done;
	await until('nothing is attached', async () => (await world.api('/attachments')).attachments.length === 0);
	await until('the scheduler\'s helper is all that is left', () => off || helpers().length <= 1);
});
after(() => world.close());

/** A test that is skipped where the kernel does not let us. */
function attaching(name, run, options = {}) {
	test(name, options, (t) => (off ? t.skip(off) : run(t)));
}

/** The game that does what it is told, once it has begun. */
async function play(...args) {
	const game = world.spawn(program('attached'), args, { stdio: ['pipe', 'pipe', 'pipe'], env: { LIBFPROF: path.join(BUILD, 'libfprof.so') } });
	let done = 0;
	await until('the game is ready', () => game.text.includes('ready'));
	game.do = async (order) => {
		game.stdin.write(`${order}\n`);
		done += 1;
		await until(`the game has done ${order}`, () => game.text.split('done\n').length > done);
	};
	return game;
}

/** Ends what a test began: others look for it by its name. */
async function stop(child) {
	child.kill('SIGKILL');
	await child.done;
}

async function send(method, what, body, options = {}) {
	const answer = await world.request(method, `/api/v1/attachments${what}`, { body: body && JSON.stringify(body),
		headers: body ? { 'content-type': 'application/json' } : {}, ...options });
	return { status: answer.status, body: JSON.parse(answer.text), answer };
}

const attach = (body, options) => send('POST', '', body, options);
const detach = (session) => send('DELETE', `/${session}`);

/** Attaches to a game, which must be possible: its session's number. */
async function attached(game) {
	const before = helpers();
	const { status, body, answer } = await attach({ pid: game.pid });
	assert.equal(status, 201, answer.text);
	// the scheduler's may be a new one, too: it comes once there is a session
	helper = helpers().find((pid) => !before.includes(pid)) ?? helper;
	assert.deepEqual(answerProblems('/api/v1/attachments', answer, 'post'), []);
	assert.deepEqual(body.refused, []);
	return body.attachments[0].session;
}

/** The session, once it has so many frames and is live no more. */
async function ended(session) {
	return until(`session ${session} has ended`, async () => {
		const one = await world.api(`/sessions/${session}`);
		return one.state !== 'live' && one;
	});
}

const maps = (pid) => readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n').filter((line) => !line.endsWith('[uprobes]'));

/** Is the code of a library in a process as its file has it? */
function isAsOnDisk(pid, library) {
	const memory = openSync(`/proc/${pid}/mem`);
	const file = readFileSync(library);
	const lines = maps(pid).filter((line) => line.endsWith(library) && line.includes('r-xp'));
	let same = lines.length > 0;
	for (const line of lines) {
		const [, from, to, , offset] = /^([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+)/.exec(line);
		const bytes = Buffer.alloc(Number(`0x${to}`) - Number(`0x${from}`));
		readSync(memory, bytes, 0, bytes.length, BigInt(`0x${from}`));
		const there = file.subarray(Number(`0x${offset}`), Number(`0x${offset}`) + bytes.length);
		same = same && bytes.subarray(0, there.length).equals(there);
	}
	closeSync(memory);
	return same;
}

/** Processes of the helper below our daemon, in their order: the scheduler's, and another while something is attached. */
const helpers = () => readdirSync('/proc').filter((one) => /^\d+$/.test(one)).filter((pid) => {
	try {
		const [, name, , parent] = /^\d+ \((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
		return name === 'fprof-probe' && Number(parent) === world.daemon.pid;
	} catch {
		return false;
	}
});

for (const [what, order, zone] of [['that call each other are one frame each', 'render', 'SDL_RenderPresent'],
	['are frames', 'swap', 'glXSwapBuffers'], ['of the program\'s own are frames', 'inside', 'eglSwapBuffers'],
	['that are left by longjmp are followed by others', 'left', 'eglSwapBuffers']])
	attaching(`presents ${what}`, async () => {
		const game = await play();
		await game.do('render 3'); // before us
		const id = await attached(game);
		await game.do(`${order} 50`);
		if (order === 'left')
			await game.do('inside 1');
		await game.do('failed 5');
		await game.do('render 1');
		await detach(id);
		const session = await ended(id);
		assert.equal(session.attached, true);
		assert.equal(session.end_reason, 'detached');
		assert.equal(session.frames_total, order === 'left' ? 2 : 51);
		assert.equal(session.lost_events, 0);
		assert.equal(session.ledger.discarded, 0);
		const { zones } = await world.api(`/sessions/${id}/zones?view=flat&from=1&to=${session.frames_total}&frames=all`);
		const row = zones.find((one) => one.name === zone);
		assert.equal(row?.calls, order === 'swap' || order === 'inside' ? 50 : 51, JSON.stringify(zones));
		await game.do('render 1'); // it goes on
		await stop(game);
	});

attaching('the tool detaches the one game that is attached, and of several none that is not named', async (t) => {
	const fprof = (...args) => world.spawn(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${world.port}`, ...args]).done;
	const none = await fprof('detach');
	assert.equal(none.code, 1, none.text);
	assert.match(none.text, /no game is attached/);
	const games = [await play(), await play()];
	t.after(() => Promise.all(games.map(stop)));
	const sessions = [await attached(games[0]), await attached(games[1])];
	const several = await fprof('detach');
	assert.equal(several.code, 2, several.text);
	for (const [i, session] of sessions.entries())
		assert.ok(several.text.includes(`${session} (pid ${games[i].pid})`), several.text);
	assert.equal((await world.api('/attachments')).attachments.length, 2);
	assert.equal((await fprof('detach', `${sessions[0]}`)).code, 0);
	assert.equal((await ended(sessions[0])).end_reason, 'detached');
	const only = await fprof('detach');
	assert.equal(only.code, 0, only.text);
	assert.equal((await ended(sessions[1])).end_reason, 'detached');
});

attaching('what a thread that records nothing was waited for has its row and its gain', async (t) => {
	const game = await play();
	t.after(() => stop(game));
	await game.do('helped 1');
	const id = await attached(game);
	await game.do('helped 80');
	await detach(id);
	const { frames_total: last } = await ended(id);
	const asked = `/sessions/${id}/critical-path?from=2&to=${last}`;
	const paths = await until('all threads are heard of', async () => {
		const answer = await world.get(`/api/v1${asked}`);
		assert.deepEqual(answerProblems('/api/v1/sessions/{id}/critical-path', answer), []);
		const body = JSON.parse(answer.text);
		return !off && body.sources.includes('scheduler') && body.zones.some((row) => row.thread_name === 'solver') && body;
	});
	assert.equal(paths.zones.reduce((sum, row) => sum + row.self_ns, 0), paths.range.wall_ns);
	const solver = paths.zones.find((row) => row.thread_name === 'solver');
	assert.deepEqual([solver.name, solver.path], [null, []]);
	assert.ok(Number.isInteger(solver.tid) && solver.tid !== game.pid);
	assert.ok(solver.frames > 0 && solver.self_ns > 0.5 * (paths.running_ns + paths.runnable_ns), JSON.stringify(paths));
	for (const row of paths.zones) {
		assert.ok(row.thread_name !== null && row.self_gain_ns !== null, JSON.stringify(row));
		assert.ok(row.gain_ns <= row.total_ns && row.self_gain_ns <= row.self_ns && row.self_gain_ns <= row.gain_ns, JSON.stringify(row));
	}
	assert.ok(solver.gain_ns > 0.5 * solver.total_ns, JSON.stringify(solver));
});

attaching('a Vulkan driver is asked for its present, which no symbol names', async () => {
	const game = await play(program('libdriver.so'));
	const id = await attached(game);
	const [one] = (await world.api('/attachments')).attachments;
	assert.ok(one.functions.includes('vkQueuePresentKHR'));
	assert.equal(one.unseen, null);
	await game.do('driver 20');
	await detach(id);
	assert.equal((await ended(id)).frames_total, 20);
	assert.ok(isAsOnDisk(game.pid, program('libdriver.so')));
	await stop(game);
});

attaching('a Vulkan driver that cannot be asked is said to be unseen', async (t) => {
	writeFileSync(program('broken'), '');
	t.after(() => rmSync(program('broken')));
	const game = await play(program('libdriver.so'));
	const id = await attached(game);
	const [one] = (await world.api('/attachments')).attachments;
	assert.ok(!one.functions.includes('vkQueuePresentKHR'));
	assert.match(one.unseen, /^the Vulkan driver does not tell/);
	await game.do('driver 5');
	await game.do('render 5');
	await detach(id);
	assert.equal((await ended(id)).frames_total, 5);
	await stop(game);
});

attaching('threads have their names, and the frames are those of the first that presents', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 10');
	await game.do('thread painter 5');
	await game.do('render 10');
	await detach(id);
	const session = await ended(id);
	assert.equal(session.frames_total, 20);
	assert.equal(session.losses.repaired.foreign_mark, 5);
	const { threads } = await world.api(`/sessions/${id}/threads`);
	assert.deepEqual(threads.map((one) => one.name), ['attached', 'painter']);
	assert.deepEqual(threads[0].tid, game.pid);
	await stop(game);
});

attaching('where nobody else presents the frames are those of the next thread', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('thread first 5');
	await until('the thread is seen to have ended', async () => (await world.api(`/sessions/${id}/threads`)).threads
		.some((one) => one.name === 'first' && one.end_ns !== null));
	await game.do('render 5');
	await detach(id);
	assert.equal((await ended(id)).frames_total, 10);
	await stop(game);
});

attaching('a game that is killed has its last frames, and its session ends', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 20');
	game.kill('SIGKILL');
	const session = await ended(id);
	assert.equal(session.frames_total, 20);
	assert.equal(session.state, 'crashed');
	assert.match(session.end_reason, /^killed by signal 9/);
	await until('nothing is attached', async () => (await world.api('/attachments')).attachments.length === 0);
	await until('the helper has ended', () => !helpers().includes(helper));
});

attaching('a game that ends in order has not crashed', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 2');
	game.stdin.end();
	const session = await ended(id);
	assert.deepEqual([session.state, session.end_reason, session.frames_total], ['ended', 'exit', 2]);
});

attaching('a game that begins to record itself is attached to no more', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 4');
	await game.do('mark 3');
	const session = await ended(id);
	assert.deepEqual([session.end_reason, session.frames_total], ['the game records itself from now on', 4]);
	await until('the probes are gone', () => isAsOnDisk(game.pid, program('libfake.so')));
	game.stdin.end();
	await game.done;
	const own = await until('its own session has ended', async () => (await world.api('/sessions')).sessions
		.find((one) => one.pid === game.pid && !one.attached && one.state !== 'live'));
	assert.equal(own.frames_total, 3);
});

attaching('without its helper an attachment ends', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 4');
	process.kill(Number(helper), 'SIGKILL');
	const session = await ended(id);
	assert.deepEqual([session.end_reason, session.frames_total], ['fprof-probe has ended', 4]);
	await until('the probes, which are its, are gone', () => isAsOnDisk(game.pid, program('libfake.so')));
	await attached(game); // by another one
	await stop(game);
});

attaching('an attachment ends with its daemon, be it killed', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 4');
	await until('they are stored', async () => (await world.api(`/sessions/${id}`)).frames_total === 4);
	world.daemon.kill('SIGKILL');
	await world.daemon.done;
	await until('the probes are gone', () => isAsOnDisk(game.pid, program('libfake.so')));
	await world.startDaemon();
	const session = await ended(id);
	assert.equal(session.frames_total, 4);
	assert.match(session.end_reason, /^detached, since fprofd was ended/);
	const next = await attached(game);
	await world.stopDaemon();
	await world.startDaemon();
	assert.equal((await ended(next)).end_reason, 'fprofd has ended');
	await stop(game);
});

attaching('another program in the same process is another game', async () => {
	const game = await play();
	const id = await attached(game);
	await game.do('render 2');
	game.stdin.write('exec\n');
	const session = await ended(id);
	assert.deepEqual([session.end_reason, session.frames_total], ['exec', 2]);
	const next = await attached(game);
	await game.do('render 3');
	await detach(next);
	assert.equal((await ended(next)).frames_total, 3);
	await stop(game);
});

attaching('what is ordered takes effect at the next frame', async () => {
	const game = await play();
	const id = await attached(game);
	const order = async (state) => {
		await world.request('PUT', `/api/v1/sessions/${id}/recording`, { body: JSON.stringify({ state }), headers: { 'content-type': 'application/json' } });
		return until(`it is ${state}`, async () => {
			await game.do('render 1');
			return (await world.api(`/sessions/${id}/recording`)).in_force === state;
		});
	};
	await game.do('render 10');
	await order('stopped');
	const before = (await world.api(`/sessions/${id}`)).frames_total;
	await game.do('render 10');
	await order('recording');
	await game.do('render 10');
	await detach(id);
	const session = await ended(id);
	const { frames } = await world.api(`/sessions/${id}/frames?last=600`);
	const paused = frames.filter((one) => one.flags.includes('paused'));
	assert.equal(paused.length, 1);
	assert.ok(session.frames_total > before + 20, `${before} ${session.frames_total}`);
	assert.ok(frames.length <= session.frames_total - 9, 'what was stopped has no rows');
	await stop(game);
});

attaching('detached, a game is as it was before', async () => {
	const game = await play();
	await game.do('render 1');
	const library = program('libfake.so');
	const before = maps(game.pid);
	assert.ok(isAsOnDisk(game.pid, library));
	const id = await attached(game);
	await game.do('render 10');
	assert.ok(!isAsOnDisk(game.pid, library), 'the probes are in the code');
	assert.ok(helpers().includes(helper));
	await detach(id);
	await ended(id);
	assert.ok(isAsOnDisk(game.pid, library));
	assert.ok(isAsOnDisk(game.pid, program('attached')));
	assert.deepEqual(maps(game.pid), before);
	await until('the helper has ended', () => !helpers().includes(helper));
	await game.do('render 1');
	await stop(game);
});

attaching('a game is recorded once', async () => {
	const game = await play();
	const id = await attached(game);
	const { status, body, answer } = await attach({ pid: game.pid });
	assert.deepEqual([status, body.type], [409, '/problems/already-recorded']);
	assert.match(body.detail, new RegExp(`session ${id}$`));
	assert.deepEqual(answerProblems('/api/v1/attachments', answer, 'post'), []);
	const list = await world.get('/api/v1/attachments');
	assert.deepEqual(answerProblems('/api/v1/attachments', list), []);
	assert.deepEqual(JSON.parse(list.text).attachments.map((one) => [one.session, one.pid]), [[id, game.pid]]);
	const gone = await detach(id);
	assert.deepEqual(answerProblems('/api/v1/attachments/{id}', gone.answer, 'delete'), []);
	assert.equal((await detach(id)).status, 404);
	await stop(game);
});

attaching('games are found by their name', async () => {
	const games = [await play(), await play()];
	const { status, body } = await attach({ name: 'attach?d' });
	assert.equal(status, 201);
	assert.deepEqual(body.attachments.map((one) => one.pid).sort(), games.map((one) => one.pid).sort());
	for (const game of games) {
		await game.do('render 4');
		game.kill('SIGKILL');
	}
	for (const one of body.attachments)
		assert.equal((await ended(one.session)).frames_total, 4);
	assert.equal((await attach({ name: 'no such game' })).status, 404);
});

attaching('a process without present functions is told what was looked for', async () => {
	const other = world.spawn('sleep', ['60']);
	const { status, body } = await attach({ pid: other.pid });
	assert.deepEqual([status, body.type], [422, '/problems/no-present-function']);
	assert.match(body.detail, /SDL_GL_SwapWindow, .*vkQueuePresentKHR/);
	assert.equal((await world.api('/status')).sources.find((one) => one.name === 'attach').state, 'off');
	await stop(other);
});

attaching('a game in a pid namespace goes by both its numbers', async (t) => {
	const shell = world.spawn('unshare', ['--pid', '--fork', '--kill-child', 'sh', '-c', `tail -f /dev/null | ${program('attached')} & read end`], { stdio: ['pipe', 'pipe', 'pipe'] });
	const inner = await until('the game runs', () => readdirSync('/proc').filter((one) => /^\d+$/.test(one)).find((pid) => {
		try {
			return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'attached\n' && /NSpid:\t\d+\t\d+\n/.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
		} catch {
			return false;
		}
	}) || (shell.exitCode !== null && 'none'));
	await until('it is ready', () => inner === 'none' || shell.text.includes('ready'));
	if (inner === 'none')
		return t.skip(`no pid namespace can be made here: ${shell.text}`);
	const own = Number(/NSpid:\t\d+\t(\d+)\n/.exec(readFileSync(`/proc/${inner}/status`, 'utf8'))[1]);
	for (const pid of [Number(inner), own]) {
		const { status, body, answer } = await attach({ pid });
		assert.equal(status, 201, answer.text);
		assert.equal(body.attachments[0].pid, Number(inner));
		await detach(body.attachments[0].session);
		const session = await ended(body.attachments[0].session);
		assert.deepEqual([session.pid, session.ns_pid], [Number(inner), own]);
		const { threads } = await world.api(`/sessions/${session.id}/threads`);
		assert.deepEqual(threads.map((one) => one.tid), [own]);
	}
	await stop(shell);
	return undefined;
});

test('nobody attaches to another user\'s game', { skip: cannotSwitchUser }, async (t) => {
	if (off)
		return t.skip(off);
	const game = await play();
	const ask = async (...args) => {
		const curl = world.spawn('curl', ['-s', '-m', '20', '-w', '\n%{http_code}', ...args], { uid: 65534, gid: 65534 });
		const { text } = await curl.done;
		return { status: Number(text.split('\n').pop()), text };
	};
	const url = `http://127.0.0.1:${world.port}/api/v1/attachments`;
	const refused = await ask('-d', JSON.stringify({ pid: game.pid }), '-H', 'content-type: application/json', url);
	assert.equal(refused.status, 403, refused.text);
	assert.match(refused.text, /not-yours/);
	assert.equal((await ask('-d', '{"name":"attached"}', '-H', 'content-type: application/json', url)).status, 404);
	const id = await attached(game);
	assert.match((await ask(url)).text, /"attachments":\[\]/);
	assert.equal((await ask('-X', 'DELETE', `${url}/${id}`)).status, 404);
	assert.equal((await world.api('/attachments')).attachments.length, 1);
	await detach(id);
	await stop(game);
	return undefined;
});

test('a body that names no process is refused', async () => {
	for (const [body, parameter] of [[{}, 'pid'], [{ pid: 0 }, 'pid'], [{ pid: '1' }, 'pid'], [{ pid: 2 ** 40 }, 'pid'], [{ name: '' }, 'name'],
		[{ name: 'a', pid: 1 }, 'name'], [{ name: 1 }, 'name'], [{ name: 'x'.repeat(300) }, 'name']]) {
		const { status, body: problem, answer } = await attach(body);
		assert.deepEqual([status, problem.type, problem.parameter], [400, '/problems/bad-parameter', parameter], answer.text);
		assert.deepEqual(answerProblems('/api/v1/attachments', answer, 'post'), []);
	}
	assert.equal((await attach({ pid: 4194304 })).status, 404);
	assert.equal((await detach('x')).status, 400);
});

attaching('doom, attached while it runs, has the frames that it draws', async (t) => {
	if (!existsSync(DOOM) || !existsSync(WAD))
		return t.skip('chocolate-doom and freedoom are not installed');
	const counted = program('presents');
	const drawn = () => Number(readFileSync(counted).readBigUInt64LE());
	const game = world.spawn(DOOM, ['-iwad', WAD, '-playdemo', 'demo1', '-nosound', '-nogui'], { env: { SDL_VIDEODRIVER: 'dummy',
		SDL_AUDIODRIVER: 'dummy', HOME: world.dir, LD_PRELOAD: program('presents.so'), PRESENTS_LIVE: counted } });
	await until('Doom draws', () => existsSync(counted) && drawn() > 20);
	const started = drawn();
	const id = await attached(game);
	const attachedAt = drawn();
	await world.live(game.pid, 50);
	const before = drawn();
	await detach(id);
	const after = drawn();
	const session = await ended(id);
	assert.ok(session.frames_total >= before - attachedAt && session.frames_total <= after - started,
		`${session.frames_total} frames, of ${before - attachedAt} to ${after - started} that it drew`);
	const { frames } = await world.api(`/sessions/${id}/frames?last=50`);
	assert.ok(frames.every((one) => one.wait_ns.present > 0 && one.wait_ns.present < one.wall_ns));
	const verdict = await world.api(`/sessions/${id}/verdict?from=10&to=40`);
	assert.ok(verdict.frames.every((one) => one.kernel), 'the scheduler is seen, too');
	await stop(game);
	return undefined;
});

test('an fprofd without privileges attaches by the service, to its own user\'s games', { skip: cannotSwitchUser }, async (t) => {
	if (off)
		return t.skip(off);
	const theirs = new World();
	const nobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
	const caps = '+bpf,+perfmon,+sys_ptrace,+dac_read_search';
	const service = ['setpriv', '--reuid=65533', '--regid=65533', '--clear-groups', `--inh-caps=${caps}`, `--ambient-caps=${caps}`,
		path.join(BUILD, 'fprof-probe'), '--socket', '/run/fprof-probe/probe.sock'];
	const own = path.join(theirs.dir, 'secret'); // what only they may read
	execFileSync('sh', ['-c', `mkdir ${own} && cp ${program('attached')} ${program('libfake.so')} ${own} && chown -R 65534:65534 ${theirs.dir} && chmod 700 ${own}`]);
	await theirs.startDaemon([], {}, ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs tmpfs /run && mkdir -m 777 /run/fprof-probe || exit 77; '
		+ `${service.join(' ')} >/dev/null 2>&1 & echo $! >${theirs.dir}/service; exec ${nobody.join(' ')} "$@"`, 'sh']);
	t.after(() => {
		process.kill(Number(readFileSync(path.join(theirs.dir, 'service'), 'utf8')));
		return theirs.close();
	});
	const start = (uid) => theirs.spawn(path.join(own, 'attached'), [], { uid, gid: uid, stdio: ['pipe', 'pipe', 'pipe'],
		env: { LD_LIBRARY_PATH: own } });
	const ask = (pid) => theirs.spawn('curl', ['-s', '-d', JSON.stringify({ pid }), '-H', 'content-type: application/json',
		`http://127.0.0.1:${theirs.port}/api/v1/attachments`], { uid: 65534, gid: 65534 }).done;
	const game = start(65534);
	await until('the game is ready', () => game.text.includes('ready'));
	const { text } = await ask(game.pid);
	assert.match(text, /"attachments":\[\{"session":/);
	game.stdin.write('render 9\n');
	await until('it has presented', () => game.text.includes('done'));
	game.stdin.end();
	await game.done;
	const list = await until('its session has ended', async () => {
		const { text: sessions } = await theirs.spawn('curl', ['-s', `http://127.0.0.1:${theirs.port}/api/v1/sessions`], { uid: 65534, gid: 65534 }).done;
		return /"state":"ended"/.test(sessions) && JSON.parse(sessions).sessions;
	});
	assert.deepEqual([list[0].frames_total, list[0].uid, list[0].attached], [9, 65534, true]);
	return undefined;
});
