// SPDX-License-Identifier: MIT
/*
 * A stand-in for the daemon: accepts games on a socket, takes their memories, and when each game
 *has hung up prints what lies in its rings, one line an event. It shows what the library wrote,
 *with nothing between.
 *
 *	ringdump SOCKET [GAMES]
 *
 * Says "listening" once it is. After GAMES connections (default 1) have come and gone it exits.
 *Lines: memory pid=N origin=N name=TEXT slots=N thread slot=N serial=N tid=N name=TEXT
 *	begin|end|next|instant slot=N depth=N kind=N name=TEXT
 *	mark slot=N origin=N stream=TEXT count=N number=N
 *	info KEY=VALUE
 *	total marks.game=N marks.hook=N marks.named=N begins=N ends=N lost=N
 * The ring is read once, at the end: make it large enough ($FPROF_RING_KIB) where every event
 *counts.
 */
#include "shm/layout.h"
#include "shm/reader.h"
#include "shm/word.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define GAMES_MAX 64
#define POLL_MS	  20

struct game {
	int fd;
	struct memory_view view;
	void *base;
	size_t bytes;
	char name[64];
	bool told; /* to end */
};

struct totals {
	uint64_t marks[3]; /* by enum fprof_origin */
	uint64_t named, begins, ends, lost;
};

static void die(const char *what)
{
	fprintf(stderr, "ringdump: %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *marker_name(const struct memory_view *view, uint32_t id, uint8_t *ret_kind)
{
	static struct marker_copy marker;

	*ret_kind = 255;
	if (memory_marker(view, id, &marker) < 0)
		return "?";
	*ret_kind = marker.kind;
	return marker.name;
}

static void dump_mark(const struct memory_view *view, uint32_t slot, const uint64_t *words,
		      struct totals *totals)
{
	uint32_t stream = (uint32_t)words[1], origin = (uint32_t)(words[1] >> 32);
	uint8_t kind;

	printf("mark slot=%u origin=%u stream=%s count=%" PRIu64 " number=%" PRId64 "\n", slot,
	       origin, stream ? marker_name(view, stream, &kind) : "main", words[2],
	       (int64_t)words[3]);
	if (stream)
		totals->named++;
	else if (origin < 3)
		totals->marks[origin]++;
}

static void dump_ext(const struct memory_view *view, uint32_t slot, const uint64_t *words,
		     unsigned *depth, struct totals *totals)
{
	const char *bytes = (const char *)&words[2];

	switch (fprof_word_ext_kind(words[0])) {
	case FPROF_EXT_HEADER:
		*depth = (uint32_t)words[4];
		break;
	case FPROF_EXT_THREAD:
		printf("thread slot=%u serial=%u tid=%u name=%.64s\n", slot,
		       (uint32_t)(words[1] >> 32), (uint32_t)words[1], (const char *)&words[3]);
		break;
	case FPROF_EXT_MARK:
		dump_mark(view, slot, words, totals);
		break;
	case FPROF_EXT_INFO:
		printf("info %.*s=%.*s\n", (int)(uint32_t)words[1], bytes, (int)(words[1] >> 32),
		       bytes + (uint32_t)words[1]);
		break;
	default:
		break;
	}
}

static void dump_zone(const struct memory_view *view, uint32_t slot, uint64_t word, unsigned *depth,
		      struct totals *totals)
{
	static const char *const words[] = {"", "begin", "end", "next", "instant"};
	uint32_t kind = fprof_word_kind(word);
	uint8_t marker_kind;
	const char *name = marker_name(view, fprof_word_id(word), &marker_kind);

	if (kind == FPROF_WORD_END && *depth)
		(*depth)--;
	printf("%s slot=%u depth=%u kind=%u name=%s\n", kind <= 4 ? words[kind] : "?", slot, *depth,
	       marker_kind, name);
	if (kind == FPROF_WORD_BEGIN)
		(*depth)++;
	totals->begins += kind == FPROF_WORD_BEGIN;
	totals->ends += kind == FPROF_WORD_END;
}

static void dump_slot(const struct memory_view *view, uint32_t slot, struct totals *totals)
{
	size_t max = view->head.ring_words, count, i;
	uint64_t *buf = calloc(max, sizeof(*buf)), pos;
	struct ring_reader reader;
	unsigned depth = 0;

	if (!buf)
		die("memory");
	ring_reader_init(&reader, view, slot, 0);
	while (ring_reader_copy(&reader, buf, max, &pos, &count) != RING_BACKWARDS && count) {
		totals->lost += pos - reader.tail; /* in words: more than zero is what counts */
		for (i = 0; i < count;) {
			uint32_t kind = fprof_word_kind(buf[i]);
			uint32_t words = kind == FPROF_WORD_EXT ? fprof_word_ext_words(buf[i]) : 1;

			if (words == 0 || i + words > count)
				break;
			if (kind == FPROF_WORD_EXT)
				dump_ext(view, slot, &buf[i], &depth, totals);
			else if (kind != FPROF_WORD_PAD)
				dump_zone(view, slot, buf[i], &depth, totals);
			i += words;
		}
		if (i == 0)
			break;
		reader.tail = pos + i;
	}
	free(buf);
}

static void dump(const struct game *game)
{
	struct totals totals = {0};
	uint32_t slots = memory_slots_used(&game->view), slot;

	printf("memory pid=%d origin=%u name=%s slots=%u\n", game->view.head.pid,
	       game->view.head.origin, game->name, slots);
	for (slot = 0; slot < slots; slot++)
		dump_slot(&game->view, slot, &totals);
	printf("total marks.game=%" PRIu64 " marks.hook=%" PRIu64 " marks.named=%" PRIu64
	       " begins=%" PRIu64 " ends=%" PRIu64 " lost=%" PRIu64 "\n",
	       totals.marks[FPROF_ORIGIN_GAME], totals.marks[FPROF_ORIGIN_HOOK], totals.named,
	       totals.begins, totals.ends, totals.lost);
	fflush(stdout);
}

static int make_control(void)
{
	struct fprof_control control = {
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.control_bytes = FPROF_CONTROL_BYTES,
		.generation = 1,
		.record_state = FPROF_STATE_RECORDING,
		.gate = FPROF_LEVELS,
		.session_id = 1,
		.magic = FPROF_CONTROL_MAGIC,
	};
	int fd = memfd_create("control", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, FPROF_CONTROL_BYTES) < 0 ||
	    pwrite(fd, &control, sizeof(control), 0) != (ssize_t)sizeof(control) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		die("control page");
	return fd;
}

static void welcome(int fd)
{
	struct fprof_msg_welcome message = {
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_WELCOME,
		.bytes = sizeof(message),
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.session_id = 1,
	};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ancillary = {0};
	struct iovec iov = {&message, sizeof(message)};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = &ancillary,
				.msg_controllen = sizeof(ancillary)};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
	int control = make_control();

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &control, sizeof(int));
	if (sendmsg(fd, &header, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		die("welcome");
	close(control);
}

static void map_memory(struct game *game, int fd)
{
	const char *why = "";
	struct stat info;

	if (fstat(fd, &info) < 0)
		die("memory");
	game->bytes = (size_t)info.st_size;
	game->base = mmap(NULL, game->bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (game->base == MAP_FAILED)
		die("mapping the memory");
	if (memory_view_init(game->base, game->bytes, &game->view, &why) < 0) {
		fprintf(stderr, "ringdump: refused: %s\n", why);
		exit(1);
	}
}

/* Reads one packet. false: the game hung up. */
static bool receive(struct game *game)
{
	union {
		struct fprof_msg_hello hello;
		char bytes[512];
	} packet;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} ancillary = {0};
	struct iovec iov = {&packet, sizeof(packet)};
	struct msghdr header = {.msg_iov = &iov,
				.msg_iovlen = 1,
				.msg_control = &ancillary,
				.msg_controllen = sizeof(ancillary)};
	ssize_t got = recvmsg(game->fd, &header, MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);
	int fd;

	if (got <= 0)
		return false;
	if (got < (ssize_t)sizeof(packet.hello) || packet.hello.type != FPROF_MSG_HELLO || !cmsg)
		return true;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	memcpy(game->name, packet.hello.name, sizeof(game->name));
	game->name[sizeof(game->name) - 1] = '\0';
	map_memory(game, fd);
	close(fd);
	welcome(game->fd);
	return true;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		die(path);
	}
	strcpy(address.sun_path, path);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, GAMES_MAX) < 0)
		die(path);
	printf("listening\n");
	fflush(stdout);
	return fd;
}

static void end_game(struct game *game)
{
	if (game->base) {
		dump(game);
		munmap(game->base, game->bytes);
	}
	close(game->fd);
	*game = (struct game){.fd = -1};
}

/* Ends a game that has written enough. */
static void tell_to_end(struct game *game, uint64_t words)
{
	uint32_t slots, slot;

	if (!game->base || game->told)
		return;
	slots = memory_slots_used(&game->view);
	for (slot = 0; slot < slots && !game->told; slot++) {
		if (memory_slot_head(&game->view, slot) >= words)
			game->told = kill(game->view.head.pid, SIGTERM) == 0;
	}
}

int main(int argc, char **argv)
{
	struct pollfd polled[GAMES_MAX + 1];
	struct game games[GAMES_MAX] = {0};
	long wanted = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	unsigned long words = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	long gone = 0, count = 0, i;

	if (argc < 2 || wanted < 1 || wanted > GAMES_MAX) {
		fprintf(stderr, "usage: ringdump SOCKET [GAMES: 1..%d [WORDS]]\n", GAMES_MAX);
		return 2;
	}
	polled[0] = (struct pollfd){.fd = listen_at(argv[1]), .events = POLLIN};
	while (gone < wanted) {
		for (i = 0; i < count; i++)
			polled[i + 1] = (struct pollfd){.fd = games[i].fd, .events = POLLIN};
		polled[0].fd = count < wanted ? polled[0].fd : -1;
		if (poll(polled, (nfds_t)count + 1, words ? POLL_MS : -1) < 0)
			die("poll");
		for (i = 0; i < count; i++) {
			if (words)
				tell_to_end(&games[i], words);
			if (polled[i + 1].revents && !receive(&games[i])) {
				end_game(&games[i]);
				gone++;
			}
		}
		if (polled[0].revents & POLLIN)
			games[count++].fd = accept4(polled[0].fd, NULL, NULL, SOCK_CLOEXEC);
	}
	unlink(argv[1]);
	return 0;
}
