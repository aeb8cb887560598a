// SPDX-License-Identifier: MIT
// The binary timeline of a range of frames (docs/openapi.yaml, getTimeline) as lanes that the timeline draws. Its columns
// stay typed arrays: a zone becomes an object only when someone points at it. Pure: no DOM.

import { FLAGS, buildRows, extentOf, trackTitle } from './zones.js';

/** @typedef {import('./zones.js').Lane} Lane */
/** @typedef {{frame: number, start: number, end: number, gone: boolean}} FrameSpan ns from the origin; gone: its events are */
/** @typedef {{thread: number|string, at: number, kind: string, text: string}} Note at: ns from the origin */

/**
 * @typedef {object} Scene what the timeline shows: a frame, or a range of them
 * @property {number} origin ns of the session at time 0
 * @property {number} extent ns from there to the end of all that belongs to it
 * @property {FrameSpan[]} frames
 * @property {Lane[]} tracks
 * @property {Note[]} messages instants and marks of other streams too
 * @property {{thread: number|string, start: number, end: number, events: number}[]} gaps
 * @property {number} resolution ns below which zones were merged; 0: each is on its own
 * @property {boolean} truncated
 */

/** @param {Scene} scene how many zones it stands for */
export const zonesOf = (scene) => scene.tracks.reduce((sum, track) => sum + track.count, 0);

/** A frame as the timeline shows it. @param {import('./model.js').Detail} detail @returns {Scene} */
export function sceneOfFrame(detail) {
	const { frame, tracks, extent, gaps, truncated } = detail;
	return {
		origin: frame.begin_ns, extent, tracks, gaps, truncated, resolution: 0,
		frames: [{ frame: frame.frame, start: 0, end: frame.wall_ns, gone: frame.flags.includes('events_evicted') }],
		messages: detail.messages.map((one) => ({ ...one, kind: 'message' })),
	};
}

/**
 * A frame with the marks of other streams in it, and with the threads that did nothing but mark.
 * @param {Scene} scene of the frame @param {Scene} told of the same frame, as a range @returns {Scene}
 */
export function withMarks(scene, told) {
	const marks = told.messages.filter(({ kind }) => kind === 'mark');
	const known = new Set(scene.tracks.map(({ thread }) => thread.id));
	const more = told.tracks.filter(({ thread }) => !known.has(thread.id) && marks.some((mark) => mark.thread === thread.id));
	return { ...scene, tracks: [...scene.tracks, ...more], messages: [...scene.messages, ...marks].sort((a, b) => a.at - b.at) };
}

/**
 * @param {ArrayBuffer} bytes the answer @param {number|null} [at] ns of the session at time 0; null: the range's begin
 * @returns {Scene}
 */
export function sceneOfRange(bytes, at = null) {
	const head = new Uint32Array(bytes, 0, 12);
	if (head[0] !== 0x4c545046 || head[1] !== 1)
		throw new Error('the timeline is in a format that this page does not know');
	const [items, size] = [head[2], head[3]];
	const about = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, head[11], size)));
	const origin = at ?? about.range.begin_ns;
	const columns = {
		begin: new Float64Array(bytes, head[4], items).map((ns) => ns - origin),
		length: new Float64Array(bytes, head[5], items),
		busy: new Float64Array(bytes, head[6], items),
		marker: new Uint32Array(bytes, head[7], items),
		merged: new Uint32Array(bytes, head[8], items),
		depth: new Uint16Array(bytes, head[9], items),
		flags: new Uint16Array(bytes, head[10], items),
	};
	const tracks = about.threads.map((/** @type {any} */ thread) => laneOf(thread, columns, about.markers, origin));
	/** @type {Note[]} */
	const messages = about.threads.flatMap((/** @type {any} */ thread) => thread.events.map((/** @type {any} */ one) => noteOf(one, thread.id, about.markers, origin)));
	const frames = about.frames.map((/** @type {any} */ one) => ({
		frame: one.frame, start: one.begin_ns - origin, end: one.begin_ns - origin + one.wall_ns, gone: one.flags.includes('events_evicted'),
	}));
	return {
		origin, frames, tracks, resolution: about.resolution_ns, truncated: false,
		extent: extentOf(about.range.end_ns - origin, tracks),
		messages: messages.sort((a, b) => a.at - b.at),
		gaps: about.threads.flatMap((/** @type {any} */ thread) => thread.gaps.map((/** @type {any} */ gap) => ({
			thread: thread.id, start: gap.begin_ns - origin, end: gap.end_ns - origin, events: gap.events,
		}))),
	};
}

/**
 * @param {any} thread @param {{begin: Float64Array, length: Float64Array, busy: Float64Array, marker: Uint32Array, merged: Uint32Array, depth: Uint16Array, flags: Uint16Array}} all
 * @param {any[]} markers @param {number} origin @returns {Lane}
 */
function laneOf(thread, all, markers, origin) {
	const [from, to] = [thread.first, thread.first + thread.items];
	const [begin, length, busy] = [all.begin.subarray(from, to), all.length.subarray(from, to), all.busy.subarray(from, to)];
	const [marker, merged] = [all.marker.subarray(from, to), all.merged.subarray(from, to)];
	const [depth, flags] = [all.depth.subarray(from, to), all.flags.subarray(from, to)];
	const indexes = Uint32Array.from(begin, (_, at) => at);
	return {
		thread: { ...thread, events: undefined, gaps: undefined }, title: trackTitle(thread), flags, merged,
		count: merged.reduce((sum, n) => sum + n, 0),
		busy: busy.reduce((sum, ns, at) => sum + (depth[at] ? 0 : ns), 0),
		self: selfOf(depth, busy),
		rows: buildRows(indexes, (at) => depth[at], begin, length),
		marker: (at) => markers[marker[at]],
		zone: (at) => ({
			...markers[marker[at]], start_ns: begin[at] + origin, duration_ns: length[at], depth: depth[at], merged: merged[at],
			flags: FLAGS.filter((_, bit) => flags[at] & (1 << bit)),
		}),
	};
}

/** Time of each item outside what is right inside it: parents come before their children. @param {Uint16Array} depth @param {Float64Array} busy */
function selfOf(depth, busy) {
	const self = Float64Array.from(busy);
	/** @type {number[]} */
	const last = [];
	for (let at = 0; at < depth.length; at++) {
		last[depth[at]] = at;
		const parent = depth[at] ? last[depth[at] - 1] : undefined;
		if (parent !== undefined)
			self[parent] = Math.max(0, self[parent] - busy[at]);
	}
	return self;
}

/** @param {any} event @param {number} thread @param {any[]} markers @param {number} origin @returns {Note} */
function noteOf(event, thread, markers, origin) {
	const name = event.marker ? markers[event.marker].name : null;
	const text = event.kind === 'mark' ? `end of a frame of the stream ${event.text}`
		: event.text === null ? `${name ?? 'unnamed'} (instant)` : name ? `${name}: ${event.text}` : event.text;
	return { thread, kind: event.kind, at: event.time_ns - origin, text: event.count > 1 ? `${text}, and ${event.count - 1} more` : text };
}
