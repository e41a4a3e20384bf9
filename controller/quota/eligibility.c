/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eligibility.c - reads active jobs and quotas once a cycle and answers for each job; see
 * eligibility.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/quota/eligibility.h"
#include "controller/quota/scopes.h"

/* Whether an account has quota left, and when that was read. */
struct account_state {
	struct account_state *next;
	char account[REQUEST_NAME_MAX], cluster[REQUEST_NAME_MAX];
	enum charge_pool pool;
	int64_t at_ns;
	bool has_quota;
};

struct eligibility_job {
	int64_t job;
	struct eligible_amounts want;
	size_t first, n; /* its scopes: eligibility.indices */
	struct account_state *state;
};

struct eligibility {
	bool is_open; /* no limits and no windows: every job may start */
	struct scopes *scopes;
	struct account_state *accounts;
	struct eligibility_job *jobs; /* queued ones of the cluster, by number */
	size_t n, room;
	int32_t *indices;
	size_t n_indices, indices_room;
	const char *cluster;
};

int eligibility_new(struct eligibility **ret, struct err *err)
{
	struct eligibility *g = calloc(1, sizeof(*g));

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	g->is_open = true;
	*ret = g;
	return 0;
}

struct eligibility *eligibility_free(struct eligibility *g)
{
	if (!g)
		return NULL;
	while (g->accounts) {
		struct account_state *s = g->accounts;

		g->accounts = s->next;
		free(s);
	}
	scopes_free(g->scopes);
	free(g->jobs);
	free(g->indices);
	free(g);
	return NULL;
}

/* Makes room for `want` elements of `size` in all. On -ENOMEM *array is as it was. */
static int reserve_room(void **array, size_t *room, size_t want, size_t size)
{
	size_t larger = *room ? *room : 64;
	void *p;

	while (larger < want)
		larger *= 2;
	if (larger == *room)
		return 0;
	p = realloc(*array, larger * size);
	if (!p)
		return -ENOMEM;
	*array = p;
	*room = larger;
	return 0;
}

/* The list lives as long as the process: a site has hundreds of accounts, not millions. NULL:
 * out of memory. */
static struct account_state *find_account(struct eligibility *g,
					  const struct store_quota_job *j)
{
	struct account_state *s = g->accounts;

	while (s && (strcmp(s->account, j->account) || s->pool != j->pool ||
		     strcmp(s->cluster, j->cluster)))
		s = s->next;
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	snprintf(s->account, sizeof(s->account), "%s", j->account);
	snprintf(s->cluster, sizeof(s->cluster), "%s", j->cluster);
	s->pool = j->pool;
	s->at_ns = INT64_MIN;
	s->next = g->accounts;
	g->accounts = s;
	return s;
}

static int add_queued(struct eligibility *g, const struct store_quota_job *j, struct err *err)
{
	const struct scopes_job job = scopes_job_of(j);
	int n = scopes_find(g->scopes, &job, err);
	struct eligibility_job *new;

	if (n < 0)
		return n;
	if (reserve_room((void **)&g->jobs, &g->room, g->n + 1, sizeof(*g->jobs)) < 0 ||
	    reserve_room((void **)&g->indices, &g->indices_room, g->n_indices + (size_t)n,
			 sizeof(*g->indices)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	new = &g->jobs[g->n];
	*new = (struct eligibility_job){ .job = j->job,
					 .want = job.want,
					 .first = g->n_indices,
					 .n = (size_t)n,
					 .state = find_account(g, j) };
	if (!new->state)
		return err_set(err, -ENOMEM, "out of memory");
	if (n > 0)
		memcpy(&g->indices[g->n_indices], scopes_found(g->scopes),
		       (size_t)n * sizeof(*g->indices));
	g->n_indices += (size_t)n;
	g->n++;
	return 0;
}

static int add_active(void *ctx, const struct store_quota_job *j, struct err *err)
{
	struct eligibility *g = ctx;
	int r = scopes_count(g->scopes, j, err);

	/* A job that is held or waits for other jobs does not compete with the others. */
	if (r < 0 || j->state != JOB_QUEUED || j->is_withheld ||
	    strcmp(j->cluster, g->cluster) != 0)
		return r;
	return add_queued(g, j, err);
}

/* Reads the state of an account unless it is newer than ELIGIBILITY_KEEP_NS. An account that
 * was removed has no quota left. */
static int refresh_account(struct account_state *s, const struct quota_site *site,
			   int64_t now_ns, struct err *err)
{
	const struct quota_query ask = { .account = s->account,
					 .cluster = s->cluster,
					 .pool = s->pool,
					 .now_ns = now_ns,
					 .at_day = QUOTA_NOW };
	struct quota_view v = { 0 };
	int r;

	if (s->at_ns <= now_ns && now_ns - ELIGIBILITY_KEEP_NS < s->at_ns)
		return 0;
	r = quota_get_view(site, &ask, &v, err);
	if (r < 0 && r != -ENOENT)
		return r;
	s->has_quota = r == 0 && v.mode == WINDOW_NORMAL;
	s->at_ns = now_ns;
	quota_view_done(&v);
	return 0;
}

static bool is_window(const struct config *c)
{
	return c->policy.quota == CONFIG_QUOTA_WINDOW ||
	       c->policy.quota == CONFIG_QUOTA_WINDOW_3X;
}

/* Without windows every account has quota left: low priority exists for windows only. */
static int count_pending(struct eligibility *g, const struct quota_site *site, int64_t now_ns,
			 struct err *err)
{
	struct eligible_world *w = scopes_world(g->scopes);
	int r = 0;

	for (size_t i = 0; i < g->n && r >= 0; i++) {
		struct account_state *s = g->jobs[i].state;

		if (is_window(site->config))
			r = refresh_account(s, site, now_ns, err);
		else
			s->has_quota = true;
		w->pending += s->has_quota;
	}
	return r;
}

int eligibility_load(struct eligibility *g, const struct quota_site *site,
		     const struct eligibility_run *run, struct err *err)
{
	int r;

	g->n = g->n_indices = 0;
	g->scopes = scopes_free(g->scopes);
	g->is_open = !is_window(site->config) && !scopes_has_limits(site);
	if (g->is_open)
		return 0;
	g->cluster = run->cluster;
	r = scopes_new(site, &g->scopes, err);
	if (r >= 0)
		r = store_quota_active(site->store, add_active, g, err);
	return r < 0 ? r : count_pending(g, site, run->now_ns, err);
}

/* The jobs are in the order of their numbers, as store_quota_active() returns them. */
static struct eligibility_job *find_job(struct eligibility *g, int64_t job)
{
	size_t low = 0, high = g->is_open ? 0 : g->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->jobs[middle].job == job)
			return &g->jobs[middle];
		if (g->jobs[middle].job < job)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static struct eligible_job eligible_of(const struct eligibility *g,
				       const struct eligibility_job *j)
{
	return (struct eligible_job){ .want = j->want,
				      .scopes = &g->indices[j->first],
				      .n_scopes = j->n,
				      .has_quota = j->state->has_quota,
				      .account = j->state->account };
}

bool eligibility_check(struct eligibility *g, int64_t job, char why[static ELIGIBLE_WHY_MAX])
{
	const struct eligibility_job *j = find_job(g, job);
	struct eligible_job e;

	why[0] = '\0';
	if (!j)
		return true;
	e = eligible_of(g, j);
	return eligible_check(scopes_world(g->scopes), &e, why);
}

void eligibility_undo(struct eligibility *g, int64_t job)
{
	const struct eligibility_job *j = find_job(g, job);
	struct eligible_job e;

	if (!j)
		return;
	e = eligible_of(g, j);
	eligible_undo(scopes_world(g->scopes), &e);
}

void eligibility_start(struct eligibility *g, int64_t job)
{
	const struct eligibility_job *j = find_job(g, job);
	struct eligible_job e;

	if (!j)
		return;
	e = eligible_of(g, j);
	eligible_start(scopes_world(g->scopes), &e);
}
