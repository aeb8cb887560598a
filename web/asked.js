// SPDX-License-Identifier: MIT
// One question of a panel to the API. A panel says in each draw what it wants to know; it is asked once, the newest
// question wins, and while the answer is awaited the last one stays, marked as old.

import { ApiError, getJson } from './api.js';
import { Turns } from './turns.js';

/** How often a question may change while a live game is followed. */
const SPACING_MS = 500;
/** When a daemon that did not answer is asked again. */
const RETRY_MS = 1000;
/** How many are on their way at once: what the user waits for has a place beside them. */
const turns = new Turns(2);

export class Asked {
	/** @param {() => void} changed called when there is an answer, or a problem @param {(path: string) => Promise<any>} [get] */
	constructor(changed, get = getJson) {
		this.changed = changed;
		this.get = get;
		/** @type {string|null} */
		this.path = null;
		/** @type {string|null} what `answer` answers */
		this.answered = null;
		/** @type {any} null: none yet */
		this.answer = null;
		/** Why there is no answer; '' otherwise. */
		this.problem = '';
		/** Whether an answer is awaited. */
		this.asking = false;
		/** Whether the daemon did not answer. */
		this.lost = false;
		/** @type {ReturnType<typeof setTimeout>|undefined} */
		this.timer = undefined;
		this.lastAsked = -Infinity;
	}

	/** Whether what is here answers the last question. */
	get fresh() {
		return this.path !== null && this.answered === this.path;
	}

	/**
	 * @param {string|null} path below /api/v1; null: nothing is wanted
	 * @param {boolean} [again] ask even what was answered
	 */
	want(path, again = false) {
		if (path === this.path && !again)
			return;
		this.path = path;
		if (path === null) {
			this.answer = null;
			this.answered = null;
			this.problem = '';
		}
		this.plan(again);
	}

	/** Asks when it is time; a question that is on its way is never taken back, or a slow one would never be answered. @param {boolean} [again] */
	plan(again = false) {
		clearTimeout(this.timer);
		const { path } = this;
		if (path === null || this.asking || (!again && path === this.answered))
			return;
		this.timer = setTimeout(() => this.ask(), Math.max(0, this.lastAsked + SPACING_MS - performance.now()));
	}

	/** Asks when it is its turn, what is wanted by then. */
	async ask() {
		this.asking = true;
		/** @type {string|null} */
		let path = null;
		try {
			path = await turns.take(() => this.read());
		} finally {
			this.asking = false;
		}
		if (this.path !== path)
			this.plan();
		else if (this.lost)
			this.timer = setTimeout(() => this.plan(true), RETRY_MS);
		this.changed();
	}

	/** @returns {Promise<string|null>} what was asked */
	async read() {
		this.lastAsked = performance.now();
		this.lost = false;
		const { path } = this;
		if (path === null)
			return path;
		try {
			const answer = await this.get(path);
			if (this.path !== null) {
				this.answer = answer;
				this.answered = path;
				this.problem = '';
			}
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.lost = error.status === 0;
			if (this.path === path)
				this.problem = error.message;
		}
		return path;
	}
}
