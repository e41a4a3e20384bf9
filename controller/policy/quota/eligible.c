/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eligible.c - checks running limits and the low-priority rule of windows; see eligible.h. */
#include <stdio.h>
#include "common/cleanup.h"
#include "controller/policy/quota/eligible.h"

/* What limits count: where it is in the struct, its name, and the unit in which messages show
 * it. */
static const struct side {
	size_t offset;
	const char *name;
	int64_t unit;
} sides[] = {
	{ offsetof(struct eligible_amounts, cores), "cores", 1 },
	{ offsetof(struct eligible_amounts, gpus), "GPUs", 1 },
	{ offsetof(struct eligible_amounts, memory_bytes), "MB", 1000000 },
	{ offsetof(struct eligible_amounts, jobs), "jobs", 1 },
};

static int64_t amount_of(const struct eligible_amounts *a, const struct side *s)
{
	return *(const int64_t *)(const void *)((const char *)a + s->offset);
}

static void add_amounts(struct eligible_amounts *to, const struct eligible_amounts *more,
			int sign)
{
	to->cores += sign * more->cores;
	to->gpus += sign * more->gpus;
	to->memory_bytes += sign * more->memory_bytes;
	to->jobs += sign * more->jobs;
}

const char *eligible_scope_name(const struct eligible_scope *s,
				char buf[static ELIGIBLE_NAME_MAX])
{
	if (s->kind == ELIGIBLE_USER)
		snprintf(buf, ELIGIBLE_NAME_MAX, "user %s", s->name);
	else if (s->kind == ELIGIBLE_ACCOUNT)
		snprintf(buf, ELIGIBLE_NAME_MAX, "account %s", s->name);
	else if (s->kind == ELIGIBLE_ASSOCIATION)
		snprintf(buf, ELIGIBLE_NAME_MAX, "user %s in account %s", s->name, s->of);
	else if (s->kind == ELIGIBLE_GROUP_USER)
		snprintf(buf, ELIGIBLE_NAME_MAX, "user %s in group %s", s->name, s->of);
	else
		snprintf(buf, ELIGIBLE_NAME_MAX, "user %s in %s %s", s->name,
			 s->kind == ELIGIBLE_QOS ? "QOS" : "queue", s->of);
	return buf;
}

/* ELIGIBLE_NO_LIMIT: none. A value beyond 64 bits limits nothing. */
static int64_t multiple_of(const struct eligible_scope *s, const struct side *side)
{
	int64_t each = amount_of(&s->per_share, side), all;

	if (!s->has_shares || side->offset == offsetof(struct eligible_amounts, jobs) ||
	    each == ELIGIBLE_NO_LIMIT || __builtin_mul_overflow(each, s->shares, &all))
		return ELIGIBLE_NO_LIMIT;
	return all;
}

void eligible_multiply_shares(struct eligible_scope *s)
{
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		int64_t *limit = (int64_t *)(void *)((char *)&s->limit + sides[i].offset);
		int64_t all = multiple_of(s, &sides[i]);

		if (all != ELIGIBLE_NO_LIMIT && (*limit == ELIGIBLE_NO_LIMIT || all < *limit))
			*limit = all;
	}
}

/* " (20 for each of 5 shares)", if that decides the limit. */
static const char *say_shares(const struct eligible_scope *s, const struct side *side,
			      char buf[static ELIGIBLE_NAME_MAX])
{
	buf[0] = '\0';
	if (multiple_of(s, side) == amount_of(&s->limit, side))
		snprintf(buf, ELIGIBLE_NAME_MAX, " (%lld for each of %lld share%s)",
			 (long long)(amount_of(&s->per_share, side) / side->unit),
			 (long long)s->shares, s->shares == 1 ? "" : "s");
	return buf;
}

/* The limit that the job would exceed; NULL: none. An amount of 0 exceeds none: a CPU job may
 * run beside GPU jobs that exceed a limit which was lowered since. `limit - running` cannot
 * overflow: both are >= 0. */
static const struct side *find_passed(const struct eligible_scope *s,
				      const struct eligible_amounts *running,
				      const struct eligible_amounts *want)
{
	for (size_t i = 0; i < ARRAY_LEN(sides); i++) {
		int64_t limit = amount_of(&s->limit, &sides[i]), w = amount_of(want, &sides[i]);

		if (limit != ELIGIBLE_NO_LIMIT && w > 0 &&
		    w > limit - amount_of(running, &sides[i]))
			return &sides[i];
	}
	return NULL;
}

bool eligible_is_possible(const struct eligible_world *w, const struct eligible_job *j,
			  char why[static ELIGIBLE_WHY_MAX])
{
	static const struct eligible_amounts nothing;

	why[0] = '\0';
	for (size_t i = 0; i < j->n_scopes; i++) {
		const struct eligible_scope *s = &w->scopes[j->scopes[i]];
		const struct side *side = find_passed(s, &nothing, &j->want);
		char who[ELIGIBLE_NAME_MAX], shares[ELIGIBLE_NAME_MAX];

		if (!side)
			continue;
		snprintf(why, ELIGIBLE_WHY_MAX,
			 "it needs %lld %s, and %s may run %lld at once%s",
			 (long long)(amount_of(&j->want, side) / side->unit), side->name,
			 eligible_scope_name(s, who),
			 (long long)(amount_of(&s->limit, side) / side->unit),
			 say_shares(s, side, shares));
		return false;
	}
	return true;
}

/* Limits first: their reason names a number that a user can act on. */
bool eligible_check(const struct eligible_world *w, const struct eligible_job *j,
		    char why[static ELIGIBLE_WHY_MAX])
{
	why[0] = '\0';
	for (size_t i = 0; i < j->n_scopes; i++) {
		const struct eligible_scope *s = &w->scopes[j->scopes[i]];
		const struct side *side = find_passed(s, &s->running, &j->want);
		char who[ELIGIBLE_NAME_MAX], shares[ELIGIBLE_NAME_MAX];

		if (!side)
			continue;
		snprintf(why, ELIGIBLE_WHY_MAX,
			 "limit of %s: %lld %s at once%s, %lld run, this job needs %lld",
			 eligible_scope_name(s, who),
			 (long long)(amount_of(&s->limit, side) / side->unit), side->name,
			 say_shares(s, side, shares),
			 (long long)(amount_of(&s->running, side) / side->unit),
			 (long long)(amount_of(&j->want, side) / side->unit));
		return false;
	}
	if (j->has_quota || w->pending == 0)
		return true;
	snprintf(why, ELIGIBLE_WHY_MAX,
		 "low priority: account %s has no quota left, and %lld job%s of accounts with "
		 "quota left wait%s here",
		 j->account, (long long)w->pending, w->pending == 1 ? "" : "s",
		 w->pending == 1 ? "s" : "");
	return false;
}

void eligible_start(struct eligible_world *w, const struct eligible_job *j)
{
	eligible_add(w, j);
	if (j->has_quota && w->pending > 0)
		w->pending--;
}

void eligible_undo(struct eligible_world *w, const struct eligible_job *j)
{
	eligible_remove(w, j);
	w->pending += j->has_quota;
}

void eligible_add(struct eligible_world *w, const struct eligible_job *j)
{
	for (size_t i = 0; i < j->n_scopes; i++)
		add_amounts(&w->scopes[j->scopes[i]].running, &j->want, 1);
}

void eligible_remove(struct eligible_world *w, const struct eligible_job *j)
{
	for (size_t i = 0; i < j->n_scopes; i++)
		add_amounts(&w->scopes[j->scopes[i]].running, &j->want, -1);
}
