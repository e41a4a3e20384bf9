/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end_message.c - have the end message appended to the job's error file, by the launcher program; see phase/end_message.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>
#include "agent/job/phase/end_message.h"
#include "agent/launch/append.h"
#include "common/cleanup.h"
#include "common/log.h"

#define LIMIT_TEXT "30" /* seconds: a directory service and a file system may be slow */
_Static_assert(REASON_TEXT_MAX <= APPEND_TEXT_MAX, "an end message fits");

/* -ENAMETOOLONG: the program could not open the path either. */
static int write_order(int fd, const struct job *j, const char *text)
{
	struct append_order o = { .version = APPEND_VERSION,
				  .uid = j->s.request.uid,
				  .gid = j->s.request.gid,
				  .dev = j->s.err_dev,
				  .ino = j->s.err_ino };

	if (strlen(j->s.err_path) >= sizeof(o.path))
		return -ENAMETOOLONG;
	strcpy(o.path, j->s.err_path);
	strncpy(o.text, text, sizeof(o.text) - 1);
	return write(fd, &o, sizeof(o)) == (ssize_t)sizeof(o) ? 0 : -EIO;
}

/* Of the agent it has its input alone: no other descriptor, environment, signal mask or disposition. < 0: -errno. */
static int spawn_program(const char *program, int input, pid_t *ret)
{
	static char name[] = "reeve-launch", role[] = "--append", limit[] = LIMIT_TEXT;
	char *argv[] = { name, role, limit, NULL }, *env[] = { NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSID);
	posix_spawn_file_actions_init(&files);
	r = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	for (int fd = STDOUT_FILENO; r == 0 && fd <= STDERR_FILENO; fd++)
		r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	if (r == 0)
		r = posix_spawn(ret, program, &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -r;
}

static int start_program(const char *program, const struct job *j, const char *text, pid_t *ret)
{
	_cleanup_close_ int from = -1, to = -1;
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	r = write_order(to, j, text); /* fits into the pipe, which has no reader yet */
	return r < 0 ? r : spawn_program(program, from, ret);
}

/* The event loop has reaped it. It ends by itself, in time (append.h). */
static int on_child(sd_event_source *s, const siginfo_t *info, void *userdata)
{
	(void)info;
	(void)userdata;
	sd_event_source_unref(s);
	return 0;
}

void end_message_write(struct node *n, struct job *j, const char *text)
{
	sd_event_source *s;
	pid_t pid;
	int r;

	/* A user who follows the stream gets the end message from the controller. */
	if (!j->s.err_path || j->s.request.stream)
		return;
	r = start_program(n->conf->launcher, j, text, &pid);
	if (r < 0) {
		log_job(LOG_WARNING, j->s.job, "end", "cannot write the end message: %s: %s",
			n->conf->launcher, strerror(-r));
		return;
	}
	if (sd_event_add_child(n->event, &s, pid, WEXITED, on_child, NULL) < 0)
		log_job(LOG_WARNING, j->s.job, "end", "cannot watch process %d", (int)pid);
}
