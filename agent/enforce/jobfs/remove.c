/* remove.c - removes a job's directory, in another process (remover.h) where the event loop must not
 * stand; see jobfs.h. */
#include <errno.h>
#include <stdlib.h>
#include <systemd/sd-event.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "agent/enforce/jobfs/remover.h"
#include "agent/enforce/jobfs/wipe.h"
#include "common/err.h"

/* Moving directories up may need blocks of the job's own project when it is full. */
#define WIPE_BYTES ((int64_t)64 << 20)
#define WIPE_FILES 64

struct jobfs_removing {
	struct jobfs *fs; /* NULL: abandoned */
	struct jobfs_job job;
	struct jobfs_removal how;
	sd_event_source *source;
	int fd; /* a pipe: struct remover_verdict, or its end if the process died */
	struct jobfs_removing *next;
};

/* The project of the directory as it is now; 0: none, or no directory. No other source is used:
 * once a directory is gone its id may be another job's. */
static uint32_t find_project(struct jobfs *fs, const char *name)
{
	_cleanup_close_ int fd = jobfs_open_dir(fs, name);
	uint32_t projid;

	if (fd < 0 || quota_get_project(fd, &projid, NULL) < 0 || projid < PROJID_BASE)
		return 0;
	return projid;
}

/* XFS holds root to the limit too, and moving directories up may need blocks: a full directory
 * gets some while it is emptied, and loses them again. */
static int wipe_with_room(struct jobfs *fs, const char *name, uint32_t projid, struct err *err)
{
	struct quota_use use;
	int r = quota_get(fs->fd, projid, &use, err), restored;

	if (r >= 0 && use.limit_bytes)
		r = quota_limit(fs->fd, projid, use.bytes + WIPE_BYTES, use.files + WIPE_FILES,
				err);
	if (r < 0)
		return r;
	r = wipe_content(fs->fd, name, err);
	restored = quota_limit(fs->fd, projid, use.limit_bytes, use.limit_files,
			       r < 0 ? NULL : err);
	return r < 0 ? r : restored;
}

/* The job's limit holds while the directory is emptied, because a process may have a file of it
 * open; then the limit of a removed directory holds until nothing is charged. It is set while the
 * directory still exists: if the removal is interrupted, the directory shows what is left to do. */
int jobfs_wipe(struct jobfs *fs, const struct jobfs_job *job, struct err *err)
{
	char name[JOBFS_NAME_MAX];
	uint32_t projid;
	int r;

	jobfs_name(job->job, job->attempt, name);
	projid = find_project(fs, name);
	r = wipe_content(fs->fd, name, err);
	if (projid && (r == -EDQUOT || r == -ENOSPC))
		r = wipe_with_room(fs, name, projid, err);
	if (r >= 0 && projid)
		r = jobfs_keep_limit(fs, projid, err);
	if (r >= 0)
		r = wipe_dir(fs->fd, name, err);
	return r < 0 ? err_prefix(err, r, "remove %s/%s", fs->dir, name) : 0;
}

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

static bool is_under_way(const struct jobfs *fs, const struct jobfs_job *job)
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

	if (is_under_way(fs, job))
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
