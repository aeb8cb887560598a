// SPDX-License-Identifier: MIT
// The zones that took the time, over what is selected: work on threads, work on the GPU, and waits, by the time of their
// own. While a game is followed and nothing is selected, over its newest frames.

import { Asked } from './asked.js';
import { byId, element, setText } from './dom.js';
import { count, duration, plural } from './format.js';
import { zonesPath } from './zone_rows.js';

/** @typedef {import('./model.js').Model} Model */

const TOP = 5;
const TOP_WAITS = 3;
const ASKED = 40; // rows: the waits are among them
const NEWEST = 120; // frames
const REFRESH_MS = 2000;

export class TopZones {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.zones = new Asked(invalidate);
		this.gpu = new Asked(invalidate);
		this.askedAt = -Infinity;
		this.title = byId('top-title', HTMLElement);
		this.lists = {
			cpu: makeLines(byId('card-top', HTMLElement), TOP),
			gpu: makeLines(byId('card-top-gpu', HTMLElement), TOP),
			waits: makeLines(byId('card-waits', HTMLElement), TOP_WAITS),
		};
	}

	/** What it is about. */
	scope() {
		const scope = this.model.scope();
		if (scope?.what !== 'shown')
			return scope;
		return { ...scope, from: Math.max(scope.from, scope.to - NEWEST + 1) };
	}

	draw() {
		this.ask();
		const { answer, problem } = this.zones;
		const rows = answer?.zones ?? [];
		const more = answer?.count > rows.length;
		const cpu = rows.filter((/** @type {any} */ row) => !row.gpu && !row.wait);
		fillLines(this.lists.cpu, cpu, problem, cpu.length, more);
		fillLines(this.lists.gpu, this.gpu.answer?.zones ?? [], this.gpu.problem, this.gpu.answer?.count ?? 0);
		const waits = rows.filter((/** @type {any} */ row) => row.wait);
		fillLines(this.lists.waits, waits, '', waits.length, more);
		setText(this.title, answer ? `Top zones by self time, ${plural(answer.range.frames, 'frame')}` : 'Top zones by self time');
	}

	/** Asks anew for another selection, and for newer frames every two seconds. */
	ask() {
		const scope = this.scope();
		const now = performance.now();
		if (scope?.what === 'shown' && this.about === scope.session && now - this.askedAt < REFRESH_MS)
			return;
		this.about = scope?.what === 'shown' ? scope.session : null;
		this.askedAt = now;
		const wanted = { view: 'flat', order: { key: 'self', down: true }, text: '', thread: '', category: '', perFrame: false, limit: ASKED };
		const path = scope && zonesPath(scope, wanted);
		this.zones.want(path);
		const known = String(this.zones.answer?.session) === scope?.session;
		const queues = (known ? this.zones.answer.threads ?? [] : []).filter((/** @type {any} */ one) => one.gpu && one.thread !== null);
		this.gpu.want(scope && queues.length ? `${zonesPath(scope, { ...wanted, limit: TOP })}${queues.map((/** @type {any} */ one) => `&thread=${one.thread}`).join('')}` : null);
	}
}

/** Makes the lines of a list once. @param {HTMLElement} list @param {number} length */
export function makeLines(list, length) {
	list.replaceChildren(...Array.from({ length }, () => element('li', {}, element('span'), element('span'))));
	return list;
}

/** @param {HTMLElement} list @param {any[]} zones @param {string} problem why there are none @param {number} all how many there are @param {boolean} [more] or more than that */
function fillLines(list, zones, problem, all, more = false) {
	const heading = /** @type {HTMLElement} */ (list.previousElementSibling);
	heading.dataset.label ??= heading.textContent ?? '';
	setText(heading, all > list.children.length ? `${heading.dataset.label}: ${list.children.length} of ${count(all)}${more ? ' or more' : ''}` : heading.dataset.label);
	[...list.children].forEach((item, at) => {
		const [name, time] = item.children;
		const zone = zones[at];
		setText(name, zone?.name ?? (at ? '' : problem || '–'));
		setText(time, zone ? `${duration(zone.self_ns)} in ${count(zone.calls)}` : '');
		/** @type {HTMLElement} */ (name).title = zone?.name ?? problem;
	});
}
