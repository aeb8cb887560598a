// SPDX-License-Identifier: MIT
// A game that marks no frame for a minute: what it did is there to be asked for all the time, and takes no more memory
// and no more history than the budget.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { BUILD, until, World } from '../api/world.mjs';

const BUDGET_MIB = 16;
const RINGS_MIB = 1;
const DAEMON_MIB = 32; // beside the budget and the rings
const world = new World();

before(() => {
	const config = path.join(world.dir, 'conf');
	writeFileSync(config, `history_mib = ${BUDGET_MIB}\nhistory_session_mib = ${BUDGET_MIB}\n`);
	return world.startDaemon(['--config', config]);
});
after(() => world.close());

const peakMib = () => Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${world.daemon.pid}/status`, 'utf8'))[1]) / 1024;

test('no frame mark at all for a minute: the tail answers, memory and history stay within bounds', async (t) => {
	const game = world.spawn(path.join(BUILD, 'tests/stress/misbehave'), ['nomark', '60000']);
	const { id } = await until('the game is seen', async () =>
		(await world.api('/sessions')).sessions.find((one) => one.pid === game.pid));
	let ended = false, tails = 0, before = 0n, most = 0;
	const end = game.done.finally(() => { ended = true; });
	while (!ended) {
		const tail = await world.api(`/sessions/${id}/frames/tail`);
		assert.equal(tail.frame, null);
		assert.ok(tail.flags.includes('unfinished'));
		const now = BigInt(tail.begin_ns) + BigInt(tail.wall_ns);
		assert.ok(now >= before, 'the tail goes on');
		before = now;
		tails++;
		const { history } = await world.api('/status');
		most = Math.max(most, history.used_bytes);
		await new Promise((resolve) => setTimeout(resolve, 1000));
	}
	const { code, text } = await end;
	assert.equal(code, 0, text);
	assert.ok(tails > 5, `${tails} tails`);
	const session = await world.ended(game.pid);
	assert.equal(session.frames_total, 0);
	assert.equal(session.ledger.produced, Number(/events (\d+)/.exec(text)[1]) + 1);
	assert.equal(session.ledger.produced, session.ledger.received + session.ledger.overwritten);
	assert.equal(session.ledger.received, session.ledger.stored + session.ledger.discarded);
	t.diagnostic(`${session.ledger.produced} events, history at most ${(most / 2 ** 20).toFixed(1)} MiB, ` +
		`daemon at most ${peakMib().toFixed(1)} MiB`);
	assert.ok(most > 0 && most <= 1.25 * BUDGET_MIB * 2 ** 20 + 4 * 2 ** 20, `history took ${most} bytes`);
	assert.ok(peakMib() <= DAEMON_MIB + BUDGET_MIB + RINGS_MIB, `the daemon took ${peakMib()} MiB`);
});
