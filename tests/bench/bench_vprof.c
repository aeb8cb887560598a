/* SPDX-License-Identifier: MIT */
/*
 * bench_vprof DIRECTORY [RUNS]: a recording of VProf with 1,000 nodes and 200 MB, imported into a
 * capture file in DIRECTORY (read, stored, checksummed, synced) and exported from it again. MB are
 * 10^6 bytes of the recording; by wall clock, and by the CPU time of the importing thread, which a
 * busy machine does not change.
 */
#include "daemon/export.h"
#include "daemon/history.h"
#include "daemon/import.h"
#include "daemon/vprof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NODES	 1000
#define VARIANTS 64
#define BYTES	 200000000u

struct buffer {
	uint8_t bytes[1 << 16];
	size_t count;
};

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % below);
}

static void put(void *userdata, const void *bytes, size_t count)
{
	struct buffer *b = userdata;

	if (b->count + count > sizeof(b->bytes))
		abort();
	memcpy(b->bytes + b->count, bytes, count);
	b->count += count;
}

static void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static void flush(int fd, const struct buffer *b)
{
	if (write(fd, b->bytes, b->count) != (ssize_t)b->count)
		give_up("write");
}

/* Most nodes are called a few times for some us; few for long, and few often. */
static void make_timings(struct buffer *b)
{
	const struct vprof_out out = {put, b};
	int i;

	vprof_write_timings(&out);
	for (i = 0; i <= NODES; i++)
		vprof_write_timing(&out, draw(100) ? draw(8) : draw(2000),
				   draw(1000) ? draw(3000) : draw(200000));
	vprof_write_frame_end(&out);
}

static int make_recording(void)
{
	static struct buffer variants[VARIANTS], b;
	const struct vprof_out out = {put, &b};
	int fd = memfd_create("recording", MFD_CLOEXEC), i;
	uint64_t bytes = 0;

	if (fd < 0)
		give_up("memfd_create");
	for (i = 0; i < VARIANTS; i++)
		make_timings(&variants[i]);
	vprof_write_header(&out, 0);
	for (i = 1; bytes < BYTES; i++) {
		vprof_write_frame(&out, i);
		for (int node = 1; i == 1 && node <= NODES; node++) {
			char name[32];

			snprintf(name, sizeof(name), "node %d", node);
			vprof_write_node(&out, node / 3, name, draw(VPROF_GROUPS_KNOWN), node);
		}
		flush(fd, &b);
		flush(fd, &variants[i % VARIANTS]);
		bytes += b.count + variants[i % VARIANTS].count;
		b.count = 0;
	}
	return fd;
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct watch {
	double wall, cpu;
};

static struct watch watch_now(void)
{
	return (struct watch){seconds(CLOCK_MONOTONIC), seconds(CLOCK_THREAD_CPUTIME_ID)};
}

static void report(const char *what, const struct watch *from, double bytes)
{
	struct watch now = watch_now();

	printf("%s: %.0f MB/s by wall clock, %.0f MB/s by CPU time\n", what,
	       bytes / 1e6 / (now.wall - from->wall), bytes / 1e6 / (now.cpu - from->cpu));
}

static void measure_reading(int fd, double bytes)
{
	uint8_t *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	struct watch from = watch_now();
	struct vprof_reader r;
	struct vprof_frame f;

	if (data == MAP_FAILED || vprof_reader_init(&r, data, (size_t)bytes, VPROF_SHORT_LONG) < 0)
		give_up("read");
	while (vprof_reader_next(&r, &f) == 1)
		;
	report("read alone", &from, bytes);
	vprof_reader_deinit(&r);
	munmap(data, (size_t)bytes);
}

static void measure_export(const char *path, double bytes)
{
	struct range_query query = {.from = 1, .to = UINT32_MAX};
	struct export_report lost;
	struct export_order order = {0};
	struct history *history;
	struct range range;
	struct watch from;
	int fd = memfd_create("export", MFD_CLOEXEC);

	if (history_open_file(path, &history) < 0 ||
	    range_open(history, IMPORT_SESSION, &query, &range) < 0)
		give_up("open the capture");
	order.history = history;
	order.range = &range;
	from = watch_now();
	if (export_run(EXPORT_VPROF, &order, fd, &lost) < 0)
		give_up("export");
	report("export", &from, bytes);
	close(fd);
	range_close(&range);
	history_close(history);
}

int main(int argc, char **argv)
{
	int runs = argc > 2 ? atoi(argv[2]) : 3, fd = make_recording(), i;
	double bytes = (double)lseek(fd, 0, SEEK_END);
	char path[512];

	if (argc < 2)
		return 2;
	for (i = 0; i < runs; i++) {
		struct import_order order = {.fd = fd, .directory = argv[1], .name = "bench"};
		struct import_result result = {0};
		struct watch from;

		measure_reading(fd, bytes);
		from = watch_now();
		if (import_vprof(&order, &result) < 0)
			give_up("import");
		report("import", &from, bytes);
		snprintf(path, sizeof(path), "%s/%s", argv[1], result.capture.file);
		measure_export(path, bytes);
		unlink(path);
		capture_deinit(&result.capture);
	}
	return 0;
}
