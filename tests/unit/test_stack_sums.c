// SPDX-License-Identifier: MIT
/* What samples come to, from the store to shares. */
#include "store_fixture.h"

#include "daemon/stack_sums.h"

#define EXE  UINT64_C(1000)
#define LIBC UINT64_C(2000)

/* libc's start at 0, main at 100, work at 200, and a place of no symbol at 900. */
static const struct stack_place start = {LIBC, 5}, in_main = {EXE, 110}, in_work = {EXE, 220},
				unknown = {EXE, 950}, read_call = {LIBC, 500};

static void add_module(struct batch *b, uint64_t id, const char *path)
{
	PUSH(&b->stack_modules,
	     (struct stack_module_row){.session = 1, .module = id, .path = strdup(path)});
}

static void add_symbol(struct batch *b, uint64_t module, uint64_t lo, uint64_t hi, const char *name)
{
	PUSH(&b->stack_symbols, (struct stack_symbol_row){.session = 1,
							  .module = module,
							  .lo = lo,
							  .hi = hi,
							  .name = name ? strdup(name) : NULL});
}

static void put(struct stack_log *log, int64_t t, int32_t tid, uint32_t flags,
		const struct stack_place *places, size_t count)
{
	const struct stack_sample s = {.t = t,
				       .tid = tid,
				       .thread = "game",
				       .period = 250000,
				       .flags = flags,
				       .places = places,
				       .count = count};

	assert_int_equal(stack_log_put(log, &s), 0);
}

static void add_stacks(struct batch *b, struct stack_log *log)
{
	struct stack_chunk chunk;

	stack_log_take(log, &chunk);
	PUSH(&b->stacks, (struct stack_row){.session = 1,
					    .t0 = chunk.t0,
					    .t1 = chunk.t1,
					    .samples = chunk.samples,
					    .data = chunk.data,
					    .bytes = (uint32_t)chunk.bytes});
}

static void store(struct fixture *f)
{
	const struct stack_place whole[] = {in_work, in_main, start};
	const struct stack_place recursive[] = {in_work, in_work, in_main, start};
	const struct stack_place broken[] = {unknown};
	const struct stack_place alone[] = {read_call, start};
	struct batch *b = first_batch(1, 1);
	struct stack_log log;

	add_module(b, EXE, "/usr/games/doom");
	add_module(b, LIBC, "/lib/libc.so.6");
	add_symbol(b, LIBC, 0, 100, "__libc_start");
	add_symbol(b, EXE, 100, 200, "main");
	add_symbol(b, EXE, 200, 300, "work");
	add_symbol(b, EXE, 900, 1000, NULL);
	stack_log_init(&log);
	put(&log, 10, 7, 0, whole, 3);
	put(&log, 20, 7, 0, whole, 3);
	put(&log, 30, 7, STACK_IN_KERNEL, whole, 3);
	put(&log, 40, 7, 0, recursive, 4);
	add_stacks(b, &log);
	put(&log, 50, 8, 0, broken, 1);
	put(&log, 60, 8, 0, alone, 2);
	put(&log, 70, 8, 0, NULL, 0);
	assert_int_equal(stack_log_lost(&log, 75, 9), 0);
	add_stacks(b, &log);
	stack_log_deinit(&log);
	store_submit(f->store, b);
	store_flush(f->store);
}

static void sum_up(struct fixture *f, struct history_code *code, struct stack_sums *sums,
		   int64_t t0, int64_t t1)
{
	struct stacks_visitor visitor;

	assert_int_equal(history_code(f->history, 1, code), 0);
	assert_int_equal(stack_sums_init(sums, code, t0, t1), 0);
	visitor = stack_sums_visitor(sums);
	assert_int_equal(history_stacks_each(f->history, 1, t0, t1, &visitor), 0);
	assert_int_equal(stack_sums_finish(sums), 0);
}

static const struct stack_function *function(const struct stack_sums *sums, const char *name)
{
	size_t i;

	for (i = 0; i < sums->functions.count; i++) {
		const struct history_symbol *symbol = sums->functions.at[i].symbol;

		if (symbol && symbol->name && strcmp(symbol->name, name) == 0)
			return &sums->functions.at[i];
	}
	fail_msg("there is no %s", name);
	return NULL;
}

static const struct stack_module_sums *module(const struct stack_sums *sums, uint64_t id)
{
	size_t i;

	for (i = 0; i < sums->modules.count; i++)
		if (sums->modules.at[i].module && sums->modules.at[i].module->id == id)
			return &sums->modules.at[i];
	fail_msg("there is no such module");
	return NULL;
}

static void functions_have_what_was_in_them_once_a_stack(void **state)
{
	struct fixture *f = *state;
	struct history_code code;
	struct stack_sums sums;

	store(f);
	sum_up(f, &code, &sums, INT64_MIN, INT64_MAX);
	assert_int_equal(sums.samples, 7);
	assert_int_equal(sums.in_kernel, 1);
	assert_int_equal(sums.lost, 9);
	assert_int_equal(sums.period_ns, 250000);
	assert_false(sums.periods);
	assert_int_equal(function(&sums, "work")->self, 3);
	assert_int_equal(function(&sums, "work")->total, 4); /* twice in one stack */
	assert_int_equal(function(&sums, "main")->self, 0);
	assert_int_equal(function(&sums, "main")->total, 4);
	assert_int_equal(sums.functions.at[sums.kernel].self, 1);
	assert_int_equal(sums.threads.count, 2);
	assert_int_equal(sums.threads.at[0].samples, 4);
	stack_sums_deinit(&sums);
	history_code_free(&code);
}

/* One that ends in the game, one that is in libc alone, and one of which nothing is known. */
static void stacks_that_reach_no_beginning_are_broken(void **state)
{
	struct fixture *f = *state;
	struct history_code code;
	struct stack_sums sums;
	size_t i, below = 0;

	store(f);
	sum_up(f, &code, &sums, INT64_MIN, INT64_MAX);
	assert_int_equal(sums.broken, 3);
	assert_int_equal(module(&sums, EXE)->broken, 1);
	assert_int_equal(module(&sums, LIBC)->broken, 1);
	assert_int_equal(module(&sums, EXE)->total, 5);
	for (i = 0; i < sums.nodes.count; i++)
		if (sums.nodes.at[i].kind == STACK_NODE_BROKEN)
			below += sums.nodes.at[i].total;
	assert_int_equal(below, 3);
	stack_sums_deinit(&sums);
	history_code_free(&code);
}

static bool is_eight(const void *userdata, int32_t tid)
{
	(void)userdata;
	return tid == 8;
}

static void times_and_threads_choose(void **state)
{
	struct fixture *f = *state;
	struct stacks_visitor visitor;
	struct history_code code;
	struct stack_sums sums;

	store(f);
	sum_up(f, &code, &sums, 20, 60);
	assert_int_equal(sums.samples, 4); /* from 20 to below 60 */
	assert_int_equal(sums.lost, 0);
	stack_sums_deinit(&sums);
	assert_int_equal(stack_sums_init(&sums, &code, 0, 1000), 0);
	sums.wants = is_eight;
	visitor = stack_sums_visitor(&sums);
	assert_int_equal(history_stacks_each(f->history, 1, 0, 1000, &visitor), 0);
	assert_int_equal(stack_sums_finish(&sums), 0);
	assert_int_equal(sums.samples, 3);
	stack_sums_deinit(&sums);
	history_code_free(&code);
}

/* The last of four samples cannot be read; its checksum may be right all the same. */
static void what_a_damaged_chunk_does_not_tell_is_lost(void **state)
{
	const struct stack_place places[] = {in_work, start};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct history_code code;
	struct stack_sums sums;
	struct stack_log log;
	int64_t t;

	stack_log_init(&log);
	for (t = 10; t <= 40; t += 10)
		put(&log, t, 7, 0, places, 2);
	add_stacks(b, &log);
	b->stacks.at[0].bytes--;
	for (t = 50; t <= 60; t += 10)
		put(&log, t, 7, 0, places, 2);
	add_stacks(b, &log);
	stack_log_deinit(&log);
	fixture_submit(f, b);
	sum_up(f, &code, &sums, 0, 1000);
	assert_int_equal(sums.samples, 3 + 2);
	assert_int_equal(sums.lost, 1);
	stack_sums_deinit(&sums);
	history_code_free(&code);
}

static int count(void *userdata, const struct stack_record *record)
{
	*(size_t *)userdata += record->kind == STACK_SAMPLE;
	return 0;
}

static int chunk(void *userdata)
{
	(void)userdata;
	return 0;
}

/* Each frame has a sample in its middle; ten frames are kept. */
static void samples_leave_with_their_frames(void **state)
{
	const struct stack_place places[] = {in_work, start};
	struct fixture *f = *state;
	struct stack_log log;
	size_t left = 0;
	const struct stacks_visitor visitor = {&left, chunk, count};
	int64_t i;

	fixture_close(f);
	f->config.history_frames = 10;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	stack_log_init(&log);
	for (i = 1; i <= 50; i++) {
		struct batch *b = must(batch_new());

		put(&log, i * 100 + 50, 7, 0, places, 2);
		add_stacks(b, &log);
		add_zones(b, 1, 1, i * 100, i * 100 + 100, 2);
		add_frame(b, 1, 0, (uint64_t)i, i * 100, i * 100 + 100);
		fixture_submit(f, b);
	}
	assert_int_equal(history_stacks_each(f->history, 1, INT64_MIN, INT64_MAX, &visitor), 0);
	assert_int_equal(left, 10);
	stack_log_deinit(&log);
}

static void assert_near(double a, double b)
{
	assert_true(a - b < 1e-4 && b - a < 1e-4);
}

/* Values of Wilson's interval from tables: 8 of 10, 0 of 10, 10 of 10. */
static void shares_have_wilsons_interval(void **state)
{
	struct stack_share s = stack_share(8, 10);

	(void)state;
	assert_near(s.share, 0.8);
	assert_near(s.low, 0.4902);
	assert_near(s.high, 0.9433);
	s = stack_share(0, 10);
	assert_near(s.low, 0.0);
	assert_near(s.high, 0.2775);
	s = stack_share(10, 10);
	assert_near(s.low, 0.7225);
	assert_near(s.high, 1.0);
	s = stack_share(0, 0);
	assert_near(s.high, 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(functions_have_what_was_in_them_once_a_stack,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(stacks_that_reach_no_beginning_are_broken,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(times_and_threads_choose, fixture_setup,
						fixture_teardown),
		cmocka_unit_test_setup_teardown(what_a_damaged_chunk_does_not_tell_is_lost,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(samples_leave_with_their_frames, fixture_setup,
						fixture_teardown),
		cmocka_unit_test(shares_have_wilsons_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
