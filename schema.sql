-- SPDX-License-Identifier: MIT
-- What fprofd stores: the one definition, applied when a database is made. history.db, fprofd.db and
-- saved captures all have this shape.
--
-- Units: *_ns count from the session's start_utc_ns on the session's own clock; *_ticks and t0, t1 are
-- ticks of that clock since its start: ns = (ticks * clock_mult) >> clock_shift. NULL: could not be
-- measured. 64-bit ids and hashes are stored as signed integers. "lead words" are events as the
-- ledger counts them: produced = received + overwritten; received = stored + all discarded_*.

CREATE TABLE meta (
	key   TEXT PRIMARY KEY,
	value ANY
) STRICT, WITHOUT ROWID;

-- One recorded process. What does not change while it runs.
CREATE TABLE sessions (
	id              INTEGER PRIMARY KEY,
	pid             INTEGER NOT NULL, -- as fprofd sees it
	ns_pid          INTEGER NOT NULL, -- as the game sees it
	uid             INTEGER NOT NULL,
	process_start   INTEGER NOT NULL, -- field 22 of /proc/PID/stat
	image_id        INTEGER NOT NULL, -- one per exec
	boot_id         TEXT,
	name            TEXT,
	exe             TEXT,
	build_id        TEXT,             -- hex
	facts           TEXT,             -- JSON: argv, kernel, cpu, gpu, driver, governor, ...
	clock_kind      INTEGER NOT NULL, -- 1 TSC, 2 CNTVCT, 3 CLOCK_MONOTONIC
	clock_hz        REAL NOT NULL,
	clock_mult      INTEGER NOT NULL,
	clock_shift     INTEGER NOT NULL,
	start_ticks     INTEGER NOT NULL, -- absolute
	start_utc_ns    INTEGER NOT NULL, -- since 1970
	abi_major       INTEGER NOT NULL,
	abi_minor       INTEGER NOT NULL,
	library_version INTEGER NOT NULL  -- major << 16 | minor << 8 | patch
) STRICT;

-- What does change: written with every transaction that touches the session.
CREATE TABLE session_totals (
	session                 INTEGER PRIMARY KEY,
	state                   INTEGER NOT NULL DEFAULT 0, -- 0 live, 1 ended, 2 crashed
	end_reason              TEXT,
	end_ns                  INTEGER,
	end_unknown             INTEGER NOT NULL DEFAULT 0, -- 1: no fprofd was there; end_ns is the last event read
	threads_active          INTEGER NOT NULL DEFAULT 0,
	frames_total            INTEGER NOT NULL DEFAULT 0, -- of the main stream
	produced                INTEGER NOT NULL DEFAULT 0, -- lead words, as are the next four
	received                INTEGER NOT NULL DEFAULT 0,
	stored                  INTEGER NOT NULL DEFAULT 0,
	overwritten             INTEGER NOT NULL DEFAULT 0,
	dropped_reentrant       INTEGER NOT NULL DEFAULT 0,
	discarded_malformed     INTEGER NOT NULL DEFAULT 0,
	discarded_time          INTEGER NOT NULL DEFAULT 0,
	discarded_quota         INTEGER NOT NULL DEFAULT 0,
	discarded_hook_mark     INTEGER NOT NULL DEFAULT 0,
	discarded_not_recording INTEGER NOT NULL DEFAULT 0,
	discarded_foreign_mark  INTEGER NOT NULL DEFAULT 0,
	unbalanced_ends         INTEGER NOT NULL DEFAULT 0,
	stray_ends              INTEGER NOT NULL DEFAULT 0,
	truncated_zones         INTEGER NOT NULL DEFAULT 0,
	too_deep_zones          INTEGER NOT NULL DEFAULT 0,
	foreign_marks           INTEGER NOT NULL DEFAULT 0,
	times_backwards         INTEGER NOT NULL DEFAULT 0,
	late_events             INTEGER NOT NULL DEFAULT 0,
	gpu_dropped             INTEGER NOT NULL DEFAULT 0,
	counters_refused        INTEGER NOT NULL DEFAULT 0,
	clock_steps             INTEGER NOT NULL DEFAULT 0,
	heads_backwards         INTEGER NOT NULL DEFAULT 0,
	gpu_missing             INTEGER NOT NULL DEFAULT 0, -- results of finished frames that never came
	refused_threads         INTEGER NOT NULL DEFAULT 0,
	refused_markers         INTEGER NOT NULL DEFAULT 0,
	refused_names           INTEGER NOT NULL DEFAULT 0,
	refused_truncated       INTEGER NOT NULL DEFAULT 0,
	refused_events          INTEGER NOT NULL DEFAULT 0,
	refused_arguments       INTEGER NOT NULL DEFAULT 0,
	refused_6               INTEGER NOT NULL DEFAULT 0,
	refused_7               INTEGER NOT NULL DEFAULT 0,
	ring_fill_permille      INTEGER NOT NULL DEFAULT 0, -- fullest ring lately
	fault                   TEXT,                       -- why recording was given up
	-- The store's own:
	threads_seen            INTEGER NOT NULL DEFAULT 0,
	next_track              INTEGER NOT NULL DEFAULT 1,
	chunk_bytes             INTEGER NOT NULL DEFAULT 0, -- compressed
	evicted_before_ticks    INTEGER,                    -- events before it may be gone; NULL: none are
	-- What was ordered of it:
	recording               INTEGER NOT NULL DEFAULT 1, -- 0 stopped, 1 recording, 2 frozen
	recording_in_force      INTEGER NOT NULL DEFAULT 1, -- ... as the game has taken it over
	detail                  TEXT,                       -- JSON: levels by path; masked categories; allocations or not; NULL: none
	-- How far zone_totals goes: what has no higher id is in it.
	zones_counted_to        INTEGER,                    -- of chunks; NULL: some went that nobody counted
	spans_counted_to        INTEGER NOT NULL DEFAULT 0, -- of gpu_spans
	zones_uncounted         INTEGER NOT NULL DEFAULT 0  -- calls of too many paths, lead words of bad chunks
) STRICT;

-- The memories that a process registered; lane tells them apart within the session.
CREATE TABLE memories (
	session   INTEGER NOT NULL,
	lane      INTEGER NOT NULL,
	memory_id INTEGER NOT NULL,
	origin    INTEGER NOT NULL, -- 1 the game's own code, 2 the preload hook, 3 the daemon, attached
	bytes     INTEGER NOT NULL,
	PRIMARY KEY (session, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE markers (
	session  INTEGER NOT NULL,
	marker   INTEGER NOT NULL,
	kind     INTEGER NOT NULL, -- 0 zone, 1-3 wait.gpu, wait.present, wait.cap, 4 instant, 5 counter,
	                           -- 6 stream, 7 fiber, 8 GPU, 9 message
	level    INTEGER NOT NULL, -- 0 landmark, 1 phase, 2 inner
	unit     INTEGER NOT NULL, -- of a counter: 0 count, 1 bytes, 2 ms, 3 percent
	dynamic  INTEGER NOT NULL, -- 1: the name was made at run time
	line     INTEGER NOT NULL,
	colour   INTEGER NOT NULL, -- 0xRRGGBB, 0: none
	name     TEXT,
	category TEXT,
	file     TEXT,
	PRIMARY KEY (session, marker)
) STRICT, WITHOUT ROWID;

-- A line of the timeline: a thread, a fiber, a GPU queue.
CREATE TABLE tracks (
	session     INTEGER NOT NULL,
	track       INTEGER NOT NULL,
	kind        INTEGER NOT NULL, -- 0 thread, 1 fiber, 2 GPU queue
	tid         INTEGER NOT NULL,
	name        TEXT,
	begin_ticks INTEGER NOT NULL,
	end_ticks   INTEGER,          -- NULL: still there
	ns_per_tick REAL NOT NULL,    -- GPU queues
	valid_bits  INTEGER NOT NULL,
	PRIMARY KEY (session, track)
) STRICT, WITHOUT ROWID;

-- A sequence of frames: 0 is the game's main one.
CREATE TABLE streams (
	session     INTEGER NOT NULL,
	stream      INTEGER NOT NULL,
	name        TEXT NOT NULL,
	track       INTEGER NOT NULL,           -- of its marking thread
	events_from INTEGER NOT NULL DEFAULT 1, -- first frame whose events are all still here
	PRIMARY KEY (session, stream)
) STRICT, WITHOUT ROWID;

CREATE TABLE infos (
	session INTEGER NOT NULL,
	key     TEXT NOT NULL,
	value   TEXT,
	PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

-- Events: immutable, compressed, of one track from one memory over a stretch of time.
CREATE TABLE chunks (
	id        INTEGER PRIMARY KEY,
	session   INTEGER NOT NULL,
	track     INTEGER NOT NULL,
	lane      INTEGER NOT NULL,
	t0        INTEGER NOT NULL, -- ticks of its first and last event
	t1        INTEGER NOT NULL,
	events    INTEGER NOT NULL,
	depth_in  INTEGER NOT NULL, -- zones carried in
	late      INTEGER NOT NULL, -- events in it that came after their frame was closed
	raw_bytes INTEGER NOT NULL,
	data      BLOB NOT NULL
) STRICT;
CREATE INDEX chunks_by_track ON chunks (session, track, lane, t1);
CREATE INDEX chunks_by_time ON chunks (session, t1);
CREATE INDEX chunks_late ON chunks (session, t1, t0, late) WHERE late > 0;

-- What each path of zones came to since the session began, as far as session_totals says that it was
-- counted. Paths go by the thread's name.
CREATE TABLE zone_totals (
	session      INTEGER NOT NULL,
	node         INTEGER NOT NULL, -- from 1, parents first
	parent       INTEGER,          -- a node; NULL: this is a thread, a fiber or a GPU queue
	marker       INTEGER NOT NULL, -- 0: of one of those
	kind         INTEGER NOT NULL, -- as in tracks
	name         TEXT,             -- of one of those
	calls        INTEGER NOT NULL, -- that have ended
	total_ns     INTEGER NOT NULL,
	max_ns       INTEGER NOT NULL,
	max_begin_ns INTEGER NOT NULL, -- when the longest began
	max_frame    INTEGER,          -- of the main stream, in which it did
	PRIMARY KEY (session, node)
) STRICT, WITHOUT ROWID;

-- Where events of a track were overwritten before they could be read.
CREATE TABLE gaps (
	session INTEGER NOT NULL,
	t1      INTEGER NOT NULL,
	track   INTEGER NOT NULL,
	lane    INTEGER NOT NULL,
	t0      INTEGER NOT NULL,
	events  INTEGER NOT NULL,
	PRIMARY KEY (session, t1, track, lane, t0)
) STRICT, WITHOUT ROWID;

CREATE TABLE frames (
	session         INTEGER NOT NULL,
	stream          INTEGER NOT NULL,
	frame           INTEGER NOT NULL, -- from 1
	engine_id       INTEGER,          -- the engine's own number
	t0              INTEGER NOT NULL,
	t1              INTEGER NOT NULL,
	begin_ns        INTEGER NOT NULL,
	end_ns          INTEGER NOT NULL,
	cpu_ns          INTEGER,          -- wall - waits of the marking thread
	wait_gpu_ns     INTEGER,
	wait_present_ns INTEGER,
	wait_cap_ns     INTEGER,
	events          INTEGER NOT NULL,
	lost_events     INTEGER NOT NULL,
	flags           INTEGER NOT NULL, -- 1 startup, 2 lost events, 4 GPU incomplete, 8 GPU pending,
	                                  -- 16 clock step, 128 marks lost, 256 counters incomplete,
	                                  -- 512 clock doubtful, 1024 paused, 4096 loading
	track           INTEGER NOT NULL, -- that ended it
	wall_ns         INTEGER NOT NULL AS (end_ns - begin_ns) VIRTUAL,
	PRIMARY KEY (session, stream, frame)
) STRICT, WITHOUT ROWID;

-- Values at the end of a frame.
CREATE TABLE frame_counters (
	session    INTEGER NOT NULL,
	stream     INTEGER NOT NULL,
	frame      INTEGER NOT NULL,
	marker     INTEGER NOT NULL,
	incomplete INTEGER NOT NULL,
	value      ANY,
	PRIMARY KEY (session, stream, frame, marker)
) STRICT, WITHOUT ROWID;

CREATE TABLE gpu_spans (
	id         INTEGER PRIMARY KEY,
	session    INTEGER NOT NULL,
	frame      INTEGER NOT NULL, -- of the main stream
	track      INTEGER NOT NULL, -- its queue
	marker     INTEGER NOT NULL,
	submission INTEGER NOT NULL,
	view       INTEGER NOT NULL,
	fence      INTEGER NOT NULL,
	begin_ns   INTEGER NOT NULL,
	end_ns     INTEGER NOT NULL,
	calibrated INTEGER NOT NULL, -- 0: only aligned to its submission
	raw_begin  INTEGER NOT NULL,
	raw_end    INTEGER NOT NULL
) STRICT;
CREATE INDEX gpu_spans_by_frame ON gpu_spans (session, frame);

-- What a frame came to on one GPU queue.
CREATE TABLE frame_gpus (
	session INTEGER NOT NULL,
	frame   INTEGER NOT NULL,
	track   INTEGER NOT NULL,
	span_ns INTEGER,          -- first begin to last end; NULL: no spans
	busy_ns INTEGER,          -- union of the intervals
	spans   INTEGER NOT NULL,
	missing INTEGER NOT NULL, -- submissions without results
	final   INTEGER NOT NULL, -- 1: nothing more is expected
	PRIMARY KEY (session, frame, track)
) STRICT, WITHOUT ROWID;

-- Counters that fprofd reads from outside the game, and what they were: of the last 10 minutes.
CREATE TABLE sampled (
	session    INTEGER NOT NULL,
	counter    INTEGER NOT NULL,
	name       TEXT NOT NULL,
	module     TEXT NOT NULL,    -- cpu, gpu, memory, assets
	source     TEXT NOT NULL,    -- where it is read
	unit       INTEGER NOT NULL, -- as in markers
	cumulative INTEGER NOT NULL, -- 1: it grows, only differences mean something
	PRIMARY KEY (session, counter)
) STRICT, WITHOUT ROWID;

CREATE TABLE samples (
	session INTEGER NOT NULL,
	ns      INTEGER NOT NULL, -- when it was read
	counter INTEGER NOT NULL,
	value   INTEGER NOT NULL,
	PRIMARY KEY (session, ns, counter)
) STRICT, WITHOUT ROWID;

-- How long a thread that marks frames has run since it began, read from outside some 25 times a second (its
-- schedstat), of the last 10 minutes.
CREATE TABLE thread_ran (
	session INTEGER NOT NULL,
	tid     INTEGER NOT NULL, -- as tracks have it
	ns      INTEGER NOT NULL, -- when it was read
	ran_ns  INTEGER NOT NULL,
	PRIMARY KEY (session, tid, ns)
) STRICT, WITHOUT ROWID;

-- Of a capture: the frames before and after those that it has, which tell what is usual.
CREATE TABLE frames_around (
	session  INTEGER NOT NULL,
	stream   INTEGER NOT NULL,
	frame    INTEGER NOT NULL,
	begin_ns INTEGER NOT NULL,
	end_ns   INTEGER NOT NULL,
	cpu_ns   INTEGER,
	track    INTEGER NOT NULL,
	PRIMARY KEY (session, stream, frame)
) STRICT, WITHOUT ROWID;

-- What the kernel's scheduler did with a thread over a stretch of time, compressed; daemon/sched_log.h
-- says how.
CREATE TABLE sched_chunks (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	tid     INTEGER NOT NULL, -- as tracks have it
	t0      INTEGER NOT NULL, -- ticks of its first and last record
	t1      INTEGER NOT NULL,
	records INTEGER NOT NULL,
	data    BLOB NOT NULL
) STRICT;
CREATE INDEX sched_chunks_by_time ON sched_chunks (session, t1);
CREATE INDEX sched_chunks_by_thread ON sched_chunks (session, tid, t1);

-- Stacks of a session's threads, sampled over a stretch of time, compressed; daemon/stack_log.h says how.
CREATE TABLE stack_chunks (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL,
	t0      INTEGER NOT NULL, -- ticks of its first and last sample
	t1      INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	data    BLOB NOT NULL
) STRICT;
CREATE INDEX stack_chunks_by_time ON stack_chunks (session, t1);

-- The code that those stacks were in: files, and what else is mapped.
CREATE TABLE stack_modules (
	session  INTEGER NOT NULL,
	module   INTEGER NOT NULL, -- a hash of which file it is
	path     TEXT NOT NULL,    -- as the process sees it, or what the kernel calls it
	build_id TEXT,             -- hex
	symbols  TEXT,             -- which table names its functions: symtab, dynsym; NULL: none
	reason   TEXT,             -- why none
	PRIMARY KEY (session, module)
) STRICT, WITHOUT ROWID;

-- Its functions, those that were seen.
CREATE TABLE stack_symbols (
	session INTEGER NOT NULL,
	module  INTEGER NOT NULL,
	lo      INTEGER NOT NULL, -- bytes of the file: from lo to below hi
	hi      INTEGER NOT NULL,
	name    TEXT,             -- demangled; NULL: there is no symbol
	PRIMARY KEY (session, module, lo)
) STRICT, WITHOUT ROWID;

-- The state of one ring when its last chunk was stored: where a restarted fprofd goes on.
CREATE TABLE ledger (
	session                 INTEGER NOT NULL,
	lane                    INTEGER NOT NULL,
	slot                    INTEGER NOT NULL,
	tail                    INTEGER NOT NULL, -- next word to read
	base_ticks              INTEGER NOT NULL, -- absolute
	serial                  INTEGER NOT NULL,
	track                   INTEGER NOT NULL,
	fiber_track             INTEGER NOT NULL,
	fiber                   INTEGER NOT NULL,
	fiber_seq               INTEGER NOT NULL,
	produced                INTEGER NOT NULL,
	received                INTEGER NOT NULL,
	stored                  INTEGER NOT NULL,
	overwritten             INTEGER NOT NULL,
	discarded_malformed     INTEGER NOT NULL,
	discarded_time          INTEGER NOT NULL,
	discarded_quota         INTEGER NOT NULL,
	discarded_hook_mark     INTEGER NOT NULL,
	discarded_not_recording INTEGER NOT NULL,
	discarded_foreign_mark  INTEGER NOT NULL,
	fill_permille           INTEGER NOT NULL DEFAULT 0, -- the fullest it was lately
	stack                   BLOB, -- the open zones
	PRIMARY KEY (session, lane, slot)
) STRICT, WITHOUT ROWID;

-- Recordings of other tools that hold sums only: a tree, and how often and how long each of its nodes ran in
-- each frame. Such a session has frames, but no chunks.

-- What nodes are counted under.
CREATE TABLE aggregate_groups (
	session  INTEGER NOT NULL,
	group_id INTEGER NOT NULL, -- its place in the tool's list
	frame    INTEGER NOT NULL, -- that it came with; 0: the tool's own
	flags    INTEGER NOT NULL, -- the tool's
	name     TEXT NOT NULL,
	PRIMARY KEY (session, group_id)
) STRICT, WITHOUT ROWID;

-- The tree, as it grew: a node that is given again, with another id or group, has another row.
CREATE TABLE aggregate_nodes (
	session  INTEGER NOT NULL,
	seq      INTEGER NOT NULL, -- 0 is the root's
	node     INTEGER NOT NULL, -- from 0, the root, in the order in which they came
	frame    INTEGER NOT NULL, -- from which this holds; 0: from the first
	parent   INTEGER,          -- a node; NULL: this is the root
	tool_id  INTEGER NOT NULL, -- what the tool calls it
	group_id INTEGER NOT NULL,
	name     TEXT NOT NULL,    -- '' for the root
	PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- Frames in a row, compressed: daemon/aggregate.h says how.
CREATE TABLE aggregate_frames (
	session     INTEGER NOT NULL,
	first_frame INTEGER NOT NULL,
	last_frame  INTEGER NOT NULL,
	data        BLOB NOT NULL,
	PRIMARY KEY (session, first_frame)
) STRICT;

-- The captures in the state directory: of fprofd.db only. Each is a session, in a file of its own.
CREATE TABLE captures (
	session        INTEGER PRIMARY KEY,
	source_session INTEGER NOT NULL, -- it was taken from, 0: none of this fprofd's
	kind           INTEGER NOT NULL, -- 0 saved, 1 spike, 2 crash, 3 upload, 4 import, 5 snapshot
	uid            INTEGER NOT NULL, -- its owner
	name           TEXT NOT NULL,
	note           TEXT,
	reason         TEXT,             -- of spikes and crashes: JSON
	file           TEXT NOT NULL,    -- in the directory captures
	created_utc_ns INTEGER NOT NULL,
	first_frame    INTEGER NOT NULL, -- 0: none
	last_frame     INTEGER NOT NULL,
	bytes          INTEGER NOT NULL,
	aggregate      INTEGER NOT NULL  -- 1: it has sums instead of events
) STRICT;

-- Sessions as a person asks for them.
CREATE VIEW session_list AS
SELECT s.id, s.name, s.pid, s.uid,
       CASE t.state WHEN 0 THEN 'live' WHEN 1 THEN 'ended' ELSE 'crashed' END AS state,
       t.end_reason, t.frames_total, t.threads_seen, t.threads_active,
       t.received, t.stored, t.overwritten AS lost_events, t.chunk_bytes,
       datetime(s.start_utc_ns / 1000000000, 'unixepoch') AS start_utc
FROM sessions s JOIN session_totals t ON t.session = s.id;

-- Frames of the main streams with what the GPU did in them: the longest queue. NULL: results are still
-- to come, or some never came.
CREATE VIEW frame_times AS
SELECT f.session, f.frame, f.begin_ns, f.wall_ns, f.cpu_ns,
       (SELECT CASE WHEN min(g.final) = 1 AND max(g.missing) = 0 THEN max(g.span_ns) END
        FROM frame_gpus g WHERE g.session = f.session AND g.frame = f.frame) AS gpu_ns,
       f.wait_gpu_ns, f.wait_present_ns, f.wait_cap_ns, f.events, f.lost_events, f.flags
FROM frames f WHERE f.stream = 0;
