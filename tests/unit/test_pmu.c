/* SPDX-License-Identifier: MIT */
/*
 * Groups of events of threads, with events of the kernel's own in place of the hardware's: a thread
 * that touches so many new pages has so many page faults, on every machine.
 */
#include "daemon/pmu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 1000u
#define SLACK 200u /* faults of the thread's own */

/* All faults are minor ones here. */
static const struct pmu_events faults = {
	.groups = {{.events = {{"cycles", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
			       {"instructions", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
			       {"cache_misses", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ}},
		    .count = 3}},
	.count = 1,
};

struct told {
	char names[16][USAGE_NAME_MAX];
	int64_t values[16];
	size_t count;
};

static int tell(void *userdata, const struct usage_value *v)
{
	struct told *told = userdata;

	assert_true(told->count < 16);
	assert_string_equal(v->module, "cpu");
	assert_false(v->cumulative);
	snprintf(told->names[told->count], USAGE_NAME_MAX, "%s", v->name);
	told->values[told->count++] = v->value;
	return 0;
}

static int tell_those_of_pmu(void *userdata, const struct usage_value *v)
{
	return strstr(v->source, "perf_event_open") ? tell(userdata, v) : 0;
}

/* As last told; -1: it was not. */
static int64_t value(const struct told *told, const char *name)
{
	int64_t found = -1;
	size_t i;

	for (i = 0; i < told->count; i++)
		if (!strcmp(told->names[i], name))
			found = told->values[i];
	return found;
}

struct toucher {
	pthread_t thread;
	sem_t ready, go, touched, leave;
	int32_t tid;
};

static void *touch(void *userdata)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;
	struct toucher *t = userdata;
	char *memory;

	t->tid = (int32_t)syscall(SYS_gettid);
	sem_post(&t->ready);
	sem_wait(&t->go);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory != MAP_FAILED) {
		madvise(memory, PAGES * page, MADV_NOHUGEPAGE);
		for (i = 0; i < PAGES; i++)
			memory[i * page] = 1;
		munmap(memory, PAGES * page);
	}
	sem_post(&t->touched);
	sem_wait(&t->leave);
	return NULL;
}

static void begin(struct toucher *t)
{
	sem_init(&t->ready, 0, 0);
	sem_init(&t->go, 0, 0);
	sem_init(&t->touched, 0, 0);
	sem_init(&t->leave, 0, 0);
	assert_int_equal(pthread_create(&t->thread, NULL, touch, t), 0);
	sem_wait(&t->ready);
}

static void run(struct toucher *t)
{
	sem_post(&t->go);
	sem_wait(&t->touched);
}

static void end(struct toucher *t)
{
	sem_post(&t->leave);
	pthread_join(t->thread, NULL);
}

static unsigned descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* perf_event_open may be forbidden altogether. */
static bool is_permitted(const struct pmu *pmu)
{
	if (pmu->threads.count > 0)
		return true;
	print_message("skipped: perf_event_open is not permitted here\n");
	return false;
}

static void test_what_a_thread_did_since_the_reading_before(void **state)
{
	struct told first = {0}, second = {0}, third = {0};
	struct toucher t;
	struct pmu pmu;

	(void)state;
	pmu_init(&pmu, &faults);
	begin(&t);
	pmu_see(&pmu, t.tid);
	if (!is_permitted(&pmu)) {
		run(&t);
		end(&t);
		pmu_deinit(&pmu);
		skip();
	}
	assert_int_equal(pmu_read(&pmu, tell, &first), 0);
	assert_int_equal(value(&first, "pmu_threads"), 1);
	pmu_see(&pmu, t.tid);
	run(&t);
	assert_int_equal(pmu_read(&pmu, tell, &second), 0);
	assert_in_range(pmu.grown[0][0], PAGES, PAGES + SLACK);
	assert_int_equal(value(&second, "instructions_per_1000_cycles"), 1000);
	assert_int_equal(value(&second, "cache_misses_per_million_instructions"), 0);
	assert_int_equal(value(&second, "branch_misses_per_million_instructions"), -1);
	assert_int_equal(value(&second, "pmu_coverage"), 100);
	/* it waits now: nothing was counted, and nothing is told */
	pmu_see(&pmu, t.tid);
	assert_int_equal(pmu_read(&pmu, tell, &third), 0);
	pmu_see(&pmu, t.tid);
	third.count = 0;
	assert_int_equal(pmu_read(&pmu, tell, &third), 0);
	assert_int_equal(value(&third, "pmu_threads"), 1);
	assert_int_equal(value(&third, "instructions_per_1000_cycles"), -1);
	assert_int_equal(value(&third, "pmu_coverage"), -1);
	end(&t);
	pmu_deinit(&pmu);
}

static void test_a_thread_that_ended_is_counted_to_its_end(void **state)
{
	unsigned before = descriptors();
	struct told told = {0};
	struct toucher t;
	struct pmu pmu;

	(void)state;
	pmu_init(&pmu, &faults);
	begin(&t);
	pmu_see(&pmu, t.tid);
	if (!is_permitted(&pmu)) {
		run(&t);
		end(&t);
		pmu_deinit(&pmu);
		skip();
	}
	assert_int_equal(pmu_read(&pmu, tell, &told), 0);
	run(&t);
	end(&t);
	told.count = 0;
	assert_int_equal(pmu_read(&pmu, tell, &told), 0);
	assert_in_range(pmu.grown[0][0], PAGES, PAGES + SLACK);
	assert_int_equal(value(&told, "pmu_threads"), 0);
	assert_int_equal(value(&told, "instructions_per_1000_cycles"), 1000);
	assert_int_equal(descriptors(), before);
	/* and not once more */
	told.count = 0;
	assert_int_equal(pmu_read(&pmu, tell, &told), 0);
	assert_int_equal(value(&told, "instructions_per_1000_cycles"), -1);
	pmu_see(&pmu, t.tid); /* no such thread any more */
	assert_int_equal(pmu.threads.count, 0);
	pmu_deinit(&pmu);
}

/* As the sampler does it: the threads are those that the kernel lists. */
static void test_all_threads_of_a_process(void **state)
{
	struct told told = {0};
	struct usage usage;
	struct toucher t;
	struct pmu pmu;

	(void)state;
	usage_init(&usage, getpid(), 0);
	pmu_init(&pmu, &faults);
	usage.pmu = &pmu;
	begin(&t);
	assert_int_equal(usage_read(&usage, 0, tell_those_of_pmu, &told), 0);
	run(&t);
	if (pmu.threads.count > 0) {
		assert_int_equal(usage_read(&usage, 0, tell_those_of_pmu, &told), 0);
		assert_int_equal(value(&told, "pmu_threads"), 2);
		assert_true(pmu.grown[0][0] >= PAGES);
	}
	end(&t);
	usage_deinit(&usage);
	pmu_deinit(&pmu);
}

/* ---- what there is ---- */

static void put(const char *root, const char *name, const char *text)
{
	char path[192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/bus/event_source/devices/cpu/%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_topdown_as_the_kernel_names_it(void **state)
{
	static const char *const made[] = {"bus", "bus/event_source", "bus/event_source/devices",
					   "bus/event_source/devices/cpu",
					   "bus/event_source/devices/cpu/events"};
	char root[] = "/tmp/fprof-pmu-XXXXXX", path[192];
	struct pmu_group group;
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_false(pmu_find_topdown(root, &group));
	for (i = 0; i < ARRAY_SIZE(made); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, made[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	put(root, "type", "4\n");
	put(root, "events/slots", "event=0x00,umask=0x4\n");
	put(root, "events/topdown-retiring", "event=0x00,umask=0x80\n");
	put(root, "events/topdown-bad-spec", "event=0x00,umask=0x81\n");
	put(root, "events/topdown-fe-bound", "event=0x00,umask=0x82\n");
	assert_false(pmu_find_topdown(root, &group));
	put(root, "events/topdown-be-bound", "event=0x00,umask=0x83,any=1\n");
	assert_true(pmu_find_topdown(root, &group));
	assert_int_equal(group.count, 5);
	assert_string_equal(group.events[0].name, "slots");
	assert_int_equal(group.events[0].type, 4);
	assert_int_equal(group.events[0].config, 0x400);
	assert_string_equal(group.events[4].name, "backend_bound");
	assert_int_equal(group.events[4].config, 0x8300);
	put(root, "events/topdown-be-bound", "config=0x1\n");
	assert_false(pmu_find_topdown(root, &group));
	snprintf(path, sizeof(path), "rm -r %s", root);
	assert_int_equal(system(path), 0);
}

static void test_the_source_says_why(void **state)
{
	static const struct {
		int found;
		bool is_wanted;
		enum source_state state;
		const char *reason;
	} cases[] = {
		{0, true, SOURCE_ON, ""},
		{0, false, SOURCE_OFF, "not asked for"},
		{-ENOENT, true, SOURCE_UNAVAILABLE, "no hardware counters"},
		{-EACCES, true, SOURCE_UNAVAILABLE, "perf_event_paranoid"},
		{-EPERM, true, SOURCE_UNAVAILABLE, "seccomp"},
		{-EINVAL, true, SOURCE_UNAVAILABLE, "refuses"},
	};
	struct status_snapshot *snapshot = malloc(sizeof(*snapshot));
	struct status *status = status_new();
	size_t i;

	(void)state;
	assert_non_null(snapshot);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pmu_tell(status, cases[i].found, cases[i].is_wanted ? NULL : "turn it on");
		status_snapshot(status, snapshot);
		assert_int_equal(snapshot->source_count, 1);
		assert_int_equal(snapshot->sources[0].state, cases[i].state);
		assert_non_null(strstr(snapshot->sources[0].reason, cases[i].reason));
		assert_true(cases[i].is_wanted ||
			    strcmp(snapshot->sources[0].fix, "turn it on") == 0);
	}
	status_free(status);
	free(snapshot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_thread_did_since_the_reading_before),
		cmocka_unit_test(test_a_thread_that_ended_is_counted_to_its_end),
		cmocka_unit_test(test_all_threads_of_a_process),
		cmocka_unit_test(test_topdown_as_the_kernel_names_it),
		cmocka_unit_test(test_the_source_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
