/* SPDX-License-Identifier: MIT */
/*
 * Loading asks for CAP_BPF (maps, programs) and CAP_PERFMON (tracepoints, uprobes, reading kernel
 * memory). What is loaded is what was built with this program.
 */
#include "source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int be_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("FPROF_PROBE_DEBUG") ? vfprintf(stderr, format, args)
								   : 0;
}

/* BTF tracepoints attach themselves; uprobes wait for a process, iterators for whoever runs them.
 */
static int attach(struct source *s)
{
	struct bpf_program *program;
	int n = 0;

	bpf_object__for_each_program(program, s->object)
	{
		if (bpf_program__type(program) != BPF_PROG_TYPE_TRACING ||
		    bpf_program__expected_attach_type(program) == BPF_TRACE_ITER)
			continue;
		if (n == SOURCE_LINKS_MAX)
			return -EINVAL;
		s->links[n] = bpf_program__attach(program);
		if (!s->links[n])
			return -errno;
		n++;
	}
	return 0;
}

static int load(struct source *s)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "fprof");
	const struct source_kind *kind = s->kind;
	int r = 0;

	s->object = bpf_object__open_mem(kind->object, (size_t)(kind->object_end - kind->object),
					 &options);
	if (!s->object)
		return -errno;
	if (kind->configure)
		r = kind->configure(s);
	if (r == 0)
		r = bpf_object__load(s->object);
	return r == 0 ? attach(s) : r;
}

int source_new(const struct source_kind *kind, struct source **ret_source, struct why *ret_why)
{
	struct source *s = calloc(1, kind->bytes);
	int r;

	*ret_why = (struct why){"out of memory", ""};
	if (!s)
		return -ENOMEM;
	s->kind = kind;
	libbpf_set_print(be_quiet);
	r = load(s);
	if (r < 0) {
		*ret_why = why_refused(r);
		source_free(s);
		return r;
	}
	*ret_source = s;
	return 0;
}

void source_free(struct source *source)
{
	int i;

	if (!source)
		return;
	if (source->kind->deinit)
		source->kind->deinit(source);
	for (i = 0; i < SOURCE_LINKS_MAX; i++)
		bpf_link__destroy(source->links[i]);
	bpf_object__close(source->object);
	free(source);
}

int source_map_fd(const struct source *source, const char *name)
{
	return bpf_object__find_map_fd_by_name(source->object, name);
}

uint32_t source_ring_bytes(const struct source *source)
{
	return bpf_map__max_entries(bpf_object__find_map_by_name(source->object, "events"));
}
