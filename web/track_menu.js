// SPDX-License-Identifier: MIT
// The list of the timeline's tracks: their order, which are folded and which stay at the top. The same by mouse is on
// the tracks' names; here it is by keyboard, too.

import { element, setText } from './dom.js';
import { duration, plural } from './format.js';
import { SORTS, withKeys, keysOf } from './track_order.js';

export class TrackMenu {
	/** @param {HTMLElement} at @param {import('./model.js').Model} model @param {import('./timeline.js').Timeline} timeline */
	constructor(at, model, timeline) {
		this.model = model;
		this.timeline = timeline;
		this.sort = element('select', {}, ...SORTS.map(([value, text]) => element('option', { value }, text)));
		this.sort.addEventListener('change', () => model.set('timeline.sort', this.sort.value === 'order' ? null : this.sort.value));
		this.list = element('tbody');
		this.summary = element('summary', {}, 'Tracks');
		this.folds = element('button', { type: 'button' });
		this.folds.addEventListener('click', () => this.foldAll());
		/** What the list was made for. */
		this.made = '';
		const head = element('tr', {}, ...['Track', 'In zones', 'Folded', 'At the top'].map((text) => element('th', { scope: 'col' }, text)));
		this.details = element('details', { class: 'dropdown' }, this.summary, element('div', { class: 'menu tracks' },
			element('label', {}, 'Order ', this.sort),
			element('div', { class: 'table-box', tabindex: '0', role: 'region', 'aria-label': 'Tracks' },
				element('table', {}, element('thead', {}, head), this.list)),
			this.folds));
		this.details.addEventListener('toggle', () => this.draw());
		at.append(this.details);
	}

	lanes() {
		return withKeys(this.timeline.allLanes());
	}

	/** Folds all, or opens all where all are folded. */
	foldAll() {
		const keys = this.lanes().map(({ key }) => key);
		const folded = keysOf(this.model.setting('timeline.fold', ''));
		this.model.set('timeline.fold', keys.every((key) => folded.has(key)) ? null : keys.join(','));
	}

	draw() {
		const lanes = this.lanes();
		setText(this.summary, lanes.length ? `Tracks: ${lanes.length}` : 'Tracks');
		this.sort.value = this.model.setting('timeline.sort', 'order');
		if (!this.details.open)
			return;
		const settings = [this.model.setting('timeline.fold', ''), this.model.setting('timeline.pin', '')];
		const [folded, pinned] = settings.map(keysOf);
		setText(this.folds, lanes.length && lanes.every(({ key }) => folded.has(key)) ? 'Unfold all' : 'Fold all');
		const made = JSON.stringify(lanes.map(({ lane, key }) => [key, lane.title, lane.busy]));
		if (made !== this.made)
			this.list.replaceChildren(...lanes.map((one) => this.row(one)));
		this.made = made;
		lanes.forEach(({ key }, at) => {
			const [fold, pin] = this.list.children[at].querySelectorAll('input');
			fold.checked = folded.has(key);
			pin.checked = pinned.has(key);
		});
	}

	/** @param {{lane: import('./zones.js').Lane, key: string}} one */
	row({ lane, key }) {
		const box = (/** @type {'fold'|'pin'} */ what, /** @type {string} */ label) => {
			const input = element('input', { type: 'checkbox', 'aria-label': `${label}: ${lane.title}` });
			input.addEventListener('change', () => this.timeline.toggle(what, key));
			return element('td', {}, input);
		};
		const zones = element('td', { class: 'number', title: plural(lane.count, 'zone') }, duration(lane.busy));
		return element('tr', {}, element('th', { scope: 'row' }, lane.title), zones, box('fold', 'Folded'), box('pin', 'At the top'));
	}
}
