/* SPDX-License-Identifier: MIT */
/*
 * The links are newer than Debian 12's headers and libbpf: numbers and layout are those of the
 * kernel's include/uapi/linux/bpf.h. From 6.6 to 6.9 a link for a process saw its first thread
 * only, where that was not mended.
 */
#include "uprobe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TRACE_UPROBE_MULTI  48 /* enum bpf_attach_type */
#define UPROBE_MULTI_RETURN 1u

struct link_create {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, uprobe_flags, pid;
	uint32_t pad;
};

bool uprobe_has_links(void)
{
	struct utsname name;
	int major, minor;

	return uname(&name) == 0 && sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 10));
}

void uprobe_prepare(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static int attach_link(const struct bpf_program *program, const struct uprobe_place *place,
		       const char *path)
{
	const struct link_create attr = {
		.prog_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = TRACE_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&place->offset,
		.cookies = (uintptr_t)&place->cookie,
		.count = 1,
		.uprobe_flags = place->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)place->pid,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

int uprobe_attach(const struct bpf_program *program, bool links, const struct uprobe_place *place,
		  struct uprobe *ret_uprobe)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = place->cookie,
		    .retprobe = place->at_return);
	struct uprobe u = {.fd = -1};
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->fd);
	if (links) {
		u.fd = attach_link(program, place, path);
		if (u.fd < 0)
			return u.fd;
	} else {
		u.link = bpf_program__attach_uprobe_opts(program, place->pid, path, place->offset,
							 &options);
		if (!u.link)
			return -errno;
	}
	*ret_uprobe = u;
	return 0;
}

void uprobe_detach(struct uprobe *uprobe)
{
	if (uprobe->fd >= 0)
		close(uprobe->fd);
	bpf_link__destroy(uprobe->link);
}
