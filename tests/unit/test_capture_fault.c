/* SPDX-License-Identifier: MIT */
/*
 * The Nth allocation, write, sync or rename of a save, an upload or an opening fails, then the
 * N+1st, until a run in which none did. What fails leaves no file and no row, what it read from is
 * as it was, and the next attempt works. Calls of other threads never fail. SQLite allocates some
 * ten thousand times in each: of those every so many are tried, of our own all.
 */
#include "captures_fixture.h"

#include "daemon/log.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/syscall.h>

#define FRAMES 12

enum what { NOTHING, ALLOCATIONS, SQLITE_ALLOCATIONS, WRITES };

static __thread enum what armed;
static __thread long left, failed;
static __thread bool in_sqlite;
static int error_number;

static bool fails(enum what what)
{
	if (armed != what || (what == ALLOCATIONS && in_sqlite) || left-- != 0)
		return false;
	failed++;
	errno = what == WRITES ? error_number : ENOMEM;
	return true;
}

static void arm(enum what what, long after)
{
	left = after;
	failed = 0;
	armed = what;
}

static long disarm(void)
{
	armed = NOTHING;
	return failed;
}

/* The libraries call these instead of libc's. */
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at)
{
	return fails(WRITES) ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, data, bytes, at);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	return pwrite64(fd, data, bytes, at);
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	return fails(WRITES) ? -1 : (ssize_t)syscall(SYS_write, fd, data, bytes);
}

int fsync(int fd)
{
	return fails(WRITES) ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return fails(WRITES) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

int ftruncate64(int fd, off64_t bytes)
{
	return fails(WRITES) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

int rename(const char *from, const char *to)
{
	return fails(WRITES) ? -1 : (int)syscall(SYS_rename, from, to);
}

int mkostemps64(char *name, int suffix, int flags)
{
	static int (*real)(char *, int, int);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "mkostemps64");
	return fails(WRITES) ? -1 : real(name, suffix, flags);
}

int mkostemps(char *name, int suffix, int flags)
{
	return mkostemps64(name, suffix, flags);
}

/* Under the address sanitizer the allocator is its own. */
#ifdef __SANITIZE_ADDRESS__
static const bool own_allocator = false;
#else
static const bool own_allocator = true;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);

void *malloc(size_t bytes)
{
	return fails(ALLOCATIONS) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return fails(ALLOCATIONS) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *p, size_t bytes)
{
	return fails(ALLOCATIONS) ? NULL : __libc_realloc(p, bytes);
}
#endif

static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int bytes)
{
	void *p;

	if (fails(SQLITE_ALLOCATIONS))
		return NULL;
	in_sqlite = true;
	p = sqlite_memory.xMalloc(bytes);
	in_sqlite = false;
	return p;
}

static void *sqlite_realloc(void *old, int bytes)
{
	void *p;

	if (fails(SQLITE_ALLOCATIONS))
		return NULL;
	in_sqlite = true;
	p = sqlite_memory.xRealloc(old, bytes);
	in_sqlite = false;
	return p;
}

/* Before any other use of SQLite. */
static int setup_all(void **state)
{
	sqlite3_mem_methods mine;

	(void)state;
	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory);
	mine = sqlite_memory;
	mine.xMalloc = sqlite_malloc;
	mine.xRealloc = sqlite_realloc;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &mine) == SQLITE_OK ? 0 : -1;
}

/* How far apart the points are that are tried. */
static long step_of(enum what what)
{
	return what == SQLITE_ALLOCATIONS ? 997 : 1;
}

static int setup(void **state)
{
	struct world *w = world_new();

	log_set_level(LOG_LEVEL_ERROR);
	error_number = EIO;
	add_rich(w, FRAMES);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static size_t count_files(struct world *w)
{
	DIR *dir = opendir(w->directory);
	struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

static size_t count_rows(struct world *w)
{
	captures_vec list = {0};
	size_t count;

	assert_int_equal(captures_list(w->captures, HISTORY_ANY_UID, &list), 0);
	count = list.count;
	captures_vec_free(&list);
	return count;
}

static void assert_reads(struct world *w, uint64_t id)
{
	struct history *h;

	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(w->f.history, 1, h, id, 3, FRAMES - 1);
	history_close(h);
}

/* Attempts until one goes through: how many failures there were. */
static long try_saves(struct world *w, enum what what)
{
	const struct capture_order order = {.session = 1, .first = 3, .last = FRAMES - 1};
	uint64_t id = 0;
	long after;
	int r;

	for (after = 0;; after += step_of(what)) {
		size_t rows = count_rows(w);

		arm(what, after);
		r = captures_save(w->captures, &order, HISTORY_ANY_UID, &id);
		if (disarm() == 0)
			break;
		if (r == 0) { /* it was not needed */
			assert_int_equal(count_rows(w), rows + 1);
			assert_reads(w, id);
			assert_int_equal(captures_delete(w->captures, id), 0);
		}
		assert_true(r == 0 || r == -ENOMEM || r == -EIO || r == -ENOSPC || r == -ENOENT);
		assert_int_equal(count_rows(w), rows);
		assert_int_equal(count_files(w), rows);
	}
	assert_int_equal(r, 0);
	assert_reads(w, id);
	assert_int_equal(captures_delete(w->captures, id), 0);
	return after / step_of(what);
}

static void an_allocation_of_a_save_fails(void **state)
{
	long points;

	if (!own_allocator) {
		print_message("SKIP the sanitizer's allocator cannot be made to fail here\n");
		skip();
	}
	points = try_saves(*state, ALLOCATIONS);
	assert_true(points > 0);
	print_message("%ld points of failure\n", points);
}

static void an_allocation_of_sqlite_fails_in_a_save(void **state)
{
	long points = try_saves(*state, SQLITE_ALLOCATIONS);

	assert_true(points > 20);
	print_message("%ld points of failure, every %ld tried\n", points,
		      step_of(SQLITE_ALLOCATIONS));
}

static void a_write_of_a_save_fails(void **state)
{
	long points = try_saves(*state, WRITES);

	assert_true(points > 20);
	print_message("%ld points of failure\n", points);
}

static void the_disk_is_full_during_a_save(void **state)
{
	error_number = ENOSPC;
	assert_true(try_saves(*state, WRITES) > 20);
}

static long try_uploads(struct world *w, const char *path, enum what what)
{
	char why[CAPTURE_WHY];
	uint64_t id = 0;
	long after;
	int r;

	for (after = 0;; after += step_of(what)) {
		size_t rows = count_rows(w);

		arm(what, after);
		r = upload(w, path, &id, why);
		if (disarm() == 0)
			break;
		if (r == 0) {
			assert_reads(w, id);
			assert_int_equal(captures_delete(w->captures, id), 0);
		}
		assert_int_equal(count_rows(w), rows);
		assert_int_equal(count_files(w), rows);
	}
	assert_int_equal(r, 0);
	assert_reads(w, id);
	return after / step_of(what);
}

static void a_write_of_an_upload_fails(void **state)
{
	struct world *w = *state;
	char path[256];

	file_of(w, save(w, 3, FRAMES - 1), path, sizeof(path));
	assert_true(try_uploads(w, path, WRITES) > 20);
}

static void an_allocation_of_an_upload_fails(void **state)
{
	struct world *w = *state;
	char path[256];

	if (!own_allocator) {
		print_message("SKIP the sanitizer's allocator cannot be made to fail here\n");
		skip();
	}
	file_of(w, save(w, 3, FRAMES - 1), path, sizeof(path));
	assert_true(try_uploads(w, path, ALLOCATIONS) > 2);
}

static void an_allocation_of_sqlite_fails_in_an_upload(void **state)
{
	struct world *w = *state;
	char path[256];

	file_of(w, save(w, 3, FRAMES - 1), path, sizeof(path));
	assert_true(try_uploads(w, path, SQLITE_ALLOCATIONS) > 20);
}

static long try_openings(struct world *w, enum what what)
{
	struct history *h;
	uint64_t id = save(w, 3, FRAMES - 1);
	long after, points = 0;
	int r;

	for (after = 0;; after += step_of(what)) {
		arm(what, after);
		r = captures_open(w->captures, id, HISTORY_ANY_UID, &h);
		if (disarm() == 0)
			break;
		points++;
		if (r == 0)
			history_close(h);
	}
	assert_int_equal(r, 0);
	history_close(h);
	assert_reads(w, id);
	return points;
}

static void an_allocation_of_an_opening_fails(void **state)
{
	if (!own_allocator) {
		print_message("SKIP the sanitizer's allocator cannot be made to fail here\n");
		skip();
	}
	assert_true(try_openings(*state, ALLOCATIONS) > 0);
}

static void an_allocation_of_sqlite_fails_in_an_opening(void **state)
{
	assert_true(try_openings(*state, SQLITE_ALLOCATIONS) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_allocation_of_a_save_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(an_allocation_of_sqlite_fails_in_a_save, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_allocation_of_sqlite_fails_in_an_upload, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_allocation_of_sqlite_fails_in_an_opening, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_write_of_a_save_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(the_disk_is_full_during_a_save, setup, teardown),
		cmocka_unit_test_setup_teardown(a_write_of_an_upload_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(an_allocation_of_an_upload_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(an_allocation_of_an_opening_fails, setup, teardown),
	};

	return cmocka_run_group_tests(tests, setup_all, NULL);
}
