/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.c - stdout and stderr of steps: files on the job's disk, read along as they
 * grow. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "agent/step/steps_impl.h"

#define CHUNK_MAX (256 << 10)

static const char *path_of(const struct steps *all, const struct step *s, int stream, char *buf,
			   size_t size)
{
	const struct job *j = steps_job(all, s);

	return j && j->phase <= PHASE_DRAIN ? steps_output_path(j, s, stream, buf, size) : NULL;
}

static int on_grown(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
	struct steps *all = userdata;

	(void)source, (void)e;
	uplink_kick(all->node->uplink);
	return 0;
}

void steps_output_watch(struct steps *all, struct step *s)
{
	char path[4300];

	for (int i = 0; i < 2; i++)
		if (!s->streams[i].watch && path_of(all, s, i, path, sizeof(path)))
			sd_event_add_inotify(all->node->event, &s->streams[i].watch, path,
					     IN_MODIFY, on_grown, all);
	/* For what was written before the watch. */
	uplink_kick(all->node->uplink);
}

/* -1: there is no such file. */
static int64_t size_of(const struct steps *all, const struct step *s, int stream)
{
	struct stat st;
	char path[4300];

	return path_of(all, s, stream, path, sizeof(path)) && stat(path, &st) == 0 ? st.st_size
										   : -1;
}

void steps_output_fix(struct steps *all, struct step *s)
{
	for (int i = 0; i < 2; i++)
		s->streams[i].size = size_of(all, s, i);
}

/* Of a step that has ended also its end, which is_taken marks as acknowledged. */
static bool has_more(const struct steps *all, const struct step *s, int stream)
{
	const struct step_stream *st = &s->streams[stream];

	if (s->phase == STEP_DRAINS)
		return !st->is_taken && st->size >= 0;
	return s->phase == STEP_RUNS && size_of(all, s, stream) > st->acked;
}

static void read_chunk(struct steps *all, struct step *s, int i, struct sync_output *ret)
{
	static char buf[CHUNK_MAX]; /* valid until the next call, as the contract says */
	_cleanup_close_ int fd = -1;
	const struct step_stream *st = &s->streams[i];
	char path[4300];
	ssize_t n = 0;

	if (path_of(all, s, i, path, sizeof(path)))
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		n = pread(fd, buf, sizeof(buf), st->acked);
	if (n < 0)
		n = 0;
	if (s->phase == STEP_DRAINS && n > st->size - st->acked)
		n = st->size - st->acked;
	*ret = (struct sync_output){ .job = s->id.job,
				     .attempt = s->id.attempt,
				     .step = s->id.step,
				     .stream = (enum sync_stream)i,
				     .offset = st->acked,
				     .data = buf,
				     .size = (size_t)n,
				     .is_end = s->phase == STEP_DRAINS &&
					       (st->acked + n >= st->size || fd < 0) };
}

/* Callers count `index` up from 0; the cursor continues where the call before stopped, so a list of many
 * steps is walked once for a document. */
int steps_output_next(struct node *n, int index, struct sync_output *ret)
{
	struct steps *all = n->steps;
	struct steps_cursor *c = &all->cursor;

	if (index == 0)
		*c = (struct steps_cursor){ .at = all->table.first };
	for (; c->at; c->at = c->at->next, c->stream = 0)
		while (c->stream < 2) {
			int stream = c->stream++;

			if (!has_more(all, c->at, stream) || c->index++ < index)
				continue;
			read_chunk(all, c->at, stream, ret);
			return 1;
		}
	return 0;
}

struct step *steps_output_set_acked(struct steps *all, const struct sync_output_ack *ack)
{
	struct step *s = step_find(&all->table,
				   (struct sync_step_id){ ack->job, ack->step, ack->attempt });
	struct step_stream *st = s ? &s->streams[ack->stream] : NULL;
	int64_t size;

	if (!s)
		return NULL;
	size = s->phase == STEP_DRAINS ? st->size : size_of(all, s, (int)ack->stream);
	if (ack->offset > st->acked && size > st->acked)
		st->acked = ack->offset < size ? ack->offset : size;
	st->is_taken = s->phase == STEP_DRAINS && st->acked >= size;
	return s;
}

bool steps_output_is_taken(struct steps *all, struct step *s)
{
	for (int i = 0; i < 2; i++)
		if (!s->streams[i].is_taken && size_of(all, s, i) >= 0)
			return false;
	return true;
}

void steps_output_remove(struct steps *all, struct step *s)
{
	char path[4300];

	for (int i = 0; i < 2; i++) {
		s->streams[i].watch = sd_event_source_disable_unref(s->streams[i].watch);
		if (path_of(all, s, i, path, sizeof(path)))
			unlink(path);
	}
}
