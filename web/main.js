// SPDX-License-Identifier: MIT
// Puts the page together: one model, its views, one animation frame that draws what changed, and the keys.

import { Actions } from './actions.js';
import { Card } from './card.js';
import { ComparePanel } from './compare.js';
import { CountersPanel } from './counters.js';
import { CriticalList } from './critical_list.js';
import { Diagnostics, fillWelcome } from './diagnostics.js';
import { byId, element, setText } from './dom.js';
import { count, duration, milliseconds, plural } from './format.js';
import { FlamePanel } from './flame.js';
import { fillHelp } from './help.js';
import { actionOf, isPressing, isTyping } from './keys.js';
import { Lease } from './lease.js';
import { FrameLists, FramesTable, ZonesTable } from './lists.js';
import { budgetOf } from './marks.js';
import { Measured } from './measure.js';
import { Model } from './model.js';
import { Overlay } from './overlay.js';
import { Panels } from './panels.js';
import { HOLDERS, watchPalette } from './palette.js';
import { zonesOf } from './range_tracks.js';
import { RangeZones } from './range_zones.js';
import { Schedule } from './schedule.js';
import { Search } from './search.js';
import { SpikesPanel } from './spikes.js';
import { SqlPanel } from './sql.js';
import { Strip } from './strip.js';
import { StripMarks } from './strip_marks.js';
import { TablesPanel } from './tables.js';
import { TopZones } from './top_zones.js';
import { Timeline } from './timeline.js';
import { TopBar } from './topbar.js';
import { TrackMenu } from './track_menu.js';
import { StripVerdicts, VerdictCard } from './verdict.js';
import { TABS } from './view.js';

const help = byId('help', HTMLDialogElement);
const stripCanvas = byId('strip', HTMLCanvasElement);

/** What the scheduler's bands are of. */
const BANDS = [['cpu', 'running'], ['scheduler', 'runnable'], ['lock', 'lock'], ['io', 'io'], ['memory', 'memory'], ['gpu', 'gpu'], ['wait', 'other wait'], ['critical', 'critical path']];

/** Parts of the model that changed since the last animation frame. @type {Set<string>} */
const dirty = new Set();

/** @param {...string} parts */
function invalidate(...parts) {
	if (!dirty.size && parts.length)
		requestAnimationFrame(drawDirty);
	parts.forEach((part) => dirty.add(part));
}

const model = new Model(invalidate);
const overlay = new Overlay(model, () => invalidate('strip'));
const stripVerdicts = new StripVerdicts(model, () => invalidate('strip'));
const stripMarks = new StripMarks(model, () => invalidate('strip'));
const strip = new Strip(stripCanvas, model, overlay, stripVerdicts, stripMarks, () => invalidate('strip'));
const schedule = new Schedule(model, () => invalidate('zoom'));
const rangeZones = new RangeZones(model, () => invalidate('zoom'));
const timeline = new Timeline(byId('timeline', HTMLCanvasElement), byId('timeline-box', HTMLElement),
	byId('timeline-spacer', HTMLElement), model, schedule, rangeZones, () => invalidate('zoom'));
const search = new Search(byId('timeline-search', HTMLElement), model, timeline, () => invalidate('zoom'));
const measured = new Measured(byId('measured', HTMLElement), model, timeline, () => invalidate('zoom'));
const trackMenu = new TrackMenu(byId('timeline-tracks', HTMLElement), model, timeline);
const topBar = new TopBar(model);
const actions = new Actions(model, () => invalidate('actions'));
const verdict = new VerdictCard(model, () => invalidate('verdict'));
const card = new Card(model);
const criticalList = new CriticalList(model, () => invalidate('critical'));
const lease = new Lease(model);
const topZones = new TopZones(model, () => invalidate('top'));
const framesTable = new FramesTable(model, strip);
const zonesTable = new ZonesTable(timeline);
const frameLists = new FrameLists(model, timeline);

const panels = new Panels(byId('tabs', HTMLElement), {
	timeline: () => ({ parts: ['detail', 'selection', 'zoom', 'palette', 'session', 'settings'], draw: drawTimeline }),
	flame: (at, draw) => new FlamePanel(at, model, draw),
	tables: (at, draw) => new TablesPanel(at, model, draw),
	counters: (at, draw) => new CountersPanel(at, model, draw),
	compare: (at, draw) => new ComparePanel(at, model, draw),
	spikes: (at, draw) => new SpikesPanel(at, model, draw),
	sql: (at, draw) => new SqlPanel(at, model, draw),
	diagnostics: (_, draw) => new Diagnostics(model, draw),
}, model, invalidate);

/** Which parts make which view draw. @type {[string[], () => void][]} */
const VIEWS = [
	[['sessions', 'session', 'status', 'connection'], () => topBar.draw()],
	[['sessions', 'session', 'connection'], () => lease.follow()],
	[['sessions', 'session', 'selection', 'actions'], () => actions.draw()],
	[['sessions', 'connection'], drawWelcome],
	[['frames', 'session', 'settings', 'strip'], () => overlay.follow()],
	[['frames', 'session', 'held', 'strip'], () => stripVerdicts.follow()],
	[['frames', 'session', 'spikes', 'strip'], () => stripMarks.follow()],
	[['frames', 'strip', 'selection', 'held', 'palette', 'session', 'settings'], () => strip.draw()],
	[['numbers', 'held'], () => strip.showTip()],
	[['frames', 'held', 'session', 'strip'], () => framesTable.draw()],
	[['numbers', 'selection', 'session', 'held', 'verdict'], () => verdict.draw()],
	[['numbers', 'selection', 'detail', 'session', 'settings'], () => card.draw()],
	[['numbers', 'selection', 'session', 'held', 'top'], () => topZones.draw()],
	[['selection', 'session', 'held', 'critical'], () => criticalList.draw()],
	[['numbers', 'selection', 'session', 'status', 'detail'], drawDoubt],
	[['detail', 'selection', 'session', 'connection', 'held', 'numbers'], drawNotes],
	[['settings', 'session', 'selection'], drawFields],
];

function drawDirty() {
	const parts = new Set(dirty);
	dirty.clear();
	for (const [causes, draw] of VIEWS) {
		if (causes.some((cause) => parts.has(cause)))
			guarded(draw);
	}
	guarded(() => panels.draw(parts));
}

function drawTimeline() {
	rangeZones.follow();
	schedule.follow(timeline.about());
	search.draw();
	timeline.draw();
	trackMenu.draw();
	measured.draw();
	zonesTable.draw();
	frameLists.draw();
	setText(byId('timeline-note', HTMLElement), timelineNote());
	setText(byId('timeline-hint', HTMLElement), timelineHint());
}

/** A view that fails is reported and leaves the others alone. @param {() => void} draw */
function guarded(draw) {
	try {
		draw();
	} catch (error) {
		reportError(error);
	}
}

function drawWelcome() {
	const first = model.empty;
	byId('welcome', HTMLElement).hidden = !first;
	document.body.classList.toggle('first-visit', first);
}

/** A clock that is not to be trusted is told of once in words, and at every number with a sign. */
function drawDoubt() {
	const doubt = model.doubt();
	document.body.classList.toggle('doubtful', Boolean(doubt));
	setText(byId('doubt', HTMLElement), [doubt && `⚠ Clock doubtful: ${doubt}`, lease.problem && `⚠ Not held: ${lease.problem}`].filter(Boolean).join(' '));
}

function drawNotes() {
	const { session, held } = model;
	const { first, last } = model.window();
	const shownFirst = Math.max(first, model.shown.first);
	const shownLast = Math.min(last, model.shown.last);
	const several = strip.columns.columns <= last - first ? ' A column of several frames shows the slowest.' : '';
	setText(byId('frames-note', HTMLElement), model.shown.last
		? `Frames ${count(shownFirst)} to ${count(shownLast)}. The strip is ${duration(strip.scale)} high; ▲ goes on above it.${several}`
		: model.missing ? `Session ${model.view.session} is not here. Choose another above.` : 'No frame yet.');
	const live = session?.state === 'live';
	const hold = byId('hold', HTMLButtonElement);
	setText(hold, held ? 'Held: show newest' : live ? 'Following newest' : 'Showing newest');
	hold.setAttribute('aria-pressed', String(Boolean(held)));
	byId('legend-lane', HTMLElement).hidden = !stripMarks.lane;
	describeSlider();
}

/** What the timeline says where it has nothing to draw. */
function timelineHint() {
	const { view, detail, problem, missing } = model;
	if (missing)
		return '';
	if (view.range) {
		const scene = timeline.scene();
		if (scene?.frames.every((one) => one.gone))
			return 'The events of these frames have left the history to make room for newer ones. Their numbers remain.';
		return scene ? '' : rangeZones.problem() ? `Frames ${view.range.first} to ${view.range.last}: ${rangeZones.problem()}` : 'Reading the frames…';
	}
	if (problem)
		return `Frame ${view.frame}: ${problem}`;
	if (!detail)
		return view.frame === null ? 'Select a frame: click one above, press [ or ], or X for the slowest.' : 'Reading the frame…';
	if (detail.frame.flags.includes('events_evicted'))
		return 'The events of this frame have left the history to make room for newer ones. Its numbers remain.';
	return detail.tracks.length ? '' : 'Nothing was recorded in this frame but its end.';
}

/** What the timeline shows, and what it leaves out. */
function timelineNote() {
	const scene = timeline.scene();
	if (!scene)
		return '';
	const { frames, tracks } = scene;
	const last = frames[frames.length - 1];
	const what = frames.length > 1 ? `Frames ${count(frames[0].frame)} to ${count(last.frame)}, ${milliseconds(last.end)}` : `Frame ${count(last.frame)}, ${milliseconds(last.end)}`;
	const cut = scene.truncated ? ' The deepest zones were left out: there are too many for one answer.'
		: scene.resolution ? ` Zones under ${duration(scene.resolution)} are merged until you zoom in.` : '';
	const more = schedule.leftOut ? ` ${count(schedule.leftOut)} of the scheduler's states are left out.` : '';
	const passing = model.passing ? ' One of the newest, another each second: a click keeps it.' : '';
	return `${what}: ${plural(zonesOf(scene), 'zone')} on ${plural(tracks.length, 'track')}.${cut}${more}${passing}`;
}

/** The strip is a slider over frames for those who do not see it. */
function describeSlider() {
	const { first, last } = model.window();
	const { frame } = model.view;
	const row = frame === null ? null : model.shown.get(frame);
	stripCanvas.setAttribute('aria-valuemin', String(Math.min(first, frame ?? first)));
	stripCanvas.setAttribute('aria-valuemax', String(Math.max(last, frame ?? last)));
	stripCanvas.setAttribute('aria-valuenow', String(frame ?? last));
	stripCanvas.setAttribute('aria-valuetext', frame === null ? 'none selected'
		: row ? `frame ${frame}, ${milliseconds(row.wall_ns)}` : `frame ${frame}`);
}

/** Opens the timeline first. @param {() => void} run */
function onTimeline(run) {
	model.openTab('timeline');
	drawDirty();
	run();
}

/** What the keys of the table do. @type {{[action: string]: () => void}} */
const ACTIONS = {
	previous: () => model.step(-1),
	next: () => model.step(1),
	first: () => model.selectEnd(1),
	last: () => model.selectEnd(-1),
	older: () => model.page(-1),
	newer: () => model.page(1),
	extendLeft: () => model.growRange(-1),
	extendRight: () => model.growRange(1),
	extendFarLeft: () => model.growRange(-50),
	extendFarRight: () => model.growRange(50),
	extendFirst: () => model.growRange(-Infinity),
	extendLast: () => model.growRange(Infinity),
	slowest: () => model.selectSlowestShown(true),
	slowestKept: () => model.selectSlowestKept(),
	budget: () => budget.select(),
	hold: () => (model.held ? model.follow() : model.hold()),
	clear: () => (panels.open === 'timeline' && timeline.measured() ? timeline.measure(null) : model.clear()),
	zoomIn: () => timeline.zoom(1 / 1.5),
	zoomOut: () => timeline.zoom(1.5),
	panLeft: () => timeline.pan(-0.15),
	panRight: () => timeline.pan(0.15),
	fit: () => timeline.fit(),
	measure: () => timeline.measureView(),
	search: () => onTimeline(() => search.focus()),
	findNext: () => onTimeline(() => search.go(1)),
	findPrevious: () => onTimeline(() => search.go(-1)),
	...Object.fromEntries(TABS.map(({ name }) => [`open:${name}`, () => model.openTab(name)])),
	help: () => help.showModal(),
};

/** Menus close by Esc, and by a press outside of them. */
const openMenus = () => /** @type {HTMLDetailsElement[]} */ ([...document.querySelectorAll('details.dropdown[open], details.chooser[open]')]);
document.addEventListener('pointerdown', ({ target }) => openMenus().forEach((menu) => {
	if (!menu.contains(/** @type {Node} */ (target)))
		menu.open = false;
}));
document.addEventListener('keydown', (event) => {
	const [menu] = event.key === 'Escape' && !help.open ? openMenus() : [];
	if (!menu)
		return;
	event.preventDefault();
	menu.open = false;
	menu.querySelector('summary')?.focus();
}, { capture: true });

document.addEventListener('keydown', (event) => {
	if (help.open || event.defaultPrevented || isTyping(event.target) || isPressing(event.target, event.code))
		return;
	const action = actionOf(event, document.activeElement === stripCanvas ? 'strip' : null);
	if (!action)
		return;
	event.preventDefault();
	ACTIONS[action]();
});

for (const [id, action] of [['older', 'older'], ['newer', 'newer'], ['hold', 'hold'], ['slowest', 'slowest'],
	['zoom-in', 'zoomIn'], ['zoom-out', 'zoomOut'], ['fit', 'fit'], ['help-button', 'help']])
	byId(id, HTMLButtonElement).addEventListener('click', () => ACTIONS[action]());

const scale = byId('scale', HTMLSelectElement);
scale.addEventListener('change', () => model.set('strip.height', scale.value === '0' ? null : scale.value));

const budget = byId('budget', HTMLInputElement);
budget.addEventListener('change', () => model.set('strip.budget', budgetOf(budget.value) === null ? null : budget.value));
budget.addEventListener('keydown', ({ key }) => {
	if (key === 'Enter' || key === 'Escape')
		stripCanvas.focus();
});

/** What the fields of the strip are set to: the address holds it. */
function drawFields() {
	const height = model.setting('strip.height', '0');
	scale.value = [...scale.options].some(({ value }) => value === height) ? height : '0';
	if (document.activeElement !== budget)
		budget.value = budgetOf(model.setting('strip.budget', '')) === null ? '' : model.setting('strip.budget', '');
}

byId('legend', HTMLElement).append(
	...HOLDERS.map(({ key, label }) => element('li', {}, element('span', { class: `swatch ${key}` }), label)),
	element('li', {}, element('span', { class: 'swatch gpu-line' }), 'gpu time'),
	element('li', {}, element('span', { class: 'swatch gap' }), 'missing or lost'),
	element('li', {}, element('span', { class: 'swatch spike' }), 'spike'),
	element('li', {}, element('span', { class: 'swatch head-line' }), 'recording'),
	element('li', { id: 'legend-lane', hidden: '' }, element('span', { class: 'swatch memory' }), 'allocations', element('span', { class: 'swatch collection' }), 'collection'));
byId('timeline-legend', HTMLElement).append(...BANDS.map(([key, text]) => element('li', {}, element('span', { class: `swatch ${key}` }), text)));
fillHelp(byId('help-body', HTMLElement));
fillWelcome(byId('welcome-body', HTMLElement));
watchPalette(() => invalidate('palette'));
model.start();
invalidate('connection', 'session', 'sessions', 'status', 'frames', 'numbers', 'detail');
