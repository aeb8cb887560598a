// SPDX-License-Identifier: MIT
/*
 * A process is pid and start time; the rest here describes it for people. A game of another user
 * hides its executable from a daemon without privileges: then that is said, and the recording goes
 * on.
 *
 * argv is bounded: a command line may be 2 MiB long.
 */
#include "process.h"

#include "build_id.h"
#include "json.h"
#include "machine.h"
#include "procfs.h"
#include "shm/reader.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define ARGV_BYTES_MAX 16384
#define ARGV_MAX       256

int process_stat(int32_t pid, struct process_stat *ret_stat)
{
	const char *state, *start, *exit_code;
	char text[2048];
	long n = procfs_read(text, sizeof(text), "/proc/%d/stat", pid);

	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	state = procfs_stat_field(text, 3);
	start = procfs_stat_field(text, 22);
	exit_code = procfs_stat_field(text, 52);
	if (!state || !start)
		return -EIO;
	ret_stat->state = *state;
	ret_stat->start = strtoull(start, NULL, 10);
	ret_stat->exit_code = exit_code ? atoi(exit_code) : 0;
	return 0;
}

int process_uid(int32_t pid, uint32_t *ret_uid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_uid = st.st_uid;
	return 0;
}

/* The last of "1234	7": that of the innermost namespace. */
static int32_t innermost(const char *ns_pids)
{
	const char *last = strrchr(ns_pids, '\t');

	return atoi(last ? last + 1 : ns_pids);
}

int process_thread(int32_t pid, int32_t tid, struct process_thread *ret_thread)
{
	char text[4096], ids[128];
	long n = procfs_read(text, sizeof(text), "/proc/%d/task/%d/status", pid, tid);

	if (n < 0)
		return (int)n;
	if (procfs_field(text, "Name", ret_thread->name, sizeof(ret_thread->name)) < 0)
		return -ENOENT;
	ret_thread->ns_tid =
		procfs_field(text, "NSpid", ids, sizeof(ids)) == 0 ? innermost(ids) : tid;
	return 0;
}

char *process_boot_id(void)
{
	char id[64];

	if (procfs_read(id, sizeof(id), "/proc/sys/kernel/random/boot_id") <= 0)
		return NULL;
	return strdup(id);
}

/* A malloc'ed copy that is valid UTF-8: names of files may be any bytes. */
static char *utf8_dup(const char *text)
{
	size_t bytes = strlen(text), size = 3 * bytes + 1;
	char *copy = malloc(size);

	if (copy)
		utf8_copy(copy, size, text, bytes);
	return copy;
}

/* Notes that a fact is missing. */
static void unknown(struct json *j, const char *what, int error)
{
	json_member_string(j, what, strerror(-error));
}

static void read_exe(int32_t pid, struct process_facts *facts, struct json *missing)
{
	char path[PATH_MAX], hex[129], link[32];
	_cleanup_close_ int fd = -1;
	long n = procfs_link(path, sizeof(path), "/proc/%d/exe", pid);
	int r;

	if (n < 0) {
		unknown(missing, "exe", (int)n);
		return;
	}
	facts->exe = utf8_dup(path);
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	r = fd < 0 ? -errno : build_id_read(fd, hex, sizeof(hex));
	if (r == 0)
		facts->build_id = strdup(hex);
	else if (r != -ENOENT)
		unknown(missing, "build_id", r);
}

/* What follows the last slash; NULL where nothing does. */
static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && *name ? name : NULL;
}

/* As it was called: the file of a program may have another name (glxgears is a link to
 * glxgears.x86_64-linux-gnu). A shell that logs in is called "-sh". */
static void read_name(int32_t pid, struct process_facts *facts)
{
	char argv0[NAME_MAX + 1], comm[64];
	long n = procfs_read(argv0, sizeof(argv0), "/proc/%d/cmdline", pid);
	const char *name = n > 0 && strlen(argv0) < NAME_MAX ? base_name(argv0) : NULL;

	if (!name || *name == '-')
		name = base_name(facts->exe);
	if (name) {
		facts->name = utf8_dup(name);
		return;
	}
	if (procfs_read(comm, sizeof(comm), "/proc/%d/comm", pid) <= 0)
		snprintf(comm, sizeof(comm), "pid %d", pid);
	facts->name = utf8_dup(comm);
}

static void put_argv(int32_t pid, struct json *j, struct json *missing)
{
	_cleanup_free_ char *text = malloc(ARGV_BYTES_MAX);
	long n = text ? procfs_read(text, ARGV_BYTES_MAX, "/proc/%d/cmdline", pid) : -ENOMEM;
	unsigned count = 0;
	long at;

	json_key(j, "argv");
	if (n < 0) {
		json_null(j);
		unknown(missing, "argv", (int)n);
		return;
	}
	json_array_begin(j);
	for (at = 0; at < n && count < ARGV_MAX; at += (long)strlen(text + at) + 1, count++)
		json_string(j, text + at);
	json_array_end(j);
	if (at < n || n == ARGV_BYTES_MAX - 1)
		json_member_bool(j, "argv_cut", true);
}

static void put_text(struct json *j, const char *key, const char *text)
{
	json_member_string(j, key, text[0] ? text : NULL);
}

static void put_status(int32_t pid, struct process_facts *facts, struct json *j,
		       struct json *missing)
{
	char text[8192], value[1024];
	long n = procfs_read(text, sizeof(text), "/proc/%d/status", pid);

	facts->ns_pid = pid;
	if (n < 0) {
		unknown(missing, "affinity", (int)n);
		return;
	}
	if (procfs_field(text, "Cpus_allowed_list", value, sizeof(value)) == 0)
		put_text(j, "affinity", value);
	if (procfs_field(text, "NSpid", value, sizeof(value)) == 0)
		facts->ns_pid = innermost(value);
}

static void put_machine(struct json *j)
{
	struct machine m;

	machine_read("", &m);
	put_text(j, "kernel", m.kernel);
	put_text(j, "cpu", m.cpu);
	json_member_uint(j, "cpus", m.cpus);
	json_member_uint(j, "tick_ns", m.tick_ns);
	put_text(j, "governor", m.governor);
	json_key(j, "turbo");
	if (m.turbo < 0)
		json_null(j);
	else
		json_bool(j, m.turbo);
	put_text(j, "gpu", m.gpu);
	put_text(j, "gpu_driver", m.gpu_driver);
}

static void put_displays(struct json *j, const struct displays *displays, struct json *missing)
{
	char text[256];

	displays_format(displays, text, sizeof(text));
	put_text(j, "display_hz", text);
	if (displays->count > 0)
		json_member_string(j, "display_source",
				   displays->configured ? "configured" : "drm");
	else
		json_member_string(missing, "display_hz", displays->why_not);
}

int process_facts_read(int32_t pid, const struct displays *displays,
		       struct process_facts *ret_facts)
{
	struct process_facts facts = {0};
	struct json j = {0}, missing = {0};
	_cleanup_free_ char *unknown = NULL;

	json_object_begin(&missing);
	json_object_begin(&j);
	read_exe(pid, &facts, &missing);
	read_name(pid, &facts);
	put_argv(pid, &j, &missing);
	put_status(pid, &facts, &j, &missing);
	put_machine(&j);
	put_displays(&j, displays, &missing);
	json_object_end(&missing);
	unknown = json_text(&missing);
	json_key(&j, "unknown");
	json_raw(&j, unknown);
	json_object_end(&j);
	facts.json = json_text(&j);
	if (!unknown || !facts.json || !facts.name) {
		process_facts_deinit(&facts);
		return -ENOMEM;
	}
	*ret_facts = facts;
	return 0;
}

void process_facts_deinit(struct process_facts *facts)
{
	free(facts->exe);
	free(facts->name);
	free(facts->build_id);
	free(facts->json);
	*facts = (struct process_facts){0};
}
