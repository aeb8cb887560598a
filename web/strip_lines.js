// SPDX-License-Identifier: MIT
// What is drawn over and around the columns of the strip: budgets, a counter, spikes, allocations and collections, where
// the events are gone, where the recording ends, frame numbers. Each draws into a Plot that the strip set up.

import { budgetLines } from './marks.js';
import { palette } from './palette.js';

/**
 * @typedef {object} Plot
 * @property {CanvasRenderingContext2D} context
 * @property {number} width
 * @property {number} base y of 0 ms
 * @property {number} top y of the scale's end
 * @property {number} step width of a column
 * @property {number} lane height of the lane below the base; 0: none
 * @property {number} scale ns from base to top
 */

export const FONT = '11px system-ui, sans-serif';
export const LABEL = 14; // the height of a label

/** @param {Plot} plot @param {number} ns */
export const heightOf = (plot, ns) => Math.min(1, ns / plot.scale) * (plot.base - plot.top);

/** Text on a plate of the page's colour. @param {Plot} plot @param {string} text @param {number} x @param {number} y */
export function label({ context }, text, x, y) {
	const colours = palette();
	context.font = FONT;
	context.textBaseline = 'middle';
	const wide = context.measureText(text).width;
	context.fillStyle = colours.page;
	context.globalAlpha = 0.85;
	context.fillRect(x - 3, y - LABEL / 2, wide + 6, LABEL);
	context.globalAlpha = 1;
	context.fillStyle = colours.text;
	context.fillText(text, x, y);
	return wide;
}

/** A line across. @param {Plot} plot @param {number} y @param {string} colour @param {number[]} dash */
function across({ context, width }, y, colour, dash) {
	context.strokeStyle = colour;
	context.lineWidth = dash.length ? 1 : 1.5;
	context.setLineDash(dash);
	context.beginPath();
	context.moveTo(0, Math.round(y) + 0.5);
	context.lineTo(width, Math.round(y) + 0.5);
	context.stroke();
	context.setLineDash([]);
}

/** The budget lines; those above the scale are named at the top. @param {Plot} plot @param {number|null} own ms */
export function drawBudgets(plot, own) {
	const colours = palette();
	let free = plot.base - LABEL / 2; // the lowest place for the next label
	let x = 4;
	const lines = budgetLines(own).sort((a, b) => a.ms - b.ms);
	lines.forEach((line, at) => {
		const text = `${line.ms.toFixed(1)} ms${line.own ? ' budget' : ''}`;
		if (line.ms * 1e6 > plot.scale) {
			x += label(plot, `${text} ↑`, x, plot.top - 8) + 12;
			return;
		}
		const y = plot.base - heightOf(plot, line.ms * 1e6);
		across(plot, y, line.own ? colours.bad : colours.text, line.own ? [] : at === lines.length - 1 ? [2, 4] : [6, 4]);
		if (y > free)
			return;
		label(plot, text, 4, y);
		free = y - LABEL;
	});
}

/** The mark of a column that goes on beyond the top. @param {Plot} plot @param {number} x */
export function drawCut({ context, top }, x) {
	context.fillStyle = palette().bad;
	context.beginPath();
	context.moveTo(x, top - 9);
	context.lineTo(x + 4.5, top - 1);
	context.lineTo(x - 4.5, top - 1);
	context.fill();
}

/** A flag above each column in which a spike fired. @param {Plot} plot @param {number[]} columns */
export function drawFlags({ context, step, top }, columns) {
	context.fillStyle = palette().bad;
	for (const column of columns) {
		const x = Math.round((column + 0.5) * step);
		context.fillRect(x - 0.75, top - 24, 1.5, 14);
		context.beginPath();
		context.moveTo(x, top - 24);
		context.lineTo(x + 8, top - 20.5);
		context.lineTo(x, top - 17);
		context.fill();
	}
}

/**
 * Allocations as bars that hang from the base, on a scale of their own, and a diamond where garbage was collected.
 * @param {Plot} plot @param {(number|null)[]} allocations by column @param {number[]} collections columns
 */
export function drawLane({ context, step, base, lane }, allocations, collections) {
	const most = Math.max(1, ...allocations.map((n) => n ?? 0));
	context.fillStyle = palette()['hold-memory'];
	allocations.forEach((n, at) => {
		if (n)
			context.fillRect(at * step, base + 2, Math.max(1, step - (step >= 4 ? 1 : 0)), Math.max(1, (n / most) * (lane - 3)));
	});
	context.fillStyle = palette().text;
	for (const column of collections) {
		const [x, y, size] = [(column + 0.5) * step, base + 1 + lane / 2, lane / 2];
		context.beginPath();
		context.moveTo(x, y - size);
		context.lineTo(x + size, y);
		context.lineTo(x, y + size);
		context.lineTo(x - size, y);
		context.fill();
	}
}

/**
 * A counter on a scale of its own: a line, or a point at each sample.
 * @param {Plot} plot @param {import('./overlay.js').Overlay} counter @param {(number|null)[]} values by column
 */
export function drawCounter(plot, counter, values) {
	const { context, base, step } = plot;
	const { name, unit, sampled } = counter;
	const most = Math.max(...values.map((value) => value ?? -Infinity));
	if (!Number.isFinite(most))
		return;
	const top = unit === 'percent' ? 100 : most;
	context.strokeStyle = palette().text;
	context.fillStyle = palette().text;
	context.lineWidth = 1.5;
	context.setLineDash([5, 3]);
	context.beginPath();
	let open = false;
	values.forEach((value, at) => {
		const x = (at + 0.5) * step;
		const y = base - (top > 0 ? Math.min(1, Math.max(0, (value ?? 0) / top)) : 0) * (base - plot.top);
		if (value !== null && open)
			context.lineTo(x, y);
		else if (value !== null)
			context.moveTo(x, y);
		if (value !== null && sampled)
			context.fillRect(x - 2.5, y - 2.5, 5, 5);
		open = value !== null || (sampled && open);
	});
	context.stroke();
	context.setLineDash([]);
	const text = `${name}${sampled ? ', sampled' : ''}, at most ${counter.text(most)}${unit === 'percent' ? ' of 100 %' : ''}`;
	context.font = FONT;
	label(plot, text, plot.width - context.measureText(text).width - 4, plot.top - 8);
}

/** Where events are gone: left of it only the numbers remain. @param {Plot} plot @param {number} x */
export function drawEvicted(plot, x) {
	const { context } = plot;
	context.strokeStyle = palette().muted;
	context.lineWidth = 2;
	context.setLineDash([3, 3]);
	context.beginPath();
	context.moveTo(x, plot.top);
	context.lineTo(x, plot.base);
	context.stroke();
	context.setLineDash([]);
	context.font = FONT;
	const text = x < plot.width ? '◀ events gone, numbers remain' : 'events gone, numbers remain';
	label(plot, text, Math.max(4, x - 6 - context.measureText(text).width), plot.base - 10);
}

/** Where the recording ends. @param {Plot} plot @param {number} x */
export function drawHead({ context, top, base }, x) {
	context.fillStyle = palette().good;
	context.fillRect(Math.round(x) - 1, top - 4, 2, base - top + 4);
}

/**
 * The axis with its frame numbers, and the head's name at its right end.
 * @param {Plot} plot @param {number} bottom @param {{first: number, last: number, from: number, to: number, head: string}} frames the window, and those that are there
 */
export function drawAxis(plot, bottom, { first, last, from, to, head }) {
	const { context, width, base } = plot;
	const colours = palette();
	context.strokeStyle = colours.line;
	context.lineWidth = 1;
	context.beginPath();
	context.moveTo(0, base + 0.5);
	context.lineTo(width, base + 0.5);
	context.stroke();
	context.font = FONT;
	context.textBaseline = 'alphabetic';
	context.textAlign = 'right';
	context.fillStyle = colours.text;
	context.fillText(head, width - 2, bottom - 3);
	context.fillStyle = colours.muted;
	const end = width - context.measureText(head).width - 30;
	const frames = last - first + 1;
	const every = width / 6 >= 70 ? 100 : 200;
	for (let n = Math.max(Math.ceil(first / every), Math.ceil(from / every), 1) * every; n <= Math.min(last, to); n += every) {
		const x = ((n - first + 0.5) / frames) * width;
		context.textAlign = x < 24 ? 'left' : 'center';
		if (x < end)
			context.fillText(String(n), x, bottom - 3);
	}
	context.textAlign = 'left';
}
