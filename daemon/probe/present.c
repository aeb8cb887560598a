/* SPDX-License-Identifier: MIT */
/*
 * Attached processes, and the two probes on each of their present functions. The probes are in
 * these processes alone, and go with us.
 *
 * A pid may become another process's while we look: its directory in /proc is held, and must still
 * be alive after the last probe is in.
 */
#include "present.h"

#include "symbols.h"
#include "uprobe.h"

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
	struct uprobe probes[2 * SYMBOLS_POINTS_MAX];
	size_t count;
};

struct present {
	struct source source;
	bool links; /* as of uprobe.h */
	struct attached all[ATTACHED_MAX];
	size_t count;
};

static void detach(struct attached *a)
{
	size_t i;

	for (i = 0; i < a->count; i++)
		uprobe_detach(&a->probes[i]);
	a->count = 0;
}

static int attach_one(struct present *p, struct attached *a, const char *program, bool at_return,
		      const struct symbols_point *point)
{
	const uint64_t number = a->count / 2 + 1;
	const struct uprobe_place place = {.pid = (pid_t)a->tgid,
					   .fd = point->fd,
					   .offset = point->offset,
					   .at_return = at_return,
					   .cookie = number << 8 | point->function};
	int r = uprobe_attach(bpf_object__find_program_by_name(p->source.object, program), p->links,
			      &place, &a->probes[a->count]);

	if (r == 0)
		a->count++;
	return r;
}

/* The return first: a call that is seen to begin is seen to end. */
static int attach_point(struct present *p, struct attached *a, const struct symbols_point *point)
{
	int r = a->count + 2 > ARRAY_SIZE(a->probes) ? -ENOSPC : 0;

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

static void explain_refusal(const struct present *p, struct probe_answer *answer)
{
	if (p->links)
		explain(answer,
			"the kernel does not permit uprobes (a seccomp filter, a lockdown?)", "");
	else
		explain(answer,
			"kernels before 6.10 ask for CAP_SYS_ADMIN to put probes into a process",
			"run fprofd as root, or give fprof-probe.service CAP_SYS_ADMIN");
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
	answer->unread = symbols->unread;
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
	if ((r == -EACCES || r == -EPERM) && !*answer->reason)
		explain_refusal(p, answer);
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
static int present_add(struct source *source, const struct probe_request *request,
		       struct probe_answer *answer)
{
	struct present *p = (struct present *)source;
	uint32_t tgid = (uint32_t)request->pid;
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

static int present_point(struct source *source, const struct probe_request *q)
{
	const struct symbols_place place = {q->major, q->minor, q->inode, q->offset};
	struct symbols_point point = {.function = PRESENT_VULKAN, .offset = q->offset};
	struct present *p = (struct present *)source;
	struct attached *a = attached_of(p, (uint32_t)q->pid);
	int process, r;

	if (!a)
		return -ENOENT;
	process = open_process(a->tgid);
	if (process < 0)
		return process;
	r = symbols_open(process, &place, &point.fd);
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

static int present_configure(struct source *source)
{
	struct present *p = (struct present *)source;
	struct bpf_program *program;

	p->links = uprobe_has_links();
	bpf_object__for_each_program(program, source->object)
	{
		if (p->links && bpf_program__type(program) == BPF_PROG_TYPE_KPROBE)
			uprobe_prepare(program);
	}
	return 0;
}

const struct source_kind present_kind = {
	.object = present_object,
	.object_end = present_object_end,
	.bytes = sizeof(struct present),
	.configure = present_configure,
	.add = present_add,
	.remove = present_remove,
	.point = present_point,
	.deinit = present_deinit,
};
