/* SPDX-License-Identifier: GPL-2.0-or-later */
/* future.c - when queued jobs start: runs the passes to come on a copy of a schedule. */
#include <errno.h>
#include <stdlib.h>
#include "controller/scheduler/schedule_impl.h"

struct schedule_future {
	struct schedule *s; /* the copy */
	int64_t now_s;
	int32_t n_passes; /* done, with the one under way */
	bool has_ended;
};

static int copy_node(struct schedule *to, const struct schedule *from, const struct node *n)
{
	struct schedule_node new = { .cores = n->cores,
				     .mem_bytes = n->mem_bytes,
				     .jobfs_bytes = n->jobfs_bytes,
				     .features = n->features,
				     .is_open = n->is_open,
				     .closed_from_s = n->closed_from_s };

	for (int m = 1; n->gpus >= 0 && m < NODE_MODELS; m++)
		new.gpus[m] = (int16_t)from->gpus[n->gpus].has[m];
	return schedule_add_node(to, &new);
}

static int copy_job(struct schedule *to, const struct schedule *from, const struct job *j,
		    int32_t *ret)
{
	struct schedule_allocation h = { j->state, j->nodes, j->since_s };
	int r = j->state == SCHEDULE_QUEUED ? schedule_add(to, &j->pub, ret)
					    : schedule_add_allocated(to, &j->pub, &h, ret);

	if (r == 0)
		schedule_set_blocked(to, *ret, j->is_blocked || job_is_limited(from, j));
	return r;
}

/* On failure *ret, which may be NULL, needs schedule_free(). */
static int copy_schedule(const struct schedule *s, struct schedule **ret)
{
	struct schedule_config config = s->config;
	int r;

	config.may_start = NULL; /* jobs that limits refuse now are blocked in the copy */
	config.on_start = NULL;
	r = schedule_new(&config, ret);
	for (size_t i = 0; i < s->n_nodes && r == 0; i++)
		r = copy_node(*ret, s, &s->nodes[i]);
	if (r == 0)
		schedule_edit_begin(*ret);
	for (size_t b = 0; b < s->n_blocks * BLOCK && r == 0; b++) {
		const struct job *j = job_at(s, (int32_t)b);
		int32_t new;

		if (!j->is_used)
			continue;
		r = copy_job(*ret, s, j, &new);
	}
	return r == 0 ? schedule_edit_end(*ret) : r;
}

/* Removes the running jobs that end next. Returns when they end. */
static int64_t end_next_jobs(struct schedule *s, int64_t now_s)
{
	int64_t end_s = job_at(s, s->running[0])->end_s;

	while (s->n_running && job_at(s, s->running[0])->end_s == end_s)
		schedule_remove(s, s->running[0]);
	return end_s > now_s ? end_s : now_s + 1;
}

struct schedule_future *schedule_future_free(struct schedule_future *f)
{
	if (!f)
		return NULL;
	schedule_free(f->s);
	free(f);
	return NULL;
}

int schedule_future_new(const struct schedule *s, int64_t now_s, struct schedule_future **ret)
{
	_cleanup_(schedule_future_freep) struct schedule_future *f = calloc(1, sizeof(*f));
	int r = f ? copy_schedule(s, &f->s) : -ENOMEM;

	if (r < 0)
		return r;
	f->now_s = now_s;
	*ret = f;
	f = NULL;
	return 0;
}

static bool report_starts(const struct schedule_future *f,
			  const struct schedule_action *actions, size_t n,
			  const struct schedule_watcher *w)
{
	for (size_t i = 0; i < n; i++)
		if (actions[i].what == SCHEDULE_START &&
		    !w->on_start(w->ctx, job_at(f->s, actions[i].job)->pub.id, f->now_s))
			return false;
	return true;
}

/* One pass, or the rest of it. 1: no time is left. */
static int run_pass(struct schedule_future *f, const struct schedule_watcher *w,
		    const struct schedule_budget *b)
{
	const struct schedule_action *actions;
	size_t n;
	int r;

	if (!f->s->pass.is_under_way) {
		schedule_pass_begin(f->s, f->now_s);
		f->n_passes++;
	}
	r = schedule_pass_go_on(f->s, b, &actions, &n);
	if (r != 0)
		return r;
	f->has_ended = !report_starts(f, actions, n, w) || !f->s->n_running;
	if (!f->has_ended)
		f->now_s = end_next_jobs(f->s, f->now_s);
	return 0;
}

int schedule_future_run(struct schedule_future *f, int32_t max_passes,
			const struct schedule_watcher *w, const struct schedule_budget *b)
{
	int r = 0;

	for (bool is_first = true; r == 0 && !f->has_ended; is_first = false) {
		if (!f->s->pass.is_under_way && f->n_passes == max_passes)
			break;
		if (!is_first && b && !b->has_time(b->ctx))
			return 1;
		r = run_pass(f, w, b);
	}
	return r;
}
