// SPDX-License-Identifier: MIT
/*
 * A memfd is laid out once, sealed, and mapped for good. It is sparse: what no thread uses costs
 * address space only. It stays out of core dumps and does not survive an exec.
 *
 * Larger rings are fewer: a daemon takes memories of 1024 MiB as it comes.
 *
 * Rings begin at a multiple of HUGE, in the file and in the address space, so that the kernel can
 * give huge pages to them. A ring of 1 MiB takes a fault for every 4 KiB else, when it is
 * populated, and once more under a hypervisor that shadows page tables: measured 0.6 ms and then 5
 * us and more a page, where a huge page of 2 MiB is there in 0.25 ms and costs nothing afterwards.
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
#define HUGE	  FPROF_RINGS_ALIGN
#define SLOTS_MIN 4u
/* Of smaller rings a huge page would have many that nobody uses. */
#define RINGS_A_PAGE_MAX 4u
/* All rings of a memory, so that it fits into what a daemon takes by default, 1024 MiB. */
#define RINGS_BYTES_MAX (UINT64_C(960) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
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

/* Address space for bytes, a multiple of the page's, that begins at a multiple of HUGE. */
static int reserve(uint64_t bytes, uint8_t **ret_base)
{
	uint8_t *base = mmap(NULL, bytes + HUGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t before;

	if (base == MAP_FAILED)
		return -errno;
	before = -(uintptr_t)base % HUGE;
	if (before > 0)
		munmap(base, before);
	munmap(base + before + bytes, HUGE - before);
	*ret_base = base + before;
	return 0;
}

static int map_memfd(int fd, uint64_t bytes, void **ret_base)
{
	uint8_t *base = NULL;
	int r;

	if (!file_allowed(bytes))
		return -EFBIG;
	if (ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	r = reserve(bytes, &base);
	if (r < 0)
		return r;
	if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd,
		 0) == MAP_FAILED) {
		r = -errno;
		munmap(base, bytes);
		return r;
	}
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

/* The huge pages that the ring lies in. False: there are none. */
static bool collapse(const struct fprof_memory_header *h, uint64_t at, uint64_t bytes)
{
	uint64_t begin = at / HUGE * HUGE, end = (at + bytes + HUGE - 1) / HUGE * HUGE;
	uint8_t *base = (uint8_t *)(uintptr_t)h;

	if (bytes * RINGS_A_PAGE_MAX < HUGE || end > h->total_bytes ||
	    madvise(base + begin, end - begin, MADV_COLLAPSE) < 0)
		return false;
	for (at = begin; at < end; at += HUGE)
		(void)FPROF_LOAD_RELAXED((const uint64_t *)(base + at));
	return true;
}

uint32_t memory_populate(const struct fprof_memory_header *h, uint32_t i, uint32_t *ret_first)
{
	uint64_t bytes = (uint64_t)h->ring_words * sizeof(uint64_t), at;
	uint8_t *ring = (uint8_t *)(uintptr_t)h + h->rings_offset + i * bytes;

	*ret_first = i;
	if (collapse(h, h->rings_offset + i * bytes, bytes)) {
		*ret_first = bytes < HUGE ? i - i % (uint32_t)(HUGE / bytes) : i;
		return bytes < HUGE ? (uint32_t)(HUGE / bytes) : 1;
	}
	if (madvise(ring, bytes, MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
		return 1;
	for (at = 0; at < bytes; at += PAGE)
		FPROF_ADD_RELAXED((uint64_t *)(ring + at), UINT64_C(0));
	return 1;
}
