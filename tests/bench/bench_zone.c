// SPDX-License-Identifier: MIT
/*
 * bench_zone [--alone | --bursts | --floods | --detail URL | --allocations]: what recording costs
 * in the game, each row as a multiple of two bare clock reads stored to memory, measured in the
 * same run, pinned to the first CPU that it may use. No pass or fail.
 *
 * With a daemon listening it records for it; --alone records with nobody draining. Rows are
 * medians over bursts of 1,000, with the 10th and 90th percentile. --bursts has only the rows with
 * pauses between them, of which nothing may be lost; --floods the others: they lap the rings.
 * --detail orders levels and masks of the daemon at URL, and has the rows of zones under those;
 * --allocations wants FPROF_ALLOC=1.
 */
#include <fprof.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST	      1000
#define SAMPLES	      101
#define FIRST	      100000
#define REGISTRATIONS 12
#define PROCESSES     3
#define FRAME_ZONES   250
#define PAUSE_NS      300000
#define BUFFER_WORDS  (128u * 1024u)

struct row {
	const char *name;
	double samples[SAMPLES];
	int count;
};

static uint64_t buffer[BUFFER_WORDS];
static uint32_t buffer_at;
static double clock_cost;
static double baseline;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pause_ns(long ns)
{
	struct timespec t = {0, ns};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct row *row)
{
	qsort(row->samples, (size_t)row->count, sizeof(double), compare);
	return row->samples[row->count / 2];
}

static void print_row(struct row *row)
{
	double m = median(row);

	printf("%-28s %9.2f ns  %8.3f x  (p10 %.2f, p90 %.2f, n %d)\n", row->name, m, m / baseline,
	       row->samples[row->count / 10], row->samples[row->count * 9 / 10], row->count);
}

/* ---- the things measured: each does BURST of them ---- */

static void two_reads(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		FPROF_STORE_RELAXED(&buffer[buffer_at++ & (BUFFER_WORDS - 1)], fprof_counter());
		FPROF_STORE_RELAXED(&buffer[buffer_at++ & (BUFFER_WORDS - 1)], fprof_counter());
	}
}

static void zone(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		FPROF_ZONE("bench.zone");
	}
}

static void inner_zone(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		FPROF_ZONE_L("bench.inner", FPROF_LEVEL_INNER);
		__asm__ volatile("");
	}
}

static void next(void)
{
	int i;

	FPROF_ZONE_V(z, "bench.first");
	for (i = 0; i < BURST; i++)
		FPROF_NEXT(z, "bench.next");
}

static void counter_add(void)
{
	int i;

	for (i = 0; i < BURST; i++)
		FPROF_COUNTER_ADD_I64("bench.counter", FPROF_UNIT_COUNT, 1);
}

static void gpu_span(void)
{
	static struct fprof_gpu_result span = {.name = "bench.gpu", .queue = 1};
	int i;

	for (i = 0; i < BURST; i++) {
		fprof_gpu_span(&span);
		__asm__ volatile("");
	}
}

static void loop(void)
{
	int i;

	for (i = 0; i < BURST; i++)
		__asm__ volatile("");
}

/* One sample of fn into row, as ns for each of BURST. */
static void sample(struct row *row, void (*fn)(void))
{
	double from = now_ns();

	fn();
	row->samples[row->count++] = (now_ns() - from - clock_cost) / BURST;
}

static void measure_baseline(void)
{
	struct row base = {.name = ""};
	int i;

	for (i = 0; i < SAMPLES; i++) {
		sample(&base, two_reads);
		pause_ns(PAUSE_NS);
	}
	baseline = median(&base);
}

/* ---- several rows at once, so that all see the same machine ---- */

static void measure_recording(void)
{
	struct row base = {.name = "two clock reads, stored"}, recorded = {.name = "recorded zone"},
		   nexts = {.name = "fprof_next"}, adds = {.name = "counter add"};
	int i;

	for (i = 0; i < SAMPLES; i++) {
		sample(&base, two_reads);
		pause_ns(PAUSE_NS);
		sample(&recorded, zone);
		pause_ns(PAUSE_NS);
		sample(&nexts, next);
		pause_ns(PAUSE_NS);
		sample(&adds, counter_add);
		pause_ns(PAUSE_NS);
		fprof_frame_mark();
	}
	baseline = median(&base); /* measured in between: better than the one before */
	print_row(&base);
	print_row(&recorded);
	print_row(&nexts);
	printf("%-28s %9.3f    of a zone\n", "", median(&nexts) / median(&recorded));
	print_row(&adds);
}

/* What the game pays at the end of a frame that has 500 events. */
static void measure_mark(void)
{
	struct row marks = {.name = "closing a 500-event frame"};
	int i, j;

	for (i = 0; i < SAMPLES; i++) {
		double from;

		for (j = 0; j < FRAME_ZONES; j++) {
			FPROF_ZONE("bench.zone");
		}
		from = now_ns();
		fprof_frame_mark();
		marks.samples[marks.count++] = now_ns() - from - clock_cost;
		pause_ns(PAUSE_NS);
	}
	print_row(&marks);
}

static void measure_bytes(void)
{
	uint64_t before = fprof_tls.writer->slot->head, words;
	int i;

	for (i = 0; i < 100; i++) {
		zone();
		pause_ns(PAUSE_NS);
	}
	words = fprof_tls.writer->slot->head - before;
	printf("%-28s %9.2f bytes (block headers and padding included)\n", "ring per zone",
	       (double)words * sizeof(uint64_t) / (100.0 * BURST));
}

static void measure_closed(void)
{
	struct row empty = {.name = "empty loop"}, idle = {.name = "zone, not recording"},
		   above = {.name = "zone above the level"},
		   gpu = {.name = "GPU span, not recording"};
	uint32_t closed = fprof_tls.writer->closed;
	int i;

	for (i = 0; i < SAMPLES; i++) {
		sample(&empty, loop);
		/* as the daemon's gate does it: inner loops are not wanted */
		fprof_tls.writer->closed = 1;
		sample(&above, inner_zone);
		fprof_tls.writer->closed = closed;
		fprof_recording(false);
		sample(&idle, inner_zone);
		sample(&gpu, gpu_span);
		fprof_recording(true);
	}
	print_row(&empty);
	print_row(&idle);
	print_row(&above);
	print_row(&gpu);
}

/* ---- threads ---- */

static pthread_barrier_t stay;

struct start {
	double first_event; /* ns */
	double populate;    /* ns of it, for the ring's pages */
	double first_zones; /* ns for each of FIRST */
	double reads;	    /* two_reads(), as many */
};

/* Long enough to be interrupted by others: their time is not counted. */
static double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* In a process that has just begun: the first thread's first zones. */
static void measure_first_thread(void)
{
	double from, zones, reads;
	int i;

	zone();
	from = thread_ns();
	for (i = 0; i < FIRST / BURST; i++)
		zone();
	zones = (thread_ns() - from) / FIRST;
	from = thread_ns();
	for (i = 0; i < FIRST / BURST; i++)
		two_reads();
	reads = (thread_ns() - from) / FIRST;
	printf("%-28s %9.2f ns  %8.3f x  (of as many pairs of reads: %.2f ns; once)\n",
	       "first thread's 100,000 zones", zones, zones / reads, reads);
	printf("%-28s %9.2f ms  (the first thread's; once)\n", "filling its ring",
	       (double)fprof_tls.writer->slot->populate_ns / 1e6);
}

static void *start_thread(void *arg)
{
	struct start *start = arg;
	double from = thread_ns();
	int i;

	{
		FPROF_ZONE("bench.first event");
	}
	start->first_event = thread_ns() - from;
	start->populate = (double)fprof_tls.writer->slot->populate_ns;
	from = thread_ns();
	for (i = 0; i < FIRST; i++) {
		FPROF_ZONE("bench.zone");
	}
	start->first_zones = (thread_ns() - from) / FIRST;
	from = thread_ns();
	for (i = 0; i < FIRST / BURST; i++)
		two_reads();
	start->reads = (thread_ns() - from) / FIRST;
	pthread_barrier_wait(&stay);
	return NULL;
}

/*
 * A process of its own (--threads): threads that live at the same time, so that each gets a ring of
 * its own, and fresh. A line each.
 */
static void start_threads(void)
{
	static struct start starts[REGISTRATIONS];
	pthread_t threads[REGISTRATIONS];
	int i;

	pthread_barrier_init(&stay, NULL, REGISTRATIONS + 1);
	for (i = 0; i < REGISTRATIONS; i++) {
		if (pthread_create(&threads[i], NULL, start_thread, &starts[i]))
			abort();
		pause_ns(20 * 1000000);
	}
	pthread_barrier_wait(&stay);
	for (i = 0; i < REGISTRATIONS; i++) {
		pthread_join(threads[i], NULL);
		printf("%f %f %f %f\n", starts[i].first_event, starts[i].populate,
		       starts[i].first_zones, starts[i].reads);
	}
}

struct threads {
	struct row base, first_event, populate, first_zones;
};

static void row_add(struct row *row, double ns)
{
	row->samples[row->count++] = ns;
}

static void threads_add(struct threads *t, const struct start *start)
{
	row_add(&t->base, start->reads);
	row_add(&t->first_event, start->first_event);
	row_add(&t->populate, start->populate);
	row_add(&t->first_zones, start->first_zones);
}

static void measure_threads(void)
{
	struct threads t = {.base.name = "two reads, 100,000 times",
			    .first_event.name = "thread's registration",
			    .populate.name = "... populating its ring",
			    .first_zones.name = "... its first 100,000 zones"};
	char self[256] = "", command[300];
	struct start start;
	FILE *from;
	int i;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	snprintf(command, sizeof(command), "'%s' --threads", self);
	for (i = 0; i < PROCESSES; i++) {
		from = popen(command, "r");
		while (from && fscanf(from, "%lf %lf %lf %lf", &start.first_event, &start.populate,
				      &start.first_zones, &start.reads) == 4)
			threads_add(&t, &start);
		if (!from || pclose(from))
			fprintf(stderr, "bench_zone: %s failed\n", command);
	}
	print_row(&t.base);
	print_row(&t.first_event);
	print_row(&t.populate);
	print_row(&t.first_zones);
}

static pthread_barrier_t together;

struct core {
	int cpu;
	struct row row;
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		fprintf(stderr, "bench_zone: cannot pin to CPU %d\n", cpu);
}

static void *core_thread(void *arg)
{
	struct core *core = arg;
	int i;

	pin(core->cpu);
	zone();
	for (i = 0; i < SAMPLES; i++) {
		pthread_barrier_wait(&together);
		sample(&core->row, zone);
	}
	return NULL;
}

static void measure_cores(const cpu_set_t *allowed)
{
	static struct core cores[CPU_SETSIZE];
	static pthread_t threads[CPU_SETSIZE];
	int cpu, n = 0, i;
	char name[64];

	pthread_barrier_init(&together, NULL, (unsigned)CPU_COUNT(allowed));
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, allowed))
			continue;
		cores[n].cpu = cpu;
		if (pthread_create(&threads[n], NULL, core_thread, &cores[n]))
			abort();
		n++;
	}
	for (i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		snprintf(name, sizeof(name), "zone, all cores: CPU %d", cores[i].cpu);
		cores[i].row.name = name;
		if (i < 8)
			print_row(&cores[i].row);
	}
}

/* ---- levels of detail by path, and masked categories ---- */

static void masked_zone(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		FPROF_ZONE_EX("bench.masked", "bench.category", 0, FPROF_LEVEL_PHASE);
		__asm__ volatile("");
	}
}

/* A body to the daemon, and frames until this thread has taken it over. */
static void order(const char *url, const char *body, bool inline_mode)
{
	char command[512];
	int i;

	snprintf(command, sizeof(command),
		 "curl -fsS -o /dev/null -X PUT --data-binary '%s' "
		 "%s/api/v1/sessions/current/detail",
		 body, url);
	for (i = 0; i < 40; i++) { /* what is named has to be stored */
		zone();
		pause_ns(20 * 1000000);
		fprof_frame_mark();
	}
	if (system(command)) {
		fprintf(stderr, "bench_zone: %s failed\n", command);
		exit(1);
	}
	do {
		fprof_frame_mark();
		zone();
		pause_ns(1000000);
	} while ((fprof_tls.writer->ready == 1) != inline_mode);
}

/* fn's row; within: inside of the zone that has a level of its own. */
static void measure_under(const char *name, void (*fn)(void), bool within)
{
	struct row row = {.name = name};
	int i;

	for (i = 0; i < SAMPLES; i++) {
		FPROF_ZONE_MARKER(node, "bench.node", NULL, 0, FPROF_LEVEL_LANDMARK);
		fprof_scope scope = within ? fprof_zone_begin(&node) : 0;

		sample(&row, fn);
		fprof_zone_end(scope);
		fprof_frame_mark();
		pause_ns(PAUSE_NS);
	}
	print_row(&row);
}

static void measure_detail(const char *url)
{
	fprof_thread_name("bench");
	masked_zone();
	measure_under("no levels by path", zone, true);
	measure_under("... masked later", masked_zone, false);
	order(url, "{\"path\": [\"bench\", \"bench.node\"], \"level\": 1}", false);
	measure_under("level elsewhere: zone", zone, false);
	measure_under("level above it: zone", zone, true);
	measure_under("... inner zone, not wanted", inner_zone, true);
	order(url, "{\"path\": [\"bench\", \"bench.node\"], \"level\": null}", true);
	order(url, "{\"category\": \"bench.category\", \"masked\": true}", false);
	measure_under("masks: masked zone", masked_zone, false);
	measure_under("... another zone", zone, false);
	order(url, "{\"category\": \"bench.category\", \"masked\": false}", true);
	measure_under("levels and masks gone: zone", zone, false);
	measure_under("... masked before", masked_zone, false);
}

/* ---- allocations ---- */

/* A zone in which the game's allocator is asked once: told of with each zone, in this mode. */
static void allocating_zone(void)
{
	int i;

	for (i = 0; i < BURST; i++) {
		FPROF_ZONE("bench.allocates");
		fprof_alloc(64);
	}
}

static void measure_allocations(void)
{
	fprof_frame_mark();
	measure_under("zone, allocations tracked", zone, false);
	measure_under("... one allocation inside", allocating_zone, false);
}

static void clock_cost_measure(void)
{
	struct row row = {.count = SAMPLES};
	int i;

	for (i = 0; i < SAMPLES; i++) {
		double from = now_ns();

		row.samples[i] = now_ns() - from;
	}
	clock_cost = median(&row);
}

static void check_recording(void)
{
	fprof_frame_mark();
	if (fprof_tls.writer->ready)
		return;
	fprintf(stderr, "bench_zone: not recording: no daemon, or the clock is no counter\n");
	exit(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	cpu_set_t allowed;
	int cpu = 0;

	if (!strcmp(what, "--alone")) {
		setenv("FPROF_RUN", "1", 1);
		setenv("FPROF_SOCKET", "/nonexistent/fprofd.sock", 1);
	}
	sched_getaffinity(0, sizeof(allowed), &allowed);
	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &allowed))
		cpu++;
	pin(cpu);
	memset(buffer, 1, sizeof(buffer));
	if (!strcmp(what, "--threads")) {
		check_recording();
		start_threads();
		return 0;
	}
	clock_cost_measure();
	measure_baseline();
	if (!strcmp(what, "--detail") && argc > 2) {
		check_recording();
		measure_detail(argv[2]);
		return 0;
	}
	if (!strcmp(what, "--allocations")) {
		measure_allocations();
		return 0;
	}
	if (strcmp(what, "--bursts"))
		measure_first_thread();
	check_recording();
	if (strcmp(what, "--floods")) {
		measure_recording();
		measure_mark();
		measure_bytes();
	}
	if (strcmp(what, "--bursts")) {
		measure_threads();
		measure_closed();
		measure_cores(&allowed);
	}
	return 0;
}
