/* SPDX-License-Identifier: GPL-2.0-or-later */
/* truth.c - the job of the campaign: records outside of Reeve for how long it runs.
 *
 * usage: truth DIRECTORY SECONDS [STATUS]
 * DIRECTORY/JOB.ATTEMPT.PID has three numbers of eight bytes: CLOCK_BOOTTIME in nanoseconds at the start, when it was last alive (each
 * 10 ms), and 1 when it ended by itself. A kill leaves the second as it was.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *job = getenv("REEVE_JOB"), *attempt = getenv("REEVE_ATTEMPT");
	int64_t begun = now_ns(), until;
	volatile int64_t *kept;
	char path[512];
	int fd;

	if (argc < 3 || !job || !attempt)
		return 99;
	snprintf(path, sizeof(path), "%s/%s.%s.%d", argv[1], job, attempt, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || ftruncate(fd, 3 * sizeof(*kept)) < 0)
		return 98;
	kept = mmap(NULL, 3 * sizeof(*kept), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (kept == MAP_FAILED)
		return 97;
	until = begun + (int64_t)(atof(argv[2]) * 1e9);
	kept[0] = begun;
	while ((kept[1] = now_ns()) < until)
		usleep(10000);
	kept[2] = 1;
	return argc > 3 ? atoi(argv[3]) : 0;
}
