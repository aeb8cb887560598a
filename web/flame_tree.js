// SPDX-License-Identifier: MIT
// Flame graphs from the rows of a tree of zones: left-heavy, and the sandwich of one name. Pure: no DOM.

/**
 * @typedef {object} Flame a box
 * @property {string} name
 * @property {number} total ns, or what else is drawn
 * @property {number} self
 * @property {number} calls
 * @property {Flame[]} children largest first
 * @property {any|null} row of the API; null: made here
 */

/** @typedef {{name: string, total: number, depth: number, from: number, flame: Flame, parent: Placed|null}} Placed from: where it begins */

/** @param {string} name @param {any|null} row @returns {Flame} */
const flameOf = (name, row) => ({ name, total: row?.total_ns ?? 0, self: row?.self_ns ?? 0, calls: row?.calls ?? 0, children: [], row });

/**
 * A flame for each thread, from rows that come depth first. What a thread spends outside all zones is not in it.
 * @param {any[]} rows of view=tree @returns {Flame[]} threads, in the order of their first row
 */
export function flamesOf(rows) {
	/** @type {Map<number|string, Flame>} */
	const threads = new Map();
	/** @type {Map<string, number>} */
	const named = new Map();
	/** @type {Flame[]} */
	let stack = [];
	/** @type {Flame|null} */
	let current = null;
	for (const row of rows) {
		const key = row.thread ?? row.thread_name;
		const thread = threads.get(key) ?? flameOf(nameOf(row, named), null);
		threads.set(key, thread);
		if (thread !== current)
			stack = [thread];
		current = thread;
		stack.length = row.depth + 1;
		const flame = flameOf(row.name, row);
		const parent = stack[row.depth] ?? thread;
		parent.children.push(flame);
		stack.push(flame);
	}
	for (const thread of threads.values()) {
		thread.total = thread.children.reduce((sum, child) => sum + child.total, 0);
		sortAll(thread);
	}
	return [...threads.values()];
}

/** Threads of one name are told apart by their place. @param {any} row @param {Map<string, number>} named how many had a name so far */
function nameOf(row, named) {
	const name = row.thread_name ?? `thread ${row.thread}`;
	const nth = (named.get(name) ?? 0) + 1;
	named.set(name, nth);
	return nth > 1 ? `${name} (${nth})` : name;
}

/** @param {Flame} flame */
function sortAll(flame) {
	flame.children.sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
	flame.children.forEach(sortAll);
}

/**
 * Boxes of a flame from its left, children beside each other, largest first.
 * @param {Flame} root @param {number} [from] where it begins @returns {Placed[]} the root first, then depth first
 */
export function placeFlame(root, from = 0) {
	/** @type {Placed[]} */
	const placed = [];
	const put = (/** @type {Flame} */ flame, /** @type {number} */ depth, /** @type {number} */ at, /** @type {Placed|null} */ parent) => {
		const box = { name: flame.name, total: flame.total, depth, from: at, flame, parent };
		placed.push(box);
		let next = at;
		for (const child of flame.children) {
			put(child, depth + 1, next, box);
			next += child.total;
		}
	};
	put(root, 0, from, null);
	return placed;
}

/**
 * All calls of a name together: below it what they call, above it who calls them, by the time spent in the name. What is
 * nested in its own name counts once, by the outermost.
 * @param {any[]} rows of view=tree @param {string} name
 * @returns {{callees: Flame, callers: Flame}} both begin with the name itself
 */
export function sandwichOf(rows, name) {
	const callees = flameOf(name, null);
	const callers = flameOf(name, null);
	for (const thread of flamesOf(rows))
		gather(thread, [], name, callees, callers);
	sortAll(callees);
	sortAll(callers);
	return { callees, callers };
}

/** @param {Flame} flame @param {Flame[]} above outermost first, its thread the first @param {string} name @param {Flame} callees @param {Flame} callers */
function gather(flame, above, name, callees, callers) {
	if (flame.name === name && above.length) {
		merge(callees, flame);
		let at = callers;
		add(at, flame);
		for (const caller of [...above].reverse())
			at = childOf(at, caller.name, flame);
		return;
	}
	for (const child of flame.children)
		gather(child, [...above, flame], name, callees, callers);
}

/** @param {Flame} into @param {Flame} from */
function merge(into, from) {
	add(into, from);
	for (const child of from.children) {
		const same = into.children.find((one) => one.name === child.name) ?? into.children[into.children.push(flameOf(child.name, null)) - 1];
		merge(same, child);
	}
}

/** @param {Flame} into @param {Flame} from */
function add(into, from) {
	into.total += from.total;
	into.self += from.self;
	into.calls += from.calls;
}

/** @param {Flame} at @param {string} name @param {Flame} weight */
function childOf(at, name, weight) {
	const child = at.children.find((one) => one.name === name) ?? at.children[at.children.push(flameOf(name, null)) - 1];
	child.total += weight.total;
	child.calls += weight.calls;
	return child;
}
