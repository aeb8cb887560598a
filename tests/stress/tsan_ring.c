/* SPDX-License-Identifier: MIT */
/*
 * The ring and the marker table by real threads, built with ThreadSanitizer. One line a test; a
 * race that the sanitizer finds ends the program with its own exit status.
 */
#include <fprof.h>

#include "client/session.h"
#include "shm/reader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS	   FPROF_RING_WORDS_MIN
#define LAPS	   4000u
#define RACERS	   8u
#define RACE_ZONES 200

static int failures;

static void verdict(bool ok, const char *name)
{
	printf("%s %s\n", ok ? "ok" : "not ok", name);
	failures += !ok;
}

/* ---- one writer laps one reader ---- */

static struct fprof_slot slot;
static uint64_t ring[WORDS];
static uint32_t writer_done;

/* Every event's time is its own number, so the reader knows what it must find. */
static void *write_laps(void *unused)
{
	struct fprof_writer w = {.ring = ring, .mask = WORDS - 1, .slot = &slot};
	uint64_t event = 0;

	(void)unused;
	while (FPROF_LOAD_RELAXED(&slot.head) < (uint64_t)WORDS * LAPS) {
		uint64_t two[2] = {FPROF_EXT_TOP(FPROF_EXT_TEXT, 2) | event, ~event};

		if (event % 3 == 0)
			fprof_writer_put(&w, two, 2, event);
		else
			fprof_writer_put(&w,
					 &(uint64_t){FPROF_WORD_TOP(FPROF_WORD_BEGIN, 1) | event},
					 1, event);
		event++;
	}
	FPROF_STORE_RELEASE(&writer_done, 1u);
	return NULL;
}

struct reading {
	uint64_t next; /* event number expected */
	uint64_t received, lost, laps, torn;
};

/* One whole event at words: is it the one that comes next? */
static void read_event(struct reading *r, const uint64_t *words, uint32_t count)
{
	if (fprof_word_time(words[0]) != r->next || (count == 2 && words[1] != ~r->next))
		r->torn++;
	r->next++;
	r->received++;
}

static void read_words(struct reading *r, const uint64_t *words, size_t count)
{
	size_t i;

	for (i = 0; i < count;) {
		uint32_t length = 1;

		if (fprof_word_kind(words[i]) == FPROF_WORD_EXT)
			length = fprof_word_ext_words(words[i]);
		if (length == 0 || i + length > count) {
			r->torn++;
			return;
		}
		if (fprof_word_kind(words[i]) == FPROF_WORD_EXT &&
		    fprof_word_ext_kind(words[i]) == FPROF_EXT_HEADER) {
			/* What the header says was written, and was not read, is lost. */
			if (words[i + 3] < r->next)
				r->torn++;
			r->lost += words[i + 3] - r->next;
			r->next = words[i + 3];
		} else if (fprof_word_kind(words[i]) != FPROF_WORD_PAD) {
			read_event(r, words + i, length);
		}
		i += length;
	}
}

/* Reads until the writer is done and all is read. */
static void read_laps(struct reading *r)
{
	struct ring_reader reader = {.words = ring, .head = &slot.head, .mask = WORDS - 1};
	static uint64_t buf[WORDS];

	for (;;) {
		bool done = FPROF_LOAD_ACQUIRE(&writer_done);
		uint64_t pos;
		size_t count = 0;
		enum ring_status status = ring_reader_copy(&reader, buf, WORDS, &pos, &count);

		if (status == RING_BACKWARDS)
			r->torn++;
		r->laps += status == RING_LAPPED;
		read_words(r, buf, count);
		reader.tail = pos + count;
		if (done && count == 0)
			return;
	}
}

static uint64_t events_written(void)
{
	/* The last block's header, and what follows it. */
	uint64_t head = slot.head;
	uint64_t pos = (head - 1) / FPROF_BLOCK_WORDS * FPROF_BLOCK_WORDS;
	uint64_t events = ring[(pos + 3) & (WORDS - 1)];

	for (pos += FPROF_HEADER_WORDS; pos < head; events++)
		pos += fprof_word_kind(ring[pos & (WORDS - 1)]) == FPROF_WORD_EXT ? 2 : 1;
	return events;
}

static void test_lapping(void)
{
	struct reading r = {0};
	pthread_t writer;

	if (pthread_create(&writer, NULL, write_laps, NULL))
		abort();
	read_laps(&r);
	pthread_join(writer, NULL);
	printf("# %" PRIu64 " received, %" PRIu64 " lost in %" PRIu64 " laps\n", r.received, r.lost,
	       r.laps);
	verdict(r.torn == 0, "a reader that is lapped sees no torn word");
	verdict(r.received + r.lost == events_written(),
		"received and lost add up to what was written");
}

/* ---- a marker is used first by many threads at once ---- */

static pthread_barrier_t start;

static void *race(void *unused)
{
	int i;

	(void)unused;
	pthread_barrier_wait(&start);
	for (i = 0; i < RACE_ZONES; i++) {
		char name[32];

		FPROF_ZONE("raced");
		snprintf(name, sizeof(name), "dynamic %d", i % 10);
		FPROF_ZONE_DYNAMIC(name);
	}
	return NULL;
}

/* Every zone that a thread began has the one id of its name, and each ring is well formed. */
static unsigned ids_of(const struct memory_view *view, const char *name)
{
	static struct marker_copy copy;
	unsigned found = 0;
	uint32_t id;

	/* An id that was claimed by a thread that came second may lie unused. */
	for (id = 1; id <= view->head.marker_capacity; id++)
		if (memory_marker(view, id, &copy) == 0)
			found += !strcmp(copy.name, name);
	return found;
}

static void test_race(void)
{
	pthread_t threads[RACERS];
	struct memory_view view;
	struct session *s;
	unsigned i;

	pthread_barrier_init(&start, NULL, RACERS);
	for (i = 0; i < RACERS; i++)
		if (pthread_create(&threads[i], NULL, race, NULL))
			abort();
	for (i = 0; i < RACERS; i++)
		pthread_join(threads[i], NULL);
	s = session_peek();
	if (!s || memory_view_init(s->memory, s->kin.bytes, &view, NULL) < 0) {
		verdict(false, "8 threads record");
		return;
	}
	verdict(memory_slots_used(&view) >= 1, "8 threads record");
	verdict(ids_of(&view, "raced") == 1, "a marker raced by 8 threads has one id");
	verdict(ids_of(&view, "dynamic 7") == 1, "a dynamic name raced by 8 threads has one id");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Records at once, with no daemon. */
	setenv("FPROF_RUN", "1", 1);
	setenv("FPROF_SOCKET", "/nonexistent/fprofd.sock", 1);
	test_lapping();
	test_race();
	return failures > 0;
}
