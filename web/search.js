// SPDX-License-Identifier: MIT
// The timeline's search: zones by name over all that is selected, in view or not. The daemon finds and counts them, one
// after the other by their begin; what is in view is marked by the same pattern.

import { Asked } from './asked.js';
import { element, setText } from './dom.js';
import { count, duration } from './format.js';
import { zonesPath } from './zone_rows.js';

/** The API pages through so many. */
const REACHED = 100_000;
const TYPED_MS = 250;

/** Whether a name is meant by what was typed: a part of it, or with * and ? all of it. @param {string} text @returns {(name: string) => boolean} */
export function matcherOf(text) {
	if (!/[*?]/.test(text))
		return (name) => name.includes(text);
	const pattern = new RegExp(`^${text.replace(/[.+^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.')}$`, 's');
	return (name) => pattern.test(name);
}

export class Search {
	/** @param {HTMLElement} at @param {import('./model.js').Model} model @param {import('./timeline.js').Timeline} timeline @param {() => void} invalidate */
	constructor(at, model, timeline, invalidate) {
		this.model = model;
		this.timeline = timeline;
		this.asked = new Asked(invalidate);
		/** Which of the found ones is shown, from 1; 0: none yet. */
		this.at = 0;
		/** Whether the answer that comes is to be shown. */
		this.going = false;
		this.text = '';
		this.about = '';
		/** @type {ReturnType<typeof setTimeout>|undefined} */
		this.typing = undefined;
		this.input = element('input', { type: 'search', 'aria-label': 'Search zones by name', placeholder: 'Search zones  /', 'aria-keyshortcuts': '/' });
		this.previous = element('button', { type: 'button', 'aria-label': 'Previous found zone', title: 'Previous found zone' }, '◀');
		this.next = element('button', { type: 'button', 'aria-label': 'Next found zone', title: 'Next found zone' }, '▶');
		this.note = element('span', { class: 'note found', role: 'status' });
		at.append(this.input, this.previous, this.next, this.note);
		this.input.addEventListener('input', () => {
			clearTimeout(this.typing);
			this.typing = setTimeout(() => this.take(), TYPED_MS);
		});
		this.input.addEventListener('keydown', (event) => this.key(event));
		this.previous.addEventListener('click', () => this.go(-1));
		this.next.addEventListener('click', () => this.go(1));
	}

	/** @param {KeyboardEvent} event */
	key(event) {
		if (event.key === 'Escape') {
			this.input.value = '';
			this.take();
			this.input.blur();
		} else if (event.key === 'Enter') {
			this.take();
			this.go(event.shiftKey ? -1 : 1);
		} else {
			return;
		}
		event.preventDefault();
	}

	focus() {
		this.input.focus();
		this.input.select();
	}

	/** What was typed is what is searched for. */
	take() {
		clearTimeout(this.typing);
		if (this.input.value !== this.model.setting('timeline.search', ''))
			this.model.set('timeline.search', this.input.value || null);
		this.follow();
	}

	/** How many there are; null: not known yet. @returns {number|null} */
	get found() {
		return this.asked.answer && this.text && !this.asked.problem ? this.asked.answer.count : null;
	}

	/** To the one after (1) or before (-1), around the end. @param {number} step */
	go(step) {
		if (!this.text)
			return;
		const reached = Math.min(REACHED, this.found ?? REACHED);
		this.at = this.at + step < 1 ? (this.found === null ? 1 : reached) : this.at + step > reached ? 1 : this.at + step;
		this.going = true;
		this.ask();
		this.show();
	}

	ask() {
		const scope = this.model.view.frame !== null || this.model.view.range ? this.model.scope() : null;
		if (!scope || !this.text || this.model.session?.aggregate) {
			this.asked.want(null);
			return;
		}
		const path = zonesPath({ ...scope, what: 'frame' }, { view: 'calls', order: { key: 'start', down: false }, text: this.text, thread: '', category: '', perFrame: false, limit: 1 });
		this.asked.want(`${path}&offset=${Math.max(0, this.at - 1)}`);
	}

	follow() {
		const { view, session } = this.model;
		const text = this.model.setting('timeline.search', '');
		const about = JSON.stringify([session?.id, view.range, view.range ? null : view.frame, text]);
		if (about !== this.about) {
			this.at = 0;
			this.timeline.found = null;
			this.asked.want(null); // how many there were says nothing of now
		}
		this.about = about;
		if (text !== this.text)
			this.timeline.painter.wanted = text ? matcherOf(text) : null;
		this.text = text;
		if (document.activeElement !== this.input)
			this.input.value = text;
		this.ask();
	}

	/** Jumps to what was found. */
	show() {
		if (!this.going || !this.asked.fresh)
			return;
		this.going = false;
		const [zone] = this.asked.answer.zones;
		if (zone)
			this.timeline.reveal({ thread: zone.thread, start: zone.start_ns, length: zone.duration_ns, depth: zone.depth });
	}

	draw() {
		this.follow();
		this.show();
		const { found, at } = this;
		const zone = at && this.asked.fresh ? this.asked.answer.zones[0] : null;
		this.previous.disabled = this.next.disabled = !found;
		setText(this.note, !this.text ? '' : this.asked.problem || (found === null ? 'searching…' : !found ? 'no zone of that name here'
			: !at ? `${count(found)} found` : `${count(at)} of ${count(found)}${zone ? `: ${zone.name}, ${duration(zone.duration_ns)}, frame ${zone.frame ?? '–'}, ${zone.thread_name ?? 'a thread'}` : ''}`));
	}
}
