/* SPDX-License-Identifier: MIT */
/*
 * The kernel writes records of a length word, a word of its own, and data, in steps of 8 bytes. A
 * record whose busy bit is set is being written: nothing behind it is read yet. The memory is the
 * kernel's and no stranger's, but a record that is not ours in size is skipped all the same.
 */
#include "probe_ring.h"

#include "shm/atomic.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BUSY	     (1u << 31)
#define DISCARDED    (1u << 30)
#define HEADER_BYTES 8u

static void *map(int fd, size_t bytes, int protection, off_t offset)
{
	void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd, offset);

	return p == MAP_FAILED ? NULL : p;
}

int probe_ring_map(int events_fd, int counts_fd, size_t bytes, struct probe_ring *ret_ring)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct probe_ring r = {.bytes = bytes};
	int error;

	r.consumer = map(events_fd, page, PROT_READ | PROT_WRITE, 0);
	if (r.consumer)
		r.producer = map(events_fd, page + 2 * bytes, PROT_READ, (off_t)page);
	if (r.producer)
		r.counts = map(counts_fd, page, PROT_READ, 0);
	if (!r.counts) {
		error = errno;
		probe_ring_unmap(&r);
		return -error;
	}
	*ret_ring = r;
	return 0;
}

void probe_ring_unmap(struct probe_ring *ring)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (ring->consumer)
		munmap(ring->consumer, page);
	if (ring->producer)
		munmap((void *)ring->producer, page + 2 * ring->bytes);
	if (ring->counts)
		munmap((void *)ring->counts, page);
	*ring = (struct probe_ring){0};
}

/* The data of the record at *at, which moves on, and its bytes (0 of one that was discarded); NULL:
 * nothing more is to be read. */
static const uint8_t *next(const struct probe_ring *ring, uint64_t *at, uint64_t end,
			   uint32_t *ret_bytes)
{
	const uint8_t *record = ring->producer + sysconf(_SC_PAGESIZE) + (*at & (ring->bytes - 1));
	uint32_t head, bytes;

	if (*at >= end)
		return NULL;
	head = FPROF_LOAD_ACQUIRE((const uint32_t *)record);
	if (head & BUSY)
		return NULL;
	bytes = head & ~(BUSY | DISCARDED);
	*at += (bytes + HEADER_BYTES + 7) & ~7u;
	*ret_bytes = head & DISCARDED ? 0 : bytes;
	return record + HEADER_BYTES;
}

size_t probe_ring_read(struct probe_ring *ring, struct probe_event *events, size_t max)
{
	uint64_t at = FPROF_LOAD_RELAXED(ring->consumer);
	uint64_t end = FPROF_LOAD_ACQUIRE((const uint64_t *)ring->producer);
	const uint8_t *record;
	uint32_t bytes;
	size_t n = 0;

	while (n < max && (record = next(ring, &at, end, &bytes)))
		if (bytes == sizeof(*events))
			memcpy(&events[n++], record, sizeof(*events));
	FPROF_STORE_RELEASE(ring->consumer, at);
	return n;
}

size_t probe_ring_take(struct probe_ring *ring, void *record, size_t size)
{
	uint64_t at = FPROF_LOAD_RELAXED(ring->consumer);
	uint64_t end = FPROF_LOAD_ACQUIRE((const uint64_t *)ring->producer);
	const uint8_t *data;
	uint32_t bytes = 0;

	do {
		data = next(ring, &at, end, &bytes);
	} while (data && (bytes == 0 || bytes > size));
	if (data)
		memcpy(record, data, bytes);
	FPROF_STORE_RELEASE(ring->consumer, at);
	return data ? bytes : 0;
}

uint64_t probe_ring_lost(const struct probe_ring *ring)
{
	return FPROF_LOAD_RELAXED(&ring->counts->lost);
}
