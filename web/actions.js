// SPDX-License-Identifier: MIT
// What can be done with the session shown: record, freeze, clear, a trigger, save, open, detail, export. What the daemon
// answers is said in one line beside the buttons, and so is what it refuses.

import { ApiError, sendFile, sendJson, sessionPath } from './api.js';
import { Asked } from './asked.js';
import { exportLinks, fileRoute, frameTrigger, triggerOf } from './action_text.js';
import { byId, element, setText } from './dom.js';
import { count, plural } from './format.js';

/** @typedef {import('./model.js').Model} Model */

const STATES = /** @type {const} */ ([['recording', '● Record'], ['frozen', '❄ Freeze'], ['stopped', '■ Stop']]);

const ARMED_MS = 5000;
const CLEARS = 'This empties the history of the session. Spikes and captures stay.';

export class Actions {
	/** @param {Model} model @param {() => void} invalidate */
	constructor(model, invalidate) {
		this.model = model;
		this.invalidate = invalidate;
		this.recording = new Asked(invalidate);
		this.detail = new Asked(invalidate);
		this.triggers = new Asked(invalidate);
		this.seen = -1;
		this.said = '';
		this.bad = false;
		/** The session that was shown when it was said. */
		this.saidOf = 0;
		/** Whether it was that the daemon does not answer. */
		this.saidLost = false;
		/** Of which session the next press of Clear clears the history, and until when. @type {{session: number, until: number}|null} */
		this.sure = null;
		this.triggerList = element('ul', { class: 'triggers' });
		/** Triggers of this session that were removed here. @type {any[]} */
		this.removed = [];
		this.removedOf = 0;
		const at = byId('actions', HTMLElement);
		this.states = STATES.map(([state, label]) => this.button(label, () => this.put('recording', { state })));
		this.clear = this.button('Clear', () => this.clearHistory());
		this.clear.addEventListener('blur', () => this.disarm());
		this.level = element('select', {}, ...[0, 1, 2].map((level) => element('option', { value: String(level) }, `${level}${['', ' phases', ' everything'][level]}`)));
		this.level.options[0].textContent = '0 landmarks';
		this.level.append(element('option', { value: '', hidden: '' }, '–'));
		this.level.addEventListener('change', () => this.put('detail', { path: [], level: Number(this.level.value) }));
		this.save = this.button('Save', () => this.saveCapture());
		this.open = this.button('Open…', () => this.file.click());
		this.file = element('input', { type: 'file', accept: '.fprof,.json,.vprof', multiple: '', hidden: '', 'aria-label': 'A capture or trace to open' });
		this.file.addEventListener('change', () => this.openFiles([...(this.file.files ?? [])]));
		this.exports = element('div', { class: 'menu' });
		this.note = element('p', { class: 'note', role: 'status' });
		at.append(element('span', { class: 'group', role: 'group', 'aria-label': 'Recording' }, ...this.states), this.clear,
			this.buildTrigger(), element('label', { class: 'muted' }, 'Detail ', this.level), this.save, this.open, this.file,
			element('details', { class: 'dropdown' }, element('summary', {}, 'Export'), this.exports), this.note);
		this.live = [...this.states, this.clear, this.level, this.apply];
		this.takeDrops();
	}

	/** @param {string} label @param {() => void} press */
	button(label, press) {
		const button = element('button', { type: 'button' }, label);
		button.addEventListener('click', press);
		return button;
	}

	buildTrigger() {
		this.above = element('input', { type: 'number', min: '0.1', max: '60000', step: '0.1', value: '33.3', 'aria-label': 'A frame is a spike above so many ms' });
		this.freeze = element('input', { type: 'checkbox' });
		this.apply = this.button('Set', () => this.setTrigger());
		return element('details', { class: 'dropdown' }, element('summary', {}, 'Trigger'), element('div', { class: 'menu' },
			element('label', {}, 'A frame above ', this.above, ' ms is a spike'), element('label', {}, this.freeze, ' freeze afterwards'), this.apply,
			element('p', { class: 'note' }, 'In force:'), this.triggerList));
	}

	takeDrops() {
		const stop = (/** @type {DragEvent} */ event) => {
			if (event.dataTransfer?.types.includes('Files'))
				event.preventDefault();
		};
		window.addEventListener('dragover', stop);
		window.addEventListener('drop', (event) => {
			stop(event);
			this.openFiles([...(event.dataTransfer?.files ?? [])]);
		});
	}

	draw() {
		const { session, stateSeen } = this.model;
		const live = session?.state === 'live';
		const base = session ? sessionPath(String(session.id)) : null;
		const again = stateSeen !== this.seen;
		this.seen = stateSeen;
		this.recording.want(live ? `${base}/recording` : null, again);
		this.detail.want(live ? `${base}/detail` : null, again);
		this.triggers.want(live ? `${base}/triggers` : null, again);
		for (const control of this.live)
			control && (control.disabled = !live);
		this.save.disabled = !session;
		const state = this.recording.answer?.state;
		STATES.forEach(([name], at) => this.states[at].setAttribute('aria-pressed', String(live && state === name)));
		if (document.activeElement !== this.level)
			this.level.value = String(this.detail.answer?.default ?? '');
		if (this.sure && !this.isArmed())
			this.disarm();
		this.drawTrigger();
		this.drawExports();
		if (this.saidOf !== (session?.id ?? 0) || (this.saidLost && this.model.connection === 'connected'))
			this.say('', false);
		setText(this.note, this.said || this.stateText());
		this.note.classList.toggle('warn', this.bad);
	}

	/** What of the recording's state is not plain. */
	stateText() {
		const answer = this.recording.answer;
		if (!answer)
			return '';
		if (answer.waits_for_consumer)
			return 'Waits for someone to look.';
		return answer.state === answer.in_force ? '' : `${answer.state} is ordered; the game is still ${answer.in_force}.`;
	}

	drawTrigger() {
		const all = this.triggers.answer ?? [];
		const session = this.model.session?.id ?? 0;
		if (this.removedOf !== session)
			this.removed = [];
		this.removedOf = session;
		const listed = JSON.stringify([all, this.removed]);
		if (listed !== this.triggerList.dataset.listed) {
			this.triggerList.dataset.listed = listed;
			this.triggerList.replaceChildren(
				...all.map((/** @type {any} */ one) => this.triggerItem(one, 'Remove', () => [all.filter((/** @type {any} */ other) => other !== one), [...this.removed, one]])),
				...this.removed.map((one) => this.triggerItem(one, 'Put back', () => [[...all, one], this.removed.filter((other) => other !== one)])),
				...(all.length ? [] : [element('li', { class: 'muted' }, 'none: only what you save is kept')]));
		}
		const set = triggerOf(all);
		if (set !== this.shownTrigger && set && this.above && this.freeze) {
			this.above.value = String(set.above_ms);
			this.freeze.checked = Boolean(set.freeze);
		}
		this.shownTrigger = set;
	}

	/** One trigger and what can be done with it. @param {any} one @param {string} label @param {() => any[][]} change those in force then, and those that were removed */
	triggerItem(one, label, change) {
		const button = this.button(label, async () => {
			const [all, removed] = change();
			await this.put('triggers', all);
			if (!this.bad)
				this.removed = removed;
			this.apply?.focus();
			this.invalidate();
		});
		button.setAttribute('aria-label', `${label}: ${one.label}`);
		return element('li', {}, label === 'Remove' ? one.label : element('s', {}, one.label), ' ', button);
	}

	drawExports() {
		const { model } = this;
		const links = exportLinks(model.session, model.view.range, model.stream);
		const text = JSON.stringify(links);
		if (text === this.exports.dataset.links)
			return;
		this.exports.dataset.links = text;
		this.exports.replaceChildren(...links.map(({ href, label }) => element('a', { href, download: '' }, label)),
			element('p', { class: 'note' }, !links.length ? 'No session.' : model.view.range ? 'The selected range.' : 'All frames whose events are kept.'));
	}

	/** @param {'recording'|'detail'|'triggers'} what @param {any} body */
	async put(what, body) {
		await this.tell(async () => {
			this[what].answer = await sendJson('PUT', `${sessionPath(String(this.model.session.id))}/${what}`, body);
			return '';
		});
	}

	setTrigger() {
		const above = Number(this.above?.value);
		if (!(above > 0)) {
			this.say('The bound is a number of milliseconds above 0.', true);
			return;
		}
		this.put('triggers', frameTrigger(this.triggers.answer ?? [], above, Boolean(this.freeze?.checked)));
	}

	isArmed() {
		return this.sure !== null && this.sure.session === this.model.session?.id && performance.now() < this.sure.until;
	}

	disarm() {
		if (!this.sure)
			return;
		this.sure = null;
		setText(this.clear, 'Clear');
		if (this.said === CLEARS)
			this.say('', false);
	}

	async clearHistory() {
		if (!this.isArmed()) {
			this.sure = { session: this.model.session.id, until: performance.now() + ARMED_MS };
			setText(this.clear, 'Clear for good');
			setTimeout(() => this.sure && !this.isArmed() && this.disarm(), ARMED_MS + 1);
			this.say(CLEARS, false);
			return;
		}
		this.disarm();
		await this.tell(async () => {
			await sendJson('POST', `${sessionPath(String(this.model.session.id))}/clear`);
			await this.model.reload();
			return 'Cleared.';
		});
	}

	async saveCapture() {
		const { session, view } = this.model;
		await this.tell(async () => {
			const range = view.range ? { from: view.range.first, to: view.range.last } : {};
			const saved = await sendJson('POST', '/captures', { session: session.id, ...range });
			await this.model.refresh(false);
			return `Saved as session ${saved.id}: ${plural(saved.frames.last - saved.frames.first + 1, 'frame')}.`;
		});
	}

	/** @param {File[]} files */
	async openFiles(files) {
		for (const file of files) {
			await this.tell(async () => {
				this.say(`Reading ${file.name}…`, false);
				const answer = await sendFile(await fileRoute(file), file);
				await this.model.show(String(answer.id ?? answer.session));
				const repaired = answer.problems?.length ? `; ${count(answer.problems.length)} things in it were repaired or refused` : '';
				return `${file.name} is session ${answer.id ?? answer.session}${repaired}.`;
			});
		}
		this.file.value = '';
	}

	/** Does something and says what came of it. @param {() => Promise<string>} act */
	async tell(act) {
		try {
			this.say(await act(), false);
		} catch (error) {
			if (!(error instanceof ApiError))
				throw error;
			this.say(error.message, true);
			this.saidLost = error.status === 0;
		}
	}

	/** @param {string} text @param {boolean} bad */
	say(text, bad) {
		this.said = text;
		this.bad = bad;
		this.saidOf = this.model.session?.id ?? 0;
		this.saidLost = false;
		this.invalidate();
	}
}
