// SPDX-License-Identifier: MIT
/*
 * The game socket, from the game's side: who is let in, who is turned away and with which words,
 * and what ends a session. The daemon's part runs on a thread of the test; the games are the test
 * and children of it.
 */
#include "daemon/directories.h"
#include "daemon/history.h"
#include "daemon/listen.h"
#include "daemon/socket.h"

#include "fake_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#define WAIT_MS	 20000 /* for what must come; never waited for in full when all is well */
#define IMAGE_ID 0x1111

struct daemon {
	struct config config;
	struct status *status;
	struct store *store;
	struct drain *drain;
	struct listen *listen;
	struct loop *loop;
	struct loop_source *stop_source;
	pthread_t thread;
	sem_t ready, held, go_on;
	bool hold; /* on_stop waits instead */
	int stop_fd, result;
	int inherited; /* a listening socket, -1: none */
	char dir[64];
};

static void on_stop(void *userdata, int fd, unsigned events)
{
	struct daemon *d = userdata;
	uint64_t count;

	(void)events;
	if (!d->hold) {
		loop_stop(d->loop);
		return;
	}
	d->hold = read(fd, &count, sizeof(count)) != sizeof(count);
	sem_post(&d->held);
	sem_wait(&d->go_on);
}

static int loop_part_begin(struct daemon *d)
{
	int r = loop_new(&d->loop);

	if (r == 0)
		r = loop_add_fd(d->loop, d->stop_fd, on_stop, d, &d->stop_source);
	if (r == 0)
		r = listen_new(d->loop, &d->config, d->store, d->drain, d->status, d->inherited,
			       &d->listen);
	return r;
}

static void *loop_part(void *userdata)
{
	struct daemon *d = userdata;

	d->result = loop_part_begin(d);
	sem_post(&d->ready);
	if (d->result == 0)
		d->result = loop_run(d->loop);
	listen_free(d->listen);
	d->listen = NULL;
	loop_free(d->loop);
	d->loop = NULL;
	return NULL;
}

static void daemon_start(struct daemon *d)
{
	d->stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(d->stop_fd >= 0);
	d->status = status_new();
	assert_non_null(d->status);
	assert_int_equal(store_new(&d->config, NULL, NULL, &d->store), 0);
	assert_int_equal(drain_new(&d->config, d->store, &d->drain), 0);
	sem_init(&d->ready, 0, 0);
	sem_init(&d->held, 0, 0);
	sem_init(&d->go_on, 0, 0);
	assert_int_equal(pthread_create(&d->thread, NULL, loop_part, d), 0);
	sem_wait(&d->ready);
	assert_int_equal(d->result, 0);
}

static void daemon_stop(struct daemon *d)
{
	uint64_t one = 1;

	assert_int_equal(write(d->stop_fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(pthread_join(d->thread, NULL), 0);
	assert_int_equal(d->result, 0);
	drain_free(d->drain);
	store_free(d->store);
	status_free(d->status);
	close(d->stop_fd);
}

static void daemon_configure(struct daemon *d)
{
	char runtime[96], state[96], file[96];
	char *argv[] = {(char *)"fprofd", (char *)"--config",	 file,	(char *)"--runtime-dir",
			runtime,	  (char *)"--state-dir", state, NULL};
	int status;
	FILE *f;

	snprintf(file, sizeof(file), "%s/fprofd.conf", d->dir);
	snprintf(runtime, sizeof(runtime), "%s/run", d->dir);
	snprintf(state, sizeof(state), "%s/state", d->dir);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs("ring_kib = 16\nmemory_mib = 16\nmax_sessions = 6\n", f);
	fclose(f);
	assert_int_equal(config_load(7, argv, &d->config, &status), 0);
	assert_int_equal(directories_make(&d->config), 0);
}

static int setup(void **state)
{
	struct daemon *d = calloc(1, sizeof(*d));

	*state = d;
	d->inherited = -1;
	strcpy(d->dir, "/dev/shm/fprof-test-listen-XXXXXX");
	if (!mkdtemp(d->dir))
		return -1;
	daemon_configure(d);
	daemon_start(d);
	return 0;
}

static int teardown(void **state)
{
	struct daemon *d = *state;
	char command[128];
	int r;

	daemon_stop(d);
	snprintf(command, sizeof(command), "rm -rf %s", d->dir);
	r = system(command);
	config_free(&d->config);
	free(d);
	return r;
}

/* --- a game's side; used in forked children too, so without assertions --- */

static int game_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

static int game_connect_with(const struct daemon *d, int fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, d->config.socket_path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : fd;
}

static int game_connect(const struct daemon *d)
{
	return game_connect_with(d, game_socket());
}

static struct fprof_msg_hello hello_of(uint64_t memory_id, uint64_t image_id)
{
	return (struct fprof_msg_hello){
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_HELLO,
		.bytes = sizeof(struct fprof_msg_hello),
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.origin = FPROF_ORIGIN_GAME,
		.pid = getpid(),
		.memory_id = memory_id,
		.image_id = image_id,
		.name = "test game",
	};
}

/* 0, or -errno; *ret_control: -1 when none came. -EPIPE: hung up. */
static int receive_welcome(int fd, struct fprof_msg_welcome *ret, int *ret_control)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;

	*ret_control = -1;
	if (poll(&p, 1, WAIT_MS) != 1)
		return -ETIMEDOUT;
	n = socket_receive(fd, ret, sizeof(*ret), ret_control);
	return n == sizeof(*ret) ? 0 : n == 0 ? -EPIPE : (int)n;
}

/* Says hello with a sound memory; returns the connection. */
static int game_hello(const struct daemon *d, uint64_t memory_id, uint64_t image_id)
{
	struct fprof_msg_hello hello = hello_of(memory_id, image_id);
	struct fake_memory m;
	int fd = game_connect(d), r;

	if (fd < 0 || fake_memory_init(&m, memory_id, image_id) < 0)
		return -1;
	r = socket_send(fd, &hello, sizeof(hello), m.fd);
	fake_memory_deinit(&m);
	return r < 0 ? r : fd;
}

static int game_bye(int fd)
{
	struct fprof_msg_bye bye = {
		.magic = FPROF_SOCKET_MAGIC, .type = FPROF_MSG_BYE, .bytes = sizeof(bye)};

	return socket_send(fd, &bye, sizeof(bye), -1);
}

/* --- expectations --- */

static uint64_t expect_welcome(int fd)
{
	struct fprof_msg_welcome w;
	int control;

	assert_int_equal(receive_welcome(fd, &w, &control), 0);
	assert_string_equal(w.reason, "");
	assert_int_equal(w.status, 0);
	assert_true(control >= 0);
	close(control);
	assert_true(w.session_id > 0);
	return w.session_id;
}

static void expect_refused(int fd, int error, const char *reason)
{
	struct fprof_msg_welcome w;
	int control;

	assert_int_equal(receive_welcome(fd, &w, &control), 0);
	assert_int_equal(control, -1);
	assert_int_equal(w.status, error);
	if (!strstr(w.reason, reason))
		fail_msg("refused with \"%s\", not with \"%s\"", w.reason, reason);
	/* and the connection is closed */
	assert_int_equal(receive_welcome(fd, &w, &control), -EPIPE);
	close(fd);
}

static void expect_hung_up(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		char buf[256];

		assert_int_equal(poll(&p, 1, WAIT_MS), 1);
		if (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) <= 0)
			break;
	}
	close(fd);
}

/* One round trip: all that was sent before has been handled. */
static uint64_t round_trip(const struct daemon *d)
{
	int fd = game_hello(d, 1, IMAGE_ID);
	uint64_t session;

	assert_true(fd >= 0);
	session = expect_welcome(fd);
	close(fd);
	return session;
}

static uint64_t refusals(const struct daemon *d)
{
	static struct status_snapshot s;

	status_snapshot(d->status, &s);
	return s.refusals_total;
}

/* The session's row once its state is no longer live. */
static void expect_ended(const struct daemon *d, uint64_t id, enum session_state expected,
			 const char *reason)
{
	struct timespec pause = {.tv_nsec = 10000000};
	struct history_session session;
	struct history *history;
	unsigned i;

	assert_int_equal(history_open(d->store, &history), 0);
	for (i = 0; i < WAIT_MS / 10; i++) {
		if (history_session(history, id, HISTORY_ANY_UID, &session) == 0) {
			if (session.update.state != SESSION_LIVE)
				break;
			history_session_deinit(&session);
		}
		nanosleep(&pause, NULL);
	}
	if (i == WAIT_MS / 10)
		fail_msg("session %llu has not ended", (unsigned long long)id);
	assert_int_equal(session.update.state, expected);
	assert_non_null(session.update.end_reason);
	assert_string_equal(session.update.end_reason, reason);
	history_session_deinit(&session);
	history_close(history);
}

static void expect_live(const struct daemon *d, uint64_t id)
{
	struct timespec pause = {.tv_nsec = 10000000};
	struct history_session session;
	struct history *history;
	int r = -ENOENT;
	unsigned i;

	assert_int_equal(history_open(d->store, &history), 0);
	for (i = 0; r < 0 && i < WAIT_MS / 10; i++) {
		r = history_session(history, id, HISTORY_ANY_UID, &session);
		if (r < 0)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(r, 0);
	assert_int_equal(session.update.state, SESSION_LIVE);
	history_session_deinit(&session);
	history_close(history);
}

/* --- the handshake --- */

static void test_hello_gets_welcome_and_control_page(void **state)
{
	struct daemon *d = *state;
	const struct fprof_control *page;
	struct fprof_msg_welcome w;
	int fd = game_hello(d, 1, IMAGE_ID), control;

	assert_true(fd >= 0);
	assert_int_equal(receive_welcome(fd, &w, &control), 0);
	assert_int_equal(w.magic, FPROF_SOCKET_MAGIC);
	assert_int_equal(w.type, FPROF_MSG_WELCOME);
	assert_int_equal(w.bytes, sizeof(w));
	assert_int_equal(w.abi_major, FPROF_ABI_MAJOR);
	assert_int_equal(w.status, 0);
	page = mmap(NULL, FPROF_CONTROL_BYTES, PROT_READ, MAP_SHARED, control, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(page->magic, FPROF_CONTROL_MAGIC);
	assert_int_equal(page->session_id, w.session_id);
	munmap((void *)(uintptr_t)page, FPROF_CONTROL_BYTES);
	close(control);
	close(fd);
	assert_int_equal(refusals(d), 0);
}

static void test_memories_of_one_process_are_one_session(void **state)
{
	struct daemon *d = *state;
	int a = game_hello(d, 1, IMAGE_ID), b = game_hello(d, 2, IMAGE_ID);

	assert_int_equal(expect_welcome(a), expect_welcome(b));
	close(a);
	close(b);
}

static void test_a_memory_that_comes_again_replaces_its_connection(void **state)
{
	struct daemon *d = *state;
	int other = game_hello(d, 2, IMAGE_ID), old = game_hello(d, 1, IMAGE_ID), new;
	uint64_t session = expect_welcome(old);

	assert_int_equal(expect_welcome(other), session);
	new = game_hello(d, 1, IMAGE_ID);
	assert_int_equal(expect_welcome(new), session);
	expect_hung_up(old);
	/* the other memory's connection is untouched */
	assert_int_equal(recv(other, &session, sizeof(session), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(other);
	close(new);
}

static void test_a_hang_up_is_no_end(void **state)
{
	struct daemon *d = *state;
	uint64_t session = round_trip(d);

	assert_int_equal(round_trip(d), session);
	expect_live(d, session);
}

static void test_minor_versions_record(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(1, IMAGE_ID);
	struct fake_memory m;
	int fd = game_connect(d);

	assert_int_equal(fake_memory_init(&m, 1, IMAGE_ID), 0);
	hello.abi_minor = FPROF_ABI_MINOR + 1;
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), m.fd), 0);
	expect_welcome(fd);
	fake_memory_deinit(&m);
	close(fd);
}

static void test_another_major_is_refused_with_both_versions(void **state)
{
	static struct status_snapshot s;
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(1, IMAGE_ID);
	int fd = game_connect(d);

	hello.abi_major = 9;
	hello.abi_minor = 3;
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), -1), 0);
	expect_refused(fd, -EPROTO, "the game speaks protocol 9.3, this daemon 1.1");
	status_snapshot(d->status, &s);
	assert_int_equal(s.refusals_total, 1);
	assert_int_equal(s.refusals[0].pid, getpid());
	assert_int_equal(s.refusals[0].abi_major, 9);
	assert_int_equal(s.refusals[0].abi_minor, 3);
	/* also in a shorter hello, of which only the beginning is understood */
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, &hello, 12, -1), 0);
	expect_refused(fd, -EPROTO, "protocol 9.3");
}

/* Sends a hello with this memory, which is then closed. */
static int hello_with(const struct daemon *d, const struct fprof_memory_header *head,
		      uint64_t bytes, int seals)
{
	struct fprof_msg_hello hello = hello_of(head->memory_id, head->image_id);
	struct fake_memory m;
	int fd = game_connect(d);

	assert_true(fd >= 0);
	assert_int_equal(fake_memory_make(&m, head, bytes, seals), 0);
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), m.fd), 0);
	fake_memory_deinit(&m);
	return fd;
}

static void test_bad_memories_are_refused(void **state)
{
	struct daemon *d = *state;
	const struct fprof_memory_header good = fake_header(1, IMAGE_ID);
	struct fprof_memory_header bad;
	uint64_t session = round_trip(d);

	expect_refused(hello_with(d, &(struct fprof_memory_header){.image_id = IMAGE_ID}, 4096, 0),
		       -EPERM, "sealed");
	bad = fake_header(2, IMAGE_ID);
	expect_refused(hello_with(d, &bad, sizeof(bad) / 2, FAKE_SEALS), -EINVAL, "shorter");
	expect_refused(hello_with(d, &bad, good.total_bytes - 4096, FAKE_SEALS), -EINVAL, "");
	expect_refused(hello_with(d, &bad, UINT64_C(17) << 20, FAKE_SEALS), -EFBIG, "memory_mib");
	bad.slot_count = 4000000;
	expect_refused(hello_with(d, &bad, good.total_bytes, FAKE_SEALS), -EINVAL, "slots");
	bad = fake_header(2, IMAGE_ID);
	bad.magic = 1;
	expect_refused(hello_with(d, &bad, good.total_bytes, FAKE_SEALS), -EPROTO, "no fprof");
	bad = fake_header(2, IMAGE_ID);
	bad.slot_count = 1;
	bad.ring_words = 256 * 1024;
	bad.total_bytes = bad.rings_offset + bad.ring_words * UINT64_C(8);
	expect_refused(hello_with(d, &bad, bad.total_bytes, FAKE_SEALS), -EFBIG, "ring_kib");
	assert_int_equal(refusals(d), 7);
	/* the session of the same process has not noticed */
	assert_int_equal(round_trip(d), session);
	expect_live(d, session);
}

static void test_a_foreign_clock_is_refused(void **state)
{
	struct fprof_memory_header bad = fake_header(2, IMAGE_ID);

#if defined(__x86_64__)
	bad.clock_kind = FPROF_CLOCK_CNTVCT;
#else
	bad.clock_kind = FPROF_CLOCK_TSC;
#endif
	expect_refused(hello_with(*state, &bad, bad.total_bytes, FAKE_SEALS), -EPROTO, "clock");
}

static void test_a_hugetlb_memory_is_refused(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(2, IMAGE_ID);
	int fd, memory = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (memory < 0) {
		print_message("SKIP: no hugetlb memfd here: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(ftruncate(memory, 2 << 20), 0);
	assert_int_equal(fcntl(memory, F_ADD_SEALS, FAKE_SEALS), 0);
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), memory), 0);
	expect_refused(fd, -EMEDIUMTYPE, "huge pages");
	close(memory);
}

static void test_a_memory_that_is_not_the_named_one(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(2, IMAGE_ID);
	struct fake_memory m;
	int fd = game_connect(d);

	assert_int_equal(fake_memory_init(&m, 3, IMAGE_ID), 0);
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), m.fd), 0);
	expect_refused(fd, -EPROTO, "not the one that the hello names");
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), -1), 0);
	expect_refused(fd, -EBADMSG, "without a memory");
	fake_memory_deinit(&m);
}

static void test_too_many_memories(void **state)
{
	struct daemon *d = *state;
	uint64_t session = round_trip(d), i;
	int fd;

	for (i = 2; i <= 8; i++) {
		fd = game_hello(d, i, IMAGE_ID);
		assert_int_equal(expect_welcome(fd), session);
		close(fd);
	}
	expect_refused(game_hello(d, 9, IMAGE_ID), -EBUSY, "too many memories");
}

/* --- garbage --- */

static void test_garbage_instead_of_a_hello(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(1, IMAGE_ID);
	uint8_t noise[4096];
	unsigned i;
	int fd;

	srand(1);
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t)rand();
	for (i = 1; i <= 1000; i += 37) {
		fd = game_connect(d);
		assert_int_equal(socket_send(fd, noise, i, -1), 0);
		expect_refused(fd, -EBADMSG, "no hello");
	}
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, noise, sizeof(noise), -1), 0);
	expect_hung_up(fd);
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, noise, 0, -1), 0);
	expect_hung_up(fd);
	fd = game_connect(d);
	assert_int_equal(game_bye(fd), 0);
	expect_refused(fd, -EBADMSG, "no hello");
	fd = game_connect(d);
	hello.bytes--;
	assert_int_equal(socket_send(fd, &hello, sizeof(hello), -1), 0);
	expect_refused(fd, -EBADMSG, "wrong length");
	fd = game_connect(d);
	assert_int_equal(socket_send(fd, &hello, sizeof(hello) - 1, -1), 0);
	expect_refused(fd, -EBADMSG, "wrong length");
	assert_int_equal(refusals(d), 28 + 1 + 3);
	round_trip(d);
}

static void test_garbage_after_the_hello_keeps_the_session(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(1, IMAGE_ID);
	int fd = game_hello(d, 1, IMAGE_ID);
	uint64_t session = expect_welcome(fd);

	assert_int_equal(socket_send(fd, &hello, sizeof(hello), -1), 0); /* a second hello */
	expect_hung_up(fd);
	assert_int_equal(refusals(d), 1);
	assert_int_equal(round_trip(d), session);
	expect_live(d, session);
}

static unsigned count_fds(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Sends a hello that carries a memory and 7 others. */
static void send_surplus(int fd, const struct fprof_msg_hello *hello, int memory)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)hello, .iov_len = sizeof(*hello)};
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(20 * sizeof(int))];
	} control = {.bytes = {0}};
	struct msghdr message = {.msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	int i;

	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(20 * sizeof(int));
	for (i = 0; i < 20; i++)
		memcpy(CMSG_DATA(&control.align) + i * (int)sizeof(int), &memory, sizeof(int));
	assert_true(sendmsg(fd, &message, MSG_NOSIGNAL) > 0);
}

static void test_surplus_descriptors_are_closed(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_hello hello = hello_of(1, IMAGE_ID);
	struct fake_memory m;
	unsigned before, i;
	int fd;

	round_trip(d);
	assert_int_equal(fake_memory_init(&m, 1, IMAGE_ID), 0);
	before = count_fds();
	for (i = 0; i < 20; i++) {
		fd = game_connect(d);
		hello.type = i % 2 ? FPROF_MSG_HELLO : 0;
		send_surplus(fd, &hello, m.fd);
		if (i % 2)
			expect_welcome(fd);
		else
			expect_refused(fd, -EBADMSG, "no hello");
		if (i % 2)
			close(fd);
	}
	round_trip(d);
	/* A few may be in use on the daemon's threads right now; kept ones would be 7 to 140. */
	assert_in_range(count_fds(), before - 6, before + 6);
	fake_memory_deinit(&m);
}

/* --- limits --- */

static void test_no_hello_for_5_seconds(void **state)
{
	struct daemon *d = *state;
	int silent = game_connect(d), live = game_hello(d, 1, IMAGE_ID);

	assert_true(silent >= 0);
	expect_welcome(live);
	expect_refused(silent, -ETIMEDOUT, "did not say hello");
	/* who said hello stays */
	assert_int_equal(recv(live, &silent, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(live);
}

static void test_300_connections(void **state)
{
	struct daemon *d = *state;
	struct fprof_msg_welcome w;
	int fds[300], control, i, refused = 0;

	for (i = 0; i < 300; i++) {
		fds[i] = game_connect(d);
		assert_true(fds[i] >= 0);
	}
	for (i = 256; i < 300; i++) {
		assert_int_equal(receive_welcome(fds[i], &w, &control), 0);
		assert_int_equal(w.status, -EBUSY);
		assert_non_null(strstr(w.reason, "too many connections"));
		refused++;
	}
	assert_int_equal(refused, 44);
	assert_int_equal(refusals(d), 44);
	for (i = 0; i < 256; i++) {
		assert_int_equal(recv(fds[i], &w, sizeof(w), MSG_DONTWAIT), -1);
		close(fds[i]);
	}
	for (; i < 300; i++)
		close(fds[i]);
	round_trip(d);
}

static void test_no_descriptors_left(void **state)
{
	struct daemon *d = *state;
	struct rlimit old, low;
	int fillers[256], count = 0, fd = game_socket();

	round_trip(d);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 256;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while ((fillers[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	assert_int_equal(game_connect_with(d, fd), fd);
	expect_refused(fd, -EMFILE, "no descriptors left");
	while (count > 0)
		close(fillers[--count]);
	setrlimit(RLIMIT_NOFILE, &old);
	round_trip(d);
}

/* --- children: what ends a session --- */

struct child {
	pid_t pid;
	int control;	  /* a byte here lets the child go on */
	uint64_t session; /* 0: it was refused */
	int status;
};

/* CHILD_RETURNS: says hello once more before its goodbye. CHILD_SECOND: with another memory, and no
 * goodbye. */
enum child_way {
	CHILD_BYE,
	CHILD_SILENT,
	CHILD_KILLED,
	CHILD_TERMINATED,
	CHILD_RETURNS,
	CHILD_SECOND,
};

static void child_main(const struct daemon *d, enum child_way way, int control)
{
	struct fprof_msg_welcome w = {0};
	int fd, page;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Nothing of the daemon: a copy of its lock would keep it locked. */
	if (dup2(control, 3) < 0 || close_range(4, ~0U, 0) < 0)
		_exit(90);
	control = 3;
	fd = game_hello(d, (uint64_t)getpid(), IMAGE_ID);
	if (fd < 0 || receive_welcome(fd, &w, &page) < 0)
		_exit(91);
	if (write(control, &w, sizeof(w)) != sizeof(w) || read(control, &byte, 1) < 0)
		_exit(92);
	if (way == CHILD_RETURNS)
		fd = game_hello(d, (uint64_t)getpid(), IMAGE_ID);
	if (way == CHILD_SECOND && game_hello(d, (uint64_t)getpid() + 1, IMAGE_ID) < 0)
		_exit(94);
	if ((way == CHILD_BYE || way == CHILD_RETURNS) && game_bye(fd) < 0)
		_exit(93);
	if (way == CHILD_TERMINATED)
		raise(SIGTERM);
	if (way == CHILD_KILLED)
		raise(SIGKILL);
	_exit(way == CHILD_SILENT ? 7 : 0);
}

static void child_begin(const struct daemon *d, enum child_way way, struct child *ret)
{
	struct fprof_msg_welcome w;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ret->pid = fork();
	assert_true(ret->pid >= 0);
	if (ret->pid == 0) {
		close(pair[0]);
		child_main(d, way, pair[1]);
	}
	close(pair[1]);
	ret->control = pair[0];
	assert_int_equal(recv(pair[0], &w, sizeof(w), 0), sizeof(w));
	ret->session = w.session_id;
	ret->status = w.status;
}

/* Lets it end. It stays a zombie, so that older kernels too can tell how it ended. */
static void child_let_go(struct child *c)
{
	/* A byte: a hang-up is not seen while later children hold copies of the descriptor. */
	assert_int_equal(send(c->control, "x", 1, MSG_NOSIGNAL), 1);
	close(c->control);
}

static void child_reap(struct child *c)
{
	assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
}

static void child_end(struct child *c)
{
	child_let_go(c);
	child_reap(c);
}

static void check_end(void **state, enum child_way way, enum session_state expected,
		      const char *reason)
{
	struct daemon *d = *state;
	struct child c;

	child_begin(d, way, &c);
	assert_int_equal(c.status, 0);
	expect_live(d, c.session);
	child_let_go(&c);
	expect_ended(d, c.session, expected, reason);
	child_reap(&c);
}

static void test_exit_after_a_goodbye(void **state)
{
	check_end(state, CHILD_BYE, SESSION_ENDED, "exit");
}

static void test_exit_without_a_goodbye(void **state)
{
	check_end(state, CHILD_SILENT, SESSION_ENDED, "exit status 7, without a goodbye");
}

static void test_kill_9(void **state)
{
	check_end(state, CHILD_KILLED, SESSION_CRASHED, "killed by signal 9 (SIGKILL)");
}

static void test_a_signal_to_end_is_no_crash(void **state)
{
	check_end(state, CHILD_TERMINATED, SESSION_ENDED, "killed by signal 15 (SIGTERM)");
}

/* Hello, goodbye and exit at once, the welcome never read: nothing of it may be lost. */
static void test_a_game_that_is_gone_before_its_welcome(void **state)
{
	struct daemon *d = *state;
	struct history_session session;
	struct history *history;
	siginfo_t info;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = game_hello(d, 5, IMAGE_ID);

		_exit(fd < 0 || game_bye(fd) < 0);
	}
	/* dead, not yet waited for */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_status, 0);
	/* session 1 is the child's: nobody else has come */
	expect_ended(d, 1, SESSION_ENDED, "exit");
	assert_int_equal(history_open(d->store, &history), 0);
	assert_int_equal(history_session(history, 1, HISTORY_ANY_UID, &session), 0);
	assert_int_equal(session.row.pid, pid);
	history_session_deinit(&session);
	history_close(history);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A game and the hook in it each have a library: the second one connects, the game ends and is
 * waited for, and only then the daemon comes to look. */
static void test_a_second_library_of_a_game_that_is_gone(void **state)
{
	struct daemon *d = *state;
	history_sessions_vec sessions = {0};
	struct history *history;
	uint64_t one = 1;
	struct child c;

	child_begin(d, CHILD_SECOND, &c);
	assert_int_equal(c.status, 0);
	expect_live(d, c.session);
	d->hold = true;
	assert_int_equal(write(d->stop_fd, &one, sizeof(one)), sizeof(one));
	sem_wait(&d->held);
	child_end(&c);
	sem_post(&d->go_on);
	expect_ended(d, c.session, SESSION_ENDED, "exit status 0, without a goodbye");
	assert_int_equal(history_open(d->store, &history), 0);
	assert_int_equal(history_sessions(history, HISTORY_ANY_UID, &sessions), 0);
	assert_int_equal(sessions.count, 1);
	history_sessions_free(&sessions);
	history_close(history);
}

static void test_exec_begins_another_session(void **state)
{
	struct daemon *d = *state;
	uint64_t first = round_trip(d), second;
	int fd = game_hello(d, 1, IMAGE_ID + 1);

	second = expect_welcome(fd);
	assert_int_not_equal(first, second);
	expect_ended(d, first, SESSION_ENDED, "exec");
	expect_live(d, second);
	close(fd);
}

static void test_max_sessions(void **state)
{
	struct daemon *d = *state;
	struct child c[7];
	int i;

	for (i = 0; i < 7; i++)
		child_begin(d, CHILD_BYE, &c[i]);
	for (i = 0; i < 6; i++)
		assert_int_equal(c[i].status, 0);
	assert_int_equal(c[6].status, -EBUSY);
	assert_int_equal(refusals(d), 1);
	child_end(&c[6]);
	child_let_go(&c[0]);
	expect_ended(d, c[0].session, SESSION_ENDED, "exit");
	child_reap(&c[0]);
	child_begin(d, CHILD_BYE, &c[0]);
	assert_int_equal(c[0].status, 0);
	for (i = 0; i < 6; i++)
		child_end(&c[i]);
}

/* --- restarts of the daemon --- */

static void test_a_session_goes_on_after_a_restart(void **state)
{
	struct daemon *d = *state;
	uint64_t session = round_trip(d);

	expect_live(d, session);
	daemon_stop(d);
	daemon_start(d);
	expect_live(d, session);
	assert_int_equal(round_trip(d), session);
	expect_live(d, session);
}

/* How the session ended as far as is known, and that it is told that not all of it is. */
static void expect_end_unknown(const struct daemon *d, uint64_t id, const char *reason)
{
	struct history_session session;
	struct history *history;

	expect_ended(d, id, SESSION_ENDED, reason);
	assert_int_equal(history_open(d->store, &history), 0);
	assert_int_equal(history_session(history, id, HISTORY_ANY_UID, &session), 0);
	assert_true(session.update.end_unknown);
	assert_true(session.update.end_ns >= 0);
	history_session_deinit(&session);
	history_close(history);
}

static void test_a_game_that_ended_while_no_daemon_ran(void **state)
{
	struct daemon *d = *state;
	struct child c;

	child_begin(d, CHILD_BYE, &c);
	expect_live(d, c.session);
	daemon_stop(d);
	child_end(&c);
	daemon_start(d);
	expect_end_unknown(
		d, c.session,
		"ended while fprofd was not running; how is unknown, and events after 0 ms "
		"are missing");
}

/*
 * A game that ends while its daemon is restarted: its memory and its goodbye wait at the door of
 * the new one, which finds no process any more, and goes on with the session.
 */
static void test_a_memory_that_outlives_its_process(void **state)
{
	struct daemon *d = *state;
	history_sessions_vec sessions = {0};
	struct history *history;
	struct child c;
	int lock = -1;

	child_begin(d, CHILD_RETURNS, &c);
	expect_live(d, c.session);
	daemon_stop(d);
	assert_int_equal(socket_listen(d->config.socket_path, 0600, &d->inherited, &lock), 0);
	child_end(&c); /* waited for: nothing is left of it but what it sent */
	daemon_start(d);
	assert_int_equal(history_open(d->store, &history), 0);
	for (;;) {
		assert_int_equal(history_sessions(history, HISTORY_ANY_UID, &sessions), 0);
		assert_int_equal(sessions.count, 1);
		if (sessions.at[0].update.state != SESSION_LIVE)
			break;
		history_sessions_free(&sessions);
	}
	assert_int_equal(sessions.at[0].row.id, c.session);
	assert_int_equal(sessions.at[0].row.pid, c.pid);
	assert_string_equal(sessions.at[0].row.name, "test game");
	assert_int_not_equal(sessions.at[0].row.process_start, 0);
	assert_int_equal(sessions.at[0].update.state, SESSION_ENDED);
	assert_false(sessions.at[0].update.end_unknown);
	history_sessions_free(&sessions);
	history_close(history);
	close(lock);
}

/* It lives, but does not speak: live until it is gone. */
static void test_a_silent_game_after_a_restart(void **state)
{
	struct daemon *d = *state;
	struct child c;

	child_begin(d, CHILD_SILENT, &c);
	expect_live(d, c.session);
	daemon_stop(d);
	daemon_start(d);
	round_trip(d);
	expect_live(d, c.session);
	child_let_go(&c);
	expect_end_unknown(d, c.session,
			   "exit status 7, before it found the new fprofd; events after 0 ms are "
			   "missing");
	child_reap(&c);
}

/* --- the socket's place --- */

static int try_listen(const char *path)
{
	int fd = -1, lock = -1, r = socket_listen(path, 0600, &fd, &lock);

	if (fd >= 0)
		close(fd);
	if (lock >= 0)
		close(lock);
	return r;
}

static void test_a_living_daemons_socket_is_not_taken(void **state)
{
	struct daemon *d = *state;
	struct listen *second = NULL;
	struct loop *loop;

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(listen_new(loop, &d->config, d->store, d->drain, d->status, -1, &second),
			 -EADDRINUSE);
	assert_null(second);
	loop_free(loop);
	round_trip(d);
}

static void *close_soon(void *fd)
{
	usleep(100000);
	close(*(int *)fd);
	return NULL;
}

static void test_the_place_of_the_socket(void **state)
{
	pthread_t closer;
	struct daemon *d = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[160];
	struct stat st;
	int fd;

	/* a file that a killed daemon left */
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/stale.sock", d->dir);
	fd = game_socket();
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	assert_int_equal(try_listen(address.sun_path), 0);
	assert_int_equal(stat(address.sun_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* one that listens without our lock */
	unlink(address.sun_path);
	fd = game_socket();
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(try_listen(address.sun_path), -EADDRINUSE);
	/* one that is about to be closed, as a killed daemon's */
	assert_int_equal(pthread_create(&closer, NULL, close_soon, &fd), 0);
	assert_int_equal(try_listen(address.sun_path), 0);
	pthread_join(closer, NULL);
	/* what is no socket stays */
	snprintf(path, sizeof(path), "%s/fprofd.conf", d->dir);
	assert_int_equal(try_listen(path), -EEXIST);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(try_listen(path), -ENAMETOOLONG);
}

static int connect_as_nobody(const struct daemon *d)
{
	struct fprof_msg_welcome w;
	int fd, page;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		return 90;
	fd = game_connect(d);
	if (fd < 0)
		return 91;
	/* nothing is said: a stranger is turned away before that */
	if (receive_welcome(fd, &w, &page) < 0 || w.status == 0)
		return 92;
	return strstr(w.reason, "its own user") ? 0 : 93;
}

static void test_only_the_own_user_where_the_socket_says_so(void **state)
{
	struct daemon *d = *state;
	int lock, result;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("SKIP: becoming another user needs root\n");
		skip();
	}
	daemon_stop(d);
	/* Closed to others when the daemon begins; opened afterwards, so that the daemon itself
	 * must refuse. */
	assert_int_equal(socket_listen(d->config.socket_path, 0600, &d->inherited, &lock), 0);
	daemon_start(d);
	assert_int_equal(chmod(d->config.socket_path, 0666), 0);
	assert_int_equal(chmod(d->dir, 0711), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(connect_as_nobody(d));
	assert_int_equal(waitpid(pid, &result, 0), pid);
	assert_true(WIFEXITED(result));
	assert_int_equal(WEXITSTATUS(result), 0);
	assert_int_equal(refusals(d), 1);
	close(lock);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_hello_gets_welcome_and_control_page),
		T(test_memories_of_one_process_are_one_session),
		T(test_a_memory_that_comes_again_replaces_its_connection),
		T(test_a_hang_up_is_no_end),
		T(test_minor_versions_record),
		T(test_another_major_is_refused_with_both_versions),
		T(test_bad_memories_are_refused),
		T(test_a_foreign_clock_is_refused),
		T(test_a_hugetlb_memory_is_refused),
		T(test_a_memory_that_is_not_the_named_one),
		T(test_too_many_memories),
		T(test_garbage_instead_of_a_hello),
		T(test_garbage_after_the_hello_keeps_the_session),
		T(test_surplus_descriptors_are_closed),
		T(test_no_hello_for_5_seconds),
		T(test_300_connections),
		T(test_no_descriptors_left),
		T(test_exit_after_a_goodbye),
		T(test_exit_without_a_goodbye),
		T(test_a_signal_to_end_is_no_crash),
		T(test_kill_9),
		T(test_a_game_that_is_gone_before_its_welcome),
		T(test_a_second_library_of_a_game_that_is_gone),
		T(test_exec_begins_another_session),
		T(test_max_sessions),
		T(test_a_session_goes_on_after_a_restart),
		T(test_a_game_that_ended_while_no_daemon_ran),
		T(test_a_silent_game_after_a_restart),
		T(test_a_memory_that_outlives_its_process),
		T(test_a_living_daemons_socket_is_not_taken),
		T(test_the_place_of_the_socket),
		T(test_only_the_own_user_where_the_socket_says_so),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
