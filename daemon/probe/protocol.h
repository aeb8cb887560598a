/* SPDX-License-Identifier: MIT */
/*
 * Between fprofd and fprof-probe: SOCK_SEQPACKET, one message a packet, an answer to each request
 * in order. The answer to PROBE_OPEN carries two descriptors: the ring buffer's map and the
 * counts'; that to PROBE_ADD of PROBE_STACKS one, if it can: the process's /proc/PID/maps; that to
 * PROBE_FILE one: the file.
 */
#ifndef FPROF_PROBE_PROTOCOL_H
#define FPROF_PROBE_PROTOCOL_H

#include <stdint.h>

#define PROBE_MAGIC   UINT32_C(0x42525046)
#define PROBE_VERSION 7

/* What a connection is for. */
enum probe_source {
	PROBE_SCHED = 0,   /* when threads run and wait */
	PROBE_PRESENT = 1, /* when they present a frame: uprobes on present functions */
	PROBE_STACKS = 2,  /* where they are, so many times a second */
	PROBE_SOURCES
};

/* In found: the process maps a Vulkan driver, whose function is still to be named. */
#define PROBE_FOUND_DRIVER (UINT32_C(1) << 31)

enum probe_op {
	PROBE_OPEN = 1,	  /* load the source for this connection */
	PROBE_ADD = 2,	  /* it is to see pid, a process of the peer's user */
	PROBE_REMOVE = 3, /* no more; unknown ones are fine */
	PROBE_POINT = 4,  /* PROBE_PRESENT: pid, which was added, has a vkQueuePresentKHR there */
	PROBE_FILE = 5,	  /* the file that pid maps as code there, to be read */
};

struct probe_request {
	uint32_t magic;
	uint16_t version, op;
	int32_t pid;	       /* in the helper's pid namespace, the initial one */
	uint32_t source;       /* PROBE_OPEN: enum probe_source */
	uint32_t major, minor; /* PROBE_POINT, PROBE_FILE: in which file that it maps, and where */
	uint64_t inode, offset;
	uint64_t period_ns; /* PROBE_STACKS' PROBE_ADD: between samples of a CPU */
};

struct probe_answer {
	uint32_t magic;
	uint16_t version, op;
	int32_t status;	     /* 0 or -errno */
	uint32_t ring_bytes; /* PROBE_OPEN: of the ring buffer's data */
	uint32_t found;	     /* PROBE_PRESENT's PROBE_ADD: present_functions, a bit each */
	uint32_t unread;     /* the same: files of its that could not be read */
	char reason[160];    /* English, when status is not 0 */
	char fix[160];	     /* a command that would help, or "" */
};

#endif
