// SPDX-License-Identifier: MIT
// Values of many keys over the last slots of time, the largest in each slot. A key stays where it is while others come and
// go; one that has nothing in a slot has a gap there, and is forgotten when it had nothing in all of them. Pure: no DOM.

export class Slots {
	/** @param {number} length how many slots are kept */
	constructor(length) {
		this.length = length;
		/** @type {Map<string, (number|null)[]>} oldest first */
		this.series = new Map();
	}

	/** The next slot. @param {Iterable<[string, number|null]>} values a key that comes twice has the larger one */
	push(values) {
		for (const series of this.series.values()) {
			series.shift();
			series.push(null);
		}
		for (const [key, value] of values) {
			if (value === null)
				continue;
			const series = this.series.get(key) ?? new Array(this.length).fill(null);
			const last = series[this.length - 1];
			series[this.length - 1] = last === null ? value : Math.max(last, value);
			this.series.set(key, series);
		}
		for (const [key, series] of this.series) {
			if (series.every((value) => value === null))
				this.series.delete(key);
		}
	}

	clear() {
		this.series.clear();
	}

	/** @param {string} key @returns {(number|null)[]} */
	of(key) {
		return this.series.get(key) ?? [];
	}
}
