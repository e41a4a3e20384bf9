/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remove.c - removes a job's directory, in another process (remover.h) where the event loop must not
 * stand; see jobfs.h. */
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/remover.h"
#include "common/err.h"

struct jobfs_removing {
	struct jobfs *fs; /* NULL: abandoned */
	struct jobfs_job job;
	struct jobfs_removal how;
	sd_event_source *source;
	int fd; /* a pipe: struct remover_verdict, or its end if the process died */
	struct jobfs_removing *next;
};

int jobfs_remove_now(struct jobfs *fs, const struct jobfs_job *job, struct err *err)
{
	int r = jobfs_wipe(fs, job, err);

	fs->may_hold = true;
	jobfs_reclaim(fs, NULL, NULL); /* on failure: the next call does it */
	return r;
}

static void unlink_removing(struct jobfs_removing *rm)
{
	struct jobfs_removing **at;

	if (!rm->fs)
		return;
	for (at = &rm->fs->removing; *at != rm; at = &(*at)->next)
		;
	*at = rm->next;
}

static void free_removing(struct jobfs_removing *rm)
{
	sd_event_source_unref(rm->source);
	if (rm->fd >= 0)
		close(rm->fd);
	free(rm);
}

/* A process that died without a verdict is -EIO: the directory stays and is removed by the next try. */
static void read_verdict(struct jobfs_removing *rm, struct remover_verdict *v)
{
	if (read(rm->fd, v, sizeof(*v)) == (ssize_t)sizeof(*v))
		return;
	*v = (struct remover_verdict){ .result = -EIO };
	err_set(&v->err, -EIO, "the removal was interrupted");
}

static int on_verdict(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct jobfs_removing *rm = arg;
	struct remover_verdict v;

	(void)source;
	(void)fd;
	(void)events;
	read_verdict(rm, &v);
	unlink_removing(rm);
	if (rm->fs) {
		rm->fs->may_hold = true;
		jobfs_reclaim(rm->fs, NULL, NULL); /* on failure: the next call does it */
	}
	if (rm->fs && rm->how.done)
		rm->how.done(rm->how.ctx, &rm->job, v.result, &v.err);
	free_removing(rm);
	return 0;
}

bool jobfs_is_removing(const struct jobfs *fs, const struct jobfs_job *job)
{
	for (const struct jobfs_removing *rm = fs->removing; rm; rm = rm->next)
		if (rm->job.job == job->job && rm->job.attempt == job->attempt)
			return true;
	return false;
}

/* Elsewhere, since removing a million files takes minutes, and the limits of other jobs must not wait. */
int jobfs_remove(struct jobfs *fs, const struct jobfs_job *job, const struct jobfs_removal *how,
		 struct err *err)
{
	struct jobfs_removing *rm;
	int r;

	if (jobfs_is_removing(fs, job))
		return err_set(err, -EALREADY, "this removal is under way");
	rm = calloc(1, sizeof(*rm));
	if (!rm)
		return err_set(err, -ENOMEM, "out of memory");
	*rm = (struct jobfs_removing){ .fs = fs, .job = *job, .how = *how, .fd = -1 };
	rm->fd = remover_order(fs, job, err);
	if (rm->fd < 0) {
		r = rm->fd;
		free_removing(rm);
		return r;
	}
	r = sd_event_add_io(how->event, &rm->source, rm->fd, EPOLLIN, on_verdict, rm);
	if (r < 0) { /* what is removed is removed: the next try finds nothing */
		free_removing(rm);
		errno = -r;
		return err_set(err, r, "watch the removal: %m");
	}
	rm->next = fs->removing;
	fs->removing = rm;
	return 0;
}

/* The removals go on until the agent exits; on_verdict() frees each entry, but calls no callback. */
void jobfs_abandon_removals(struct jobfs *fs)
{
	struct jobfs_removing *rm, *next;

	for (rm = fs->removing; rm; rm = next) {
		next = rm->next;
		rm->fs = NULL;
	}
	fs->removing = NULL;
}
