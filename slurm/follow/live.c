/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.c - sends those of slurmctld's jobs that have changed since they were last sent; see live.h. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <slurm/slurm.h>
#include "common/err.h"
#include "common/hash.h"
#include "slurm/follow/accounting.h"
#include "slurm/follow/batch.h"
#include "slurm/follow/read/jobtable.h"
#include "slurm/follow/live.h"
#include "slurm/follow/read/record.h"

/* What was last sent of an attempt. */
struct live_sent {
	int64_t job, attempt;
	uint64_t digest;
	int64_t at_s;
};

struct live {
	struct live_sent *sent; /* sorted by job and attempt */
	size_t n_sent;
};

/* The documents of a round, and what will have been sent with them. */
struct live_round {
	struct slurm_batch batch;
	struct live_sent *sent;
	size_t n_sent;
};

int live_open(struct live **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

struct live *live_close(struct live *l)
{
	if (!l)
		return NULL;
	free(l->sent);
	free(l);
	return NULL;
}

int64_t live_interval_s(const struct follow *f)
{
	int64_t rest_s = jobtable_rest_s(f->jobtable);

	return rest_s > f->config.live_s ? rest_s : f->config.live_s;
}

/* FNV-1a over the fields of the record; it was zeroed before they were set. */
static uint64_t digest_of(const struct slurm_batch_job *j)
{
	struct slurm_batch_job copy = *j;

	/* Of a suspended job it grows with each look. */
	if (copy.state == SLURM_BATCH_SUSPENDED)
		copy.suspended_s = 0;
	return hash_bytes(HASH_BEGIN, &copy, sizeof(copy));
}

static int compare_sent(const void *a, const void *b)
{
	const struct live_sent *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* The controller has it as it is. */
static bool is_known(const struct follow *f, const struct live_sent *now, bool has_ended)
{
	const struct live *l = f->live;
	const struct live_sent *was =
		l->n_sent ? bsearch(now, l->sent, l->n_sent, sizeof(*was), compare_sent) : NULL;

	return was && was->digest == now->digest &&
	       (has_ended || now->at_s - was->at_s < f->config.progress_s);
}

/* slurmctld gives the name only where it had to look it up itself. */
static void set_user(struct slurm_batch_job *j)
{
	const struct passwd *pw = *j->user ? NULL : getpwuid((uid_t)j->uid);

	if (pw)
		snprintf(j->user, sizeof(j->user), "%.63s", pw->pw_name);
}

/* Adds one job of slurmctld to the round: to the list of what is there, and to the jobs to send where the
 * controller does not have it as it is. An attempt that is not sent keeps the time of its last report, so that
 * ProgressInterval runs on. */
static void add_job(const struct follow *f, const slurm_job_info_t *info,
		    struct live_round *round)
{
	struct slurm_batch *b = &round->batch;
	struct slurm_batch_job *j = &b->jobs[b->n_jobs];
	struct live_sent now = { info->job_id, info->restart_cnt + 1, 0, b->at_s };

	if (record_is_present(info))
		b->present[b->n_present++] =
			(struct slurm_batch_present){ now.job, now.attempt };
	memset(j, 0, sizeof(*j));
	if (!record_from_slurmctld(info, b->at_s, j))
		return;
	set_user(j);
	now.digest = digest_of(j);
	if (is_known(f, &now, j->end_s > 0)) {
		const struct live_sent *was = bsearch(&now, f->live->sent, f->live->n_sent,
						      sizeof(*was), compare_sent);

		now.at_s = was->at_s;
	} else {
		b->n_jobs++;
	}
	round->sent[round->n_sent++] = now;
}

static void round_done(struct live_round *r)
{
	free(r->batch.jobs);
	free(r->batch.present);
	free(r->sent);
}

/* The time is slurmctld's, and not this host's: the controller compares it with the times of the jobs. */
static int fill_round(const struct follow *f, struct live_round *r, struct err *err)
{
	const job_info_msg_t *jobs = jobtable_jobs(f->jobtable);
	size_t n = jobs->record_count;
	struct slurm_batch *b = &r->batch;

	b->source = SLURM_BATCH_SLURMCTLD;
	b->at_s = jobtable_at_s(f->jobtable);
	b->is_whole = true;
	snprintf(b->cluster, sizeof(b->cluster), "%s", f->config.cluster);
	b->jobs = calloc(n + 1, sizeof(*b->jobs));
	b->present = calloc(n + 1, sizeof(*b->present));
	r->sent = calloc(n + 1, sizeof(*r->sent));
	if (!b->jobs || !b->present || !r->sent)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		add_job(f, &jobs->job_array[i], r);
	/* Too many to list. Without a whole list the controller concludes of no attempt that it is gone. */
	if (b->n_present > SLURM_BATCH_PRESENT_MAX) {
		b->is_whole = false;
		b->n_present = 0;
	}
	qsort(r->sent, r->n_sent, sizeof(*r->sent), compare_sent);
	return 0;
}

/* What was sent is remembered only after the controller has stored all of it: a round that fails is sent again
 * whole. */
int live_run(struct follow *f, struct err *err)
{
	_cleanup_(round_done) struct live_round round = { 0 };
	struct slurm_batch_answer answer;
	int r = jobtable_refresh(f, f->config.live_s / 2, err);

	round.batch.asked_ns = jobtable_began_ns(f->jobtable);
	if (r >= 0)
		r = fill_round(f, &round, err);
	if (r >= 0)
		r = batch_send(f, &round.batch, &answer, err);
	if (r < 0)
		return r;
	free(f->live->sent);
	f->live->sent = TAKE_PTR(round.sent);
	f->live->n_sent = round.n_sent;
	accounting_set_wanted(f, &answer);
	slurm_batch_answer_done(&answer);
	return 0;
}
