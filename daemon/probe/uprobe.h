/* SPDX-License-Identifier: MIT */
/*
 * A probe on a place in a file, in one process. Kernels from 6.10 on have a link for it, which asks
 * for CAP_BPF and CAP_PERFMON; before, it is a perf event, which asks for CAP_SYS_ADMIN.
 */
#ifndef FPROF_PROBE_UPROBE_H
#define FPROF_PROBE_UPROBE_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct uprobe {
	int fd;		       /* the link, -1: it is the next one */
	struct bpf_link *link; /* the perf event */
};

struct uprobe_place {
	pid_t pid;
	int fd; /* of the file */
	uint64_t offset;
	bool at_return; /* of the function that begins there */
	uint64_t cookie;
};

/* Has the kernel such links? A program that is to be attached so must be loaded for it. */
bool uprobe_has_links(void);
void uprobe_prepare(struct bpf_program *program);

/* links: the program was prepared. 0 or -errno. */
int uprobe_attach(const struct bpf_program *program, bool links, const struct uprobe_place *place,
		  struct uprobe *ret_uprobe);
void uprobe_detach(struct uprobe *uprobe);

#endif
