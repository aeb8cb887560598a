/* SPDX-License-Identifier: MIT */
/*
 * Attached processes, and the two probes on each of their present functions. The probes are in
 * these processes alone (perf events of the process), need no tracefs, and go when their links
 * are destroyed.
 *
 * A pid may become another process's while we look: its directory in /proc is held, and must still
 * be alive after the last probe is in.
 */
#include "present.h"

#include "symbols.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTACHED_MAX  16u
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

extern const uint8_t present_object[], present_object_end[];

struct attached {
	uint32_t tgid;
	struct bpf_link *links[2 * SYMBOLS_POINTS_MAX];
	size_t count;
};

struct present {
	struct source source;
	struct attached all[ATTACHED_MAX];
	size_t count;
};

static void detach(struct attached *a)
{
	size_t i;

	for (i = 0; i < a->count; i++)
		bpf_link__destroy(a->links[i]);
	a->count = 0;
}

static int attach_one(struct present *p, struct attached *a, const char *program, bool at_return,
		      const struct symbols_point *point)
{
	const uint64_t number = a->count / 2 + 1;
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = number << 8 | point->function,
		    .retprobe = at_return);
	struct bpf_link *link;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", point->fd);
	link = bpf_program__attach_uprobe_opts(
		bpf_object__find_program_by_name(p->source.object, program), (pid_t)a->tgid, path,
		point->offset, &options);
	if (!link)
		return -errno;
	a->links[a->count++] = link;
	return 0;
}

/* The return first: a call that is seen to begin is seen to end. */
static int attach_point(struct present *p, struct attached *a, const struct symbols_point *point)
{
	int r = a->count + 2 > ARRAY_SIZE(a->links) ? -ENOSPC : 0;

	if (r == 0)
		r = attach_one(p, a, "fprof_presented", true, point);
	return r == 0 ? attach_one(p, a, "fprof_present", false, point) : r;
}

static int attach(struct present *p, struct attached *a, const struct symbols *symbols)
{
	size_t i;
	int r = 0;

	for (i = 0; i < symbols->count && r == 0; i++)
		if (symbols->points[i].function != SYMBOLS_DRIVER)
			r = attach_point(p, a, &symbols->points[i]);
	return r;
}

static void explain(struct probe_answer *answer, const char *reason, const char *fix)
{
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
	snprintf(answer->fix, sizeof(answer->fix), "%s", fix);
}

static int find(int process, struct symbols *symbols, struct probe_answer *answer)
{
	size_t i;
	int r = symbols_find(process, symbols);

	if (r == -EACCES || r == -EPERM)
		explain(answer,
			"fprof-probe may not see what the process maps: CAP_SYS_PTRACE is needed",
			"sudo systemctl enable --now fprof-probe.socket, which has it");
	for (i = 0; i < symbols->count; i++)
		answer->found |= symbols->points[i].function == SYMBOLS_DRIVER
					 ? PROBE_FOUND_DRIVER
					 : 1u << symbols->points[i].function;
	if (r == 0 && symbols->count == 0)
		r = -ENOENT;
	if (r == -ENOENT)
		explain(answer, "the process has no present function", "");
	return r;
}

static int open_process(uint32_t tgid)
{
	char path[32];
	int process;

	snprintf(path, sizeof(path), "/proc/%u", tgid);
	process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return process < 0 ? -ESRCH : process;
}

static bool is_alive(int process)
{
	struct stat st;

	return fstatat(process, "maps", &st, 0) == 0;
}

static struct attached *attached_of(struct present *p, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < p->count; i++)
		if (p->all[i].tgid == tgid)
			return &p->all[i];
	return NULL;
}

static int present_remove(struct source *source, uint32_t tgid)
{
	struct present *p = (struct present *)source;
	struct attached *a = attached_of(p, tgid);

	if (!a)
		return 0;
	bpf_map_delete_elem(source_map_fd(source, "tgids"), &tgid);
	detach(a);
	*a = p->all[--p->count];
	return 0;
}

static int add(struct present *p, uint32_t tgid, int process, struct probe_answer *answer)
{
	struct attached *a = &p->all[p->count];
	struct symbols symbols;
	uint8_t one = 1;
	int r = find(process, &symbols, answer);

	*a = (struct attached){.tgid = tgid};
	if (r == 0)
		r = attach(p, a, &symbols);
	symbols_deinit(&symbols);
	if (r == 0 && !is_alive(process))
		r = -ESRCH;
	if (r == 0 && bpf_map_update_elem(source_map_fd(&p->source, "tgids"), &tgid, &one, BPF_ANY))
		r = -errno;
	if (r < 0)
		detach(a);
	else
		p->count++;
	return r;
}

/* What is attached under this number already is another process, which is gone. */
static int present_add(struct source *source, uint32_t tgid, struct probe_answer *answer)
{
	struct present *p = (struct present *)source;
	int process, r;

	present_remove(source, tgid);
	if (p->count == ATTACHED_MAX) {
		explain(answer, "too many processes are attached", "fprof detach");
		return -ENOSPC;
	}
	process = open_process(tgid);
	if (process < 0)
		return process;
	r = add(p, tgid, process, answer);
	close(process);
	return r;
}

static int present_point(struct source *source, uint32_t tgid, uint64_t inode, uint64_t offset)
{
	struct present *p = (struct present *)source;
	struct attached *a = attached_of(p, tgid);
	struct symbols_point point = {.function = PRESENT_VULKAN, .offset = offset};
	int process, r;

	if (!a)
		return -ENOENT;
	process = open_process(tgid);
	if (process < 0)
		return process;
	r = symbols_open(process, inode, offset, &point.fd);
	if (r == 0) {
		r = attach_point(p, a, &point);
		close(point.fd);
	}
	close(process);
	return r;
}

static void present_deinit(struct source *source)
{
	struct present *p = (struct present *)source;

	while (p->count > 0)
		detach(&p->all[--p->count]);
}

const struct source_kind present_kind = {
	.object = present_object,
	.object_end = present_object_end,
	.bytes = sizeof(struct present),
	.add = present_add,
	.remove = present_remove,
	.point = present_point,
	.deinit = present_deinit,
};
