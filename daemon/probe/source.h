/* SPDX-License-Identifier: MIT */
/*
 * A source: the kernel programs and maps that one connection has. Each kind is an object file that
 * was built into this program, with a ring buffer `events` and counters `counts` in it (event.h),
 * and what it does with a process that is named. One thread.
 */
#ifndef FPROF_PROBE_SOURCE_H
#define FPROF_PROBE_SOURCE_H

#include "protocol.h"
#include "why.h"

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_LINKS_MAX 8

struct source;

struct source_kind {
	const uint8_t *object, *object_end;
	size_t bytes; /* of the kind's own structure, which begins with a struct source */
	/* Before the programs are loaded; NULL: there is nothing to do. 0 or -errno. */
	int (*configure)(struct source *source);
	bool maps; /* an added process's maps are handed over */
	/* A process, or no more: 0 or -errno. What there is to say goes into the answer. */
	int (*add)(struct source *source, const struct probe_request *request,
		   struct probe_answer *answer);
	int (*remove)(struct source *source, uint32_t tgid);
	/* PROBE_POINT; NULL: it has none. */
	int (*point)(struct source *source, const struct probe_request *request);
	void (*deinit)(struct source *source); /* NULL: there is nothing to do */
};

struct source {
	const struct source_kind *kind;
	struct bpf_object *object;
	struct bpf_link *links[SOURCE_LINKS_MAX]; /* of the programs that attach themselves */
};

/* Loads and attaches. 0, or -errno and why. */
int source_new(const struct source_kind *kind, struct source **ret_source, struct why *ret_why);
void source_free(struct source *source); /* detaches; NULL is fine */

/* The descriptor of a map, which stays the source's. */
int source_map_fd(const struct source *source, const char *name);
/* Of the ring buffer's data. */
uint32_t source_ring_bytes(const struct source *source);

#endif
