// SPDX-License-Identifier: MIT
/* What the configuration accepts, and what it says of the rest. */
#include "daemon/config.h"
#include "daemon/config_file.h"
#include "daemon/directories.h"
#include "daemon/util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static char dir[64];	 /* this test's, on /tmp */
static char shm_dir[64]; /* this test's, on tmpfs */
static char said[8192];	 /* what the last load said on stderr */

static int setup_group(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/fprof-test-config-XXXXXX");
	strcpy(shm_dir, "/dev/shm/fprof-test-config-XXXXXX");
	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("STATE_DIRECTORY");
	unsetenv("XDG_STATE_HOME");
	return mkdtemp(dir) && mkdtemp(shm_dir) ? 0 : -1;
}

static int teardown_group(void **state)
{
	char command[160];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s %s", dir, shm_dir);
	return system(command);
}

static int setup(void **state)
{
	char path[128];
	FILE *f;

	(void)state;
	/* An empty file, so that the machine's own in /etc is not read. */
	snprintf(path, sizeof(path), "%s/fprofd", dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -1;
	snprintf(path, sizeof(path), "%s/fprofd/fprofd.conf", dir);
	f = fopen(path, "w");
	if (!f)
		return -1;
	fclose(f);
	setenv("XDG_CONFIG_HOME", dir, 1);
	setenv("XDG_RUNTIME_DIR", shm_dir, 1);
	setenv("HOME", dir, 1);
	return 0;
}

/* config_load with what it writes to stderr kept in said. */
static int load(struct config *config, int *ret_exit, const char *a, const char *b)
{
	char *argv[] = {(char *)"fprofd", (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
	int argc = b ? 3 : a ? 2 : 1, r, saved = dup(STDERR_FILENO);
	FILE *f = tmpfile();
	size_t n;

	assert_non_null(f);
	assert_true(saved >= 0 && dup2(fileno(f), STDERR_FILENO) >= 0);
	r = config_load(argc, argv, config, ret_exit);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	fclose(f);
	return r;
}

static const char *write_file(const char *text)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/test.conf", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void expect_said(const char *text)
{
	if (!strstr(said, text))
		fail_msg("\"%s\" was not said, but: %s", text, said);
}

/* The file is refused, and this is said. */
static void refuse_file(const char *text, const char *expected)
{
	struct config config;
	int status;

	assert_int_equal(load(&config, &status, "--config", write_file(text)), -EINVAL);
	assert_int_equal(status, 78);
	expect_said(expected);
}

static void refuse_option(const char *option, const char *value, const char *expected)
{
	struct config config;
	int status;

	assert_int_equal(load(&config, &status, option, value), -EINVAL);
	assert_int_equal(status, 2);
	expect_said(expected);
}

static void test_defaults(void **state)
{
	struct config config;
	char path[128];
	int status;

	(void)state;
	assert_int_equal(load(&config, &status, NULL, NULL), 0);
	assert_string_equal(config.http_address, "127.0.0.1");
	assert_int_equal(config.http_port, 7600);
	assert_int_equal(config.history_frames, 600);
	assert_int_equal(config.history_mib, 128);
	assert_int_equal(config.history_session_mib, 128);
	assert_int_equal(config.ring_kib, 1024);
	assert_int_equal(config.max_counters, 4096);
	assert_int_equal(config.max_sessions, 64);
	assert_int_equal(config.query_seconds, 5);
	assert_int_equal(config.memory_mib, 1024);
	assert_int_equal(config.captures_mib, 2048);
	assert_int_equal(config.spikes_keep, 8);
	assert_non_null(strstr(config.triggers, "exit_without_goodbye"));
	snprintf(path, sizeof(path), "%s/fprofd", shm_dir);
	assert_string_equal(config.runtime_dir, path);
	snprintf(path, sizeof(path), "%s/fprofd/fprofd.sock", shm_dir);
	assert_string_equal(config.socket_path, path);
	config_free(&config);
}

static void test_a_session_has_no_more_than_all(void **state)
{
	struct config config;
	int status;

	(void)state;
	assert_int_equal(load(&config, &status, "--config", write_file("history_mib = 64\n")), 0);
	assert_string_equal(said, "");
	assert_int_equal(config.history_session_mib, 64);
	config_free(&config);
	assert_int_equal(load(&config, &status, "--config",
			      write_file("history_session_mib = 4096\nhistory_mib = 256\n")),
			 0);
	assert_non_null(
		strstr(said, "history_session_mib is 4096, more than history_mib, using 256"));
	assert_int_equal(config.history_session_mib, 256);
	config_free(&config);
}

static void test_every_key_is_read(void **state)
{
	struct config config;
	int status;

	(void)state;
	assert_int_equal(load(&config, &status, "--config",
			      write_file("# a comment\n"
					 "\n"
					 "history_frames = 10\n"
					 "\thistory_mib=16384   # to the end\n"
					 "history_session_mib = 8\r\n"
					 "ring_kib = 65536\n"
					 "max_counters = 1\n"
					 "max_sessions = 1024\n"
					 "memory_mib = 65536\n"
					 "http = [::1]:0\n"
					 "socket = /a/b.sock\n"
					 "runtime_dir = /c\n"
					 "state_dir = /d e")),
			 0);
	assert_string_equal(said, "");
	assert_int_equal(config.history_frames, 10);
	assert_int_equal(config.history_mib, 16384);
	assert_int_equal(config.history_session_mib, 8);
	assert_int_equal(config.ring_kib, 65536);
	assert_int_equal(config.max_counters, 1);
	assert_int_equal(config.max_sessions, 1024);
	assert_int_equal(config.memory_mib, 65536);
	assert_string_equal(config.http_address, "::1");
	assert_int_equal(config.http_port, 0);
	assert_string_equal(config.socket_path, "/a/b.sock");
	assert_string_equal(config.runtime_dir, "/c");
	assert_string_equal(config.state_dir, "/d e");
	config_free(&config);
}

struct told {
	unsigned count;
	char last[64];
};

static void tell(void *userdata, const char *key)
{
	struct told *told = userdata;

	told->count++;
	snprintf(told->last, sizeof(told->last), "%s", key);
}

/* Each key by itself; those of docs/fprofd.conf are all that there are. */
static void test_a_key_that_changed_is_told(void **state)
{
	static const struct {
		const char *key, *value;
	} keys[] = {
		{"http", "127.0.0.1:7601"},
		{"http", "[::1]:7600"},
		{"socket", "/a/b.sock"},
		{"runtime_dir", "/c"},
		{"state_dir", "/d"},
		{"history_frames", "601"},
		{"history_mib", "129"},
		{"history_session_mib", "64"},
		{"ring_kib", "512"},
		{"max_counters", "4097"},
		{"sample_ms", "0"},
		{"query_seconds", "6"},
		{"max_sessions", "65"},
		{"memory_mib", "1025"},
		{"captures_mib", "2049"},
		{"spikes_keep", "9"},
		{"scheduler", "no"},
		{"on_demand", "yes"},
		{"triggers", "[]"},
		{"display_hz", "144"},
		{"pmu", "yes"},
	};
	const struct config_where where = {.name = "test"};
	struct config before, after;
	struct told told;
	int status;
	size_t i;

	(void)state;
	assert_int_equal(load(&before, &status, "--config", write_file("")), 0);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_int_equal(load(&after, &status, "--config", write_file("")), 0);
		told.count = 0;
		config_compare(&before, &after, tell, &told);
		assert_int_equal(told.count, 0);
		assert_int_equal(config_set(&after, keys[i].key, keys[i].value, &where), 0);
		config_compare(&before, &after, tell, &told);
		assert_int_equal(told.count, 1);
		assert_string_equal(told.last, keys[i].key);
		config_free(&after);
	}
	config_free(&before);
}

static void test_options_win_over_the_file(void **state)
{
	char *argv[] = {(char *)"fprofd",
			(char *)"--config",
			(char *)(uintptr_t)write_file("http = 127.0.0.1:1\nstate_dir = /x\n"),
			(char *)"--http=127.0.0.2:2",
			(char *)"--state-dir",
			(char *)"relative",
			NULL};
	char cwd[512], path[600];
	struct config config;
	int status;

	(void)state;
	assert_int_equal(config_load(6, argv, &config, &status), 0);
	assert_string_equal(config.http_address, "127.0.0.2");
	assert_int_equal(config.http_port, 2);
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(path, sizeof(path), "%s/relative", cwd);
	assert_string_equal(config.state_dir, path);
	config_free(&config);
}

static void test_default_file_is_found(void **state)
{
	struct config config;
	char path[128];
	FILE *f;
	int status;

	(void)state;
	snprintf(path, sizeof(path), "%s/fprofd/fprofd.conf", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("history_frames = 77\n", f);
	fclose(f);
	assert_int_equal(load(&config, &status, NULL, NULL), 0);
	assert_int_equal(config.history_frames, 77);
	assert_string_equal(config.config_file, path);
	config_free(&config);
}

static void test_unknown_key_warns_with_its_line(void **state)
{
	struct config config;
	int status;

	(void)state;
	assert_int_equal(load(&config, &status, "--config",
			      write_file("# one\nhistory_frame = 5\nmax_sessions = 3\n")),
			 0);
	expect_said("test.conf:2: unknown key \"history_frame\"");
	assert_int_equal(config.max_sessions, 3);
	config_free(&config);
}

static void test_bad_values_refuse_with_file_line_and_range(void **state)
{
	(void)state;
	refuse_file("\nhistory_frames = 9\n",
		    "test.conf:2: history_frames = 9: must be a whole number from 10 to 100000");
	refuse_file("history_frames = 100001\n", "from 10 to 100000");
	refuse_file("history_mib = 7\n", "from 8 to 16384");
	refuse_file("history_session_mib = 16385\n", "from 8 to 16384");
	refuse_file("ring_kib = 15\n", "from 16 to 65536");
	refuse_file("\nring_kib = 1000\n",
		    "test.conf:2: ring_kib = 1000: must be a power of two from 16 to 65536");
	refuse_file("max_counters = 0\n", "from 1 to 65536");
	refuse_file("max_sessions = 1025\n", "from 1 to 1024");
	refuse_file("query_seconds = 61\n", "from 1 to 60");
	refuse_file("memory_mib = -1\n", "from 1 to 65536");
	refuse_file("memory_mib = 10x\n", "from 1 to 65536");
	refuse_file("memory_mib = 99999999999999999999999\n", "from 1 to 65536");
	refuse_file("memory_mib =\n", "from 1 to 65536");
	refuse_file("spikes_keep = 0\n", "from 1 to 1000");
	refuse_file("\ntriggers = [{\"on\": \"zone\", \"above_ms\": 1}]\n",
		    "must be a JSON array of triggers: [0].name is missing");
	refuse_file("triggers = none\n", "a JSON array of triggers");
	refuse_file("http = 127.0.0.1\n", "ADDRESS:PORT");
	refuse_file("http = example.com:80\n", "ADDRESS:PORT");
	refuse_file("http = 127.0.0.1:65536\n", "ADDRESS:PORT");
	refuse_file("http = :80\n", "ADDRESS:PORT");
	refuse_file("http = []:80\n", "ADDRESS:PORT");
	refuse_file("socket = fprofd.sock\n", "an absolute path");
	refuse_file("max_sessions 3\n", "test.conf:1: \"max_sessions 3\": must be key = value");
}

static void test_missing_file(void **state)
{
	struct config config;
	int status;

	(void)state;
	assert_int_equal(load(&config, &status, "--config", "/nonexistent/x.conf"), -EINVAL);
	assert_int_equal(status, 78);
	expect_said("/nonexistent/x.conf: no such file");
}

static void test_bad_options(void **state)
{
	char path[160];

	(void)state;
	refuse_option("--frobnicate", NULL, "--help lists the options");
	refuse_option("extra", NULL, "extra: no arguments are taken");
	refuse_option("--http", "nonsense", "--http nonsense: must be ADDRESS:PORT");
	refuse_option("--socket", "", "--socket: must be a path");
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	refuse_option("--socket", path, "too long: 159 bytes, 107 are the most");
}

static void test_no_runtime_directory(void **state)
{
	struct config config;
	int status;

	(void)state;
	unsetenv("XDG_RUNTIME_DIR");
	if (geteuid() == 0) {
		assert_int_equal(load(&config, &status, NULL, NULL), 0);
		assert_string_equal(config.runtime_dir, "/run/fprofd");
		config_free(&config);
	} else {
		assert_int_equal(load(&config, &status, NULL, NULL), -EINVAL);
		assert_int_equal(status, 78);
		expect_said("give --runtime-dir");
	}
}

static void test_directories_from_systemd(void **state)
{
	struct config config;
	int status;

	(void)state;
	setenv("RUNTIME_DIRECTORY", "/run/one:/run/two", 1);
	setenv("STATE_DIRECTORY", "/var/lib/one", 1);
	assert_int_equal(load(&config, &status, NULL, NULL), 0);
	unsetenv("RUNTIME_DIRECTORY");
	unsetenv("STATE_DIRECTORY");
	assert_string_equal(config.runtime_dir, "/run/one");
	assert_string_equal(config.state_dir, "/var/lib/one");
	config_free(&config);
}

static void expect_mode(const char *path, mode_t mode)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, mode);
}

static void test_history_stays_on_a_tmpfs_runtime_directory(void **state)
{
	struct config config;
	char path[128];
	int status;

	(void)state;
	snprintf(path, sizeof(path), "%s/a", shm_dir);
	assert_int_equal(load(&config, &status, "--runtime-dir", path), 0);
	assert_string_equal(config.history_dir, path);
	assert_null(config.history_why);
	assert_int_equal(directories_make(&config), 0);
	expect_mode(path, geteuid() == 0 ? 0755 : 0700);
	config_free(&config);
}

static void skip_unless_disk(void)
{
	struct statfs fs;

	if (statfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC) {
		print_message("SKIP: /tmp is tmpfs here\n");
		skip();
	}
}

static void test_history_goes_to_shm_and_says_so(void **state)
{
	struct config config, other;
	char expected[64], path[128], above[256];
	int status;

	(void)state;
	skip_unless_disk();
	snprintf(path, sizeof(path), "%s/rt", dir);
	assert_int_equal(load(&config, &status, "--runtime-dir", path), 0);
	snprintf(expected, sizeof(expected), "/dev/shm/fprofd-%u/", geteuid());
	assert_memory_equal(config.history_dir, expected, strlen(expected));
	assert_non_null(strstr(config.history_why, "is not tmpfs"));
	assert_int_equal(directories_make(&config), 0);
	expect_mode(config.history_dir, 0700);
	snprintf(above, sizeof(above), "/dev/shm/fprofd-%u", geteuid());
	expect_mode(above, 0700);
	/* another runtime directory has another history */
	snprintf(path, sizeof(path), "%s/rt2", dir);
	assert_int_equal(load(&other, &status, "--runtime-dir", path), 0);
	assert_string_not_equal(config.history_dir, other.history_dir);
	rmdir(config.history_dir);
	config_free(&config);
	config_free(&other);
}

/* Replaces the history directory by one below ours, whose parent is what a stranger has prepared.
 */
static void check_unsafe_parent(const char *parent)
{
	struct config config;
	char path[192];
	int status;

	skip_unless_disk();
	snprintf(path, sizeof(path), "%s/rt", dir);
	assert_int_equal(load(&config, &status, "--runtime-dir", path), 0);
	free(config.history_dir);
	snprintf(path, sizeof(path), "%s/hash", parent);
	config.history_dir = strdup(path);
	assert_int_equal(directories_make(&config), 0);
	assert_string_equal(config.history_dir, config.runtime_dir);
	assert_non_null(strstr(config.history_why, "cannot be used"));
	config_free(&config);
}

static void test_a_history_directory_open_to_others_is_refused(void **state)
{
	char parent[128];

	(void)state;
	snprintf(parent, sizeof(parent), "%s/open", dir);
	assert_int_equal(mkdir(parent, 0755), 0);
	assert_int_equal(chmod(parent, 0755), 0);
	check_unsafe_parent(parent);
}

static void test_a_history_directory_behind_a_link_is_refused(void **state)
{
	char target[128], parent[128];

	(void)state;
	snprintf(target, sizeof(target), "%s/target", dir);
	snprintf(parent, sizeof(parent), "%s/link", dir);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, parent), 0);
	check_unsafe_parent(parent);
}

static void test_a_file_in_the_way(void **state)
{
	struct config config;
	char path[160];
	int status;

	(void)state;
	snprintf(path, sizeof(path), "%s/below", write_file(""));
	assert_int_equal(load(&config, &status, "--runtime-dir", path), 0);
	assert_int_equal(directories_make(&config), -ENOTDIR);
	config_free(&config);
}

/* A slip in a path must not make directories. */
static void test_missing_parents_are_not_made(void **state)
{
	struct config config;
	char path[160];
	int status;

	(void)state;
	snprintf(path, sizeof(path), "%s/none/rt", shm_dir);
	assert_int_equal(load(&config, &status, "--runtime-dir", path), 0);
	assert_int_equal(directories_make(&config), -ENOENT);
	config_free(&config);
	snprintf(path, sizeof(path), "%s/none/fprofd.sock", shm_dir);
	assert_int_equal(load(&config, &status, "--socket", path), 0);
	free(config.runtime_dir);
	assert_true(asprintf(&config.runtime_dir, "%s/rt", shm_dir) > 0);
	assert_int_equal(directories_make(&config), -ENOENT);
	config_free(&config);
	snprintf(path, sizeof(path), "%s/none", shm_dir);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		T(test_defaults),
		T(test_every_key_is_read),
		T(test_a_key_that_changed_is_told),
		T(test_a_session_has_no_more_than_all),
		T(test_options_win_over_the_file),
		T(test_default_file_is_found),
		T(test_unknown_key_warns_with_its_line),
		T(test_bad_values_refuse_with_file_line_and_range),
		T(test_missing_file),
		T(test_bad_options),
		T(test_no_runtime_directory),
		T(test_directories_from_systemd),
		T(test_history_stays_on_a_tmpfs_runtime_directory),
		T(test_history_goes_to_shm_and_says_so),
		T(test_a_history_directory_open_to_others_is_refused),
		T(test_a_history_directory_behind_a_link_is_refused),
		T(test_missing_parents_are_not_made),
		T(test_a_file_in_the_way),
	};

	return cmocka_run_group_tests(tests, setup_group, teardown_group);
}
