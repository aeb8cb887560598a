// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Stacks of the threads of sampled games. Each sampled process has its own clock event on each CPU,
 * whose cookie is its tgid: so each has its own rate, and what other processes cost is one
 * comparison. A stack is walked by frame pointers; where there are none it is short or wrong, which
 * the reader sees.
 *
 * The event is an interrupt of a timer: the thread that it finds is the one that runs, and no other
 * of these programs runs on that CPU meanwhile.
 */
#include "event.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
#define IS_USER(regs) (((regs)->cs & 3) == 3)
#elif defined(__TARGET_ARCH_arm64)
#define IS_USER(regs) (((regs)->pstate & 0xf) == 0)
#endif

#define HEAD_BYTES offsetof(struct probe_stack, ips)

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_stack);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_counts);
} counts SEC(".maps");

static __always_inline void count(long error)
{
	struct probe_counts *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		__sync_fetch_and_add(error ? &c->lost : &c->events, 1);
}

SEC("perf_event")
int fprof_sample(struct bpf_perf_event_data *ctx)
{
	__u64 who = bpf_get_current_pid_tgid();
	struct probe_stack *s;
	__u32 zero = 0;
	long bytes;

	if (who >> 32 != bpf_get_attach_cookie(ctx))
		return 0;
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->ns = bpf_ktime_get_ns();
	s->tid = (__u32)who;
	s->tgid = who >> 32;
	s->cpu = bpf_get_smp_processor_id();
	s->flags = IS_USER(&ctx->regs) ? 0 : PROBE_IN_KERNEL;
	bytes = bpf_get_stack(ctx, s->ips, sizeof(s->ips), BPF_F_USER_STACK);
	if (bytes < 0)
		bytes = 0;
	count(bpf_ringbuf_output(&events, s, HEAD_BYTES + (bytes & 0x3ff), BPF_RB_NO_WAKEUP));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
