// SPDX-License-Identifier: MIT
/* opened LIBRARY: a language binding opens libfprof, records by function pointers, and closes it.
 */
#include "fprof.h"

#include <dlfcn.h>
#include <stdio.h>

typedef void (*plain_fn)(void);
typedef uint64_t (*number_fn)(void);

int main(int argc, char **argv)
{
	uint64_t want = 1;
	int i;

	if (argc < 2)
		return 2;
	for (i = 0; i < 3; i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		plain_fn mark;
		number_fn number;

		if (!library) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		*(void **)&mark = dlsym(library, "fprof_frame_mark");
		*(void **)&number = dlsym(library, "fprof_frame_number");
		if (!mark || !number || number() != want)
			return 1;
		mark();
		want++;
		dlclose(library);
	}
	return 0;
}
