/* SPDX-License-Identifier: MIT */
/* The connection to a helper that does not answer. The helper is a child that sleeps. */
#include "daemon/probe_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those */
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
	struct status *status;
	struct probe_client client;
	int other; /* the helper's end */
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	int ends[2];

	w->status = status_new();
	probe_client_init(&w->client, PROBE_SCHED, w->status, "scheduler");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	w->client.fd = ends[0];
	w->other = ends[1];
	w->client.pid = fork();
	while (w->client.pid == 0)
		pause();
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	kill(w->client.pid, SIGKILL);
	probe_client_deinit(&w->client);
	close(w->other);
	status_free(w->status);
	free(w);
	return 0;
}

static void a_helper_that_does_not_answer_is_ended(void **state)
{
	struct world *w = *state;
	siginfo_t end;

	w->client.patience_ms = 1;
	assert_true(probe_client_is_alive(&w->client));
	assert_int_equal(probe_client_remove(&w->client, 1), -ETIMEDOUT);
	assert_false(probe_client_is_alive(&w->client));
	assert_string_equal(probe_client_lost(&w->client), "fprof-probe does not answer");
	assert_int_equal(waitid(P_PID, (id_t)w->client.pid, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(end.si_status, SIGKILL);
	/* nobody waits for it again */
	w->client.patience_ms = -1;
	assert_int_equal(probe_client_remove(&w->client, 2), -ECONNRESET);
	assert_string_equal(w->client.reason, "fprof-probe does not answer");
}

static void nobody_waits_for_an_answer_once_that_is_called_off(void **state)
{
	struct world *w = *state;

	w->client.patience_ms = -1;
	probe_client_cancel(&w->client);
	assert_int_equal(probe_client_add(&w->client, 1), -ECANCELED);
	assert_int_equal(probe_client_remove(&w->client, 1), -ECANCELED);
	assert_string_equal(w->client.reason, "fprofd is ending");
	assert_true(probe_client_is_alive(&w->client));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_helper_that_does_not_answer_is_ended, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nobody_waits_for_an_answer_once_that_is_called_off,
						setup, teardown),
	};

	return cmocka_run_group_tests_name("probe_client", tests, NULL, NULL);
}
