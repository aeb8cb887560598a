// SPDX-License-Identifier: MIT
// Small helpers for the document. Names from games reach the page only as text nodes, so whatever
// they hold is shown and never parsed.

/**
 * An element that must be there: the page's own skeleton.
 * @template {HTMLElement} T
 * @param {string} id @param {new () => T} type
 * @returns {T}
 */
export function byId(id, type) {
	const found = document.getElementById(id);
	if (!(found instanceof type))
		throw new Error(`the page has no ${id}`);
	return found;
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag @param {{[name: string]: string}} [attributes]
 * @param {...(Node|string)} children strings become text
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		made.setAttribute(name, value);
	made.append(...children);
	return made;
}

/** Changes text only when it differs, so that nothing is laid out for nothing. @param {Element} at @param {string} text */
export function setText(at, text) {
	if (at.textContent !== text)
		at.textContent = text;
}

/** A button that copies a text and says so. @param {string} text @param {string} what */
export function copyButton(text, what) {
	const button = element('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${what}` }, 'Copy');
	button.addEventListener('click', async () => {
		const done = await copyText(text);
		button.textContent = done ? 'Copied' : 'Select and copy by hand';
		setTimeout(() => { button.textContent = 'Copy'; }, 1500);
	});
	return button;
}

/** @param {string} text */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false;
	}
}

/** A command with its copy button. @param {string} text */
export function command(text) {
	return element('span', { class: 'command' }, element('code', {}, text), copyButton(text, text));
}

/**
 * Keeps a canvas as large as its box in device pixels and calls `changed` when that changes.
 * @param {HTMLCanvasElement} canvas @param {Element} box @param {() => void} changed
 */
export function fitCanvas(canvas, box, changed) {
	const fit = () => {
		const ratio = window.devicePixelRatio || 1;
		const width = Math.max(1, Math.round(box.clientWidth * ratio));
		const height = Math.max(1, Math.round(box.clientHeight * ratio));
		if (canvas.width === width && canvas.height === height)
			return;
		canvas.width = width;
		canvas.height = height;
		canvas.style.width = `${box.clientWidth}px`;
		canvas.style.height = `${box.clientHeight}px`;
		changed();
	};
	new ResizeObserver(fit).observe(box);
	fit();
}

/** A canvas's context, cleared and scaled to CSS pixels. @param {HTMLCanvasElement} canvas */
export function startDrawing(canvas) {
	const context = canvas.getContext('2d');
	if (!context)
		throw new Error('no 2d canvas');
	const ratio = window.devicePixelRatio || 1;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, canvas.width / ratio, canvas.height / ratio);
	return { context, width: canvas.width / ratio, height: canvas.height / ratio };
}
