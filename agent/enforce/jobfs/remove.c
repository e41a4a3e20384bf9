/* remove.c - removes a job's directory in a child process, so that the event loop does not block;
 * see jobfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "agent/enforce/jobfs/quota.h"
#include "agent/enforce/jobfs/wipe.h"
#include "common/err.h"

/* Moving directories up may need blocks of the job's own project when it is full. */
#define WIPE_BYTES ((int64_t)64 << 20)
#define WIPE_FILES 64
#define CHILD_NICE 10

struct jobfs_removing {
	struct jobfs *fs; /* NULL: abandoned */
	struct jobfs_job job;
	struct jobfs_removal how;
	sd_event_source *source;
	int fd; /* pipe from the child: struct verdict, or the end if it died */
	pid_t pid;
	struct jobfs_removing *next;
};

/* How the removal ended, as the child writes it. */
struct verdict {
	int result;
	struct err err;
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

/* Does not return. Ends with the agent, which lists what is left when it starts again. */
static void run_child(struct jobfs *fs, const struct jobfs_job *job, int out_fd, pid_t parent)
{
	struct verdict v = { 0 };
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigemptyset(&none);
	sigaction(SIGTERM, &plain, NULL);
	sigaction(SIGPIPE, &plain, NULL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "reeve-jobfs-rm");
	if (getppid() != parent)
		_exit(1);
	setpriority(PRIO_PROCESS, 0, CHILD_NICE);
	v.result = jobfs_wipe(fs, job, &v.err);
	if (write(out_fd, &v, sizeof(v)) != (ssize_t)sizeof(v))
		_exit(1);
	_exit(0);
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

/* Reaps the child too. A child that died without a verdict is -EIO: the directory stays and is removed by
 * the next try. */
static void read_verdict(struct jobfs_removing *rm, struct verdict *v)
{
	int status = 0;

	if (read(rm->fd, v, sizeof(*v)) != (ssize_t)sizeof(*v))
		v->result = -EIO;
	while (waitpid(rm->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (v->result == -EIO && !v->err.text[0])
		err_set(&v->err, -EIO, "the removal was interrupted (wait status %d)", status);
}

static int on_verdict(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct jobfs_removing *rm = arg;
	struct verdict v = { 0 };

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

static int start_child(struct jobfs *fs, struct jobfs_removing *rm, struct err *err)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(err, -errno, "pipe: %m");
	rm->fd = fds[0];
	rm->pid = fork();
	if (rm->pid == 0)
		run_child(fs, &rm->job, fds[1], parent);
	close(fds[1]);
	return rm->pid < 0 ? err_set(err, -errno, "fork: %m") : 0;
}

/* A child, since removing a million files takes minutes, and the limits of other jobs must not wait. */
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
	r = start_child(fs, rm, err);
	if (r < 0) {
		free_removing(rm);
		return r;
	}
	r = sd_event_add_io(how->event, &rm->source, rm->fd, EPOLLIN, on_verdict, rm);
	if (r < 0) {
		kill(rm->pid, SIGKILL);
		waitpid(rm->pid, NULL, 0);
		free_removing(rm);
		errno = -r;
		return err_set(err, r, "watch the removal: %m");
	}
	rm->next = fs->removing;
	fs->removing = rm;
	return 0;
}

/* The children go on until the agent exits (PR_SET_PDEATHSIG); on_verdict() frees each entry, but calls no
 * callback. */
void jobfs_abandon_removals(struct jobfs *fs)
{
	struct jobfs_removing *rm, *next;

	for (rm = fs->removing; rm; rm = next) {
		next = rm->next;
		rm->fs = NULL;
	}
	fs->removing = NULL;
}
