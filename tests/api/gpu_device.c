/* SPDX-License-Identifier: MIT */
/*
 * A GPU's device that there is not: gpu_device DIR MS mounts a file system (FUSE) at DIR whose one
 * file, card0, takes MS to answer an ioctl, as a driver does that waits for its GPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NODE 2 /* the file's; 1 is the directory's */

static int fuse;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t bytes)
{
	struct fuse_out_header out = {(uint32_t)(sizeof(out) + bytes), -error, in->unique};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)data, bytes}};

	if (writev(fuse, parts, 2) < 0 && errno != ENOENT)
		exit(1);
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node, .mode = node == NODE ? S_IFREG | 0600 : S_IFDIR | 0700, .nlink = 1};
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	const struct fuse_entry_out entry = {.nodeid = NODE, .attr = attr_of(NODE)};

	if (in->nodeid == 1 && strcmp(name, "card0") == 0)
		answer(in, 0, &entry, sizeof(entry));
	else
		answer(in, ENOENT, NULL, 0);
}

static void serve(const struct fuse_in_header *in, const void *body, const struct timespec *pause)
{
	const struct fuse_init_in *asked = body;
	const struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = asked->max_readahead,
					   .max_write = 4096};
	const struct fuse_attr_out attr = {.attr = attr_of(in->nodeid)};
	const struct fuse_open_out opened = {0};
	const struct fuse_ioctl_out done = {0};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in, body);
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_IOCTL:
		nanosleep(pause, NULL);
		answer(in, 0, &done, sizeof(done));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static _Alignas(8) char buffer[1 << 17];
	struct timespec pause;
	char options[64];
	ssize_t n;

	if (argc != 3)
		return 2;
	pause = (struct timespec){.tv_nsec = atol(argv[2]) * 1000000};
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	if (fuse < 0 || mount("gpu_device", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("gpu_device");
		return 77;
	}
	while ((n = read(fuse, buffer, sizeof(buffer))) > 0 || errno == EINTR)
		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			serve((const struct fuse_in_header *)(const void *)buffer,
			      buffer + sizeof(struct fuse_in_header), &pause);
	return 0;
}
