/* SPDX-License-Identifier: MIT */
/*
 * /metrics: the text format of Prometheus. Base units, `_total` on what only grows. Sums over the
 * sessions that the caller may see; a session that leaves the history takes its share of the sums
 * along, which a reader sees as a counter reset.
 */
#include "api.h"

#include "own.h"
#include "util.h"

#include <inttypes.h>

static void head(struct json *out, const char *name, const char *type, const char *help)
{
	json_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void count(struct json *out, const char *name, const char *help, uint64_t v)
{
	head(out, name, "counter", help);
	json_printf(out, "%s %" PRIu64 "\n", name, v);
}

static void gauge(struct json *out, const char *name, const char *help, uint64_t v)
{
	head(out, name, "gauge", help);
	json_printf(out, "%s %" PRIu64 "\n", name, v);
}

static void seconds(struct json *out, const char *name, const char *help, uint64_t ns)
{
	head(out, name, "counter", help);
	json_printf(out, "%s %.9f\n", name, (double)ns / 1e9);
}

static void sessions(struct json *out, const struct api_totals *t)
{
	gauge(out, "fprof_sessions_live", "Games being recorded.", t->live);
	gauge(out, "fprof_threads_active", "Threads of live games that have a ring.",
	      t->threads_active);
	count(out, "fprof_frames_total", "Frames of the main streams.", t->frames);
	count(out, "fprof_events_lost_total", "Events that were never received.", t->lost);
	count(out, "fprof_events_discarded_total", "Events received and not stored.", t->discarded);
	count(out, "fprof_refused_total", "What games could not record.", t->refused);
	count(out, "fprof_gpu_queries_dropped_total", "GPU results lost or impossible.",
	      t->gpu_dropped);
	count(out, "fprof_gpu_results_missing_total", "GPU results that never came.",
	      t->gpu_missing);
	count(out, "fprof_malformed_scopes_total", "Zones that had to be repaired.",
	      t->malformed_scopes);
}

static void store(struct json *out, const struct store_health *h)
{
	gauge(out, "fprof_history_used_bytes", "Size of the history.", h->used_bytes);
	gauge(out, "fprof_history_budget_bytes", "What the history may use.", h->budget_bytes);
	gauge(out, "fprof_history_in_memory",
	      "1: the disk takes nothing, the history is in memory.",
	      h->history == STORE_IN_MEMORY);
	gauge(out, "fprof_store_queued_bytes", "Waiting to be committed.", h->queued_bytes);
	count(out, "fprof_store_commits_total", "Transactions.", h->commits);
	seconds(out, "fprof_store_commit_seconds_total", "Time in transactions.",
		h->commit_ns_total);
	count(out, "fprof_store_raw_bytes_total", "Chunks before compression.", h->raw_bytes);
	count(out, "fprof_store_stored_bytes_total", "Chunks as stored.", h->stored_bytes);
	count(out, "fprof_store_evicted_frames_total", "Frames that left for the budget.",
	      h->evicted_frames);
	count(out, "fprof_store_events_dropped_total", "Events in failed transactions.",
	      h->events_dropped);
}

static void scheduler(struct json *out, const struct api *api)
{
	struct sched_trace_health h;

	sched_trace_health(api->context->sched_trace, &h);
	count(out, "fprof_scheduler_events_total", "Events of the kernel's scheduler.", h.events);
	count(out, "fprof_scheduler_events_lost_total",
	      "Those that the kernel had no room for, or that could not be stored.",
	      h.lost + h.dropped);
	count(out, "fprof_scheduler_interruptions_total", "Times that fprof-probe ended.",
	      h.interruptions);
	seconds(out, "fprof_scheduler_cpu_seconds_total", "CPU time of the thread that reads them.",
		h.cost_ns);
}

static void stacks(struct json *out, const struct api *api)
{
	struct stack_trace_health h;

	stack_trace_health(api->context->stack_trace, &h);
	count(out, "fprof_stack_samples_total", "Samples of games' stacks.", h.samples);
	count(out, "fprof_stack_samples_lost_total",
	      "Those that the kernel had no room for, or that could not be stored.",
	      h.lost + h.dropped);
	seconds(out, "fprof_stack_cpu_seconds_total", "CPU time of the thread that reads them.",
		h.cost_ns);
}

static void own(struct json *out, const struct api *api, const struct api_request *q,
		const struct api_totals *t)
{
	struct status_snapshot snapshot;
	struct drain_health drain;
	struct own_usage usage;

	status_snapshot(api->context->status, &snapshot);
	drain_health(api->context->drain, &drain);
	own_usage(&usage);
	count(out, "fprof_events_received_total", "Events read from rings.",
	      api_sees_all(q) ? drain.events : t->received);
	count(out, "fprof_drain_sweeps_total", "Sweeps over all rings.", drain.sweeps);
	seconds(out, "fprof_drain_cpu_seconds_total", "CPU time of the drain thread.",
		drain.busy_ns);
	if (api_sees_all(q)) {
		count(out, "fprof_clients_refused_total", "Clients that were turned away.",
		      snapshot.refusals_total);
		scheduler(out, api);
		stacks(out, api);
	}
	gauge(out, "fprof_stream_clients", "Listeners of the event stream.",
	      stream_hub_clients(api->hub));
	seconds(out, "process_cpu_seconds_total", "CPU time of the daemon.", usage.cpu_ns);
	gauge(out, "process_resident_memory_bytes", "Resident memory of the daemon.",
	      usage.rss_bytes);
	gauge(out, "process_threads", "Threads of the daemon.", usage.threads);
}

void api_metrics(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	struct json *out = &a->body;
	struct store_health health;
	struct api_totals totals;
	int rc = api_totals_read(api, q->uid, &totals);

	if (rc < 0) {
		api_fail_history(a, rc, "list of sessions");
		return;
	}
	a->type = "text/plain; version=0.0.4; charset=utf-8";
	head(out, "fprof_build_info", "gauge", "The daemon's version.");
	json_printf(out, "fprof_build_info{version=\"%s\"} 1\n", FPROF_VERSION);
	sessions(out, &totals);
	store_health(api->context->store, &health);
	store(out, &health);
	own(out, api, q, &totals);
}
