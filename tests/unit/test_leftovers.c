// SPDX-License-Identifier: MIT
/* Histories whose runtime directory is gone are removed, and nothing else is. */
#include "daemon/leftovers.h"
#include "daemon/util.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char top[64]; /* of the test in progress */

static const char *in_top(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", top, name);
	return path;
}

static int setup(void **state)
{
	(void)state;
	strcpy(top, "/tmp/fprof-leftovers-XXXXXX");
	if (!mkdtemp(top) || mkdir(in_top("shm"), 0700) < 0)
		return -1;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static bool exists(const char *name)
{
	return access(in_top(name), F_OK) == 0;
}

/* A daemon that has been there: its runtime directory, and a history with a file. */
static int leave(const char *history, const char *runtime)
{
	char path[512];
	int fd = -1;

	assert_int_equal(mkdir(in_top(runtime), 0700), 0);
	assert_int_equal(leftovers_hold(in_top(history), in_top(runtime), &fd), 0);
	snprintf(path, sizeof(path), "%s/history.db", in_top(history));
	write_file(path, "rows");
	return fd;
}

static void a_history_goes_with_its_runtime_directory(void **state)
{
	int own, fd;

	(void)state;
	own = leave("shm/own", "run-own");
	fd = leave("shm/here", "run-here");
	close(fd);
	fd = leave("shm/gone", "run-gone");
	close(fd);
	assert_int_equal(leftovers_remove(in_top("shm/own")), 0);
	assert_true(exists("shm/gone/history.db"));
	assert_int_equal(rmdir(in_top("run-gone")), 0);
	assert_int_equal(leftovers_remove(in_top("shm/own")), 1);
	assert_false(exists("shm/gone"));
	assert_true(exists("shm/here/history.db"));
	assert_true(exists("shm/own/history.db"));
	close(own);
}

static void a_history_in_use_stays(void **state)
{
	int own, fd;

	(void)state;
	own = leave("shm/own", "run-own");
	fd = leave("shm/used", "run-used");
	assert_int_equal(rmdir(in_top("run-used")), 0);
	assert_int_equal(rmdir(in_top("run-own")), 0);
	assert_int_equal(leftovers_remove(in_top("shm/own")), 0);
	assert_true(exists("shm/used/history.db"));
	close(fd);
	assert_int_equal(leftovers_remove(in_top("shm/own")), 1);
	assert_false(exists("shm/used"));
	assert_true(exists("shm/own/history.db"));
	close(own);
}

static void what_is_not_understood_stays(void **state)
{
	int own, fd;

	(void)state;
	own = leave("shm/own", "run-own");
	fd = leave("shm/nested", "run-nested");
	close(fd);
	assert_int_equal(mkdir(in_top("shm/nested/deeper"), 0700), 0);
	assert_int_equal(rmdir(in_top("run-nested")), 0);
	assert_int_equal(mkdir(in_top("shm/no-note"), 0700), 0);
	assert_int_equal(mkdir(in_top("shm/cut"), 0700), 0);
	write_file(in_top("shm/cut/runtime_dir"), "/nonexistent/fprofd");
	assert_int_equal(mkdir(in_top("shm/relative"), 0700), 0);
	write_file(in_top("shm/relative/runtime_dir"), "nonexistent\n");
	assert_int_equal(mkdir(in_top("shm/blank"), 0700), 0);
	write_file(in_top("shm/blank/runtime_dir"), "");
	write_file(in_top("shm/file"), "no directory");
	assert_int_equal(mkdir(in_top("elsewhere"), 0700), 0);
	write_file(in_top("elsewhere/runtime_dir"), "/nonexistent/fprofd\n");
	assert_int_equal(symlink(in_top("elsewhere"), in_top("shm/link")), 0);
	assert_int_equal(leftovers_remove(in_top("shm/own")), 0);
	assert_true(exists("shm/nested/deeper"));
	assert_true(exists("shm/nested/runtime_dir"));
	assert_true(exists("shm/no-note"));
	assert_true(exists("shm/cut/runtime_dir"));
	assert_true(exists("shm/relative/runtime_dir"));
	assert_true(exists("shm/blank/runtime_dir"));
	assert_true(exists("shm/file"));
	assert_true(exists("elsewhere/runtime_dir"));
	close(own);
}

static void a_directory_is_held_twice_and_again(void **state)
{
	int one, two = -1;

	(void)state;
	one = leave("shm/own", "run-own");
	assert_int_equal(leftovers_hold(in_top("shm/own"), in_top("run-own"), &two), 0);
	close(one);
	assert_int_equal(rmdir(in_top("run-own")), 0);
	assert_int_equal(leftovers_remove(in_top("shm/other")), 0);
	close(two);
	assert_int_equal(leftovers_remove(in_top("shm/other")), 1);
	assert_int_equal(leftovers_hold(in_top("shm/own"), in_top("run-own"), &one), 0);
	assert_true(exists("shm/own/runtime_dir"));
	close(one);
	assert_int_equal(leftovers_hold(in_top("none/own"), in_top("run-own"), &one), -ENOENT);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(a_history_goes_with_its_runtime_directory),
		T(a_history_in_use_stays),
		T(what_is_not_understood_stays),
		T(a_directory_is_held_twice_and_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
