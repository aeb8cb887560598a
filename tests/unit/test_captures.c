/* SPDX-License-Identifier: MIT */
/* What is saved reads like what it was saved from, whatever becomes of that. */
#include "captures_fixture.h"

#include "daemon/history_sched.h"
#include "daemon/import.h"

#include <dirent.h>
#include <sys/mman.h>

static int setup(void **state)
{
	*state = world_new();
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static void a_range_reads_as_in_the_history(void **state)
{
	struct world *w = *state;
	struct history_session s;
	struct history *h;
	uint64_t id;

	add_rich(w, 60);
	id = save(w, 11, 40);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(w->f.history, 1, h, id, 11, 40);
	assert_int_equal(history_session(h, id, 1001, &s), 0);
	assert_int_equal(s.first_frame, 11);
	assert_int_equal(s.last_frame, 40);
	assert_int_equal(s.first_retained, 11);
	assert_int_equal(s.update.overwritten, 100);
	assert_int_equal(s.update.discarded[DISCARD_QUOTA], 10);
	assert_int_equal(s.update.state, SESSION_ENDED);
	assert_string_equal(s.infos.at[0].value, "köln");
	history_session_deinit(&s);
	history_close(h);
}

/* The kernel was listened to only later: its silence is a fact of the capture, too. */
static void frames_that_nobody_heard_stay_so(void **state)
{
	struct world *w = *state;
	struct batch *b = must(batch_new());
	sched_intervals_vec got = {0};
	struct history *h;
	uint64_t id;

	add_rich(w, 8);
	PUSH(&b->scheds,
	     (struct sched_row){.session = 1, .t0 = 7 * FRAME_TICKS, .t1 = 8 * FRAME_TICKS});
	submit(w, b);
	id = save(w, 2, 3);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_int_equal(history_sched(h, id, 42, 2 * FRAME_TICKS, 4 * FRAME_TICKS, &got), 0);
	assert_int_equal(got.count, 1);
	assert_int_equal(got.at[0].state, SCHED_STATE_UNKNOWN);
	VEC_FREE(&got);
	history_close(h);
}

static void an_upload_reads_as_what_was_saved(void **state)
{
	struct world *w = *state;
	struct history *h;
	uint64_t id, again = 0;
	char path[256], why[CAPTURE_WHY];

	add_rich(w, 60);
	id = save(w, 11, 40);
	file_of(w, id, path, sizeof(path));
	assert_int_equal(upload(w, path, &again, why), 0);
	assert_int_not_equal(again, id);
	assert_int_equal(captures_open(w->captures, again, 1001, &h), 0);
	assert_same_frames(w->f.history, 1, h, again, 11, 40);
	history_close(h);
}

static void a_save_in_the_middle_of_recording_stands(void **state)
{
	struct world *w = *state;
	struct history *before, *after;
	uint64_t id, copy;
	int i;

	add_rich(w, 30);
	id = save(w, 5, 25);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &before), 0);
	/* Another session comes and pushes the first one's events out. */
	submit(w, first_batch(9, 9));
	for (i = 0; i < 8; i++) {
		struct batch *b = must(batch_new());
		uint64_t n;

		for (n = 0; n < 200; n++) {
			int64_t t = (int64_t)(30 + (uint64_t)i * 200 + n) * FRAME_TICKS;

			add_frame(b, 1, 0, 31 + (uint64_t)i * 200 + n, t, t + FRAME_TICKS);
		}
		submit(w, b);
	}
	assert_int_equal(ask(w->f.history_db, "SELECT count(*) FROM chunks WHERE session = 1 AND "
					      "t0 BETWEEN 5000 AND 20000"),
			 0);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &after), 0);
	assert_same_frames(before, id, after, id, 5, 25);
	/* And a capture can be saved from. */
	assert_int_equal(
		captures_save(w->captures,
			      &(struct capture_order){.session = id, .first = 10, .last = 20},
			      HISTORY_ANY_UID, &copy),
		0);
	history_close(after);
	assert_int_equal(captures_open(w->captures, copy, HISTORY_ANY_UID, &after), 0);
	assert_same_frames(before, id, after, copy, 10, 20);
	history_close(after);
	history_close(before);
}

static void one_frame_and_none_are_enough(void **state)
{
	struct world *w = *state;
	struct history_frame_detail tail;
	struct history_frames frames;
	struct history *h;
	uint64_t id = 0;

	add_rich(w, 20);
	id = save(w, 7, 7);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(w->f.history, 1, h, id, 7, 7);
	assert_int_equal(history_frame_detail(h, id, NULL, HISTORY_TAIL, 0, &tail), 0);
	assert_int_equal(tail.frame.row.events, 0);
	history_frame_detail_deinit(&tail);
	history_close(h);
	submit(w, first_batch(50, 50));
	assert_int_equal(captures_save(w->captures,
				       &(struct capture_order){.session = 50, .tail = true},
				       HISTORY_ANY_UID, &id),
			 0);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_int_equal(history_frames_last(h, id, NULL, 10, &frames), 0);
	assert_int_equal(frames.frames.count, 0);
	history_frames_deinit(&frames);
	history_close(h);
}

static void many_markers_come_along(void **state)
{
	struct world *w = *state;
	struct batch *b = rich_names();
	struct history *h;
	uint64_t id;
	char name[32], path[256];
	uint32_t i;

	for (i = 100; i < 16000; i++) {
		snprintf(name, sizeof(name), "zone %u", i);
		add_marker(b, 1, i, name);
	}
	for (i = 1; i <= 5; i++)
		rich_frame(b, i);
	submit(w, b);
	id = save(w, 1, 5);
	assert_int_equal(captures_open(w->captures, id, HISTORY_ANY_UID, &h), 0);
	assert_same_frames(w->f.history, 1, h, id, 1, 5);
	history_close(h);
	file_of(w, id, path, sizeof(path));
	assert_int_equal(ask(path, "SELECT count(*) FROM markers"), 15905);
}

static void what_is_not_there_is_not_saved(void **state)
{
	struct world *w = *state;
	uint64_t id = 0;

	add_rich(w, 5);
	assert_int_equal(
		captures_save(w->captures,
			      &(struct capture_order){.session = 1, .first = 90, .last = 95},
			      HISTORY_ANY_UID, &id),
		-ENOENT);
	assert_int_equal(captures_save(w->captures,
				       &(struct capture_order){.session = 2, .first = 1, .last = 5},
				       HISTORY_ANY_UID, &id),
			 -ENOENT);
	/* Another user's is not there either. */
	assert_int_equal(captures_save(w->captures,
				       &(struct capture_order){.session = 1, .first = 1, .last = 5},
				       1002, &id),
			 -ENOENT);
	id = save(w, 1, 5);
	assert_int_equal(captures_find(w->captures, id, 1002, &(struct capture){0}), -ENOENT);
}

static void captures_are_bounded(void **state)
{
	struct world *w = *state;
	const struct capture_order order = {.session = 1, .first = 1, .last = 5};
	captures_vec list = {0};
	uint64_t id, count = 0;
	int r;

	captures_free(w->captures);
	w->f.config.captures_mib = 1;
	assert_int_equal(captures_new(&w->f.config, w->f.store, &w->captures), 0);
	add_rich(w, 5);
	while ((r = captures_save(w->captures, &order, HISTORY_ANY_UID, &id)) == 0)
		count++;
	assert_int_equal(r, -EDQUOT);
	assert_int_equal(captures_list(w->captures, HISTORY_ANY_UID, &list), 0);
	assert_int_equal(list.count, count);
	assert_true(count > 0);
	assert_int_equal(captures_delete(w->captures, list.at[0].session), 0);
	captures_vec_free(&list);
	assert_int_equal(captures_save(w->captures, &order, HISTORY_ANY_UID, &id), 0);
}

static void names_and_notes_travel(void **state)
{
	struct world *w = *state;
	char path[256], why[CAPTURE_WHY];
	struct capture c;
	uint64_t id, again = 0;
	int fd;

	add_rich(w, 5);
	id = save(w, 1, 5);
	assert_int_equal(captures_edit(w->captures, id, "Übergröße 日本", "a note"), 0);
	assert_int_equal(captures_edit(w->captures, id, NULL, NULL), 0);
	assert_int_equal(captures_edit(w->captures, 999, "x", NULL), -ENOENT);
	assert_int_equal(captures_find(w->captures, id, 1001, &c), 0);
	fd = captures_open_file(w->captures, &c);
	assert_true(fd > 0);
	capture_deinit(&c);
	assert_int_equal(captures_upload(w->captures, fd, NULL, 1001, &again, why), 0);
	close(fd);
	assert_int_equal(captures_find(w->captures, again, 1001, &c), 0);
	assert_string_equal(c.name, "Übergröße 日本");
	assert_string_equal(c.note, "a note");
	assert_int_equal(c.kind, CAPTURE_UPLOADED);
	capture_deinit(&c);
	file_of(w, id, path, sizeof(path));
	assert_int_equal(captures_delete(w->captures, id), 0);
	assert_int_not_equal(access(path, F_OK), 0);
}

static void captures_outlive_the_daemon_and_its_list(void **state)
{
	struct world *w = *state;
	char path[256], temporary[256];
	struct capture c;
	uint64_t kept, lost, gone;

	add_rich(w, 5);
	kept = save(w, 1, 5);
	lost = save(w, 2, 4);
	gone = save(w, 3, 3);
	file_of(w, gone, path, sizeof(path));
	world_close(w);
	assert_int_equal(unlink(path), 0);
	snprintf(temporary, sizeof(temporary), "%s/new-abcdef.tmp", w->directory);
	fclose(must(fopen(temporary, "we")));
	snprintf(path, sizeof(path), "DELETE FROM captures WHERE session = %d", (int)lost);
	ask(w->f.state_db, path);
	world_open(w);
	assert_int_equal(captures_find(w->captures, kept, 1001, &c), 0);
	capture_deinit(&c);
	assert_int_equal(captures_find(w->captures, lost, 1001, &c), 0);
	assert_int_equal(c.first_frame, 2);
	assert_int_equal(c.last_frame, 4);
	assert_int_equal(c.source_session, 1);
	capture_deinit(&c);
	assert_int_equal(captures_find(w->captures, gone, 1001, &c), -ENOENT);
	assert_int_not_equal(access(temporary, F_OK), 0);
}

/* The row is gone, as when the end came before it was written, and so is all room. */
static void what_is_there_is_listed_again_without_room(void **state)
{
	struct world *w = *state;
	struct capture c;
	uint64_t id;

	add_rich(w, 5);
	id = save(w, 1, 5);
	captures_free(w->captures);
	ask(w->f.state_db, "DELETE FROM captures");
	w->f.config.captures_mib = 0;
	assert_int_equal(captures_new(&w->f.config, w->f.store, &w->captures), 0);
	assert_int_equal(captures_find(w->captures, id, 1001, &c), 0);
	assert_true(c.bytes > 0);
	capture_deinit(&c);
	assert_int_equal(captures_check_room(w->captures, 0), -EDQUOT);
}

/* Nothing after its last frame is shown, and so it is under another name. */
static void a_new_name_leaves_the_rest_of_the_file(void **state)
{
	static const char end[] = "SELECT value FROM meta WHERE key = 'capture.end_ticks'";
	struct world *w = *state;
	char path[256], why[CAPTURE_WHY];
	struct capture c;
	uint64_t id, again = 0;
	int64_t before;
	int fd;

	add_rich(w, 9);
	id = save(w, 2, 5);
	file_of(w, id, path, sizeof(path));
	before = ask(path, end);
	assert_true(before > 0);
	assert_int_equal(captures_edit(w->captures, id, "another", NULL), 0);
	assert_int_equal(captures_find(w->captures, id, 1001, &c), 0);
	fd = captures_open_file(w->captures, &c);
	assert_true(fd > 0);
	capture_deinit(&c);
	assert_int_equal(captures_upload(w->captures, fd, NULL, 1001, &again, why), 0);
	close(fd);
	file_of(w, again, path, sizeof(path));
	assert_int_equal(ask(path, end), before);
	assert_int_equal(
		ask(path, "SELECT count(*) FROM meta WHERE key IN ('capture.note', 'sum.meta')"),
		1);
}

/* Open descriptors of files that were removed. */
static int deleted_files(const struct world *w)
{
	char link[64], target[512];
	int fd, count = 0;
	ssize_t n;

	for (fd = 0; fd < 256; fd++) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		count += strstr(target, w->directory) && strstr(target, "(deleted)");
	}
	return count;
}

static void a_reader_of_what_was_deleted_is_closed(void **state)
{
	struct world *w = *state;
	struct history *kept, *deleted;
	uint64_t id, other;

	add_rich(w, 5);
	id = save(w, 1, 5);
	other = save(w, 1, 2);
	assert_int_equal(captures_take(w->captures, other, 1001, &kept), 0);
	assert_int_equal(captures_take(w->captures, id, 1001, &deleted), 0);
	assert_int_equal(captures_delete(w->captures, id), 0);
	assert_same_frames(w->f.history, 1, deleted, id, 1, 5);
	assert_int_equal(deleted_files(w), 1);
	captures_put(w->captures, id, deleted);
	assert_int_equal(deleted_files(w), 0);
	captures_put(w->captures, other, kept);
	assert_int_equal(captures_take(w->captures, other, 1001, &deleted), 0);
	assert_ptr_equal(deleted, kept);
	captures_put(w->captures, other, kept);
}

static void a_file_that_lacks_a_table_is_an_io_error(void **state)
{
	struct world *w = *state;
	struct history_session s;
	struct history *h;
	char path[256];
	uint64_t id;

	add_rich(w, 5);
	id = save(w, 1, 5);
	file_of(w, id, path, sizeof(path));
	ask(path, "DROP TABLE infos");
	assert_int_equal(history_open_file(path, &h), 0);
	assert_int_equal(history_session(h, id, 1001, &s), -EIO);
	assert_int_equal(history_session(h, id, 1001, &s), -EIO);
	history_close(h);
}

static int trace(const char *text)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static int files_in(const char *directory)
{
	DIR *dir = must(opendir(directory));
	struct dirent *entry;
	int count = 0;

	while ((entry = readdir(dir)))
		count += entry->d_type == DT_REG;
	closedir(dir);
	return count;
}

static void check_import(struct world *w, uint64_t id)
{
	struct history_session s;
	struct capture c;
	struct history *h;
	char file[48];

	captures_file_name(id, file, sizeof(file));
	assert_int_equal(captures_find(w->captures, id, 1001, &c), 0);
	assert_string_equal(c.file, file);
	assert_string_equal(c.name, "mine");
	assert_int_equal(c.kind, CAPTURE_IMPORTED);
	assert_int_equal(c.first_frame, 1);
	assert_int_equal(c.last_frame, 2);
	capture_deinit(&c);
	assert_int_equal(captures_open(w->captures, id, 1001, &h), 0);
	assert_int_equal(history_session(h, id, 1001, &s), 0);
	assert_int_equal(s.last_frame, 2);
	assert_int_equal(s.capture_kind, CAPTURE_IMPORTED);
	history_session_deinit(&s);
	history_close(h);
}

/* One file under its own name, from its sealing on: what ends before it is listed is found. */
static void an_import_is_a_file_of_its_own_name(void **state)
{
	struct world *w = *state;
	struct import_order order = {.name = "mine", .uid = 1001};
	struct import_result result = {0};
	uint64_t id = 0;

	order.fd = trace("[{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"name\":\"Frame\"},"
			 "{\"ph\":\"X\",\"ts\":8,\"dur\":5,\"name\":\"Frame\"}]");
	assert_int_equal(import_run(w->captures, IMPORT_AUTO, &order, &result, &id), 0);
	close(order.fd);
	capture_deinit(&result.capture);
	check_import(w, id);
	assert_int_equal(files_in(w->directory), 1);
	world_close(w);
	ask(w->f.state_db, "DELETE FROM captures");
	world_open(w);
	check_import(w, id);
}

/* The descriptor is none: it is not looked at. */
static void an_import_without_room_reads_nothing(void **state)
{
	struct world *w = *state;
	const struct import_order order = {.fd = -1, .uid = 1001};
	struct import_result result = {0};
	uint64_t id = 0;

	add_rich(w, 5);
	save(w, 1, 5);
	captures_free(w->captures);
	w->f.config.captures_mib = 0;
	assert_int_equal(captures_new(&w->f.config, w->f.store, &w->captures), 0);
	assert_int_equal(import_run(w->captures, IMPORT_CHROME, &order, &result, &id), -EDQUOT);
	capture_deinit(&result.capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_range_reads_as_in_the_history, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_nobody_heard_stay_so, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upload_reads_as_what_was_saved, setup, teardown),
		cmocka_unit_test_setup_teardown(a_save_in_the_middle_of_recording_stands, setup,
						teardown),
		cmocka_unit_test_setup_teardown(one_frame_and_none_are_enough, setup, teardown),
		cmocka_unit_test_setup_teardown(many_markers_come_along, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_there_is_not_saved, setup, teardown),
		cmocka_unit_test_setup_teardown(captures_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(names_and_notes_travel, setup, teardown),
		cmocka_unit_test_setup_teardown(captures_outlive_the_daemon_and_its_list, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_there_is_listed_again_without_room, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_new_name_leaves_the_rest_of_the_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_reader_of_what_was_deleted_is_closed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_file_that_lacks_a_table_is_an_io_error, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_import_is_a_file_of_its_own_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_import_without_room_reads_nothing, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
