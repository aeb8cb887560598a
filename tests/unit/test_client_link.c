// SPDX-License-Identifier: MIT
/*
 * The connection: handshake, control page, daemons that come late, die, refuse or are not sound.
 * One process plays both sides, which never wait for each other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/fprof.h"
#include "client/thread.h"
#include "client_child.h"
#include "client_ring.h"
#include "fake_daemon.h"

static char text[65536];
static char said[1024];

static void hear(void *data, int level, const char *line)
{
	(void)level;
	snprintf(data, sizeof(said), "%s", line);
}

static const char *ring(const struct fake_daemon *d)
{
	ring_text(&d->view, own_slot(), text, sizeof(text));
	return text;
}

static void zone(void)
{
	FPROF_ZONE("z");
}

/* A frame every ms until done, at most for ms. Returns whether it was done in time. */
static bool frames_until(bool (*done)(struct fake_daemon *d), struct fake_daemon *d, int ms)
{
	while (ms-- > 0) {
		fprof_frame_mark();
		if (done(d))
			return true;
		usleep(1000);
	}
	return false;
}

static bool came(struct fake_daemon *d)
{
	return fake_accept(d, 0);
}

static bool link_is_up(struct fake_daemon *d)
{
	(void)d;
	return session_peek()->link.state == LINK_UP;
}

static void hello_says_who_we_are(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	setenv("FPROF_NAME", "the name", 1);
	zone();
	CHECK(fake_accept(&d, 0));
	CHECK_EQUAL(d.hello.magic, FPROF_SOCKET_MAGIC);
	CHECK_EQUAL(d.hello.pid, getpid());
	CHECK_EQUAL(d.hello.connects, 0);
	CHECK_EQUAL(d.hello.memory_id, d.view.head.memory_id);
	CHECK_EQUAL(d.hello.origin, FPROF_ORIGIN_GAME);
	CHECK_TEXT(d.hello.name, "the name");
	CHECK_EQUAL(fcntl(d.memfd, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	CHECK(fcntl(session_peek()->kin.memfd.fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(session_peek()->kin.socket.fd, F_GETFD) & FD_CLOEXEC);
	fake_deinit(&d);
}
CHILD_TEST(hello_says_who_we_are)

/* The daemon listens and has not answered yet: nothing is lost meanwhile. */
static void records_before_the_welcome(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	zone();
	fprof_frame_mark();
	zone();
	CHECK(fake_accept(&d, 0));
	CHECK_TEXT(ring(&d), "z(z)#z(z)");
	fake_welcome(&d);
	fprof_frame_mark();
	zone();
	CHECK_TEXT(ring(&d), "z(z)#z(z)#z(z)");
	CHECK(link_is_up(&d));
	fake_deinit(&d);
}
CHILD_TEST(records_before_the_welcome)

static void nothing_is_recorded_without_a_daemon(void)
{
	struct fake_daemon d;
	struct memory_view view;
	int i;

	fake_init(&d);
	for (i = 0; i < 100; i++) {
		zone();
		fprof_frame_mark();
	}
	view = own_view();
	ring_text(&view, own_slot(), text, sizeof(text));
	CHECK_TEXT(text, "");
	CHECK_EQUAL(fprof_frame_number(), 101);
	fake_deinit(&d);
}
CHILD_TEST(nothing_is_recorded_without_a_daemon)

static void daemon_comes_late_to_a_game_with_marks(void)
{
	struct fake_daemon d;

	fake_init(&d);
	zone();
	fprof_frame_mark();
	fake_listen(&d);
	CHECK(frames_until(came, &d, 3000));
	CHECK_TEXT(ring(&d), "#");
	zone();
	CHECK_TEXT(ring(&d), "#z(z)");
	fake_deinit(&d);
}
CHILD_TEST(daemon_comes_late_to_a_game_with_marks)

static void daemon_comes_late_to_a_process_without_marks(void)
{
	struct fake_daemon d;
	int ms;

	fake_init(&d);
	zone();
	fake_listen(&d);
	for (ms = 0; ms < 3000 && !fake_accept(&d, 0); ms++) {
		zone();
		usleep(1000);
	}
	CHECK(ms < 3000);
	zone();
	CHECK(strstr(ring(&d), "z(z)") != NULL);
	fake_deinit(&d);
}
CHILD_TEST(daemon_comes_late_to_a_process_without_marks)

/* Queues and infos that were made before anybody listened are told to whoever comes. */
static void facts_are_told_to_a_late_daemon(void)
{
	struct fake_daemon d;
	struct ring_events e;
	size_t i, queues = 0, infos = 0;

	fake_init(&d);
	CHECK_EQUAL(fprof_gpu_queue("graphics", 1.0, 64), 1);
	fprof_session_info("level", "e1m1");
	fprof_session_info("level", "e1m2");
	fprof_frame_mark();
	fake_listen(&d);
	CHECK(frames_until(came, &d, 3000));
	fake_welcome(&d);
	fprof_frame_mark();
	CHECK(link_is_up(&d));
	fprof_frame_mark();
	e = ring_events_read(&d.view, own_slot());
	for (i = 0; i < e.count; i++) {
		queues += event_ext(&e, i) == FPROF_EXT_GPU_QUEUE;
		if (event_ext(&e, i) == FPROF_EXT_INFO) {
			infos++;
			CHECK_EQUAL(event_word(&e, i, 1), 5 | UINT64_C(4) << 32);
			CHECK(!memcmp(&e.words[e.lead[i] + 2], "levele1m2", 9));
		}
	}
	CHECK_EQUAL(queues, 1);
	CHECK_EQUAL(infos, 1);
	fake_deinit(&d);
}
CHILD_TEST(facts_are_told_to_a_late_daemon)

static void control_page_stops_resumes_and_sets_the_gate(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	zone();
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	fprof_frame_mark();
	fake_set(&d, FPROF_STATE_STOPPED, FPROF_LEVELS);
	zone();
	fprof_frame_mark();
	zone();
	fprof_frame_mark();
	CHECK_TEXT(ring(&d), "z(z)##z(z)##");
	fake_set(&d, FPROF_STATE_RECORDING, FPROF_LEVEL_PHASE);
	fprof_frame_mark();
	zone();
	{
		FPROF_ZONE_L("landmark", FPROF_LEVEL_LANDMARK);
	}
	CHECK_TEXT(ring(&d), "z(z)##z(z)####landmark(landmark)");
	fake_set(&d, FPROF_STATE_FROZEN, FPROF_LEVELS);
	fprof_frame_mark();
	zone();
	CHECK_TEXT(ring(&d), "z(z)##z(z)####landmark(landmark)##");
	fake_deinit(&d);
}
CHILD_TEST(control_page_stops_resumes_and_sets_the_gate)

/* A thread may tell of an order as soon as it stands there, before the gates follow it. */
static void an_order_is_told_with_the_time_that_it_came(void)
{
	struct fake_daemon d;
	struct fprof_writer *w;
	struct ring_events e;
	struct session *s;
	uint64_t before;

	fake_init(&d);
	fake_listen(&d);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	fprof_frame_mark();
	s = session_peek();
	fake_set(&d, FPROF_STATE_STOPPED, FPROF_LEVELS);
	before = fprof_ticks();
	w = thread_hold(s);
	CHECK(link_poll(s, s->link.check_ns - 1, true));
	CHECK(thread_tell(s, w, false));
	e = ring_events_read(&d.view, own_slot());
	CHECK_EQUAL(event_ext(&e, e.count - 1), FPROF_EXT_RECORD);
	CHECK(event_word(&e, e.count - 1, 2) >= before);
	CHECK(event_word(&e, e.count - 1, 2) <= fprof_ticks());
	fake_deinit(&d);
}
CHILD_TEST(an_order_is_told_with_the_time_that_it_came)

/* kill -9 of the daemon: recording goes on, and the same memory is offered to the next one. */
static void daemon_dies_and_another_comes(void)
{
	struct fake_daemon d;
	uint64_t memory_id;

	fake_init(&d);
	fake_listen(&d);
	zone();
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	CHECK(frames_until(link_is_up, &d, 10));
	memory_id = d.hello.memory_id;
	fake_die(&d);
	fake_listen(&d);
	CHECK(frames_until(came, &d, 6000));
	CHECK_EQUAL(d.hello.connects, 1);
	CHECK_EQUAL(d.hello.memory_id, memory_id);
	fake_welcome(&d);
	CHECK(frames_until(link_is_up, &d, 10));
	CHECK(strstr(ring(&d), "z(z)##") != NULL);
	fake_deinit(&d);
}
CHILD_TEST(daemon_dies_and_another_comes)

/* A heartbeat that is still and a socket that is open: the daemon is stopped (SIGSTOP). */
static void daemon_that_is_stopped_is_kept(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	CHECK(frames_until(link_is_up, &d, 10));
	CHECK(!frames_until(came, &d, 4000));
	CHECK(link_is_up(&d));
	fake_deinit(&d);
}
CHILD_TEST(daemon_that_is_stopped_is_kept)

static void refused_says_why_and_stops(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	fprof_set_log(hear, said);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_answer(&d, -EPROTONOSUPPORT, "client 9.0, daemon 1.0", -1);
	fprof_frame_mark();
	CHECK(strstr(said, "client 9.0, daemon 1.0") != NULL);
	zone();
	CHECK_TEXT(ring(&d), "##");
	CHECK(!frames_until(came, &d, 1500));
	fake_deinit(&d);
}
CHILD_TEST(refused_says_why_and_stops)

/* A control page that fails a check is not mapped, and nothing is recorded for that daemon. */
static void with_control(int fd)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	fprof_set_log(hear, said);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_answer(&d, 0, "", fd);
	fprof_frame_mark();
	CHECK(strstr(said, "control page is not sound") != NULL);
	CHECK(session_peek()->link.control == NULL);
	zone();
	CHECK_TEXT(ring(&d), "##");
	fake_deinit(&d);
}

static int control_of(off_t bytes, int seals, uint64_t magic, uint16_t major)
{
	int fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK(ftruncate(fd, bytes) == 0);
	CHECK(pwrite(fd, &magic, sizeof(magic), 0) == sizeof(magic));
	CHECK(pwrite(fd, &major, sizeof(major), 8) == sizeof(major));
	CHECK(fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

#define SEALED (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static void control_page_missing(void)
{
	with_control(-1);
}
CHILD_TEST(control_page_missing)

static void control_page_unsealed(void)
{
	with_control(control_of(FPROF_CONTROL_BYTES, F_SEAL_SHRINK, FPROF_CONTROL_MAGIC,
				FPROF_ABI_MAJOR));
}
CHILD_TEST(control_page_unsealed)

static void control_page_short(void)
{
	with_control(control_of(100, SEALED, FPROF_CONTROL_MAGIC, FPROF_ABI_MAJOR));
}
CHILD_TEST(control_page_short)

static void control_page_of_another_kind(void)
{
	with_control(control_of(FPROF_CONTROL_BYTES, SEALED, 1, FPROF_ABI_MAJOR));
}
CHILD_TEST(control_page_of_another_kind)

static void control_page_of_another_version(void)
{
	with_control(
		control_of(FPROF_CONTROL_BYTES, SEALED, FPROF_CONTROL_MAGIC, FPROF_ABI_MAJOR + 1));
}
CHILD_TEST(control_page_of_another_version)

static void control_page_is_a_pipe(void)
{
	int fds[2];

	CHECK(pipe(fds) == 0);
	with_control(fds[0]);
}
CHILD_TEST(control_page_is_a_pipe)

static void garbage_for_a_welcome(void)
{
	struct fake_daemon d;

	fake_init(&d);
	fake_listen(&d);
	fprof_set_log(hear, said);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	CHECK(send(d.peer, "hello yourself", 14, 0) == 14);
	fprof_frame_mark();
	CHECK(strstr(said, "answers what we don't know") != NULL);
	fake_deinit(&d);
}
CHILD_TEST(garbage_for_a_welcome)

static const struct ring_size {
	const char *kib;
	uint32_t ring_kib, slots;
	bool odd;
} ring_sizes[] = {
	{"1024", 1024, 512, false},  {"16", 16, 512, false},
	{"2048", 2048, 480, false},  {"16384", 16384, 60, false},
	{"65536", 65536, 15, false}, {"3000", 2048, 480, true},
	{"15", 16, 512, true},	     {"0", 16, 512, true},
	{"65537", 65536, 15, true},  {"99999999999999999999", 65536, 15, true},
	{"-5", 1024, 512, true},     {"2M", 1024, 512, true},
};
static const struct ring_size *ring_size;

static void a_ring_size(void)
{
	struct memory_view view;

	record_alone();
	setenv("FPROF_RING_KIB", ring_size->kib, 1);
	fprof_set_log(hear, said);
	zone();
	view = own_view();
	CHECK_EQUAL(view.head.ring_words, ring_size->ring_kib * 128);
	CHECK_EQUAL(view.head.slot_count, ring_size->slots);
	CHECK(view.head.total_bytes < UINT64_C(1024) << 20); /* what a daemon takes */
	CHECK_EQUAL((uintptr_t)session_peek()->rings % FPROF_RINGS_ALIGN, 0);
	CHECK_EQUAL(view.head.rings_offset % FPROF_RINGS_ALIGN, 0);
	CHECK_EQUAL(memory_refused(&view, FPROF_REFUSED_ARGUMENTS), ring_size->odd);
	CHECK_EQUAL(strstr(said, "FPROF_RING_KIB") != NULL, ring_size->odd);
}

static void rings_of_any_size_fit_a_daemon(void **state)
{
	(void)state;
	for (ring_size = ring_sizes;
	     ring_size < ring_sizes + sizeof(ring_sizes) / sizeof(ring_sizes[0]); ring_size++)
		if (in_child(a_ring_size) != 0)
			fail_msg("FPROF_RING_KIB=%s", ring_size->kib);
}

/* KiB of mappings of memfds that are in huge pages. */
static unsigned long huge_kib(void)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	unsigned long sum = 0, kib;
	char line[512];
	bool ours = false;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f)) {
		if (strchr(line, '/'))
			ours = strstr(line, "/memfd:") != NULL;
		if (ours && (sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1 ||
			     sscanf(line, "FilePmdMapped: %lu kB", &kib) == 1))
			sum += kib;
	}
	fclose(f);
	return sum;
}

/* Does the kernel make huge pages of a memfd's? */
static bool has_huge_pages(void)
{
	const size_t huge = FPROF_RINGS_ALIGN;
	uint8_t *base = mmap(NULL, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	int fd = memfd_create("test", MFD_CLOEXEC);
	bool has;

	assert_true(base != MAP_FAILED && fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)huge), 0);
	at = base + -(uintptr_t)base % huge;
	assert_true(mmap(at, huge, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at);
	*at = 1;
	has = madvise(at, huge, 25 /* MADV_COLLAPSE */) == 0;
	munmap(base, 2 * huge);
	close(fd);
	return has;
}

static void a_ring_in_a_huge_page(void)
{
	record_alone();
	zone();
	CHECK(huge_kib() >= 2048);
}

static void rings_lie_in_huge_pages(void **state)
{
	(void)state;
	if (!has_huge_pages())
		skip(); /* none are there, or the kernel is older than Linux 6.1 */
	assert_int_equal(in_child(a_ring_in_a_huge_page), 0);
}

static void socket_path_too_long(void)
{
	static char path[300];

	memset(path, 'p', sizeof(path) - 1);
	path[0] = '/';
	setenv("FPROF_SOCKET", path, 1);
	unsetenv("FPROF_RUN");
	fprof_set_log(hear, said);
	zone();
	fprof_frame_mark();
	CHECK(strstr(said, "longer than 107 bytes") != NULL);
}
CHILD_TEST(socket_path_too_long)

/*
 * The game closes everything and opens files of its own under the same numbers. They stay open
 * and untouched, and the daemon that has the memory goes on with it.
 */
static void game_closes_all_its_descriptors(void)
{
	struct fake_daemon d;
	int fd, files[64], i;
	char name[] = "/tmp/fprof-test-file-XXXXXX";
	struct session *s;

	fake_init(&d);
	fake_listen(&d);
	fprof_frame_mark();
	CHECK(fake_accept(&d, 0));
	fake_welcome(&d);
	CHECK(frames_until(link_is_up, &d, 10));
	s = session_peek();
	close(s->kin.memfd.fd);
	close(s->kin.socket.fd);
	files[0] = mkstemp(name);
	for (i = 1; i < 64; i++)
		files[i] = dup(files[0]);
	zone();
	CHECK(!frames_until(came, &d, 4500));
	CHECK_EQUAL(s->link.state, LINK_OVER);
	zone();
	CHECK(strstr(ring(&d), "z(z)##") != NULL);
	for (i = 0; i < 64; i++)
		CHECK(fcntl(files[i], F_GETFD) >= 0);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	CHECK_EQUAL(lseek(fd, 0, SEEK_END), 0);
	unlink(name);
	fake_deinit(&d);
}
CHILD_TEST(game_closes_all_its_descriptors)

/* An end in order says goodbye, once; a child that recorded nothing does not say it for its parent.
 */
static void goodbye_at_exit(void)
{
	struct fprof_msg_bye bye;
	struct fake_daemon d;
	pid_t pid;

	fake_init(&d);
	fake_listen(&d);
	pid = fork();
	if (pid == 0) {
		pid_t child;

		zone();
		child = fork();
		if (child == 0)
			exit(0);
		waitpid(child, NULL, 0);
		usleep(1000);
		exit(0);
	}
	CHECK(fake_accept(&d, 5000));
	CHECK_EQUAL(child_status(pid), 0);
	CHECK_EQUAL(recv(d.peer, &bye, sizeof(bye), 0), sizeof(bye));
	CHECK_EQUAL(bye.magic, FPROF_SOCKET_MAGIC);
	CHECK_EQUAL(bye.type, FPROF_MSG_BYE);
	CHECK_EQUAL(recv(d.peer, &bye, sizeof(bye), 0), 0);
	fake_deinit(&d);
}
CHILD_TEST(goodbye_at_exit)

/* What makes system calls inside leaves errno to the game. */
static void errno_is_the_games(void)
{
	struct fake_daemon d;

	fake_init(&d);
	errno = ENOTTY;
	zone();
	CHECK_EQUAL(errno, ENOTTY);
	fprof_frame_mark();
	CHECK_EQUAL(errno, ENOTTY);
	fake_listen(&d);
	CHECK(frames_until(came, &d, 3000));
	errno = ENOTTY;
	fprof_frame_mark();
	fake_answer(&d, -EBUSY, "no", -1);
	fprof_frame_mark();
	CHECK_EQUAL(errno, ENOTTY);
	fake_deinit(&d);
}
CHILD_TEST(errno_is_the_games)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHILD_UNIT(hello_says_who_we_are),
		CHILD_UNIT(records_before_the_welcome),
		CHILD_UNIT(nothing_is_recorded_without_a_daemon),
		CHILD_UNIT(daemon_comes_late_to_a_game_with_marks),
		CHILD_UNIT(daemon_comes_late_to_a_process_without_marks),
		CHILD_UNIT(facts_are_told_to_a_late_daemon),
		CHILD_UNIT(control_page_stops_resumes_and_sets_the_gate),
		CHILD_UNIT(an_order_is_told_with_the_time_that_it_came),
		CHILD_UNIT(daemon_dies_and_another_comes),
		CHILD_UNIT(daemon_that_is_stopped_is_kept),
		CHILD_UNIT(refused_says_why_and_stops),
		CHILD_UNIT(control_page_missing),
		CHILD_UNIT(control_page_unsealed),
		CHILD_UNIT(control_page_short),
		CHILD_UNIT(control_page_of_another_kind),
		CHILD_UNIT(control_page_of_another_version),
		CHILD_UNIT(control_page_is_a_pipe),
		CHILD_UNIT(garbage_for_a_welcome),
		cmocka_unit_test(rings_of_any_size_fit_a_daemon),
		cmocka_unit_test(rings_lie_in_huge_pages),
		CHILD_UNIT(socket_path_too_long),
		CHILD_UNIT(game_closes_all_its_descriptors),
		CHILD_UNIT(goodbye_at_exit),
		CHILD_UNIT(errno_is_the_games),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
