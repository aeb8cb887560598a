// SPDX-License-Identifier: MIT
/*
 * A memfd is laid out once, sealed, and mapped for good. It is sparse: what no thread uses costs
 * address space only. It stays out of core dumps and does not survive an exec.
 *
 * Larger rings are fewer: a daemon takes memories of 1024 MiB as it comes.
 *
 * A process may be short of address space, or of the size of files that it may make; going past
 * the latter would even kill it (SIGXFSZ). Both are met by fewer rings.
 */
#include "memory.h"

#include "fprof/atomic.h"
#include "fprof/clock_source.h"
#include "fprof/make.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE	  4096u
#define SLOTS_MIN 4u
/* All rings of a memory, so that it fits into what a daemon takes by default, 1024 MiB. */
#define RINGS_BYTES_MAX (UINT64_C(960) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* splitmix64's mixer */
static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static uint64_t image_id(void)
{
	unsigned long at = getauxval(AT_RANDOM);
	uint64_t words[2] = {0, 0};

	if (at)
		memcpy(words, (const void *)at, sizeof(words));
	return mix(words[0] ^ mix(words[1]));
}

static uint64_t memory_id(uint64_t ticks)
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id = mix(ticks ^ mix((uint64_t)getpid()));
	return id;
}

static void layout(struct fprof_memory_header *h, uint32_t slots, uint32_t ring_words)
{
	memset(h, 0, sizeof(*h));
	h->slot_count = slots;
	h->marker_capacity = FPROF_MARKERS_DEFAULT;
	h->strings_bytes = FPROF_STRINGS_DEFAULT;
	h->ring_words = ring_words;
	fprof_memory_lay_out(h);
}

static uint32_t slots_most(uint32_t ring_words)
{
	uint64_t room = RINGS_BYTES_MAX / (ring_words * sizeof(uint64_t));

	return room < FPROF_SLOTS_DEFAULT ? (uint32_t)room : FPROF_SLOTS_DEFAULT;
}

static void identify(struct fprof_memory_header *h, enum fprof_clock_kind clock,
		     enum fprof_origin origin)
{
	struct timespec utc;

	clock_gettime(CLOCK_REALTIME, &utc);
	h->clock_kind = clock;
	h->origin = origin;
	h->start_ticks = fprof_clock_read(clock);
	h->start_utc_ns = (uint64_t)utc.tv_sec * 1000000000u + (uint64_t)utc.tv_nsec;
	h->pid = getpid();
	h->memory_id = memory_id(h->start_ticks);
	h->image_id = image_id();
}

/* May a file have that many bytes? */
static bool file_allowed(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	       bytes <= limit.rlim_cur;
}

static int map_memfd(int fd, uint64_t bytes, void **ret_base)
{
	void *base;

	if (!file_allowed(bytes))
		return -EFBIG;
	if (ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	*ret_base = base;
	return 0;
}

int memory_new(uint32_t ring_words, enum fprof_clock_kind clock, enum fprof_origin origin,
	       struct memory *ret_memory)
{
	struct fprof_memory_header h;
	struct memory m = {.memfd = OWNED_FD_NONE};
	uint32_t slots = slots_most(ring_words);
	int fd, r;

	fd = memfd_create("fprof", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	do {
		layout(&h, slots, ring_words);
		r = map_memfd(fd, h.total_bytes, &m.base);
		slots /= 2;
	} while (r < 0 && slots >= SLOTS_MIN);
	if (r < 0)
		goto fail;
	m.bytes = h.total_bytes;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
		r = -errno;
		goto fail;
	}
	r = owned_fd_set(&m.memfd, fd);
	if (r < 0)
		goto fail;
	madvise(m.base, m.bytes, MADV_DONTDUMP);
	identify(&h, clock, origin);
	memcpy(m.base, &h, sizeof(h));
	*ret_memory = m;
	return 0;
fail:
	if (m.base)
		munmap(m.base, h.total_bytes);
	close(fd);
	return r;
}

void memory_free(struct memory *memory)
{
	munmap(memory->base, memory->bytes);
	owned_fd_close(&memory->memfd);
}

void memory_populate(void *start, uint64_t bytes)
{
	uint64_t at;

	if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
		return;
	for (at = 0; at < bytes; at += PAGE)
		FPROF_ADD_RELAXED((uint64_t *)((uint8_t *)start + at), UINT64_C(0));
}

void memory_touch(const void *start, uint64_t bytes)
{
	uint64_t at;

	for (at = 0; at < bytes; at += PAGE)
		(void)FPROF_LOAD_RELAXED((const uint64_t *)((const uint8_t *)start + at));
}
