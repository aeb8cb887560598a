// SPDX-License-Identifier: MIT
// The top bar: which session, is the daemon there, how much is kept, is anything lost or off. It is always there and always
// of the same size, so that bad news needs no room of its own.

import { byId, element, setText } from './dom.js';
import { bytes, count, plural, sessionState } from './format.js';
import { lossTotals } from './losses.js';

/** @typedef {import('./model.js').Model} Model */

const CONNECTION = {
	connecting: { text: '○ connecting…', why: '' },
	connected: { text: '● connected', why: '' },
	polling: { text: '▲ no live stream', why: 'The daemon answers but gives no event stream; frames are read every two seconds.' },
	disconnected: {
		text: '✖ disconnected',
		why: 'The daemon does not answer. The page tries again every second; what is shown is what it last said.',
	},
};

export class TopBar {
	/** @param {Model} model */
	constructor(model) {
		this.model = model;
		this.picker = byId('session', HTMLSelectElement);
		this.streams = byId('stream', HTMLSelectElement);
		this.picker.addEventListener('change', () => this.picker.value && model.show(this.picker.value));
		this.streams.addEventListener('change', () => model.showStream(this.streams.value));
	}

	draw() {
		this.drawPicker();
		this.drawConnection();
		this.drawCells();
	}

	drawPicker() {
		const { sessions, total, session, stream, view, missing } = this.model;
		const streams = streamsOf(session, stream ?? 'main');
		const options = sessions.map((one) => {
			const { glyph, text } = sessionState(one.state);
			return [String(one.id), `${glyph} ${one.kind === 'recorded' ? text : one.kind}: ${one.name ?? 'unnamed'} #${one.id}`];
		});
		if (missing)
			options.unshift(['', `session ${view.session} is not here`]);
		setText(/** @type {Element} */ (this.picker.previousElementSibling), total > sessions.length ? `Session, ${count(sessions.length)} of ${count(total)}` : 'Session');
		fillSelect(this.picker, options.length ? options : [['', 'no session yet']], String(session?.id ?? ''));
		this.picker.title = this.picker.selectedOptions[0]?.textContent ?? '';
		this.picker.disabled = !sessions.length;
		byId('stream-label', HTMLElement).hidden = streams.length < 2 && stream === null;
		fillSelect(this.streams, streams.map((name) => [name, name]), stream ?? 'main');
	}

	drawConnection() {
		const at = byId('connection', HTMLElement);
		const { connection, refusal } = this.model;
		setText(at, refusal ? '✖ refused' : CONNECTION[connection].text);
		at.title = refusal || CONNECTION[connection].why;
		setText(byId('trouble', HTMLElement), at.title);
		at.className = `connection ${refusal ? 'disconnected' : connection}`;
		document.body.classList.toggle('disconnected-page', connection === 'disconnected');
	}

	drawCells() {
		const { session, status } = this.model;
		setText(byId('kept', HTMLElement), session
			? `${count(session.frames_retained)} of ${count(session.frames_total)}` : '–');
		const history = status?.history;
		setText(byId('memory', HTMLElement), history
			? `${bytes(history.used_bytes)} of ${bytes(history.budget_bytes)}` : '–');
		this.drawLosses(session);
		const sources = status?.sources ?? [];
		const on = sources.filter((/** @type {any} */ one) => one.state === 'on').length;
		setText(byId('sources', HTMLElement), sources.length ? `${on} of ${sources.length} on` : '–');
	}

	/** @param {any} session */
	drawLosses(session) {
		const at = byId('losses', HTMLElement);
		if (!session) {
			setText(at, '–');
			return;
		}
		const { lost, repaired } = lossTotals(session);
		if (!at.firstElementChild)
			at.replaceChildren(element('span'));
		const text = /** @type {Element} */ (at.firstElementChild);
		setText(text, lost ? `⚠ ${count(lost)} lost`
			: repaired ? `▲ ${plural(repaired, 'repair')}` : 'none');
		text.className = lost ? 'loud' : repaired ? 'warn' : 'good';
	}
}

/** What there is to choose from, with what is shown. @param {any} session @param {string} shown @returns {string[]} */
function streamsOf(session, shown) {
	const streams = session?.streams ?? [];
	return streams.includes(shown) ? streams : [shown, ...streams];
}

/** Changes a select only where it differs, so that an open list stays open. @param {HTMLSelectElement} select @param {string[][]} options @param {string} chosen */
function fillSelect(select, options, chosen) {
	options.forEach(([value, text], at) => {
		const option = select.options[at] ?? select.appendChild(element('option'));
		if (option.getAttribute('value') !== value)
			option.setAttribute('value', value);
		setText(option, text);
	});
	while (select.options.length > options.length)
		select.remove(options.length);
	if (select.value !== chosen)
		select.value = chosen;
}
