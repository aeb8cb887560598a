// SPDX-License-Identifier: MIT
// Spikes and crashes, newest first: why each was kept, with the numbers, its shape, and a way in. One that is saved is a
// session of its own; a crash says what each thread had open when the game died.

import { ApiError, framesBetweenPath, getJson, openPath, sendJson } from './api.js';
import { Asked } from './asked.js';
import { element, setText } from './dom.js';
import { count, plural } from './format.js';
import { palette } from './palette.js';
import { firedText, spikeTitle, stateText } from './spike_text.js';
import { openOf } from './zones.js';

/** @typedef {import('./model.js').Model} Model */

const SHOWN = 24;
const SHOWN_FIRINGS = 3;
const THUMB = { width: 240, height: 44 };

export class SpikesPanel {
	/** @param {HTMLElement} at @param {Model} model @param {() => void} invalidate */
	constructor(at, model, invalidate) {
		this.model = model;
		this.parts = ['session', 'sessions', 'spikes', 'settings', 'palette'];
		this.asked = new Asked(invalidate);
		this.invalidate = invalidate;
		/** What is known of each saved one: its frames, and of a crash its open zones. @type {Map<string, {rows: any[], open: import('./zones.js').Open[]}>} */
		this.inside = new Map();
		/** @type {Set<string>} those that are being read */
		this.reading = new Set();
		this.problem = '';
		this.drawn = '';
		this.everyone = element('input', { type: 'checkbox' });
		this.everyone.addEventListener('change', () => model.set('spikes.all', this.everyone.checked ? null : 'no'));
		this.note = element('p', { class: 'note', role: 'status' });
		this.list = element('ol', { class: 'spikes' });
		at.append(element('div', { class: 'fields' }, element('label', {}, this.everyone, ' of all sessions')), this.note, this.list);
	}

	draw() {
		const { model } = this;
		const all = model.setting('spikes.all', 'yes') === 'yes';
		this.everyone.checked = all;
		const path = all || !model.session ? '/spikes' : `/sessions/${model.session.id}/spikes`;
		this.asked.want(path, this.asked.fresh && this.stamp !== model.spikesSeen);
		this.stamp = model.spikesSeen;
		const spikes = this.asked.answer?.spikes ?? [];
		setText(this.note, this.problem || this.asked.problem || this.noteText(spikes));
		const text = JSON.stringify([spikes, [...this.inside.keys()], palette().text]);
		if (text === this.drawn)
			return;
		this.drawn = text;
		this.list.replaceChildren(...spikes.slice(0, SHOWN).map((/** @type {any} */ spike) => this.item(spike)));
		spikes.slice(0, SHOWN).forEach((/** @type {any} */ spike) => this.read(spike));
	}

	/** @param {any[]} spikes */
	noteText(spikes) {
		if (!this.asked.answer)
			return 'Reading…';
		if (!spikes.length)
			return 'None yet. A frame far above the usual is kept with its neighbours by itself, and so are the last frames of a game that dies.';
		return spikes.length > SHOWN ? `${SHOWN} of ${count(spikes.length)}` : `${count(spikes.length)} kept`;
	}

	/** @param {any} spike */
	item(spike) {
		const { title, crash } = spikeTitle(spike);
		const head = element('div', { class: 'spike-head' },
			element('h3', {}, element('span', { class: crash ? 'warn' : '', 'aria-hidden': 'true' }, crash ? '✖ ' : '▲ '), title), this.thumb(spike));
		const facts = element('p', { class: 'note' }, stateText(spike));
		const lines = firedText(spike).map((line) => element('li', {}, line));
		const rest = lines.slice(SHOWN_FIRINGS);
		const why = [element('ul', {}, ...lines.slice(0, SHOWN_FIRINGS))];
		const more = element('details', {}, element('summary', {}, `${plural(rest.length, 'more firing')}`), element('ul', {}, ...rest));
		return element('li', {}, head, facts, ...why, ...(rest.length ? [more] : []), ...this.openZones(spike), this.buttons(spike));
	}

	/** @param {any} spike */
	buttons(spike) {
		const box = element('div', { class: 'controls' });
		if (spike.state === 'saved') {
			const open = element('button', { type: 'button' }, 'Open');
			open.addEventListener('click', () => this.open(spike));
			const file = element('a', { href: `/api/v1/captures/${spike.id}/file`, download: '' }, 'Save as a file');
			const remove = element('button', { type: 'button' }, 'Delete');
			remove.addEventListener('click', () => this.remove(spike, remove));
			box.append(open, file, remove);
		}
		return box;
	}

	/** @param {any} spike */
	async open(spike) {
		await this.model.show(String(spike.id));
		if (spike.reason?.frame)
			this.model.select(spike.reason.frame);
		this.model.openTab('timeline');
	}

	/** The second press deletes. @param {any} spike @param {HTMLButtonElement} button */
	async remove(spike, button) {
		if (button.dataset.sure !== 'yes') {
			const before = button.textContent;
			button.dataset.sure = 'yes';
			button.textContent = 'Delete for good';
			button.addEventListener('blur', () => {
				button.dataset.sure = '';
				button.textContent = before;
			}, { once: true });
			return;
		}
		try {
			await sendJson('DELETE', `/captures/${spike.id}`);
			this.problem = '';
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.problem = error.message;
		}
		this.asked.want(this.asked.path, true);
	}

	/** The frames that were kept, as bars; those that fired stand out. @param {any} spike */
	thumb(spike) {
		const known = this.inside.get(keyOf(spike));
		const canvas = element('canvas', { width: String(THUMB.width), height: String(THUMB.height), role: 'img',
			'aria-label': known ? `Frame times of ${plural(known.rows.length, 'frame')}` : 'No frames to show yet' });
		const context = canvas.getContext('2d');
		if (!known?.rows.length || !context)
			return canvas;
		const top = Math.max(...known.rows.map((row) => row.wall_ns));
		const step = THUMB.width / known.rows.length;
		const fired = new Set([spike.reason?.frame, ...(spike.reason?.fired ?? []).map((/** @type {any} */ one) => one.frame)]);
		known.rows.forEach((row, at) => {
			context.fillStyle = fired.has(row.frame) ? palette().bad : palette().plot;
			const height = Math.max(1, (row.wall_ns / top) * THUMB.height);
			context.fillRect(at * step, THUMB.height - height, Math.max(1, step - (step > 3 ? 1 : 0)), height);
		});
		return canvas;
	}

	/** @param {any} spike */
	openZones(spike) {
		const open = this.inside.get(keyOf(spike))?.open ?? [];
		if (!open.length)
			return [];
		return [element('h3', {}, 'Open when it died'), element('dl', { class: 'numbers open-zones' }, ...open.flatMap(({ title, names }) =>
			[element('dt', {}, title), element('dd', {}, names.join(' › '))]))];
	}

	/** What is inside of a saved one, once. @param {any} spike */
	async read(spike) {
		const key = keyOf(spike);
		if (spike.state !== 'saved' || this.reading.has(key))
			return;
		this.reading.add(key);
		try {
			const { first, last } = spike.frames;
			const id = String(spike.id);
			const [{ frames }, tail] = await Promise.all([getJson(framesBetweenPath(id, null, first, last)), spike.kind === 'crash' ? getJson(openPath(id)) : null]);
			this.inside.set(key, { rows: frames, open: tail ? openOf(tail) : [] });
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.inside.set(key, { rows: [], open: [] });
			this.problem = `${spike.name ?? 'A spike'}: ${error.message}`;
		}
		this.invalidate();
	}
}

/** @param {any} spike */
const keyOf = (spike) => `${spike.state} ${spike.id ?? ''}`;
