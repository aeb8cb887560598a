// SPDX-License-Identifier: MIT
// What a query may take of memory. Its limit is of the address space, of which the sanitizers need all.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { World } from './world.mjs';

const world = new World();
before(() => {
	writeFileSync(path.join(world.dir, 'conf'), 'query_seconds = 60\n'); // a busy machine is not to be first
	return world.startDaemon(['--config', path.join(world.dir, 'conf')]);
});
after(() => world.close());

const skip = process.env.FPROF_SANITIZED ? 'limits on memory are left to the sanitizers' : false;

for (const [what, sql, status, type, detail] of [
	['what it sorts', `WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 100)
		SELECT hex(zeroblob(7000000)) AS b FROM t ORDER BY b`, 422, 'query-takes-too-much-memory', /256 MiB/],
	['a value', 'SELECT zeroblob(2000000000)', 400, 'bad-sql', /too big/],
]) {
	test(`memory is bounded: ${what}`, { skip }, async () => {
		const answer = await world.request('POST', '/api/v1/query', { body: sql });
		assert.equal(answer.status, status, answer.text.slice(0, 300));
		const problem = JSON.parse(answer.text);
		assert.equal(problem.type, `/problems/${type}`);
		assert.match(problem.detail, detail);
	});
}
