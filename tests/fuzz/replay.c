/* SPDX-License-Identifier: MIT */
/*
 * In the place of libFuzzer where inputs are only gone through again: gives each file of the
 * command line to the fuzzer that it is linked with, in a buffer as long as the file. Says which
 * before it does; one that takes more than SECONDS of the processor's time ends it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>

#define SECONDS 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void die(const char *path)
{
	perror(path);
	exit(1);
}

static uint8_t *read_input(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	uint8_t *data;

	if (!f || fstat(fileno(f), &st) < 0)
		die(path);
	*size = (size_t)st.st_size;
	data = malloc(*size);
	if (!data || fread(data, 1, *size, f) != *size)
		die(path);
	fclose(f);
	return data;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		struct itimerval most = {.it_value = {.tv_sec = SECONDS}};
		size_t size;
		uint8_t *data = read_input(argv[i], &size);

		fprintf(stderr, "%s\n", argv[i]);
		if (setitimer(ITIMER_PROF, &most, NULL) < 0)
			die("setitimer");
		LLVMFuzzerTestOneInput(data, size);
		free(data);
	}
	return 0;
}
