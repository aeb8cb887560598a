/* SPDX-License-Identifier: MIT */
/*
 * Memory: one run of 256 Ki records (16 MiB) while they are added, with as much again for half of a
 * sort; while they are read a window of 64 KiB a run. A file of 1 GB with events of 100 bytes makes
 * 40 runs (640 MiB on disk, 2.5 MiB of windows). Runs that are in order already, as most files
 * have them thread by thread, are only looked at.
 */
#include "import_sort.h"

#include <errno.h>
#include <string.h>

#define WINDOW_RECORDS 1024u
#define EXTRA_BUFFER   (64u * 1024u)

struct import_run {
	uint64_t from, to; /* records of the file that are still to be read */
	struct import_record *window;
	size_t at, count;
};

static int write_at(int fd, const void *data, size_t bytes, uint64_t at)
{
	const char *p = data;

	while (bytes > 0) {
		ssize_t n = pwrite(fd, p, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int read_all(int fd, void *data, size_t bytes, uint64_t at)
{
	char *p = data;

	while (bytes > 0) {
		ssize_t n = pread(fd, p, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

int import_sort_init(struct import_sort *s, const char *directory)
{
	memset(s, 0, sizeof(*s));
	s->directory = directory;
	s->fd = -1;
	s->records = malloc(IMPORT_RUN_RECORDS * sizeof(*s->records));
	return s->records ? 0 : -ENOMEM;
}

void import_sort_deinit(struct import_sort *s)
{
	size_t i;

	for (i = 0; i < s->runs.count; i++)
		free(s->runs.at[i].window);
	VEC_FREE(&s->runs);
	VEC_FREE(&s->heap);
	free(s->records);
	s->records = NULL;
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

static inline int compare(const struct import_record *a, const struct import_record *b)
{
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->ts != b->ts)
		return a->ts < b->ts ? -1 : 1;
	if (a->tie != b->tie)
		return a->tie < b->tie ? -1 : 1;
	return a->event < b->event ? -1 : a->event > b->event;
}

static int by_key(const void *a, const void *b)
{
	return compare(a, b);
}

static void sort_run(struct import_sort *s)
{
	size_t i;

	for (i = 1; i < s->count; i++)
		if (compare(&s->records[i - 1], &s->records[i]) > 0)
			break;
	if (i < s->count)
		qsort(s->records, s->count, sizeof(*s->records), by_key);
}

/* The run in memory goes to the file. */
static int spill(struct import_sort *s)
{
	struct import_run run = {.from = s->spilled, .to = s->spilled + s->count};
	int r;

	if (s->fd < 0)
		s->fd = util_temporary(s->directory);
	if (s->fd < 0)
		return s->fd;
	sort_run(s);
	r = write_at(s->fd, s->records, s->count * sizeof(*s->records),
		     s->spilled * sizeof(*s->records));
	if (r < 0)
		return r;
	if (VEC_PUSH(&s->runs, run) < 0)
		return -ENOMEM;
	s->spilled += s->count;
	s->count = 0;
	return 0;
}

int import_sort_add(struct import_sort *s, const struct import_record *record)
{
	int r = s->count == IMPORT_RUN_RECORDS ? spill(s) : 0;

	if (r == 0)
		s->records[s->count++] = *record;
	return r;
}

/* ---- Merging ------------------------------------------------------------------------------- */

static const struct import_record *head(const struct import_sort *s, uint32_t run)
{
	return &s->runs.at[run].window[s->runs.at[run].at];
}

static void sift_down(struct import_sort *s, size_t i)
{
	uint32_t *heap = s->heap.at, moved = heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= s->heap.count)
			break;
		if (child + 1 < s->heap.count &&
		    compare(head(s, heap[child + 1]), head(s, heap[child])) < 0)
			child++;
		if (compare(head(s, moved), head(s, heap[child])) <= 0)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Reads a run's next window. False in *ret_more: there is none. */
static int load(struct import_sort *s, struct import_run *run, bool *ret_more)
{
	size_t count = (size_t)MIN(run->to - run->from, (uint64_t)WINDOW_RECORDS);
	int r = read_all(s->fd, run->window, count * sizeof(*run->window),
			 run->from * sizeof(*run->window));

	run->at = 0;
	run->count = count;
	run->from += count;
	*ret_more = count > 0;
	return r;
}

static int start_runs(struct import_sort *s)
{
	uint64_t from = 0;
	bool more;
	size_t i;
	int r;

	s->heap.count = 0;
	for (i = 0; i < s->runs.count; i++) {
		struct import_run *run = &s->runs.at[i];

		run->from = from;
		from = run->to;
		if (!run->window)
			run->window = malloc(WINDOW_RECORDS * sizeof(*run->window));
		r = run->window ? load(s, run, &more) : -ENOMEM;
		if (r == 0 && more)
			r = VEC_PUSH(&s->heap, (uint32_t)i);
		if (r < 0)
			return r;
	}
	for (i = s->heap.count; i > 0; i--)
		sift_down(s, i - 1);
	return 0;
}

int import_sort_rewind(struct import_sort *s)
{
	int r;

	s->at = 0;
	if (s->runs.count == 0) {
		sort_run(s);
		return 0;
	}
	r = s->count > 0 ? spill(s) : 0;
	free(s->records);
	s->records = NULL;
	return r < 0 ? r : start_runs(s);
}

int import_sort_next(struct import_sort *s, const struct import_record **ret_record)
{
	struct import_run *run;
	bool more = true;
	int r = 0;

	if (s->runs.count == 0) {
		if (s->at == s->count)
			return 0;
		*ret_record = &s->records[s->at++];
		return 1;
	}
	/* s->at: the top of the heap was given away */
	if (s->at && s->heap.count > 0) {
		run = &s->runs.at[s->heap.at[0]];
		if (++run->at == run->count)
			r = load(s, run, &more);
		if (r < 0)
			return r;
		if (!more)
			s->heap.at[0] = s->heap.at[--s->heap.count];
		if (s->heap.count > 0)
			sift_down(s, 0);
	}
	s->at = 1;
	if (s->heap.count == 0)
		return 0;
	*ret_record = head(s, s->heap.at[0]);
	return 1;
}

/* ---- Extras -------------------------------------------------------------------------------- */

void import_extras_init(struct import_extras *x, const char *directory)
{
	memset(x, 0, sizeof(*x));
	x->directory = directory;
	x->fd = -1;
}

void import_extras_deinit(struct import_extras *x)
{
	free(x->tail);
	free(x->window);
	if (x->fd >= 0)
		close(x->fd);
	x->tail = x->window = NULL;
	x->fd = -1;
}

static int write_tail(struct import_extras *x)
{
	int r;

	if (x->fd < 0)
		x->fd = util_temporary(x->directory);
	if (x->fd < 0)
		return x->fd;
	r = write_at(x->fd, x->tail, x->tail_bytes, x->bytes);
	x->bytes += x->tail_bytes;
	x->tail_bytes = 0;
	return r;
}

int import_extras_put(struct import_extras *x, const void *data, size_t bytes, uint64_t *ret_extra)
{
	uint32_t count = (uint32_t)bytes;
	int r = 0;

	if (!x->tail)
		x->tail = malloc(EXTRA_BUFFER);
	if (!x->tail)
		return -ENOMEM;
	if (x->tail_bytes + sizeof(count) + bytes > EXTRA_BUFFER)
		r = write_tail(x);
	*ret_extra = x->bytes + x->tail_bytes + 1;
	memcpy(x->tail + x->tail_bytes, &count, sizeof(count));
	memcpy(x->tail + x->tail_bytes + sizeof(count), data, bytes);
	x->tail_bytes += sizeof(count) + bytes;
	return r;
}

/* Makes the window hold what is at `at`, with all that an extra can have. */
static int slide(struct import_extras *x, uint64_t at)
{
	size_t bytes = (size_t)MIN(x->bytes - at, (uint64_t)EXTRA_BUFFER);
	int r;

	if (!x->window)
		x->window = malloc(EXTRA_BUFFER);
	if (!x->window)
		return -ENOMEM;
	r = read_all(x->fd, x->window, bytes, at);
	x->window_at = at;
	x->window_bytes = r < 0 ? 0 : bytes;
	return r;
}

int import_extras_get(struct import_extras *x, uint64_t extra, const void **ret_data,
		      size_t *ret_bytes)
{
	uint64_t at = extra - 1, need = at + sizeof(uint32_t) + IMPORT_EXTRA_MAX;
	uint32_t count;
	int r = x->tail_bytes > 0 ? write_tail(x) : 0;

	if (r == 0 && (at < x->window_at || MIN(need, x->bytes) > x->window_at + x->window_bytes))
		r = slide(x, at);
	if (r < 0)
		return r;
	memcpy(&count, x->window + (at - x->window_at), sizeof(count));
	*ret_data = x->window + (at - x->window_at) + sizeof(count);
	*ret_bytes = count;
	return 0;
}
