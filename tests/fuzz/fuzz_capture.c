/* SPDX-License-Identifier: MIT */
/*
 * A .fprof file that a stranger sends, from its first byte to what readers answer of it. The input
 * is either a file, or SQL (after "SQL:") that is run on a sound one before it is sealed again, so
 * that the fuzzer comes past the checksums.
 */
#include "daemon/captures.h"

#include "daemon/capture_check.h"
#include "daemon/capture_file.h"
#include "daemon/capture_sum.h"
#include "daemon/log.h"
#include "daemon/range.h"
#include "daemon/sql.h"
#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MARK	   "SQL:"
#define STEPS_MAX  200
#define ZONES_MAX  10000
#define FRAMES_MAX 20

static struct {
	char dir[128], path[256];
	struct config config;
	struct store *store;
	struct captures *captures;
	uint8_t *sound; /* the bytes of a capture */
	size_t sound_bytes;
} world;

static void must(bool ok)
{
	if (!ok)
		abort();
}

static char *text(const char *s)
{
	char *copy = strdup(s);

	must(copy != NULL);
	return copy;
}

/* A session of one frame with a chunk, as a batch. */
static void add_session(struct batch *b)
{
	static const uint8_t raw[] = {1, 2, 0, 3, 2, 0, 4 << 2 | 0, 0, 10, 17, 0};
	uint8_t *data = malloc(sizeof(raw));

	must(data != NULL);
	memcpy(data, raw, sizeof(raw));
	must(VEC_PUSH(&b->sessions, ((struct session_row){.id = 1,
							  .clock_kind = 1,
							  .clock_hz = 1e9,
							  .clock_mult = 1,
							  .name = text("game")})) == 0);
	must(VEC_PUSH(&b->markers,
		      ((struct marker_row){.session = 1, .marker = 1, .name = text("zone")})) == 0);
	must(VEC_PUSH(&b->tracks, ((struct track_row){.session = 1,
						      .track = 1,
						      .name = text("main"),
						      .end_ticks = INT64_MAX})) == 0);
	must(VEC_PUSH(&b->streams,
		      ((struct stream_row){.session = 1, .name = text("main"), .track = 1})) == 0);
	must(VEC_PUSH(&b->chunks, ((struct chunk_row){.session = 1,
						      .track = 1,
						      .t1 = 10,
						      .events = 2,
						      .data = data,
						      .bytes = sizeof(raw)})) == 0);
	must(VEC_PUSH(&b->frames, ((struct frame_row){.session = 1,
						      .frame = 1,
						      .engine_id = -1,
						      .t1 = 20,
						      .end_ns = 20,
						      .track = 1})) == 0);
}

static void read_sound(const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;

	must(f && fstat(fileno(f), &st) == 0);
	world.sound_bytes = (size_t)st.st_size;
	world.sound = malloc(world.sound_bytes);
	must(world.sound && fread(world.sound, 1, world.sound_bytes, f) == world.sound_bytes);
	fclose(f);
}

static void make_sound(void)
{
	struct capture_file *file;
	struct batch *b = batch_new();
	char path[256];

	must(b != NULL);
	add_session(b);
	must(capture_file_new(world.dir, &file) == 0);
	must(capture_file_write(file, b) == 0);
	must(capture_file_finish(file, "sound.fprof") == 0);
	capture_file_free(file);
	batch_free(b);
	snprintf(path, sizeof(path), "%s/sound.fprof", world.dir);
	read_sound(path);
}

static void begin(void)
{
	log_set_level(LOG_LEVEL_ERROR);
	make_directory(world.dir, sizeof(world.dir));
	snprintf(world.path, sizeof(world.path), "%s/strange.fprof", world.dir);
	world.config.history_dir = world.config.state_dir = world.dir;
	world.config.history_frames = 600;
	world.config.history_mib = world.config.history_session_mib = 8;
	world.config.captures_mib = 64;
	must(store_new(&world.config, NULL, NULL, &world.store) == 0);
	must(captures_new(&world.config, world.store, &world.captures) == 0);
	make_sound();
}

static void write_file(const uint8_t *data, size_t size)
{
	FILE *f = fopen(world.path, "we");

	must(f && fwrite(data, 1, size, f) == size);
	must(fclose(f) == 0);
}

static int on_step(void *left)
{
	return --*(int *)left < 0;
}

/* What SQL makes of the sound file; it may do anything that SQLite lets it do to one file. */
static void write_changed(const uint8_t *data, size_t size)
{
	char *sql = malloc(size + 1);
	int left = STEPS_MAX;
	sqlite3 *db;

	must(sql != NULL);
	memcpy(sql, data, size);
	sql[size] = '\0';
	write_file(world.sound, world.sound_bytes);
	must(sqlite3_open(world.path, &db) == SQLITE_OK);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
	sqlite3_progress_handler(db, 1000, on_step, &left);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	left = STEPS_MAX;
	capture_sum_write(db);
	sqlite3_close(db);
	free(sql);
}

static int on_zone(void *userdata, const struct range_zone *zone)
{
	uint64_t *count = userdata;

	must(zone->end >= zone->begin);
	return ++*count > ZONES_MAX ? -E2BIG : 0;
}

static void read_range(struct history *h, uint64_t id)
{
	struct range_query query = {.last = FRAMES_MAX};
	uint64_t count = 0;
	const struct range_visitor visitor = {.userdata = &count, .end = on_zone};
	struct range range;

	if (range_open(h, id, &query, &range) < 0)
		return;
	range_visit(h, &range, &visitor);
	range_close(&range);
}

static void read_capture(uint64_t id)
{
	struct history_frame_detail detail;
	struct history_session s = {0};
	struct history_frames frames;
	struct history *h;
	size_t i;

	must(captures_open(world.captures, id, HISTORY_ANY_UID, &h) == 0);
	must(history_session(h, id, HISTORY_ANY_UID, &s) == 0);
	history_session_deinit(&s);
	if (history_frames_last(h, id, NULL, FRAMES_MAX, &frames) == 0) {
		for (i = 0; i < frames.frames.count; i++)
			if (history_frame_detail(h, id, NULL, frames.frames.at[i].row.frame,
						 ZONES_MAX, &detail) == 0)
				history_frame_detail_deinit(&detail);
		history_frames_deinit(&frames);
	}
	if (history_frame_detail(h, id, NULL, HISTORY_TAIL, ZONES_MAX, &detail) == 0)
		history_frame_detail_deinit(&detail);
	read_range(h, id);
	history_close(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[CAPTURE_WHY];
	uint64_t id;
	int fd, r;

	if (!world.store)
		begin();
	if (size >= strlen(MARK) && memcmp(data, MARK, strlen(MARK)) == 0)
		write_changed(data + strlen(MARK), size - strlen(MARK));
	else
		write_file(data, size);
	fd = open(world.path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0);
	r = captures_upload(world.captures, fd, NULL, 1000, &id, why);
	close(fd);
	if (r == -EBADMSG || r == -ENOTSUP)
		must(why[0] != '\0');
	if (r == 0) {
		read_capture(id);
		must(captures_delete(world.captures, id) == 0);
	}
	return 0;
}
