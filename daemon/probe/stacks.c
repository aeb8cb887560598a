// SPDX-License-Identifier: MIT
/*
 * Sampled processes, each with a clock event on every CPU that is online: nothing ticks while there
 * is none. A CPU that comes later has no event.
 *
 * The period is not touched by the kernel's limit on rates, but a limit below it would have the
 * kernel leave out ticks without a word: then nothing is sampled, and it is said.
 */
#include "stacks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SAMPLED_MAX   16u
#define PERIOD_NS_MIN UINT64_C(50000)
#define PERIOD_NS_MAX UINT64_C(1000000000)

extern const uint8_t stacks_object[], stacks_object_end[];

struct sampled {
	uint32_t tgid;
	struct bpf_link **links; /* by CPU; NULL: it has none */
	int cpus;
};

struct stacks {
	struct source source;
	struct sampled all[SAMPLED_MAX];
	size_t count;
};

static void let_go(struct sampled *s)
{
	int i;

	for (i = 0; i < s->cpus; i++)
		bpf_link__destroy(s->links[i]);
	free(s->links);
	*s = (struct sampled){0};
}

static int open_event(int cpu, uint64_t period_ns)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
		.exclude_idle = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* 0 (the CPU may be offline) or -errno. */
static int hang_on(const struct stacks *stacks, struct sampled *s, int cpu, uint64_t period_ns)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = s->tgid);
	struct bpf_program *program =
		bpf_object__find_program_by_name(stacks->source.object, "fprof_sample");
	int r, fd = open_event(cpu, period_ns);

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	s->links[cpu] = bpf_program__attach_perf_event_opts(program, fd, &options);
	if (s->links[cpu])
		return 0;
	r = -errno;
	close(fd);
	return r;
}

static int hang_on_all(const struct stacks *stacks, struct sampled *s, uint64_t period_ns)
{
	int i, r = 0;

	s->cpus = libbpf_num_possible_cpus();
	if (s->cpus <= 0)
		return -EIO;
	s->links = calloc((size_t)s->cpus, sizeof(struct bpf_link *));
	if (!s->links) {
		s->cpus = 0;
		return -ENOMEM;
	}
	for (i = 0; i < s->cpus && r == 0; i++)
		r = hang_on(stacks, s, i, period_ns);
	return r;
}

/* Samples a second that the kernel lets an event take; 0: not known. */
static unsigned rate_limit(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned rate = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &rate) != 1)
		rate = 0;
	fclose(f);
	return rate;
}

static void explain(struct probe_answer *answer, const char *reason, const char *fix)
{
	snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
	snprintf(answer->fix, sizeof(answer->fix), "%s", fix);
}

static void explain_refusal(struct probe_answer *answer, int error)
{
	struct why why;

	if (error == -EOPNOTSUPP || error == -EINVAL) {
		explain(answer, "clock events with a cookie need Linux 5.15", "");
	} else if (error == -EMFILE) {
		explain(answer, "an event for each CPU is more files than fprof-probe may open",
			"LimitNOFILE=65536 in fprof-probe.service");
	} else if (error == -EPERM || error == -EACCES) {
		why = why_refused(error);
		explain(answer, why.reason, why.fix);
	}
}

static int check(const struct stacks *stacks, uint64_t period_ns, struct probe_answer *answer)
{
	unsigned limit = rate_limit();

	if (period_ns < PERIOD_NS_MIN || period_ns > PERIOD_NS_MAX)
		return -EINVAL;
	if (stacks->count == SAMPLED_MAX) {
		explain(answer, "too many processes are sampled", "fprof sampling off");
		return -ENOSPC;
	}
	if (limit && limit < UINT64_C(1000000000) / period_ns) {
		explain(answer, "the kernel lets events come less often than that",
			"sudo sysctl kernel.perf_event_max_sample_rate=100000");
		return -ERANGE;
	}
	return 0;
}

static int stacks_remove(struct source *source, uint32_t tgid)
{
	struct stacks *stacks = (struct stacks *)source;
	size_t i;

	for (i = 0; i < stacks->count; i++) {
		if (stacks->all[i].tgid != tgid)
			continue;
		let_go(&stacks->all[i]);
		stacks->all[i] = stacks->all[--stacks->count];
		return 0;
	}
	return 0;
}

/* Again is fine: with another period. */
static int stacks_add(struct source *source, const struct probe_request *request,
		      struct probe_answer *answer)
{
	struct stacks *stacks = (struct stacks *)source;
	struct sampled s = {.tgid = (uint32_t)request->pid};
	int r;

	stacks_remove(source, s.tgid);
	r = check(stacks, request->period_ns, answer);
	if (r < 0)
		return r;
	r = hang_on_all(stacks, &s, request->period_ns);
	if (r < 0) {
		explain_refusal(answer, r);
		let_go(&s);
		return r;
	}
	stacks->all[stacks->count++] = s;
	return 0;
}

static void stacks_deinit(struct source *source)
{
	struct stacks *stacks = (struct stacks *)source;

	while (stacks->count > 0)
		let_go(&stacks->all[--stacks->count]);
}

/* Two files for each CPU and process. */
static int stacks_configure(struct source *source)
{
	struct rlimit files;

	(void)source;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	return 0;
}

const struct source_kind stacks_kind = {
	.object = stacks_object,
	.object_end = stacks_object_end,
	.bytes = sizeof(struct stacks),
	.configure = stacks_configure,
	.maps = true,
	.add = stacks_add,
	.remove = stacks_remove,
	.deinit = stacks_deinit,
};
