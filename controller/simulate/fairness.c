/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairness.c - integrates what each group had and was entitled to, in constant time an event;
 * see fairness.h. */
#include <errno.h>
#include <stdbool.h>
#include "controller/simulate/fairness.h"

struct group {
	int64_t shares, waiting, held;
	int64_t since_s;   /* got and used are up to date until then */
	double level_then; /* f->level when entitled was */
	double used_s, got_s, entitled_s;
};

struct sim_fairness {
	size_t n;
	int64_t now_s;
	int64_t held, shares; /* of the backlogged groups */
	double level;	      /* integral of held / shares */
	double total_s;	      /* integral of held */
	struct group groups[];
};

int sim_fairness_new(size_t n, const int64_t *shares, struct sim_fairness **ret)
{
	struct sim_fairness *f = calloc(1, sizeof(*f) + n * sizeof(f->groups[0]));

	if (!f)
		return -ENOMEM;
	f->n = n;
	for (size_t i = 0; i < n; i++)
		f->groups[i].shares = shares ? shares[i] : 1;
	*ret = f;
	return 0;
}

struct sim_fairness *sim_fairness_free(struct sim_fairness *f)
{
	free(f);
	return NULL;
}

/* `level` is the entitlement of one share so far. While no backlogged group has shares it
 * stands. */
static void advance_clock(struct sim_fairness *f, int64_t now_s)
{
	double held_s = (double)f->held * (double)(now_s - f->now_s);

	f->now_s = now_s;
	f->total_s += held_s;
	if (f->shares > 0)
		f->level += held_s / (double)f->shares;
}

/* Brings a group's integrals up to the clock: must run before any of its numbers change. */
static void settle_group(const struct sim_fairness *f, struct group *g)
{
	double held_s = (double)g->held * (double)(f->now_s - g->since_s);

	g->used_s += held_s;
	if (g->waiting > 0) {
		g->got_s += held_s;
		g->entitled_s += (double)g->shares * (f->level - g->level_then);
	}
	g->since_s = f->now_s;
	g->level_then = f->level;
}

void sim_fairness_wait(struct sim_fairness *f, uint32_t group, int64_t now_s, int jobs)
{
	struct group *g = &f->groups[group];
	bool was = g->waiting > 0, is;

	advance_clock(f, now_s);
	settle_group(f, g);
	g->waiting += jobs;
	is = g->waiting > 0;
	f->held += (is - was) * g->held;
	f->shares += (is - was) * g->shares;
}

void sim_fairness_hold(struct sim_fairness *f, uint32_t group, int64_t now_s, int64_t cores)
{
	struct group *g = &f->groups[group];

	advance_clock(f, now_s);
	settle_group(f, g);
	g->held += cores;
	if (g->waiting > 0)
		f->held += cores;
}

void sim_fairness_group(const struct sim_fairness *f, uint32_t group, struct sim_group *ret)
{
	struct group g = f->groups[group];

	settle_group(f, &g);
	*ret = (struct sim_group){ .shares = g.shares,
				   .used_s = g.used_s,
				   .got_s = g.got_s,
				   .entitled_s = g.entitled_s };
	if (f->total_s > 0)
		ret->deviation = (g.got_s - g.entitled_s) / f->total_s;
}

size_t sim_fairness_groups(const struct sim_fairness *f)
{
	return f->n;
}
