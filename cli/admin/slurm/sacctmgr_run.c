/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_run.c - starts sacctmgr, keeps the end of what it prints, and passes dumps in files of a private directory; see
 * sacctmgr_run.h. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/admin/slurm/sacctmgr_run.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"

#define ARGS_MAX 16
#define LAST_WORDS 300
#define DUMP_MAX (256 << 20)

extern char **environ;

/* ---- the program ---- */

/* Both outputs of the child go to `pipe`, and it reads nothing. */
static int spawn_child(char *const *argv, const int pipe[2], pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
	posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
	r = posix_spawnp(ret, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Reads until the end, and keeps the last bytes: sacctmgr repeats all that it loads and dumps. */
static void read_last(int fd, char last[static LAST_WORDS])
{
	char buf[2 * LAST_WORDS];
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, buf + have, LAST_WORDS)) > 0) {
		have += (size_t)n;
		if (have >= LAST_WORDS) {
			memmove(buf, buf + have - LAST_WORDS + 1, LAST_WORDS - 1);
			have = LAST_WORDS - 1;
		}
	}
	utf8_copy(last, LAST_WORDS, buf, have);
}

/* -EIO with the last words of sacctmgr. */
static int wait_for_child(pid_t pid, const char *what, const char *last, struct err *err)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(err, -errno, "wait for sacctmgr: %m");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(err, -EIO, "sacctmgr %s failed: %s", what, last);
}

int sacctmgr_run(const char *const *args, struct err *err)
{
	const char *argv[ARGS_MAX + 3] = { "sacctmgr", "-i" };
	char last[LAST_WORDS];
	int pipe[2], r;
	pid_t pid;

	for (size_t i = 0; args[i] && i < ARGS_MAX; i++)
		argv[i + 2] = args[i];
	if (pipe2(pipe, O_CLOEXEC) < 0)
		return err_set(err, -errno, "make a pipe: %m");
	r = spawn_child((char *const *)(uintptr_t)argv, pipe, &pid);
	close(pipe[1]);
	if (r < 0) {
		close(pipe[0]);
		return err_set(err, r,
			       "start sacctmgr: %s; run this on a host with Slurm's commands",
			       strerror(-r));
	}
	read_last(pipe[0], last);
	close(pipe[0]);
	return wait_for_child(pid, args[0], last, err);
}

/* ---- dumps ---- */

/* A file in a directory that only this user can enter: a dump names all users and accounts. The name of the
 * file is fixed, since sacctmgr writes to a path. */
struct private_file {
	char dir[64], path[96];
};

static void private_done(struct private_file *f)
{
	if (*f->path)
		unlink(f->path);
	if (*f->dir)
		rmdir(f->dir);
}

static int private_open(struct private_file *f, struct err *err)
{
	snprintf(f->dir, sizeof(f->dir), "/tmp/reeve-sacctmgr-XXXXXX");
	if (!mkdtemp(f->dir)) {
		*f->dir = '\0';
		return err_set(err, -errno, "make a directory in /tmp: %m");
	}
	snprintf(f->path, sizeof(f->path), "%s/dump.cfg", f->dir);
	return 0;
}

/* *ret ends with a NUL that *ret_size does not count. */
static int read_file(const char *path, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, -errno, "sacctmgr wrote no dump: %m");
	if (st.st_size > DUMP_MAX)
		return err_set(err, -EFBIG, "the dump is larger than 256 MiB");
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	n = read(fd, text, (size_t)st.st_size);
	if (n != st.st_size)
		return err_set(err, -EIO, "read %s: %m", path);
	text[n] = '\0';
	*ret_size = (size_t)n;
	*ret = TAKE_PTR(text);
	return 0;
}

int sacctmgr_run_dump(const char *cluster, char **ret, size_t *ret_size, struct err *err)
{
	_cleanup_(private_done) struct private_file f = { "", "" };
	char file[128];
	const char *const args[] = { "dump", cluster, file, NULL };
	int r = private_open(&f, err);

	snprintf(file, sizeof(file), "file=%s", f.path);
	if (r >= 0)
		r = sacctmgr_run(args, err);
	return r < 0 ? r : read_file(f.path, ret, ret_size, err);
}

int sacctmgr_run_load(const char *cluster, const char *text, struct err *err)
{
	_cleanup_(private_done) struct private_file f = { "", "" };
	char file[128], of[128];
	const char *const args[] = { "load", file, of, NULL };
	int r = private_open(&f, err);
	FILE *to;
	bool is_bad;

	if (r < 0)
		return r;
	snprintf(file, sizeof(file), "file=%s", f.path);
	snprintf(of, sizeof(of), "cluster=%s", cluster);
	to = fopen(f.path, "we");
	if (!to)
		return err_set(err, -errno, "write %s: %m", f.path);
	is_bad = fputs(text, to) < 0;
	if (fclose(to) != 0 || is_bad)
		return err_set(err, -EIO, "write %s: %m", f.path);
	return sacctmgr_run(args, err);
}
