// SPDX-License-Identifier: MIT
/*
 * The game socket: connections, their packets, and who is turned away.
 *
 * A connection says hello within 5 s or is closed; after its hello it belongs to a game (game.h),
 * and the only thing it may still say is goodbye. Anything else is garbage: the connection is
 * closed, the game's session is not. Each refusal is answered with a reason, counted, and logged at
 * most once a second.
 *
 * Who may connect is what the socket file's mode says, checked again by the peer's uid: where only
 * the owner may, the owner and root. All of it runs on the loop.
 */
#include "listen.h"

#include "game.h"
#include "log.h"
#include "shm/layout.h"
#include "socket.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define CONNECTIONS_MAX 256u
#define ACCEPTS_AT_ONCE 64u
#define PACKETS_AT_ONCE 16u
#define PACKET_BYTES	1024u
#define HELLO_NS	UINT64_C(5000000000)
#define HELLO_CHECK_NS	UINT64_C(1000000000)
#define REFUSAL_LINE_NS UINT64_C(1000000000)
/* Magic, type, bytes, version: what the hello of every version begins with. */
#define HELLO_COMMON_BYTES offsetof(struct fprof_msg_hello, origin)
#define REASON_BYTES	   sizeof(((struct fprof_msg_welcome *)0)->reason)

struct connection {
	struct listen *listen;
	struct connection *previous, *next;
	int fd;
	struct loop_source *source;
	uint64_t since_ns;
	struct peer peer;  /* its pidfd is the game's after the hello */
	struct game *game; /* NULL before the hello */
	bool asked;	   /* for its hello, by read_hellos */
	uint64_t memory_id;
};

struct listen {
	struct loop *loop;
	struct status *status;
	struct games *games;
	struct loop_source *source;
	struct loop_source *hello_timer; /* only while a connection has not said hello */
	int fd, lock;
	int spare;  /* given up to accept and close a connection when descriptors run out */
	char *path; /* to be removed at the end; NULL: the service manager's */
	bool any_uid;
	struct connection *connections;
	unsigned connection_count;
	uint64_t refusal_line_ns;
	unsigned refusals_unsaid;
};

/* Counts, shows and sometimes logs that a client is turned away. */
static void note_refusal(struct listen *l, int32_t pid, const struct fprof_msg_hello *hello,
			 const char *reason)
{
	struct status_refusal refusal = {
		.pid = pid,
		.utc_ns = (int64_t)clock_ns(CLOCK_REALTIME),
		.abi_major = hello ? hello->abi_major : 0,
		.abi_minor = hello ? hello->abi_minor : 0,
	};
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
	status_refuse(l->status, &refusal);
	if (l->refusal_line_ns && now - l->refusal_line_ns < REFUSAL_LINE_NS) {
		l->refusals_unsaid++;
		return;
	}
	log_warning("refused pid %d: %s (and %u others since the last such line)", pid, reason,
		    l->refusals_unsaid);
	l->refusal_line_ns = now;
	l->refusals_unsaid = 0;
}

static void send_welcome(int fd, int status, uint64_t session, const char *reason, int control_fd)
{
	struct fprof_msg_welcome welcome = {
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_WELCOME,
		.bytes = sizeof(welcome),
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.status = status,
		.session_id = session,
	};
	int r;

	snprintf(welcome.reason, sizeof(welcome.reason), "%s", reason);
	r = socket_send(fd, &welcome, sizeof(welcome), control_fd);
	if (r < 0)
		log_debug("a client did not take its welcome: %s, ignoring it", strerror(-r));
}

static void connection_free(struct connection *c)
{
	struct listen *l = c->listen;

	if (c->previous)
		c->previous->next = c->next;
	else
		l->connections = c->next;
	if (c->next)
		c->next->previous = c->previous;
	l->connection_count--;
	loop_remove(l->loop, c->source);
	close(c->fd);
	peer_deinit(&c->peer);
	free(c);
}

/* Frees the connection and tells its game. */
static void connection_close(struct connection *c)
{
	struct games *games = c->listen->games;
	struct game *game = c->game;

	connection_free(c);
	if (game)
		game_hung_up(games, game);
}

static void connection_refuse(struct connection *c, int error, const struct fprof_msg_hello *hello,
			      const char *reason)
{
	note_refusal(c->listen, c->peer.pid, hello, reason);
	send_welcome(c->fd, error, 0, reason, -1);
	connection_free(c);
}

/* The same memory on another connection: the game closed the old one, or lost it. */
static void free_replaced(const struct connection *by)
{
	struct connection *c, *next;

	for (c = by->listen->connections; c; c = next) {
		next = c->next;
		if (c != by && c->game == by->game && c->memory_id == by->memory_id)
			connection_free(c);
	}
}

/* Does it at least say of which version it is? */
static bool hello_is_readable(const struct fprof_msg_hello *hello, size_t bytes)
{
	return bytes >= HELLO_COMMON_BYTES && hello->magic == FPROF_SOCKET_MAGIC &&
	       hello->type == FPROF_MSG_HELLO;
}

/* Is it a hello that we understand? 0, or -errno with the reason. */
static int check_hello(const struct fprof_msg_hello *hello, size_t bytes, char reason[REASON_BYTES])
{
	if (!hello_is_readable(hello, bytes)) {
		snprintf(reason, REASON_BYTES, "what it sent is no hello");
		return -EBADMSG;
	}
	if (hello->abi_major != FPROF_ABI_MAJOR) {
		snprintf(reason, REASON_BYTES, "the game speaks protocol %u.%u, this daemon %u.%u",
			 hello->abi_major, hello->abi_minor, FPROF_ABI_MAJOR, FPROF_ABI_MINOR);
		return -EPROTO;
	}
	if (bytes < sizeof(*hello) || hello->bytes != bytes) {
		snprintf(reason, REASON_BYTES, "its hello has the wrong length");
		return -EBADMSG;
	}
	return 0;
}

/* Returns false when the connection was refused and freed. */
static bool take_hello(struct connection *c, const struct fprof_msg_hello *hello, size_t bytes,
		       int memory_fd)
{
	char reason[REASON_BYTES] = "";
	const char *why = "";
	int r = check_hello(hello, bytes, reason);

	if (r == 0) {
		r = games_hello(c->listen->games, &c->peer, hello, memory_fd, &c->game, &why);
		snprintf(reason, sizeof(reason), "%s", why);
	}
	if (r < 0) {
		connection_refuse(c, r, hello_is_readable(hello, bytes) ? hello : NULL, reason);
		return false;
	}
	c->memory_id = hello->memory_id;
	free_replaced(c);
	send_welcome(c->fd, 0, game_session(c->game), "", game_control_fd(c->game));
	return true;
}

/* Returns false when the connection was freed. */
static bool take_packet(struct connection *c, const void *packet, size_t bytes, int fd)
{
	const struct fprof_msg_bye *bye = packet;

	if (!c->game)
		return take_hello(c, packet, bytes, fd);
	if (bytes >= offsetof(struct fprof_msg_bye, exit_status) &&
	    bye->magic == FPROF_SOCKET_MAGIC && bye->type == FPROF_MSG_BYE) {
		game_bye(c->listen->games, c->game);
		return true;
	}
	note_refusal(c->listen, c->peer.pid, NULL, "what it sent after its hello is no goodbye");
	connection_close(c);
	return false;
}

/* One packet. Returns false when there is no more to read, or the connection is gone. */
static bool connection_read_one(struct connection *c)
{
	/* Aligned, and zeros where a short packet ends. */
	union {
		struct fprof_msg_hello hello;
		char bytes[PACKET_BYTES];
	} packet = {.bytes = {0}};
	_cleanup_close_ int fd = -1;
	ssize_t n = socket_receive(c->fd, &packet, sizeof(packet), &fd);

	if (n > 0)
		return take_packet(c, &packet, (size_t)n, fd);
	if (n == -EAGAIN || n == -EINTR)
		return false;
	if (n == -EMSGSIZE)
		note_refusal(c->listen, c->peer.pid, NULL, "it sent a packet that is too long");
	connection_close(c);
	return false;
}

static void on_readable(void *userdata, int fd, unsigned events)
{
	unsigned i;

	(void)fd;
	(void)events;
	for (i = 0; i < PACKETS_AT_ONCE && connection_read_one(userdata); i++)
		;
}

static void on_gone(void *userdata, struct game *game)
{
	struct listen *l = userdata;
	struct connection *c, *next;

	for (c = l->connections; c; c = next) {
		next = c->next;
		if (c->game == game)
			connection_free(c);
	}
}

static void on_hello_check(void *userdata)
{
	struct listen *l = userdata;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	struct connection *c, *next;
	unsigned waiting = 0;

	for (c = l->connections; c; c = next) {
		next = c->next;
		if (c->game)
			continue;
		if (now - c->since_ns < HELLO_NS)
			waiting++;
		else
			connection_refuse(c, -ETIMEDOUT, NULL,
					  "it connected and did not say hello");
	}
	if (waiting == 0) {
		loop_remove(l->loop, l->hello_timer);
		l->hello_timer = NULL;
	}
}

/* Closes connections whose other side is gone, before somebody is turned away for want of room. */
static void free_hung_up(struct listen *l)
{
	struct connection *c, *next;
	char byte;

	for (c = l->connections; c; c = next) {
		next = c->next;
		if (c->game && !game_is_watched(c->game))
			continue; /* its end would take its other connections along */
		if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			connection_close(c);
	}
}

static const char *check_connection(struct listen *l, uint32_t uid)
{
	unsigned of_user = 0;
	struct connection *c;

	if (l->connection_count >= CONNECTIONS_MAX)
		free_hung_up(l);
	if (!l->any_uid && uid != geteuid() && uid != 0)
		return "this daemon records only the games of its own user";
	if (l->connection_count >= CONNECTIONS_MAX)
		return "the daemon has too many connections";
	for (c = l->connections; c; c = c->next)
		of_user += c->peer.uid == uid;
	if (l->any_uid && uid != geteuid() && of_user >= CONNECTIONS_MAX / 2)
		return "this user has half of all connections already";
	return NULL;
}

/* Takes fd and what peer holds on success. */
static int connection_add(struct listen *l, int fd, struct peer *peer)
{
	struct connection *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->listen = l;
	c->fd = fd;
	c->peer = *peer;
	c->since_ns = clock_ns(CLOCK_MONOTONIC);
	r = loop_add_fd(l->loop, fd, on_readable, c, &c->source);
	if (r == 0 && !l->hello_timer)
		r = loop_add_timer(l->loop, HELLO_CHECK_NS, on_hello_check, l, &l->hello_timer);
	if (r < 0) {
		loop_remove(l->loop, c->source);
		free(c);
		return r;
	}
	c->next = l->connections;
	if (c->next)
		c->next->previous = c;
	l->connections = c;
	l->connection_count++;
	return 0;
}

static void greet(struct listen *l, int fd)
{
	struct peer peer = {.pidfd = -1};
	const char *why = NULL;
	int r = peer_identify(fd, &peer, &why);

	if (r == 0) {
		why = check_connection(l, peer.uid);
		if (why) {
			r = -EBUSY;
		} else {
			r = connection_add(l, fd, &peer);
			why = r == -EMFILE ? "the daemon has no descriptors left"
					   : "the daemon cannot watch the connection";
		}
	}
	if (r == 0)
		return;
	note_refusal(l, peer.pid, NULL, why);
	send_welcome(fd, r, 0, why, -1);
	peer_deinit(&peer);
	close(fd);
}

/* No descriptor is left: answer one caller with the spare one, or accept would be ready for ever.
 * The kernel says so also when nobody calls, and there may be descriptors again by then. */
static void turn_one_away(struct listen *l)
{
	int fd;

	if (l->spare >= 0)
		close(l->spare);
	fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && l->spare >= 0) {
		greet(l, fd);
	} else if (fd >= 0) {
		note_refusal(l, 0, NULL, "the daemon has no descriptors left");
		send_welcome(fd, -EMFILE, 0, "the daemon has no descriptors left", -1);
		close(fd);
		l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
}

static void on_connect(void *userdata, int listening, unsigned events)
{
	struct listen *l = userdata;
	unsigned i;
	int fd;

	(void)events;
	for (i = 0; i < ACCEPTS_AT_ONCE; i++) {
		fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			greet(l, fd);
			continue;
		}
		if (errno == ECONNABORTED || errno == EINTR)
			continue;
		if (errno == EMFILE || errno == ENFILE)
			turn_one_away(l);
		break;
	}
}

/* A connection that has not said hello, was not asked yet, and is of pid (0: of any). */
static struct connection *find_silent(const struct listen *l, int32_t pid)
{
	struct connection *c;

	for (c = l->connections; c; c = c->next)
		if (!c->game && !c->asked && (!pid || c->peer.pid == pid))
			return c;
	return NULL;
}

/* Reads the hellos that wait, be it at the door: they may be a process's last words. A connection
 * may be freed by its own hello or by that of another one. */
static void read_hellos(struct listen *l, int32_t pid)
{
	struct connection *c;

	on_connect(l, l->fd, 0);
	while ((c = find_silent(l, pid))) {
		c->asked = true;
		on_readable(c, c->fd, 0);
	}
	for (c = l->connections; c; c = c->next)
		c->asked = false;
}

static void on_last_words(void *userdata, struct game *game)
{
	struct listen *l = userdata;
	struct connection *c, *next;

	read_hellos(l, game_pid(game));
	for (c = l->connections; c; c = next) {
		next = c->next;
		if (c->game == game)
			on_readable(c, c->fd, 0);
	}
}

/* May others than its owner connect? The mode of the socket's file decides. */
static bool open_to_all(int fd)
{
	struct sockaddr_un address = {0};
	socklen_t size = sizeof(address) - 1;
	struct stat st;

	return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	       address.sun_path[0] == '/' && stat(address.sun_path, &st) == 0 &&
	       (st.st_mode & S_IWOTH);
}

static void say_why_not(const char *path, int error)
{
	if (error == -EADDRINUSE)
		log_error("%s: another fprofd listens there", path);
	else if (error == -ENAMETOOLONG)
		log_error("%s: too long for a socket's path", path);
	else if (error == -EEXIST)
		log_error("%s: exists and is not a socket", path);
	else
		log_error("%s: %s", path, strerror(-error));
}

/* Fills in l->fd: the inherited one, or one of our own. */
static int open_socket(struct listen *l, const struct config *config, int inherited)
{
	mode_t mode = geteuid() == 0 ? 0666 : 0600;
	int r;

	l->fd = inherited;
	if (inherited < 0) {
		r = socket_listen(config->socket_path, mode, &l->fd, &l->lock);
		if (r < 0) {
			say_why_not(config->socket_path, r);
			return r;
		}
		l->path = strdup(config->socket_path);
	}
	l->any_uid = open_to_all(l->fd);
	return 0;
}

int listen_new(struct loop *loop, const struct config *config, struct store *store,
	       struct drain *drain, struct status *status, int fd, struct listen **ret_listen)
{
	struct listen *l = calloc(1, sizeof(*l));
	struct games_callbacks callbacks = {
		.last_words = on_last_words, .gone = on_gone, .userdata = l};
	int r;

	if (!l)
		return -ENOMEM;
	*l = (struct listen){.loop = loop, .status = status, .fd = -1, .lock = -1};
	l->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = open_socket(l, config, fd);
	if (r == 0)
		r = games_new(loop, config, store, drain, l->any_uid, &callbacks, &l->games);
	if (r == 0)
		r = loop_add_fd(loop, l->fd, on_connect, l, &l->source);
	if (r < 0) {
		listen_free(l);
		return r;
	}
	games_take_on(l->games);
	read_hellos(l, 0);
	games_end_gone(l->games);
	*ret_listen = l;
	return 0;
}

void listen_free(struct listen *l)
{
	if (!l)
		return;
	while (l->connections)
		connection_free(l->connections);
	games_free(l->games);
	loop_remove(l->loop, l->hello_timer);
	loop_remove(l->loop, l->source);
	if (l->path)
		unlink(l->path);
	if (l->fd >= 0)
		close(l->fd);
	if (l->lock >= 0)
		close(l->lock);
	if (l->spare >= 0)
		close(l->spare);
	free(l->path);
	free(l);
}

struct games *listen_games(struct listen *listen)
{
	return listen->games;
}

void listen_set_config(struct listen *l, const struct config *config)
{
	games_set_config(l->games, config);
}
