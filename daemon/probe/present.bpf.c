// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Present functions of attached games: a uprobe where they begin, another where they return. A
 * present may call another (SDL_RenderPresent calls glXSwapBuffers): of nested calls the outermost
 * is told, so that one present is one frame.
 *
 * A thread's outermost call is remembered by where its probe is and its stack pointer. A call from
 * further in is part of it. One from further out, or of the same function from the same place,
 * means that it was left by longjmp. A function that another one jumps to begins at that one's
 * stack pointer: it is part of it, too. (One name may be two functions: glvnd's libGL jumps to its
 * libGLX, the Vulkan loader to the driver.) The outermost call has ended when its own function
 * returns with the stack as it was before.
 *
 * A probe's cookie is which of present_functions it is on in its low 8 bits, and above these a
 * number of its own.
 *
 * Which processes the probes are in is the kernel's business; only exec is filtered here.
 */
#include "event.h"

#include <asm/ptrace.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What a return takes off the stack. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_BYTES 8
#else
#define RETURN_BYTES 0
#endif

struct task_struct {
	int pid, tgid;
	char comm[16];
} __attribute__((preserve_access_index));

struct call {
	__u64 sp;
	__u64 probe;
};

/* Threads inside a present. Those that are killed there leave room when it is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* pid_tgid */
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u8);
} tgids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_counts);
} counts SEC(".maps");

static __always_inline void put(__u64 who, __u16 kind, __u64 arg0, __u64 arg1)
{
	struct probe_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	struct probe_counts *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		__sync_fetch_and_add(e ? &c->events : &c->lost, 1);
	if (!e)
		return;
	e->ns = bpf_ktime_get_ns();
	e->tid = e->other_tid = (__u32)who;
	e->tgid = e->other_tgid = who >> 32;
	e->kind = kind;
	e->cpu = bpf_get_smp_processor_id();
	e->flags = 0;
	e->state = 0;
	e->syscall = -1;
	e->arg0 = arg0;
	e->arg1 = arg1;
	bpf_get_current_comm(e->other_comm, sizeof(e->other_comm));
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int fprof_present(struct pt_regs *ctx)
{
	__u64 who = bpf_get_current_pid_tgid();
	struct call now = {PT_REGS_SP(ctx), bpf_get_attach_cookie(ctx)};
	struct call *call = bpf_map_lookup_elem(&calls, &who);

	if (call && (now.sp < call->sp || (now.sp == call->sp && now.probe != call->probe)))
		return 0;
	bpf_map_update_elem(&calls, &who, &now, BPF_ANY);
	put(who, PROBE_PRESENT_IN, now.probe & 0xff, 0);
	return 0;
}

SEC("uretprobe")
int fprof_presented(struct pt_regs *ctx)
{
	__u64 who = bpf_get_current_pid_tgid();
	struct call *call = bpf_map_lookup_elem(&calls, &who);
	__u64 probe = bpf_get_attach_cookie(ctx);

	if (!call || call->probe != probe || PT_REGS_SP(ctx) < call->sp + RETURN_BYTES)
		return 0;
	bpf_map_delete_elem(&calls, &who);
	put(who, PROBE_PRESENT_OUT, probe & 0xff, PT_REGS_RC(ctx));
	return 0;
}

SEC("tp_btf/sched_process_exec")
int fprof_exec(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	__u32 tgid = task->tgid;

	if (bpf_map_lookup_elem(&tgids, &tgid))
		put((__u64)tgid << 32 | (__u32)task->pid, PROBE_EXEC, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
