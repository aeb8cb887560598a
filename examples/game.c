// SPDX-License-Identifier: MIT
/*
 * A small game loop to record: it draws nothing, but has the threads, waits and late results of a
 *real engine, and everything it does follows from its seed.
 *
 *	main       input, simulation, hands the frame to the renderer, waits for the cap, marks the
 *frame render     draws the frame that main handed over, one frame behind; owns the simulated GPU
 *	worker N   run jobs on fibers; a job is suspended once and may go on on another worker
 *	audio      a callback each 10 ms, frame stream "audio"
 *	streaming  a tick each 251 to 1999 ms, frame stream "streaming"
 *
 * Compiled with -DFPROF_DISABLED it does the same work and records nothing. Its own measurement is
 *printed at the end, so that the two can be compared.
 */
#include <fprof.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define NS_PER_S      INT64_C(1000000000)
#define NS_PER_MS     INT64_C(1000000)
#define NOINLINE      __attribute__((noinline))
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define THREADS_MAX	64
#define JOBS_PER_THREAD 2
#define JOBS_MAX	(THREADS_MAX * JOBS_PER_THREAD)
#define FIBER_STACK	(64 * 1024)
#define HISTORY_MAX	(1 << 17) /* frame times kept for the percentiles: the newest */
#define AUDIO_PERIOD_NS (10 * NS_PER_MS)
#define FILLER_SPINS	24 /* work of one filler zone, about 50 ns */

/* Zones that a frame has whatever --zones says: main 6 (the wait for the next frame
 * among them), render 3, and 2 a job. Fewer are not possible. */
#define MAIN_ZONES   6
#define RENDER_ZONES 3
#define JOB_ZONES    2

struct options {
	long fps, hitch_every, hitch_ms, zones, frames, threads, seed;
	bool cap;
};

static struct options options = {
	.fps = 60, .hitch_ms = 50, .zones = 2000, .frames = 600, .threads = 2, .seed = 1};

static volatile sig_atomic_t interrupted;

/* ---- Small tools ---------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* xorshift64*: the same sequence on every machine. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return (random_next(state) >> 16) % limit;
}

static uint64_t random_seed(uint64_t stream)
{
	return ((uint64_t)options.seed + 1) * UINT64_C(0x9e3779b97f4a7c15) + stream;
}

/* Work that the compiler keeps. */
static void spin(unsigned count)
{
	volatile unsigned sink = count;

	while (sink > 0)
		sink = sink - 1;
}

static NOINLINE void filler_zones(long count)
{
	long i;

	for (i = 0; i < count; i++) {
		FPROF_ZONE_L("work", FPROF_LEVEL_INNER);
		spin(FILLER_SPINS);
	}
}

/* A condition with a flag to stop, on CLOCK_MONOTONIC. */
struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static void gate_init(struct gate *gate)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* ---- Jobs on fibers -------------------------------------------------------------------------- */

struct job {
	struct fprof_fiber fiber;
	char name[16];
	ucontext_t context;
	ucontext_t *worker; /* of the worker that runs it now */
	void *stack;
	long zones; /* filler zones of this frame */
	uint64_t random;
	bool finished;
};

struct jobs {
	struct gate gate;
	struct job all[JOBS_MAX];
	struct job *ready[JOBS_MAX]; /* a ring: fewer jobs than places */
	unsigned head, count;
	unsigned unfinished;
	bool stop;
};

static struct jobs jobs;

/* The scopes cross a switch of threads, so nothing of the thread may be kept in a register across
 * it: begin, switch and end are functions of their own. */
static NOINLINE fprof_scope job_begin(struct job *job)
{
	FPROF_ZONE_MARKER(marker, "job", "jobs", 0x56b4e9, FPROF_LEVEL_PHASE);

	(void)job;
	return fprof_zone_begin(&marker);
}

static NOINLINE void job_end(fprof_scope scope)
{
	fprof_zone_end(scope);
}

static NOINLINE void job_yield(struct job *job)
{
	swapcontext(&job->context, job->worker);
}

static NOINLINE void job_half(struct job *job, long zones)
{
	FPROF_ZONE_MARKER(marker, "job_half", "jobs", 0, FPROF_LEVEL_PHASE);
	fprof_scope scope = fprof_zone_begin(&marker);

	filler_zones(zones);
	spin(200 + (unsigned)random_below(&job->random, 2000));
	FPROF_COUNTER_ADD_I64("draw_calls", FPROF_UNIT_COUNT, 4);
	fprof_zone_end(scope);
}

/* makecontext passes ints only: the worker leaves the job here. */
static __thread struct job *job_starting;

static void job_main(void)
{
	struct job *job = job_starting;

	for (;;) {
		fprof_scope scope = job_begin(job);

		job_half(job, job->zones);
		job_yield(job); /* as if it waited for another job; may go on elsewhere */
		job_end(scope);
		job->finished = true;
		job_yield(job);
	}
}

static void jobs_push(struct job *job)
{
	jobs.ready[(jobs.head + jobs.count++) % JOBS_MAX] = job;
}

static struct job *jobs_take(void)
{
	struct job *job = NULL;

	pthread_mutex_lock(&jobs.gate.lock);
	while (jobs.count == 0 && !jobs.stop)
		pthread_cond_wait(&jobs.gate.changed, &jobs.gate.lock);
	if (jobs.count) {
		job = jobs.ready[jobs.head];
		jobs.head = (jobs.head + 1) % JOBS_MAX;
		jobs.count--;
	}
	pthread_mutex_unlock(&jobs.gate.lock);
	return job;
}

static void jobs_give_back(struct job *job)
{
	pthread_mutex_lock(&jobs.gate.lock);
	if (job->finished)
		jobs.unfinished--;
	else
		jobs_push(job);
	pthread_cond_broadcast(&jobs.gate.changed);
	pthread_mutex_unlock(&jobs.gate.lock);
}

static NOINLINE void worker_run(struct job *job, ucontext_t *own)
{
	job->worker = own;
	job_starting = job;
	fprof_fiber_enter(&job->fiber);
	swapcontext(own, &job->context);
	fprof_fiber_leave();
}

static void *worker_main(void *argument)
{
	ucontext_t own;
	struct job *job;
	char name[32];

	snprintf(name, sizeof(name), "worker %d", (int)(intptr_t)argument);
	fprof_thread_name(name);
	while ((job = jobs_take()) != NULL) {
		worker_run(job, &own);
		jobs_give_back(job);
	}
	return NULL;
}

static bool job_init(struct job *job, unsigned index)
{
	snprintf(job->name, sizeof(job->name), "job %u", index);
	job->fiber = (struct fprof_fiber)FPROF_FIBER_INIT(index + 1, job->name);
	job->random = random_seed(100 + index);
	job->stack = malloc(FIBER_STACK);
	if (!job->stack || getcontext(&job->context) < 0)
		return false;
	job->context.uc_stack.ss_sp = job->stack;
	job->context.uc_stack.ss_size = FIBER_STACK;
	makecontext(&job->context, job_main, 0);
	return true;
}

static unsigned jobs_per_frame(void)
{
	return (unsigned)options.threads * JOBS_PER_THREAD;
}

static void jobs_start(long filler)
{
	unsigned count = jobs_per_frame(), i;

	pthread_mutex_lock(&jobs.gate.lock);
	for (i = 0; i < count; i++) {
		jobs.all[i].zones = filler / count + (i < filler % count);
		jobs.all[i].finished = false;
		jobs_push(&jobs.all[i]);
	}
	jobs.unfinished = count;
	pthread_cond_broadcast(&jobs.gate.changed);
	pthread_mutex_unlock(&jobs.gate.lock);
}

static void jobs_wait(void)
{
	pthread_mutex_lock(&jobs.gate.lock);
	while (jobs.unfinished)
		pthread_cond_wait(&jobs.gate.changed, &jobs.gate.lock);
	pthread_mutex_unlock(&jobs.gate.lock);
}

static void jobs_stop(void)
{
	pthread_mutex_lock(&jobs.gate.lock);
	jobs.stop = true;
	pthread_cond_broadcast(&jobs.gate.changed);
	pthread_mutex_unlock(&jobs.gate.lock);
}

/* ---- The simulated GPU ------------------------------------------------------------------------
 */

#define GPU_NS_PER_TICK 10
#define GPU_VALID_BITS	36
#define GPU_PASSES	3
#define GPU_PENDING_MAX 8

struct gpu_frame {
	uint64_t frame, submission;
	uint64_t due; /* the submission at which the game gets to see it */
	int64_t at[GPU_PASSES + 1];
	bool waiting;
};

struct gpu {
	uint32_t queue;
	uint64_t submissions, random;
	int64_t busy_until, calibrated_at;
	struct gpu_frame pending[GPU_PENDING_MAX];
};

/* The GPU's counter starts elsewhere, runs at 100 MHz and wraps at 36 bits. */
static uint64_t gpu_ticks(int64_t ns)
{
	return ((uint64_t)ns / GPU_NS_PER_TICK + 12345) & ((UINT64_C(1) << GPU_VALID_BITS) - 1);
}

static void gpu_calibrate(struct gpu *gpu, int64_t now)
{
	if (gpu->calibrated_at && now - gpu->calibrated_at < NS_PER_S)
		return;
	gpu->calibrated_at = now;
	fprof_gpu_calibrate(gpu->queue, gpu_ticks(now_ns()), fprof_ticks());
}

static void gpu_deliver(const struct gpu *gpu, struct gpu_frame *done)
{
	static const char *const passes[GPU_PASSES] = {"shadow", "opaque", "post"};
	unsigned i;

	for (i = 0; i < GPU_PASSES; i++) {
		struct fprof_gpu_result result = {
			.name = passes[i],
			.queue = gpu->queue,
			.begin = gpu_ticks(done->at[i]),
			.end = gpu_ticks(done->at[i + 1]),
			.frame = done->frame,
			.submission = done->submission,
			.fence = done->submission,
		};

		fprof_gpu_span(&result);
	}
	done->waiting = false;
}

/* Hands over what is due; all of it at the end. */
static void gpu_collect(struct gpu *gpu, bool all)
{
	unsigned i;

	for (i = 0; i < GPU_PENDING_MAX; i++) {
		struct gpu_frame *done = &gpu->pending[i];

		if (done->waiting && (all || done->due <= gpu->submissions))
			gpu_deliver(gpu, done);
	}
}

static void gpu_submit(struct gpu *gpu, uint64_t frame)
{
	struct gpu_frame *done = &gpu->pending[gpu->submissions % GPU_PENDING_MAX];
	int64_t now = now_ns();
	unsigned i;

	gpu->submissions++;
	*done = (struct gpu_frame){
		.frame = frame,
		.submission = gpu->submissions,
		.due = gpu->submissions + random_below(&gpu->random, 4),
		.waiting = true,
	};
	done->at[0] = now > gpu->busy_until ? now : gpu->busy_until;
	for (i = 0; i < GPU_PASSES; i++)
		done->at[i + 1] =
			done->at[i] + 200000 + (int64_t)random_below(&gpu->random, 600000);
	gpu->busy_until = done->at[GPU_PASSES];
	fprof_gpu_submit(gpu->queue, 0, gpu->submissions, frame);
	gpu_calibrate(gpu, now);
}

/* ---- The renderer -------------------------------------------------------------------------------
 */

struct renderer {
	struct gate gate;
	uint64_t frame; /* handed over and not finished; 0: none */
	long filler;
	bool stop;
};

static struct renderer renderer;

static void render_frame(struct gpu *gpu, uint64_t frame, long filler)
{
	FPROF_ZONE("render");
	{
		FPROF_ZONE("record_commands");
		filler_zones(filler);
		FPROF_COUNTER_ADD_I64("draw_calls", FPROF_UNIT_COUNT, 100);
		FPROF_COUNTER_SET_I64("triangles", FPROF_UNIT_COUNT,
				      (int64_t)(100000 + frame % 1000));
	}
	FPROF_ZONE("submit");
	gpu_submit(gpu, frame);
	gpu_collect(gpu, false);
}

static void *render_main(void *unused)
{
	struct gpu gpu = {.random = random_seed(2)};

	(void)unused;
	fprof_thread_name("render");
	gpu.queue = fprof_gpu_queue("graphics", GPU_NS_PER_TICK, GPU_VALID_BITS);
	pthread_mutex_lock(&renderer.gate.lock);
	for (;;) {
		while (!renderer.frame && !renderer.stop)
			pthread_cond_wait(&renderer.gate.changed, &renderer.gate.lock);
		if (!renderer.frame)
			break;
		pthread_mutex_unlock(&renderer.gate.lock);
		render_frame(&gpu, renderer.frame, renderer.filler);
		pthread_mutex_lock(&renderer.gate.lock);
		renderer.frame = 0;
		pthread_cond_broadcast(&renderer.gate.changed);
	}
	pthread_mutex_unlock(&renderer.gate.lock);
	gpu_collect(&gpu, true);
	return NULL;
}

/* Waits until the renderer is free, and gives it this frame. */
static void renderer_hand_over(uint64_t frame, long filler)
{
	pthread_mutex_lock(&renderer.gate.lock);
	while (renderer.frame)
		pthread_cond_wait(&renderer.gate.changed, &renderer.gate.lock);
	renderer.frame = frame;
	renderer.filler = filler;
	pthread_cond_broadcast(&renderer.gate.changed);
	pthread_mutex_unlock(&renderer.gate.lock);
}

static void renderer_stop(void)
{
	pthread_mutex_lock(&renderer.gate.lock);
	renderer.stop = true;
	pthread_cond_broadcast(&renderer.gate.changed);
	pthread_mutex_unlock(&renderer.gate.lock);
}

/* ---- Audio and streaming
 * ------------------------------------------------------------------------- */

static struct gate background;
static bool background_stop;

/* Sleeps until a time; false: it is time to stop. */
static bool background_sleep(int64_t until)
{
	struct timespec deadline = to_timespec(until);
	bool stop;

	pthread_mutex_lock(&background.lock);
	while (!background_stop && pthread_cond_timedwait(&background.changed, &background.lock,
							  &deadline) != ETIMEDOUT)
		;
	stop = background_stop;
	pthread_mutex_unlock(&background.lock);
	return !stop;
}

static void *audio_main(void *unused)
{
	int64_t next = now_ns();

	(void)unused;
	fprof_thread_name("audio");
	while (background_sleep(next += AUDIO_PERIOD_NS)) {
		{
			FPROF_ZONE("audio_callback");
			spin(4000);
		}
		FPROF_FRAME_MARK_NAMED("audio");
	}
	return NULL;
}

static void *streaming_main(void *unused)
{
	uint64_t random = random_seed(3);
	int64_t next = now_ns();

	(void)unused;
	fprof_thread_name("streaming");
	while (background_sleep(next += (251 + (int64_t)random_below(&random, 1749)) * NS_PER_MS)) {
		{
			FPROF_ZONE("stream_in");
			spin(100000);
			FPROF_COUNTER_ADD_I64("uploaded_bytes", FPROF_UNIT_BYTES,
					      (int64_t)random_below(&random, 1 << 20));
		}
		FPROF_FRAME_MARK_NAMED("streaming");
	}
	return NULL;
}

static void streams_stop(void)
{
	pthread_mutex_lock(&background.lock);
	background_stop = true;
	pthread_cond_broadcast(&background.changed);
	pthread_mutex_unlock(&background.lock);
}

/* ---- The main thread
 * ------------------------------------------------------------------------------ */

struct history {
	int64_t *times;
	uint64_t count;
};

static void maybe_hitch(uint64_t frame)
{
	int64_t until = now_ns() + options.hitch_ms * NS_PER_MS;
	char text[64];

	if (options.hitch_every <= 0 || frame % (uint64_t)options.hitch_every != 0)
		return;
	FPROF_ZONE_EX("load_level", "loading", 0xd55e00, FPROF_LEVEL_LANDMARK);
	snprintf(text, sizeof(text), "frame %llu: loading for %ld ms", (unsigned long long)frame,
		 options.hitch_ms);
	fprof_message_ex("loading", 0xd55e00, text);
	while (now_ns() < until)
		spin(1000);
}

/* Waits for the next frame's time: as a frame cap, or as a display would make a game wait. */
static void pace(int64_t until)
{
	struct timespec deadline = to_timespec(until);

	if (options.cap) {
		FPROF_WAIT_CAP("frame_cap");
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR &&
		       !interrupted)
			;
	} else {
		FPROF_WAIT_PRESENT("present");
		background_sleep(until);
	}
}

static void play_frame(uint64_t frame, uint64_t *random)
{
	long fixed = MAIN_ZONES + RENDER_ZONES + JOB_ZONES * (long)jobs_per_frame();
	long filler = options.zones > fixed ? options.zones - fixed : 0;

	FPROF_ZONE_V(scope, "frame");
	{
		FPROF_ZONE("input");
		spin(100);
	}
	{
		FPROF_ZONE("simulate");
		jobs_start(filler / 4);
		filler_zones(filler / 2);
		spin(500 + (unsigned)random_below(random, 5000));
	}
	maybe_hitch(frame);
	{
		FPROF_ZONE("wait_for_jobs");
		jobs_wait();
	}
	{
		FPROF_ZONE("hand_over");
		renderer_hand_over(fprof_frame_number(), filler - filler / 4 - filler / 2);
	}
	FPROF_COUNTER_SET_I64("objects", FPROF_UNIT_COUNT, (int64_t)random_below(random, 5000));
	FPROF_ZONE_VALUE_I64(scope, (int64_t)frame);
}

static void play(struct history *history)
{
	int64_t period = options.fps > 0 ? NS_PER_S / options.fps : 0;
	int64_t begin = now_ns(), next = begin;
	uint64_t random = random_seed(1), frame;

	for (frame = 1; !interrupted; frame++) {
		int64_t end;

		play_frame(frame, &random);
		next = next + period > now_ns() ? next + period : now_ns();
		if (period)
			pace(next);
		end = now_ns();
		FPROF_COUNTER_SET_F64("frame_ms", FPROF_UNIT_MS, (double)(end - begin) / 1e6);
		fprof_frame_mark_id(frame);
		history->times[history->count++ % HISTORY_MAX] = end - begin;
		begin = end;
		if (options.frames > 0 && frame >= (uint64_t)options.frames)
			break;
	}
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double percentile_ms(const int64_t *times, uint64_t count, unsigned percent)
{
	return count ? (double)times[(count - 1) * percent / 100] / 1e6 : 0;
}

static void report(struct history *history)
{
	uint64_t kept = history->count < HISTORY_MAX ? history->count : HISTORY_MAX;

	qsort(history->times, kept, sizeof(*history->times), compare_times);
	printf("frames=%llu p50_ms=%.3f p95_ms=%.3f p99_ms=%.3f max_ms=%.3f\n",
	       (unsigned long long)history->count, percentile_ms(history->times, kept, 50),
	       percentile_ms(history->times, kept, 95), percentile_ms(history->times, kept, 99),
	       percentile_ms(history->times, kept, 100));
}

/* ---- Start and end
 * ---------------------------------------------------------------------------------- */

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

static void usage(FILE *to)
{
	fputs("usage: game [--fps N] [--cap] [--frames N] [--zones N] [--threads N] [--seed N]\n"
	      "            [--hitch-every N] [--hitch-ms N]\n"
	      "  --fps N          frames a second, 0: as fast as it goes (60)\n"
	      "  --cap            wait as a frame cap does, not as for a display\n"
	      "  --frames N       frames to play, 0: until interrupted (600)\n"
	      "  --zones N        zones a frame over all threads (2000)\n"
	      "  --threads N      worker threads, 1 to 64 (2)\n"
	      "  --seed N         what all of it follows from (1)\n"
	      "  --hitch-every N  a slow frame every N frames, 0: none (0)\n"
	      "  --hitch-ms N     how slow (50)\n",
	      to);
}

static bool parse_number(const char *text, long min, long max, long *ret_value)
{
	char *end;
	long value;

	errno = 0;
	value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < min || value > max)
		return false;
	*ret_value = value;
	return true;
}

static bool parse_options(int argc, char **argv)
{
	const struct {
		const char *name;
		long min, max, *value;
	} numbers[] = {
		{"--fps", 0, 100000, &options.fps},
		{"--hitch-every", 0, 1000000000, &options.hitch_every},
		{"--hitch-ms", 0, 60000, &options.hitch_ms},
		{"--zones", 0, 10000000, &options.zones},
		{"--frames", 0, 1000000000, &options.frames},
		{"--threads", 1, THREADS_MAX, &options.threads},
		{"--seed", 0, INT32_MAX, &options.seed},
	};
	int i;
	size_t k;

	for (i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--cap") == 0) {
			options.cap = true;
			continue;
		}
		for (k = 0; k < ARRAY_SIZE(numbers) && strcmp(argv[i], numbers[k].name) != 0; k++)
			;
		if (k == ARRAY_SIZE(numbers) || i + 1 == argc ||
		    !parse_number(argv[++i], numbers[k].min, numbers[k].max, numbers[k].value)) {
			fprintf(stderr, "game: bad option or value: %s\n", argv[i]);
			return false;
		}
	}
	return true;
}

static void describe_session(void)
{
	char seed[32];

	snprintf(seed, sizeof(seed), "%ld", options.seed);
	fprof_session_info("example", "game loop");
	fprof_session_info("seed", seed);
	fprof_message("the game begins");
}

static bool start_thread(pthread_t *thread, void *(*main)(void *), void *argument)
{
	int r = pthread_create(thread, NULL, main, argument);

	if (r != 0)
		fprintf(stderr, "game: cannot start a thread: %s\n", strerror(r));
	return r == 0;
}

static bool start_all(pthread_t *threads, unsigned *count)
{
	unsigned i;

	for (i = 0; i < jobs_per_frame(); i++) {
		if (!job_init(&jobs.all[i], i))
			return false;
	}
	if (!start_thread(&threads[(*count)++], render_main, NULL) ||
	    !start_thread(&threads[(*count)++], audio_main, NULL) ||
	    !start_thread(&threads[(*count)++], streaming_main, NULL))
		return false;
	for (i = 0; i < (unsigned)options.threads; i++) {
		if (!start_thread(&threads[(*count)++], worker_main, (void *)(intptr_t)i))
			return false;
	}
	return true;
}

static void stop_all(pthread_t *threads, unsigned count)
{
	unsigned i;

	renderer_stop();
	jobs_stop();
	streams_stop();
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < jobs_per_frame(); i++)
		free(jobs.all[i].stack);
}

int main(int argc, char **argv)
{
	struct history history = {0};
	pthread_t threads[THREADS_MAX + 3];
	unsigned count = 0;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return 0;
	}
	if (!parse_options(argc, argv)) {
		usage(stderr);
		return 2;
	}
	history.times = calloc(HISTORY_MAX, sizeof(*history.times));
	if (!history.times)
		return 1;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	gate_init(&jobs.gate);
	gate_init(&renderer.gate);
	gate_init(&background);
	fprof_thread_name("main");
	describe_session();
	if (!start_all(threads, &count))
		return 1;
	play(&history);
	stop_all(threads, count);
	report(&history);
	free(history.times);
	return 0;
}
