/* SPDX-License-Identifier: MIT */
/*
 * Formats: proc(5) for stat, statm, io and status; the kernel's Documentation/gpu/drm-usage-stats
 * for fdinfo. What a system does not have is left out: a counter that is missing is told apart
 * from one that is 0.
 *
 * Context switches are the kernel's per thread: a process's are the sum over its threads, those
 * that have ended included as they were when last seen.
 */
#include "usage.h"

#include "pmu.h"
#include "procfs.h"
#include "shm/layout.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 4096u
#define FDS_MAX	    4096u
#define CPUS_MAX    1024u
#define DRM_MAX	    32u /* clients, engines, regions of one process */

/* One call's output. */
struct out {
	usage_fn fn;
	void *userdata;
	int r;
};

static void put(struct out *o, const char *name, const char *module, const char *source,
		uint8_t unit, bool cumulative, uint64_t value)
{
	const struct usage_value v = {name, module,	source,
				      unit, cumulative, (int64_t)MIN(value, (uint64_t)INT64_MAX)};

	if (o->r >= 0)
		o->r = o->fn(o->userdata, &v);
}

void usage_init(struct usage *usage, int32_t pid, uint64_t start)
{
	*usage = (struct usage){.proc = "/proc", .pid = pid, .start = start};
}

void usage_deinit(struct usage *usage)
{
	VEC_FREE(&usage->threads);
}

static uint64_t stat_number(const char *text, unsigned field)
{
	const char *p = procfs_stat_field(text, field);

	return p ? strtoull(p, NULL, 10) : 0;
}

static int put_stat(struct usage *u, struct out *o)
{
	uint64_t ticks = MAX((uint64_t)sysconf(_SC_CLK_TCK), UINT64_C(1));
	static const char source[] = "/proc/PID/stat";
	char text[1024];

	if (procfs_read(text, sizeof(text), "%s/%d/stat", u->proc, u->pid) < 0 ||
	    !procfs_stat_field(text, 3) || (u->start && stat_number(text, 22) != u->start))
		return -ESRCH;
	put(o, "cpu_time", "cpu", source, FPROF_UNIT_MS, true,
	    (stat_number(text, 14) + stat_number(text, 15)) * 1000 / ticks);
	put(o, "threads", "cpu", source, FPROF_UNIT_COUNT, false, stat_number(text, 20));
	put(o, "minor_faults", "memory", source, FPROF_UNIT_COUNT, true, stat_number(text, 10));
	put(o, "major_faults", "memory", source, FPROF_UNIT_COUNT, true, stat_number(text, 12));
	return 0;
}

static void put_memory(const struct usage *u, struct out *o)
{
	uint64_t pages, resident, page = (uint64_t)sysconf(_SC_PAGESIZE);
	char text[128];

	if (procfs_read(text, sizeof(text), "%s/%d/statm", u->proc, u->pid) > 0 &&
	    sscanf(text, "%" SCNu64 " %" SCNu64, &pages, &resident) == 2)
		put(o, "resident_bytes", "memory", "/proc/PID/statm", FPROF_UNIT_BYTES, false,
		    resident * page);
}

static bool read_field(const char *text, const char *key, uint64_t *ret_value)
{
	char value[64];

	if (procfs_field(text, key, value, sizeof(value)) < 0 || !isdigit((unsigned char)*value))
		return false;
	*ret_value = strtoull(value, NULL, 10);
	return true;
}

/* What the process had storage do. Another user's io cannot be read: then there is none. */
static void put_io(const struct usage *u, struct out *o)
{
	static const char source[] = "/proc/PID/io";
	char text[512];
	uint64_t v;

	if (procfs_read(text, sizeof(text), "%s/%d/io", u->proc, u->pid) < 0)
		return;
	if (read_field(text, "read_bytes", &v))
		put(o, "read_bytes", "assets", source, FPROF_UNIT_BYTES, true, v);
	if (read_field(text, "write_bytes", &v))
		put(o, "written_bytes", "assets", source, FPROF_UNIT_BYTES, true, v);
}

/* ---- context switches ---- */

static struct usage_thread *thread_of(struct usage *u, int32_t tid)
{
	size_t i;

	for (i = 0; i < u->threads.count; i++)
		if (u->threads.at[i].tid == tid)
			return &u->threads.at[i];
	if (u->threads.count == THREADS_MAX ||
	    VEC_PUSH(&u->threads, ((struct usage_thread){.tid = tid})) < 0)
		return NULL;
	return &u->threads.at[u->threads.count - 1];
}

/* The game's own number for a thread is the last one. */
static int32_t own_tid(const char *status, int32_t tid)
{
	char ids[128] = "";
	const char *last;

	if (procfs_field(status, "NSpid", ids, sizeof(ids)) < 0)
		return tid;
	last = strrchr(ids, '\t');
	return atoi(last ? last + 1 : ids);
}

static void note_marking(struct usage *u, int32_t tid, const char *status)
{
	int32_t own = u->marking_count > 0 ? own_tid(status, tid) : 0;
	uint32_t i;

	for (i = 0; i < u->marking_count; i++)
		if (u->marking[i].tid == own)
			u->marking[i].host_tid = tid;
}

static void read_thread(struct usage *u, int32_t tid)
{
	struct usage_thread *t = thread_of(u, tid);
	uint64_t voluntary, involuntary;
	char text[2048];

	if (u->pmu)
		pmu_see(u->pmu, tid);
	if (!t || procfs_read(text, sizeof(text), "%s/%d/task/%d/status", u->proc, u->pid, tid) < 0)
		return;
	note_marking(u, tid, text);
	if (!read_field(text, "voluntary_ctxt_switches", &voluntary) ||
	    !read_field(text, "nonvoluntary_ctxt_switches", &involuntary))
		return;
	t->seen = true;
	t->voluntary = MAX(t->voluntary, voluntary);
	t->involuntary = MAX(t->involuntary, involuntary);
}

/* Moves what was not seen this time to the threads that have ended, and sums up. */
static void sum_threads(struct usage *u, uint64_t *ret_voluntary, uint64_t *ret_involuntary)
{
	size_t i, kept = 0;

	for (i = 0; i < u->threads.count; i++) {
		struct usage_thread t = u->threads.at[i];

		if (!t.seen) {
			u->gone_voluntary += t.voluntary;
			u->gone_involuntary += t.involuntary;
			continue;
		}
		*ret_voluntary += t.voluntary;
		*ret_involuntary += t.involuntary;
		t.seen = false;
		u->threads.at[kept++] = t;
	}
	u->threads.count = kept;
	*ret_voluntary += u->gone_voluntary;
	*ret_involuntary += u->gone_involuntary;
}

static void put_switches(struct usage *u, struct out *o)
{
	static const char source[] = "/proc/PID/task/TID/status";
	uint64_t voluntary = 0, involuntary = 0;
	struct dirent *entry;
	char path[128];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/task", u->proc, u->pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			read_thread(u, atoi(entry->d_name));
	closedir(dir);
	if (u->pmu && o->r >= 0)
		o->r = pmu_read(u->pmu, o->fn, o->userdata);
	sum_threads(u, &voluntary, &involuntary);
	put(o, "voluntary_switches", "cpu", source, FPROF_UNIT_COUNT, true, voluntary);
	put(o, "involuntary_switches", "cpu", source, FPROF_UNIT_COUNT, true, involuntary);
}

/* ---- threads that mark frames ---- */

void usage_set_marking(struct usage *usage, const int32_t *tids, uint32_t count)
{
	uint32_t i;

	usage->marking_count = MIN(count, USAGE_MARKING_MAX);
	for (i = 0; i < usage->marking_count; i++)
		if (usage->marking[i].tid != tids[i])
			usage->marking[i] = (struct usage_marking){.tid = tids[i]};
}

int32_t usage_host_tid(const char *proc, int32_t pid, int32_t tid)
{
	char text[2048];

	return procfs_read(text, sizeof(text), "%s/%d/task/%d/status", proc, pid, tid) > 0 &&
			       own_tid(text, tid) == tid
		       ? tid
		       : 0;
}

void usage_marking_close(struct usage_marking *thread)
{
	if (thread->fd > 0)
		close(thread->fd);
	thread->fd = -1;
}

int usage_ran(const char *proc, int32_t pid, struct usage_marking *thread, int64_t *ret_ns)
{
	char text[128];
	ssize_t n;

	if (thread->fd < 0 || thread->host_tid == 0)
		return -ESRCH;
	if (thread->fd == 0) {
		snprintf(text, sizeof(text), "%s/%d/task/%d/schedstat", proc, pid,
			 thread->host_tid);
		thread->fd = open(text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	n = thread->fd > 0 ? pread(thread->fd, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0) {
		usage_marking_close(thread);
		return -ESRCH;
	}
	text[n] = '\0';
	if (!isdigit((unsigned char)*text))
		return -EIO;
	*ret_ns = (int64_t)MIN(strtoull(text, NULL, 10), (unsigned long long)INT64_MAX);
	return 0;
}

/* ---- the CPUs' frequency ---- */

uint64_t usage_frequency(const char *sys)
{
	uint64_t sum = 0, n = 0;
	char text[64];

	for (; n < CPUS_MAX; n++) {
		if (procfs_read(text, sizeof(text),
				"%s/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", sys,
				(unsigned)n) < 0)
			break;
		sum += strtoull(text, NULL, 10);
	}
	return n > 0 ? sum / n / 1000 : 0;
}

/* ---- DRM ---- */

struct drm_sum {
	char name[USAGE_NAME_MAX];
	uint8_t unit;
	bool cumulative;
	uint64_t value;
};

struct drm {
	char clients[DRM_MAX][64];
	size_t client_count;
	struct drm_sum sums[DRM_MAX];
	size_t count;
};

/* A process may have one client open several times. */
static bool is_new_client(struct drm *d, const char *text)
{
	char id[24] = "", device[32] = "", client[64];
	size_t i;

	procfs_field(text, "drm-client-id", id, sizeof(id));
	procfs_field(text, "drm-pdev", device, sizeof(device));
	snprintf(client, sizeof(client), "%s %s", device, id);
	for (i = 0; i < d->client_count; i++)
		if (!strcmp(d->clients[i], client))
			return false;
	if (d->client_count == DRM_MAX)
		return false;
	memcpy(d->clients[d->client_count++], client, sizeof(client));
	return true;
}

static void drm_add(struct drm *d, const char *prefix, const char *what, size_t bytes, uint8_t unit,
		    bool cumulative, uint64_t value)
{
	char name[USAGE_NAME_MAX];
	size_t i;

	snprintf(name, sizeof(name), "%s%.*s", prefix, (int)MIN(bytes, (size_t)24), what);
	for (i = 0; i < d->count; i++) {
		if (strcmp(d->sums[i].name, name) != 0)
			continue;
		d->sums[i].value += value;
		return;
	}
	if (d->count == DRM_MAX)
		return;
	memcpy(d->sums[d->count].name, name, sizeof(name));
	d->sums[d->count].unit = unit;
	d->sums[d->count].cumulative = cumulative;
	d->sums[d->count++].value = value;
}

static uint64_t scaled(const char *value)
{
	char *end;
	uint64_t v = strtoull(value, &end, 10);

	end += strspn(end, " \t");
	return strncmp(end, "KiB", 3) == 0 ? v << 10 : strncmp(end, "MiB", 3) == 0 ? v << 20 : v;
}

/* One line, "drm-engine-render: 123 ns" or "drm-resident-vram0: 12 KiB". */
static void drm_line(struct drm *d, const char *line, bool resident)
{
	static const char engine[] = "drm-engine-", capacity[] = "drm-engine-capacity-",
			  in_use[] = "drm-resident-", legacy[] = "drm-memory-";
	const char *colon = strchr(line, ':'), *key;

	if (!colon)
		return;
	if (strncmp(line, engine, strlen(engine)) == 0 &&
	    strncmp(line, capacity, strlen(capacity)) != 0) {
		key = line + strlen(engine);
		drm_add(d, "gpu_busy_", key, (size_t)(colon - key), FPROF_UNIT_MS, true,
			strtoull(colon + 1, NULL, 10) / 1000000);
	} else if (!strncmp(line, in_use, strlen(in_use))) {
		key = line + strlen(in_use);
		drm_add(d, "gpu_memory_", key, (size_t)(colon - key), FPROF_UNIT_BYTES, false,
			scaled(colon + 1));
	} else if (!resident && !strncmp(line, legacy, strlen(legacy))) {
		key = line + strlen(legacy);
		drm_add(d, "gpu_memory_", key, (size_t)(colon - key), FPROF_UNIT_BYTES, false,
			scaled(colon + 1));
	}
}

static void drm_read(struct drm *d, const char *text)
{
	bool resident = strstr(text, "drm-resident-");
	const char *line, *next;

	if (!strstr(text, "drm-driver:") || !is_new_client(d, text))
		return;
	for (line = text; line && *line; line = next ? next + 1 : NULL) {
		next = strchr(line, '\n');
		drm_line(d, line, resident);
	}
}

static void drm_scan(const struct usage *u, struct drm *d)
{
	char path[128], target[64], text[4096];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%d/fd", u->proc, u->pid);
	dir = opendir(path);
	while (dir && n < FDS_MAX && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		n++;
		if (procfs_link(target, sizeof(target), "%s/%d/fd/%s", u->proc, u->pid,
				entry->d_name) > 0 &&
		    !strncmp(target, "/dev/dri/", 9) &&
		    procfs_read(text, sizeof(text), "%s/%d/fdinfo/%s", u->proc, u->pid,
				entry->d_name) > 0)
			drm_read(d, text);
	}
	if (dir)
		closedir(dir);
}

static void put_drm(const struct usage *u, struct out *o)
{
	struct drm d = {0};
	size_t i;

	drm_scan(u, &d);
	for (i = 0; i < d.count; i++)
		put(o, d.sums[i].name, "gpu", "DRM fdinfo", d.sums[i].unit, d.sums[i].cumulative,
		    d.sums[i].value);
}

int usage_read(struct usage *usage, uint64_t cpu_mhz, usage_fn fn, void *userdata)
{
	struct out o = {fn, userdata, 0};
	int r = put_stat(usage, &o);

	if (r < 0)
		return r;
	put_memory(usage, &o);
	put_io(usage, &o);
	put_switches(usage, &o);
	if (cpu_mhz > 0)
		put(&o, "cpu_mhz", "cpu", "cpufreq, mean of all CPUs", FPROF_UNIT_COUNT, false,
		    cpu_mhz);
	put_drm(usage, &o);
	return MIN(o.r, 0);
}
