/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deliver.c - chooses the way out, and hands mails to a sendmail program; see deliver.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "mail/deliver_impl.h"

/* A memfd is the program's standard input: nothing waits for a program that does not read. */
static int open_input(const struct mail_delivery *d, int *ret, struct err *err)
{
	_cleanup_close_ int fd = memfd_create("mail", MFD_CLOEXEC);

	if (fd < 0)
		return err_set(err, -EAGAIN, "memory for the mail: %m");
	for (size_t done = 0; done < d->size;) {
		ssize_t n = write(fd, d->text + done, d->size - done);

		if (n < 0)
			return err_set(err, -EAGAIN, "memory for the mail: %m");
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, -EAGAIN, "memory for the mail: %m");
	*ret = TAKE_FD(fd);
	return 0;
}

static int spawn_sendmail(const struct mail_config *c, const struct mail_delivery *d,
			  pid_t *ret, struct err *err)
{
	char *arguments[] = { c->sendmail,  (char *)"-i",  (char *)"-f", (char *)d->from,
			      (char *)"--", (char *)d->to, NULL };
	posix_spawn_file_actions_t files;
	_cleanup_close_ int input = -1;
	int r = open_input(d, &input, err);

	if (r < 0)
		return r;
	posix_spawn_file_actions_init(&files);
	r = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn(ret, c->sendmail, &files, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&files);
	return r ? err_set(err, -EAGAIN, "%.200s: %s", c->sendmail, strerror(r)) : 0;
}

/* The statuses of sysexits.h that stay as they are when the mail is handed over once more. */
static bool is_final(int status)
{
	return status == EX_USAGE || status == EX_DATAERR || status == EX_NOUSER ||
	       status == EX_NOHOST || status == EX_NOPERM;
}

static int await_sendmail(const struct mail_config *c, pid_t pid, struct err *err)
{
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int status = 0, n = end.fd < 0 ? 1 : poll(&end, 1, (int)c->time_limit_s * 1000);

	if (end.fd >= 0)
		close(end.fd);
	if (n == 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (n == 0)
		return err_set(err, -EAGAIN, "%.200s took more than %lld s", c->sendmail,
			       (long long)c->time_limit_s);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(
		err, WIFEXITED(status) && is_final(WEXITSTATUS(status)) ? -EINVAL : -EAGAIN,
		"%.200s: %s %d", c->sendmail, WIFEXITED(status) ? "exit status" : "signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

int mail_deliver(const struct mail_config *c, const struct mail_delivery *d, struct err *err)
{
	pid_t pid;
	int r;

	if (!c->sendmail)
		return deliver_by_smtp(c, d, err);
	r = spawn_sendmail(c, d, &pid, err);
	return r < 0 ? r : await_sendmail(c, pid, err);
}
