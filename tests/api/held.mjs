// SPDX-License-Identifier: MIT
// Games that are held by what they are asked for (held.c), and the verdict over them.

import assert from 'node:assert/strict';

import { answerProblems } from './schema.mjs';
import { BUILD, until } from './world.mjs';

export const MS = 5;

/** The verdict over a session that has ended. */
export async function judged(world, session, frames) {
	await until('the scheduler\'s chunks are stored', async () => (await world.api('/status')).history.queued_bytes === 0);
	const answer = await world.get(`/api/v1/sessions/${session.id}/verdict?from=2&to=${frames + 1}`);
	assert.equal(answer.status, 200, answer.text);
	assert.deepEqual(answerProblems('/api/v1/sessions/{id}/verdict', answer), []);
	const verdict = JSON.parse(answer.text);
	exact(verdict);
	return verdict;
}

/** The verdict over the frames of one game; null where the game cannot be played here. wait: until it is traced.
 * queued: the share of the time in which the marking thread waited for a CPU, as the kernel told the game. */
export async function play(world, program, mode, { frames = 60, ms = MS, wait = 700 } = {}) {
	const child = world.spawn(program, [mode, `${frames}`, `${ms}`], { cwd: mode === 'disk' || mode === 'cold' ? BUILD : world.dir,
		env: { HELD_MS: `${wait}` } });
	const { code, text } = await child.done;
	if (code === 77)
		return null;
	assert.equal(code, 0, text);
	const verdict = await judged(world, await world.ended(child.pid), frames);
	return { ...verdict, queued: Number(/^queued (\d+) ns$/m.exec(text)[1]) / verdict.wall_ns };
}

/** Why the scheduler cannot be traced here, or false: a game is there until that is known. */
export async function untraceable(world) {
	const game = world.game(['--frames', '0', '--fps', '50', '--zones', '20']);
	const scheduler = await until('the scheduler was tried', async () =>
		(await world.api('/status')).sources.find((one) => one.name === 'scheduler' && one.state !== 'off'));
	game.kill();
	await game.done;
	await world.ended(game.pid);
	return scheduler.state === 'on' ? false : `the scheduler cannot be traced here: ${scheduler.reason}`;
}

export const ns = (verdict, part) => verdict.parts.find((one) => one.part === part)?.ns ?? 0;
export const share = (verdict, part) => ns(verdict, part) / verdict.wall_ns;

function exact(verdict) {
	for (const one of [verdict, ...verdict.frames]) {
		assert.equal(one.parts.reduce((sum, part) => sum + part.ns, 0), one.wall_ns, 'parts add up');
		for (const { ns: all, evidence_ns: by } of one.parts)
			assert.equal(by.zone + by.kernel + by.both + by.denied, all, 'evidence adds up');
	}
}
