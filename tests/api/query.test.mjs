// SPDX-License-Identifier: MIT
// SQL over what was recorded: the same as the API answers, the asker's only, nothing but reading, within limits.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { answerProblems } from './schema.mjs';
import { BUILD, ROOT, World, cannotSwitchUser, until } from './world.mjs';

const NOBODY = 65534;
const FRAMES = 120;
const world = new World();
const hasty = new World(); // whose queries may take a second
let session, history;

/** One query, held against the document. */
async function query(sql, { params, what = '', headers = {}, of = world } = {}) {
	const answer = await of.request('POST', `/api/v1/query${what}`,
		{ headers, body: params ? JSON.stringify({ sql, params }) : sql });
	if (!(answer.headers['content-type'] ?? '').startsWith('text/csv'))
		assert.deepEqual(answerProblems('/api/v1/query', answer, 'post'), [], sql);
	return answer;
}

/** Its rows; it must be good. */
async function rows(sql, options) {
	const answer = await query(sql, options);
	assert.equal(answer.status, 200, `${sql}: ${answer.text.slice(0, 300)}`);
	return JSON.parse(answer.text).rows;
}

async function refused(sql, status, type, detail, options) {
	const answer = await query(sql, options);
	assert.equal(answer.status, status, `${sql}: ${answer.text.slice(0, 300)}`);
	const problem = JSON.parse(answer.text);
	assert.equal(problem.type, `/problems/${type}`, sql);
	assert.match(problem.detail, detail, sql);
	return problem;
}

before(async () => {
	writeFileSync(path.join(hasty.dir, 'conf'), 'query_seconds = 1\n');
	await hasty.startDaemon(['--config', path.join(hasty.dir, 'conf')]);
	await hasty.played(['--frames', '20', '--fps', '0', '--zones', '300']);
	writeFileSync(path.join(world.dir, 'conf'), 'query_seconds = 60\n');
	await world.startDaemon(['--config', path.join(world.dir, 'conf')]);
	session = await world.played(['--frames', String(FRAMES), '--fps', '240', '--zones', '300', '--hitch-every', '50',
		'--hitch-ms', '20'], { FPROF_NAME: 'the game' });
	history = path.join(world.run, 'history.db');
});
after(() => Promise.all([world.close(), hasty.close()]));

const ZONE = 'track, thread, name, category, file, line, begin_ns, duration_ns, depth, parent, flags, full_begin_ns, text, value';
const FLAGS = ['clipped_begin', 'clipped_end', 'truncated', 'open', 'unbalanced', 'unclosed', 'overlap'];

/** A zone of frames/{n} as a row of ZONE. */
function rowOf(thread, zone) {
	const flags = zone.flags.reduce((sum, name) => sum + (1 << FLAGS.indexOf(name)), 0);
	return [thread.track ?? thread.id, thread.name, zone.name, zone.category, zone.file, zone.line, zone.start_ns, zone.duration_ns,
		zone.depth, zone.parent, flags, zone.full_start_ns ?? zone.start_ns, zone.text ?? null, zone.value ?? null];
}

/** A query of zones against the frames, or the tail, that it is to find. */
async function sameZones(where, details) {
	const got = await rows(`SELECT ${ZONE} FROM zones WHERE session = ${session.id} AND ${where} ORDER BY frame, track, zone`);
	const expected = details.flatMap(({ threads }) => threads.map((thread) => thread.zones.map((zone) => rowOf(thread, zone)))
		.filter((zones) => zones.length > 0).sort(([a], [b]) => a[0] - b[0]).flat());
	assert.deepEqual(got, expected, where);
	return got.length;
}

test('zones of frames are those of frames/{n}', async () => {
	let count = 0;
	for (let from = 1, n = 1; from <= FRAMES; from += n++) { // one, two, three, ... at once
		const details = [];
		for (let frame = from; frame < from + n && frame <= FRAMES; frame++)
			details.push(await world.api(`/sessions/${session.id}/frames/${frame}?max_zones=200000`));
		count += await sameZones(`frame >= ${from} AND frame < ${from + n}`, details);
	}
	assert.ok(count > FRAMES * 200, `${count} zones`);
	assert.deepEqual(await rows('SELECT count(*) FROM zones WHERE frame IS NOT NULL'), [[count]]);
});

test('zones behind the last frame are those of its tail', async () => {
	await sameZones('frame IS NULL', [await world.api(`/sessions/${session.id}/frames/tail`)]);
});

test('what narrows a scan changes nothing of it', async () => {
	for (const [table, key] of [['zones', 'begin_ns'], ['events', 't_ns']]) {
		for (const where of ['frame = 7', 'frame BETWEEN 3 AND 9', 'frame > 3.5 AND frame <= 8.5', 'track = 2', `thread = 'main'`,
			'frame IN (2, 9, 11)', `session = ${session.id} AND frame < 4`, 'session = 4711', 'frame = NULL',
			`${key} BETWEEN 100000000 AND 200000000`, `${key} < 90000000.5 AND thread <> 'main'`]) {
			const narrow = `SELECT count(*), total(${key}), min(${key}) FROM ${table} WHERE ${where}`;
			const wide = `SELECT count(*), total(${key}), min(${key}) FROM (SELECT session + 0 AS session, frame + 0 AS frame, `
				+ `track + 0 AS track, thread || '' AS thread, ${key} + 0 AS ${key} FROM ${table}) WHERE ${where}`;
			assert.deepEqual(await rows(narrow), await rows(wide), narrow);
		}
		const [[text], [number]] = await rows(`SELECT count(*) FROM ${table} WHERE frame = '5' UNION ALL SELECT count(*) FROM ${table} WHERE frame = 5`);
		assert.equal(text, number, table);
	}
});

test('self times of a frame sum to its outermost zones', async () => {
	assert.deepEqual(await rows(`SELECT session, frame, track, sum(self_ns) AS self, total(iif(parent IS NULL, duration_ns, 0)) AS roots
		FROM zones GROUP BY session, frame, track HAVING self <> roots`), []);
});

test('paths lead from the thread through the parents', async () => {
	assert.deepEqual(await rows(`SELECT count(*) FROM zones z WHERE frame = 30 AND (json_extract(path, '$[0]') <> thread
		OR json_array_length(path) <> depth + 2 OR json_extract(path, '$[#-1]') <> name)`), [[0]]);
	assert.ok((await rows(`SELECT path FROM zones WHERE frame = 30 AND name = 'work'`)).some(([one]) => one.startsWith('["main","frame",')));
});

test('events are all that is stored, and nest to zones', async () => {
	const [[events, stored]] = await rows('SELECT (SELECT count(*) FROM events), (SELECT sum(events) FROM chunks)');
	assert.equal(events, stored);
	const kinds = new Map(await rows(`SELECT kind, count(*) FROM events GROUP BY kind`));
	assert.equal(kinds.get('damaged'), undefined);
	assert.equal(kinds.get('mark'), (await rows('SELECT count(*) FROM frames'))[0][0]);
	const [[zones]] = await rows('SELECT count(*) FROM zones WHERE NOT flags & 1');
	assert.equal((kinds.get('begin') ?? 0) + (kinds.get('next') ?? 0), zones);
	assert.deepEqual(await rows(`SELECT name, sum(kind = 'begin') - sum(kind = 'end') AS open FROM events
		WHERE kind IN ('begin', 'end') GROUP BY name HAVING open <> 0`), []);
});

test('frames, counters and GPU work are as elsewhere', async () => {
	const { frames } = await world.api(`/sessions/${session.id}/frames?last=3600`);
	assert.deepEqual(await rows('SELECT frame, wall_ns, cpu_ns, gpu_ns FROM frame_times ORDER BY frame'),
		frames.map((one) => [one.frame, one.wall_ns, one.cpu_ns, one.gpu_ns]));
	const detail = await world.api(`/sessions/${session.id}/frames/50`);
	const values = new Map(await rows('SELECT name, value FROM counters WHERE frame = 50 AND stream = 0'));
	assert.ok(values.size > 0);
	for (const counter of detail.counters)
		assert.equal(values.get(counter.name) ?? null, counter.value, counter.name); // no row: it had no value yet
	assert.deepEqual(await rows('SELECT track, name, begin_ns, duration_ns, submission FROM gpu_zones WHERE frame = 50 ORDER BY begin_ns'),
		detail.gpu_spans.map((one) => [one.queue, one.name, one.start_ns, one.duration_ns, one.submission]));
	assert.ok(detail.gpu_spans.length > 0);
});

test('values have their types', async () => {
	const answer = await query(`SELECT 1 AS a, 9007199254740993 AS a, 1.5, 'x"y', NULL, x'00ff', 1e999`);
	assert.match(answer.text, /"columns":\["a","a",/);
	assert.match(answer.text, /\[1,9007199254740993,1\.5,"x\\"y",null,"00ff",null\]/);
});

test('parameters go by number and by name', async () => {
	assert.deepEqual(await rows('SELECT ?, ?2 || ?3, ?4', { params: [1, 'a', 'b', null] }), [[1, 'ab', null]]);
	assert.deepEqual(await rows('SELECT :a + @b, $c', { params: { a: 1, b: 2.5, c: true } }), [[3.5, 1]]);
	const get = await world.api(`/query?sql=${encodeURIComponent('SELECT ? AS x')}&params=${encodeURIComponent('["it"]')}`);
	assert.deepEqual(get.rows, [['it']]);
	await refused('SELECT ?, ?', 400, 'bad-parameter', /2 parameters, not 1/, { params: [1] });
	await refused('SELECT :x', 400, 'bad-parameter', /parameter 1 \(:x\)/, { params: { y: 1 } });
	await refused('SELECT ?', 400, 'bad-parameter', /parameter 1/);
	await refused('SELECT ?', 400, 'bad-body', /"params" is an array/, { params: [[1]] });
});

test('CSV is that of RFC 4180', async () => {
	const sql = `SELECT 1 AS a, 'x,y' AS "b""c", 'q"q' AS d, NULL AS e, '' AS f, 1.5 AS g, 'l' || char(13, 10) || 'm' AS h`;
	for (const options of [{ what: '?format=csv' }, { headers: { accept: 'text/csv' } }]) {
		const answer = await query(sql, options);
		assert.equal(answer.status, 200);
		assert.equal(answer.headers['content-type'], 'text/csv; charset=utf-8; header=present');
		assert.equal(answer.text, 'a,"b""c",d,e,f,g,h\r\n1,"x,y","q""q",,"",1.5,"l\r\nm"\r\n');
	}
	const both = await query('SELECT 1', { what: '?format=json', headers: { accept: 'text/csv' } });
	assert.equal(both.headers['content-type'], 'application/json');
});

test('an answer that is cut says so, CSV fails', async () => {
	const cut = JSON.parse((await query('SELECT * FROM zones', { what: '?limit=5' })).text);
	assert.equal(cut.rows.length, 5);
	assert.equal(cut.truncated, true);
	const whole = JSON.parse((await query('SELECT 1 UNION ALL SELECT 2', { what: '?limit=2' })).text);
	assert.deepEqual([whole.rows.length, whole.truncated], [2, false]);
	await refused('SELECT * FROM zones', 422, 'answer-too-large', /raise limit/, { what: '?limit=5&format=csv' });
});

test('nothing is written, attached or loaded', async () => {
	const before = await rows('SELECT * FROM session_list');
	for (const sql of ['DELETE FROM sessions', 'UPDATE frames SET frame = 0', 'DELETE FROM zones', 'DELETE FROM sqlite_schema'])
		await refused(sql, 400, 'bad-sql', /may not be modified/);
	for (const sql of ['INSERT INTO markers DEFAULT VALUES', 'DROP TABLE zones', 'CREATE TABLE x(y)', 'CREATE TEMP TABLE x(y)', 'CREATE VIEW x AS SELECT 1', 'CREATE VIRTUAL TABLE x USING fts5(y)',
		`ATTACH '${history}' AS x`, `ATTACH ':memory:' AS x`, `VACUUM INTO '${world.dir}/copy'`, 'VACUUM', 'PRAGMA journal_mode=DELETE',
		'PRAGMA query_only=OFF', 'PRAGMA database_list', 'BEGIN', 'SAVEPOINT x', 'ANALYZE', 'REINDEX'])
		await refused(sql, 403, 'sql-not-allowed', /not authorized|only statements that read/);
	await refused('SELECT * FROM pragma_database_list', 400, 'bad-sql', /not authorized/);
	await refused(`SELECT load_extension('${BUILD}/fprof_sqlite.so')`, 400, 'bad-sql', /not authorized/);
	for (const sql of [`SELECT readfile('/etc/passwd')`, `SELECT writefile('${world.dir}/x', 'y')`, `SELECT edit('x')`])
		await refused(sql, 400, 'bad-sql', /no such function/);
	assert.deepEqual(await rows('SELECT * FROM session_list'), before);
	assert.deepEqual(readdirSync(world.dir).sort(), ['conf', 'fprofd.conf', 'run', 'state']);
});

test('one statement, and what is wrong with it', async () => {
	await refused('SELECT 1; SELECT 2', 403, 'sql-not-allowed', /one statement at a time, at byte 9/);
	assert.deepEqual(await rows('SELECT 1; -- and no more'), [[1]]);
	await refused('SELECT elsewhere FROM zones', 400, 'bad-sql', /no such column: elsewhere, at byte 7/);
	await refused('SELECT * FROM elsewhere', 400, 'bad-sql', /no such table: elsewhere/);
	await refused('SELEC', 400, 'bad-sql', /syntax error, at byte 0/);
	await refused('-- nothing', 403, 'sql-not-allowed', /no statement/);
	await refused('{"sql": 1}', 400, 'bad-body', /"sql"/);
	await refused('{"sql": "SELECT 1", "x": 1}', 400, 'bad-body', /member "x"/);
	await refused('{"sql": ', 400, 'bad-body', /no JSON: line 1/);
	await refused('', 400, 'bad-parameter', /sql/);
	await refused('SELECT 1', 400, 'bad-parameter', /sql/, { what: '?sql=SELECT%202' });
	await refused('SELECT 1', 400, 'bad-parameter', /format=xml/, { what: '?format=xml' });
	await refused('SELECT 1', 400, 'bad-parameter', /limit=0/, { what: '?limit=0' });
	await refused('SELECT 1', 404, 'not-found', /session/, { what: '?session=4711' });
	await refused('SELECT 1', 400, 'bad-parameter', /^session=-1 /, { what: '?session=-1' });
});

test('the tables can be listed', async () => {
	const columns = await rows(`SELECT name FROM pragma_table_info('zones')`);
	assert.ok(columns.flat().includes('self_ns'));
	assert.ok((await rows('PRAGMA table_info(frame_times)')).length > 5);
});

test('time is bounded', async () => {
	const forever = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t';
	await refused(forever, 422, 'query-takes-too-long', /1 s/, { of: hasty });
	await refused('SELECT count(*) FROM zones a, zones b, zones c', 422, 'query-takes-too-long', /1 s/, { of: hasty });
	// One instruction of SQLite's that never looks at the clock.
	await refused(`SELECT instr(replace(hex(zeroblob(5000000)), '0', 'a'), replace(hex(zeroblob(2000000)), '0', 'a') || 'b')`,
		422, 'query-takes-too-long', /1 s/, { of: hasty });
});

test('children end, and one user has one', async () => {
	const forever = 'WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT max(n) FROM t';
	const asked = await Promise.all([1, 2].map(() => query(forever, { of: hasty })));
	assert.ok(asked.every((one) => one.status === 422 || one.status === 503), asked.map((one) => one.status).join());
	const children = () => spawnSync('pgrep', ['-P', String(hasty.daemon.pid), '-f', '--', '--query-child']).status === 0;
	await until('no child is left', () => !children());
});

test('recording loses nothing while queries run', async () => {
	const game = world.game(['--frames', '400', '--fps', '200', '--zones', '2000']);
	await world.live(game.pid, 10);
	while (game.exitCode === null) {
		const answer = await query('SELECT count(*), sum(self_ns) FROM zones');
		assert.ok([200, 422].includes(answer.status), answer.text);
	}
	const ended = await world.ended(game.pid);
	assert.equal(ended.frames_total, 400);
	assert.equal(ended.lost_events, 0);
	assert.equal(ended.ledger.produced, ended.ledger.stored + ended.ledger.discarded + ended.ledger.overwritten);
});

test('a session can be asked alone', async () => {
	assert.deepEqual(await rows('SELECT id FROM sessions', { what: `?session=${session.id}` }), [[session.id]]);
	assert.deepEqual(await rows('SELECT DISTINCT session FROM zones', { what: `?session=${session.id}` }), [[session.id]]);
	assert.ok((await rows('SELECT id FROM sessions')).length > 1);
	assert.deepEqual(await rows('SELECT id FROM sessions', { what: '?session=current' }), [[(await world.api('/sessions/current')).id]]);
});

test('the sqlite3 shell gives the same', async () => {
	const sql = `SELECT ${ZONE}, self_ns, path FROM zones WHERE session = ${session.id} AND frame BETWEEN 5 AND 15 ORDER BY track, frame, zone`;
	const counted = `SELECT kind, count(*), total(t_ns), count(name), count(value) FROM events WHERE session = ${session.id} GROUP BY kind ORDER BY kind`;
	for (const one of [sql, counted]) {
		const shell = spawnSync('sqlite3', ['-readonly', '-json', history], { encoding: 'utf8', maxBuffer: 1 << 28,
			env: { ...process.env, LD_PRELOAD: '', ASAN_OPTIONS: 'verify_asan_link_order=0' },
			input: `.load ${BUILD}/fprof_sqlite\n${one};\n` });
		assert.equal(shell.status, 0, shell.stderr);
		assert.deepEqual(JSON.parse(shell.stdout).map((row) => Object.values(row)), await rows(one));
	}
	const named = spawnSync('sqlite3', ['-readonly', history], { encoding: 'utf8',
		input: `.load ${BUILD}/fprof_sqlite\nSELECT count(*) FROM counters;\nSELECT count(*) FROM gpu_zones;\n` });
	assert.equal(named.stdout, `${(await rows('SELECT count(*) FROM counters'))[0][0]}\n${(await rows('SELECT count(*) FROM gpu_zones'))[0][0]}\n`);
});

test('another user sees their own sessions only', { skip: cannotSwitchUser }, async () => {
	const theirs = world.spawn('curl', ['-sS', '--data-binary', 'SELECT count(*) FROM sessions UNION ALL SELECT count(*) FROM frames '
		+ 'UNION ALL SELECT count(*) FROM zones UNION ALL SELECT count(*) FROM events UNION ALL SELECT count(*) FROM counters '
		+ 'UNION ALL SELECT count(*) FROM chunks', `http://127.0.0.1:${world.port}/api/v1/query`], { uid: NOBODY, gid: NOBODY });
	const { text } = await theirs.done;
	assert.deepEqual(JSON.parse(text).rows, [[0], [0], [0], [0], [0], [0]], text);
	const named = await world.spawn('curl', ['-sS', '--data-binary', 'SELECT 1',
		`http://127.0.0.1:${world.port}/api/v1/query?session=${session.id}`], { uid: NOBODY, gid: NOBODY }).done;
	assert.equal(JSON.parse(named.text).status, 404);
});

test('the examples of the guide answer', async () => {
	const played = await world.played(['--frames', '200', '--fps', '240', '--zones', '300', '--hitch-every', '70', '--hitch-ms', '20']);
	assert.equal((await rows('SELECT max(id) FROM session_list'))[0][0], played.id);
	const examples = [...readFileSync(path.join(ROOT, 'docs/guide/sql.md'), 'utf8').matchAll(/```sql\n(.*?)```/gs)].map(([, sql]) => sql);
	assert.ok(examples.length >= 6);
	for (const sql of examples)
		assert.ok((await rows(sql)).length > 0, sql);
	assert.ok((await rows(examples[0])).some(([, name]) => name === 'load_level'));
});

test('the command asks the same', async () => {
	const fprof = (...args) => spawnSync(path.join(BUILD, 'fprof'), ['--url', `http://127.0.0.1:${world.port}`, 'query', ...args],
		{ encoding: 'utf8', input: 'SELECT 42 AS answer' });
	assert.deepEqual(JSON.parse(fprof('--json', 'SELECT ? AS a, ? AS b', '7', 'x').stdout).rows, [[7, 'x']]);
	assert.equal(fprof('--csv', 'SELECT ? AS a, ? AS b', '1.5', 'x,"y').stdout, 'a,b\r\n1.5,"x,""y"\r\n');
	assert.match(fprof('-').stdout, /answer\s+42/);
	const cut = fprof('--csv', '--limit', '1', 'SELECT 1 AS n UNION ALL SELECT 2');
	assert.equal(cut.status, 1);
	assert.match(cut.stderr, /first 1 rows/);
	const wrong = fprof('SELEC');
	assert.equal(wrong.status, 2);
	assert.match(wrong.stderr, /syntax error/);
	assert.equal(fprof().status, 2);
});
