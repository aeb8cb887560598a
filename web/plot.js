// SPDX-License-Identifier: MIT
// Line charts, drawn by uPlot. A plot keeps its size and axes while its data change; what is missing is a gap, and the
// numbers are those that were recorded, not means. Each has a table beside it, made by who plots.

import uPlot from './vendor/uPlot.js';
import { element, setText } from './dom.js';
import { count, plural } from './format.js';
import { palette, watchPalette } from './palette.js';

/** The share of values that a cut plot has room for at least. */
const USUAL = 0.98;

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} colour of the palette
 * @property {boolean} [points] only points
 * @property {boolean} [fill]
 * @property {boolean} [above] the area from the line up to the end of the scale is filled, and the line itself not drawn
 * @property {(value: number) => string} [value] how it reads, where that is not as the others do
 * @property {boolean} [steps] holds until the next value
 */

/**
 * @typedef {object} PlotOptions
 * @property {string} label what is shown, for those who cannot see it
 * @property {number} height px
 * @property {Line[]} lines
 * @property {(value: number) => string} value how a value reads
 * @property {(x: number) => string} [place] how a place on the x axis reads; without it frame numbers
 * @property {{min: number, max: number}} [scale] fixed; without it 0 to the largest
 * @property {(x: number) => void} [open] a click on a place
 * @property {boolean} [cut] a few values far above the others are cut, and told of below, so that the others can be read; x is a frame then
 */

export class Plot {
	/** @param {HTMLElement} at @param {PlotOptions} options */
	constructor(at, options) {
		this.options = options;
		this.box = element('div', { class: 'plot', role: 'img', 'aria-label': options.label });
		at.append(this.box);
		/** @type {uPlot|null} */
		this.chart = null;
		/** @type {(number|null)[][]} */
		this.data = [[], ...options.lines.map(() => [])];
		this.colours = palette();
		/** What is above the plot. */
		this.above = element('p', { class: 'note' });
		if (options.cut)
			at.append(this.above);
		this.top = 0;
		this.sized = new ResizeObserver(() => this.resize());
		this.sized.observe(this.box);
		this.unwatch = watchPalette(() => this.chart && this.show(this.data));
	}

	/** @param {(number|null)[][]} data x, then the values of each line */
	show(data) {
		this.data = data;
		this.cut();
		if (this.colours !== palette())
			this.dispose();
		if (this.chart)
			this.chart.setData(/** @type {uPlot.AlignedData} */ (data));
		else
			this.make();
	}

	/** Where the scale ends, and what goes beyond. */
	cut() {
		const [places, ...lines] = this.data;
		if (!this.options.cut)
			return;
		const values = Float64Array.from(lines.flatMap((line) => line.filter((value) => value !== null).map(Number))).sort();
		const most = values[values.length - 1] ?? 0;
		const usual = (values[Math.ceil(values.length * USUAL) - 1] ?? 0) * 1.5;
		this.top = most > 2 * usual && usual > 0 ? usual : 0;
		const beyond = this.top ? places.filter((_, at) => lines.some((line) => Number(line[at]) > this.top)).length : 0;
		const at = places[lines.find((line) => line.includes(most))?.indexOf(most) ?? 0];
		setText(this.above, beyond ? `${plural(beyond, 'frame')} beyond the plot, the highest ${this.options.value(most)} in frame ${count(Number(at))}.` : '');
	}

	dispose() {
		this.chart?.destroy();
		this.chart = null;
	}

	/** Takes it off the page. */
	remove() {
		this.dispose();
		this.sized.disconnect();
		this.unwatch();
		this.box.remove();
		this.above.remove();
	}

	make() {
		const width = this.box.clientWidth;
		if (!width)
			return;
		this.colours = palette();
		this.chart = new uPlot(this.settings(width), /** @type {uPlot.AlignedData} */ (this.data), this.box);
		if (this.options.open)
			this.chart.over.addEventListener('click', () => this.click());
	}

	click() {
		const at = this.chart?.cursor.idx;
		if (at !== null && at !== undefined && this.data[0][at] !== null)
			this.options.open?.(/** @type {number} */ (this.data[0][at]));
	}

	resize() {
		if (!this.chart)
			this.make();
		else if (this.box.clientWidth && this.box.clientWidth !== this.chart.width)
			this.chart.setSize({ width: this.box.clientWidth, height: this.options.height });
	}

	/** @param {number} width @returns {uPlot.Options} */
	settings(width) {
		const { options, colours } = this;
		const axis = { stroke: colours.muted, grid: { stroke: colours.line, width: 1 }, ticks: { stroke: colours.line, width: 1 }, font: '11px system-ui, sans-serif' };
		const place = options.place ?? String;
		const { scale } = options;
		return {
			width,
			height: options.height,
			legend: { live: true },
			cursor: { y: false, drag: { x: false, y: false } },
			scales: {
				x: { time: false },
				y: { range: (_, low, high) => (scale ? [scale.min, scale.max] : [Math.min(0, low ?? 0), this.top || (high || 1) * 1.05]) },
			},
			axes: [
				{ ...axis, size: 30, values: (_, ticks) => ticks.map((x) => (Number.isInteger(x) ? place(x) : '')) },
				{ ...axis, size: (_, texts) => Math.max(78, ...(texts ?? []).map((text) => text.length * 7 + 14)), values: (_, ticks) => ticks.map(options.value) },
			],
			series: [
				{ label: 'at', value: (_, x) => (x === null ? '–' : place(x)) },
				...options.lines.map((line) => this.series(line)),
			],
		};
	}

	/** @param {Line} line @returns {uPlot.Series} */
	series(line) {
		const colour = this.colours[line.colour];
		return {
			label: line.label,
			stroke: colour,
			width: line.points || line.above ? 0 : 1.25,
			fill: line.fill || line.above ? `color-mix(in srgb, ${colour} 20%, transparent)` : undefined,
			fillTo: line.above ? () => this.options.scale?.max ?? 0 : undefined,
			points: { show: Boolean(line.points), size: 4, fill: colour },
			paths: line.steps ? uPlot.paths.stepped?.({ align: 1 }) : undefined,
			spanGaps: false,
			value: (_, y) => (y === null || y === undefined ? '–' : (line.value ?? this.options.value)(y)),
		};
	}
}
