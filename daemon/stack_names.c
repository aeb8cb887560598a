// SPDX-License-Identifier: MIT
/*
 * The child is asked one thing at a time; what it says is looked at before it is believed. One that
 * ends, or does not answer for some seconds, is replaced, and the file that it was at is given up.
 *
 * Debian and others keep symbols apart, in /usr/lib/debug by build id: a file with a build id and
 * without a symbol table of its own is looked for there.
 */
#include "stack_names.h"

#include "helper.h"
#include "shm/reader.h"
#include "socket.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CHILDREN_MAX 8u /* of a game */
#define PATIENCE_NS  (10 * NS_PER_S)
#define HELD_MAX     64u /* descriptors of files that the child does not have yet */

_Static_assert(sizeof(((struct stack_module_row *)0)->build_id) == SYMBOLS_BUILD_ID + 1,
	       "one length of build ids");

void stack_names_init(struct stack_names *names, int (*open)(void *userdata, size_t file),
		      void *userdata)
{
	*names = (struct stack_names){.open = open, .userdata = userdata, .fd = -1};
}

static void let_go(struct stack_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

static void child_end(struct stack_names *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
	if (n->pid > 0) {
		kill(n->pid, SIGKILL);
		waitpid(n->pid, NULL, 0);
	}
	n->pid = 0;
	n->waits = 0;
}

void stack_names_deinit(struct stack_names *names)
{
	size_t i;

	child_end(names);
	for (i = 0; i < names->files.count; i++) {
		let_go(&names->files.at[i]);
		free(names->files.at[i].row.path);
		VEC_FREE(&names->files.at[i].known);
		VEC_FREE(&names->files.at[i].wanted);
	}
	VEC_FREE(&names->files);
	for (i = 0; i < names->symbols.count; i++)
		free(names->symbols.at[i].name);
	VEC_FREE(&names->symbols);
}

/* ---- files ---- */

static void give_up(struct stack_file *f, const char *reason)
{
	f->state = STACK_FILE_NONE;
	f->changed = true;
	f->wanted.count = 0;
	let_go(f);
	snprintf(f->row.reason, sizeof(f->row.reason), "%s", reason);
}

static unsigned held(const struct stack_names *n)
{
	unsigned count = 0;
	size_t i;

	for (i = 0; i < n->files.count; i++)
		count += n->files.at[i].fd >= 0;
	return count;
}

long stack_names_add(struct stack_names *names, uint64_t module, char *path, uint64_t offset,
		     bool has_file)
{
	struct stack_file f = {.offset = offset, .fd = -1, .changed = true};
	size_t i = names->files.count;

	f.row.module = module;
	f.row.path = path;
	if (names->files.count == SYMBOLS_MODULES_MAX)
		return -ENOSPC;
	if (VEC_PUSH(&names->files, f) < 0)
		return -ENOMEM;
	if (!has_file)
		give_up(&names->files.at[i], "it is no file");
	else if (held(names) < HELD_MAX)
		names->files.at[i].fd = names->open(names->userdata, i);
	return (long)i;
}

/* The index of the first range that ends beyond the offset. */
static size_t range_at(const struct stack_file *f, uint64_t offset)
{
	size_t low = 0, high = f->known.count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (f->known.at[middle].hi <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_known(const struct stack_file *f, uint64_t offset)
{
	size_t i = range_at(f, offset);

	return i < f->known.count && f->known.at[i].lo <= offset;
}

void stack_names_want(struct stack_names *names, size_t file, uint64_t offset)
{
	struct stack_file *f = &names->files.at[file];
	size_t i;

	if (f->state == STACK_FILE_NONE || is_known(f, offset) || names->count >= STACK_NAMES_MAX ||
	    f->wanted.count >= STACK_WANTED_MAX || offset > INT64_MAX)
		return;
	for (i = 0; i < f->wanted.count; i++)
		if (f->wanted.at[i] == offset)
			return;
	VEC_PUSH(&f->wanted, offset);
}

/* ---- the child ---- */

/* Files that an earlier child had are opened anew. */
static int child_start(struct stack_names *n)
{
	char *argv[] = {NULL, (char[]){"--serve"}, NULL}, *environment[] = {NULL};
	size_t i;
	int r;

	if (n->fd >= 0)
		return 0;
	if (n->children++ >= CHILDREN_MAX)
		return -ECHILD;
	r = helper_start("fprof-symbols", argv, environment, &n->pid, &n->fd);
	if (r < 0)
		return r;
	for (i = 0; i < n->files.count; i++)
		if (n->files.at[i].state != STACK_FILE_NONE)
			n->files.at[i].state = STACK_FILE_NEW;
	return 0;
}

/* The file that it was asked about has killed it, or keeps it busy. */
static void child_lost(struct stack_names *n)
{
	if (n->waits)
		give_up(&n->files.at[n->asked], "reading its symbols failed");
	child_end(n);
}

/* fd: goes along, -1: none. */
static int tell(struct stack_names *n, const struct symbols_request *q, int fd)
{
	n->asked = q->module;
	n->asked_at = clock_ns(CLOCK_MONOTONIC);
	n->waits = q->op == SYMBOLS_ASK ? q->count : 1;
	return socket_send(n->fd, q, sizeof(*q), fd);
}

/* ---- asking ---- */

static int send_file(struct stack_names *n, size_t i)
{
	struct symbols_request q = {.op = SYMBOLS_FILE, .module = (uint32_t)i};
	struct stack_file *f = &n->files.at[i];
	_cleanup_close_ int fd = f->fd >= 0 ? util_take_fd(&f->fd) : n->open(n->userdata, i);

	if (fd < 0) {
		give_up(f, "the file cannot be opened, or is another one by now");
		return 0;
	}
	f->state = STACK_FILE_SENT;
	return tell(n, &q, fd);
}

static int send_debug(struct stack_names *n, size_t i)
{
	struct symbols_request q = {.op = SYMBOLS_DEBUG, .module = (uint32_t)i};
	const char *id = n->files.at[i].row.build_id;
	_cleanup_close_ int fd = -1;
	char path[96];

	n->files.at[i].split = true;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	if (strlen(id) > 2)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? 0 : tell(n, &q, fd);
}

static int send_wanted(struct stack_names *n, size_t i)
{
	struct symbols_request q = {.op = SYMBOLS_ASK, .module = (uint32_t)i};
	struct stack_file *f = &n->files.at[i];

	while (f->wanted.count > 0 && q.count < SYMBOLS_ASK_MAX) {
		q.offsets[q.count] = f->wanted.at[--f->wanted.count];
		q.count += !is_known(f, q.offsets[q.count]);
	}
	return q.count > 0 ? tell(n, &q, -1) : 0;
}

static bool lacks_symbols(const struct stack_file *f)
{
	return !f->split && (!f->row.symbols || strcmp(f->row.symbols, "dynsym") == 0);
}

static int ask(struct stack_names *n, size_t i)
{
	struct stack_file *f = &n->files.at[i];

	if (f->state == STACK_FILE_NEW)
		return send_file(n, i);
	if (f->state == STACK_FILE_READY && lacks_symbols(f))
		return send_debug(n, i);
	return f->state == STACK_FILE_READY ? send_wanted(n, i) : 0;
}

/* One that is wanted anything of; files.count: none. */
static size_t next_file(const struct stack_names *n)
{
	size_t i;

	for (i = 0; i < n->files.count; i++)
		if (n->files.at[i].wanted.count > 0)
			break;
	return i;
}

/* ---- answers ---- */

static bool is_build_id(const char *text)
{
	size_t n = strnlen(text, SYMBOLS_BUILD_ID + 1), i;

	for (i = 0; i < n && i < SYMBOLS_BUILD_ID; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return n <= SYMBOLS_BUILD_ID;
}

static void take_file(struct stack_file *f, const struct symbols_answer *a)
{
	static const char *const names[] = {[SYMBOLS_DYNSYM] = "dynsym",
					    [SYMBOLS_SYMTAB] = "symtab",
					    [SYMBOLS_OTHER_FILE] = "debug"};

	if (a->op == SYMBOLS_DEBUG && a->status < 0)
		return;
	if (a->status < 0) {
		give_up(f,
			a->status == -ENOEXEC ? "it is no ELF file" : "reading its symbols failed");
		return;
	}
	f->state = STACK_FILE_READY;
	f->changed = true;
	f->row.symbols = a->source < ARRAY_SIZE(names) ? names[a->source] : NULL;
	snprintf(f->row.reason, sizeof(f->row.reason), "%s",
		 f->row.symbols ? "" : "the file is stripped: it has no symbols");
	if (is_build_id(a->build_id))
		snprintf(f->row.build_id, sizeof(f->row.build_id), "%s", a->build_id);
}

/* Between those that are known, which it must not overlap. */
static int know(struct stack_file *f, const struct stack_range *range)
{
	size_t i = range_at(f, range->lo);

	if (i < f->known.count && f->known.at[i].lo < range->hi)
		return -EEXIST;
	if (VEC_RESERVE(&f->known, 1) < 0)
		return -ENOMEM;
	memmove(&f->known.at[i + 1], &f->known.at[i], (f->known.count - i) * sizeof(*f->known.at));
	f->known.at[i] = *range;
	f->known.count++;
	return 0;
}

/* What others have of it is theirs. */
static struct stack_range cut(const struct stack_file *f, const struct symbols_answer *a)
{
	struct stack_range range = {a->lo, MIN(a->hi, (uint64_t)INT64_MAX)};
	size_t i = range_at(f, a->offset);

	if (i > 0)
		range.lo = MAX(range.lo, f->known.at[i - 1].hi);
	if (i < f->known.count)
		range.hi = MIN(range.hi, f->known.at[i].lo);
	return range;
}

static void take_symbol(struct stack_names *n, struct stack_file *f, const struct symbols_answer *a)
{
	const struct stack_range range = cut(f, a);
	struct stack_symbol_row row = {.module = f->row.module, .lo = range.lo, .hi = range.hi};
	char name[SYMBOLS_NAME_MAX + 1];

	if (a->offset < range.lo || a->offset >= range.hi || is_known(f, a->offset) ||
	    VEC_RESERVE(&n->symbols, 1) < 0)
		return;
	utf8_copy(name, sizeof(name), a->name, strnlen(a->name, SYMBOLS_NAME_MAX));
	row.name = *name ? strdup(name) : NULL;
	if ((*name && !row.name) || know(f, &range) < 0) {
		free(row.name);
		return;
	}
	n->symbols.at[n->symbols.count++] = row;
	n->count++;
}

static int take_answer(struct stack_names *n, const struct symbols_answer *a)
{
	struct stack_file *f = &n->files.at[n->asked];

	if (n->waits == 0 || a->module != n->asked)
		return -EPROTO;
	if (a->op == SYMBOLS_ASK)
		take_symbol(n, f, a);
	else
		take_file(f, a);
	n->waits--;
	return 0;
}

/* 0: there is nothing more for now. */
static int take_answers(struct stack_names *n)
{
	struct symbols_answer a;
	ssize_t bytes;
	int r = 0;

	while (r == 0 && (bytes = recv(n->fd, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a))
		r = take_answer(n, &a);
	if (r == 0 && !(bytes < 0 && (errno == EAGAIN || errno == EINTR)))
		r = -ECONNRESET;
	if (r == 0 && n->waits && clock_ns(CLOCK_MONOTONIC) - n->asked_at > PATIENCE_NS)
		r = -ETIMEDOUT;
	return r;
}

bool stack_names_work(struct stack_names *names)
{
	size_t i;
	int r;

	if (names->fd >= 0 && take_answers(names) < 0)
		child_lost(names);
	while (names->waits == 0 && (i = next_file(names)) < names->files.count) {
		r = child_start(names);
		if (r < 0)
			give_up(&names->files.at[i], r == -ENOENT
							     ? HELPER_MISSING("fprof-symbols")
							     : "fprof-symbols cannot be started");
		else if (ask(names, i) < 0)
			child_lost(names);
	}
	return names->waits > 0;
}

/* ---- to the store ---- */

static int flush_file(struct stack_file *f, uint64_t session, struct batch *batch)
{
	struct stack_module_row row = f->row;

	row.session = session;
	row.path = strdup(f->row.path);
	if (!row.path || VEC_PUSH(&batch->stack_modules, row) < 0) {
		free(row.path);
		return -ENOMEM;
	}
	f->changed = false;
	return 0;
}

void stack_names_flush(struct stack_names *names, uint64_t session, struct batch *batch)
{
	size_t i;

	for (i = 0; i < names->files.count; i++)
		if (names->files.at[i].changed && flush_file(&names->files.at[i], session, batch))
			return;
	if (VEC_RESERVE(&batch->stack_symbols, names->symbols.count) < 0)
		return;
	for (i = 0; i < names->symbols.count; i++) {
		names->symbols.at[i].session = session;
		batch->stack_symbols.at[batch->stack_symbols.count++] = names->symbols.at[i];
	}
	names->symbols.count = 0;
}
