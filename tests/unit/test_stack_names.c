/* SPDX-License-Identifier: MIT */
/* The files that functions are named from. */
#include "daemon/stack_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int open_path(void *userdata, size_t file)
{
	int fd = open(userdata, O_RDONLY | O_CLOEXEC);

	(void)file;
	return fd < 0 ? -errno : fd;
}

/* A game may be killed, and its file deleted, before the child that reads symbols comes to it. */
static void a_file_is_held_once_it_is_known(void **state)
{
	char path[] = "/tmp/fprof-test-names-XXXXXX", text[8] = "";
	int made = mkstemp(path), held;
	struct stack_names names;

	(void)state;
	assert_int_equal(write(made, "symbols", 7), 7);
	close(made);
	stack_names_init(&names, open_path, path);
	assert_int_equal(stack_names_add(&names, 1, strdup(path), 0, true), 0);
	assert_int_equal(unlink(path), 0);
	held = names.files.at[0].fd;
	assert_true(held >= 0);
	assert_int_equal(pread(held, text, 7, 0), 7);
	assert_string_equal(text, "symbols");
	stack_names_deinit(&names);
	assert_int_equal(fcntl(held, F_GETFD), -1);
}

/* However many files a game has mapped, others need descriptors, too. */
static void few_files_are_held(void **state)
{
	struct stack_names names;
	size_t i, held = 0;

	(void)state;
	stack_names_init(&names, open_path, (char[]){"/dev/null"});
	for (i = 0; i < 200; i++)
		assert_int_equal(stack_names_add(&names, i + 1, strdup("/dev/null"), 0, true), i);
	for (i = 0; i < 200; i++)
		held += names.files.at[i].fd >= 0;
	assert_int_equal(held, 64);
	stack_names_deinit(&names);
}

static void of_what_is_no_file_nothing_is_wanted(void **state)
{
	struct stack_names names;

	(void)state;
	stack_names_init(&names, open_path, (char[]){"/nonexistent/file"});
	assert_int_equal(stack_names_add(&names, 1, strdup("[anonymous]"), 0, false), 0);
	assert_int_equal(names.files.at[0].state, STACK_FILE_NONE);
	stack_names_want(&names, 0, 16);
	assert_int_equal(names.files.at[0].wanted.count, 0);
	stack_names_deinit(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_held_once_it_is_known),
		cmocka_unit_test(few_files_are_held),
		cmocka_unit_test(of_what_is_no_file_nothing_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
