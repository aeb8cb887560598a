// SPDX-License-Identifier: MIT
/*
 * Mapping what a client sent, and making what it gets.
 *
 * Everything that could make a later read fault is excluded before the mapping: the size is sealed,
 * so it cannot shrink under us; the file is tmpfs, whose holes are filled with zeros on access (a
 * hugetlb file passes the same seals and then raises SIGBUS when the pool is empty). What the
 * header says about the inside is memory_view_init's to check.
 */
#include "memory.h"

#include "shm/atomic.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define SEALS_NEEDED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int refuse(int error, const char *why, const char **ret_why)
{
	if (ret_why)
		*ret_why = why;
	return error;
}

/* Is it safe to map and read? *ret_bytes: its size, which can no longer change. */
static int check_file(int fd, uint64_t max_bytes, uint64_t *ret_bytes, const char **ret_why)
{
	struct statfs fs;
	struct stat st;
	int seals;

	if (fstat(fd, &st) < 0)
		return refuse(-errno, "the memory's descriptor cannot be examined", ret_why);
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS_NEEDED) != SEALS_NEEDED)
		return refuse(-EPERM,
			      "the memory is not a memfd sealed against shrinking, growing and "
			      "further seals",
			      ret_why);
	if (fstatfs(fd, &fs) < 0)
		return refuse(-errno, "the memory's file system cannot be examined", ret_why);
	if (fs.f_type != TMPFS_MAGIC)
		return refuse(
			-EMEDIUMTYPE,
			"the memory is not ordinary shared memory (huge pages fault when their "
			"pool is empty)",
			ret_why);
	if (st.st_size < (off_t)sizeof(struct fprof_memory_header))
		return refuse(-EINVAL, "the memory is shorter than its header", ret_why);
	if ((uint64_t)st.st_size > max_bytes)
		return refuse(-EFBIG, "the memory is larger than memory_mib allows", ret_why);
	*ret_bytes = (uint64_t)st.st_size;
	return 0;
}

int memory_open(int fd, uint64_t max_bytes, struct memory **ret_memory, const char **ret_why)
{
	_cleanup_free_ struct memory *memory = calloc(1, sizeof(*memory));
	uint64_t bytes = 0;
	void *base;
	int r;

	if (!memory)
		return refuse(-ENOMEM, "the daemon is out of memory", ret_why);
	r = check_file(fd, max_bytes, &bytes, ret_why);
	if (r < 0)
		return r;
	base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return refuse(-errno, "the memory cannot be mapped", ret_why);
	r = memory_view_init(base, bytes, &memory->view, ret_why);
	if (r < 0) {
		munmap(base, bytes);
		return r;
	}
	memory->memory_id = memory->view.head.memory_id;
	memory->origin = memory->view.head.origin;
	*ret_memory = memory;
	memory = NULL;
	return 0;
}

void memory_free(struct memory *memory)
{
	if (!memory)
		return;
	munmap((void *)(uintptr_t)memory->view.base, memory->view.bytes);
	free(memory);
}

/* A sealable memfd that cannot be executed; kernels before 6.3 do not know the flag. */
static int memfd_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

static void control_fill(struct fprof_control *page, uint64_t session_id)
{
	page->abi_major = FPROF_ABI_MAJOR;
	page->abi_minor = FPROF_ABI_MINOR;
	page->control_bytes = FPROF_CONTROL_BYTES_DETAIL;
	page->record_state = FPROF_STATE_RECORDING;
	page->gate = FPROF_LEVELS;
	page->heartbeat = 1;
	page->session_id = session_id;
	page->magic = FPROF_CONTROL_MAGIC;
	FPROF_STORE_RELEASE(&page->generation, 1u);
}

int control_new(uint64_t session_id, struct control *ret_control)
{
	_cleanup_close_ int fd = memfd_new("fprof-control");
	void *page;

	if (fd < 0)
		return fd;
	if (ftruncate(fd, FPROF_CONTROL_BYTES_DETAIL) < 0)
		return -errno;
	page = mmap(NULL, FPROF_CONTROL_BYTES_DETAIL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	control_fill(page, session_id);
	if (fcntl(fd, F_ADD_SEALS, SEALS_NEEDED | F_SEAL_FUTURE_WRITE) < 0) {
		int r = -errno;

		munmap(page, FPROF_CONTROL_BYTES_DETAIL);
		return r;
	}
	ret_control->set = NULL;
	ret_control->page = page;
	ret_control->fd = util_take_fd(&fd);
	return 0;
}

void control_deinit(struct control *control)
{
	if (control->page)
		munmap(control->page, FPROF_CONTROL_BYTES_DETAIL);
	if (control->fd >= 0)
		close(control->fd);
	control->page = NULL;
	control->fd = -1;
}
