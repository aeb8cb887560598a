// SPDX-License-Identifier: MIT
/* Threads, slots, interning by many, and signal handlers that record. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client_child.h"
#include "client_ring.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

static char text[65536];

static void thread_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	CHECK_EQUAL(pthread_create(thread, NULL, fn, arg), 0);
}

/* ---- tid reuse ---- */

/* The sanitizer takes a millisecond to make a thread. */
#ifdef __SANITIZE_ADDRESS__
enum { REUSE_THREADS = 64, REUSE_ROUNDS = 50 };
#else
enum { REUSE_THREADS = 64, REUSE_ROUNDS = 1000 };
#endif

static void *one_zone(void *unused)
{
	FPROF_ZONE("short life");
	return unused;
}

/* What the THREAD word of the calling thread says: it is where its slot says that it is. */
static uint32_t serial_in_ring(void)
{
	const struct session *s = session_peek();
	const struct fprof_writer *w = fprof_tls.writer;
	const uint64_t *at = &w->ring[w->slot->begin_pos & w->mask];

	CHECK_EQUAL(fprof_word_ext_kind(at[0]), FPROF_EXT_THREAD);
	CHECK_EQUAL((int32_t)at[1], syscall(SYS_gettid));
	CHECK_EQUAL(w->slot->state, FPROF_SLOT_LIVE);
	CHECK_EQUAL(w->slot->tid, syscall(SYS_gettid));
	CHECK_EQUAL(w->slot->serial, at[1] >> 32);
	CHECK_EQUAL(FPROF_LOAD_RELAXED(&s->claimed[w->index]), 1);
	return (uint32_t)(at[1] >> 32);
}

static void *short_life(void *serial)
{
	FPROF_ZONE("short life");
	*(uint32_t *)serial = serial_in_ring();
	return NULL;
}

static void *many_lives(void *serials)
{
	int round;

	for (round = 0; round < REUSE_ROUNDS; round++) {
		pthread_t thread;

		thread_start(&thread, short_life, (uint32_t *)serials + round);
		pthread_join(thread, NULL);
	}
	return NULL;
}

static int compare_serials(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Every thread has a serial of its own, slots are used again, each life begins in its ring. */
static void tid_reuse_by_64_threads(void)
{
	static uint32_t serials[REUSE_THREADS * REUSE_ROUNDS];
	pthread_t threads[REUSE_THREADS];
	struct memory_view view;
	struct slot_owner owner;
	size_t i;
	uint32_t slot;

	setenv("FPROF_RING_KIB", "64", 1);
	for (i = 0; i < REUSE_THREADS; i++)
		thread_start(&threads[i], many_lives, serials + i * REUSE_ROUNDS);
	for (i = 0; i < REUSE_THREADS; i++)
		pthread_join(threads[i], NULL);
	view = own_view();
	CHECK(memory_slots_used(&view) <= REUSE_THREADS);
	for (slot = 0; slot < memory_slots_used(&view); slot++) {
		CHECK_EQUAL(memory_slot_owner(&view, slot, &owner), 0);
		CHECK_EQUAL(owner.state, FPROF_SLOT_DEAD);
	}
	qsort(serials, REUSE_THREADS * REUSE_ROUNDS, sizeof(*serials), compare_serials);
	for (i = 0; i < REUSE_THREADS * REUSE_ROUNDS; i++)
		CHECK_EQUAL(serials[i], i + 1);
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_THREADS), 0);
}
CHILD_TEST(tid_reuse_by_64_threads)

/* ---- markers ---- */

enum { RACERS = 8, RACES = 2000 };
static pthread_barrier_t barrier;
static uint32_t raced_ids[RACERS][RACES];

static void *racer(void *arg)
{
	uint32_t *ids = arg;
	int i;

	for (i = 0; i < RACES; i++) {
		struct fprof_marker m = FPROF_MARKER_INIT("raced", NULL, 0, FPROF_MARKER_ZONE,
							  FPROF_LEVEL_PHASE, 0);
		fprof_scope scope;

		m.line = (uint32_t)i;
		pthread_barrier_wait(&barrier);
		scope = fprof_zone_begin(&m);
		fprof_zone_end(scope);
		ids[i] = fprof_word_id(scope);
	}
	return NULL;
}

static void marker_raced_by_8_threads_has_one_id(void)
{
	pthread_t threads[RACERS];
	struct memory_view view;
	struct marker_copy copy;
	int i, k;

	pthread_barrier_init(&barrier, NULL, RACERS);
	for (k = 0; k < RACERS; k++)
		thread_start(&threads[k], racer, raced_ids[k]);
	for (k = 0; k < RACERS; k++)
		pthread_join(threads[k], NULL);
	view = own_view();
	for (i = 0; i < RACES; i++) {
		CHECK(raced_ids[0][i] != 0);
		for (k = 1; k < RACERS; k++)
			CHECK_EQUAL(raced_ids[k][i], raced_ids[0][i]);
		CHECK_EQUAL(memory_marker(&view, raced_ids[0][i], &copy), 0);
		CHECK_EQUAL(copy.line, i);
	}
	/* ready entries are those that were used, no others */
	for (i = 1, k = 0; i <= (int)session_peek()->head->markers_used; i++)
		k += memory_marker(&view, (uint32_t)i, &copy) == 0;
	CHECK_EQUAL(k, RACES);
}
CHILD_TEST(marker_raced_by_8_threads_has_one_id)

/* 100,000 names: some are recorded, all others counted, the table is not filled by them. */
static void distinct_names_100000(void)
{
	enum { NAMES = 100000 };
	struct memory_view view;
	uint64_t refusals;
	char name[32];
	int i, begun = 0;

	for (i = 0; i < NAMES; i++) {
		fprof_scope scope;

		FPROF_ZONE_MARKER(site, NULL, NULL, 0, FPROF_LEVEL_PHASE);
		snprintf(name, sizeof(name), "name %d", i);
		scope = fprof_zone_begin_dynamic(&site, name);
		begun += scope != 0;
		fprof_zone_end(scope);
	}
	view = own_view();
	refusals = memory_refused(&view, FPROF_REFUSED_NAMES) +
		   memory_refused(&view, FPROF_REFUSED_MARKERS);
	CHECK(begun >= 8192);
	CHECK_EQUAL((uint64_t)begun + refusals, NAMES);
	CHECK_EQUAL(session_peek()->head->markers_used, begun);
}
CHILD_TEST(distinct_names_100000)

static void full_marker_table_is_counted(void)
{
	enum { MORE = FPROF_MARKERS_DEFAULT + 1000 };
	struct memory_view view;
	int i, begun = 0;

	for (i = 0; i < MORE; i++) {
		struct fprof_marker m =
			FPROF_MARKER_INIT("m", NULL, 0, FPROF_MARKER_ZONE, FPROF_LEVEL_PHASE, 0);
		fprof_scope scope;

		m.line = (uint32_t)i;
		scope = fprof_zone_begin(&m);
		begun += scope != 0;
		fprof_zone_end(scope);
	}
	view = own_view();
	CHECK_EQUAL(begun, FPROF_MARKERS_DEFAULT);
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_MARKERS), 1000);
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
}
CHILD_TEST(full_marker_table_is_counted)

/* ---- more threads than slots ---- */

enum { CROWD = FPROF_SLOTS_DEFAULT + 40 };
static pthread_barrier_t crowd_here, crowd_go;

static void *crowd_member(void *unused)
{
	{
		FPROF_ZONE("member");
	}
	pthread_barrier_wait(&crowd_here);
	pthread_barrier_wait(&crowd_go);
	return unused;
}

static void more_threads_than_slots(void)
{
	static pthread_t threads[CROWD];
	pthread_attr_t small;
	struct memory_view view;
	int i;

	setenv("FPROF_RING_KIB", "16", 1);
	pthread_barrier_init(&crowd_here, NULL, CROWD + 1);
	pthread_barrier_init(&crowd_go, NULL, CROWD + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (i = 0; i < CROWD; i++)
		CHECK_EQUAL(pthread_create(&threads[i], &small, crowd_member, NULL), 0);
	pthread_barrier_wait(&crowd_here);
	view = own_view();
	CHECK_EQUAL(memory_slots_used(&view), FPROF_SLOTS_DEFAULT);
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_THREADS), CROWD - FPROF_SLOTS_DEFAULT);
	/* a begin each; its end is none, since it was not begun */
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_EVENTS), CROWD - FPROF_SLOTS_DEFAULT);
	pthread_barrier_wait(&crowd_go);
	for (i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	{
		FPROF_ZONE("there is room again");
		CHECK_EQUAL(fprof_tls.writer->mode, WRITER_INLINE);
	}
}
CHILD_TEST(more_threads_than_slots)

/* ---- ends of threads ---- */

static void *killed_in_a_zone(void *tid)
{
	FPROF_ZONE("open at death");
	FPROF_STORE_RELEASE((uint32_t *)tid, (uint32_t)syscall(SYS_gettid));
	syscall(SYS_exit, 0);
	return NULL;
}

/* No destructor ran: the slot stays as it was, to be read, and is taken back when slots run out. */
static void killed_thread_leaves_its_zone_open(void)
{
	static uint32_t tid;
	pthread_t thread;
	struct session *s;
	struct memory_view view;
	struct slot_owner owner;
	uint32_t i;

	thread_start(&thread, killed_in_a_zone, &tid);
	while (!FPROF_LOAD_ACQUIRE(&tid))
		usleep(100);
	while (syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) == 0)
		usleep(100);
	view = own_view();
	ring_text(&view, 0, text, sizeof(text));
	CHECK_TEXT(text, "open at death(");
	CHECK_EQUAL(memory_slot_owner(&view, 0, &owner), 0);
	CHECK_EQUAL(owner.state, FPROF_SLOT_LIVE);
	s = session_peek();
	for (i = 1; i < FPROF_SLOTS_DEFAULT; i++)
		s->claimed[i] = 1;
	{
		FPROF_ZONE("after");
		CHECK_EQUAL(own_slot(), 0);
	}
	ring_text(&view, 0, text, sizeof(text));
	CHECK_TEXT(text, "open at death(after(after)");
}
CHILD_TEST(killed_thread_leaves_its_zone_open)

static pthread_key_t late_key;

static void late_destructor(void *unused)
{
	(void)unused;
	FPROF_ZONE("late");
	fprof_message("from a destructor");
}

static void *ends_with_destructors(void *unused)
{
	FPROF_ZONE_MARKER(open, "open at exit", NULL, 0, FPROF_LEVEL_PHASE);

	(void)fprof_zone_begin(&open);
	pthread_setspecific(late_key, &late_key);
	return unused;
}

static void recording_in_destructors_after_the_end(void)
{
	struct memory_view view;
	struct slot_owner owner;
	pthread_t thread;

	/* ours runs before theirs: its key is older */
	thread_start(&thread, one_zone, NULL);
	pthread_join(thread, NULL);
	CHECK_EQUAL(pthread_key_create(&late_key, late_destructor), 0);
	thread_start(&thread, ends_with_destructors, NULL);
	pthread_join(thread, NULL);
	view = own_view();
	ring_text(&view, 0, text, sizeof(text));
	CHECK_TEXT(text, "short life(short life)#open at exit(#late(#late)#");
	CHECK_EQUAL(memory_slot_owner(&view, 0, &owner), 0);
	CHECK_EQUAL(owner.state, FPROF_SLOT_DEAD);
	CHECK_EQUAL(memory_slots_used(&view), 1);
}
CHILD_TEST(recording_in_destructors_after_the_end)

static void *named(void *name)
{
	fprof_thread_name(name);
	return NULL;
}

static void names_of_threads(void)
{
	static char longest[200];
	struct memory_view view;
	struct slot_owner owner;
	pthread_t thread;

	memset(longest, 'n', sizeof(longest) - 1);
	thread_start(&thread, named, "a name of more than fifteen bytes");
	pthread_join(thread, NULL);
	view = own_view();
	CHECK_EQUAL(memory_slot_owner(&view, 0, &owner), 0);
	CHECK_TEXT(owner.name, "a name of more than fifteen bytes");
	CHECK(owner.named);
	thread_start(&thread, named, longest);
	pthread_join(thread, NULL);
	CHECK_EQUAL(memory_slot_owner(&view, 0, &owner), 0);
	CHECK_EQUAL(strlen(owner.name), FPROF_THREAD_NAME_MAX);
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_TRUNCATED), 1);
	thread_start(&thread, one_zone, NULL); /* the slot's next owner has the kernel's name */
	pthread_join(thread, NULL);
	CHECK_EQUAL(memory_slot_owner(&view, 0, &owner), 0);
	CHECK(!owner.named);
}
CHILD_TEST(names_of_threads)

/* ---- signal handlers ---- */

static volatile uint64_t handled;

static void handler(int signal_number)
{
	FPROF_ZONE("handler");
	FPROF_INSTANT("handler.instant");
	(void)signal_number;
	handled++;
}

/*
 * A handler that records, every 50 us or so, inside a loop that does nothing but record: every
 * event of it is recorded or counted, and the interrupted thread's own are whole.
 */
static void recording_signal_handler(void)
{
	struct sigaction action = {.sa_handler = handler};
	struct itimerspec often = {{0, 50000}, {0, 50000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct memory_view view;
	struct ring_events e;
	uint64_t begins = 0, ends = 0, instants = 0, own = 0, i;
	timer_t timer;

	setenv("FPROF_RING_KIB", "65536", 1);
	sigaction(SIGUSR1, &action, NULL);
	CHECK_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_EQUAL(timer_settime(timer, 0, &often, NULL), 0);
	for (own = 0; own < 1000000 || handled < 1000; own++) {
		FPROF_ZONE("interrupted");
		if (own >= 3000000)
			break;
	}
	timer_delete(timer);
	view = own_view();
	CHECK(memory_slot_head(&view, own_slot()) < view.head.ring_words);
	e = ring_events_read(&view, own_slot());
	for (i = 0; i < e.count; i++) {
		begins += event_kind(&e, i) == FPROF_WORD_BEGIN;
		ends += event_kind(&e, i) == FPROF_WORD_END;
		instants += event_kind(&e, i) == FPROF_WORD_INSTANT;
	}
	CHECK(handled >= 1000);
	/* a handler's zone and instant, each recorded or counted */
	CHECK_EQUAL(begins, ends);
	CHECK_EQUAL(fprof_tls.writer->depth, 0);
	CHECK_EQUAL(begins + instants + memory_slot_dropped(&view, own_slot()),
		    own + (own >= 3000000) + 2 * handled);
}
CHILD_TEST(recording_signal_handler)

/* The very first event of the process comes from a handler. */
static void first_event_in_a_signal_handler(void)
{
	struct memory_view view;

	signal(SIGUSR2, handler);
	raise(SIGUSR2);
	view = own_view();
	ring_text(&view, own_slot(), text, sizeof(text));
	CHECK_TEXT(text, "handler(handler.instant!handler)");
}
CHILD_TEST(first_event_in_a_signal_handler)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(tid_reuse_by_64_threads),
		CHILD_UNIT(marker_raced_by_8_threads_has_one_id),
		CHILD_UNIT(distinct_names_100000),
		CHILD_UNIT(full_marker_table_is_counted),
		CHILD_UNIT(more_threads_than_slots),
		CHILD_UNIT(killed_thread_leaves_its_zone_open),
		CHILD_UNIT(recording_in_destructors_after_the_end),
		CHILD_UNIT(names_of_threads),
		CHILD_UNIT(recording_signal_handler),
		CHILD_UNIT(first_event_in_a_signal_handler),
	};

	record_alone();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
