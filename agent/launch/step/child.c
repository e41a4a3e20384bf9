/* SPDX-License-Identifier: GPL-2.0-or-later */
/* child.c - the child of a step's waiter: from root outside the job to the user inside it; see step.h for the order. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/launch/step/step_impl.h"
#include "common/cleanup.h"
#include "common/err.h"

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void step_entry_close(struct step_entry *e)
{
	close_fd(&e->null);
	close_fd(&e->out);
	close_fd(&e->err);
	close_fd(&e->procs);
	views_close(&e->view);
}

/* Only root can make names in this directory, so no link of a user can be there. */
static int make_output(const struct step_spec *s, const char *path, struct err *err)
{
	_cleanup_close_ int fd = open(
		path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_set(err, -errno, "cannot make the file for its output: %m");
	if (fchown(fd, s->uid, s->gid) < 0)
		return err_set(err, -errno, "cannot hand the file for its output over: %m");
	return TAKE_FD(fd);
}

/* A user without an entry has no further groups; more than fit is an error, not a loss. */
static int look_up_groups(struct step_entry *e, struct err *err)
{
	struct passwd *pw = getpwuid(e->spec->uid);

	e->groups[0] = e->spec->gid;
	e->n_groups = pw ? STEP_GROUPS_MAX : 1;
	if (pw && getgrouplist(pw->pw_name, e->spec->gid, e->groups, &e->n_groups) < 0)
		return err_set(err, -E2BIG, "user %s is in %d groups; at most %d can be taken",
			       pw->pw_name, e->n_groups, STEP_GROUPS_MAX);
	return 0;
}

/* -1: no such file, or "max". */
static long long read_number(const char *cgroup, const char *file)
{
	char path[STEP_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;
	long long n;

	/* The job's bound is that of its unit, one level up. */
	snprintf(path, sizeof(path), "%s/../%s", cgroup, file);
	f = fopen(path, "re");
	return f && fscanf(f, "%lld", &n) == 1 ? n : -1;
}

int step_check_room(const char *cgroup, int n, struct err *err)
{
	long long bound = read_number(cgroup, "pids.max");

	if (bound < 0 || read_number(cgroup, "pids.current") + n <= bound)
		return 0;
	return err_set(err, -EAGAIN,
		       "the job has reached its limit of %lld processes and "
		       "threads",
		       bound);
}

int step_entry_open(struct step_entry *e, struct err *err)
{
	const struct step_spec *s = e->spec;
	char procs[STEP_PATH_MAX + 32];
	int r = look_up_groups(e, err);

	if (r >= 0)
		r = step_check_room(s->cgroup, 1, err);
	if (r < 0)
		return r;
	r = views_open(e->views, (struct views_id){ s->job, s->attempt }, &e->view, err);
	if (r < 0)
		return r;
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", s->cgroup);
	e->procs = open(procs, O_WRONLY | O_CLOEXEC);
	if (e->procs < 0)
		return err_set(err, -errno, "the job is not here any more");
	if (s->console)
		return 0; /* the console has the files */
	e->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (e->null < 0)
		return err_set(err, -errno, "open /dev/null: %m");
	e->out = make_output(s, s->out, err);
	if (e->out < 0)
		return e->out;
	e->err = make_output(s, s->err, err);
	return e->err < 0 ? e->err : 0;
}

/* A new session without the waiter's signals, mask, OOM protection and descriptors, but for those in *e. */
static int be_plain(struct step_entry *e, struct err *err)
{
	_cleanup_close_ int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	sigset_t none;

	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	if (oom < 0 || write(oom, "0", 1) != 1)
		return err_set(err, -errno, "give up the protection from the OOM killer: %m");
	/* Whatever the waiter was born with: nothing of it is the user's. */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	if (dup2(e->null, 0) < 0 || dup2(e->out, 1) < 0 || dup2(e->err, 2) < 0)
		return err_set(err, -errno, "put the files in place: %m");
	if (e->is_pty && ioctl(0, TIOCSCTTY, 0) < 0)
		return err_set(err, -errno, "take the terminal: %m");
	return 0;
}

/* From here on the process is counted and limited with the job, and frozen while the job is suspended. */
static int enter_job(struct step_entry *e, struct err *err)
{
	if (write(e->procs, "0", 1) != 1)
		return err_set(err, -errno, "enter the job's cgroup: %m");
	return views_enter(&e->view, err);
}

void step_become(struct step_entry *e)
{
	struct err err = { "" };
	int tell = e->tell, r = be_plain(e, &err);

	if (!r)
		r = enter_job(e, &err);
	if (!r)
		r = launch_become_user(&(struct launch_user){ e->spec->uid, e->spec->gid,
							      e->groups, (size_t)e->n_groups },
				       &err);
	step_entry_close(e);
	if (!r && chdir(e->plan->workdir) < 0)
		r = err_set(&err, -errno, "cannot enter working directory %s: %m",
			    e->plan->workdir);
	if (!r)
		launch_become(e->plan, &err);
	r = (int)write(tell, err.text, strnlen(err.text, STEP_TEXT_MAX - 1));
	_exit(LAUNCH_EXIT_FAILED + (r < 0));
}
