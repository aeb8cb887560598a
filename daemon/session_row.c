// SPDX-License-Identifier: MIT
/*
 * The row of a session that begins: what the kernel says of the process, what its hello and its
 * memory say of themselves. The latter is not trusted: names are made valid UTF-8, a start in the
 * future becomes now.
 */
#include "session_row.h"

#include "process.h"
#include "shm/clock_source.h"
#include "util.h"

#include <string.h>

#define CLOCK_WINDOW_NS UINT64_C(20000000)

static void fill_clock(struct drain *drain, struct session_row *row,
		       const struct fprof_memory_header *head)
{
	enum fprof_clock_kind kind = (enum fprof_clock_kind)head->clock_kind;
	struct fprof_clock_rate rate;
	struct drain_health health;
	uint64_t utc_ns;

	drain_health(drain, &health);
	if (kind == FPROF_CLOCK_MONOTONIC)
		fprof_clock_rate_set(&rate, 1e9);
	else if (health.clock_kind == head->clock_kind && health.clock_hz > 0)
		fprof_clock_rate_set(&rate, health.clock_hz);
	else
		fprof_clock_measure(kind, CLOCK_WINDOW_NS, &rate);
	utc_ns = clock_ns(CLOCK_REALTIME);
	row->clock_kind = head->clock_kind;
	row->clock_hz = rate.hz;
	row->clock_mult = rate.mult;
	row->clock_shift = rate.shift;
	/* A session cannot have started later than now, whatever its memory says. */
	row->start_ticks = MIN(head->start_ticks, fprof_clock_read(kind));
	row->start_utc_ns = MIN(head->start_utc_ns, utc_ns);
}

/* The earlier one's text, where it has one. */
static void take_text(char **to, char **from)
{
	char *own = *to;

	if (!*from)
		return;
	*to = *from;
	*from = own;
}

void session_row_resume(struct session_row *row, struct store_resume *resume)
{
	row->id = resume->session;
	row->process_start = resume->row.process_start;
	row->ns_pid = resume->row.ns_pid;
	/* by now there may be no process to ask */
	take_text(&row->name, &resume->row.name);
	take_text(&row->exe, &resume->row.exe);
	take_text(&row->build_id, &resume->row.build_id);
	take_text(&row->facts_json, &resume->row.facts_json);
	row->clock_kind = resume->row.clock_kind;
	row->clock_hz = resume->row.clock_hz;
	row->clock_mult = resume->row.clock_mult;
	row->clock_shift = resume->row.clock_shift;
	row->start_ticks = resume->row.start_ticks;
	row->start_utc_ns = resume->row.start_utc_ns;
}

static char *name_from_hello(const struct fprof_msg_hello *hello)
{
	char name[3 * sizeof(hello->name) + 1];

	utf8_copy(name, sizeof(name), hello->name, strnlen(hello->name, sizeof(hello->name)));
	return name[0] ? strdup(name) : NULL;
}

struct session_row *session_row_new(struct drain *drain, const struct config *config,
				    const char *boot_id, const struct peer *peer,
				    const struct fprof_msg_hello *hello,
				    const struct fprof_memory_header *head)
{
	struct session_row *row = calloc(1, sizeof(*row));
	struct process_facts facts;
	struct displays displays;

	displays_read(config->display_hz, DISPLAYS_CARDS, &displays);
	if (!row || process_facts_read(peer->pid, &displays, &facts) < 0) {
		free(row);
		return NULL;
	}
	*row = (struct session_row){
		.state = SESSION_LIVE,
		.pid = peer->pid,
		.ns_pid = facts.ns_pid,
		.uid = peer->uid,
		.process_start = peer->start,
		.image_id = hello->image_id,
		.boot_id = strdup(boot_id),
		.name = name_from_hello(hello),
		.exe = facts.exe,
		.build_id = facts.build_id,
		.facts_json = facts.json,
		.abi_major = head->abi_major,
		.abi_minor = head->abi_minor,
		.library_version = head->library_version,
	};
	if (row->name)
		free(facts.name);
	else
		row->name = facts.name;
	if (!row->boot_id) {
		session_row_deinit(row);
		free(row);
		return NULL;
	}
	fill_clock(drain, row, head);
	return row;
}
