// SPDX-License-Identifier: MIT
// From a frame's zones to what the timeline draws: tracks, rows by depth, self times, and the boxes that are in
// view. Zones too small to draw are merged into a sliver, never dropped. Of a range of frames see range_tracks.js.
// Pure: no DOM.

/**
 * @typedef {object} Zone
 * @property {string} name
 * @property {string|null} [category]
 * @property {string|null} [wait] what it waits for: gpu, present or cap
 * @property {string|null} [file]
 * @property {number|null} [line]
 * @property {number} start_ns
 * @property {number} duration_ns
 * @property {number} depth
 * @property {number|null} [parent] index into the thread's zones
 * @property {string[]} [flags]
 * @property {string|null} [text]
 * @property {number|null} [value]
 * @property {number} [merged] so many zones, of which this is the longest
 */

/** What all zones of a marker share. @typedef {{name: string, category?: string|null, wait?: string|null, file?: string|null, line?: number|null}} Marker */

/** Flags of zones, from the lowest bit up, as the API's binary timeline has them. */
export const FLAGS = ['clipped_begin', 'clipped_end', 'truncated', 'open', 'unbalanced', 'unclosed', 'overlap', 'aligned_to_submit_only'];
/** @param {string} name */
export const flagBit = (name) => 1 << FLAGS.indexOf(name);

/**
 * @typedef {object} Thread
 * @property {number|string} id
 * @property {string} kind
 * @property {number|null} [tid]
 * @property {string|null} [name]
 * @property {Zone[]} zones
 */

/**
 * One depth of a track: zones sorted by start, not overlapping.
 * @typedef {object} Row
 * @property {Float64Array} start ns from the frame's begin
 * @property {Float64Array} end
 * @property {Int32Array} zone index into the track's zones
 */

/**
 * @typedef {object} Lane what is drawn of a thread
 * @property {Thread} thread
 * @property {string} title
 * @property {number} count zones, each of those in a sliver too
 * @property {number} busy ns in its outermost zones
 * @property {Float64Array} self ns of each zone outside its children
 * @property {Uint16Array} flags of each zone, by FLAGS
 * @property {Uint32Array|null} merged how many zones each one stands for; null: one
 * @property {Row[]} rows
 * @property {(index: number) => Marker} marker of a zone
 * @property {(index: number) => Zone} zone all that is known of it
 */

/** @typedef {Lane & {zones: Zone[]}} Track of one frame */

/** What a thread is called on the page. @param {Thread} thread */
export function trackTitle(thread) {
	const kind = thread.kind.replaceAll('_', ' ').replace('gpu', 'GPU');
	if (thread.kind === 'thread')
		return `${thread.name || kind}${thread.tid ? ` (${thread.tid})` : ''}`;
	return thread.name ? `${thread.name} (${kind})` : kind;
}

/** @typedef {{title: string, names: string[]}} Open zones that a thread has open, outermost first */

/** The threads of a tail that have any zone open. @param {any} tail @returns {Open[]} */
export function openOf(tail) {
	return (tail.threads ?? []).filter((/** @type {any} */ thread) => thread.open?.length)
		.map((/** @type {any} */ thread) => ({ title: trackTitle(thread), names: thread.open }));
}

/**
 * GPU spans as zones of their queue's track: nested by time, as zones of a thread are by call.
 * @param {Thread[]} threads @param {any[]} spans @returns {Thread[]}
 */
export function withGpuSpans(threads, spans) {
	if (!spans.length)
		return threads;
	/** @type {Map<number|string, Zone[]>} */
	const queues = new Map();
	for (const span of [...spans].sort((a, b) => a.start_ns - b.start_ns || b.duration_ns - a.duration_ns)) {
		if (!queues.has(span.queue))
			queues.set(span.queue, []);
		queues.get(span.queue)?.push(spanZone(span));
	}
	queues.forEach(nestByTime);
	const known = threads.map((thread) => (queues.has(thread.id)
		? { ...thread, zones: [...(thread.zones ?? []), ...(queues.get(thread.id) ?? [])] } : thread));
	const missing = [...queues].filter(([id]) => !threads.some((thread) => thread.id === id));
	return [...known, ...missing.map(([id, zones]) => ({ id, kind: 'gpu_queue', name: null, zones }))];
}

/** @param {any} span @returns {Zone} */
function spanZone(span) {
	return {
		name: span.name, category: 'gpu', start_ns: span.start_ns, duration_ns: span.duration_ns, depth: 0, parent: null,
		text: `submission ${span.submission}, view ${span.view}, fence ${span.fence}`, flags: span.calibrated ? [] : ['aligned_to_submit_only'],
	};
}

/** Gives zones sorted by start their depth and parent. @param {Zone[]} zones */
function nestByTime(zones) {
	/** @type {number[]} */
	const open = [];
	zones.forEach((zone, index) => {
		const end = zone.start_ns + zone.duration_ns;
		while (open.length) {
			const outer = zones[open[open.length - 1]];
			if (outer.start_ns + outer.duration_ns >= end)
				break;
			open.pop();
		}
		zone.depth = open.length;
		zone.parent = open.length ? open[open.length - 1] : null;
		open.push(index);
	});
}

/** Time of each zone outside its children. @param {Zone[]} zones */
export function selfTimes(zones) {
	const self = new Float64Array(zones.length);
	for (let i = 0; i < zones.length; i++)
		self[i] += zones[i].duration_ns;
	for (const zone of zones) {
		const parent = zone.parent ?? -1;
		if (parent >= 0 && parent < zones.length)
			self[parent] -= zone.duration_ns;
	}
	return self.map((ns) => Math.max(0, ns));
}

/** @param {Thread} thread @param {number} origin ns of the frame's begin @returns {Track} */
export function buildTrack(thread, origin) {
	const zones = thread.zones ?? [];
	const begin = Float64Array.from(zones, (zone) => zone.start_ns - origin);
	const length = Float64Array.from(zones, (zone) => zone.duration_ns);
	return {
		thread, zones, title: trackTitle(thread), count: zones.length, merged: null,
		busy: zones.reduce((sum, zone) => sum + (zone.depth ? 0 : zone.duration_ns), 0),
		self: selfTimes(zones),
		flags: Uint16Array.from(zones, ({ flags }) => (flags ?? []).reduce((bits, flag) => bits | flagBit(flag), 0)),
		rows: buildRows(zones.map((_, at) => at), (at) => zones[at].depth, begin, length),
		marker: (at) => zones[at],
		zone: (at) => zones[at],
	};
}

/**
 * The rows of a track. What overlaps another of its depth (GPU queues overlap at will) goes a row down.
 * @param {ArrayLike<number>} indexes of zones @param {(index: number) => number} depthOf
 * @param {Float64Array} begin by index, ns from the origin @param {Float64Array} length @returns {Row[]}
 */
export function buildRows(indexes, depthOf, begin, length) {
	/** @type {number[][]} */
	const rows = [];
	/** @type {number[]} where the last one of each ends */
	const ends = [];
	const ordered = Array.from(indexes);
	if (ordered.some((index, at) => at && begin[index] < begin[ordered[at - 1]]))
		ordered.sort((a, b) => begin[a] - begin[b] || depthOf(a) - depthOf(b) || a - b);
	for (const index of ordered) {
		let row = depthOf(index);
		while (ends[row] > begin[index])
			row++;
		(rows[row] ??= []).push(index);
		ends[row] = begin[index] + length[index];
	}
	return Array.from(rows, (list = []) => ({
		start: Float64Array.from(list, (index) => begin[index]),
		end: Float64Array.from(list, (index) => begin[index] + length[index]),
		zone: Int32Array.from(list),
	}));
}

/** The first place in a row whose zone ends after a time. @param {Row} row @param {number} time */
export function firstAfter(row, time) {
	let low = 0;
	let high = row.end.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (row.end[middle] > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/**
 * @typedef {object} Box
 * @property {number} x pixels
 * @property {number} width
 * @property {number} first place in the row
 * @property {number} count zones that it stands for: 1, or more when they were too small
 */

/**
 * The boxes of a row in view. Every zone that touches [t0, t1] is in exactly one of them.
 * @param {Row} row @param {number} t0 @param {number} t1 @param {number} width pixels of the view
 * @param {number} [least] a zone narrower than this is merged with its small neighbours
 * @returns {Box[]}
 */
export function boxesOf(row, t0, t1, width, least = 2) {
	/** @type {Box[]} */
	const boxes = [];
	const scale = width / (t1 - t0);
	for (let at = firstAfterOrAt(row, t0); at < row.start.length && row.start[at] <= t1;) {
		const x = (row.start[at] - t0) * scale;
		const right = (row.end[at] - t0) * scale;
		if (right - x >= least) {
			boxes.push({ x, width: right - x, first: at, count: 1 });
			at++;
			continue;
		}
		const next = sliverEnd(row, at, t0 + (x + least) / scale, least / scale);
		const last = (row.end[next - 1] - t0) * scale;
		boxes.push({ x, width: Math.max(1, last - x), first: at, count: next - at });
		at = next;
	}
	return boxes;
}

/** As firstAfter, but a zone of no length at the time itself counts. @param {Row} row @param {number} time */
function firstAfterOrAt(row, time) {
	let at = firstAfter(row, time);
	while (at > 0 && row.end[at - 1] === time && row.start[at - 1] === time)
		at--;
	return at;
}

/** The place after the last small zone that begins before limit. @param {Row} row @param {number} at @param {number} limit @param {number} small ns */
function sliverEnd(row, at, limit, small) {
	let next = at + 1;
	while (next < row.start.length && row.start[next] < limit && row.end[next] - row.start[next] < small)
		next++;
	return next;
}

/**
 * The zones of a row within a few pixels of a time.
 * @param {Row} row @param {number} from @param {number} to
 * @returns {{first: number, count: number}} count 0: none
 */
export function zonesBetween(row, from, to) {
	const first = firstAfterOrAt(row, from);
	let end = first;
	while (end < row.start.length && row.start[end] <= to)
		end++;
	return { first, count: end - first };
}

/**
 * Self time by name over all tracks, largest first: of zones that work, or of those that wait.
 * @param {Track[]} tracks @param {boolean} [waits]
 */
export function selfByName(tracks, waits = false) {
	/** @type {Map<string, {name: string, self: number, calls: number, longest: number}>} */
	const names = new Map();
	for (const track of tracks) {
		track.zones.forEach((zone, index) => {
			if (Boolean(zone.wait) !== waits)
				return;
			const entry = names.get(zone.name) ?? { name: zone.name, self: 0, calls: 0, longest: 0 };
			entry.self += track.self[index];
			entry.calls++;
			entry.longest = Math.max(entry.longest, zone.duration_ns);
			names.set(zone.name, entry);
		});
	}
	return [...names.values()].sort((a, b) => b.self - a.self || (a.name < b.name ? -1 : 1));
}

/** Round steps for a time axis: 1, 2 or 5 times a power of ten. @param {number} span ns @param {number} pieces at most */
export function tickStep(span, pieces) {
	const raw = span / Math.max(1, pieces);
	const power = 10 ** Math.floor(Math.log10(raw));
	const unit = raw / power;
	return (unit <= 1 ? 1 : unit <= 2 ? 2 : unit <= 5 ? 5 : 10) * power;
}

/** Zoom and pan keep within the frame and a margin. @typedef {{t0: number, t1: number}} View */

/** The view that shows all of a frame. @param {number} extent its length, as far as anything of it goes @returns {View} */
export function fitView(extent) {
	const margin = Math.max(1, extent * 0.01);
	return { t0: -margin, t1: extent + margin };
}

/** How far a frame goes: GPU work of a frame may end after it. @param {number} wall @param {Lane[]} tracks */
export function extentOf(wall, tracks) {
	let extent = wall;
	for (const track of tracks) {
		for (const row of track.rows)
			extent = Math.max(extent, row.end.length ? row.end[row.end.length - 1] : 0);
	}
	return extent;
}

const LEAST_SPAN_NS = 50;

/** @param {View} view @param {number} extent @returns {View} */
export function clampView(view, extent) {
	const whole = fitView(extent);
	const span = Math.min(whole.t1 - whole.t0, Math.max(LEAST_SPAN_NS, view.t1 - view.t0));
	const t0 = Math.min(whole.t1 - span, Math.max(whole.t0, view.t0));
	return { t0, t1: t0 + span };
}

/** Zooms around a time. @param {View} view @param {number} factor below 1 zooms in @param {number} at @param {number} extent */
export function zoomView(view, factor, at, extent) {
	return clampView({ t0: at - (at - view.t0) * factor, t1: at + (view.t1 - at) * factor }, extent);
}
