/* SPDX-License-Identifier: MIT */
/*
 * Loading asks for CAP_BPF (maps, programs) and CAP_PERFMON (BTF tracepoints, reading kernel
 * memory); nothing else is privileged here. The object is inside this program: what is loaded is
 * what was built with it.
 *
 * A tgid's bit in the bitmap may be shared by others: it is cleared only when no recorded tgid has
 * it.
 */
#include "sched.h"

#include "event.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BITS	  (1u << 15)
#define PROGRAMS  4
#define TGIDS_MAX 1024u

extern const uint8_t sched_object[], sched_object_end[];

struct sched {
	struct bpf_object *object;
	struct bpf_link *links[PROGRAMS];
	struct bpf_map *bitmap;
	uint64_t bits[BITS / 64];
	uint32_t tgids[TGIDS_MAX];
	size_t count;
};

static int be_quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return level == LIBBPF_WARN && getenv("FPROF_PROBE_DEBUG") ? vfprintf(stderr, format, args)
								   : 0;
}

/* Has the tracepoint a previous state as its last argument? Of the prototype in the kernel's BTF:
 * its parameters are those of the tracepoint and one in front. */
static bool has_prev_state(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	while (t && (btf_is_typedef(t) || btf_is_ptr(t)))
		t = btf__type_by_id(btf, t->type);
	return t && btf_is_func_proto(t) && btf_vlen(t) >= 5;
}

static int configure(struct sched *s)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_map *rodata = bpf_object__find_map_by_name(s->object, ".rodata");
	bool value;
	size_t bytes = 0;

	if (!btf)
		return -ENOENT;
	value = has_prev_state(btf);
	btf__free(btf);
	if (!rodata || !bpf_map__initial_value(rodata, &bytes) || bytes != sizeof(value))
		return -EINVAL;
	return bpf_map__set_initial_value(rodata, &value, sizeof(value));
}

static int attach(struct sched *s)
{
	struct bpf_program *program;
	int n = 0;

	bpf_object__for_each_program(program, s->object)
	{
		if (n == PROGRAMS)
			return -EINVAL;
		s->links[n] = bpf_program__attach(program);
		if (!s->links[n])
			return -errno;
		n++;
	}
	return 0;
}

static void explain(int r, const char **ret_why, const char **ret_fix)
{
	*ret_fix = NULL;
	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0) {
		*ret_why = "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)";
	} else if (r == -EPERM || r == -EACCES) {
		*ret_why = "BPF programs are not permitted: CAP_BPF and CAP_PERFMON are needed, "
			   "and no lockdown";
		*ret_fix = "sudo setcap cap_bpf,cap_perfmon+ep $(command -v fprof-probe)";
	} else {
		*ret_why = "the kernel refuses the program (FPROF_PROBE_DEBUG=1 fprof-probe says "
			   "more)";
	}
}

static int load(struct sched *s)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "fprof");
	int r;

	s->object = bpf_object__open_mem(sched_object, (size_t)(sched_object_end - sched_object),
					 &options);
	if (!s->object)
		return -errno;
	r = configure(s);
	if (r == 0)
		r = bpf_object__load(s->object);
	if (r == 0)
		r = attach(s);
	s->bitmap = bpf_object__find_map_by_name(s->object, ".bss");
	return r == 0 && (!s->bitmap || bpf_map__value_size(s->bitmap) != sizeof(s->bits)) ? -EINVAL
											   : r;
}

int sched_new(struct sched **ret_sched, const char **ret_why, const char **ret_fix)
{
	struct sched *s = calloc(1, sizeof(*s));
	int r;

	*ret_why = "out of memory";
	*ret_fix = NULL;
	if (!s)
		return -ENOMEM;
	libbpf_set_print(be_quiet);
	r = load(s);
	if (r < 0) {
		explain(r, ret_why, ret_fix);
		sched_free(s);
		return r;
	}
	*ret_sched = s;
	return 0;
}

void sched_free(struct sched *sched)
{
	int i;

	if (!sched)
		return;
	for (i = 0; i < PROGRAMS; i++)
		bpf_link__destroy(sched->links[i]);
	bpf_object__close(sched->object);
	free(sched);
}

int sched_events_fd(const struct sched *sched)
{
	return bpf_object__find_map_fd_by_name(sched->object, "events");
}

int sched_counts_fd(const struct sched *sched)
{
	return bpf_object__find_map_fd_by_name(sched->object, "counts");
}

uint32_t sched_ring_bytes(const struct sched *sched)
{
	return bpf_map__max_entries(bpf_object__find_map_by_name(sched->object, "events"));
}

static int put_bits(struct sched *s)
{
	uint32_t zero = 0;
	size_t i;

	memset(s->bits, 0, sizeof(s->bits));
	for (i = 0; i < s->count; i++)
		s->bits[s->tgids[i] % BITS / 64] |= UINT64_C(1) << s->tgids[i] % 64;
	return bpf_map_update_elem(bpf_map__fd(s->bitmap), &zero, s->bits, 0) ? -errno : 0;
}

static int tgids_fd(const struct sched *s)
{
	return bpf_object__find_map_fd_by_name(s->object, "tgids");
}

int sched_add(struct sched *sched, uint32_t tgid)
{
	uint8_t one = 1;
	size_t i;

	for (i = 0; i < sched->count; i++)
		if (sched->tgids[i] == tgid)
			return 0;
	if (sched->count == TGIDS_MAX)
		return -ENOSPC;
	if (bpf_map_update_elem(tgids_fd(sched), &tgid, &one, BPF_ANY))
		return -errno;
	sched->tgids[sched->count++] = tgid;
	return put_bits(sched);
}

int sched_remove(struct sched *sched, uint32_t tgid)
{
	size_t i;

	bpf_map_delete_elem(tgids_fd(sched), &tgid);
	for (i = 0; i < sched->count; i++) {
		if (sched->tgids[i] != tgid)
			continue;
		sched->tgids[i] = sched->tgids[--sched->count];
		return put_bits(sched);
	}
	return 0;
}
