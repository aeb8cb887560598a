/* SPDX-License-Identifier: MIT */
/* What is read of a process from outside, over a made /proc and /sys. */
#include "daemon/usage.h"

#include "shm/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID 4711

static char root[64], sys[80];

struct seen {
	struct usage_value values[64];
	char names[64][USAGE_NAME_MAX];
	size_t count;
};

static int see(void *userdata, const struct usage_value *v)
{
	struct seen *seen = userdata;

	seen->values[seen->count] = *v;
	snprintf(seen->names[seen->count++], USAGE_NAME_MAX, "%s", v->name);
	return 0;
}

static const struct usage_value *find(const struct seen *seen, const char *name)
{
	size_t i;

	for (i = 0; i < seen->count; i++)
		if (!strcmp(seen->names[i], name))
			return &seen->values[i];
	return NULL;
}

static int64_t value(const struct seen *seen, const char *name)
{
	const struct usage_value *v = find(seen, name);

	assert_non_null(v);
	return v->value;
}

static void put(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void put_fd(int fd, const char *target, const char *info)
{
	char path[256];

	snprintf(path, sizeof(path), "proc/4711/fdinfo/%d", fd);
	put(path, info);
	snprintf(path, sizeof(path), "proc/4711/fd/x");
	put(path, "");
	snprintf(path, sizeof(path), "%s/proc/4711/fd/%d", root, fd);
	assert_int_equal(symlink(target, path), 0);
}

static const char stat_text[] =
	"4711 (a) game) S 1 2 3 4 5 6 70 0 8 0 250 50 0 0 20 0 7 0 900 1000 11 1 2 3\n";

static int setup(void **state)
{
	struct usage *u = malloc(sizeof(*u));
	static char proc[80];

	strcpy(root, "/tmp/fprof-usage-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(proc, sizeof(proc), "%s/proc", root);
	snprintf(sys, sizeof(sys), "%s/sys", root);
	put("proc/4711/stat", stat_text);
	usage_init(u, PID, 900);
	u->proc = proc;
	*state = u;
	return 0;
}

static int teardown(void **state)
{
	char command[96];

	usage_deinit(*state);
	free(*state);
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static void the_process_is_read(void **state)
{
	int64_t hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
	struct seen seen = {0};

	put("proc/4711/statm", "1000 123 4 5 6 7 8\n");
	put("proc/4711/io", "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192\n");
	put("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
	put("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
	assert_int_equal(usage_frequency(sys), 2500);
	assert_int_equal(usage_read(*state, 2500, see, &seen), 0);
	assert_int_equal(value(&seen, "cpu_time"), 300 * 1000 / hz);
	assert_int_equal(value(&seen, "threads"), 7);
	assert_int_equal(value(&seen, "minor_faults"), 70);
	assert_int_equal(value(&seen, "major_faults"), 8);
	assert_int_equal(value(&seen, "resident_bytes"), 123 * page);
	assert_int_equal(value(&seen, "read_bytes"), 4096);
	assert_int_equal(value(&seen, "written_bytes"), 8192);
	assert_int_equal(value(&seen, "cpu_mhz"), 2500);
	assert_true(find(&seen, "minor_faults")->cumulative);
	assert_false(find(&seen, "resident_bytes")->cumulative);
}

static int ran(struct usage *usage, unsigned i, int64_t *ret_ns)
{
	return usage_ran(usage->proc, usage->pid, &usage->marking[i], ret_ns);
}

/* By the number that the game has for the thread. */
static void a_thread_that_marks_frames_is_read_by_its_own_number(void **state)
{
	const int32_t tids[] = {7, 8, 9};
	struct usage *usage = *state;
	struct seen seen = {0};
	int64_t ns;

	put("proc/4711/task/4711/status", "NSpid:\t4711\t7\n");
	put("proc/4711/task/4711/schedstat", "1234567890 55 9\n");
	put("proc/4711/task/4712/status", "NSpid:\t4712\t8\n");
	usage_set_marking(usage, tids, 3);
	assert_int_equal(ran(usage, 0, &ns), -ESRCH); /* not found yet */
	assert_int_equal(usage_read(usage, 0, see, &seen), 0);
	usage_set_marking(usage, tids, 3);
	assert_int_equal(ran(usage, 0, &ns), 0);
	assert_int_equal(ns, 1234567890);
	assert_int_equal(ran(usage, 1, &ns), -ESRCH); /* no schedstat */
	assert_int_equal(ran(usage, 2, &ns), -ESRCH); /* no thread */
	put("proc/4711/task/4711/schedstat", "-\n");
	assert_int_equal(ran(usage, 0, &ns), -EIO);
	usage_marking_close(&usage->marking[0]);
	assert_int_equal(ran(usage, 0, &ns), -ESRCH);
	put("proc/4711/task/10/status", "NSpid:\t10\n");
	assert_int_equal(usage_host_tid(usage->proc, 4711, 10), 10);
	assert_int_equal(usage_host_tid(usage->proc, 4711, 4711), 0); /* 7 in there */
	assert_int_equal(usage_host_tid(usage->proc, 4711, 11), 0);
}

static void what_is_not_there_is_left_out(void **state)
{
	struct seen seen = {0};

	assert_int_equal(usage_read(*state, 0, see, &seen), 0);
	assert_null(find(&seen, "resident_bytes"));
	assert_null(find(&seen, "read_bytes"));
	assert_null(find(&seen, "cpu_mhz"));
	assert_int_equal(usage_frequency(sys), 0);
	assert_null(find(&seen, "voluntary_switches"));
}

static void a_later_process_of_the_number_is_not_read(void **state)
{
	struct usage *u = *state;
	struct seen seen = {0};

	u->start = 901;
	assert_int_equal(usage_read(u, 0, see, &seen), -ESRCH);
	assert_int_equal(seen.count, 0);
}

/* The switches of a thread that has ended stay in the sum. */
static void threads_that_end_stay_counted(void **state)
{
	struct seen first = {0}, second = {0};
	char path[128];

	put("proc/4711/task/1/status",
	    "voluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t1\n");
	put("proc/4711/task/2/status",
	    "voluntary_ctxt_switches:\t20\nnonvoluntary_ctxt_switches:\t2\n");
	assert_int_equal(usage_read(*state, 0, see, &first), 0);
	assert_int_equal(value(&first, "voluntary_switches"), 30);
	snprintf(path, sizeof(path), "%s/proc/4711/task/2/status", root);
	unlink(path);
	snprintf(path, sizeof(path), "%s/proc/4711/task/2", root);
	rmdir(path);
	put("proc/4711/task/1/status",
	    "voluntary_ctxt_switches:\t15\nnonvoluntary_ctxt_switches:\t1\n");
	assert_int_equal(usage_read(*state, 0, see, &second), 0);
	assert_int_equal(value(&second, "voluntary_switches"), 35);
	assert_int_equal(value(&second, "involuntary_switches"), 3);
}

/* A client that is open twice counts once; clients add up; KiB are bytes. */
static void drm_clients_are_counted_once(void **state)
{
	static const char client[] = "pos:\t0\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\n"
				     "drm-client-id:\t%d\ndrm-engine-gfx:\t5000000 ns\n"
				     "drm-engine-capacity-gfx:\t2\ndrm-memory-vram:\t100 KiB\n"
				     "drm-resident-vram:\t64 KiB\n";
	struct seen seen = {0};
	char text[512];

	snprintf(text, sizeof(text), client, 1);
	put_fd(5, "/dev/dri/renderD128", text);
	put_fd(6, "/dev/dri/renderD128", text);
	snprintf(text, sizeof(text), client, 2);
	put_fd(7, "/dev/dri/card0", text);
	put_fd(8, "/home/a/file", "drm-driver:\tfake\ndrm-engine-gfx:\t9000000 ns\n");
	assert_int_equal(usage_read(*state, 0, see, &seen), 0);
	assert_int_equal(value(&seen, "gpu_busy_gfx"), 10);
	assert_int_equal(value(&seen, "gpu_memory_vram"), 2 * 64 * 1024);
	assert_int_equal(find(&seen, "gpu_busy_gfx")->unit, FPROF_UNIT_MS);
}

static void garbage_is_no_number(void **state)
{
	struct seen seen = {0};

	put("proc/4711/stat", "4711 (game\n");
	assert_int_equal(usage_read(*state, 0, see, &seen), -ESRCH);
	put("proc/4711/stat", stat_text);
	put("proc/4711/statm", "garbage\n");
	put("proc/4711/io", "read_bytes: -\nwrite_bytes:\n");
	put_fd(5, "/dev/dri/card0", "drm-driver:\nno colon\ndrm-engine-:\ndrm-memory-x\n");
	assert_int_equal(usage_read(*state, 0, see, &seen), 0);
	assert_null(find(&seen, "resident_bytes"));
	assert_null(find(&seen, "read_bytes"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_process_is_read),
		TEST(a_thread_that_marks_frames_is_read_by_its_own_number),
		TEST(what_is_not_there_is_left_out),
		TEST(a_later_process_of_the_number_is_not_read),
		TEST(threads_that_end_stay_counted),
		TEST(drm_clients_are_counted_once),
		TEST(garbage_is_no_number),
	};
#undef TEST

	return cmocka_run_group_tests_name("usage", tests, NULL, NULL);
}
