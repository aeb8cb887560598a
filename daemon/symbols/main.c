// SPDX-License-Identifier: MIT
/*
 * fprof-symbols: what the functions of files are called, for fprofd. The files are a game's, and
 * may hold anything: so this is a process of its own, which by the time that it looks at one can
 * open nothing, and take only so much memory and time (query_sandbox.h). What it answers is not
 * believed unseen.
 *
 *   fprof-symbols --serve           serve the socket that is descriptor 3
 *   fprof-symbols FILE [OFFSET...]  print what these bytes of the file are in, to try it
 */
#include "daemon/query_sandbox.h"
#include "table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVE_FD      3
#define MEMORY_BYTES  (UINT64_C(1) << 30)
#define SERVE_SECONDS 60 /* of CPU time, for all of a game's files */
#define TRY_SECONDS   10
#define FILES	      (SYMBOLS_MODULES_MAX * 2 + 64) /* descriptors */

/* libstdc++'s: the one that knows every C++ name. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

static struct symbol_table *tables[SYMBOLS_MODULES_MAX];

/* Without a version (clock_gettime@@GLIBC_2.17). */
static void put_name(const char *name, char *ret, size_t size)
{
	char *plain = strncmp(name, "_Z", 2) == 0 ? __cxa_demangle(name, NULL, NULL, NULL) : NULL;

	if (plain)
		snprintf(ret, size, "%s", plain);
	else
		snprintf(ret, size, "%.*s", (int)strcspn(name, "@"), name);
	free(plain);
}

/* ---- serving ---- */

static int send_answer(const struct symbols_answer *a)
{
	return send(SERVE_FD, a, sizeof(*a), MSG_NOSIGNAL) == sizeof(*a) ? 0 : -EPIPE;
}

static int take_file(const struct symbols_request *q, int fd, struct symbols_answer *a)
{
	struct symbol_table **table = &tables[q->module];

	if (fd < 0)
		return -EBADF;
	if (q->op == SYMBOLS_FILE) {
		symbol_table_free(*table);
		*table = NULL;
		a->status = symbol_table_new(fd, table);
	} else if (*table) {
		a->status = symbol_table_add(*table, fd);
	} else {
		close(fd);
		a->status = -ENOENT;
	}
	if (!*table)
		return 0;
	a->source = symbol_table_source(*table);
	snprintf(a->build_id, sizeof(a->build_id), "%s", symbol_table_build_id(*table));
	return 0;
}

static int answer_offsets(const struct symbols_request *q)
{
	struct symbol found = {0, INT64_MAX, NULL};
	struct symbols_answer a;
	uint32_t i;
	int r = 0;

	for (i = 0; i < q->count && i < SYMBOLS_ASK_MAX && r == 0; i++) {
		memset(&a, 0, sizeof(a));
		a.op = q->op;
		a.module = q->module;
		a.offset = q->offsets[i];
		if (tables[q->module])
			symbol_table_find(tables[q->module], a.offset, &found);
		a.lo = found.lo;
		a.hi = found.hi;
		if (found.name)
			put_name(found.name, a.name, sizeof(a.name));
		r = send_answer(&a);
	}
	return r;
}

/* The request, and the descriptor that came with it, -1: none. */
static int receive(struct symbols_request *q, int *ret_fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = {q, sizeof(*q)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	ssize_t n = recvmsg(SERVE_FD, &message, MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	c = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return n == sizeof(*q) && q->module < SYMBOLS_MODULES_MAX ? 0 : -EBADMSG;
}

static int serve_one(void)
{
	struct symbols_request q;
	struct symbols_answer a = {0};
	int fd, r = receive(&q, &fd);

	if (r < 0)
		return r;
	if (q.op == SYMBOLS_ASK)
		return answer_offsets(&q);
	a.op = q.op;
	a.module = q.module;
	r = take_file(&q, fd, &a);
	return r < 0 ? r : send_answer(&a);
}

static int serve(void)
{
	int r = query_sandbox_begin();

	if (r == 0)
		r = query_sandbox_close(MEMORY_BYTES, SERVE_SECONDS, 0, FILES);
	while (r == 0)
		r = serve_one();
	return 0;
}

/* ---- to try it ---- */

static int print(const struct symbol_table *table, const char *text)
{
	char name[SYMBOLS_NAME_MAX + 1], *end;
	uint64_t offset = strtoull(text, &end, 0);
	struct symbol found;

	if (*end || end == text)
		return 2;
	symbol_table_find(table, offset, &found);
	if (found.name)
		put_name(found.name, name, sizeof(name));
	printf("%#" PRIx64 " %#" PRIx64 "-%#" PRIx64 " %s\n", offset, found.lo, found.hi,
	       found.name ? name : "?");
	return 0;
}

static int try(int count, char **arguments)
{
	static const char *const sources[] = {"none", "dynsym", "symtab"};
	int fd = open(arguments[0], O_RDONLY | O_CLOEXEC), i, r;
	struct symbol_table *table;

	if (fd < 0 || query_sandbox_close(MEMORY_BYTES, TRY_SECONDS, 1 << 20, 0) < 0) {
		fprintf(stderr, "fprof-symbols: %s: %s\n", arguments[0], strerror(errno));
		return 1;
	}
	r = symbol_table_new(fd, &table);
	if (r < 0) {
		fprintf(stderr, "fprof-symbols: %s: %s\n", arguments[0], strerror(-r));
		return 1;
	}
	printf("build id %s, symbols: %s\n", symbol_table_build_id(table),
	       sources[symbol_table_source(table)]);
	for (i = 1; i < count && r == 0; i++)
		r = print(table, arguments[i]);
	symbol_table_free(table);
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--serve") == 0)
		return serve();
	if (argc >= 2 && argv[1][0] != '-')
		return try(argc - 1, argv + 1);
	fputs("Usage: fprof-symbols FILE [OFFSET...]\nPrint which functions of an ELF file these "
	      "bytes of it are in.\nfprofd starts it, with --serve, for files of games whose "
	      "stacks it samples.\n",
	      argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
	return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
}
