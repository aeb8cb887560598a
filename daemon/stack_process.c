// SPDX-License-Identifier: MIT
/*
 * A stack is walked by the kernel along frame pointers. Where code was built without them, what it
 * took for one may be any number: a caller that lies in no mapped code ends the stack. It may also
 * be a library that was mapped a moment ago: then the maps are read again, but not for every such
 * number.
 */
#include "stack_process.h"

#include "process.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define THREADS_MAX   STACK_THREADS_MAX
#define REREAD_NS     (100 * NS_PER_MS) /* for where a thread is */
#define REREAD_ANY_NS NS_PER_S		/* for what was taken for a caller */

#define VDSO "[vdso]"

/* The code that the kernel maps into every process: it is in no file, and the same in ours. */
static bool is_vdso(const char *path)
{
	return strcmp(path, VDSO) == 0; /* paths of files begin with a slash */
}

static const struct mapping *find_vdso(const struct mappings *maps)
{
	size_t i;

	for (i = 0; i < maps->at.count; i++)
		if (maps->at.at[i].place.inode == 0 && is_vdso(maps->at.at[i].path))
			return &maps->at.at[i];
	return NULL;
}

/* As a file of its own. */
static int open_vdso(void)
{
	_cleanup_close_ int maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int fd = memfd_create("vdso", MFD_CLOEXEC);
	struct mappings own = {0};
	const struct mapping *m;
	size_t size;
	int r = maps_fd < 0 || fd < 0 ? -errno : mappings_read(&own, maps_fd);

	m = r == 0 ? find_vdso(&own) : NULL;
	size = m ? m->end - m->start : 0;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel says so */
	if (!m || write(fd, (const void *)(uintptr_t)m->start, size) != (ssize_t)size)
		r = -ENOENT;
	mappings_deinit(&own);
	return r == 0 ? util_take_fd(&fd) : r;
}

/* From the process itself, or from its path, where that is the same file. */
static int open_file(void *userdata, size_t file)
{
	struct stack_process *p = userdata;
	const struct mapped_place *place = &p->places.at[file];
	struct stat st;
	int fd;

	if (place->inode == 0)
		return open_vdso();
	fd = p->open(p->userdata, p->pid, place);
	if (fd >= 0)
		return fd;
	fd = open(p->names.files.at[file].row.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_ino == place->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

int stack_process_init(struct stack_process *process, int32_t pid,
		       int (*open)(void *userdata, int32_t pid, const struct mapped_place *place),
		       void *userdata)
{
	*process = (struct stack_process){
		.pid = pid, .maps_fd = -1, .open = open, .userdata = userdata};
	stack_log_init(&process->log);
	stack_names_init(&process->names, open_file, process);
	process->cache = calloc(STACK_CACHE, sizeof(*process->cache));
	return process->cache ? 0 : -ENOMEM;
}

void stack_process_deinit(struct stack_process *process)
{
	stack_process_maps(process, -1);
	mappings_deinit(&process->maps);
	stack_names_deinit(&process->names);
	VEC_FREE(&process->places);
	VEC_FREE(&process->threads);
	stack_log_deinit(&process->log);
	free(process->cache);
	process->cache = NULL;
}

void stack_process_maps(struct stack_process *process, int fd)
{
	if (process->maps_fd >= 0)
		close(process->maps_fd);
	process->maps_fd = fd;
	process->maps_read = 0;
}

/* ---- where an address is ---- */

/* The same file is the same module in every daemon's time. */
static uint64_t module_id(const struct mapping *m)
{
	const uint64_t words[] = {m->place.major, m->place.minor, m->place.inode};
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	const char *c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		h = (h ^ words[i]) * UINT64_C(0x100000001b3);
	for (c = m->path; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	return MAX(h >> 1, UINT64_C(1));
}

static size_t file_of(const struct stack_process *p, uint64_t module)
{
	size_t i;

	for (i = 0; i < p->names.files.count; i++)
		if (p->names.files.at[i].row.module == module)
			break;
	return i;
}

static int add_file(struct stack_process *p, const struct mapping *m, uint64_t module,
		    uint64_t offset)
{
	struct mapped_place place = m->place;
	char *path;
	long i;

	place.offset = offset;
	if (VEC_RESERVE(&p->places, 1) < 0)
		return -ENOMEM;
	path = strdup(*m->path ? m->path : "[anonymous]");
	if (!path)
		return -ENOMEM;
	p->places.at[p->places.count++] = place; /* for open_file */
	i = stack_names_add(&p->names, module, path, offset,
			    m->place.inode != 0 || is_vdso(m->path));
	if (i < 0) {
		p->places.count--;
		free(path);
		return (int)i;
	}
	return 0;
}

/* Of more files than are kept nothing is known. */
static int know_place(struct stack_process *p, const struct mapping *m, struct stack_place *place)
{
	uint64_t module = module_id(m);
	size_t i = file_of(p, module);
	int r = 0;

	if (i == p->names.files.count)
		r = add_file(p, m, module, place->offset);
	if (r < 0)
		return r == -ENOSPC ? 0 : r;
	place->module = module;
	stack_names_want(&p->names, i, place->offset);
	return 0;
}

/* Not found is fine: the maps as they were stay. */
static void read_maps(struct stack_process *p, uint64_t after_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (p->maps_fd < 0 || (p->maps_read && now - p->maps_read < after_ns))
		return;
	p->maps_read = now;
	if (mappings_read(&p->maps, p->maps_fd) == 0)
		memset(p->cache, 0, STACK_CACHE * sizeof(*p->cache));
}

static int look_up(struct stack_process *p, uint64_t address, bool innermost,
		   struct stack_place *ret_place)
{
	const struct mapping *m = mappings_find(&p->maps, address);
	struct stack_place place = {0, address};

	if (!m) {
		read_maps(p, innermost ? REREAD_NS : REREAD_ANY_NS);
		m = mappings_find(&p->maps, address);
	}
	*ret_place = place;
	if (!m)
		return 0;
	if (m->place.inode || is_vdso(m->path))
		place.offset = address - m->start + m->place.offset;
	*ret_place = place;
	return know_place(p, m, ret_place);
}

static int find(struct stack_process *p, uint64_t address, bool innermost,
		struct stack_place *ret_place)
{
	struct stack_cached *c = &p->cache[(address ^ address >> 12) % STACK_CACHE];
	int r;

	if (c->address == address && c->place.module) {
		*ret_place = c->place;
		return 0;
	}
	r = look_up(p, address, innermost, ret_place);
	if (r == 0 && ret_place->module)
		*c = (struct stack_cached){address, *ret_place};
	return r;
}

/* ---- samples ---- */

/* A thread that is gone before it was looked up keeps the number that the kernel gave it. */
static int thread_of(struct stack_process *p, uint32_t tid, const struct stack_thread **ret)
{
	struct stack_thread new = {.tid = tid, .game_tid = (int32_t)tid};
	struct process_thread facts;
	size_t i;

	for (i = 0; i < p->threads.count; i++) {
		if (p->threads.at[i].tid == tid) {
			*ret = &p->threads.at[i];
			return 0;
		}
	}
	if (process_thread(p->pid, (int32_t)tid, &facts) == 0) {
		new.game_tid = facts.ns_tid;
		snprintf(new.name, sizeof(new.name), "%.*s", (int)sizeof(new.name) - 1, facts.name);
	}
	if (p->threads.count == THREADS_MAX)
		p->threads.count = 0; /* numbers come again: those that still run are found anew */
	if (VEC_PUSH(&p->threads, new) < 0)
		return -ENOMEM;
	*ret = &p->threads.at[p->threads.count - 1];
	return 0;
}

/* Up to the first caller that is in no code. */
static int take_places(struct stack_process *p, const struct probe_stack *stack, size_t count,
		       struct stack_place *places, size_t *ret_count)
{
	size_t i;
	int r = 0;

	*ret_count = 0;
	for (i = 0; i < count && r == 0; i++) {
		r = find(p, stack->ips[i] - (i > 0), i == 0, &places[i]);
		if (r == 0 && i > 0 && places[i].module == 0 && p->maps_fd >= 0)
			break;
		*ret_count = i + 1;
	}
	return r;
}

int stack_process_take(struct stack_process *process, const struct probe_stack *stack, size_t bytes,
		       int64_t t, uint64_t period_ns)
{
	struct stack_place places[PROBE_STACK_MAX];
	struct stack_sample sample = {.t = t, .period = period_ns, .places = places};
	const struct stack_thread *thread;
	size_t head = offsetof(struct probe_stack, ips), count;
	int r;

	if (bytes < head || bytes > sizeof(*stack))
		return -EBADMSG;
	count = (bytes - head) / sizeof(stack->ips[0]);
	r = thread_of(process, stack->tid, &thread);
	if (r == 0)
		r = take_places(process, stack, count, places, &sample.count);
	if (r < 0)
		return r;
	sample.tid = thread->game_tid;
	sample.thread = thread->name;
	if (stack->flags & PROBE_IN_KERNEL)
		sample.flags |= STACK_IN_KERNEL;
	if (sample.count == PROBE_STACK_MAX)
		sample.flags |= STACK_TOO_DEEP;
	return stack_log_put(&process->log, &sample);
}

int stack_process_lost(struct stack_process *process, int64_t t, uint64_t count)
{
	return stack_log_lost(&process->log, t, count);
}

/* ---- to the store ---- */

bool stack_process_work(struct stack_process *process)
{
	return stack_names_work(&process->names);
}

void stack_process_flush(struct stack_process *process, uint64_t session, struct batch *batch)
{
	struct stack_chunk chunk;
	struct stack_row row;

	stack_names_flush(&process->names, session, batch);
	if (VEC_RESERVE(&batch->stacks, 1) < 0)
		return;
	stack_log_take(&process->log, &chunk);
	if (!chunk.data)
		return;
	row = (struct stack_row){.session = session,
				 .t0 = chunk.t0,
				 .t1 = chunk.t1,
				 .samples = chunk.samples,
				 .data = chunk.data,
				 .bytes = (uint32_t)chunk.bytes};
	batch->stacks.at[batch->stacks.count++] = row;
	batch->bytes += row.bytes;
}
