/* SPDX-License-Identifier: MIT */
/* A small session memory as a client would make it, for tests that then break it. */
#ifndef FPROF_TESTS_FAKE_MEMORY_H
#define FPROF_TESTS_FAKE_MEMORY_H

#include "shm/clock_source.h"
#include "shm/layout.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FAKE_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct fake_memory {
	int fd;
	struct fprof_memory_header *head; /* mapped read-write */
	uint64_t bytes;
};

/* The header of a sound memory with 2 slots. Its size is head->total_bytes. */
static inline struct fprof_memory_header fake_header(uint64_t memory_id, uint64_t image_id)
{
	struct fprof_memory_header h = {
		.magic = FPROF_MEMORY_MAGIC,
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.header_bytes = sizeof(h),
		.slot_count = 2,
		.slot_bytes = sizeof(struct fprof_slot),
		.slots_offset = sizeof(h),
		.marker_capacity = 16,
		.marker_bytes = sizeof(struct fprof_marker_entry),
		.strings_bytes = 1024,
		.ring_words = FPROF_RING_WORDS_MIN,
		.clock_kind = fprof_clock_choose(),
		.origin = FPROF_ORIGIN_GAME,
		.pid = getpid(),
		.memory_id = memory_id,
		.image_id = image_id,
	};
	struct timespec utc;

	h.markers_offset = h.slots_offset + h.slot_count * h.slot_bytes;
	h.strings_offset = h.markers_offset + h.marker_capacity * h.marker_bytes;
	h.rings_offset = (h.strings_offset + h.strings_bytes + 4095) & ~UINT64_C(4095);
	h.total_bytes = h.rings_offset + h.slot_count * h.ring_words * UINT64_C(8);
	h.start_ticks = fprof_clock_read(fprof_clock_choose());
	clock_gettime(CLOCK_REALTIME, &utc);
	h.start_utc_ns = (uint64_t)utc.tv_sec * 1000000000u + (uint64_t)utc.tv_nsec;
	return h;
}

/* A memfd of bytes with this header and these seals. 0, or -1. */
static inline int fake_memory_make(struct fake_memory *m, const struct fprof_memory_header *head,
				   uint64_t bytes, int seals)
{
	m->bytes = bytes;
	m->head = NULL;
	m->fd = memfd_create("fprof-fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0 || ftruncate(m->fd, (off_t)bytes) < 0)
		return -1;
	if (pwrite(m->fd, head, sizeof(*head) < bytes ? sizeof(*head) : bytes, 0) < 0)
		return -1;
	if (bytes >= sizeof(*head)) {
		m->head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
		if (m->head == MAP_FAILED)
			return -1;
	}
	return seals ? fcntl(m->fd, F_ADD_SEALS, seals) : 0;
}

static inline int fake_memory_init(struct fake_memory *m, uint64_t memory_id, uint64_t image_id)
{
	struct fprof_memory_header head = fake_header(memory_id, image_id);

	return fake_memory_make(m, &head, head.total_bytes, FAKE_SEALS);
}

static inline void fake_memory_deinit(struct fake_memory *m)
{
	if (m->head)
		munmap(m->head, m->bytes);
	close(m->fd);
}

#endif
