/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_run.c - one run of the site's program: its input, its time limit, its end; see
 * hooks_run.h. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/stops/stops.h"
#include "common/time_units.h"
#include "controller/hooks/hooks_run.h"

struct hook_run {
	struct hook_ask ask;
	struct sd_event_source *child, *timer;
	pid_t pid;
	bool has_timed_out;
};

/* A memfd instead of a pipe: the controller never blocks on a program that does not read. */
static int open_document(const char *text, int *ret, struct err *err)
{
	_cleanup_close_ int fd = memfd_create("reeve-hook", MFD_CLOEXEC);
	size_t size = strlen(text), done = 0;

	if (fd < 0)
		return err_set(err, -errno, "memory for its input: %m");
	while (done < size) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0)
			return err_set(err, -errno, "its input: %m");
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_set(err, -errno, "its input: %m");
	*ret = TAKE_FD(fd);
	return 0;
}

/* The program inherits standard error alone (the journal): no other descriptor, no signal mask,
 * default signal handlers, directory /. posix_spawn functions return errors as positive
 * numbers. */
static int set_attributes(posix_spawn_file_actions_t *files, posix_spawnattr_t *attr,
			  int document)
{
	sigset_t none, all;
	int r = posix_spawn_file_actions_adddup2(files, document, STDIN_FILENO);

	sigemptyset(&none);
	sigfillset(&all);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
	if (r == 0)
		r = posix_spawn_file_actions_addchdir_np(files, "/");
	if (r == 0)
		r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attr, 0);
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
							   POSIX_SPAWN_SETSIGDEF |
							   POSIX_SPAWN_SETPGROUP);
	return r;
}

static int spawn_program(const struct hook_ask *ask, int document, pid_t *ret, struct err *err)
{
	char *const argv[] = { (char *)ask->program, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	int r = posix_spawn_file_actions_init(&files);

	if (r != 0)
		return err_set(err, -r, "out of memory");
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = set_attributes(&files, &attr, document);
		if (r == 0)
			r = posix_spawn(ret, ask->program, &files, &attr, argv,
					ask->environment);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&files);
	return r ? err_set(err, -r, "%s: %s", ask->program, strerror(r)) : 0;
}

static struct hook_run *free_run(struct hook_run *r)
{
	sd_event_source_disable_unref(r->child);
	sd_event_source_disable_unref(r->timer);
	free(r);
	return NULL;
}

/* sd-event reaps the child after this returns: it is still a zombie, so its process group
 * cannot have been reused, and what it left running is killed. */
static int on_child(sd_event_source *source, const siginfo_t *si, void *ctx)
{
	STOPS_IN("hooks");
	struct hook_run *r = ctx;
	const struct hook_ask ask = r->ask;
	enum hook_end how = r->has_timed_out		? HOOK_TIMED_OUT
			    : si->si_code == CLD_EXITED ? HOOK_EXITED
							: HOOK_SIGNALED;
	int status = si->si_status;

	(void)source;
	kill(-r->pid, SIGKILL);
	free_run(r);
	ask.ended(ask.ctx, how, status);
	return 0;
}

/* on_child() follows, and reports HOOK_TIMED_OUT. */
static int on_time(sd_event_source *source, uint64_t us, void *ctx)
{
	struct hook_run *r = ctx;

	(void)source;
	(void)us;
	r->has_timed_out = true;
	kill(-r->pid, SIGKILL);
	return 0;
}

static int watch_child(struct hook_run *r, struct err *err)
{
	int e = sd_event_add_child(r->ask.event, &r->child, r->pid, WEXITED, on_child, r);

	if (e >= 0)
		e = sd_event_add_time_relative(r->ask.event, &r->timer, CLOCK_MONOTONIC,
					       (uint64_t)r->ask.time_limit_s * S_US, 0, on_time,
					       r);
	return e < 0 ? err_set(err, e, "event loop: %s", strerror(-e)) : 0;
}

int hook_run(const struct hook_ask *ask, struct hook_run **ret, struct err *err)
{
	struct hook_run *r = calloc(1, sizeof(*r));
	_cleanup_close_ int document = -1;
	int e;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory");
	r->ask = *ask;
	e = open_document(ask->document, &document, err);
	if (e >= 0)
		e = spawn_program(ask, document, &r->pid, err);
	if (e < 0) {
		free(r);
		return e;
	}
	e = watch_child(r, err);
	if (e < 0) {
		hook_run_kill(r);
		return e;
	}
	*ret = r;
	return 0;
}

/* The event source is removed first: sd-event must not reap the child as well. */
struct hook_run *hook_run_kill(struct hook_run *r)
{
	if (!r)
		return NULL;
	kill(-r->pid, SIGKILL);
	sd_event_source_disable_unref(TAKE_PTR(r->child));
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return free_run(r);
}
