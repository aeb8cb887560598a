// SPDX-License-Identifier: MIT
import assert from 'node:assert/strict';
import test from 'node:test';

import { Lease } from '../../web/lease.js';

globalThis.window = new EventTarget();
globalThis.document = Object.assign(new EventTarget(), { hidden: false });

/** A daemon that answers when it is told to. */
function slowDaemon() {
	const asked = [];
	globalThis.fetch = (path, { method }) => new Promise((resolve, reject) => asked.push({
		what: `${method} ${path.replace('/api/v1', '')}`,
		give: (token) => resolve(new Response(JSON.stringify({ token }), { status: 201 })),
		lose: () => reject(new TypeError('connection reset')),
	}));
	return asked;
}

const done = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const whats = (asked) => asked.map(({ what }) => what);

/** A lease that was asked for, lost its daemon, and was asked for again. */
async function askedTwice() {
	const asked = slowDaemon();
	const model = { session: { id: 5, state: 'live' }, connection: 'connected' };
	const lease = new Lease(model);
	for (const connection of ['connected', 'disconnected', 'connected']) {
		model.connection = connection;
		lease.follow();
		await done();
	}
	assert.deepEqual(whats(asked), ['POST /consumers', 'POST /consumers']);
	return { asked, lease };
}

test('a request that a daemon left without an answer takes no second lease', async () => {
	const { asked, lease } = await askedTwice();
	asked[1].give('new');
	await done();
	asked[0].lose();
	await done();
	lease.follow();
	await done();
	assert.equal(asked.length, 2);
	lease.hold(0);
	await done();
	assert.deepEqual(whats(asked).slice(2), ['DELETE /consumers/new']);
});

test('an answer to an older request is let go of, whichever comes first', async () => {
	const { asked, lease } = await askedTwice();
	asked[0].give('old');
	await done();
	assert.deepEqual(whats(asked).slice(2), ['DELETE /consumers/old']);
	asked[1].give('new');
	await done();
	lease.hold(0);
	await done();
	assert.deepEqual(whats(asked).slice(3), ['DELETE /consumers/new']);
});
