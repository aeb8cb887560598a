// SPDX-License-Identifier: MIT
/*
 * One session per process, made at the first event and never freed.
 *
 * Making: whoever comes first makes one; where two come at once both do, one is put in place by a
 * compare-and-swap, and the other throws its own away. Nobody waits, so a signal handler may be
 * the first.
 *
 * Forks: pthread_atfork sees neither raw clone nor _Fork. The session's mapping is wiped in every
 * child that has memory of its own, and a session that is not alive is no session. (A vfork child
 * shares the memory, has its parent's session and may use it: its parent sleeps.) The child
 * copies the marker table, so the ids that its static markers hold stay right, unmaps its
 * parent's memory and closes its copy of the parent's descriptors. The wiped mapping itself
 * stays, for signal handlers of the child that found it.
 *
 * errno is the game's: whoever makes system calls here puts it back.
 *
 * Gates: `closed` of every writer follows session->closed. Writers are never unmapped, so anybody
 * may set them.
 */
#include "session.h"

#include "fprof.h"
#include "marker.h"
#include "memory.h"
#include "note.h"
#include "origin.h"
#include "thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define RETRY_S 1u

static struct session *current;
static enum fprof_origin made_by = FPROF_ORIGIN_GAME;
static uint32_t retry_second; /* no other try to make one before */

uint32_t session_second(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint32_t)t.tv_sec;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void client_origin_set(enum fprof_origin origin)
{
	made_by = origin;
}

/* The largest power of two that is not above v > 0. */
static uint64_t power_of_two(uint64_t v)
{
	return UINT64_C(1) << (63 - __builtin_clzll(v));
}

/* $FPROF_RING_KIB as words, the nearest that is allowed. *ret_sound: it was as it should be. */
static uint32_t ring_words(bool *ret_sound)
{
	const char *text = secure_getenv("FPROF_RING_KIB");
	uint64_t kib = 0, words;

	*ret_sound = true;
	if (!text || !*text)
		return FPROF_RING_WORDS_DEFAULT;
	for (; *text >= '0' && *text <= '9' && kib < UINT32_MAX; text++)
		kib = kib * 10 + (uint64_t)(*text - '0');
	*ret_sound = false;
	if (*text && kib < UINT32_MAX) {
		note(NOTE_WARNING, "FPROF_RING_KIB is no number, using 1024", NULL, 0);
		return FPROF_RING_WORDS_DEFAULT;
	}
	words = kib * 1024 / sizeof(uint64_t);
	*ret_sound = words >= FPROF_RING_WORDS_MIN && words <= FPROF_RING_WORDS_MAX &&
		     words == power_of_two(words);
	if (*ret_sound)
		return (uint32_t)words;
	note(NOTE_WARNING,
	     "FPROF_RING_KIB is no power of two from 16 to 65536, using the next below", NULL, 0);
	if (words < FPROF_RING_WORDS_MIN)
		return FPROF_RING_WORDS_MIN;
	return words > FPROF_RING_WORDS_MAX ? FPROF_RING_WORDS_MAX : (uint32_t)power_of_two(words);
}

static void session_free(struct session *s)
{
	struct memory m = {s->kin.memory, s->kin.bytes, s->kin.memfd};

	memory_free(&m);
	munmap(s, sizeof(*s));
}

static void session_attach(struct session *s, const struct memory *m)
{
	struct fprof_memory_header *h = m->base;

	s->kin.memory = m->base;
	s->kin.bytes = m->bytes;
	s->kin.memfd = m->memfd;
	s->kin.socket.fd = -1;
	s->memory = m->base;
	s->head = h;
	s->slots = (struct fprof_slot *)(s->memory + h->slots_offset);
	s->markers = (struct fprof_marker_entry *)(s->memory + h->markers_offset);
	s->strings = s->memory + h->strings_offset;
	s->rings = (uint64_t *)(s->memory + h->rings_offset);
	s->clock = (enum fprof_clock_kind)h->clock_kind;
}

/* A session that nobody else knows yet; old is the wiped one of a parent, or NULL. */
static int session_new(const struct session *old, struct session **ret_session)
{
	struct memory m;
	struct session *s;
	bool sound;
	int r;

	s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		return -errno;
	if (madvise((uint8_t *)s + sizeof(s->kin) + sizeof(s->pad_page),
		    sizeof(*s) - sizeof(s->kin) - sizeof(s->pad_page), MADV_WIPEONFORK) < 0) {
		r = -errno;
		goto fail;
	}
	r = memory_new(ring_words(&sound), fprof_clock_choose(), made_by, &m);
	if (r < 0)
		goto fail;
	session_attach(s, &m);
	s->head->library_version =
		FPROF_VERSION_MAJOR << 16 | FPROF_VERSION_MINOR << 8 | FPROF_VERSION_PATCH;
	if (!sound)
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
	if (old)
		marker_inherit(s, old->kin.memory);
	link_init(&s->link);
	alloc_track_init(&s->allocs);
	s->recording = s->link.recording;
	s->told = FPROF_STATE_RECORDING;
	FPROF_STORE_RELEASE(&s->head->magic, FPROF_MEMORY_MAGIC);
	FPROF_STORE_RELEASE(&s->alive, 1u);
	*ret_session = s;
	return 0;
fail:
	munmap(s, sizeof(*s));
	return r;
}

/* What this child has of its parent's: nobody of the child uses it any more. */
static void session_disown(struct session *old)
{
	owned_fd_close(&old->kin.socket);
	owned_fd_close(&old->kin.memfd);
	if (old->kin.memory)
		munmap(old->kin.memory, old->kin.bytes);
	old->kin.memory = NULL;
}

static struct session *session_make(struct session *old)
{
	uint32_t second = session_second();
	struct session *made = NULL, *seen = old;
	int error = errno, r;

	if (second < FPROF_LOAD_RELAXED(&retry_second))
		return NULL;
	r = session_new(old, &made);
	errno = error;
	if (r < 0) {
		FPROF_STORE_RELAXED(&retry_second, second + RETRY_S);
		note(NOTE_ERROR, "cannot make the memory to record to", NULL, -r);
		return NULL;
	}
	if (!__atomic_compare_exchange_n(&current, &seen, made, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		session_free(made);
		errno = error;
		return seen;
	}
	if (old)
		session_disown(old);
	errno = error;
	session_gates(made);
	session_poll(made, false);
	FPROF_STORE_RELAXED(&made->breaks,
			    0u); /* whoever records from the first look on began so */
	return made;
}

struct session *session_peek(void)
{
	struct session *s = FPROF_LOAD_ACQUIRE(&current);

	return s && FPROF_LOAD_ACQUIRE(&s->alive) ? s : NULL;
}

struct session *session_get(void)
{
	struct session *s = FPROF_LOAD_ACQUIRE(&current);

	if (FPROF_LIKELY(s && FPROF_LOAD_ACQUIRE(&s->alive)))
		return s;
	return session_make(s);
}

void session_gate_writer(struct session *s, struct fprof_writer *w)
{
	uint32_t closed;

	do {
		closed = __atomic_load_n(&s->closed, __ATOMIC_SEQ_CST);
		__atomic_store_n(&w->closed, closed, __ATOMIC_SEQ_CST);
	} while (closed != __atomic_load_n(&s->closed, __ATOMIC_SEQ_CST));
}

/* What the gates follow from, to see whether it changed meanwhile. */
struct inputs {
	uint32_t recording, gate, paused, marked;
};

static struct inputs inputs_read(const struct session *s)
{
	struct inputs in;

	in.recording = __atomic_load_n(&s->link.recording, __ATOMIC_SEQ_CST);
	in.gate = __atomic_load_n(&s->link.gate, __ATOMIC_SEQ_CST);
	in.paused = __atomic_load_n(&s->paused, __ATOMIC_SEQ_CST);
	in.marked = __atomic_load_n(&s->marked, __ATOMIC_SEQ_CST);
	return in;
}

static void gates_apply(struct session *s, const struct inputs *in)
{
	bool on = in->recording && !in->paused;
	uint32_t closed = in->gate < FPROF_LEVELS ? FPROF_LEVELS - in->gate : 0;
	uint32_t i, used;

	/* Without marks nobody would look again whether a daemon came: the slow path has to. */
	if (!on)
		closed = in->marked ? FPROF_LEVELS : 0;
	if (on && !FPROF_LOAD_RELAXED(&s->recording))
		alloc_track_anew(&s->allocs);
	if (__atomic_exchange_n(&s->recording, (uint32_t)on, __ATOMIC_SEQ_CST) != (uint32_t)on)
		FPROF_ADD_RELAXED(&s->breaks, 1u);
	__atomic_store_n(&s->closed, closed, __ATOMIC_SEQ_CST);
	used = FPROF_LOAD_ACQUIRE(&s->head->slots_used);
	for (i = 0; i < used; i++) {
		FPROF_STORE_RELAXED(&s->writers[i].masks, 0u);
		session_gate_writer(s, &s->writers[i]);
	}
	session_gate_writer(s, thread_null_writer());
}

void session_gates(struct session *s)
{
	struct inputs in, now = inputs_read(s);

	do {
		in = now;
		gates_apply(s, &in);
		now = inputs_read(s);
	} while (now.recording != in.recording || now.gate != in.gate || now.paused != in.paused ||
		 now.marked != in.marked);
}

void session_poll(struct session *s, bool at_mark)
{
	bool boundary = at_mark || !FPROF_LOAD_RELAXED(&s->marked);
	int error = errno;
	bool changed;

	if (__atomic_exchange_n(&s->link.busy, 1u, __ATOMIC_ACQUIRE))
		return;
	changed = link_poll(s, now_ns(), boundary);
	if (changed)
		session_gates(s);
	FPROF_STORE_RELEASE(&s->link.busy, 0u);
	errno = error;
}

void fprof_recording(bool on)
{
	struct session *s = session_get();

	if (!s)
		return;
	__atomic_store_n(&s->paused, (uint32_t)!on, __ATOMIC_SEQ_CST);
	session_gates(s);
}

/* At the end of the process in order, or of the plugin that contains this library. */
__attribute__((destructor)) static void session_goodbye(void)
{
	struct session *s = session_peek();
	int tries;

	thread_key_drop();
	if (!s)
		return;
	FPROF_STORE_RELAXED(&s->link.bye, 1u);
	for (tries = 0; tries < 1000; tries++) {
		if (!__atomic_exchange_n(&s->link.busy, 1u, __ATOMIC_ACQUIRE)) {
			link_bye(s);
			FPROF_STORE_RELEASE(&s->link.busy, 0u);
			return;
		}
	}
}
