// SPDX-License-Identifier: MIT
// The daemon's HTTP API as the page uses it: JSON answers, problems as errors, and the event stream, which is opened
// again for as long as the page lives. Nothing here knows of the page.

import { Turns } from './turns.js';

const BASE = '/api/v1';
/** As many slow requests of one user as the daemon answers at once. */
const turns = new Turns(3);
/** How often a daemon that is busy, as with what a page before this one asked, is asked again when it says. */
export const BUSY_TRIES = 5;

/** An answer that is not what was asked for; `status` 0: the daemon could not be reached. */
export class ApiError extends Error {
	/** @param {number} status @param {string} message */
	constructor(status, message) {
		super(message);
		this.name = 'ApiError';
		this.status = status;
	}
}

/**
 * @param {string} path below /api/v1 @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export const getJson = (path, signal) => ask(path, { signal });

/** An answer of bytes. @param {string} path below /api/v1 @returns {Promise<ArrayBuffer>} */
export const getBytes = (path) => ask(path, {}, (answer) => answer.arrayBuffer());

/**
 * Changes something: a body is sent as JSON. The daemon answers with what is in force now.
 * @param {'PUT'|'POST'|'PATCH'|'DELETE'} method @param {string} path below /api/v1 @param {any} [body]
 * @returns {Promise<any>} null: nothing was answered
 */
export const sendJson = (method, path, body) => ask(path, body === undefined ? { method, keepalive: true }
	: { method, body: JSON.stringify(body), headers: { accept: 'application/json', 'content-type': 'application/json' } });

/** Sends a file as it is. @param {string} path below /api/v1 @param {Blob} file @returns {Promise<any>} */
export const sendFile = (path, file) => ask(path, { method: 'POST', body: file, headers: { accept: 'application/json', 'content-type': 'application/octet-stream' } });

/** @param {string} path @param {RequestInit} request @param {(answer: Response) => Promise<any>} [read] @returns {Promise<any>} */
const ask = (path, request, read = (answer) => answer.json()) =>
	// What is sent as the page goes cannot wait.
	(request.keepalive ? send(path, request, read) : turns.take(() => send(path, request, read)));

/** @param {string} path @param {RequestInit} request @param {(answer: Response) => Promise<any>} read @param {number} [tries] */
async function send(path, request, read, tries = BUSY_TRIES) {
	let answer;
	try {
		answer = await fetch(BASE + path, { headers: { accept: 'application/json' }, ...request });
	} catch (error) {
		if (request.signal?.aborted)
			throw error;
		throw new ApiError(0, 'the daemon does not answer');
	}
	if (answer.status === 204)
		return null;
	const again = answer.status === 503 ? Number(answer.headers.get('retry-after')) : 0;
	if (again && tries) {
		await new Promise((resolve) => setTimeout(resolve, again * 1000));
		return send(path, request, read, tries - 1);
	}
	const body = await (answer.ok ? read(answer) : answer.json()).catch(() => null);
	if (!answer.ok)
		throw new ApiError(answer.status, problemText(body) ?? `the daemon answered ${answer.status}`);
	if (body === null)
		throw new ApiError(answer.status, 'the daemon\'s answer cannot be read');
	return body;
}

/** @param {any} body problem+json, perhaps */
function problemText(body) {
	const text = body?.detail ?? body?.title;
	return typeof text === 'string' ? text : null;
}

/** @param {string} session @param {string|null} stream @param {number} last */
export const framesPath = (session, stream, last) =>
	`/sessions/${encodeURIComponent(session)}/frames?last=${last}${streamPart(stream, '&')}`;

/** @param {string} session @param {string|null} stream @param {number} from @param {number} to */
export const framesBetweenPath = (session, stream, from, to) =>
	`/sessions/${encodeURIComponent(session)}/frames?from=${Math.max(1, from)}&to=${to}${streamPart(stream, '&')}`;

/** @param {string} session @param {string|null} stream @param {number|'slowest'} frame */
export const framePath = (session, stream, frame) =>
	`/sessions/${encodeURIComponent(session)}/frames/${frame}${streamPart(stream, '?')}`;

/** What follows the last frame, for what is open there. @param {string} session */
export const openPath = (session) => `/sessions/${encodeURIComponent(session)}/frames/tail?max_zones=1`;

/** @param {string} session */
export const sessionPath = (session) => `/sessions/${encodeURIComponent(session)}`;

/** @param {string|null} stream @param {string} lead */
const streamPart = (stream, lead) => (stream === null ? '' : `${lead}stream=${encodeURIComponent(stream)}`);

const RETRY_MS = 1000;

/**
 * The event stream. `onEvent` gets each event's name and data; `onState` true when the stream is open and
 * false when it was lost. The stream is opened anew by itself until close().
 * @param {(name: string, data: any, id: string) => void} onEvent
 * @param {(open: boolean) => void} onState
 */
export function openStream(onEvent, onState) {
	/** @type {EventSource|null} */
	let source = null;
	/** @type {ReturnType<typeof setTimeout>|undefined} */
	let timer;
	const connect = () => {
		source = new EventSource(`${BASE}/stream`);
		source.onopen = () => onState(true);
		source.onerror = () => {
			source?.close();
			onState(false);
			timer = setTimeout(connect, RETRY_MS);
		};
		for (const name of ['frame', 'gpu', 'session', 'dropped', 'spike', 'state', 'loss'])
			source.addEventListener(name, (event) => onEvent(name, parsed(event.data), event.lastEventId));
	};
	connect();
	return {
		close() {
			clearTimeout(timer);
			source?.close();
			source = null;
		},
	};
}

/** @param {string} text */
function parsed(text) {
	try {
		return JSON.parse(text);
	} catch {
		return null;
	}
}
