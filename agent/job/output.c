/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - stdout and stderr of jobs that stream, read as they grow; see job/output.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "agent/job/output.h"

#define CHUNK_MAX (256 << 10)

static const char *const names[2] = { "out", "err" };

/* Files of this job whose growth is sent: none of a job that writes into its own files or runs its command on
 * another node; one where stderr is joined to stdout. */
static int n_streams(const struct job *j)
{
	if (!j->s.request.stream || job_is_sister(j))
		return 0;
	return j->s.request.join ? 1 : 2;
}

/* Only root can make names in the job's directory, so no link of a user can be there. The file is
 * the user's: the job writes it by its path too. */
static int open_stream(struct job *j, const char *name, struct err *err)
{
	char path[4200];
	int fd;

	if (!job_file(j, name, path, sizeof(path)))
		return err_set(err, -ENOENT, "no job disk to keep output on");
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "make output file %s: %m", path);
	if (fchown(fd, j->s.request.uid, j->s.request.gid) < 0) {
		close(fd);
		return err_set(err, -errno, "hand output file %s to the user: %m", path);
	}
	return fd;
}

int job_output_create(struct job *j, int ret_fds[2], struct err *err)
{
	int out = open_stream(j, "out", err), two;

	if (out < 0)
		return out;
	/* The launcher always receives two descriptors; of a joined job both are the same file. */
	two = j->s.request.join ? fcntl(out, F_DUPFD_CLOEXEC, 3) : open_stream(j, "err", err);
	if (two < 0) {
		close(out);
		return two;
	}
	ret_fds[0] = out;
	ret_fds[1] = two;
	return 0;
}

/* The next exchange takes the new bytes along; many writes in between are one exchange. The end of the watch, with the file, comes
 * here too: it has nothing to report. */
static int on_grown(sd_event_source *s, const struct inotify_event *e, void *userdata)
{
	struct job *j = userdata;

	(void)s;
	if (j->node->uplink && e->mask & (IN_MODIFY | IN_Q_OVERFLOW))
		uplink_kick(j->node->uplink);
	return 0;
}

/* A file that is not there yet, or no memory: the output goes with the regular exchanges then. */
void job_output_watch(struct job *j)
{
	char path[4200];

	for (int i = 0; i < n_streams(j); i++)
		if (!j->streams[i].watch && job_file(j, names[i], path, sizeof(path)))
			sd_event_add_inotify(j->node->event, &j->streams[i].watch, path,
					     IN_MODIFY, on_grown, j);
}

static int64_t stream_size(const struct job *j, int i)
{
	struct stat st;
	char path[4200];

	return job_file(j, names[i], path, sizeof(path)) && stat(path, &st) == 0 ? st.st_size
										 : 0;
}

/* 1: *ret has data, or the end that the controller has not acknowledged; 0: nothing new. */
static int read_chunk(struct job *j, int i, struct sync_output *ret)
{
	static char buf[CHUNK_MAX]; /* valid until the next call, as the contract says */
	_cleanup_close_ int fd = -1;
	struct job_stream *s = &j->streams[i];
	char path[4200];
	ssize_t n = 0;

	if (job_file(j, names[i], path, sizeof(path)))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		n = pread(fd, buf, sizeof(buf), s->acked);
	if (n < 0)
		n = 0;
	*ret = (struct sync_output){ .job = j->s.job,
				     .attempt = j->s.attempt,
				     .stream = (enum sync_stream)i,
				     .offset = s->acked,
				     .data = buf,
				     .size = (size_t)n,
				     .is_end = j->phase == PHASE_DRAIN &&
					       s->acked + n >= stream_size(j, i) };
	return n > 0 || (ret->is_end && !s->ended);
}

/* Counts from the start of the list at each call: an exchange has few chunks, and the list may change between
 * two exchanges. */
int job_output_next(void *ctx, int index, struct sync_output *ret)
{
	struct node *n = ctx;

	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->phase < PHASE_RUNNING || j->phase > PHASE_DRAIN)
			continue;
		for (int i = 0; i < n_streams(j); i++)
			if (read_chunk(j, i, ret) && index-- == 0)
				return 1;
	}
	return 0;
}

/* The offset comes from the controller: it never moves back, and never beyond the file. In DRAIN the job goes
 * on once all of its output is acknowledged. */
void job_output_acked(struct job *j, enum sync_stream stream, int64_t offset)
{
	struct job_stream *s = &j->streams[stream];
	int64_t size = stream_size(j, (int)stream);

	if (offset > s->acked)
		s->acked = offset < size ? offset : size;
	if (j->phase == PHASE_DRAIN) {
		s->ended = s->acked >= size;
		if (job_output_is_taken(j))
			job_act_after(j, 0);
	}
}

bool job_output_is_taken(struct job *j)
{
	for (int i = 0; i < n_streams(j); i++)
		if (!j->streams[i].ended && j->streams[i].acked < stream_size(j, i))
			return false;
	return true;
}
