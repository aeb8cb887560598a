/* SPDX-License-Identifier: MIT */
/*
 * A tgid's bit in the bitmap may be shared by others: it is cleared only when no recorded tgid has
 * it.
 *
 * A thread that nothing happens to has no event: one that computes, or sleeps all the time. So when
 * its process is added a program looks at each task once (sched.bpf.c says why that can be
 * believed).
 */
#include "sched.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BITS	  (1u << 15)
#define TGIDS_MAX 1024u

extern const uint8_t sched_object[], sched_object_end[];

#define FOUND_PROGRAM "fprof_found"

struct sched {
	struct source source;
	uint64_t bits[BITS / 64];
	uint32_t tgids[TGIDS_MAX];
	size_t count;
};

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

static int sched_configure(struct source *source)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_map *rodata = bpf_object__find_map_by_name(source->object, ".rodata");
	struct bpf_map *bitmap = bpf_object__find_map_by_name(source->object, ".bss");
	struct bpf_program *found = bpf_object__find_program_by_name(source->object, FOUND_PROGRAM);
	bool value;
	size_t bytes = 0;

	if (!btf)
		return -ENOENT;
	value = has_prev_state(btf);
	if (found && btf__find_by_name_kind(btf, "bpf_iter__task", BTF_KIND_STRUCT) < 0)
		bpf_program__set_autoload(found, false);
	btf__free(btf);
	if (!bitmap || bpf_map__value_size(bitmap) != BITS / 8)
		return -EINVAL;
	if (!rodata || !bpf_map__initial_value(rodata, &bytes) || bytes != sizeof(value))
		return -EINVAL;
	return bpf_map__set_initial_value(rodata, &value, sizeof(value));
}

static int put_bits(struct sched *s)
{
	uint32_t zero = 0;
	size_t i;

	memset(s->bits, 0, sizeof(s->bits));
	for (i = 0; i < s->count; i++)
		s->bits[s->tgids[i] % BITS / 64] |= UINT64_C(1) << s->tgids[i] % 64;
	return bpf_map_update_elem(source_map_fd(&s->source, ".bss"), &zero, s->bits, 0) ? -errno
											 : 0;
}

/* After it no CPU is within a switch that has not seen who is recorded by now: it is a grace period
 * of RCU. */
static bool wait_for_switches(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

/* Runs the program that tells what threads do. Without it, or where the kernel does not let us,
 * they are unknown until something happens to them. */
static void tell_found(const struct source *source)
{
	struct bpf_program *program =
		bpf_object__find_program_by_name(source->object, FOUND_PROGRAM);
	struct bpf_link *link = NULL;
	char nothing[64];
	int fd = -1;

	if (!program || !bpf_program__autoload(program) || !wait_for_switches())
		return;
	link = bpf_program__attach_iter(program, NULL);
	if (link)
		fd = bpf_iter_create(bpf_link__fd(link));
	while (fd >= 0 && read(fd, nothing, sizeof(nothing)) > 0)
		;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
}

static int sched_add(struct source *source, const struct probe_request *request,
		     struct probe_answer *answer)
{
	struct sched *s = (struct sched *)source;
	uint32_t tgid = (uint32_t)request->pid;
	uint8_t one = 1;
	size_t i;
	int r;

	(void)answer;
	for (i = 0; i < s->count; i++)
		if (s->tgids[i] == tgid)
			return 0;
	if (s->count == TGIDS_MAX)
		return -ENOSPC;
	if (bpf_map_update_elem(source_map_fd(source, "tgids"), &tgid, &one, BPF_ANY))
		return -errno;
	s->tgids[s->count++] = tgid;
	r = put_bits(s);
	if (r == 0)
		tell_found(source);
	return r;
}

static int sched_remove(struct source *source, uint32_t tgid)
{
	struct sched *s = (struct sched *)source;
	size_t i;

	bpf_map_delete_elem(source_map_fd(source, "tgids"), &tgid);
	for (i = 0; i < s->count; i++) {
		if (s->tgids[i] != tgid)
			continue;
		s->tgids[i] = s->tgids[--s->count];
		return put_bits(s);
	}
	return 0;
}

const struct source_kind sched_kind = {
	.object = sched_object,
	.object_end = sched_object_end,
	.bytes = sizeof(struct sched),
	.configure = sched_configure,
	.add = sched_add,
	.remove = sched_remove,
};
