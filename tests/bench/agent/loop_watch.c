/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop_watch.c - what the event loop of a process does between two waits, and how often it syncs files.
 *
 * As a shared object in LD_PRELOAD: notes each time from the return of epoll_wait() to the next one of the main thread,
 * and each fsync() and fdatasync(), in the file $LOOP_WATCH. As a program (-DCONTROL):
 *	loop_watch FILE reset	counts from now on
 *	loop_watch FILE		prints "stops N p50 N p99 N most N over_1ms N syncs N sync_most N", times in microseconds */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define STOPS_MAX (1 << 20)

struct words {
	uint32_t n_stops, n_syncs, most_sync_us;
	uint32_t stops_us[STOPS_MAX];
};

static struct words *map_words(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct words)) < 0)
		return NULL;
	p = mmap(NULL, sizeof(struct words), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

#ifdef CONTROL
static int compare_times(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct words *w = map_words(argc > 1 ? argv[1] : NULL);
	uint32_t n, *stops, over = 0;

	if (!w)
		return 2;
	if (argc > 2 && !strcmp(argv[2], "reset")) {
		w->n_stops = w->n_syncs = w->most_sync_us = 0;
		return 0;
	}
	n = w->n_stops;
	stops = malloc((n + 1) * sizeof(*stops));
	if (!n || !stops)
		return 1;
	memcpy(stops, w->stops_us, n * sizeof(*stops));
	qsort(stops, n, sizeof(*stops), compare_times);
	for (uint32_t i = 0; i < n; i++)
		over += stops[i] > 1000;
	printf("stops %u p50 %u p99 %u most %u over_1ms %u syncs %u sync_most %u\n", n,
	       stops[n / 2], stops[(uint64_t)n * 99 / 100], stops[n - 1], over, w->n_syncs,
	       w->most_sync_us);
	return 0;
}
#else
#include <dlfcn.h>
#include <sys/epoll.h>

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static struct words *words;
static int64_t since_ns; /* when the last wait of the main thread returned */

__attribute__((constructor)) static void open_words(void)
{
	words = map_words(getenv("LOOP_WATCH"));
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	static __typeof__(&epoll_wait) real;
	bool is_main = getpid() == gettid();
	int r;

	if (!real)
		real = REAL(epoll_wait);
	if (words && is_main && since_ns && words->n_stops < STOPS_MAX)
		words->stops_us[words->n_stops++] = (uint32_t)((now_ns() - since_ns) / 1000);
	r = real(fd, events, max, timeout);
	if (is_main)
		since_ns = now_ns();
	return r;
}

static void note_sync(int64_t from_ns)
{
	uint32_t us = (uint32_t)((now_ns() - from_ns) / 1000);

	if (!words)
		return;
	words->n_syncs++;
	if (us > words->most_sync_us)
		words->most_sync_us = us;
}

int fsync(int fd)
{
	int64_t from_ns = now_ns();
	int r = REAL(fsync)(fd);

	note_sync(from_ns);
	return r;
}

int fdatasync(int fd)
{
	int64_t from_ns = now_ns();
	int r = REAL(fdatasync)(fd);

	note_sync(from_ns);
	return r;
}
#endif
