/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.c - walks both sorted lists side by side; see compare.h. */
#include <stdlib.h>
#include "cli/admin/reconcile/compare.h"

struct comparison {
	struct compare *how;
	struct err *err;
};

const char *compare_name(enum compare_what what)
{
	static const char *const names[_COMPARE_MAX] = {
		[COMPARE_NOT_IN_LEDGER] = "not in the ledger",
		[COMPARE_NOT_IN_SLURMDBD] = "not in slurmdbd",
		[COMPARE_START] = "start",
		[COMPARE_END] = "end",
		[COMPARE_SUSPENDED] = "suspended",
		[COMPARE_STATE] = "state",
		[COMPARE_CPUS] = "cpus",
	};

	return names[what];
}

static int compare_keys(const void *a, const void *b)
{
	const struct slurm_batch_job *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->submit_s > y->submit_s) - (x->submit_s < y->submit_s);
}

/* A job that was cancelled while it waited has no node, and a start that means nothing. */
static bool has_run(const struct slurm_batch_job *j)
{
	return j->start_s > 0 && *j->nodes;
}

/* 0 also where times contradict each other: the sums are shown beside the differences, and such a row is one. */
static int64_t cpu_seconds(const struct slurm_batch_job *j)
{
	int64_t s = j->end_s - j->start_s - j->suspended_s;

	return has_run(j) && s > 0 ? s * j->ncpus : 0;
}

static int add_difference(struct comparison *c, enum compare_what what,
			  const struct slurm_batch_job *ledger,
			  const struct slurm_batch_job *slurmdbd)
{
	const struct compare_difference d = { what, ledger, slurmdbd };

	c->how->sums.n_differences++;
	return c->how->fn(c->how->ctx, &d, c->err);
}

/* The ledger's figure against slurmdbd's; see COMPARE_AGENT_S. */
static bool is_apart(int64_t a, int64_t b, bool by_agent)
{
	return by_agent ? a > b + COMPARE_AGENT_S || b > a + COMPARE_AGENT_S : a != b;
}

/* Slurm ends the job of a lost node when it notices; the agent knows when its last process went, or that it never had one. */
static bool is_noticed_late(const struct slurm_batch_job *a, const struct slurm_batch_job *b)
{
	return a->by_agent && b->state == SLURM_BATCH_NODE_FAIL && a->end_s &&
	       a->end_s >= a->start_s && a->end_s <= b->end_s;
}

/* Slurm ended it while its Prolog ran: the agent saw no task of it. */
static bool is_taskless(const struct slurm_batch_job *a, const struct slurm_batch_job *b)
{
	return a->by_agent && !a->start_s && a->end_s && b->end_s >= b->start_s &&
	       b->end_s - b->start_s <= COMPARE_AGENT_S;
}

/* Every figure that differs is a difference of its own. */
static int compare_times(struct comparison *c, const struct slurm_batch_job *a,
			 const struct slurm_batch_job *b)
{
	bool is_late = is_noticed_late(a, b);
	bool has_start = a->start_s || !(is_late || is_taskless(a, b));
	int r = 0;

	if (has_start && is_apart(a->start_s, b->start_s, a->by_agent))
		r = add_difference(c, COMPARE_START, a, b);
	if (r >= 0 && is_apart(a->end_s, b->end_s, a->by_agent) && !is_late)
		r = add_difference(c, COMPARE_END, a, b);
	if (r >= 0 && is_apart(a->suspended_s, b->suspended_s, a->by_agent))
		r = add_difference(c, COMPARE_SUSPENDED, a, b);
	if (r >= 0 && a->ncpus != b->ncpus)
		r = add_difference(c, COMPARE_CPUS, a, b);
	return r;
}

/* What explains sums that differ though no attempt does. */
static void count_explained(struct compare_sums *sums, const struct slurm_batch_job *a,
			    const struct slurm_batch_job *b)
{
	int64_t s = cpu_seconds(a) - cpu_seconds(b);

	if (is_noticed_late(a, b)) {
		sums->n_noticed_late++;
		sums->s_noticed_late -= s;
	} else if (a->by_agent) {
		sums->s_agent += s;
	}
}

/* The state always; times and CPUs only where one side says that the attempt ran. */
static int compare_pair(struct comparison *c, const struct slurm_batch_job *a,
			const struct slurm_batch_job *b)
{
	int r = a->state != b->state ? add_difference(c, COMPARE_STATE, a, b) : 0;

	count_explained(&c->how->sums, a, b);
	if (r >= 0 && (has_run(a) || has_run(b)))
		r = compare_times(c, a, b);
	return r;
}

/* l->of[i], which slurmdbd lacks, is a run that slurmctld has forgotten. Of one id those without a time of submission come first. */
static bool is_forgotten(const struct compare_list *l, size_t i)
{
	const struct slurm_batch_job *a = &l->of[i];

	if (a->submit_s || !a->by_agent || !a->end_s)
		return false;
	for (size_t k = i + 1; k < l->n && l->of[k].job == a->job; k++)
		if (l->of[k].submit_s && l->of[k].attempt == a->attempt &&
		    l->of[k].start_s >= a->end_s)
			return true;
	return false;
}

static int walk_lists(struct comparison *c, const struct compare_list *l,
		      const struct compare_list *d)
{
	size_t i = 0, k = 0;
	int r = 0;

	while (r >= 0 && (i < l->n || k < d->n)) {
		int order = i == l->n ? 1 : k == d->n ? -1 : compare_keys(&l->of[i], &d->of[k]);

		if (order < 0 && is_forgotten(l, i)) {
			c->how->sums.n_forgotten++;
			c->how->sums.s_forgotten += cpu_seconds(&l->of[i]);
		} else if (order < 0) {
			r = add_difference(c, COMPARE_NOT_IN_SLURMDBD, &l->of[i], NULL);
		} else if (order > 0) {
			r = add_difference(c, COMPARE_NOT_IN_LEDGER, NULL, &d->of[k]);
		} else {
			r = compare_pair(c, &l->of[i], &d->of[k]);
		}
		i += order <= 0;
		k += order >= 0;
	}
	return r;
}

int compare_lists(struct compare *how, struct compare_list *ledger,
		  struct compare_list *slurmdbd, struct err *err)
{
	struct comparison c = { how, err };
	struct compare_sums *sums = &how->sums;

	*sums = (struct compare_sums){ .n_ledger = (int64_t)ledger->n,
				       .n_slurmdbd = (int64_t)slurmdbd->n };
	if (ledger->n)
		qsort(ledger->of, ledger->n, sizeof(*ledger->of), compare_keys);
	if (slurmdbd->n)
		qsort(slurmdbd->of, slurmdbd->n, sizeof(*slurmdbd->of), compare_keys);
	for (size_t i = 0; i < ledger->n; i++)
		sums->s_ledger += cpu_seconds(&ledger->of[i]);
	for (size_t i = 0; i < slurmdbd->n; i++)
		sums->s_slurmdbd += cpu_seconds(&slurmdbd->of[i]);
	return walk_lists(&c, ledger, slurmdbd);
}
