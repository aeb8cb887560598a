// SPDX-License-Identifier: MIT
// A counter as a line without axes: its form, and its largest value in words. Each pixel shows the largest value of what it
// stands for, never a mean.

import { maximaOf } from './counter_series.js';
import { element } from './dom.js';
import { palette } from './palette.js';

const WIDTH = 150;
const HEIGHT = 26;

export class Sparkline {
	/** @param {HTMLElement} at @param {string} name */
	constructor(at, name) {
		const ratio = Math.min(3, Math.max(1, Math.round(window.devicePixelRatio || 1)));
		this.ratio = ratio;
		this.canvas = element('canvas', { width: String(WIDTH * ratio), height: String(HEIGHT * ratio), class: 'sparkline', role: 'img', 'aria-label': `${name} over time; the table below has its values` });
		at.append(this.canvas);
	}

	/** @param {[number, number][]} values place and value @param {{min: number, max: number}|null} scale null: its own @param {boolean} dense each value stands at its place; else a line joins them */
	show(values, scale, dense) {
		const context = this.canvas.getContext('2d');
		if (!context)
			return;
		context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
		context.clearRect(0, 0, WIDTH, HEIGHT);
		if (!values.length)
			return;
		const columns = maximaOf(values, values[0][0], values[values.length - 1][0], dense ? WIDTH : Math.min(WIDTH, values.length));
		const top = scale?.max ?? Math.max(...columns.map((value) => value ?? -Infinity));
		const low = scale?.min ?? Math.min(0, ...columns.map((value) => value ?? Infinity));
		const y = (/** @type {number} */ value) => HEIGHT - 1.5 - (top > low ? ((value - low) / (top - low)) * (HEIGHT - 3) : 0);
		context.strokeStyle = palette().plot;
		context.lineWidth = 1.25;
		context.beginPath();
		let open = false;
		columns.forEach((value, at) => {
			if (value === null)
				return;
			const x = columns.length > 1 ? (at / (columns.length - 1)) * (WIDTH - 1) : WIDTH;
			if (open)
				context.lineTo(x, y(value));
			else
				context.moveTo(columns.length > 1 ? x : 0, y(value));
			if (columns.length === 1)
				context.lineTo(x, y(value));
			open = true;
		});
		context.stroke();
	}
}
