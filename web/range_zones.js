// SPDX-License-Identifier: MIT
// The zones of a selected range: all of it at once, merged where there are too many to draw, and once a part of it is
// looked at, that part finer. What only a frame's own answer tells of a zone is asked for when someone points at it.

import { framePath, getBytes, getJson, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { detailOf } from './model.js';
import { sceneOfFrame, sceneOfRange, withMarks } from './range_tracks.js';

/** @typedef {import('./range_tracks.js').Scene} Scene */
/** @typedef {import('./zones.js').View} View */

/** Zones, or slivers of them, that are held at once. */
const MOST = 120_000;
/** The same where only the marks of other streams are wanted. */
const MOST_FOR_MARKS = 2000;
/** A GPU's work may belong to so many frames before the one in which it ran. */
const FRAMES_BACK = 3;
const FRAMES_KEPT = 6;

/** An answer and what was made of it. */
class Answered {
	/** @param {() => void} changed */
	constructor(changed) {
		this.asked = new Asked(changed, getBytes);
		/** @type {ArrayBuffer|null} */
		this.taken = null;
		/** @type {Scene|null} */
		this.scene = null;
	}

	/** @param {string|null} path @param {number|null} origin */
	follow(path, origin) {
		this.asked.want(path);
		const answer = this.asked.fresh ? this.asked.answer : null;
		if (answer !== this.taken)
			this.scene = answer && sceneOfRange(answer, origin);
		this.taken = answer;
	}
}

export class RangeZones {
	/** @param {import('./model.js').Model} model @param {() => void} changed */
	constructor(model, changed) {
		this.model = model;
		this.whole = new Answered(changed);
		this.part = new Answered(changed);
		/** The selected frame, for the marks of other streams: its own answer has none. */
		this.marks = new Answered(changed);
		/** What the part was asked for. @type {{of: Scene, from: number, to: number}|null} */
		this.asked = null;
		/** @type {import('./model.js').Detail|null} */
		this.frameDetail = null;
		/** @type {Scene|null} */
		this.frameMarks = null;
		/** @type {Scene|null} */
		this.frameScene = null;
		/** Frames that were asked about, the newest last. @type {Map<string, Promise<import('./model.js').Detail|null>>} */
		this.frames = new Map();
	}

	/** What there is to show. @returns {Scene|null} null: nothing, or not yet */
	scene() {
		if (this.model.view.range)
			return this.whole.scene;
		const { detail } = this.model;
		const marks = this.marks.scene;
		if (detail !== this.frameDetail || marks !== this.frameMarks) {
			this.frameDetail = detail;
			this.frameMarks = marks;
			const scene = detail && sceneOfFrame(detail);
			this.frameScene = scene && marks?.frames[0].frame === detail.frame.frame ? withMarks(scene, marks) : scene;
		}
		return this.frameScene;
	}

	/** Why there is nothing; '': it is on its way. */
	problem() {
		return this.whole.asked.problem;
	}

	/** Asks for what is selected. */
	follow() {
		const { range } = this.model.view;
		const { session, detail } = this.model;
		this.whole.follow(session && range ? this.path(range.first, range.last) : null, null);
		const frame = detail?.frame.frame;
		const marked = frame && !range && session?.streams?.length > 1 && !detail.frame.flags.includes('events_evicted');
		this.marks.follow(marked ? this.path(frame, frame, MOST_FOR_MARKS) : null, detail?.frame.begin_ns ?? null);
	}

	/** @param {number} from @param {number} to @param {number} [most] zones */
	path(from, to, most = MOST) {
		const { session, stream } = this.model;
		return `${sessionPath(String(session.id))}/timeline?format=binary&max_zones=${most}&from=${from}&to=${to}`
			+ (stream === null ? '' : `&stream=${encodeURIComponent(stream)}`);
	}

	/**
	 * The lanes to draw in a view: finer ones where they are here; where not, they are asked for.
	 * @param {View} view @param {number} width pixels @returns {Scene|null}
	 */
	finest(view, width) {
		const scene = this.scene();
		const least = (view.t1 - view.t0) / Math.max(1, width);
		if (!scene || scene.resolution <= least) {
			this.asked = null;
			this.part.follow(null, null);
			return scene;
		}
		const seen = scene.frames.filter((one) => one.end > view.t0 && one.start < view.t1);
		const [first, last] = [seen[0], seen[seen.length - 1]];
		if (!first || (first === scene.frames[0] && last === scene.frames[scene.frames.length - 1]))
			return scene;
		const held = this.asked;
		const covered = held?.of === scene && held.from <= first.frame && held.to >= last.frame;
		const part = this.part.scene;
		if (!covered || (part && part.resolution > least && held.to - held.from > 3 * seen.length + 2))
			this.asked = { of: scene, from: Math.max(scene.frames[0].frame, first.frame - seen.length), to: Math.min(scene.frames[scene.frames.length - 1].frame, last.frame + seen.length) };
		const { from, to } = /** @type {{from: number, to: number}} */ (this.asked);
		this.part.follow(this.path(from, to), scene.origin);
		return covered && this.part.scene ? this.part.scene : scene;
	}

	/**
	 * A zone as its own frame tells of it: with its text and value, a GPU's with its submission.
	 * @param {import('./zones.js').Lane} lane @param {number} index @returns {Promise<import('./zones.js').Zone|null>}
	 */
	async wholeZone(lane, index) {
		const zone = lane.zone(index);
		const scene = this.scene();
		const at = scene ? scene.frames.findIndex((one) => scene.origin + one.end > zone.start_ns) : -1;
		if (!scene || at < 0)
			return null;
		const back = lane.thread.kind === 'gpu_queue' ? FRAMES_BACK : 0;
		for (let i = at; i >= Math.max(0, at - back); i--) {
			const detail = await this.frame(scene.frames[i].frame);
			const found = detail?.tracks.find((track) => track.thread.id === lane.thread.id)?.zones
				.find((one) => one.start_ns === zone.start_ns && one.name === zone.name && one.duration_ns <= zone.duration_ns);
			if (found)
				return { ...found, duration_ns: zone.duration_ns };
		}
		return null;
	}

	/** @param {number} frame @returns {Promise<import('./model.js').Detail|null>} */
	frame(frame) {
		const { session, stream } = this.model;
		const path = framePath(String(session.id), stream, frame);
		const known = this.frames.get(path) ?? getJson(path).then(detailOf).catch(() => null);
		this.frames.delete(path);
		this.frames.set(path, known);
		for (const key of [...this.frames.keys()].slice(0, -FRAMES_KEPT))
			this.frames.delete(key);
		return known;
	}
}
