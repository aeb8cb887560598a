// SPDX-License-Identifier: MIT
// What the page knows: sessions, the frames of the one shown, the selected frame, and the connection. It asks the API,
// follows the event stream and says which parts changed; it draws nothing. A selection is never changed by
// what arrives.

import { ApiError, framePath, framesBetweenPath, framesPath, getJson, openPath, openStream, sessionPath } from './api.js';
import { WINDOW, summary, windowOf } from './columns.js';
import { FLAGS_DOUBTFUL, FrameRing, flagBit } from './frames.js';
import { buildTrack, extentOf, openOf, withGpuSpans } from './zones.js';
import { decodeView, emptyView, encodeView, streamOf } from './view.js';

/** @typedef {import('./frames.js').FrameRow} FrameRow */

/** @typedef {{thread: number|string, at: number, text: string}} Message at: ns from the frame's begin */

/**
 * @typedef {object} Detail a frame with all that happened in it
 * @property {FrameRow} frame
 * @property {import('./zones.js').Track[]} tracks
 * @property {any[]} counters
 * @property {Message[]} messages
 * @property {{thread: number|string, start: number, end: number, events: number}[]} gaps ns from the frame's begin
 * @property {number} extent ns from the frame's begin to the end of all that belongs to it
 * @property {boolean} truncated
 */

/** How the names of sessions of `fprof selftest` begin: they are shown only when asked for. */
const SELFTEST = 'fprof selftest: ';
const POLL_MS = 2000;
const NUMBERS_MS = 250;
const SETTLE_MS = 200;
const NEWEST_MS = 1000;
/** Younger frames may lack what comes late: GPU results, what the kernel told. */
const WHOLE_NS = 400e6;

export class Model {
	/** @param {(...parts: string[]) => void} changed */
	constructor(changed) {
		this.changed = changed;
		this.view = emptyView();
		/** @type {any[]} newest first */
		this.sessions = [];
		/** How many there are; the list has the newest. */
		this.total = 0;
		/** Whether the list of sessions was ever read. */
		this.loaded = false;
		/** @type {any|null} */
		this.status = null;
		/** @type {any|null} the session shown */
		this.session = null;
		/** What was open when the session ended. @type {import('./zones.js').Open[]} */
		this.open = [];
		/** @type {string|null} the stream shown; null: main */
		this.stream = null;
		/** Whether the session that the address asks for is not here. */
		this.missing = false;
		/** A session that the daemon, asked for it, does not have. @type {string|null} */
		this.absent = null;
		this.ring = new FrameRing();
		/** @type {FrameRing|null} what is shown while the strip is held */
		this.held = null;
		/** @type {number|null} last frame of a held window */
		this.heldLast = null;
		/** @type {Detail|null} */
		this.detail = null;
		/** Why there is no detail; '' otherwise. */
		this.problem = '';
		/** polling: the daemon answers, but gives us no event stream. @type {'connecting'|'connected'|'polling'|'disconnected'} */
		this.connection = 'connecting';
		/** Whether the event stream was refused or lost. */
		this.streamLost = false;
		/** What the daemon said when it refused us; '' otherwise. */
		this.refusal = '';
		/** @type {AbortController|null} */
		this.detailRequest = null;
		/** @type {{close: () => void}|null} */
		this.events = null;
		/** @type {Map<string, ReturnType<typeof setTimeout>>} */
		this.timers = new Map();
		/** Whether someone reads what is shown of the newest frames: it stays then. */
		this.reading = false;
		/** Counts loads, so that an answer to an older one is not taken. */
		this.load = 0;
		this.windowLoad = 0;
		/** Counts what was heard of spikes: whoever lists them asks again. */
		this.spikesSeen = 0;
		/** The same of orders to record, stop or freeze. */
		this.stateSeen = 0;
	}

	/** Whether nothing was ever recorded. */
	get empty() {
		return this.loaded && !this.sessions.length;
	}

	/** The frames on the strip. */
	get shown() {
		return this.held ?? this.ring;
	}

	/** The numbers of the frames on the strip. */
	window() {
		return windowOf(this.heldLast ?? this.ring.last);
	}

	/**
	 * What panels are about: the selected range, or else the selected frame, or else the frames shown. null: there are none.
	 * @returns {{session: string, stream: string|null, from: number, to: number, what: 'range'|'frame'|'shown'}|null}
	 */
	scope() {
		const { view, session, stream } = this;
		if (!session)
			return null;
		const about = { session: String(session.id), stream };
		if (view.range)
			return { ...about, from: view.range.first, to: view.range.last, what: 'range' };
		if (view.frame !== null)
			return { ...about, from: view.frame, to: view.frame, what: 'frame' };
		const { first, last } = this.window();
		const from = Math.max(first, this.shown.first);
		return this.shown.last ? { ...about, from, to: Math.min(last, this.shown.last), what: 'shown' } : null;
	}

	/** Why the clock of what is shown is not to be trusted; '' otherwise. */
	doubt() {
		const scope = this.scope();
		const { session, status, shown } = this;
		if (session?.state === 'live' && status?.clock?.error)
			return status.clock.error;
		let flags = 0;
		for (let n = scope?.from ?? 1; n <= (scope?.to ?? 0); n++)
			flags |= shown.slot(n) < 0 ? 0 : shown.flags[shown.slot(n)];
		if (flags & flagBit('clock_doubtful'))
			return 'the processor has no steady one, times are the system\'s, read with a call.';
		return flags & FLAGS_DOUBTFUL ? 'it stepped within these frames (suspend or migration).' : '';
	}

	/** What a panel was set to. @param {string} name "tables.sort" @param {string} usual when nothing is set */
	setting(name, usual) {
		return this.view.settings[name] ?? usual;
	}

	/** @param {string} name @param {string|null} value null: the usual */
	set(name, value) {
		if (value === null)
			delete this.view.settings[name];
		else
			this.view.settings[name] = value;
		this.remember('settings');
	}

	/** @param {string} tab */
	openTab(tab) {
		this.view.tab = tab;
		this.remember('tab');
	}

	start() {
		this.view = decodeView(location.hash);
		window.addEventListener('hashchange', () => this.followHash());
		document.addEventListener('visibilitychange', () => this.followVisibility());
		this.followVisibility();
	}

	/** A hidden page costs the daemon nothing. */
	followVisibility() {
		if (document.hidden) {
			this.events?.close();
			this.events = null;
			this.cancel('poll');
			return;
		}
		this.events ??= openStream((name, data, id) => this.onEvent(name, data, id), (open) => this.onStream(open));
		this.poll();
	}

	/** Runs once for many calls. @param {string} name @param {number} ms @param {() => void} run */
	later(name, ms, run) {
		if (this.timers.has(name))
			return;
		this.timers.set(name, setTimeout(() => {
			this.timers.delete(name);
			run();
		}, ms));
	}

	/** @param {string} name */
	cancel(name) {
		clearTimeout(this.timers.get(name));
		this.timers.delete(name);
	}

	/** @param {boolean} open */
	onStream(open) {
		this.streamLost = !open;
		if (open)
			this.setConnection('connected');
		this.refresh(true);
	}

	/** @param {Model['connection']} state */
	setConnection(state) {
		if (this.connection === state)
			return;
		this.connection = state;
		this.changed('connection');
	}

	poll() {
		// Only frames of the main stream come as events.
		this.refresh(this.streamLost || (this.stream !== null && !this.held));
		this.cancel('poll');
		this.later('poll', POLL_MS, () => this.poll());
	}

	/** Reads sessions and status; all frames too when `frames`. @param {boolean} frames */
	async refresh(frames) {
		// An answer to what was asked before the stream was lost says nothing about now.
		const { streamLost } = this;
		try {
			const [sessions, status] = await Promise.all([getJson('/sessions'), getJson('/status')]);
			this.sessions = sessions.sessions ?? [];
			this.total = sessions.total ?? 0;
			await this.findAsked();
			this.status = status;
			this.loaded = true;
			this.refusal = '';
			if (streamLost && this.streamLost)
				this.setConnection('polling');
			this.changed('sessions', 'status', 'connection');
			await this.adopt(this.choose(), frames);
		} catch (error) {
			this.onProblem(error);
		}
	}

	/** The list holds the newest sessions: one that is asked for may be older, or not here. */
	async findAsked() {
		const { session } = this.view;
		if (session === null || session === this.absent || this.sessions.some((one) => String(one.id) === session))
			return;
		try {
			this.sessions = [...this.sessions, await getJson(sessionPath(session))];
		} catch (error) {
			if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 400))
				throw error;
			this.absent = session;
		}
	}

	/** Forgets the frames that are here and reads what there is. */
	async reload() {
		this.ring.clear();
		this.follow();
		this.select(null, false);
		await this.refresh(true);
	}

	/** @param {unknown} error */
	onProblem(error) {
		if (!(error instanceof ApiError))
			throw error;
		if (error.status === 0) {
			this.setConnection('disconnected');
			return;
		}
		this.refusal = error.message;
		this.changed('connection');
	}

	/** The session to show: the one asked for, if it is here; else stay while it is live; else the newest live one; else the newest;
	 * a session of the self test only when it is asked for. */
	choose() {
		const { session } = this.view;
		const asked = this.sessions.find((one) => String(one.id) === session);
		this.missing = session !== null && !asked;
		if (session !== null)
			return asked ?? null;
		const same = this.sessions.find((one) => one.id === this.session?.id);
		const played = this.sessions.filter((one) => !one.name?.startsWith(SELFTEST));
		const live = played.find((one) => one.state === 'live');
		return same?.state === 'live' ? same : live ?? played[0] ?? null;
	}

	/** @param {any|null} session @param {boolean} again read its frames even if it is the same */
	async adopt(session, again) {
		const stream = streamOf(this.view, session);
		const same = session?.id === this.session?.id && stream === this.stream;
		const ended = same && session && session.state !== 'live' && session.state !== this.session.state;
		this.session = session;
		this.stream = stream;
		if (!same) {
			this.ring.clear();
			this.follow();
			this.detail = null;
			this.open = [];
		}
		this.changed('session');
		if (session && (!same || again || ended)) {
			await this.loadFrames();
			await this.loadOpen(session);
		}
	}

	/** @param {any} session */
	async loadOpen(session) {
		if (session.state === 'live')
			return;
		const tail = await getJson(openPath(String(session.id)));
		if (session.id !== this.session?.id)
			return;
		this.open = openOf(tail);
		this.changed('session');
	}

	async loadFrames() {
		const session = this.session;
		const load = ++this.load;
		const answer = await getJson(framesPath(String(session.id), this.stream, WINDOW));
		if (load !== this.load)
			return;
		for (const row of answer.frames)
			this.ring.put(row);
		this.changed('frames', 'numbers', 'session');
		if (this.view.frame === null && session.state !== 'live' && this.ring.last)
			this.selectSlowestShown(false);
		else if (this.view.frame !== null && this.detail?.frame.frame !== this.view.frame)
			await this.loadDetail();
	}

	/** @param {string} name @param {any} data @param {string} id "session:frame" */
	onEvent(name, data, id) {
		const session = String(data?.session ?? id.split(':')[0]);
		switch (name) {
		case 'frame':
		case 'gpu':
			if (session === String(this.session?.id))
				this.onFrame(name, data);
			else if (!this.sessions.some((one) => String(one.id) === session))
				this.later('refresh', SETTLE_MS, () => this.refresh(false));
			break;
		case 'spike':
			this.spikesSeen++;
			this.later('spikes', SETTLE_MS, () => this.changed('spikes'));
			break;
		case 'state':
			this.stateSeen++;
			this.later('refresh', SETTLE_MS, () => this.refresh(false));
			break;
		case 'loss':
		case 'session':
			this.later('refresh', SETTLE_MS, () => this.refresh(false));
			break;
		case 'dropped':
			this.later('reload', SETTLE_MS, () => this.refresh(true));
			break;
		}
	}

	/** @param {string} name @param {any} data */
	onFrame(name, data) {
		if (!data || this.stream !== null)
			return;
		this.ring.put(data);
		this.changed('frames');
		this.later('numbers', NUMBERS_MS, () => this.changed('numbers'));
		this.later('newest', NEWEST_MS, () => this.loadNewest());
		if (name === 'gpu' && data.frame === this.view.frame)
			this.later('detail', SETTLE_MS, () => this.loadDetail());
	}

	/** @param {number|null} frame @param {boolean} [pin] whether the user asked for it */
	select(frame, pin = true) {
		if (frame !== null && !(frame > 0))
			return;
		if (pin)
			this.pin();
		this.view.frame = frame;
		if (!this.view.range)
			this.view.zoom = null;
		this.problem = '';
		if (frame === null)
			this.detail = null;
		this.remember('selection');
		if (frame !== null)
			this.loadDetail();
	}

	/** A selection belongs to a session: from now on this one is meant. */
	pin() {
		if (this.session)
			this.view.session = String(this.session.id);
	}

	/** The slowest frame of the range, or else of the strip. @param {boolean} pin whether the user asked for it */
	selectSlowestShown(pin) {
		const { first, last } = this.view.range ?? this.window();
		const { worstFrame } = summary(this.shown, first, last);
		if (worstFrame)
			this.select(worstFrame, pin);
	}

	/** The slowest frame that the daemon has the events of. */
	async selectSlowestKept() {
		const { session } = this;
		if (!session)
			return;
		try {
			const answer = await getJson(framePath(String(session.id), this.stream, 'slowest'));
			if (session.id !== this.session?.id)
				return;
			this.pin();
			this.view.frame = answer.frame;
			this.view.zoom = null;
			this.takeDetail(answer);
			this.remember('selection');
			await this.bringIntoWindow();
		} catch (error) {
			this.onProblem(error);
		}
	}

	/** Holds the strip around the selected frame when it lies outside of it. */
	async bringIntoWindow() {
		const frame = this.view.frame;
		const { first, last } = this.window();
		if (frame === null || !this.session || (frame >= first && frame <= last) || this.session.state === 'live')
			return;
		await this.showWindow(frame + WINDOW / 2);
	}

	/** Holds a window that ends at a frame; what is shown changes when its frames are here. @param {number} last */
	async showWindow(last) {
		const { session } = this;
		const end = Math.min(this.ring.last, Math.max(WINDOW, Math.round(last)));
		if (end >= this.ring.last && session.state !== 'live') {
			this.follow();
			return;
		}
		const load = ++this.windowLoad;
		const answer = await getJson(framesBetweenPath(String(session.id), this.stream, end - WINDOW + 1, end));
		if (load !== this.windowLoad || session.id !== this.session?.id)
			return;
		const ring = new FrameRing();
		for (const row of answer.frames)
			ring.put(row);
		this.held = ring;
		this.heldLast = end;
		this.changed('frames', 'numbers', 'held');
	}

	/** Older (-1) or newer (1) frames. @param {number} step */
	page(step) {
		if (this.session)
			this.showWindow(this.window().last + step * (WINDOW / 2)).catch((error) => this.onProblem(error));
	}

	hold() {
		this.held ??= this.ring.snapshot();
		this.heldLast ??= this.ring.last;
		this.changed('frames', 'numbers', 'held');
	}

	follow() {
		this.windowLoad++;
		this.held = null;
		this.heldLast = null;
		this.changed('frames', 'numbers', 'held');
	}

	/** Selects a neighbour of the selected frame, or the newest. @param {number} step */
	step(step) {
		const { first, last } = this.window();
		const from = this.view.frame ?? last + (step < 0 ? 1 : 0);
		const frame = this.shown.neighbour(from, step, first, last);
		if (frame && frame !== this.view.frame)
			this.select(frame);
	}

	/** Selects an end of the strip. @param {number} step 1: the first, -1: the last */
	selectEnd(step) {
		const { first, last } = this.window();
		this.select(this.shown.neighbour(step > 0 ? first - 1 : last + 1, step, first, last) || null);
	}

	/** @param {number} a @param {number} b frames */
	setRange(a, b) {
		this.pin();
		this.view.range = { first: Math.min(a, b), last: Math.max(a, b) };
		this.view.zoom = null;
		this.remember('selection');
	}

	/** From the selected frame (or the range's far end) to another. @param {number} frame */
	extendRange(frame) {
		const { range } = this.view;
		const anchor = this.view.frame ?? (range && frame < range.first ? range.last : range?.first) ?? frame;
		this.setRange(anchor, frame);
	}

	/** Moves the range's end that is not the selected frame. @param {number} step */
	growRange(step) {
		const { range, frame } = this.view;
		const anchor = frame ?? range?.first ?? this.window().last;
		const end = range ? (range.first === anchor ? range.last : range.first) : anchor;
		const { first, last } = this.window();
		this.setRange(anchor, Math.min(last, Math.max(first, end + step)));
	}

	/** Clears the range, and when there is none the selected frame. */
	clear() {
		if (this.view.range) {
			this.view.range = null;
			this.view.zoom = null;
			this.remember('selection');
			return;
		}
		this.select(null);
	}

	/** @param {{t0: number, t1: number}|null} zoom */
	setZoom(zoom) {
		this.view.zoom = zoom;
		this.later('hash', NUMBERS_MS, () => this.remember());
		this.changed('zoom');
	}

	/** @param {string} id */
	async show(id) {
		this.view = { ...emptyView(), session: id, tab: this.view.tab, settings: this.view.settings };
		this.detail = null;
		this.remember('selection');
		await this.findAsked().then(() => this.adopt(this.choose(), false)).catch((error) => this.onProblem(error));
	}

	/** @param {string} stream */
	async showStream(stream) {
		this.pin();
		const { session, tab, settings } = this.view;
		this.view = { ...emptyView(), session, tab, settings, stream: stream === 'main' ? null : stream };
		this.remember('selection');
		await this.adopt(this.session, false).catch((error) => this.onProblem(error));
	}

	/** Writes the view into the address. @param {...string} parts that changed too */
	remember(...parts) {
		const text = encodeView(this.view);
		if (text !== location.hash.replace(/^#/, ''))
			history.replaceState(null, '', text ? `#${text}` : location.pathname);
		this.changed(...parts);
	}

	/** The user changed the address by hand, or went back. */
	followHash() {
		const before = this.view;
		this.view = decodeView(location.hash);
		this.changed('selection', 'zoom', 'tab', 'settings');
		this.findAsked().then(() => this.adopt(this.choose(), false)).then(() => (this.view.frame === before.frame ? undefined : this.loadDetail()))
			.catch((error) => this.onProblem(error));
	}

	/** Reads the selected frame. The newest request wins. */
	async loadDetail() {
		const frame = this.view.frame;
		this.detailRequest?.abort();
		if (frame === null || !this.session) {
			this.detail = null;
			this.changed('detail');
			return;
		}
		const request = new AbortController();
		this.detailRequest = request;
		try {
			this.takeDetail(await getJson(framePath(String(this.session.id), this.stream, frame), request.signal));
			await this.bringIntoWindow();
		} catch (error) {
			if (request.signal.aborted)
				return;
			this.onDetailProblem(error);
		}
	}

	/** Whether the timeline shows one of the newest frames, and another one each second: nothing is selected. */
	get passing() {
		const { view, session, held } = this;
		return session?.state === 'live' && view.frame === null && !view.range && !held;
	}

	async loadNewest() {
		const { ring, session, stream } = this;
		const wanted = () => this.passing && !this.reading && (this.view.tab ?? 'timeline') === 'timeline' && session?.id === this.session?.id && !document.hidden;
		let frame = ring.last;
		while (frame > ring.first && (ring.slot(frame) < 0 || ring.begin[ring.slot(frame)] > ring.begin[ring.slot(ring.last)] - WHOLE_NS))
			frame--;
		if (!wanted())
			return;
		try {
			const answer = await getJson(framePath(String(session.id), stream, frame));
			if (wanted())
				this.takeDetail(answer);
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error; // else the next one is asked for in a second
		}
	}

	/** Selects the passing frame that is shown, as it is shown. */
	pinPassing() {
		if (!this.passing || !this.detail)
			return;
		const { zoom } = this.view;
		this.select(this.detail.frame.frame);
		this.setZoom(zoom);
	}

	/** @param {unknown} error */
	onDetailProblem(error) {
		if (!(error instanceof ApiError))
			throw error;
		this.detail = null;
		this.problem = error.message;
		this.changed('detail');
		if (error.status === 0)
			this.setConnection('disconnected');
	}

	/** @param {any} answer */
	takeDetail(answer) {
		this.detail = detailOf(answer);
		this.problem = '';
		this.changed('detail', 'zoom');
	}
}

/** The API's answer as the page draws it. @param {any} answer @returns {Detail} */
export function detailOf(answer) {
	const origin = answer.begin_ns;
	const tracks = withGpuSpans(answer.threads ?? [], answer.gpu_spans ?? []).map((thread) => buildTrack(thread, origin));
	return {
		frame: answer,
		tracks,
		extent: extentOf(answer.wall_ns, tracks),
		counters: answer.counters ?? [],
		messages: (answer.messages ?? []).map((/** @type {any} */ one) => ({
			thread: one.thread,
			at: one.time_ns - origin,
			text: one.text === null || one.text === undefined ? `${one.name ?? 'unnamed'} (instant)`
				: one.name ? `${one.name}: ${one.text}` : one.text,
		})),
		gaps: (answer.gaps ?? []).map((/** @type {any} */ gap) => ({
			thread: gap.thread,
			start: gap.begin_ns - origin,
			end: gap.end_ns === null ? Infinity : gap.end_ns - origin,
			events: gap.events,
		})),
		truncated: Boolean(answer.truncated),
	};
}
