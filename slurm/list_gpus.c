/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list_gpus.c - run `slurmd -G` and read what it writes; see list_gpus.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/clock.h"
#include "slurm/list_gpus.h"

#define LIST_MAX (256 << 10)
#define PATIENCE_MS 10000

/* slurmd is beside slurmstepd, in which this runs. The Prolog's environment has no PATH. */
static void find_slurmd(char path[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("slurmd"));
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash)
		strcpy(slash + 1, "slurmd");
	if (!slash || access(path, X_OK) < 0)
		strcpy(path, "/usr/sbin/slurmd");
}

/* Its list goes to standard error in some releases, to standard output in others. < 0: errno. */
static int spawn_slurmd(int fd, pid_t *ret)
{
	static char name[] = "slurmd", list[] = "-G", node[] = "-N";
	char path[PATH_MAX], conf[PATH_MAX + 16];
	const char *at = getenv("SLURM_CONF");
	char *argv[] = { name, list, getenv("SLURMD_NODENAME") ? node : NULL,
			 getenv("SLURMD_NODENAME"), NULL };
	char *env[] = { (char[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin" }, at ? conf : NULL,
			NULL };
	posix_spawn_file_actions_t files;
	int r;

	find_slurmd(path);
	snprintf(conf, sizeof(conf), "SLURM_CONF=%s", at ? at : "");
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, fd, STDERR_FILENO);
	r = -posix_spawn(ret, path, &files, NULL, argv, env);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

/* Up to its end, or LIST_MAX. -ETIMEDOUT, or errno. */
static int read_all(int fd, char *text)
{
	const int64_t end = monotonic_ms() + PATIENCE_MS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t n = 0;

	for (;;) {
		int64_t left = end - monotonic_ms();
		ssize_t got;

		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int)left) <= 0)
			continue; /* a signal, or the time is over */
		got = read(fd, text + n, LIST_MAX - 1 - n);
		if (got < 0 && errno != EINTR)
			return -errno;
		n += got > 0 ? (size_t)got : 0;
		text[n] = '\0';
		if (got == 0 || n == LIST_MAX - 1)
			return 0;
	}
}

/* Ends it when it has not ended by itself. The exit status, -1: a signal. */
static int reap_slurmd(pid_t pid, bool has_ended)
{
	int status = 0;

	if (!has_ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *list_gpus(struct err *err)
{
	_cleanup_close_ int from = -1;
	int pipes[2], r, status;
	char *text = malloc(LIST_MAX);
	pid_t pid;

	if (!text || pipe2(pipes, O_CLOEXEC) < 0) {
		err_set(err, -errno, "run slurmd -G: %m");
		free(text);
		return NULL;
	}
	from = pipes[0];
	r = spawn_slurmd(pipes[1], &pid);
	close(pipes[1]);
	if (r < 0) {
		err_set(err, r, "run slurmd -G: %s", strerror(-r));
		free(text);
		return NULL;
	}
	r = read_all(from, text);
	status = reap_slurmd(pid, r == 0);
	if (r == 0 && status == 0)
		return text;
	if (r < 0)
		err_set(err, r, "slurmd -G: %s", strerror(-r));
	else
		err_set(err, -EIO, "slurmd -G ended with status %d: %.200s", status, text);
	free(text);
	return NULL;
}
