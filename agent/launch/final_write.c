/* SPDX-License-Identifier: GPL-2.0-or-later */
/* final_write.c - the record of how a job ended, with the last counters of its cgroup.
 *
 * systemd runs this after every end of the unit, inside the job's cgroup, also while the agent
 * is away; so neither exit status nor last usage of a job can be lost with the agent.
 * The format is read by agent/enforce/final.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"

static const char *const counters[] = { "cpu.stat",    "memory.peak",  "memory.events",
					"memory.stat", "pids.peak",    "pids.events",
					"io.stat",     "cgroup.events" };

/* Text of a small kernel file; "" when the kernel or its configuration has none. */
static void read_small(const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
}

/* Where the v2 hierarchy is: alone, or beside v1 on a hybrid host. */
static const char *cgroup_root(void)
{
	return access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/unified"
							   : "/sys/fs/cgroup";
}

/* The cgroup of the job: systemd runs this below it, in ".control". */
static int own_cgroup(char *buf, size_t size)
{
	char text[8192], *line, *rest = text, *control;

	read_small("/proc/self/cgroup", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, "0::/", 4)) {
			snprintf(buf, size, "%s%s", cgroup_root(), line + 3);
			control = strstr(buf, "/.control");
			if (control)
				*control = '\0';
			return 0;
		}
	return -ENOENT;
}

/* A file that this kernel does not have is left out of the record. */
static void write_counters(FILE *f, const char *cgroup)
{
	char path[4608], text[16384];

	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		snprintf(path, sizeof(path), "%s/%s", cgroup, counters[i]);
		read_small(path, text, sizeof(text));
		if (text[0])
			fprintf(f, "[%s]\n%s", counters[i], text);
	}
}

static void write_record(FILE *f, struct launch_final_place at, struct launch_final_cause c)
{
	char boot[64];

	read_small("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	fprintf(f, "reeve-final 1\njob %" PRId64 "\nattempt %" PRId64 "\nboot %s", at.job,
		at.attempt, boot);
	fprintf(f, "boottime_ns %" PRId64 "\nrealtime_ns %" PRId64 "\n",
		clock_ns(CLOCK_BOOTTIME), clock_ns(CLOCK_REALTIME));
	fprintf(f, "result %s\ncode %s\nstatus %s\n", c.result, c.code, c.status);
	if (c.failure && *c.failure)
		fprintf(f, "failure %.*s\n", (int)strcspn(c.failure, "\n"), c.failure);
	if (at.cgroup)
		write_counters(f, at.cgroup);
	fputs("[end]\n", f);
}

int final_write(struct launch_final_place at, struct launch_final_cause cause, struct err *err)
{
	char own[4400], path[4400], temp[4416];
	_cleanup_fclose_ FILE *f = NULL;
	int fd;

	if (!at.cgroup && own_cgroup(own, sizeof(own)) == 0)
		at.cgroup = own;
	snprintf(path, sizeof(path), "%s/%" PRId64 "-%" PRId64, at.dir, at.job, at.attempt);
	snprintf(temp, sizeof(temp), "%s.tmp", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", temp);
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		return err_set(err, -ENOMEM, "out of memory");
	}
	write_record(f, at, cause);
	if (fflush(f) || rename(temp, path) < 0)
		return err_set(err, -errno, "write %s: %m", path);
	return 0;
}

/* systemd sets these for ExecStopPost= (systemd.exec(5)). */
static const char *read_cause(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : "unknown";
}

int final_write_main(char **argv)
{
	struct launch_final_place at = { .dir = argv[0],
					 .job = strtoll(argv[1], NULL, 10),
					 .attempt = strtoll(argv[2], NULL, 10) };
	struct launch_final_cause cause = { .result = read_cause("SERVICE_RESULT"),
					    .code = read_cause("EXIT_CODE"),
					    .status = read_cause("EXIT_STATUS") };
	struct err err;

	if (at.job <= 0 || at.attempt <= 0)
		return 2;
	if (final_write(at, cause, &err) < 0) {
		fprintf(stderr, "reeve-launch: %s\n", err.text);
		return 1;
	}
	return 0;
}

int launch_kill_as_one_main(void)
{
	char own[4400], path[4480];
	_cleanup_close_ int fd = -1;

	if (own_cgroup(own, sizeof(own)) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/memory.oom.group", own);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : 1;
	return write(fd, "1", 1) == 1 ? 0 : 1;
}
