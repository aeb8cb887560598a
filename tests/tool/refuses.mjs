// SPDX-License-Identifier: MIT
// A daemon that knows one session, of the process whose number is in the file that its argument names, and refuses
// all else but its status. Prints its port; lives until it is killed.

import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';

const [, , pidfile] = process.argv;

function answer(method, what) {
	if (method === 'GET' && what === '/api/v1/sessions') {
		const pid = existsSync(pidfile) ? Number(readFileSync(pidfile, 'utf8')) : 0;
		return { sessions: pid ? [{ id: 1, pid, state: 'live', frames_total: 9 }] : [] };
	}
	if (method === 'GET' && what.startsWith('/api/v1/sessions/1/frames?'))
		return { frames: [1, 2, 3].map((frame) => ({ frame, wall_ns: 7, flags: frame === 1 ? ['startup'] : [] })) };
	if (method === 'GET' && what === '/api/v1/status')
		return { losses: { discarded: 5, not_recording: 4, malformed_scopes: 3, truncated_zones: 2 } };
	return undefined;
}

http.createServer((request, response) => {
	const json = answer(request.method, request.url);
	response.writeHead(json ? 200 : 409, { 'content-type': json ? 'application/json' : 'application/problem+json' });
	response.end(JSON.stringify(json ?? { type: '/problems/no', title: 'No', detail: `not ${request.url}\x1b[2J`,
		allowed: Array.from({ length: 12 }, (_, i) => `one${i}`) }));
}).listen(0, '127.0.0.1', function listening() {
	console.log(this.address().port);
});
