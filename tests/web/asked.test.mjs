// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { ApiError } from '../../web/api.js';
import { Asked } from '../../web/asked.js';

/** A daemon that answers when it is told to. */
class Slow {
	constructor() {
		this.open = [];
		this.asked = [];
		this.most = 0;
	}

	get(path) {
		this.asked.push(path);
		const answer = new Promise((resolve, reject) => this.open.push({ path, resolve, reject }));
		this.most = Math.max(this.most, this.open.length);
		return answer;
	}

	answer(error) {
		const { path, resolve, reject } = this.open.shift();
		if (error)
			reject(error);
		else
			resolve(`answer to ${path}`);
	}

	/** An Asked of this daemon, and a promise of its next change. */
	asker() {
		const asker = { next: null };
		asker.asked = new Asked(() => asker.told?.(), (path) => this.get(path));
		asker.change = () => new Promise((resolve) => { asker.told = resolve; });
		return asker;
	}
}

/** Waits for timers and promises that are due, until this is so. */
async function until(what) {
	while (!what())
		await new Promise((resolve) => setTimeout(resolve, 1));
}

test('all questions are answered, no more than two at once', async () => {
	const slow = new Slow();
	const askers = Array.from({ length: 6 }, () => slow.asker());
	askers.forEach(({ asked }, at) => asked.want(`/${at}`));
	for (let n = 0; n < 6; n++) {
		await until(() => slow.open.length > 0);
		slow.answer();
	}
	await until(() => askers.every(({ asked }) => asked.fresh));
	assert.equal(slow.most, 2);
	assert.deepEqual(askers.map(({ asked }) => asked.answer), [0, 1, 2, 3, 4, 5].map((at) => `answer to /${at}`));
});

test('the newest question wins, and one that waits for its turn is asked as it is then', async () => {
	const slow = new Slow();
	const [first, second, third] = [slow.asker(), slow.asker(), slow.asker()];
	first.asked.want('/first');
	second.asked.want('/second');
	await until(() => slow.open.length === 2);
	third.asked.want('/old');
	await until(() => third.asked.asking);
	third.asked.want('/new');
	slow.answer();
	await until(() => slow.open.length === 2);
	assert.deepEqual(slow.asked, ['/first', '/second', '/new']);
	slow.answer();
	slow.answer();
	await until(() => third.asked.fresh);
	assert.equal(third.asked.answer, 'answer to /new');
});

test('a problem is kept in words, and what was known stays', async () => {
	const slow = new Slow();
	const { asked } = slow.asker();
	asked.want('/one');
	await until(() => slow.open.length === 1);
	slow.answer();
	await until(() => asked.fresh);
	asked.want('/two');
	await until(() => slow.open.length === 1);
	slow.answer(new ApiError(404, 'there is no such thing'));
	await until(() => asked.problem);
	assert.deepEqual([asked.problem, asked.answer], ['there is no such thing', 'answer to /one']);
	asked.want(null);
	assert.deepEqual([asked.problem, asked.answer], ['', null]);
});
