// SPDX-License-Identifier: MIT
/*
 * A thread's life: it claims a slot at its first event, says THREAD in the slot's ring, and at
 * its end THREAD_END; then the slot is free for another thread, whose THREAD word goes into the
 * same ring.
 *
 * client[0]: its ring is populated; [1] events since it looked after the connection; [2] its fiber
 * (fiber.c); [3] the highest marker of a stream that it may own.
 *
 * The thread's own words live in its writer, one per slot, in the session's mapping. Only the
 * owner changes them (but `closed`). Signal handlers of the owner are kept out by `ready` in the
 * inline mode and by `busy` in the others; a holder has both.
 *
 * fprof_tls.client counts, in a thread without a slot, the events until it tries again. While the
 * thread is being registered it is REGISTERING, and a handler's events are counted and dropped.
 *
 * The end is told by a pthread key's destructor. Destructors of other keys may record after ours:
 * the thread registers anew, and ends once more in the next round. After the last round, or where
 * the thread was killed, the slot stays taken; when slots run out, those of threads that are no
 * more are taken back.
 */
#include "thread.h"

#include "fiber.h"
#include "glibc.h"
#include "known.h"
#include "memory.h"

#include "fprof/make.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define REGISTERING  UINT64_MAX
#define RETRY_EVENTS 1024u
#define WHO_FIBER    (UINT64_C(1) << 63) /* no serial has it, nor has a pointer */
#define KEY_NONE     0u			 /* else the key + 1 */

static struct fprof_writer null_writer;
FPROF_API __thread struct fprof_tls fprof_tls
	__attribute__((tls_model("initial-exec"))) = {&null_writer, 0};

static uint32_t key_plus_one;

struct fprof_writer *thread_null_writer(void)
{
	return &null_writer;
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- claiming a slot ---- */

static bool slot_take(struct session *s, uint32_t i, uint32_t from)
{
	return __atomic_compare_exchange_n(&s->claimed[i], &from, 1u, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The slot of a thread that was killed: taken over from it. Asked at most once a second. */
static int slot_reclaim(struct session *s)
{
	uint32_t second = session_second();
	uint32_t i;

	if (__atomic_exchange_n(&s->reclaim_second, second, __ATOMIC_RELAXED) == second)
		return -EAGAIN;
	for (i = 0; i < s->head->slot_count; i++) {
		bool live = FPROF_LOAD_ACQUIRE(&s->slots[i].state) == FPROF_SLOT_LIVE;
		int32_t tid = FPROF_LOAD_RELAXED(&s->slots[i].tid);

		if (live && syscall(SYS_tgkill, s->head->pid, tid, 0) < 0 && errno == ESRCH &&
		    __atomic_compare_exchange_n(&s->slots[i].tid, &tid, 0, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return (int)i;
	}
	return -EAGAIN;
}

static int slot_claim(struct session *s)
{
	uint32_t i;

	for (i = 0; i < s->head->slot_count; i++)
		if (!FPROF_LOAD_RELAXED(&s->claimed[i]) && slot_take(s, i, 0))
			return (int)i;
	return slot_reclaim(s);
}

static void slots_used_raise(struct session *s, uint32_t used)
{
	uint32_t seen = FPROF_LOAD_RELAXED(&s->head->slots_used);

	while (seen < used && !__atomic_compare_exchange_n(&s->head->slots_used, &seen, used, true,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

/* ---- modes ---- */

/* The ring's pages, once per slot; of those that share a huge page the first one asks for it. */
static void populate(struct session *s, struct fprof_writer *w)
{
	struct fprof_slot *slot = w->slot;
	int error = errno;
	uint32_t first, count;
	uint64_t begin;

	if (FPROF_LOAD_RELAXED(&w->client[0]))
		return;
	begin = monotonic_ns();
	count = memory_populate(s->head, w->index, &first);
	while (count-- > 0)
		FPROF_STORE_RELAXED(&s->writers[first + count].client[0], UINT64_C(1));
	fprof_slot_own_begin(slot);
	FPROF_STORE_RELAXED(&slot->populate_ns, monotonic_ns() - begin);
	fprof_slot_own_end(slot);
	errno = error;
}

/* Is there more to do at an event than the inline path does? */
static bool wants_slow(const struct session *s)
{
	return s->clock == FPROF_CLOCK_MONOTONIC || detail_active(&s->detail) ||
	       alloc_track_active(&s->allocs);
}

void thread_mode(struct session *s, struct fprof_writer *w)
{
	uint32_t mode = WRITER_IDLE;

	if (FPROF_LOAD_RELAXED(&s->recording))
		mode = wants_slow(s) ? WRITER_SLOW : WRITER_INLINE;
	if (mode == w->mode)
		return;
	if (mode != WRITER_IDLE)
		populate(s, w);
	if (w->mode == WRITER_IDLE && w->fiber)
		fiber_announce(s, w);
	w->mode = mode;
}

/* ---- registering ---- */

static void writer_init(struct session *s, struct fprof_writer *w, uint32_t i)
{
	uint64_t words = s->head->ring_words;

	/* limit and non_events go on: the ring does */
	w->slot = &s->slots[i];
	w->ring = s->rings + i * words;
	w->mask = words - 1;
	w->index = i;
	w->serial = FPROF_ADD_RELAXED(&s->serials, 1u) + 1;
	w->depth = 0;
	w->thread_depth = 0;
	w->fiber = 0;
	w->fiber_seq = 0;
	w->ready = 0;
	w->busy = 1;
}

/* Header block, THREAD word, owner, in this order. */
static void writer_introduce(struct session *s, struct fprof_writer *w)
{
	uint64_t words[8] = {0};
	char name[17] = {0};
	int32_t tid = (int32_t)syscall(SYS_gettid);
	uint64_t start = fprof_clock_read(s->clock);
	struct fprof_slot *slot = w->slot;
	unsigned count;
	uint64_t pos = slot->head;

	prctl(PR_GET_NAME, name);
	count = fprof_thread_words(words, tid, w->serial, start, name);
	if (pos + count > w->limit) {
		fprof_writer_next_block(w, start);
		pos = slot->head;
	}
	words[0] |= start & FPROF_TIME_MASK;
	fprof_writer_put(w, words, count, start);
	fprof_slot_own(slot, tid, w->serial, start, pos, name);
}

static void thread_end(void *writer);

/* The thread's end is told through one key, made by whoever needs it first. */
static void end_notify(struct fprof_writer *w)
{
	uint32_t have = FPROF_LOAD_ACQUIRE(&key_plus_one);
	pthread_key_t key;

	if (!have) {
		if (pthread_key_create(&key, thread_end))
			return;
		if (__atomic_compare_exchange_n(&key_plus_one, &have, key + 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			have = key + 1;
		else
			pthread_key_delete(key);
	}
	pthread_setspecific(have - 1, w);
}

void thread_key_drop(void)
{
	uint32_t have = __atomic_exchange_n(&key_plus_one, KEY_NONE, __ATOMIC_ACQ_REL);

	if (have)
		pthread_key_delete(have - 1);
}

static struct fprof_writer *thread_register(struct session *s)
{
	struct fprof_writer *w;
	int error = errno, slot = slot_claim(s);

	errno = error;
	if (slot < 0)
		return NULL;
	w = &s->writers[slot];
	writer_init(s, w, (uint32_t)slot);
	writer_introduce(s, w);
	slots_used_raise(s, (uint32_t)slot + 1);
	session_gate_writer(s, w);
	session_poll(s, false);
	w->mode = WRITER_IDLE;
	thread_mode(s, w);
	end_notify(w);
	errno = error;
	return w;
}

struct fprof_writer *thread_writer(struct session *s)
{
	struct fprof_writer *w = fprof_tls.writer;
	uint64_t before = fprof_tls.client;

	if (FPROF_LIKELY(w->mode != WRITER_NONE))
		return w;
	if (before == REGISTERING || (before && before % RETRY_EVENTS)) {
		session_refuse(s, FPROF_REFUSED_EVENTS);
		fprof_tls.client += before != REGISTERING;
		return NULL;
	}
	fprof_tls.client = REGISTERING;
	FPROF_FENCE_SIGNAL();
	w = thread_register(s);
	if (w) {
		FPROF_STORE_RELAXED(&fprof_tls.writer, w);
		FPROF_FENCE_SIGNAL();
		fprof_tls.client = 0;
		thread_release(w);
		return w;
	}
	FPROF_FENCE_SIGNAL();
	if (!before)
		session_refuse(s, FPROF_REFUSED_THREADS);
	session_refuse(s, FPROF_REFUSED_EVENTS);
	fprof_tls.client = before + 1;
	return NULL;
}

/* ---- holding ---- */

static bool writer_take(struct fprof_writer *w)
{
	if (w->busy || (w->mode == WRITER_INLINE && !w->ready)) {
		FPROF_ADD_RELAXED(&w->slot->dropped_reentrant, UINT64_C(1));
		return false;
	}
	FPROF_STORE_RELAXED(&w->busy, 1u);
	FPROF_STORE_RELAXED(&w->ready, 0u);
	FPROF_FENCE_SIGNAL();
	return true;
}

void thread_release(struct fprof_writer *w)
{
	FPROF_FENCE_SIGNAL();
	FPROF_STORE_RELAXED(&w->busy, 0u);
	FPROF_STORE_RELAXED(&w->ready, (uint32_t)(w->mode == WRITER_INLINE));
}

struct fprof_writer *thread_hold(struct session *s)
{
	struct fprof_writer *w = thread_writer(s);

	if (!w || !writer_take(w))
		return NULL;
	return w;
}

/* Is w in a mode that is not what the session wants by now? */
static bool mode_due(const struct session *s, const struct fprof_writer *w)
{
	return wants_slow(s) != (w->mode == WRITER_SLOW);
}

/* In a process without marks the writers look after the connection, once a block or so. */
static bool look_due(const struct session *s, struct fprof_writer *w)
{
	return w->mode == WRITER_SLOW && !FPROF_LOAD_RELAXED(&s->marked) &&
	       ++w->client[1] % FPROF_BLOCK_WORDS == 0;
}

uint32_t fprof_writer_next_block_slow(struct fprof_writer *w)
{
	struct session *s = session_peek();

	fprof_writer_next_block(w, fprof_counter());
	if (!s || (FPROF_LOAD_RELAXED(&s->marked) && !mode_due(s, w)))
		return 1;
	session_poll(s, false);
	thread_mode(s, w);
	return w->mode == WRITER_INLINE;
}

struct fprof_writer *thread_hold_recording(struct session *s)
{
	struct fprof_writer *w = thread_hold(s);

	if (!w)
		return NULL;
	if (w->mode == WRITER_IDLE || !FPROF_LOAD_RELAXED(&s->recording) || look_due(s, w)) {
		session_poll(s, false);
		thread_mode(s, w);
	} else if (FPROF_UNLIKELY(mode_due(s, w))) {
		thread_mode(s, w);
	}
	if (!FPROF_LOAD_RELAXED(&s->marked))
		thread_tell(s, w, false);
	if (w->mode != WRITER_IDLE) {
		if (FPROF_UNLIKELY(FPROF_LOAD_RELAXED(&s->announce)))
			known_announce(s, w);
		return w;
	}
	thread_release(w);
	return NULL;
}

bool thread_tell(struct session *s, struct fprof_writer *w, bool before_mark)
{
	uint32_t told = FPROF_LOAD_RELAXED(&s->told);
	uint32_t ordered = FPROF_LOAD_ACQUIRE(&s->link.ordered);
	uint64_t words[3] = {FPROF_EXT_TOP(FPROF_EXT_RECORD, 3),
			     ordered | (before_mark ? FPROF_RECORD_AT_MARK : 0),
			     FPROF_LOAD_RELAXED(&s->changed_ticks)};

	if (FPROF_LIKELY(told == ordered) ||
	    !__atomic_compare_exchange_n(&s->told, &told, ordered, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return false;
	thread_put(s, w, words, 3);
	return true;
}

void thread_put(struct session *s, struct fprof_writer *w, uint64_t *words, unsigned count)
{
	uint64_t now = fprof_clock_read(s->clock);

	words[0] |= now & FPROF_TIME_MASK;
	fprof_writer_put(w, words, count, now);
}

void thread_rename(struct session *s, struct fprof_writer *w, const char *name, size_t n)
{
	uint64_t words[2 + (FPROF_THREAD_NAME_MAX + 7) / 8] = {0};
	unsigned count = 2 + (unsigned)(n + 7) / 8;

	words[0] = FPROF_EXT_TOP(FPROF_EXT_THREAD_NAME, count);
	words[1] = n;
	memcpy(words + 2, name, n);
	thread_put(s, w, words, count);
	fprof_slot_own_begin(w->slot);
	fprof_slot_name(w->slot, name, n, true);
	fprof_slot_own_end(w->slot);
	detail_renamed(s, w);
}

/* ---- the end ---- */

uint64_t thread_who(const struct fprof_writer *w)
{
	if (!w || w->mode == WRITER_NONE)
		return 0;
	return w->fiber ? w->fiber | WHO_FIBER : w->serial;
}

void thread_owns_stream(uint32_t stream)
{
	struct fprof_writer *w = fprof_tls.writer;

	if (w->mode != WRITER_NONE && w->client[3] < stream)
		w->client[3] = stream;
}

static void marks_disown(struct session_marks *marks, uint64_t who)
{
	__atomic_compare_exchange_n(&marks->owner, &who, UINT64_C(0), false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* The streams of a thread that ends are free for the next one that marks. */
static void streams_disown(struct session *s, struct fprof_writer *w)
{
	uint64_t i;

	for (i = 0; i < SESSION_ORIGINS; i++)
		marks_disown(&s->marks[i], w->serial);
	for (i = 1; i <= w->client[3]; i++)
		marks_disown(&s->stream_marks[i], w->serial);
	w->client[3] = 0;
}

/* A pthread key's destructor. In a forked child the writer reads as zeros: it is the parent's. */
static void thread_end(void *writer)
{
	struct fprof_writer *w = writer;
	struct session *s = session_peek();
	uint64_t word = FPROF_EXT_TOP(FPROF_EXT_THREAD_END, 1);

	if (!s || fprof_tls.writer != w || w->mode == WRITER_NONE || !writer_take(w))
		return;
	thread_put(s, w, &word, 1);
	FPROF_STORE_RELAXED(&fprof_tls.writer, &null_writer);
	FPROF_FENCE_SIGNAL();
	streams_disown(s, w);
	fprof_slot_own_begin(w->slot);
	FPROF_STORE_RELAXED(&w->slot->state, (uint32_t)FPROF_SLOT_DEAD);
	fprof_slot_own_end(w->slot);
	w->mode = WRITER_NONE;
	w->depth = 0;
	w->busy = 0;
	FPROF_STORE_RELEASE(&s->claimed[w->index], 0u);
}
