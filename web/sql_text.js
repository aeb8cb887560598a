// SPDX-License-Identifier: MIT
// The examples of the SQL panel, and how cells read. Pure: no DOM.

/** Each is about the sessions that are asked: the one shown, or all. */
export const EXAMPLES = [
	{
		title: 'The slowest frames',
		sql: 'SELECT frame, wall_ns / 1e6 AS wall_ms, cpu_ns / 1e6 AS cpu_ms, gpu_ns / 1e6 AS gpu_ms\n'
			+ 'FROM frame_times WHERE frame > 1 ORDER BY wall_ns DESC LIMIT 20',
	},
	{
		title: 'Every frame in order',
		sql: 'SELECT frame, wall_ns / 1e6 AS wall_ms, cpu_ns / 1e6 AS cpu_ms FROM frame_times WHERE frame > 1 ORDER BY session, frame',
	},
	{
		title: 'Zones of the slowest frame',
		sql: 'SELECT z.thread, printf(\'%*s%s\', 2 * z.depth, \'\', z.name) AS zone, z.duration_ns / 1e6 AS ms, z.self_ns / 1e6 AS self_ms\n'
			+ 'FROM (SELECT session, frame FROM frame_times WHERE frame > 1 ORDER BY wall_ns DESC LIMIT 1)\n'
			+ 'JOIN zones z USING (session, frame)\nWHERE z.depth < 3 ORDER BY z.thread, z.begin_ns, z.depth',
	},
	{
		title: 'What slow frames spend more on',
		sql: 'WITH slow AS (SELECT session, frame FROM frame_times WHERE frame > 1 ORDER BY wall_ns DESC LIMIT 10)\n'
			+ 'SELECT z.thread, z.name, count(*) AS calls, sum(z.self_ns) / 1e6 / (SELECT count(*) FROM slow) AS self_ms_a_frame\n'
			+ 'FROM slow JOIN zones z USING (session, frame)\nGROUP BY z.thread, z.name ORDER BY self_ms_a_frame DESC LIMIT 20',
	},
	{
		title: 'Counters by frame',
		sql: 'SELECT frame, name, value FROM counters WHERE frame > 1 ORDER BY frame DESC, name LIMIT 200',
	},
	{
		title: 'What was lost',
		sql: 'SELECT * FROM gaps LIMIT 100',
	},
];

/** @param {any} value a cell */
export function cellText(value) {
	if (value === null || value === undefined)
		return 'NULL';
	if (typeof value === 'number' && !Number.isInteger(value))
		return String(Number(value.toPrecision(7)));
	return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Whether a column holds numbers and nothing else but NULL. @param {any[][]} rows @param {number} index */
export function isNumeric(rows, index) {
	return rows.some((row) => typeof row[index] === 'number')
		&& rows.every((row) => row[index] === null || typeof row[index] === 'number');
}

/** @param {string} sql @param {string|null} session null: all */
export function csvPath(sql, session) {
	return `/api/v1/query?${new URLSearchParams({ sql, format: 'csv', ...(session ? { session } : {}) })}`;
}
