// SPDX-License-Identifier: MIT
// The panels beside the card, one open at a time. A panel is made when it is first opened, and draws only while it
// is: what is not seen asks the daemon nothing.

import { byId, element } from './dom.js';
import { TABS } from './view.js';

/** @typedef {import('./model.js').Model} Model */

/**
 * @typedef {object} Panel
 * @property {string[]} parts of the model that make it draw
 * @property {() => void} draw
 */

/**
 * Fills the element "panel-NAME"; `invalidate` makes the panel draw again.
 * @typedef {(at: HTMLElement, invalidate: () => void) => Panel} MakePanel
 */

/** @typedef {typeof TABS[number]['name']} PanelName */

export class Panels {
	/** @param {HTMLElement} tabs @param {{[name in PanelName]: MakePanel}} makers @param {Model} model @param {(...parts: string[]) => void} invalidate */
	constructor(tabs, makers, model, invalidate) {
		this.makers = makers;
		this.model = model;
		this.invalidate = invalidate;
		/** @type {Map<PanelName, Panel>} */
		this.made = new Map();
		/** @type {PanelName|null} */
		this.open = null;
		this.tabs = new Map(TABS.map(({ name, label }, at) => {
			const tab = element('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': `panel-${name}` },
				label, ' ', element('kbd', { 'aria-hidden': 'true' }, String(at + 1)));
			tab.addEventListener('click', () => model.openTab(name));
			return [name, tab];
		}));
		tabs.append(...this.tabs.values());
		tabs.addEventListener('keydown', (event) => this.step(event));
	}

	/** What is to be open. While nothing was recorded there is only what the sources say. @returns {PanelName} */
	wanted() {
		const asked = this.model.empty ? 'diagnostics' : this.model.view.tab;
		return TABS.find(({ name }) => name === asked)?.name ?? TABS[0].name;
	}

	/** @param {Set<string>} parts that changed */
	draw(parts) {
		const name = this.wanted();
		const opened = name !== this.open;
		if (opened)
			this.show(name);
		const panel = this.made.get(name);
		if (panel && (opened || parts.has(`panel-${name}`) || panel.parts.some((part) => parts.has(part))))
			panel.draw();
	}

	/** @param {PanelName} open */
	show(open) {
		this.open = open;
		for (const [name, tab] of this.tabs) {
			tab.setAttribute('aria-selected', String(name === open));
			tab.setAttribute('tabindex', name === open ? '0' : '-1');
			byId(`panel-${name}`, HTMLElement).hidden = name !== open;
		}
		if (!this.made.has(open))
			this.made.set(open, this.makers[open](byId(`panel-${open}`, HTMLElement), () => this.invalidate(`panel-${open}`)));
	}

	/** The arrow keys go along the tabs. @param {KeyboardEvent} event */
	step(event) {
		const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!by)
			return;
		event.preventDefault();
		const at = TABS.findIndex(({ name }) => name === this.open);
		const { name } = TABS[(at + by + TABS.length) % TABS.length];
		this.model.openTab(name);
		this.tabs.get(name)?.focus();
	}
}
