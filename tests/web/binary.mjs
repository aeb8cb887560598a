// SPDX-License-Identifier: MIT
// The binary timeline of a range (docs/openapi.yaml, getTimeline), made by hand.

/** A binary timeline as the daemon writes it. @param {any} about @param {any[]} items */
export function binary(about, items) {
	const text = new TextEncoder().encode(JSON.stringify(about));
	const widths = [8, 8, 8, 4, 4, 2, 2];
	const keys = ['begin', 'length', 'busy', 'marker', 'count', 'depth', 'flags'];
	const offsets = [];
	let at = 48;
	for (const width of widths) {
		offsets.push(at);
		at += (items.length * width + 7) & ~7;
	}
	const bytes = new ArrayBuffer(at + text.length);
	const view = new DataView(bytes);
	[0x4c545046, 1, items.length, text.length, ...offsets, at].forEach((word, i) => view.setUint32(i * 4, word, true));
	items.forEach((item, i) => keys.forEach((key, column) => {
		const place = offsets[column] + i * widths[column];
		if (widths[column] === 8)
			view.setFloat64(place, item[key], true);
		else if (widths[column] === 4)
			view.setUint32(place, item[key], true);
		else
			view.setUint16(place, item[key], true);
	}));
	new Uint8Array(bytes, at).set(text);
	return bytes;
}
