/* SPDX-License-Identifier: MIT */
/* Who may ask: names, tokens, and the uid that the kernel gives for the other end of a connection.
 */
#include "daemon/access.h"
#include "daemon/history.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void hosts_are_exact(void **state)
{
	static const char *const good[] = {"127.0.0.1",	     "127.0.0.1:7600", "localhost",
					   "LocalHost:7600", "[::1]:7600",     "10.1.2.3:7600",
					   "10.9.9.9"};
	static const char *const bad[] = {"",
					  "evil.example",
					  "localhost.evil.example",
					  "localhost:7601",
					  "127.0.0.1:76000",
					  "127.0.0.2",
					  "::1",
					  "localhost:",
					  "localhost:07600",
					  " localhost",
					  "127.0.0.1:7600@evil.example"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(access_host_ok(good[i], "10.1.2.3", "10.9.9.9", 7600));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(access_host_ok(bad[i], "10.1.2.3", NULL, 7600));
	assert_false(access_host_ok(NULL, "10.1.2.3", NULL, 7600));
}

static void origins_are_our_own(void **state)
{
	static const char *const bad[] = {"null",
					  "http://evil.example",
					  "https://localhost:7600",
					  "http://localhost",
					  "http://localhost:3000",
					  "http://localhost:7600.evil.example",
					  ""};
	size_t i;

	(void)state;
	assert_true(access_origin_ok(NULL, "127.0.0.1", NULL, 7600));
	assert_true(access_origin_ok("http://localhost:7600", "127.0.0.1", NULL, 7600));
	assert_true(access_origin_ok("http://[::1]:7600", "127.0.0.1", NULL, 7600));
	assert_true(access_origin_ok("http://localhost", "127.0.0.1", NULL, 80));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(access_origin_ok(bad[i], "127.0.0.1", NULL, 7600));
}

static void other_sites_may_not_ask(void **state)
{
	(void)state;
	assert_true(access_site_ok(NULL));
	assert_true(access_site_ok("none"));
	assert_true(access_site_ok("same-origin"));
	assert_false(access_site_ok("same-site"));
	assert_false(access_site_ok("cross-site"));
	assert_false(access_site_ok(""));
}

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void tokens_are_compared_whole(void **state)
{
	char header[] = "Bearer " TOKEN;
	const char nothing[ACCESS_TOKEN_CHARS + 1] = "";
	size_t i;

	(void)state;
	assert_int_equal(access_token_check(NULL, TOKEN), ACCESS_TOKEN_NONE);
	assert_int_equal(access_token_check(header, TOKEN), ACCESS_TOKEN_RIGHT);
	assert_int_equal(access_token_check("bearer " TOKEN, TOKEN), ACCESS_TOKEN_RIGHT);
	assert_int_equal(access_token_check("Basic " TOKEN, TOKEN), ACCESS_TOKEN_WRONG);
	assert_int_equal(access_token_check("Bearer " TOKEN "0", TOKEN), ACCESS_TOKEN_WRONG);
	assert_int_equal(access_token_check("Bearer ", TOKEN), ACCESS_TOKEN_WRONG);
	assert_int_equal(access_token_check("Bearer ", nothing), ACCESS_TOKEN_WRONG);
	for (i = 0; i < ACCESS_TOKEN_CHARS; i++) {
		header[7 + i] ^= 1;
		assert_int_equal(access_token_check(header, TOKEN), ACCESS_TOKEN_WRONG);
		header[7 + i] ^= 1;
	}
}

static int scope(bool known, uint32_t uid, enum access_token token, bool exposed, uint32_t daemon,
		 uint32_t *ret)
{
	const struct access_peer peer = {known, uid};

	return access_scope(&peer, token, exposed, daemon, ret);
}

static void a_caller_sees_its_own(void **state)
{
	uint32_t uid;

	(void)state;
	assert_int_equal(scope(true, 1000, ACCESS_TOKEN_NONE, false, 1000, &uid), 0);
	assert_int_equal(uid, 1000);
	assert_int_equal(scope(true, 1001, ACCESS_TOKEN_NONE, false, 1000, &uid), 0);
	assert_int_equal(uid, 1001);
	/* A proxy that root runs is no privilege in a user's daemon. */
	assert_int_equal(scope(true, 0, ACCESS_TOKEN_NONE, false, 1000, &uid), 0);
	assert_int_equal(uid, 0);
	assert_int_equal(scope(true, 0, ACCESS_TOKEN_NONE, false, 0, &uid), 0);
	assert_true(uid == HISTORY_ANY_UID);
	assert_int_equal(scope(true, 1001, ACCESS_TOKEN_RIGHT, false, 1000, &uid), 0);
	assert_true(uid == HISTORY_ANY_UID);
}

static void who_is_not_known_needs_the_token(void **state)
{
	uint32_t uid = 7;

	(void)state;
	assert_int_equal(scope(false, 0, ACCESS_TOKEN_NONE, false, 0, &uid), -EACCES);
	assert_int_equal(scope(true, 1000, ACCESS_TOKEN_NONE, true, 1000, &uid), -EACCES);
	assert_int_equal(scope(true, 1000, ACCESS_TOKEN_WRONG, false, 1000, &uid), -EACCES);
	assert_int_equal(uid, 7);
	assert_int_equal(scope(false, 0, ACCESS_TOKEN_RIGHT, true, 1000, &uid), 0);
}

/* A listening socket on loopback, v4 or v6; -1: the machine has no such loopback. */
static int listen_loopback(int family, struct sockaddr_storage *at, socklen_t *bytes)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(at, 0, sizeof(*at));
	at->ss_family = (sa_family_t)family;
	*bytes = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	if (family == AF_INET)
		((struct sockaddr_in *)at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)at)->sin6_addr = in6addr_loopback;
	if (fd >= 0 && (bind(fd, (struct sockaddr *)at, *bytes) < 0 || listen(fd, 4) < 0)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		assert_int_equal(getsockname(fd, (struct sockaddr *)at, bytes), 0);
	return fd;
}

static void the_kernel_says_who_connects(int family)
{
	struct sockaddr_storage at, client_at;
	socklen_t bytes, client_bytes = sizeof(client_at);
	struct access_peer peer;
	uint32_t uid;
	int listener = listen_loopback(family, &at, &bytes), client, accepted;

	if (listener < 0) {
		print_message("no loopback of this family here\n");
		skip();
	}
	client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&at, bytes), 0);
	accepted = accept4(listener, (struct sockaddr *)&client_at, &client_bytes, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	access_peer(accepted, &peer);
	assert_true(peer.known);
	assert_int_equal(peer.uid, geteuid());
	close(client);
	/* A closed socket has no owner; it must not read as root. */
	access_peer(accepted, &peer);
	assert_false(peer.known);
	close(accepted);
	assert_true(access_socket_uid((struct sockaddr *)&client_at, (struct sockaddr *)&at, &uid) <
		    0);
	close(listener);
}

static void the_kernel_says_who_connects_v4(void **state)
{
	(void)state;
	the_kernel_says_who_connects(AF_INET);
}

static void the_kernel_says_who_connects_v6(void **state)
{
	(void)state;
	the_kernel_says_who_connects(AF_INET6);
}

static void another_user_is_told_apart(void **state)
{
	struct sockaddr_storage at;
	struct access_peer peer;
	socklen_t bytes;
	int listener, accepted, pipe_fds[2], status;
	char c;
	pid_t child;

	(void)state;
	if (geteuid() != 0) {
		print_message("becoming another user needs root\n");
		skip();
	}
	listener = listen_loopback(AF_INET, &at, &bytes);
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (child == 0) {
		int fd;

		close(pipe_fds[1]);
		fd = setresuid(65534, 65534, 65534) ? -1 : socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || connect(fd, (struct sockaddr *)&at, bytes) < 0)
			_exit(1);
		_exit(read(pipe_fds[0], &c, 1) < 0); /* until the parent has looked */
	}
	close(pipe_fds[0]);
	accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	access_peer(accepted, &peer);
	close(pipe_fds[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(peer.known);
	assert_int_equal(peer.uid, 65534);
	close(accepted);
	close(listener);
}

static void loopback_is_recognised(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};

	(void)state;
	in.sin_addr.s_addr = htonl(0x7f123456);
	assert_true(access_is_loopback((struct sockaddr *)&in));
	in.sin_addr.s_addr = htonl(0x0a000001);
	assert_false(access_is_loopback((struct sockaddr *)&in));
	in.sin_addr.s_addr = 0;
	assert_false(access_is_loopback((struct sockaddr *)&in));
	assert_true(access_is_loopback((struct sockaddr *)&in6));
	in6.sin6_addr = in6addr_any;
	assert_false(access_is_loopback((struct sockaddr *)&in6));
}

static void the_token_is_made_once_and_kept_secret(void **state)
{
	char dir[] = "/tmp/fprof-access-XXXXXX", path[64];
	char first[ACCESS_TOKEN_CHARS + 1], second[ACCESS_TOKEN_CHARS + 1];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/token", dir);
	assert_int_equal(access_token_load(dir, first), 0);
	assert_int_equal(strlen(first), ACCESS_TOKEN_CHARS);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(access_token_load(dir, second), 0);
	assert_string_equal(first, second);
	/* One that others could have read is worth nothing. */
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(access_token_load(dir, second), 0);
	assert_string_not_equal(first, second);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* Neither is a damaged one. */
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(access_token_load(dir, first), 0);
	assert_int_equal(strlen(first), ACCESS_TOKEN_CHARS);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	/* No directory: an error, and still nobody can guess it. */
	assert_true(access_token_load(dir, second) < 0);
	assert_int_equal(strlen(second), ACCESS_TOKEN_CHARS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_exact),
		cmocka_unit_test(origins_are_our_own),
		cmocka_unit_test(other_sites_may_not_ask),
		cmocka_unit_test(tokens_are_compared_whole),
		cmocka_unit_test(a_caller_sees_its_own),
		cmocka_unit_test(who_is_not_known_needs_the_token),
		cmocka_unit_test(the_kernel_says_who_connects_v4),
		cmocka_unit_test(the_kernel_says_who_connects_v6),
		cmocka_unit_test(another_user_is_told_apart),
		cmocka_unit_test(loopback_is_recognised),
		cmocka_unit_test(the_token_is_made_once_and_kept_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
