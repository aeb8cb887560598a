// SPDX-License-Identifier: MIT
/*
 * dlclose PLUGIN ROUNDS: loads, uses and unloads a plugin again and again. Its markers are the
 * same ones each time; a zone that it left open ends after it is gone; threads that used it end
 * after it is gone.
 */
#include <fprof.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef fprof_scope (*work_fn)(int keep_open);

struct user {
	work_fn work;
	pthread_barrier_t used, go;
};

static void *use(void *arg)
{
	struct user *user = arg;

	user->work(0);
	pthread_barrier_wait(&user->used);
	pthread_barrier_wait(&user->go);
	return NULL;
}

static int round_of(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct user user;
	fprof_scope scope;
	pthread_t thread;

	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&user.work = dlsym(plugin, "plugin_work");
	pthread_barrier_init(&user.used, NULL, 2);
	pthread_barrier_init(&user.go, NULL, 2);
	if (!user.work || pthread_create(&thread, NULL, use, &user))
		return 1;
	scope = user.work(1);
	pthread_barrier_wait(&user.used);
	dlclose(plugin);
	pthread_barrier_wait(&user.go);
	pthread_join(thread, NULL);
	fprof_zone_end(scope);
	fprof_frame_mark();
	return 0;
}

int main(int argc, char **argv)
{
	int i, rounds = argc > 2 ? atoi(argv[2]) : 1;

	if (argc < 2)
		return 2;
	for (i = 0; i < rounds; i++)
		if (round_of(argv[1]))
			return 1;
	printf("frames %llu\n", (unsigned long long)fprof_frame_number() - 1);
	return 0;
}
