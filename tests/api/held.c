/* SPDX-License-Identifier: MIT */
/*
 * A game whose frames are held by what is asked for: held MODE FRAMES MS. Each frame computes for a
 * moment and then, for MS (33.3 is fine): cpu computes; copy copies memory; sleep sleeps, unmarked;
 * poll waits for what never comes, nap for nothing at all, timed for a condition and
 * timer for a timerfd; mapped changes its map of memory while another thread fills some; lock waits
 * for a mutex that the thread "holder" has; disk syncs a file; cold reads a page that is on the
 * disk only; fault waits for a page that a thread hands out late; read waits for a pipe; move
 * computes on another CPU than in the frame before; ioctl asks a GPU's device; starve computes
 * beside a busy loop of the same CPU, crowd beside such threads of its own; gpu has a GPU span of
 * the whole frame while it computes, idle one while it sleeps in the limiter. cap and present wait
 * in such a zone until MS after the frame before, worked and shown compute for a quarter of it
 * first, once does and, each 50th frame, sleeps unmarked for 20 MS, spun waits without sleeping.
 * swap hands a byte to and fro between two threads, MS thousand times, once a line on stdin says
 * so. chain waits for the thread "A", which waits for "B", which computes; beside has "B" compute
 * while it computes itself, half as long, and then waits for it; spawn makes a thread that
 * computes, after so many others that no table of threads holds them all. even and paid compute for
 * 0.6 to 0.95 of MS, which changes; then even sleeps in the limiter until MS after the frame
 * before, paid for a tenth of it whatever it computed. legacy reads a timerfd and polls one, by
 * calls of the 32-bit table; fleeting polls timerfds, each another and closed at once; peer polls a
 * socket; event waits for an eventfd; stop has another process stop it.
 */
#include <fprof.h>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY_THREADS 5000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile unsigned sink;
static double ms, next_end;

static double seconds(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Of this thread's own time: being preempted makes it longer. */
static void compute(double wanted_ms)
{
	double end = seconds(CLOCK_THREAD_CPUTIME_ID) + wanted_ms / 1e3;

	while (seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		sink++;
}

static void sleep_ms(double n)
{
	struct timespec t = {(time_t)(n / 1000),
			     (long)((n - (double)(time_t)(n / 1000) * 1000) * 1e6)};

	nanosleep(&t, NULL);
}

/* Takes the mutex, lets the frame begin to wait, and gives it back after MS. */
static void *hold(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("holder");
	for (i = 0; i < n; i++) {
		{
			FPROF_ZONE("guarded");
			pthread_mutex_lock(&mutex);
			pthread_barrier_wait(&held);
			sleep_ms(ms);
			pthread_mutex_unlock(&mutex);
		}
		pthread_barrier_wait(&held);
	}
	return NULL;
}

static void wait_for_lock(void)
{
	pthread_barrier_wait(&held);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	pthread_barrier_wait(&held);
}

/* What chain (and read) is made of: who may go on, and who is done. */
static sem_t a_may, a_done, b_may, b_done;

static void *compute_b(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("B");
	for (i = 0; i < n; i++) {
		sem_wait(&b_may);
		{
			FPROF_ZONE("X");
			compute(ms);
		}
		sem_post(&b_done);
	}
	return NULL;
}

static void *wait_for_b(void *frames)
{
	int i, n = *(int *)frames;

	fprof_thread_name("A");
	for (i = 0; i < n; i++) {
		sem_wait(&a_may);
		FPROF_ZONE("prepare");
		compute(ms / 10.0);
		sem_post(&b_may);
		{
			FPROF_ZONE("wait for B");
			sem_wait(&b_done);
		}
		{
			FPROF_ZONE("finish");
			compute(ms / 5.0);
		}
		sem_post(&a_done);
	}
	return NULL;
}

static void *compute_once(void *unused)
{
	(void)unused;
	fprof_thread_name("spawned");
	FPROF_ZONE("spawned");
	compute(ms);
	return NULL;
}

static void *nothing(void *unused)
{
	return unused;
}

static void spawn(void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_join(thread, NULL);
}

static void wait_for_a(void)
{
	FPROF_ZONE("wait for A");
	sem_post(&a_may);
	sem_wait(&a_done);
}

static void work_beside_b(void)
{
	sem_post(&b_may);
	{
		FPROF_ZONE("own");
		compute(ms / 2.0);
	}
	FPROF_ZONE("wait for B");
	sem_wait(&b_done);
}

static void sync_disk(void)
{
	static char block[256 * 1024];
	int fd = open("held.data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	double end = seconds(CLOCK_MONOTONIC) + ms / 1e3;

	do {
		if (write(fd, block, sizeof(block)) < 0)
			break;
		fsync(fd);
	} while (seconds(CLOCK_MONOTONIC) < end);
	close(fd);
	unlink("held.data");
}

/* A frame takes MS, by a clock that runs on: what was late is not made up for. */
static void sleep_to_end(void)
{
	double now = seconds(CLOCK_MONOTONIC);

	next_end = next_end + ms / 1e3 > now ? next_end + ms / 1e3 : now;
	sleep_ms((next_end - now) * 1e3);
}

static void spin_to_end(void)
{
	double now = seconds(CLOCK_MONOTONIC);

	next_end = next_end + ms / 1e3 > now ? next_end + ms / 1e3 : now;
	while (seconds(CLOCK_MONOTONIC) < next_end)
		sink++;
}

static void copy_memory(void)
{
	static char from[1 << 20], to[1 << 20];
	double end = seconds(CLOCK_THREAD_CPUTIME_ID) + ms / 1e3;

	while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
		from[sink++ % sizeof(from)]++;
		memcpy(to, from, sizeof(to));
	}
}

/* The device decides how long it takes: gpu_device.c. */
static void ask_gpu(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/dri/card0", O_RDWR);
	if (ioctl(fd, _IO('d', 0x41)) < 0)
		exit(3);
}

static int pipe_ends[2];

/* What is a number to an eventfd is eight bytes to a pipe. */
static void *write_late(void *frames)
{
	const uint64_t one = 1;
	int i, n = *(int *)frames;

	for (i = 0; i < n; i++) {
		sem_wait(&a_may);
		sleep_ms(ms);
		if (write(pipe_ends[1], &one, sizeof(one)) != sizeof(one))
			return NULL;
	}
	return NULL;
}

static void read_late(void)
{
	uint64_t number;

	sem_post(&a_may);
	if (read(pipe_ends[0], &number, sizeof(number)) != sizeof(number))
		exit(3);
}

static char *late_pages;
static long page_bytes;
static int uffd = -1;

static void *hand_out_late(void *unused)
{
	static char page[1 << 16];
	struct uffd_msg message;

	while (read(uffd, &message, sizeof(message)) == (ssize_t)sizeof(message)) {
		struct uffdio_copy copy = {.dst = message.arg.pagefault.address &
						  ~(uint64_t)(page_bytes - 1),
					   .src = (uintptr_t)page,
					   .len = (uint64_t)page_bytes};

		sleep_ms(ms);
		ioctl(uffd, UFFDIO_COPY, &copy);
	}
	return unused;
}

/* Exits with 77 where the kernel does not permit it. */
static void make_late_pages(int frames)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	size_t bytes = (size_t)(page_bytes * (frames + 1));
	pthread_t thread;

	late_pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)late_pages;
	range.range.len = bytes;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) < 0 ||
	    ioctl(uffd, UFFDIO_REGISTER, &range) < 0) {
		perror("userfaultfd");
		exit(77);
	}
	pthread_create(&thread, NULL, hand_out_late, NULL);
	pthread_detach(thread);
}

/* Two pipes into which nobody writes. */
static void poll_pipes(void)
{
	static struct pollfd ends[2];
	int pipes[2][2], i;

	for (i = 0; i < 2 && !ends[i].events; i++)
		if (pipe(pipes[i]) == 0)
			ends[i] = (struct pollfd){.fd = pipes[i][0], .events = POLLIN};
	poll(ends, 2, (int)ms);
}

/* For a condition that never comes: a futex whose wait a timer ends. */
static void wait_in_vain(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += (long)(ms * 1e6);
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	while (pthread_cond_timedwait(&never, &mutex, &end) == 0)
		;
	pthread_mutex_unlock(&mutex);
}

static void read_timer(void)
{
	static int timer = -1;
	const struct itimerspec once = {.it_value = {.tv_nsec = (long)(ms * 1e6)}};
	uint64_t expired;

	if (timer < 0)
		timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	timerfd_settime(timer, 0, &once, NULL);
	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		exit(3);
}

/* Whoever looks the descriptor up later finds none. */
static void poll_fleeting(void)
{
	const struct itimerspec once = {.it_value = {.tv_nsec = (long)(ms * 2e5)}};
	struct pollfd one = {.events = POLLIN};
	static int polled;
	int i, timer;

	for (i = 0; i < 5; i++) {
		timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		one.fd = fcntl(timer, F_DUPFD_CLOEXEC, 100 + polled++ % 800);
		close(timer);
		timerfd_settime(one.fd, 0, &once, NULL);
		if (poll(&one, 1, -1) != 1)
			exit(3);
		close(one.fd);
	}
}

/* Nobody says anything. */
static void poll_peer(void)
{
	static int ends[2];
	struct pollfd one = {.events = POLLIN};

	if (!ends[1] && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		exit(3);
	one.fd = ends[0];
	poll(&one, 1, (int)ms);
}

static void cannot(int signal)
{
	(void)signal;
	_exit(77);
}

/* Where the kernel has no such calls, they end in a fault. */
static long call32(long number, long a, long b, long c)
{
#ifdef __x86_64__
	long answer;

	__asm__ volatile("int $0x80"
			 : "=a"(answer)
			 : "a"(number), "b"(a), "c"(b), "d"(c)
			 : "r8", "r9", "r10", "r11", "memory");
	return answer;
#else
	_exit(77);
#endif
}

/* Half a frame each; what they are told of lies where 32 bits reach. */
static void call_as_32_bits(void)
{
	static struct {
		uint64_t expired;
		struct pollfd poll;
	} * low;
	const struct itimerspec once = {.it_value = {.tv_nsec = (long)(ms * 5e5)}};

	if (!low) {
		signal(SIGSEGV, cannot);
		low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (low == MAP_FAILED)
			exit(3);
		low->poll.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		low->poll.events = POLLIN;
	}
	timerfd_settime(low->poll.fd, 0, &once, NULL);
	if (call32(3, low->poll.fd, (long)&low->expired, 8) != 8)
		exit(3);
	timerfd_settime(low->poll.fd, 0, &once, NULL);
	if (call32(168, (long)&low->poll, 1, -1) != 1)
		exit(3);
}

/* Fills memory, and has the process's map of it to itself meanwhile. */
static void *fill_memory(void *userdata)
{
	const size_t bytes = 16 << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(memory, bytes, MADV_NOHUGEPAGE);
	sem_post(userdata);
	madvise(memory, bytes, MADV_POPULATE_WRITE);
	munmap(memory, bytes);
	sem_post(userdata);
	return NULL;
}

/* Changes the map while another thread fills memory. */
static void map_beside(void)
{
	static char *page;
	pthread_t thread;
	sem_t told;
	int i;

	if (!page)
		page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sem_init(&told, 0, 0);
	pthread_create(&thread, NULL, fill_memory, &told);
	sem_wait(&told);
	for (i = 0; sem_trywait(&told) < 0; i++) {
		mprotect(page, 4096, i % 2 ? PROT_READ : PROT_READ | PROT_WRITE);
		compute(0.05);
	}
	pthread_join(thread, NULL);
}

/* A page of a file that memory has not: it is thrown out first. */
static void read_cold(void)
{
	static char *file;
	static int fd = -1;
	const size_t bytes = 64 * 4096;
	double end = seconds(CLOCK_MONOTONIC) + ms / 1e3;
	size_t i;

	if (fd < 0) {
		fd = open("held.cold", O_RDWR | O_CREAT | O_TRUNC, 0600);
		unlink("held.cold");
		for (i = 0; i < bytes / 4096; i++)
			if (write(fd, (char[4096]){1}, 4096) != 4096)
				exit(3);
		fsync(fd);
	}
	do {
		file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
		madvise(file, bytes, MADV_RANDOM);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		for (i = 0; i < bytes; i += 4096)
			sink += (unsigned)file[i];
		munmap(file, bytes);
	} while (seconds(CLOCK_MONOTONIC) < end);
}

/* Each byte is answered. */
static void *answer(void *ends)
{
	const int *fds = ends;
	char byte;

	while (read(fds[0], &byte, 1) == 1 && write(fds[1], &byte, 1) == 1)
		;
	return NULL;
}

static void swap_bytes(void)
{
	static int to[2], fro[2], ends[2];
	pthread_t thread;
	char byte = 0;
	int i;

	if (!ends[0]) {
		if (pipe(to) < 0 || pipe(fro) < 0)
			exit(3);
		ends[0] = to[0];
		ends[1] = fro[1];
		pthread_create(&thread, NULL, answer, ends);
		pthread_detach(thread);
	}
	for (i = 0; i < (int)(ms * 1000); i++)
		if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1)
			exit(3);
}

/* Wakes now and then meanwhile: whoever listens to the scheduler can tell. */
static void wait_for_line(void)
{
	struct pollfd p = {0, POLLIN, 0};

	while (poll(&p, 1, 10) == 0)
		;
}

static void *spin_on(void *unused)
{
	for (;;)
		sink++;
	return unused;
}

/* Threads of our own on our only CPU. */
static void crowd(void)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&thread, NULL, spin_on, NULL);
}

static uint32_t queue;

/* The made GPU counts nanoseconds. */
static uint64_t gpu_clock(void)
{
	return (uint64_t)(seconds(CLOCK_MONOTONIC) * 1e9);
}

/* The GPU was busy since the frame began. */
static void tell_gpu(uint64_t begin, uint64_t submission)
{
	struct fprof_gpu_result result = {.name = "pass",
					  .queue = queue,
					  .begin = begin,
					  .end = gpu_clock(),
					  .frame = fprof_frame_number(),
					  .submission = submission};

	fprof_gpu_submit(queue, 0, submission, fprof_frame_number());
	fprof_gpu_span(&result);
}

static void pin(void)
{
	cpu_set_t set;
	int cpu = 0;

	sched_getaffinity(0, sizeof(set), &set);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* A process that computes beside us: as much CPU as we get, at least. */
static pid_t rival(void)
{
	pid_t pid;

	pin();
	pid = fork();
	if (pid == 0) {
		alarm(60);
		for (;;)
			sink++;
	}
	setpriority(PRIO_PROCESS, 0, 10);
	return pid;
}

/* A process that stops us for MS, whenever it is told to. */
static pid_t stopper(void)
{
	pid_t pid;
	char byte;

	if (pipe(pipe_ends) < 0)
		exit(3);
	pid = fork();
	if (pid != 0)
		return pid;
	alarm(60);
	while (read(pipe_ends[0], &byte, 1) == 1) {
		kill(getppid(), SIGSTOP);
		sleep_ms(ms);
		kill(getppid(), SIGCONT);
	}
	_exit(0);
}

static void be_stopped(void)
{
	double end = seconds(CLOCK_MONOTONIC) + ms / 1e3;

	if (write(pipe_ends[1], "", 1) != 1)
		exit(3);
	while (seconds(CLOCK_MONOTONIC) < end)
		sink++;
}

/* On to the second of two CPUs, or back to the first. */
static void move(void)
{
	static int cpus[2], count, moves;
	cpu_set_t all, one;
	int cpu;

	if (count == 0) {
		sched_getaffinity(0, sizeof(all), &all);
		for (cpu = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
			if (CPU_ISSET(cpu, &all))
				cpus[count++] = cpu;
	}
	CPU_ZERO(&one);
	CPU_SET(cpus[moves++ % count], &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void hold_frame(const char *mode)
{
	if (!strcmp(mode, "cpu") || !strcmp(mode, "starve") || !strcmp(mode, "gpu") ||
	    !strcmp(mode, "crowd")) {
		compute(ms);
	} else if (!strcmp(mode, "move")) {
		move();
		compute(ms);
	} else if (!strcmp(mode, "copy")) {
		copy_memory();
	} else if (!strcmp(mode, "swap")) {
		swap_bytes();
	} else if (!strcmp(mode, "ioctl")) {
		ask_gpu();
	} else if (!strcmp(mode, "poll")) {
		poll_pipes();
	} else if (!strcmp(mode, "nap")) {
		poll(NULL, 0, (int)ms);
	} else if (!strcmp(mode, "timed")) {
		wait_in_vain();
	} else if (!strcmp(mode, "timer")) {
		read_timer();
	} else if (!strcmp(mode, "fleeting")) {
		poll_fleeting();
	} else if (!strcmp(mode, "peer")) {
		poll_peer();
	} else if (!strcmp(mode, "stop")) {
		be_stopped();
	} else if (!strcmp(mode, "legacy")) {
		call_as_32_bits();
	} else if (!strcmp(mode, "mapped")) {
		map_beside();
	} else if (!strcmp(mode, "read") || !strcmp(mode, "event")) {
		read_late();
	} else if (!strcmp(mode, "fault")) {
		late_pages += page_bytes;
		*late_pages = 1;
	} else if (!strcmp(mode, "cold")) {
		read_cold();
	} else if (!strcmp(mode, "sleep")) {
		sleep_ms(ms);
	} else if (!strcmp(mode, "cap") || !strcmp(mode, "idle") || !strcmp(mode, "worked") ||
		   !strcmp(mode, "once")) {
		static int held_frames;

		compute(*mode == 'w' || *mode == 'o' ? ms / 4 : 0);
		if (*mode == 'o' && ++held_frames % 50 == 0)
			sleep_ms(20 * ms);
		FPROF_WAIT_CAP("cap");
		sleep_to_end();
	} else if (!strcmp(mode, "even") || !strcmp(mode, "paid")) {
		compute(ms * (0.6 + 0.35 * (rand() % 1000) / 1000));
		FPROF_WAIT_CAP("cap");
		if (*mode == 'e')
			sleep_to_end();
		else
			sleep_ms(ms / 10);
	} else if (!strcmp(mode, "spun")) {
		FPROF_WAIT_CAP("cap");
		spin_to_end();
	} else if (!strcmp(mode, "present") || !strcmp(mode, "shown")) {
		compute(*mode == 's' ? ms / 4 : 0);
		FPROF_WAIT_PRESENT("present");
		sleep_to_end();
	} else if (!strcmp(mode, "lock")) {
		wait_for_lock();
	} else if (!strcmp(mode, "chain")) {
		wait_for_a();
	} else if (!strcmp(mode, "beside")) {
		work_beside_b();
	} else if (!strcmp(mode, "spawn")) {
		spawn(compute_once);
	} else if (!strcmp(mode, "disk")) {
		sync_disk();
	}
}

/* How long this thread could run and did not: whoever judges its frames without the kernel's word
 * cannot know. */
static void tell_queued(void)
{
	FILE *file = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long ns = 0;

	if (file) {
		if (fscanf(file, "%*u %llu", &ns) != 1)
			ns = 0;
		fclose(file);
	}
	printf("queued %llu ns\n", ns);
}

int main(int argc, char **argv)
{
	int frames = argc > 2 ? atoi(argv[2]) : 0, i;
	bool lock, chain, beside, gpu;
	pthread_t holder, others[2];
	uint64_t begin;
	pid_t other = 0;

	if (argc != 4)
		return 2;
	ms = atof(argv[3]);
	page_bytes = sysconf(_SC_PAGESIZE);
	gpu = !strcmp(argv[1], "gpu") || !strcmp(argv[1], "idle");
	lock = !strcmp(argv[1], "lock");
	chain = !strcmp(argv[1], "chain");
	beside = !strcmp(argv[1], "beside");
	FPROF_INSTANT("begin");
	sleep_ms(getenv("HELD_MS") ? atof(getenv("HELD_MS")) : 1500); /* it is traced by then */
	for (i = 0; i < MANY_THREADS && !strcmp(argv[1], "spawn"); i++)
		spawn(nothing);
	fprof_frame_mark();
	if (lock) {
		pthread_barrier_init(&held, NULL, 2);
		pthread_create(&holder, NULL, hold, &frames);
	}
	sem_init(&a_may, 0, 0);
	sem_init(&a_done, 0, 0);
	if (!strcmp(argv[1], "read") || !strcmp(argv[1], "event")) {
		if (*argv[1] == 'e')
			pipe_ends[0] = pipe_ends[1] = eventfd(0, EFD_CLOEXEC);
		else if (pipe(pipe_ends) < 0)
			return 3;
		pthread_create(&holder, NULL, write_late, &frames);
		pthread_detach(holder);
	}
	if (!strcmp(argv[1], "fault"))
		make_late_pages(frames);
	if (gpu) {
		queue = fprof_gpu_queue("graphics", 1.0, 64);
		fprof_gpu_calibrate(queue, gpu_clock(), fprof_ticks());
	}
	sem_init(&b_may, 0, 0);
	sem_init(&b_done, 0, 0);
	if (chain)
		pthread_create(&others[0], NULL, wait_for_b, &frames);
	if (chain || beside)
		pthread_create(&others[1], NULL, compute_b, &frames);
	if (!strcmp(argv[1], "starve"))
		other = rival();
	if (!strcmp(argv[1], "stop"))
		other = stopper();
	if (!strcmp(argv[1], "crowd")) {
		pin();
		crowd();
	}
	if (!strcmp(argv[1], "swap"))
		wait_for_line();
	next_end = seconds(CLOCK_MONOTONIC);
	for (i = 0; i < frames; i++) {
		FPROF_ZONE("frame");
		begin = gpu_clock();
		compute(0.2);
		hold_frame(argv[1]);
		if (gpu)
			tell_gpu(begin, (uint64_t)i + 1);
		fprof_frame_mark();
	}
	if (lock)
		pthread_join(holder, NULL);
	if (chain)
		pthread_join(others[0], NULL);
	if (chain || beside)
		pthread_join(others[1], NULL);
	if (other > 0) {
		kill(other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	tell_queued();
	return 0;
}
