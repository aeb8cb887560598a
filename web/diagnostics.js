// SPDX-License-Identifier: MIT
// Sources with reason and fix, losses by kind, how full the rings are, the session's facts and the
// daemon's own cost; and, while there is no session, how to start one.

import { sessionPath } from './api.js';
import { Asked } from './asked.js';
import { byId, command, element } from './dom.js';
import { bytes, count, duration, percent, words } from './format.js';
import { sourceRow } from './lists.js';
import { lossesOf } from './losses.js';
import { Table } from './table.js';

/** @typedef {import('./model.js').Model} Model */

/** @typedef {{name: string|null, tid: number, ring_fill_max: number}} Ring of a thread that may write */

const REFRESH_MS = 1000;

/** How full the ring of each thread lately was. */
class Rings {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.asked = new Asked(invalidate);
		/** @type {any} */
		this.drawn = undefined;
		/** @type {Table<Ring>} */
		this.table = new Table(byId('ring-list', HTMLElement), {
			caption: 'Rings of this session', empty: 'No thread that writes.', limit: 16,
			columns: [
				{ label: 'Thread', text: ringName },
				{ label: 'Fullest lately', number: true, text: (ring) => percent(ring.ring_fill_max * 100), order: (ring) => ring.ring_fill_max, bar: (ring) => ring.ring_fill_max },
			],
		});
	}

	draw() {
		const { session } = this.model;
		const due = session?.state === 'live' && !this.model.held && performance.now() - this.asked.lastAsked > REFRESH_MS;
		this.asked.want(session ? `${sessionPath(String(session.id))}/threads` : null, due);
		const { answer } = this.asked;
		if (answer === this.drawn)
			return;
		this.drawn = answer;
		this.table.show((answer?.threads ?? []).filter((/** @type {any} */ one) => one.ring_fill_max !== null));
	}
}

/** @param {Ring} ring */
const ringName = ({ name, tid }) => name ?? `thread ${tid}`;

export class Diagnostics {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.rings = new Rings(model, invalidate);
		this.parts = ['session', 'status'];
		/** What each part last showed: a part is built again only when that changed. @type {Map<string, string>} */
		this.drawn = new Map();
	}

	draw() {
		const { status, session } = this.model;
		this.part('source-list', status?.sources ?? [], (at, sources) => at.replaceChildren(sourceTable(sources)));
		this.part('loss-list', lossRows(session), fillNumbers);
		this.part('refusal-list', refusalRows(status), fillNumbers);
		this.part('session-facts', sessionRows(session), fillNumbers);
		this.part('daemon-facts', daemonRows(status), fillNumbers);
		this.rings.draw();
	}

	/** @template T @param {string} id @param {T} data @param {(at: HTMLElement, data: T) => void} build */
	part(id, data, build) {
		const text = JSON.stringify(data);
		if (this.drawn.get(id) === text)
			return;
		this.drawn.set(id, text);
		build(byId(id, HTMLElement), data);
	}
}

/** @param {any[]} sources */
function sourceTable(sources) {
	const head = ['Source', 'State', 'Reason, and what to do'].map((label) => element('th', { scope: 'col' }, label));
	return element('table', {},
		element('thead', {}, element('tr', {}, ...head)),
		element('tbody', {}, ...sources.map((source) => sourceRow(source, command))));
}

/** @param {HTMLElement} at @param {string[][]} rows */
function fillNumbers(at, rows) {
	at.replaceChildren(...rows.flatMap(([label, value, mark]) => [
		element('dt', {}, label), element('dd', mark ? { class: mark } : {}, value)]));
}

/** @param {any} session */
function lossRows(session) {
	if (!session)
		return [['no session', '–', '']];
	const weights = { lost: 'warn', repaired: '', intended: 'muted' };
	const rows = lossesOf(session.losses).map(({ kind, count: n, weight }) =>
		[`${words(kind).replace('.', ': ')} (${weight})`, count(n), weights[weight]]);
	return rows.length ? rows : [['all kinds', 'none', 'good']];
}

/** @param {any} session */
function sessionRows(session) {
	if (!session)
		return [];
	return /** @type {string[][]} */ ([
		['name', session.name ?? 'unnamed'],
		['process', `${session.pid}`],
		['executable', session.exe],
		['started', session.start_utc?.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')],
		['state', session.end_reason ? `${session.state}: ${session.end_reason}` : session.state],
		['fault', session.fault],
		['threads', `${count(session.threads_active ?? session.threads)} active of ${count(session.threads)}`],
		['clock', session.clock ? `${session.clock.kind}, ${(session.clock.hz / 1e6).toFixed(1)} MHz` : null],
		['cost in the game', session.own_cost ? `${duration(session.own_cost.frame_ns)} a frame` : null],
		['fullest ring', session.ring_fill_max === undefined ? null : percent(session.ring_fill_max * 100)],
		...Object.entries(session.info ?? {}),
		...Object.entries(session.facts ?? {}).map(([key, value]) => [words(key), factText(value)]),
	].filter(([, value]) => value !== null && value !== undefined && value !== ''));
}

/** Lists as words, the rest as it is. @param {any} value */
function factText(value) {
	if (Array.isArray(value))
		return value.join(' ');
	if (value === null || (typeof value === 'object' && !Object.keys(value).length))
		return null;
	return typeof value === 'object' ? Object.entries(value).map(([key, one]) => `${words(key)}: ${one}`).join('; ') : String(value);
}

/** @param {any} status */
function daemonRows(status) {
	if (!status)
		return [];
	const { daemon, history, clock, loop, state, config, scheduler } = status;
	const rows = /** @type {string[][]} */ ([
		['fault', status.fault, 'warn'],
		['version', status.version],
		['cpu since it started', percent(daemon?.cpu_percent)],
		['memory', bytes(daemon?.rss_bytes)],
		['clock', clock ? `${clock.source}, ${(clock.hz / 1e6).toFixed(1)} MHz` : null],
		['clock error', clock?.error, 'warn'],
		['clock error, kernel', scheduler?.events ? `${duration(scheduler.clock_error_ns)} at most` : null],
		...kernelLosses(status),
		['loop', loop?.kind],
		['why not io_uring', loop?.reason],
		['history', history ? `in ${history.place === 'memory' ? 'memory' : history.directory}` : null],
		['why there', history?.reason ?? history?.directory_reason],
		['history used', history ? `${bytes(history.used_bytes)} of ${bytes(history.budget_bytes)}` : null],
		['frames evicted', count(history?.evicted_frames)],
		['lost while storing', history?.events_dropped ? count(history.events_dropped) : null, 'warn'],
		['permanent storage', state ? (state.ok ? state.directory : `off: ${state.reason}`) : null, state?.ok ? '' : 'warn'],
		['socket', config?.socket],
	]);
	return rows.filter(([, value]) => value !== null && value !== undefined && value !== '');
}

/** What the kernel's sources lost, of all games. @param {any} status @returns {any[][]} */
function kernelLosses({ scheduler, stacks }) {
	const rows = [
		['switches lost, no room in the kernel', scheduler?.lost],
		['switches not stored', scheduler?.dropped],
		['switches that the kernel did not tell', scheduler?.missed],
		['fprof-probe ended while games were traced', scheduler?.interruptions],
		['stacks lost, no room in the kernel', stacks?.lost],
		['stacks not stored', stacks?.dropped],
	];
	return rows.map(([label, n]) => [label, n ? count(n) : null, 'warn']);
}

/** @param {any} status */
function refusalRows(status) {
	const refusals = status?.refusals ?? [];
	if (!refusals.length)
		return [['none', '', '']];
	const rows = refusals.map((/** @type {any} */ one) => [`pid ${one.pid}`,
		`${one.reason} (client ${one.client_abi ?? 'unknown'}, daemon ${one.daemon_abi})`, 'warn']);
	return [...rows, [`${count(refusals.length)} of ${count(status.refusals_total)}`, '', '']];
}

const DOOM = 'SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy fprof run -- /usr/games/chocolate-doom '
	+ '-iwad /usr/share/games/doom/freedoom1.wad -timedemo demo3 -nosound -nogui';

/** What a first visitor sees. @param {HTMLElement} at */
export function fillWelcome(at) {
	at.append(
		element('p', {}, 'The daemon is running and waits for a game. Its frames will appear here by themselves.'),
		element('h3', {}, 'Any game, without changing it'),
		command('fprof run -- ./game'),
		element('h3', {}, 'To try it: one run of Doom with Freedoom, three seconds, 1281 frames'),
		command(DOOM),
		element('h3', {}, 'Your own game, with your own zones: include fprof.h, mark the frame, link the library'),
		command('#include <fprof.h>\n\nwhile (running) {\n\tFPROF_ZONE("frame");\n\tupdate();\n\tdraw();\n\tfprof_frame_mark();\n}'),
		command('cc game.c $(pkg-config --cflags --libs fprof)'),
		element('h3', {}, 'The same numbers in a terminal'),
		command('fprof sessions'),
		command(`curl ${location.origin}/api/v1/sessions`),
	);
}
