/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig.c - see rig.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "tests/node/jobfs/rig.h"

struct jobfs_config config;
struct jobfs *fs;

void must(int r, const struct err *err)
{
	if (r < 0)
		fail_msg("%d: %s", r, err->text);
}

struct jobfs_job create(int64_t job, int64_t bytes, int64_t files)
{
	struct jobfs_spec spec = { .job = job,
				   .attempt = 1,
				   .uid = USER,
				   .gid = USER,
				   .limit_bytes = bytes,
				   .limit_files = files,
				   .script = "#!/bin/sh\necho hello\n",
				   .script_size = 21 };
	struct jobfs_job ret;
	struct err err = { "" };

	must(jobfs_create(fs, &spec, &ret, &err), &err);
	return ret;
}

void drop(const struct jobfs_job *job)
{
	struct err err = { "" };

	must(jobfs_remove_now(fs, job, &err), &err);
}

struct jobfs_usage usage(const struct jobfs_job *job)
{
	struct jobfs_usage u;
	struct err err = { "" };

	must(jobfs_usage(fs, job, &u, &err), &err);
	return u;
}

const char *path_of(const struct jobfs_job *job, const char *rest)
{
	static char path[4200];
	char top[4096];

	snprintf(path, sizeof(path), "%s%s", jobfs_path(fs, job, top, sizeof(top)), rest);
	return path;
}

/* Creates the job once its former id is free again: XFS frees inodes in the background, and a
 * killed child's own child may hold files for a moment yet. An id that was never released
 * shows here as another id. */
struct jobfs_job create_again(const struct jobfs_job *former, int64_t bytes)
{
	struct jobfs_job job = create(former->job, bytes, 0);

	for (int try = 0; job.projid != former->projid && try < 3000; try++) {
		drop(&job);
		usleep(20000);
		job = create(former->job, bytes, 0);
	}
	assert_int_equal(job.projid, former->projid);
	return job;
}

size_t count_jobs(void)
{
	_cleanup_free_ struct jobfs_job *jobs = NULL;
	struct err err = { "" };
	size_t n;

	must(jobfs_list(fs, &jobs, &n, NULL, &err), &err);
	return n;
}

/* Runs `fn` as the job's user, without capabilities, in its work directory. */
int64_t as_user(const struct jobfs_job *job, user_fn fn, int arg)
{
	const char *work = path_of(job, "/work");
	int64_t result = -EIO;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(USER) < 0 || setuid(USER) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || chdir(work) < 0)
			result = -errno;
		else
			result = fn(work, arg);
		_exit(write(fds[1], &result, sizeof(result)) != sizeof(result));
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &result, sizeof(result)), sizeof(result));
	close(fds[0]);
	waitpid(pid, &status, 0);
	return result;
}

/* Bytes written until the kernel refused; -errno of another kind. */
int64_t write_until_refused(const char *work, int chunk)
{
	static char data[1 << 20];
	int64_t sum = 0;
	int fd = open("big", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t n;

	(void)work;
	memset(data, 'x', sizeof(data));
	while ((n = write(fd, data, (size_t)chunk)) > 0)
		sum += n;
	if (errno != EDQUOT && errno != ENOSPC)
		return -errno;
	while ((n = write(fd, data, 4096)) > 0)
		sum += n;
	return fsync(fd) < 0 ? -errno : sum;
}

int64_t make_files(const char *work, int unused)
{
	char name[32];
	int64_t n = 0;
	int fd;

	(void)work;
	(void)unused;
	for (;; n++, close(fd)) {
		snprintf(name, sizeof(name), "f%lld", (long long)n);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return errno == EDQUOT || errno == ENOSPC ? n : -errno;
	}
}

int rig_run(int argc, char **argv, int (*tests)(void))
{
	struct err err = { "" };
	int r;

	if (argc < 2 || geteuid() != 0) {
		fprintf(stderr, "usage, as root: %s DIR [IMAGE]\n", argv[0]);
		return 64;
	}
	config = (struct jobfs_config){ .dir = argv[1],
					.image = argc > 2 ? argv[2] : NULL,
					.image_bytes = 600 * MIB };
	if (jobfs_open(&config, &fs, &err) < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], err.text);
		return 1;
	}
	printf("# %s\n", jobfs_describe(fs));
	fflush(stdout);
	r = tests();
	jobfs_close(fs);
	return r;
}
