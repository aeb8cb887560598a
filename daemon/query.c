// SPDX-License-Identifier: MIT
/*
 * The parent's side. The child is this program again, started anew: it shares no memory with the
 * daemon, and whatever it does to itself ends with it. Request and answer go through memory files,
 * so that neither side ever waits for the other to read, and the answer is sent from where the
 * child wrote it.
 *
 * The history may be moved or replaced by the store thread, so its place is asked for and held
 * until the child says that it has opened it; from then on the child has its own hold of the files.
 * It keeps a read transaction as long as it lives, which pins the WAL: that is why it does not live
 * longer than milliseconds and some grace, whatever it is doing.
 */
#include "query.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>

#define GRACE_MS 500  /* for the child to say itself that its time is over */
#define OPEN_MS	 2000 /* for it to open the database */

struct queries {
	struct store *store;
	unsigned milliseconds;
	const char *program;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t running[QUERY_CHILDREN_MAX]; /* whose */
	unsigned count;
};

int queries_new(struct store *store, unsigned milliseconds, const char *program,
		struct queries **ret_queries)
{
	struct queries *q = calloc(1, sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->store = store;
	q->milliseconds = milliseconds;
	q->program = program ? program : "/proc/self/exe";
	pthread_mutex_init(&q->lock, NULL);
	cond_init_monotonic(&q->changed);
	*ret_queries = q;
	return 0;
}

void queries_free(struct queries *queries)
{
	if (!queries)
		return;
	pthread_cond_destroy(&queries->changed);
	pthread_mutex_destroy(&queries->lock);
	free(queries);
}

/* Index of the asker's query, or where one more would be. The lock is held. */
static unsigned find(const struct queries *q, uint32_t asker)
{
	unsigned i;

	for (i = 0; i < q->count; i++)
		if (q->running[i] == asker)
			break;
	return i;
}

/* Waits for a place as long as a query may take. */
static bool take_place(struct queries *q, uint32_t asker)
{
	struct timespec until = clock_after(q->milliseconds * NS_PER_MS + NS_PER_S);
	int r = 0;

	pthread_mutex_lock(&q->lock);
	while (r == 0 && (q->count == QUERY_CHILDREN_MAX || find(q, asker) < q->count))
		r = pthread_cond_timedwait(&q->changed, &q->lock, &until);
	if (r == 0)
		q->running[q->count++] = asker;
	pthread_mutex_unlock(&q->lock);
	return r == 0;
}

static void give_place(struct queries *q, uint32_t asker)
{
	pthread_mutex_lock(&q->lock);
	q->running[find(q, asker)] = q->running[q->count - 1];
	q->count--;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

static void fail(struct query_answer *a, enum query_result result, const char *what, int error)
{
	a->result = result;
	if (error < 0)
		snprintf(a->message, sizeof(a->message), "%s: %s", what, strerror(-error));
	else
		snprintf(a->message, sizeof(a->message), "%s", what);
}

/* The request as a memory file, at its start: an fd or -errno. */
static int write_request(const struct queries *queries, const struct query *q, const char *path)
{
	_cleanup_close_ int fd = memfd_create("fprof-query", MFD_CLOEXEC);
	json_t *request;
	int r;

	if (fd < 0)
		return -errno;
	request = json_pack("{s:s, s:I, s:I, s:s, s:i, s:I, s:I, s:i, s:i, s:s*}", "path", path,
			    "uid", (json_int_t)q->uid, "session", (json_int_t)q->session, "sql",
			    q->sql, "format", (int)q->format, "rows", (json_int_t)q->rows, "bytes",
			    (json_int_t)QUERY_BYTES_MAX, "memory", (int)QUERY_MEMORY,
			    "milliseconds", (int)queries->milliseconds, "params", q->params);
	if (!request)
		return -ENOMEM;
	r = json_dumpfd(request, fd, JSON_COMPACT);
	json_decref(request);
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -ENOMEM;
	return util_take_fd(&fd);
}

/* A child that is run, and what it is given. */
struct child {
	pid_t pid;
	int pidfd, request, answer, opened[2]; /* opened: a pipe that tells */
};

static int set_attributes(posix_spawnattr_t *attr)
{
	sigset_t none;
	int r;

	sigemptyset(&none);
	r = posix_spawnattr_setsigmask(attr, &none);
	return r ? r : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK);
}

static int spawn(const char *program, struct child *c)
{
	char name[] = "fprofd", argument[] = QUERY_CHILD;
	char *const argv[] = {name, argument, NULL};
	char *const environment[] = {NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	r = posix_spawn_file_actions_adddup2(&actions, c->request, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, c->answer, 1);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, c->opened[1], 3);
	if (r == 0)
		r = set_attributes(&attr);
	if (r == 0)
		r = posix_spawn(&c->pid, program, &actions, &attr, argv, environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (r)
		return -r;
	c->pidfd = pidfd_open(c->pid, 0);
	return 0;
}

static void wait_readable(int fd, int milliseconds)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int r;

	do
		r = poll(&p, 1, milliseconds);
	while (r < 0 && errno == EINTR);
}

/* Waits for the child's end, at most so long; then it is ended. Its status as of waitpid. */
static int reap(struct child *c, unsigned milliseconds)
{
	int status = 0;

	if (c->pidfd >= 0)
		wait_readable(c->pidfd, (int)milliseconds);
	if (waitpid(c->pid, &status, WNOHANG) == 0) {
		kill(c->pid, SIGKILL);
		while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	return status;
}

/* What the child says went wrong, instead of an answer. */
static void read_failure(int fd, struct query_answer *a)
{
	json_t *failure;
	const char *message = "";
	json_int_t offset = -1;
	int result = QUERY_FAILED;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return;
	failure = json_loadfd(fd, 0, NULL);
	if (failure && json_unpack(failure, "{s:i, s:s, s:I}", "result", &result, "message",
				   &message, "offset", &offset) == 0) {
		a->result = (enum query_result)result;
		a->offset = offset;
		snprintf(a->message, sizeof(a->message), "%s", message);
	}
	json_decref(failure);
}

static void judge(int status, struct child *c, struct query_answer *a)
{
	fail(a, QUERY_FAILED, "the child that runs queries ended without an answer", 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && lseek(c->answer, 0, SEEK_SET) == 0) {
		a->result = QUERY_DONE;
		a->message[0] = '\0';
		a->fd = util_take_fd(&c->answer);
	} else if (WIFEXITED(status)) {
		read_failure(c->answer, a);
	} else if (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU) {
		fail(a, QUERY_TIME, "", 0);
	} else {
		snprintf(a->message, sizeof(a->message),
			 "the child that runs queries was ended by signal %d", WTERMSIG(status));
	}
}

static void child_deinit(struct child *c)
{
	util_closep(&c->pidfd);
	util_closep(&c->request);
	util_closep(&c->answer);
	util_closep(&c->opened[0]);
	util_closep(&c->opened[1]);
}
#define _cleanup_child_ __attribute__((cleanup(child_deinit)))

/* Starts it on the database at path and waits until it has that open. */
static int start(const struct queries *queries, const struct query *q, const char *path,
		 struct child *c)
{
	int r;

	c->request = write_request(queries, q, path);
	if (c->request < 0)
		return c->request;
	c->answer = memfd_create("fprof-answer", MFD_CLOEXEC);
	if (c->answer < 0 || pipe2(c->opened, O_CLOEXEC) < 0)
		return -errno;
	r = spawn(queries->program, c);
	if (r < 0)
		return r;
	close(c->opened[1]);
	c->opened[1] = -1;
	wait_readable(c->opened[0], OPEN_MS);
	return 0;
}

/* The same, on the rolling history where that is a file. */
static int start_history(const struct queries *queries, const struct query *q, struct child *c,
			 struct query_answer *a)
{
	char path[512];
	bool is_uri;
	int r = -EAGAIN;

	store_read_lock(queries->store);
	store_location(queries->store, path, sizeof(path), &is_uri);
	if (!is_uri)
		r = start(queries, q, path, c);
	store_read_unlock(queries->store);
	if (is_uri)
		fail(a, QUERY_UNAVAILABLE, "", 0);
	return r;
}

static void say_why_unavailable(const struct queries *queries, struct query_answer *a)
{
	struct store_health health;

	store_health(queries->store, &health);
	snprintf(a->message, sizeof(a->message),
		 "the history is in the daemon's memory, where a query cannot be kept apart from "
		 "it: %s",
		 health.history_reason);
}

void queries_run(struct queries *queries, const struct query *query,
		 struct query_answer *ret_answer)
{
	_cleanup_child_ struct child c = {
		.pidfd = -1, .request = -1, .answer = -1, .opened = {-1, -1}};
	struct query_answer *a = ret_answer;
	int r;

	*a = (struct query_answer){.fd = -1, .offset = -1};
	if (!take_place(queries, query->asker)) {
		fail(a, QUERY_BUSY, "", 0);
		return;
	}
	r = query->path ? start(queries, query, query->path, &c)
			: start_history(queries, query, &c, a);
	if (r == 0)
		judge(reap(&c, queries->milliseconds + GRACE_MS), &c, a);
	else if (a->result == QUERY_UNAVAILABLE)
		say_why_unavailable(queries, a);
	else
		fail(a, QUERY_FAILED, "the child that runs queries cannot be started", r);
	give_place(queries, query->asker);
}
