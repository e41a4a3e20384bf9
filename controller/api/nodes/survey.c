/* SPDX-License-Identifier: GPL-2.0-or-later */
/* survey.c - reads what runs, a part after the other, from where the last part ended. See survey.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/nodes/survey.h"

#define PART 1000 /* rows: some milliseconds */

static void restart_pass(struct survey *s)
{
	s->n = 0;
	s->n_jobs = 0;
	s->in_use = (struct resources){ 0 };
	*s->at_node = '\0';
	s->at = (struct store_running_place){ .node = s->at_node, .limit = PART };
	s->is_whole = false;
	s->n_turns = 0;
	s->took_ns = 0;
}

struct survey *survey_free(struct survey *s)
{
	if (!s)
		return NULL;
	free(s->jobs);
	names_done(&s->nodes);
	names_done(&s->accounts);
	free(s);
	return NULL;
}

/* ---- a row ---- */

static void add_use(struct survey *s, const struct store_running *r)
{
	s->n_jobs++;
	if (r->is_node_lost)
		return;
	s->in_use.ncpus += r->frees_cores ? 0 : r->ncpus;
	s->in_use.mem_bytes += r->mem_bytes;
	s->in_use.jobfs_bytes += r->jobfs_bytes;
	s->in_use.ngpus += r->ngpus;
}

static int grow_jobs(struct survey *s, struct err *err)
{
	size_t size = s->size ? s->size * 2 : 256;
	struct survey_job *jobs = realloc(s->jobs, size * sizeof(*jobs));

	if (!jobs)
		return err_set(err, -ENOMEM, "out of memory");
	s->jobs = jobs;
	s->size = size;
	return 0;
}

static int64_t idle_core_ms(const struct store_running *r)
{
	return r->cpu_ns < 0 ? 0 : r->ncpus * (r->running_ns / MS_NS) - r->cpu_ns / MS_NS;
}

static int add_job(struct survey *s, const struct store_running *r, struct err *err)
{
	struct survey_job j = { .job = r->job,
				.at_ns = r->at_ns,
				.running_ns = r->running_ns,
				.gpu_idle_ns = r->gpu_idle_ns,
				.idle_core_ms = idle_core_ms(r),
				.node = names_number(&s->nodes, r->node),
				.account = names_number(&s->accounts, r->account),
				.uid = r->uid };

	if (j.node < 0 || j.account < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (s->n == s->size && grow_jobs(s, err) < 0)
		return -ENOMEM;
	s->jobs[s->n++] = j;
	return 0;
}

static int add_running(void *ctx, const struct store_running *r, struct err *err)
{
	struct survey *s = ctx;

	add_use(s, r);
	s->at.job = r->job;
	if (strcmp(s->at_node, r->node) != 0)
		snprintf(s->at_node, sizeof(s->at_node), "%s", r->node);
	return r->is_suspended || !r->at_ns ? 0 : add_job(s, r, err);
}

/* ---- the pass ---- */

static int read_part(struct survey *s, struct store *store, struct err *err)
{
	int64_t before = s->n_jobs;
	int r = store_running_after(store, &s->at, add_running, s, err);

	if (r < 0) {
		restart_pass(s);
		return r;
	}
	s->is_whole = s->n_jobs - before < PART;
	return 0;
}

/* A pass that was left halfway is of no use any more when its first jobs were read long ago. */
static bool is_usable(const struct survey *s, int64_t now_ns)
{
	int64_t keep_ns = SURVEY_KEEP_NS;

	if (s->is_whole && s->took_ns * SURVEY_PER_PASS > keep_ns)
		keep_ns = s->took_ns * SURVEY_PER_PASS;
	if (keep_ns > SURVEY_KEEP_MOST_NS)
		keep_ns = SURVEY_KEEP_MOST_NS;
	return s->n_turns && now_ns - s->read_ns < keep_ns && (!s->is_whole || s->n_turns > 1);
}

static bool is_turn_over(const struct api *a)
{
	return a->turn_until_ns && api_monotonic_ns() >= a->turn_until_ns;
}

static int read_turn(struct api *a, struct survey *s, struct err *err)
{
	int64_t from_ns = api_monotonic_ns();
	int r;

	s->n_turns++;
	do
		r = read_part(s, a->c.store, err);
	while (r >= 0 && !s->is_whole && !is_turn_over(a));
	s->read_ns = api_monotonic_ns();
	s->took_ns += s->read_ns - from_ns;
	if (r >= 0 && !s->is_whole)
		return err_set(err, -EAGAIN, "what runs on the nodes is being read");
	return r;
}

int survey_take(struct api *a, const struct survey **ret, struct err *err)
{
	int r = 0;

	if (!a->survey) {
		a->survey = calloc(1, sizeof(*a->survey));
		if (!a->survey)
			return err_set(err, -ENOMEM, "out of memory");
	}
	if (!is_usable(a->survey, api_monotonic_ns()))
		restart_pass(a->survey);
	if (!a->survey->is_whole)
		r = read_turn(a, a->survey, err);
	*ret = a->survey;
	return r;
}
