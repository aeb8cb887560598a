// SPDX-License-Identifier: MIT
// Where kernel programs cannot be had the status says why, and what would help; games are recorded all the same.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { ROOT, World, until } from './world.mjs';

const shell = (script) => ['sh', '-c', `${script} && exec "$@"`, 'sh'];
const root = process.getuid() === 0;

/** What a command in front of fprofd takes away: what it is called, the command, the reason, the fix. */
const lacks = [
	['capabilities', ['setpriv', '--bounding-set=-bpf,-perfmon,-sys_admin'], /CAP_BPF and CAP_PERFMON/, /^sudo systemctl enable --now fprof-probe.socket/],
	['the initial pid namespace', ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'], /pid namespace of its own/, /--pid=host/],
	['the initial user namespace', ['unshare', '--user', '--map-root-user'], /user namespace/, /on the host/],
	['bpf(2), by seccomp', ['FORBIDS'], /seccomp filter/, /seccomp=unconfined/],
	['BTF', ['unshare', '--mount', ...shell('mount -t tmpfs tmpfs /sys/kernel/btf')], /no BTF/, /CONFIG_DEBUG_INFO_BTF/],
	['an open kernel', ['unshare', '--mount', ...shell('mount -t tmpfs tmpfs /sys/kernel/security'
		+ ' && echo "none integrity [confidentiality]" >/sys/kernel/security/lockdown'), 'FORBIDS'], /locked down/, /lockdown=integrity/],
];

for (const [what, through, reason, fix] of lacks)
	test(`without ${what} attaching is unavailable, and says why`, { skip: root ? false : 'taking it away needs root' }, async (t) => {
		const world = new World();
		t.after(() => world.close());
		const forbids = path.join(world.dir, 'forbids');
		execFileSync(process.env.CC ?? 'cc', ['-D_GNU_SOURCE', '-o', forbids, path.join(ROOT, 'tests/api/forbids.c')]);
		const command = through.map((one) => (one === 'FORBIDS' ? forbids : one));
		const able = spawnSync(command[0], [...command.slice(1), 'true']);
		if (able.status !== 0)
			return t.skip(`it cannot be taken away here: ${able.stderr ?? able.error}`);
		await world.startDaemon([], {}, command);
		const namespaced = command.includes('--pid');
		let early;
		await until({ toString: () => `before a game is there it is said: ${JSON.stringify(early)}` }, async () => {
			early = (await world.api('/status')).sources.filter(({ name }) => ['scheduler', 'attach', 'stacks'].includes(name));
			return early.length === 3 && early.every((one) => one.state === 'unavailable');
		});
		for (const one of early)
			assert.match(`${one.reason} ${one.fix}`, reason);
		const answer = await world.request('POST', '/api/v1/attachments', { headers: { 'content-type': 'application/json' },
			body: JSON.stringify({ pid: namespaced ? 1 : world.daemon.pid }) });
		assert.equal(answer.status, 503, answer.text);
		assert.equal(JSON.parse(answer.text).type, '/problems/source-unavailable');
		const source = async (name) => (await world.api('/status')).sources.find((one) => one.name === name);
		const attach = await source('attach');
		assert.equal(attach.state, 'unavailable');
		assert.match(attach.reason, reason);
		assert.match(attach.fix, fix);
		if (namespaced) { // a game would have to be in there, too, and unshare hands no signal on
			world.daemon.kill('SIGKILL');
			await world.daemon.done;
			return undefined;
		}
		const session = await world.played(['--frames', '20', '--fps', '0']);
		assert.equal(session.frames_total, 20);
		const scheduler = await until('the scheduler was tried', async () => {
			const one = await source('scheduler');
			return one.state === 'unavailable' && one;
		});
		assert.deepEqual([scheduler.reason, scheduler.fix], [attach.reason, attach.fix]);
		return undefined;
	});

test('displays are asked or configured, or it is said why they are not known', async (t) => {
	const world = new World();
	t.after(() => world.close());
	const displays = async () => (await world.api('/status')).sources.find((one) => one.name === 'displays');
	await world.startDaemon();
	const asked = await displays();
	if (asked.state === 'on')
		assert.deepEqual([asked.reason, asked.fix], [null, null]);
	else
		assert.match(`${asked.state}: ${asked.reason}`, /^unavailable: (no DRM device is to be seen: .*|no display is on|.* cannot be opened: .*)$/);
	if (asked.fix?.includes('display_hz')) { // the command is one: it does what it says
		execFileSync('sh', ['-c', asked.fix]);
		await until('the command turned it on', async () => (await displays()).state === 'on');
	}
	writeFileSync(world.config, 'triggers = []\ndisplay_hz = 143.98, 60\n');
	world.daemon.kill('SIGHUP');
	await until('it is on', async () => (await displays()).state === 'on');
	const { facts } = await world.api(`/sessions/${(await world.played(['--frames', '5'])).id}`);
	assert.deepEqual([facts.display_hz, facts.display_source], ['143.98, 60', 'configured']);
	await world.stopDaemon();
	writeFileSync(world.config, 'display_hz = 19\n');
	const { code, text } = await world.spawnDaemon().done;
	assert.equal(code, 78);
	assert.match(text, /fprofd\.conf:1: display_hz = 19: must be rates in Hz from 20 to 1000, at most 16, separated by commas/);
});

test('where nobody listens, who is not root is told what to start', { skip: root ? false : 'becoming another user needs root' }, async (t) => {
	if (existsSync('/run/fprof-probe/probe.sock'))
		return t.skip('the service runs here');
	const world = new World();
	t.after(() => world.close());
	execFileSync('chown', ['-R', '65534:65534', world.dir]);
	await world.startDaemon([], {}, ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']);
	const answer = await world.spawn('curl', ['-s', '-d', JSON.stringify({ pid: world.daemon.pid }), '-H', 'content-type: application/json',
		`http://127.0.0.1:${world.port}/api/v1/attachments`], { uid: 65534, gid: 65534 }).done;
	assert.match(answer.text, /source-unavailable/);
	const attach = (await world.api('/status')).sources.find((one) => one.name === 'attach');
	assert.deepEqual([attach.state, attach.reason, attach.fix], ['unavailable', 'nobody listens at /run/fprof-probe/probe.sock',
		'sudo systemctl enable --now fprof-probe.socket']);
	return undefined;
});
