/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end_message.c - append the end message to the job's error file, in a child process; see phase/end_message.h. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/job/phase/end_message.h"
#include "common/log.h"

/* Groups first: after setresuid() the child may not set them any more. getpwuid() may wait for a directory
 * service, which is one reason why this runs in a child. False: some root right may be left, and nothing must
 * be written. */
static bool become_user(const struct job *j)
{
	const struct request *q = &j->s.request;
	struct passwd *pw = getpwuid(q->uid);

	if (pw ? initgroups(pw->pw_name, q->gid) < 0 : setgroups(0, NULL) < 0)
		return false;
	return setresgid(q->gid, q->gid, q->gid) == 0 && setresuid(q->uid, q->uid, q->uid) == 0;
}

/* In the child. The user may have put a link, a FIFO or a terminal at the path since the launcher opened the file: the
 * flags refuse to follow, to wait or to take a terminal, and device and inode must be those of then. A failure is silent:
 * the final report carries the same message. */
static void append_message(const struct job *j, const char *text)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!become_user(j))
		return;
	fd = open(j->s.err_path,
		  O_WRONLY | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != j->s.err_dev ||
	    st.st_ino != j->s.err_ino)
		return;
	if (write(fd, "\nreeve: ", 8) < 0 || write(fd, text, strlen(text)) < 0 ||
	    write(fd, "\n", 1) < 0)
		return;
}

/* The event loop has reaped the child. */
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

	/* A user who follows the stream gets the end message from the controller. */
	if (!j->s.err_path || j->s.request.stream)
		return;
	pid = fork();
	if (pid == 0) {
		append_message(j, text);
		_exit(0);
	}
	if (pid < 0) {
		log_job(LOG_WARNING, j->s.job, "end", "cannot write the end message: fork: %m");
		return;
	}
	if (sd_event_add_child(n->event, &s, pid, WEXITED, on_child, NULL) < 0)
		log_job(LOG_WARNING, j->s.job, "end", "cannot watch process %d", (int)pid);
}
