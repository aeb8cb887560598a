/* SPDX-License-Identifier: MIT */
/* The store when the disk is full, damaged, or held by somebody else: nothing that was recorded
 * since is lost, readers go on, and it is said. */
#include "store_fixture.h"

#include "daemon/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>

static int setup(void **state)
{
	struct fixture *f = must(calloc(1, sizeof(*f)));

	fixture_init(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fixture_close(f);
	umount(f->history_dir); /* where a test mounted one */
	fixture_deinit(f);
	free(f);
	return 0;
}

static struct store_health health_of(struct fixture *f)
{
	struct store_health health;

	store_health(f->store, &health);
	return health;
}

/* Frame n with a zone of marker 2 in it. */
static struct batch *frame_batch(uint64_t n)
{
	struct batch *b = must(batch_new());
	struct maker *m = maker_new(1, 1, 0, (int64_t)n * 100);

	make_begin(m, (int64_t)n * 100, 2);
	make_end(m, (int64_t)n * 100 + 50);
	make_chunk(m, b);
	add_frame(b, 1, 0, n, (int64_t)n * 100, (int64_t)n * 100 + 100);
	return b;
}

/* A frame's first zone is there, with its name. */
static void assert_frame(struct fixture *f, uint64_t n)
{
	struct history_frame_detail d;
	const struct marker_row *marker;

	assert_int_equal(history_frame_detail(f->history, 1, NULL, n, 0, &d), 0);
	assert_true(d.zones.count > 0);
	assert_int_equal(d.zones.at[0].begin_ns, n * 100);
	marker = history_marker_of(&d, 2);
	assert_non_null(marker);
	assert_string_equal(marker->name, "physics");
	history_frame_detail_deinit(&d);
}

/* Files in dir whose name starts with prefix and ends with suffix. */
static int count_files(const char *dir, const char *prefix, const char *suffix)
{
	struct dirent *entry;
	DIR *d = must(opendir(dir));
	int count = 0;

	while ((entry = readdir(d))) {
		size_t length = strlen(entry->d_name);

		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0 &&
			 length >= strlen(suffix) &&
			 strcmp(entry->d_name + length - strlen(suffix), suffix) == 0;
	}
	closedir(d);
	return count;
}

/* Writes over a file's bytes in a child: an open and close of our own would drop SQLite's locks. */
static void overwrite(const char *path, off_t at, size_t bytes)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		char *junk = malloc(bytes);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);

		if (!junk || fd < 0)
			_exit(1);
		memset(junk, 0x5a, bytes);
		_exit(pwrite(fd, junk, bytes, at) == (ssize_t)bytes ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void a_file_that_is_no_database_is_moved_aside(void **state)
{
	struct fixture *f = *state;

	mkdir(f->history_dir, 0700);
	overwrite(f->history_db, 0, 100000);
	fixture_open(f);
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_non_null(strstr(health_of(f).history_reason, "damaged"));
	assert_non_null(strstr(health_of(f).history_reason, "history.db.corrupt-"));
	assert_int_equal(count_files(f->history_dir, "history.db.corrupt-", "Z"), 1);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(1));
	assert_frame(f, 1);
	assert_sound(f->history_db);
}

static void a_damaged_page_is_found_at_open(void **state)
{
	struct fixture *f = *state;
	uint64_t n;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (n = 1; n <= 20; n++)
		fixture_submit(f, frame_batch(n));
	fixture_close(f);
	overwrite(f->history_db, 3 * 16384, 16384);
	fixture_open(f);
	assert_non_null(strstr(health_of(f).history_reason, "damaged"));
	assert_int_equal(count_files(f->history_dir, "history.db.corrupt-", "Z"), 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 0);
	assert_sound(f->history_db);
}

static void two_damaged_files_are_kept(void **state)
{
	struct fixture *f = *state;
	int i;

	mkdir(f->history_dir, 0700);
	for (i = 0; i < 5; i++) {
		overwrite(f->history_db, 0, 100000);
		fixture_open(f);
		fixture_close(f);
	}
	assert_int_equal(count_files(f->history_dir, "history.db.corrupt-", "Z"), 2);
}

static void foreign_sql(struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->history_db, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 5000);
	assert_int_equal(sql_exec(db, sql), 0);
	sqlite3_close(db);
}

static void a_newer_history_is_moved_aside(void **state)
{
	struct fixture *f = *state;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_close(f);
	foreign_sql(f, "PRAGMA user_version=1000");
	fixture_open(f);
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_non_null(strstr(health_of(f).history_reason, "newer"));
	assert_int_equal(count_files(f->history_dir, "history.db.newer-", "Z"), 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 0);
}

static void a_newer_state_is_left_alone(void **state)
{
	struct fixture *f = *state;

	fixture_open(f);
	fixture_close(f);
	assert_int_equal(ask(f->state_db, "PRAGMA user_version=1000"), INT64_MIN);
	fixture_open(f);
	assert_false(health_of(f).state_ok);
	assert_non_null(strstr(health_of(f).state_reason, "newer"));
	assert_int_equal(ask(f->state_db, "PRAGMA user_version"), 1000);
	fixture_submit(f, first_batch(1, 1));
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions"), 1);
}

static void a_damaged_state_is_moved_aside(void **state)
{
	struct fixture *f = *state;
	uint64_t first;

	fixture_open(f);
	first = store_next_session_id(f->store);
	fixture_close(f);
	overwrite(f->state_db, 0, 8192);
	fixture_open(f);
	assert_true(health_of(f).state_ok);
	assert_non_null(strstr(health_of(f).state_reason, "damaged"));
	assert_int_equal(count_files(f->state_dir, "fprofd.db.corrupt-", "Z"), 1);
	assert_true(store_next_session_id(f->store) > first);
}

/* The table's root is another page than the schema says: SQLite reports damage at the next use. */
static void damage_at_run_time_keeps_live_sessions(void **state)
{
	struct fixture *f = *state;
	uint64_t n;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (n = 1; n <= 5; n++)
		fixture_submit(f, frame_batch(n));
	assert_frame(f, 5);
	foreign_sql(f, "PRAGMA writable_schema=ON;"
		       "UPDATE sqlite_schema SET rootpage=9999 WHERE name='frames';"
		       "PRAGMA schema_version=7777");
	for (n = 6; n <= 10; n++)
		fixture_submit(f, frame_batch(n));
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_non_null(strstr(health_of(f).history_reason, "damaged"));
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_int_equal(count_files(f->history_dir, "history.db.corrupt-", "Z"), 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), 5);
	assert_frame(f, 6);
	assert_frame(f, 10);
	assert_sound(f->history_db);
}

static void a_lost_table_begins_anew(void **state)
{
	struct fixture *f = *state;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(1));
	foreign_sql(f, "DROP TABLE frames");
	fixture_submit(f, frame_batch(2));
	fixture_submit(f, frame_batch(3));
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM sessions WHERE name='game'"), 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), 2);
	assert_frame(f, 3);
	assert_sound(f->history_db);
}

static void mount_small(struct fixture *f, const char *size)
{
	char options[32];

	mkdir(f->history_dir, 0700);
	snprintf(options, sizeof(options), "size=%s", size);
	if (mount("fprof-test", f->history_dir, "tmpfs", 0, options) < 0) {
		print_message("a small tmpfs cannot be mounted here: %s\n", strerror(errno));
		skip();
	}
}

/* Takes all space that is left. */
static void fill_disk(struct fixture *f, char *path, size_t size)
{
	static const char junk[4096];
	int fd;

	snprintf(path, size, "%s/filler", f->history_dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	while (write(fd, junk, sizeof(junk)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void a_full_disk_moves_history_to_memory_and_back(void **state)
{
	struct fixture *f = *state;
	char filler[128];
	uint64_t n;

	f->config.history_mib = f->config.history_session_mib = 8;
	mount_small(f, "4m");
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (n = 1; n <= 10; n++)
		fixture_submit(f, frame_batch(n));
	fill_disk(f, filler, sizeof(filler));
	for (n = 11; health_of(f).history == STORE_ON_DISK; n++) {
		struct batch *b = frame_batch(n);

		add_zones(b, 1, 2, (int64_t)n * 100, (int64_t)n * 100 + 99, 5000);
		fixture_submit(f, b);
		assert_true(n < 1000);
	}
	assert_non_null(strstr(health_of(f).history_reason, "in memory"));
	assert_non_null(strstr(health_of(f).history_reason, "no space"));
	for (; n % 50; n++)
		fixture_submit(f, frame_batch(n));
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_int_equal(health_of(f).events_dropped, 0);
	assert_frame(f, 1); /* from before */
	assert_frame(f, n - 1);

	/* Still full. */
	store_retry(f->store);
	store_flush(f->store);
	assert_int_equal(health_of(f).history, STORE_IN_MEMORY);
	fixture_submit(f, frame_batch(n));

	assert_int_equal(unlink(filler), 0);
	store_retry(f->store);
	store_flush(f->store);
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_string_equal(health_of(f).history_reason, "");
	assert_frame(f, 1);
	assert_frame(f, n);
	fixture_submit(f, frame_batch(n + 1));
	assert_frame(f, n + 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), n + 1);
	assert_sound(f->history_db);
}

static void without_a_directory_history_is_in_memory(void **state)
{
	struct fixture *f = *state;
	FILE *file = must(fopen(f->history_dir, "w"));

	fclose(file);
	fixture_open(f);
	assert_int_equal(health_of(f).history, STORE_IN_MEMORY);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(1));
	assert_frame(f, 1);
	assert_int_equal(unlink(f->history_dir), 0);
	store_retry(f->store);
	store_flush(f->store);
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_frame(f, 1);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), 1);
}

/* Retention goes on in memory. */
static void memory_is_bounded_too(void **state)
{
	struct fixture *f = *state;
	FILE *file = must(fopen(f->history_dir, "w"));
	int i;

	fclose(file);
	f->config.history_mib = f->config.history_session_mib = 8;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	for (i = 0; i < 300; i++) {
		struct batch *b = must(batch_new());

		add_many_zones(b, 1, 1, i);
		store_submit(f->store, b);
	}
	store_flush(f->store);
	assert_int_equal(health_of(f).history, STORE_IN_MEMORY);
	assert_true(health_of(f).used_bytes <= 8 << 20);
	assert_true(health_of(f).used_bytes > 6 << 20);
	assert_int_equal(health_of(f).batches_failed, 0);
}

static void a_reader_that_holds_a_transaction_is_left_behind(void **state)
{
	struct fixture *f = *state;
	sqlite3_stmt *stmt;
	sqlite3 *pin;
	uint64_t n = 0;
	int64_t seen;

	f->config.history_mib = f->config.history_session_mib = 16;
	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(++n));
	assert_frame(f, n);
	assert_int_equal(sqlite3_open(f->history_db, &pin), SQLITE_OK);
	assert_int_equal(sql_exec(pin, "BEGIN"), 0);
	assert_int_equal(sql_prepare(pin, "SELECT count(*) FROM frames", &stmt), 0);
	assert_int_equal(sql_int_of(stmt, &seen), 1);
	assert_int_equal(seen, 1);
	while (health_of(f).wal_rotations == 0) {
		struct batch *b = frame_batch(++n);

		add_zones(b, 1, 2, (int64_t)n * 100, (int64_t)n * 100 + 99, 10000);
		fixture_submit(f, b);
		assert_true(health_of(f).used_bytes < 18 << 20);
		assert_true(n < 1000);
	}
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_non_null(strstr(health_of(f).history_reason, "another program"));
	assert_frame(f, 1);
	assert_frame(f, n);
	fixture_submit(f, frame_batch(++n));
	assert_frame(f, n);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), n);

	/* The stranger still sees what it saw, and its close harms nothing. */
	assert_int_equal(sql_int_of(stmt, &seen), 1);
	assert_int_equal(seen, 1);
	sqlite3_finalize(stmt);
	assert_int_equal(sql_exec(pin, "COMMIT"), 0);
	sqlite3_close(pin);
	fixture_submit(f, frame_batch(++n));
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), n);
	assert_frame(f, n);
	assert_int_equal(health_of(f).wal_rotations, 1);
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_sound(f->history_db);
}

/* Whatever of its files goes away, the history goes on in new ones with all that it had. */
static void removed_files_are_written_again(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	struct fixture *f = *state;
	char path[4096 + 8];
	unsigned which, i;
	uint64_t n = 0;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(++n));
	for (which = 1; which < 8; which++) {
		if (which == 4)
			continue; /* -shm alone: SQLite maps it and needs no name */
		for (i = 0; i < 3; i++) {
			snprintf(path, sizeof(path), "%s%s", f->history_db, suffixes[i]);
			if (which & 1u << i)
				unlink(path);
		}
		fixture_submit(f, frame_batch(++n));
		fixture_submit(f, frame_batch(++n));
		assert_frame(f, 1);
		assert_frame(f, n);
		assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), n);
	}
	assert_int_equal(health_of(f).history, STORE_ON_DISK);
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_non_null(strstr(health_of(f).history_reason, "removed or replaced"));
	assert_sound(f->history_db);
}

static void a_writer_that_holds_the_lock_is_left_behind(void **state)
{
	struct fixture *f = *state;
	sqlite3 *lock;

	fixture_open(f);
	fixture_submit(f, first_batch(1, 1));
	fixture_submit(f, frame_batch(1));
	assert_int_equal(sqlite3_open(f->history_db, &lock), SQLITE_OK);
	assert_int_equal(sql_exec(lock, "BEGIN IMMEDIATE; DELETE FROM frames"), 0);
	fixture_submit(f, frame_batch(2));
	assert_int_equal(health_of(f).wal_rotations, 1);
	assert_int_equal(health_of(f).batches_failed, 0);
	assert_int_equal(sql_exec(lock, "COMMIT"), 0);
	sqlite3_close(lock);
	fixture_submit(f, frame_batch(3));
	assert_frame(f, 1);
	assert_frame(f, 3);
	assert_int_equal(ask(f->history_db, "SELECT count(*) FROM frames"), 3);
	assert_sound(f->history_db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_that_is_no_database_is_moved_aside),
		TEST(a_damaged_page_is_found_at_open),
		TEST(two_damaged_files_are_kept),
		TEST(a_newer_history_is_moved_aside),
		TEST(a_newer_state_is_left_alone),
		TEST(a_damaged_state_is_moved_aside),
		TEST(damage_at_run_time_keeps_live_sessions),
		TEST(a_lost_table_begins_anew),
		TEST(a_full_disk_moves_history_to_memory_and_back),
		TEST(without_a_directory_history_is_in_memory),
		TEST(memory_is_bounded_too),
		TEST(a_reader_that_holds_a_transaction_is_left_behind),
		TEST(removed_files_are_written_again),
		TEST(a_writer_that_holds_the_lock_is_left_behind),
	};
#undef TEST

	log_set_level(LOG_LEVEL_ERROR); /* what is expected to be said is not shown */
	return cmocka_run_group_tests_name("store_fault", tests, NULL, NULL);
}
