/* SPDX-License-Identifier: GPL-2.0-or-later */
/* truth.c - the job of the campaign: records outside of Reeve for how long it runs.
 *
 * usage: truth DIRECTORY SECONDS [STATUS]
 * DIRECTORY/JOB.ATTEMPT.PID has five numbers of eight bytes: CLOCK_BOOTTIME in nanoseconds at the start, when it was last alive (each
 * 10 ms), 1 when it ended by itself, for how long it was frozen, and CLOCK_REALTIME at the start. A kill leaves the others as they were.
 * It runs for SECONDS, frozen time not counted.
 *
 * Frozen is what passed between two looks at the clock, less what the process waited for a processor meanwhile (schedstat): a frozen
 * process is not runnable.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 10000000LL
#define FROZEN_LEAST_NS 100000000LL

enum word { BEGUN, ALIVE, IS_WHOLE, FROZEN, BEGUN_REALTIME, N_WORDS };

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* For how long this process was runnable and did not run. */
static int64_t waited_ns(int fd)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	long long waited;

	text[n < 0 ? 0 : n] = '\0';
	if (sscanf(text, "%*s %lld", &waited) != 1)
		exit(96);
	return waited;
}

static void run_for(volatile int64_t *kept, int64_t ns)
{
	int stat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	int64_t waited = waited_ns(stat);

	while (kept[ALIVE] - kept[BEGUN] - kept[FROZEN] < ns) {
		int64_t now, waits, gap;

		usleep(LOOK_NS / 1000);
		now = now_ns(CLOCK_BOOTTIME);
		waits = waited_ns(stat);
		gap = now - kept[ALIVE] - (waits - waited) - LOOK_NS;
		if (gap > FROZEN_LEAST_NS)
			kept[FROZEN] += gap;
		kept[ALIVE] = now;
		waited = waits;
	}
}

int main(int argc, char **argv)
{
	const char *job = getenv("REEVE_JOB"), *attempt = getenv("REEVE_ATTEMPT");
	int64_t begun = now_ns(CLOCK_BOOTTIME);
	volatile int64_t *kept;
	char path[512];
	int fd;

	if (argc < 3 || !job || !attempt)
		return 99;
	snprintf(path, sizeof(path), "%s/%s.%s.%d", argv[1], job, attempt, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, N_WORDS * sizeof(*kept)) < 0)
		return 98;
	kept = mmap(NULL, N_WORDS * sizeof(*kept), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (kept == MAP_FAILED)
		return 97;
	kept[BEGUN_REALTIME] = now_ns(CLOCK_REALTIME);
	kept[ALIVE] = begun;
	kept[BEGUN] = begun;
	run_for(kept, (int64_t)(atof(argv[2]) * 1e9));
	kept[IS_WHOLE] = 1;
	return argc > 3 ? atoi(argv[3]) : 0;
}
