// SPDX-License-Identifier: MIT
// So many at once, the others in the order in which they came. Pure: no DOM.

export class Turns {
	/** @param {number} most at once */
	constructor(most) {
		this.free = most;
		/** @type {(() => void)[]} */
		this.waiting = [];
	}

	/** Runs it when it is its turn. @template T @param {() => Promise<T>} run @returns {Promise<T>} */
	async take(run) {
		if (this.free > 0)
			this.free--;
		else
			await new Promise((resolve) => this.waiting.push(() => resolve(undefined)));
		try {
			return await run();
		} finally {
			const next = this.waiting.shift();
			if (next)
				next();
			else
				this.free++;
		}
	}
}
