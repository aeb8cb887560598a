// SPDX-License-Identifier: MIT
/*
 * A game is a process: pid and start time. It has at most one session at a time; exec ends that and
 * begins another (another image_id). A session's memories are told apart by memory_id, so a
 * connection may come again with the same memory without being a new one, and a hang-up means
 * nothing: only the pidfd says that a game is gone.
 *
 * The pidfd becomes readable when the process is a zombie. How it ended is sometimes only known
 * once its parent has waited; then the question is asked again for a while. Before the judgement
 * the sockets are read to their end, since a goodbye may lie there.
 *
 * Shares: when games of all users may connect, one user gets at most half of the sessions. What a
 * user's games map is bounded too: a page that the daemon reads in a sparse memory is then
 * allocated.
 */
#include "game.h"

#include "control_set.h"
#include "history.h"
#include "log.h"
#include "memory.h"
#include "process.h"
#include "session_row.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#define MEMORIES_MAX	  8u		     /* of one session */
#define USER_MEMORIES_MAX 64u		     /* largest memories' worth that one user may map */
#define IMAGES_MAX	  256u		     /* execs of one process that are followed */
#define END_ASK_NS	  UINT64_C(50000000) /* between two questions how a process ended */
#define END_ASKS_MAX	  40u

struct game_memory {
	uint64_t id, bytes;
};

struct game {
	struct games *games;
	struct game *next;
	struct peer peer;
	struct loop_source *source; /* its pidfd, or while asking how it ended: a timer */
	unsigned asks;
	uint64_t session; /* 0: none yet */
	uint64_t image_id;
	unsigned images;
	int control_fd;
	bool bye;
	bool attached;	    /* its session is of a memory that the daemon writes */
	uint64_t left_over; /* the session that an earlier daemon left of it, 0: none */
	struct game_memory memories[MEMORIES_MAX];
	unsigned memory_count;
};

struct games {
	struct loop *loop;
	const struct config *config;
	struct store *store;
	struct drain *drain;
	bool any_uid;
	struct games_callbacks callbacks;
	struct games_attached attached;
	char *boot_id;
	struct game *first;
	VEC(uint64_t) gone; /* sessions left by an earlier daemon whose process is gone */
};

int32_t game_pid(const struct game *game)
{
	return game->peer.pid;
}

uint64_t game_session(const struct game *game)
{
	return game->session;
}

int game_control_fd(const struct game *game)
{
	return game->control_fd;
}

bool game_is_watched(const struct game *game)
{
	return game->peer.pidfd >= 0;
}

static void tell_attached(const struct games *games, games_attached_fn fn, const struct game *game)
{
	if (game->attached && fn)
		fn(games->attached.userdata, game->session);
}

static struct game *game_find(const struct games *games, const struct peer *peer)
{
	struct game *game;

	for (game = games->first; game; game = game->next)
		if (game->peer.pid == peer->pid && game->peer.start == peer->start)
			return game;
	return NULL;
}

/* A process that was gone before its connection was looked at has no start time any more. It is a
 * game's if it runs that one's image, of which other processes do not know. */
static struct game *game_of_hello(const struct games *games, const struct peer *peer,
				  const struct fprof_msg_hello *hello)
{
	struct game *game = game_find(games, peer);

	if (game || peer->start != 0)
		return game;
	for (game = games->first; game; game = game->next)
		if (game->session && game->peer.pid == peer->pid && game->peer.uid == peer->uid &&
		    game->image_id == hello->image_id)
			return game;
	return NULL;
}

static void game_unlink(struct games *games, struct game *game)
{
	struct game **link = &games->first;

	while (*link != game)
		link = &(*link)->next;
	*link = game->next;
}

static void game_free(struct games *games, struct game *game)
{
	game_unlink(games, game);
	loop_remove(games->loop, game->source);
	peer_deinit(&game->peer);
	if (game->control_fd >= 0)
		close(game->control_fd);
	free(game);
}

/* Killed by what nobody sends to end a program in order; an end that nobody knows is taken for one
 * where there was no goodbye. */
static bool has_crashed(const struct game *game, const struct peer_end *end)
{
	if (!end->known)
		return !game->bye;
	return end->signal && end->signal != SIGINT && end->signal != SIGTERM &&
	       end->signal != SIGHUP;
}

static void end_reason(const struct game *game, const struct peer_end *end, char *text, size_t size)
{
	size_t n;

	if (end->known && !end->signal && !game->bye)
		snprintf(text, size, "exit status %d", end->status);
	else
		peer_end_text(end, text, size);
	n = strlen(text);
	if (!game->bye && !end->signal)
		snprintf(text + n, size - n, ", without a goodbye");
}

/* Of a session that was never taken up again. */
static void finish_left_over(struct games *games, const struct game *game,
			     const struct peer_end *end)
{
	char text[64], how[128];

	peer_end_text(end, text, sizeof(text));
	snprintf(how, sizeof(how), "%s, before it found the new fprofd;", text);
	store_end_stale(games->store, game->left_over,
			has_crashed(game, end) ? SESSION_CRASHED : SESSION_ENDED, how);
}

/* Tells the drain how it ended, and forgets it. */
static void game_finish(struct games *games, struct game *game, const struct peer_end *end)
{
	char reason[96];

	games->callbacks.gone(games->callbacks.userdata, game);
	tell_attached(games, games->attached.ended, game);
	end_reason(game, end, reason, sizeof(reason));
	if (game->session) {
		log_info("session %llu ended: %s", (unsigned long long)game->session, reason);
		drain_session_gone(games->drain, game->session, has_crashed(game, end), reason);
	}
	if (game->left_over && game->left_over != game->session)
		finish_left_over(games, game, end);
	game_free(games, game);
}

/* true: the game is finished and freed. */
static bool game_try_finish(struct games *games, struct game *game, bool last_try)
{
	struct peer_end end;
	int r = peer_end(&game->peer, &end);

	if (r == -EAGAIN && !last_try)
		return false;
	game_finish(games, game, &end);
	return true;
}

static void on_ask_again(void *userdata)
{
	struct game *game = userdata;

	game_try_finish(game->games, game, ++game->asks >= END_ASKS_MAX);
}

static void on_ended(void *userdata, int fd, unsigned events)
{
	struct game *game = userdata;
	struct games *games = game->games;

	(void)fd;
	(void)events;
	games->callbacks.last_words(games->callbacks.userdata, game);
	tell_attached(games, games->attached.last_words, game);
	loop_remove(games->loop, game->source);
	game->source = NULL;
	if (game_try_finish(games, game, false))
		return;
	if (loop_add_timer(games->loop, END_ASK_NS, on_ask_again, game, &game->source) < 0)
		game_try_finish(games, game, true);
}

void game_bye(struct games *games, struct game *game)
{
	if (game->bye || !game->session)
		return;
	game->bye = true;
	drain_session_bye(games->drain, game->session);
}

void game_hung_up(struct games *games, struct game *game)
{
	struct peer_end unknown = {0};

	if (!game_is_watched(game))
		game_finish(games, game, &unknown);
}

/* A record for a process that has none. Takes peer->pidfd over. */
static int game_add(struct games *games, struct peer *peer, struct game **ret_game)
{
	struct game *game = calloc(1, sizeof(*game));
	int r = 0;

	if (!game)
		return -ENOMEM;
	game->games = games;
	game->control_fd = -1;
	game->peer = *peer;
	if (peer->pidfd >= 0)
		r = loop_add_fd(games->loop, peer->pidfd, on_ended, game, &game->source);
	if (r < 0) {
		free(game);
		return r;
	}
	peer->pidfd = -1;
	game->next = games->first;
	games->first = game;
	*ret_game = game;
	return 0;
}

static int refuse(int error, const char *why, const char **ret_why)
{
	*ret_why = why;
	return error;
}

static int check_shares(const struct games *games, uint32_t uid, const char **ret_why)
{
	unsigned all = 0, of_user = 0, max = games->config->max_sessions;
	struct game *game;

	for (game = games->first; game; game = game->next) {
		all += game->session != 0;
		of_user += game->session != 0 && game->peer.uid == uid;
	}
	if (all >= max)
		return refuse(-EBUSY, "max_sessions games are already being recorded", ret_why);
	if (games->any_uid && uid != geteuid() && of_user >= MAX(max / 2, 1u))
		return refuse(-EBUSY,
			      "half of max_sessions games of this user are already being "
			      "recorded",
			      ret_why);
	return 0;
}

static int check_user_memory(const struct games *games, uint32_t uid, uint64_t more,
			     const char **ret_why)
{
	uint64_t limit = (uint64_t)games->config->memory_mib * USER_MEMORIES_MAX << 20, used = 0;
	struct game *game;
	unsigned i;

	for (game = games->first; game; game = game->next)
		for (i = 0; game->peer.uid == uid && i < game->memory_count; i++)
			used += game->memories[i].bytes;
	return used + more > limit
		       ? refuse(-ENOMEM, "the games of this user map too much memory", ret_why)
		       : 0;
}

/* Is the memory what its hello says, and can this machine read it? */
static int check_memory(const struct games *games, const struct memory *memory,
			const struct fprof_msg_hello *hello, bool attached, const char **ret_why)
{
	const struct fprof_memory_header *head = &memory->view.head;
	enum fprof_clock_kind foreign = FPROF_CLOCK_TSC;

#if defined(__x86_64__)
	foreign = FPROF_CLOCK_CNTVCT;
#endif
	if (head->memory_id != hello->memory_id || head->image_id != hello->image_id)
		return refuse(-EPROTO, "the memory is not the one that the hello names", ret_why);
	if ((head->origin == FPROF_ORIGIN_ATTACHED) != attached)
		return refuse(-EPROTO, "the memory's origin is not the game", ret_why);
	if (head->clock_kind == (uint32_t)foreign)
		return refuse(-EPROTO, "the memory's clock is not of this machine", ret_why);
	if (head->ring_words > (uint64_t)games->config->ring_kib * 64 * 1024 / sizeof(uint64_t))
		return refuse(-EFBIG, "the rings are larger than 64 x ring_kib", ret_why);
	return 0;
}

/* Since this minor version clients say in their rings when they take an order over. */
#define MINOR_TELLS 1

/* The control page of a session: the drain owns the page, the game's record a descriptor of it. */
static int control_pair(struct games *games, const struct session_row *row,
			const struct store_resume *resume, struct control **ret_control,
			int *ret_fd)
{
	struct control *control = malloc(sizeof(*control));
	int r;

	if (!control)
		return -ENOMEM;
	r = control_new(row->id, control);
	if (r < 0) {
		free(control);
		return r;
	}
	r = control_set_add(drain_controls(games->drain), control, row->id, row->uid,
			    row->abi_minor >= MINOR_TELLS, resume ? &resume->last : NULL);
	if (r == 0) {
		*ret_fd = fcntl(control->fd, F_DUPFD_CLOEXEC, 0);
		r = *ret_fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		control_free(control);
		return r;
	}
	*ret_control = control;
	return 0;
}

static int find_resume(const struct games *games, const struct session_row *row,
		       const struct fprof_msg_hello *hello, struct store_resume **ret_resume)
{
	const struct store_process process = {
		.pid = row->pid,
		.uid = row->uid,
		.start = row->process_start,
		.image_id = row->image_id,
		.memory_id = hello->memory_id,
		.boot_id = row->boot_id,
	};

	return store_find_resume(games->store, &process, ret_resume);
}

/* *ret_coming: its row is to be stored. */
static int open_session(struct games *games, struct game *game, const struct fprof_msg_hello *hello,
			const struct fprof_memory_header *head, bool *ret_coming,
			const char **ret_why)
{
	struct session_row *row = session_row_new(games->drain, games->config, games->boot_id,
						  &game->peer, hello, head);
	struct store_resume *resume = NULL;
	struct control *control = NULL;
	int r;

	*ret_why = "the daemon is out of memory";
	if (!row)
		return -ENOMEM;
	if (find_resume(games, row, hello, &resume) == 0)
		session_row_resume(row, resume);
	else
		row->id = store_next_session_id(games->store);
	r = control_pair(games, row, resume, &control, &game->control_fd);
	if (r < 0) {
		store_resume_free(resume);
		session_row_deinit(row);
		free(row);
		return refuse(r, "the daemon cannot make a control page", ret_why);
	}
	log_info("session %llu %s: pid %d, %s", (unsigned long long)row->id,
		 resume ? "goes on" : "begins", row->pid, row->name);
	game->session = row->id;
	game->image_id = row->image_id;
	game->bye = false;
	*ret_coming = !resume;
	return drain_session_open(games->drain, row, control, resume);
}

static int session_begin(struct games *games, struct game *game,
			 const struct fprof_msg_hello *hello,
			 const struct fprof_memory_header *head, const char **ret_why)
{
	bool coming = false;
	int r;

	store_session_coming(games->store);
	r = open_session(games, game, hello, head, &coming, ret_why);
	if (r < 0 || !coming)
		store_session_not_coming(games->store);
	return r;
}

/* The process runs another program now, or begins to record itself. */
static int session_end_by_hello(struct games *games, struct game *game, const char **ret_why)
{
	const char *reason = game->attached ? "the game records itself from now on" : "exec";

	if (++game->images > IMAGES_MAX)
		return refuse(-EBUSY, "the process has replaced its program too often", ret_why);
	log_info("session %llu ended: %s", (unsigned long long)game->session, reason);
	tell_attached(games, games->attached.last_words, game);
	tell_attached(games, games->attached.ended, game);
	game->attached = false;
	drain_session_gone(games->drain, game->session, false, reason);
	close(game->control_fd);
	game->control_fd = -1;
	game->session = 0;
	game->memory_count = 0;
	return 0;
}

static bool has_memory(const struct game *game, uint64_t id)
{
	unsigned i;

	for (i = 0; i < game->memory_count; i++)
		if (game->memories[i].id == id)
			return true;
	return false;
}

/* Everything that may refuse comes first: a refused hello changes nothing. Takes memory on success.
 */
static int game_take_memory(struct games *games, struct game *game,
			    const struct fprof_msg_hello *hello, struct memory **memory_pointer,
			    bool attached, const char **ret_why)
{
	bool other = game->session && game->image_id != hello->image_id;
	struct memory *memory = *memory_pointer;
	uint64_t bytes = memory->view.bytes;
	int r = check_memory(games, memory, hello, attached, ret_why);

	if (r == 0)
		r = check_user_memory(games, game->peer.uid, bytes, ret_why);
	if (r == 0 && !other && game->memory_count == MEMORIES_MAX)
		r = refuse(-EBUSY, "the process has registered too many memories", ret_why);
	if (r == 0 && !game->session)
		r = check_shares(games, game->peer.uid, ret_why);
	if (r == 0 && other)
		r = session_end_by_hello(games, game, ret_why);
	if (r == 0 && !game->session)
		r = session_begin(games, game, hello, &memory->view.head, ret_why);
	if (r < 0)
		return r;
	game->memories[game->memory_count++] =
		(struct game_memory){.id = memory->memory_id, .bytes = bytes};
	*memory_pointer = NULL;
	return drain_memory_add(games->drain, game->session, memory);
}

static int add_memory(struct games *games, struct game *game, const struct fprof_msg_hello *hello,
		      int fd, bool attached, const char **ret_why)
{
	struct memory *memory;
	int r;

	if (fd < 0)
		return refuse(-EBADMSG, "the hello came without a memory", ret_why);
	r = memory_open(fd, (uint64_t)games->config->memory_mib << 20, &memory, ret_why);
	if (r < 0)
		return r;
	r = game_take_memory(games, game, hello, &memory, attached, ret_why);
	memory_free(memory);
	return r;
}

static int say_hello(struct games *games, struct peer *peer, const struct fprof_msg_hello *hello,
		     int memory_fd, bool attached, struct game **ret_game, const char **ret_why)
{
	struct game *game = game_of_hello(games, peer, hello);
	bool is_new = !game;
	int r;

	*ret_why = "the daemon is out of memory";
	if (is_new)
		r = game_add(games, peer, &game);
	else
		r = 0;
	if (r < 0)
		return r;
	if (!game->session || game->image_id != hello->image_id ||
	    !has_memory(game, hello->memory_id))
		r = add_memory(games, game, hello, memory_fd, attached, ret_why);
	if (r < 0) {
		if (is_new)
			game_free(games, game);
		return r;
	}
	*ret_game = game;
	return 0;
}

int games_hello(struct games *games, struct peer *peer, const struct fprof_msg_hello *hello,
		int memory_fd, struct game **ret_game, const char **ret_why)
{
	return say_hello(games, peer, hello, memory_fd, false, ret_game, ret_why);
}

uint64_t games_session_of(const struct games *games, const struct peer *peer)
{
	const struct game *game = game_find(games, peer);

	if (!game)
		return 0;
	return game->session ? game->session : game->left_over;
}

/* Nobody will say goodbye for it: how it ends is in order, unless it is killed. */
int games_attach(struct games *games, struct peer *peer, const struct fprof_msg_hello *hello,
		 int memory_fd, uint64_t *ret_session, const char **ret_why)
{
	struct game *game;
	int r;

	*ret_session = games_session_of(games, peer);
	if (*ret_session)
		return refuse(-EEXIST, "the process is recorded already", ret_why);
	r = say_hello(games, peer, hello, memory_fd, true, &game, ret_why);
	if (r < 0)
		return r;
	game->attached = true;
	game_bye(games, game);
	*ret_session = game->session;
	return 0;
}

void games_detach(struct games *games, uint64_t session, const char *reason)
{
	struct game *game;

	for (game = games->first; game; game = game->next)
		if (game->attached && game->session == session)
			break;
	if (!game)
		return;
	log_info("session %llu ended: %s", (unsigned long long)session, reason);
	games->callbacks.gone(games->callbacks.userdata, game);
	drain_session_gone(games->drain, session, false, reason);
	game_free(games, game);
}

void games_set_attached(struct games *games, const struct games_attached *attached)
{
	games->attached = *attached;
}

/* A session that an earlier daemon left live: watch its process if that still exists. Those of
 * attached games end with the daemon. */
static void take_on(struct games *games, const struct history_session *session)
{
	struct peer peer;
	struct game *game;

	if (session->update.state != SESSION_LIVE)
		return;
	if (session->attached) {
		store_end_stale(games->store, session->row.id, SESSION_ENDED,
				"detached, since fprofd was ended;");
		return;
	}
	if (!session->row.boot_id || strcmp(session->row.boot_id, games->boot_id) != 0 ||
	    peer_open(session->row.pid, session->row.process_start, &peer) < 0) {
		if (VEC_PUSH(&games->gone, session->row.id) < 0)
			log_warning("session %llu of an earlier fprofd stays live: out of memory",
				    (unsigned long long)session->row.id);
		return;
	}
	if (game_find(games, &peer) || game_add(games, &peer, &game) < 0) {
		peer_deinit(&peer);
		return;
	}
	game->left_over = session->row.id;
}

void games_take_on(struct games *games)
{
	history_sessions_vec sessions = {0};
	struct history *history;
	size_t i;

	if (history_open(games->store, &history) < 0)
		return;
	if (history_sessions(history, HISTORY_ANY_UID, &sessions) == 0) {
		for (i = 0; i < sessions.count; i++)
			take_on(games, &sessions.at[i]);
		history_sessions_free(&sessions);
	}
	history_close(history);
}

void games_end_gone(struct games *games)
{
	size_t i;

	for (i = 0; i < games->gone.count; i++)
		store_end_stale(games->store, games->gone.at[i], SESSION_ENDED,
				"ended while fprofd was not running; how is unknown, and");
	VEC_FREE(&games->gone);
}

int games_new(struct loop *loop, const struct config *config, struct store *store,
	      struct drain *drain, bool any_uid, const struct games_callbacks *callbacks,
	      struct games **ret_games)
{
	struct games *games = calloc(1, sizeof(*games));

	if (!games)
		return -ENOMEM;
	*games = (struct games){
		.loop = loop,
		.config = config,
		.store = store,
		.drain = drain,
		.any_uid = any_uid,
		.callbacks = *callbacks,
		.boot_id = process_boot_id(),
	};
	if (!games->boot_id) {
		free(games);
		return -EIO;
	}
	*ret_games = games;
	return 0;
}

void games_free(struct games *games)
{
	if (!games)
		return;
	while (games->first)
		game_free(games, games->first);
	VEC_FREE(&games->gone);
	free(games->boot_id);
	free(games);
}

void games_set_config(struct games *games, const struct config *config)
{
	games->config = config;
}
