/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the kernel program writes into its ring buffer for each thread of a recorded game. Read by
 * fprofd. Tids and tgids are those of the initial pid namespace.
 */
#ifndef FPROF_PROBE_EVENT_H
#define FPROF_PROBE_EVENT_H

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __s32 int32_t;
typedef __u64 uint64_t;
#else
#include <stdint.h>
#endif

enum probe_kind {
	PROBE_IN = 1,	  /* the thread runs on cpu from now on; other: whom it follows */
	PROBE_OUT = 2,	  /* it does not any more; other: who runs next */
	PROBE_WAKING = 3, /* it is made runnable, maybe for the first time; other: by whom */
	/* Of attached processes: other is the thread itself, syscall -1. */
	PROBE_PRESENT_IN = 5,  /* it enters a present function; arg0: which of present_functions */
	PROBE_PRESENT_OUT = 6, /* it leaves that; arg1: what the function answers */
	PROBE_EXEC = 7,	       /* the process runs another program from now on */
};

enum probe_flags {
	PROBE_PREEMPTED = 1 << 0,     /* OUT: it could have gone on */
	PROBE_INTERRUPT = 1 << 1,     /* WAKING: by an interrupt; other is who was interrupted */
	PROBE_KERNEL_THREAD = 1 << 2, /* other is a thread of the kernel */
	PROBE_OTHER_IDLE = 1 << 3,    /* other is the idle task */
	PROBE_COMPAT = 1 << 4,	      /* syscall is a number of the 32-bit table */
	PROBE_IO_WORKER = 1 << 5,     /* OUT: a worker of io_uring; syscall is -1 */
	PROBE_IO_WAIT = 1 << 6,	      /* OUT: it waits for what is read or written (in_iowait) */
	PROBE_MEMORY_STALL = 1 << 7,  /* OUT: because memory is short (in_memstall) */
	PROBE_POLL_FD = 1 << 8,	      /* OUT: a poll of one descriptor, which is arg0; arg1: how its
					 file's name begins where that is no path, or 0 */
	PROBE_FOUND = 1 << 9,	      /* IN, OUT, WAKING: it was found so as its process was added:
					 runs, is blocked, waits for a CPU; other: nobody */
	PROBE_FROZEN = 1 << 10,	      /* OUT: its cgroup is frozen, or it was stopped */
};

struct probe_event {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid, tgid;
	uint32_t other_tid, other_tgid;
	uint16_t kind, cpu;
	uint32_t flags;
	uint32_t state;	 /* OUT: of the kernel; 0: runnable, 1: sleeps, 2: sleeps uninterruptibly,
			    0x80: it has ended */
	int32_t syscall; /* OUT: in which it blocks; -1: none (a fault, or preempted user code) */
	uint64_t arg0, arg1; /* OUT: the first two of the system call, see PROBE_POLL_FD */
	char other_comm[16];
};

/* Of sampled processes: a record is as long as its stack. */
#define PROBE_STACK_MAX 127
enum probe_stack_flags {
	PROBE_IN_KERNEL = 1 << 0, /* the thread was in a system call or a fault */
};
struct probe_stack {
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t tid, tgid;
	uint16_t cpu, flags;
	uint32_t pad;
	uint64_t ips[PROBE_STACK_MAX]; /* addresses of the user's code, innermost first */
};

/* Counters that grow, in a map of their own that is mapped read-only by fprofd. */
struct probe_counts {
	uint64_t events;
	uint64_t lost; /* there was no room in the ring buffer */
};

#endif
