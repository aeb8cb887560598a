// SPDX-License-Identifier: MIT
// A page that can be seen holds the live session that it shows, so that a daemon that records on demand records it; one that
// is hidden or closed lets go. A lease that is not renewed runs out by itself.

import { ApiError, sendJson } from './api.js';

/** @typedef {import('./model.js').Model} Model */

const LEASE_S = 30;
const RENEW_MS = 10_000;

export class Lease {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		/** The session that is held, or that holding was begun of; 0: none. */
		this.session = 0;
		/** Counts what was to be held, so that what comes of an older wish changes nothing. */
		this.wish = 0;
		/** @type {string|null} what renews and releases it */
		this.token = null;
		/** Why the session is not held; '' otherwise. */
		this.problem = '';
		/** @type {ReturnType<typeof setTimeout>|undefined} */
		this.timer = undefined;
		document.addEventListener('visibilitychange', () => this.follow());
		/** What is taken now, nobody is there to let go of. */
		this.leaving = false;
		window.addEventListener('pagehide', () => this.leave(true));
		window.addEventListener('pageshow', () => this.leave(false));
	}

	/** Holds what is to be held now. */
	follow() {
		const { session, connection } = this.model;
		this.hold(!this.leaving && !document.hidden && session?.state === 'live' && connection !== 'disconnected' ? session.id : 0);
	}

	/** @param {boolean} leaving */
	leave(leaving) {
		this.leaving = leaving;
		this.follow();
	}

	/** @param {number} session 0: none */
	hold(session) {
		if (session === this.session)
			return;
		this.session = session;
		this.wish++;
		this.release();
		if (session)
			this.take(session);
	}

	release() {
		clearTimeout(this.timer);
		const { token } = this;
		this.token = null;
		if (token)
			sendJson('DELETE', `/consumers/${token}`).catch(ranOut);
	}

	/** @param {number} session */
	async take(session) {
		const { wish } = this;
		try {
			const { token } = await sendJson('POST', '/consumers', { session, lease_s: LEASE_S });
			if (this.wish !== wish) {
				sendJson('DELETE', `/consumers/${token}`).catch(ranOut);
				return;
			}
			this.token = token;
			this.problem = '';
			this.timer = setTimeout(() => this.renew(token), RENEW_MS);
		} catch (error) {
			if (this.wish === wish)
				this.fail(error);
			else
				ranOut(error);
		}
	}

	/** @param {string} token */
	async renew(token) {
		try {
			await sendJson('PUT', `/consumers/${token}`, { lease_s: LEASE_S });
			if (this.token === token)
				this.timer = setTimeout(() => this.renew(token), RENEW_MS);
		} catch (error) {
			if (this.token === token)
				this.fail(error);
			else
				ranOut(error);
		}
	}

	/**
	 * Tries anew when the model tells of the session again. A lease that ran out, and a game that is not back yet after the
	 * daemon was away, are no trouble.
	 * @param {unknown} error
	 */
	fail(error) {
		if (!(error instanceof ApiError))
			throw error;
		this.session = 0;
		this.token = null;
		this.problem = [0, 404, 409].includes(error.status) ? '' : error.message;
	}
}

/** The lease is gone already, or the daemon is: there is nothing to let go. @param {unknown} error */
function ranOut(error) {
	if (!(error instanceof ApiError))
		throw error;
}
