// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The scheduler's side of recorded games: when each of their threads runs, stops running and why,
 * and who wakes it. Nothing is written for other processes, and little is done: a bit of a bitmap
 * is looked at first, then a hash (a hash alone cost 210 ns on each switch of everybody).
 *
 * Fields of kernel structures are found by BTF when the program is loaded, so one build runs on
 * any kernel that has BTF tracepoints (5.5; prev_state as an argument: 5.18).
 *
 * Why a thread blocks is in its saved registers: no probe per system call is needed.
 *
 * Who wakes is the current task, but only where the waking code runs on that task's own stack:
 * an interrupt handler runs on another, and then whoever was interrupted had nothing to do with it.
 * The stack of these programs must stay below 64 bytes: more of it, and newer kernels give it a
 * place of its own.
 */
#include "event.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define BITS	     (1u << 15)
#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000
#define TS_COMPAT    0x0002
#define STACK_BYTES  (16u * 1024)
#define ANON_INODES  0x09041934 /* ANON_INODE_FS_MAGIC */

struct thread_info {
	__u32 status;
	__u32 cpu; /* where the kernel has it here */
} __attribute__((preserve_access_index));

struct super_block {
	unsigned long s_magic;
} __attribute__((preserve_access_index));

struct qstr {
	const unsigned char *name;
} __attribute__((preserve_access_index));

struct dentry {
	struct qstr d_name;
	struct super_block *d_sb;
} __attribute__((preserve_access_index));

struct path {
	struct dentry *dentry;
} __attribute__((preserve_access_index));

struct file {
	struct path f_path;
} __attribute__((preserve_access_index));

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	int on_cpu, on_rq;
	unsigned int cpu; /* ... or here */
	void *stack;
	unsigned int flags;
	int pid, tgid;
	char comm[16];
	unsigned in_iowait : 1;
	unsigned in_memstall : 1; /* where the kernel has PSI */
	unsigned frozen : 1;	  /* ... and cgroups of the second version */
	struct files_struct *files;
} __attribute__((preserve_access_index));

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax, di, si, bx, cx;
} __attribute__((preserve_access_index));
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__s32 syscallno;
} __attribute__((preserve_access_index));
#endif

/* Has sched_switch a fourth argument? Set before the program is loaded. */
const volatile bool has_prev_state = true;

/* A bit for each tgid that may be recorded, by its low bits. */
__u64 bitmap[BITS / 64];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} tgids SEC(".maps");

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

static __always_inline bool is_recorded(__u32 tgid)
{
	__u32 bit = tgid % BITS;

	if (!(bitmap[bit / 64] & 1ull << bit % 64))
		return false;
	return bpf_map_lookup_elem(&tgids, &tgid);
}

static __always_inline struct probe_event *event_new(struct task_struct *task, __u16 kind)
{
	struct probe_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	struct probe_counts *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counts, &zero);
	if (c)
		__sync_fetch_and_add(e ? &c->events : &c->lost, 1);
	if (!e)
		return NULL;
	e->ns = bpf_ktime_get_ns();
	e->tid = task->pid;
	e->tgid = task->tgid;
	e->kind = kind;
	e->cpu = bpf_get_smp_processor_id();
	e->flags = 0;
	e->state = 0;
	e->syscall = -1;
	e->arg0 = e->arg1 = 0;
	return e;
}

static __always_inline void event_other(struct probe_event *e, struct task_struct *other)
{
	__u32 flags = other->flags;

	e->other_tid = other->pid;
	e->other_tgid = other->tgid;
	if (flags & PF_KTHREAD)
		e->flags |= PROBE_KERNEL_THREAD;
	if (other->pid == 0)
		e->flags |= PROBE_OTHER_IDLE;
	bpf_probe_read_kernel(e->other_comm, sizeof(e->other_comm), other->comm);
}

/* No wakeup of the reader: it comes at its own pace. */
static __always_inline void event_put(struct probe_event *e)
{
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
}

/* poll, ppoll, and of the 32-bit table ppoll_time64 */
static __always_inline bool is_poll(const struct probe_event *e)
{
#if defined(__TARGET_ARCH_x86)
	if (e->flags & PROBE_COMPAT)
		return e->syscall == 168 || e->syscall == 309 || e->syscall == 414;
	return e->syscall == 7 || e->syscall == 271;
#else
	return e->syscall == 73;
#endif
}

/* Of a file that has no place in a file system: others are not asked. A sync file is closed as soon
 * as it was waited for, so whoever reads the event comes too late to ask. */
static __always_inline void read_file_name(struct probe_event *e, struct task_struct *task)
{
	struct fdtable *fdt = task->files->fdt;
	struct file *file = NULL;
	struct dentry *dentry;

	if (e->arg0 >= fdt->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), fdt->fd + e->arg0) < 0 || !file)
		return;
	dentry = BPF_CORE_READ(file, f_path.dentry);
	if (BPF_CORE_READ(dentry, d_sb, s_magic) == ANON_INODES)
		bpf_probe_read_kernel(&e->arg1, sizeof(e->arg1),
				      BPF_CORE_READ(dentry, d_name.name));
}

/* What a poll of one descriptor waits for is that: struct pollfd begins with it. */
static __always_inline void read_poll(struct probe_event *e, struct task_struct *task)
{
	const void *pollfd = (const void *)e->arg0;

	if (!is_poll(e) || e->arg1 != 1)
		return;
	e->arg0 = 0;
	if (bpf_probe_read_user(&e->arg0, sizeof(__s32), pollfd) < 0)
		return;
	e->flags |= PROBE_POLL_FD;
	e->arg1 = 0;
	read_file_name(e, task);
}

static __always_inline void read_wait(struct probe_event *e, struct task_struct *task)
{
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		e->flags |= PROBE_IO_WAIT;
	if (bpf_core_field_exists(task->in_memstall) && BPF_CORE_READ_BITFIELD(task, in_memstall))
		e->flags |= PROBE_MEMORY_STALL;
	if (bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD(task, frozen))
		e->flags |= PROBE_FROZEN;
}

static __always_inline void read_syscall(struct probe_event *e, struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	/* io_uring's workers inherit the number with which they were made */
	if (task->flags & PF_IO_WORKER)
		e->flags |= PROBE_IO_WORKER;
	if (task->flags & (PF_IO_WORKER | PF_KTHREAD))
		return;
#if defined(__TARGET_ARCH_x86)
	e->syscall = (__s32)BPF_CORE_READ(regs, orig_ax);
	e->arg0 = BPF_CORE_READ(regs, di);
	e->arg1 = BPF_CORE_READ(regs, si);
	if (task->thread_info.status & TS_COMPAT) {
		e->flags |= PROBE_COMPAT;
		e->arg0 = (__u32)BPF_CORE_READ(regs, bx);
		e->arg1 = (__u32)BPF_CORE_READ(regs, cx);
	}
#elif defined(__TARGET_ARCH_arm64)
	e->syscall = BPF_CORE_READ(regs, syscallno);
	e->arg0 = BPF_CORE_READ(regs, regs[0]);
	e->arg1 = BPF_CORE_READ(regs, regs[1]);
#endif
}

SEC("tp_btf/sched_switch")
int fprof_switch(__u64 *ctx)
{
	struct task_struct *prev = (struct task_struct *)ctx[1];
	struct task_struct *next = (struct task_struct *)ctx[2];
	bool preempted = ctx[0] & 0xff;
	struct probe_event *e;

	if (is_recorded(prev->tgid)) {
		e = event_new(prev, PROBE_OUT);
		if (e) {
			e->state = has_prev_state ? (__u32)ctx[3] : prev->__state;
			if (preempted || e->state == 0)
				e->flags |= PROBE_PREEMPTED;
			read_wait(e, prev);
			read_syscall(e, prev);
			read_poll(e, prev);
			event_other(e, next);
			event_put(e);
		}
	}
	if (is_recorded(next->tgid)) {
		e = event_new(next, PROBE_IN);
		if (e) {
			event_other(e, prev);
			event_put(e);
		}
	}
	return 0;
}

/* Do we run on the stack of task, for a system call of its? */
static __always_inline bool is_by(struct task_struct *task)
{
	struct pt_regs *regs;
	__u64 mark = 0, here = (__u64)&mark, stack = (__u64)task->stack;

	asm volatile("" : "+r"(here) : "r"(&mark) : "memory");
	if (here - stack >= STACK_BYTES)
		return false;
	if (task->flags & PF_KTHREAD)
		return true;
#if defined(__TARGET_ARCH_x86)
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return (long)BPF_CORE_READ(regs, orig_ax) >= 0;
#else
	(void)regs;
	return true;
#endif
}

static __always_inline int waking(struct task_struct *task)
{
	struct task_struct *current;
	struct probe_event *e;

	if (!is_recorded(task->tgid))
		return 0;
	current = bpf_get_current_task_btf();
	e = event_new(task, PROBE_WAKING);
	if (!e)
		return 0;
	if (!is_by(current))
		e->flags |= PROBE_INTERRUPT;
	event_other(e, current);
	event_put(e);
	return 0;
}

SEC("tp_btf/sched_waking")
int fprof_waking(__u64 *ctx)
{
	return waking((struct task_struct *)ctx[0]);
}

/* A thread that begins is woken by the one that made it. */
SEC("tp_btf/sched_wakeup_new")
int fprof_wakeup_new(__u64 *ctx)
{
	return waking((struct task_struct *)ctx[0]);
}

/*
 * What a thread does as its process is added. Its fields are not read at one moment, but whoever is
 * recorded by now (on every CPU: sched.c waits for that) cannot change them without an event that
 * comes before this one: then fprofd knows better, and leaves this alone. A thread that is on its
 * way between two states is not told of, and so is one that was preempted in a state other than
 * running, or is queued after it went to sleep: its first event will say.
 */
#define TASK_SLEEPS 0x0fu  /* interruptible or not, stopped, traced */
#define TASK_ODD    0xa80u /* has ended, is being woken, is new */

static __always_inline bool has_cpu(const struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) || bpf_core_field_exists(task->cpu);
}

static __always_inline __u16 cpu_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) ? BPF_CORE_READ(task, thread_info.cpu)
							    : BPF_CORE_READ(task, cpu);
}

static __always_inline __u16 found_as(struct task_struct *task)
{
	__u32 state = BPF_CORE_READ(task, __state);

	if (!bpf_core_field_exists(task->on_cpu) || !bpf_core_field_exists(task->on_rq))
		return 0;
	if (BPF_CORE_READ(task, on_cpu))
		return BPF_CORE_READ(task, on_rq) == 1 && has_cpu(task) ? PROBE_IN : 0;
	if (BPF_CORE_READ(task, on_rq) == 1)
		return state == 0 ? PROBE_WAKING : 0;
	return BPF_CORE_READ(task, on_rq) == 0 && (state & TASK_SLEEPS) && !(state & TASK_ODD)
		       ? PROBE_OUT
		       : 0;
}

SEC("iter/task")
int fprof_found(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[1];
	struct probe_event *e;
	__u16 kind, cpu;
	__u32 state;

	if (!task || !is_recorded(task->tgid))
		return 0;
	kind = found_as(task);
	cpu = cpu_of(task);
	state = BPF_CORE_READ(task, __state);
	if (!kind)
		return 0;
	e = event_new(task, kind);
	if (!e)
		return 0;
	e->flags = PROBE_FOUND;
	e->other_tid = e->other_tgid = 0;
	__builtin_memset(e->other_comm, 0, sizeof(e->other_comm));
	if (kind == PROBE_IN)
		e->cpu = cpu;
	if (kind == PROBE_OUT) {
		e->state = state;
		read_wait(e, task);
		read_syscall(e, task); /* and no poll: whose memory that is in is not ours */
	}
	event_put(e);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
