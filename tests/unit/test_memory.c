// SPDX-License-Identifier: MIT
/* Which memories the daemon maps, and what it gives out itself. */
#include "daemon/memory.h"

#include "fake_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define MAX_BYTES (UINT64_C(16) << 20)

static void refuse_fd(int fd, int error)
{
	struct memory *memory = NULL;
	const char *why = NULL;

	assert_int_equal(memory_open(fd, MAX_BYTES, &memory, &why), error);
	assert_null(memory);
	assert_non_null(why);
	assert_true(strlen(why) > 0);
	assert_true(strlen(why) < 96);
	assert_int_equal(memory_open(fd, MAX_BYTES, &memory, NULL), error);
}

static void test_a_sound_memory_is_mapped(void **state)
{
	struct fake_memory m;
	struct memory *memory;

	(void)state;
	assert_int_equal(fake_memory_init(&m, 11, 22), 0);
	assert_int_equal(memory_open(m.fd, MAX_BYTES, &memory, NULL), 0);
	assert_int_equal(memory->memory_id, 11);
	assert_int_equal(memory->view.head.image_id, 22);
	assert_int_equal(memory->origin, FPROF_ORIGIN_GAME);
	assert_int_equal(memory->view.bytes, m.bytes);
	/* what the game writes is seen */
	m.head->slots_used = 2;
	assert_int_equal(memory_slots_used(&memory->view), 2);
	memory_free(memory);
	memory_free(NULL);
	fake_memory_deinit(&m);
}

static void test_each_seal_is_needed(void **state)
{
	static const int seals[] = {0, F_SEAL_SHRINK | F_SEAL_GROW, F_SEAL_GROW | F_SEAL_SEAL,
				    F_SEAL_SHRINK | F_SEAL_SEAL};
	struct fprof_memory_header head = fake_header(1, 1);
	struct fake_memory m;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(seals) / sizeof(seals[0]); i++) {
		assert_int_equal(fake_memory_make(&m, &head, head.total_bytes, seals[i]), 0);
		refuse_fd(m.fd, -EPERM);
		fake_memory_deinit(&m);
	}
}

static void test_other_files_are_refused(void **state)
{
	char path[] = "/tmp/fprof-test-memory-XXXXXX", shm[] = "/dev/shm/fprof-test-memory-XXXXXX";
	int pair[2], fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	refuse_fd(fd, -EPERM);
	close(fd);
	unlink(path);
	fd = mkstemp(shm); /* tmpfs, but anyone may truncate it */
	assert_true(fd >= 0);
	refuse_fd(fd, -EPERM);
	close(fd);
	unlink(shm);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	refuse_fd(pair[0], -EPERM);
	close(pair[0]);
	close(pair[1]);
	refuse_fd(-1, -EBADF);
}

static void test_hugetlb_is_refused(void **state)
{
	int fd = memfd_create("fprof-fake", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	(void)state;
	if (fd < 0) {
		print_message("SKIP: no hugetlb memfd here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(ftruncate(fd, 2 << 20), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, FAKE_SEALS), 0);
	refuse_fd(fd, -EMEDIUMTYPE);
	close(fd);
}

static void test_sizes(void **state)
{
	struct fprof_memory_header head = fake_header(1, 1);
	struct memory *memory;
	struct fake_memory m;

	(void)state;
	assert_int_equal(fake_memory_make(&m, &head, 0, FAKE_SEALS), 0);
	refuse_fd(m.fd, -EINVAL);
	fake_memory_deinit(&m);
	assert_int_equal(fake_memory_make(&m, &head, sizeof(head) - 1, FAKE_SEALS), 0);
	refuse_fd(m.fd, -EINVAL);
	fake_memory_deinit(&m);
	/* shorter than its header says */
	assert_int_equal(fake_memory_make(&m, &head, head.total_bytes - 4096, FAKE_SEALS), 0);
	refuse_fd(m.fd, -EINVAL);
	fake_memory_deinit(&m);
	/* larger than allowed */
	assert_int_equal(fake_memory_make(&m, &head, MAX_BYTES + 4096, FAKE_SEALS), 0);
	refuse_fd(m.fd, -EFBIG);
	fake_memory_deinit(&m);
	/* exactly as large as allowed */
	assert_int_equal(fake_memory_make(&m, &head, head.total_bytes, FAKE_SEALS), 0);
	assert_int_equal(memory_open(m.fd, head.total_bytes, &memory, NULL), 0);
	memory_free(memory);
	assert_int_equal(memory_open(m.fd, head.total_bytes - 1, &memory, NULL), -EFBIG);
	fake_memory_deinit(&m);
}

static void refuse_header(const struct fprof_memory_header *head, int error)
{
	struct fake_memory m;

	assert_int_equal(fake_memory_make(&m, head, fake_header(1, 1).total_bytes, FAKE_SEALS), 0);
	refuse_fd(m.fd, error);
	fake_memory_deinit(&m);
}

static void test_headers(void **state)
{
	const struct fprof_memory_header good = fake_header(1, 1);
	struct fprof_memory_header bad;

	(void)state;
	bad = good;
	bad.magic = 0;
	refuse_header(&bad, -EPROTO);
	bad = good;
	bad.abi_major++;
	refuse_header(&bad, -EPROTO);
	bad = good;
	bad.slot_count = UINT32_MAX;
	refuse_header(&bad, -EINVAL);
	bad = good;
	bad.marker_capacity = UINT32_MAX;
	refuse_header(&bad, -EINVAL);
	bad = good;
	bad.ring_words = 3000;
	refuse_header(&bad, -EINVAL);
	bad = good;
	bad.rings_offset = UINT64_MAX - 4095;
	refuse_header(&bad, -EINVAL);
}

static void test_control_page(void **state)
{
	struct control control;
	const struct fprof_control *theirs;
	int seals;

	(void)state;
	assert_int_equal(control_new(42, &control), 0);
	seals = fcntl(control.fd, F_GET_SEALS);
	assert_int_equal(seals & (FAKE_SEALS | F_SEAL_FUTURE_WRITE),
			 FAKE_SEALS | F_SEAL_FUTURE_WRITE);
	/* the client cannot write to it, by any way */
	assert_ptr_equal(mmap(NULL, FPROF_CONTROL_BYTES_DETAIL, PROT_READ | PROT_WRITE, MAP_SHARED,
			      control.fd, 0),
			 MAP_FAILED);
	assert_int_equal(pwrite(control.fd, "x", 1, 0), -1);
	theirs = mmap(NULL, FPROF_CONTROL_BYTES_DETAIL, PROT_READ, MAP_SHARED, control.fd, 0);
	assert_ptr_not_equal(theirs, MAP_FAILED);
	assert_int_equal(theirs->magic, FPROF_CONTROL_MAGIC);
	assert_int_equal(theirs->abi_major, FPROF_ABI_MAJOR);
	assert_int_equal(theirs->control_bytes, FPROF_CONTROL_BYTES_DETAIL);
	assert_int_equal(theirs->record_state, FPROF_STATE_RECORDING);
	assert_int_equal(theirs->gate, FPROF_LEVELS);
	assert_int_equal(theirs->session_id, 42);
	assert_int_equal(theirs->generation, 1);
	/* the daemon can */
	control.page->heartbeat = 5;
	assert_int_equal(theirs->heartbeat, 5);
	munmap((void *)(uintptr_t)theirs, FPROF_CONTROL_BYTES_DETAIL);
	control_deinit(&control);
	assert_null(control.page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sound_memory_is_mapped),
		cmocka_unit_test(test_each_seal_is_needed),
		cmocka_unit_test(test_other_files_are_refused),
		cmocka_unit_test(test_hugetlb_is_refused),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_control_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
