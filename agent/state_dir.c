/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_dir.c - make the state directory, closed to all but root; see state_dir.h. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "agent/job/job.h"
#include "agent/state_dir.h"
#include "common/log.h"
#include "common/private.h"

#define CLOSED 0700
#define PASSABLE 0711

int state_dir_open(struct node *n, struct err *err)
{
	const char *dir = n->conf->state_dir;
	const struct private_files all = { dir, NULL };
	struct err words;
	struct stat st;
	int r;

	if (mkdir(dir, CLOSED) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make directory %s: %m", dir);
	if (stat(dir, &st) < 0)
		return err_set(err, -errno, "stat %s: %m", dir);
	if (st.st_uid != 0 || st.st_mode & 022)
		return err_set(err, -EACCES,
			       "%s must belong to root and be writable only by root "
			       "(chown root %s; chmod 700 %s)",
			       dir, dir, dir);
	/* Jobs of Slurm and PBS have no view of their own: they reach their disk by this path. */
	if (engine_is_foreign((enum engine)n->conf->engine)) {
		if (chmod(dir, PASSABLE) < 0)
			return err_set(err, -errno, "chmod %o %s: %m", PASSABLE, dir);
		st.st_mode = CLOSED;
	}
	n->state_is_passable = (st.st_mode & 0777) != CLOSED;
	r = private_mend(&all, &words);
	if (r)
		log_line(r < 0 ? LOG_ERR : LOG_NOTICE, "%d files: %s", r < 0 ? 1 : r,
			 words.text);
	return 0;
}

/* Jobs whose manager hid the directory have another one under that name. */
static bool is_seen_by(const struct job *j, const char *dir, const struct stat *ours)
{
	char path[400];
	struct stat its;

	if (j->s.pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)j->s.pid, dir);
	return stat(path, &its) == 0 && its.st_dev == ours->st_dev &&
	       its.st_ino == ours->st_ino;
}

void state_dir_settle(struct node *n)
{
	const char *dir = n->conf->state_dir;
	struct stat st;
	mode_t mode = CLOSED;

	if (!n->state_is_passable || stat(dir, &st) < 0)
		return;
	for (struct job *j = n->jobs; j; j = j->next)
		if (is_seen_by(j, dir, &st))
			mode = PASSABLE;
	if ((st.st_mode & 0777) == mode)
		return;
	if (chmod(dir, mode) < 0) {
		log_line(LOG_ERR, "chmod %o %s: %m", mode, dir);
		return;
	}
	n->state_is_passable = mode != CLOSED;
	log_line(LOG_NOTICE, "%s had mode %03o; it is now %03o%s", dir, st.st_mode & 0777, mode,
		 mode == CLOSED ? ""
				: ", since a job of an earlier agent reaches its disk by it");
}
