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

/** The verdict over the frames of one game; null where the game cannot be played here. wait: until it is traced. */
export async function play(world, program, mode, { frames = 60, ms = MS, wait = 700 } = {}) {
	const child = world.spawn(program, [mode, `${frames}`, `${ms}`], { cwd: mode === 'disk' || mode === 'cold' ? BUILD : world.dir,
		env: { HELD_MS: `${wait}` } });
	const { code, text } = await child.done;
	if (code === 77)
		return null;
	assert.equal(code, 0, text);
	return judged(world, await world.ended(child.pid), frames);
}

/** Why the scheduler cannot be traced here, or false. Plays a game. */
export async function untraceable(world, program) {
	const first = await play(world, program, 'cap', { frames: 5, wait: 1500 });
	const scheduler = (await world.api('/status')).sources.find((one) => one.name === 'scheduler');
	return first.frames.some((one) => one.kernel) ? false
		: `the scheduler cannot be traced here: ${scheduler.reason ?? 'no frame was traced'}`;
}

export const ns = (verdict, part) => verdict.parts.find((one) => one.part === part)?.ns ?? 0;
export const share = (verdict, part) => ns(verdict, part) / verdict.wall_ns;

function exact(verdict) {
	for (const one of [verdict, ...verdict.frames]) {
		assert.equal(one.parts.reduce((sum, part) => sum + part.ns, 0), one.wall_ns, 'parts add up');
		for (const { ns: all, evidence_ns: by } of one.parts)
			assert.equal(by.zone + by.kernel + by.both, all, 'evidence adds up');
	}
}
