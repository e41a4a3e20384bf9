/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scopes.c - finds the limits that apply to a job and counts active jobs in them; see
 * scopes.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/quota/expected.h"
#include "controller/quota/scopes.h"

/* The identity of a scope: its kind, whose it is, and of which account or queue. */
struct key {
	enum eligible_kind kind;
	struct accounts_limits limits;
	char name[REQUEST_NAME_MAX], of[REQUEST_NAME_MAX];
	uint32_t hash; /* of the name: there may be a scope for every user */
	int64_t queued;
};

struct scopes {
	const struct accounts *accounts;
	const struct config *config;
	struct eligible_world world;
	struct key **keys; /* one a scope; allocated one by one: scopes point to their names */
	size_t room;
	int32_t *found;
	size_t n_found, found_room;
};

static struct accounts_limits limits_of(const struct config_qos *q)
{
	return (struct accounts_limits){ .running_cores = q->running_cores,
					 .running_gpus = q->running_gpus,
					 .running_memory_bytes = q->running_memory_bytes,
					 .running_jobs = q->running_jobs,
					 .queued_jobs = q->queued_jobs };
}
_Static_assert(CONFIG_NO_LIMIT == ACCOUNTS_NO_LIMIT, "limits are taken over as they are");

int scopes_new(const struct quota_site *site, struct scopes **ret, struct err *err)
{
	struct scopes *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->accounts = site->accounts;
	s->config = site->config;
	*ret = s;
	return 0;
}

struct scopes *scopes_free(struct scopes *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->world.n_scopes; i++)
		free(s->keys[i]);
	free(s->keys);
	free(s->world.scopes);
	free(s->found);
	free(s);
	return NULL;
}

const int32_t *scopes_found(const struct scopes *s)
{
	return s->found;
}

struct eligible_world *scopes_world(struct scopes *s)
{
	return &s->world;
}

static bool is_limited(const struct accounts_limits *l)
{
	return l->running_cores != ACCOUNTS_NO_LIMIT || l->running_gpus != ACCOUNTS_NO_LIMIT ||
	       l->running_memory_bytes != ACCOUNTS_NO_LIMIT ||
	       l->running_jobs != ACCOUNTS_NO_LIMIT || l->queued_jobs != ACCOUNTS_NO_LIMIT;
}

bool scopes_has_limits(const struct quota_site *site)
{
	const struct accounts *a = site->accounts;
	const struct accounts_defaults *d = &a->defaults;
	bool any = is_limited(&d->user) || is_limited(&d->association) ||
		   is_limited(&d->account) || is_limited(&d->queue) ||
		   accounts_has_per_share(&d->user_per_share) ||
		   accounts_has_per_share(&d->account_per_share);

	for (size_t i = 0; i < site->config->n_qos; i++) {
		const struct accounts_limits l = limits_of(site->config->qos[i]);

		any |= is_limited(&l);
	}

	for (size_t i = 0; i < a->n_users; i++)
		any |= is_limited(&a->users[i].limits) ||
		       accounts_has_per_share(&a->users[i].per_share);
	for (size_t i = 0; i < a->n_queues; i++)
		any |= is_limited(&a->queues[i].user_limits);
	for (size_t i = 0; i < a->n_accounts; i++) {
		any |= is_limited(&a->accounts[i].limits) ||
		       accounts_has_per_share(&a->accounts[i].per_share);
		for (size_t k = 0; k < a->accounts[i].n_members; k++)
			any |= is_limited(&a->accounts[i].members[k].limits);
	}
	return any;
}

_Static_assert(ACCOUNTS_NO_LIMIT == ELIGIBLE_NO_LIMIT, "limits are taken over as they are");

static int grow_scopes(struct scopes *s)
{
	size_t room = s->room ? s->room * 2 : 16;
	struct eligible_scope *scopes = realloc(s->world.scopes, room * sizeof(*scopes));
	struct key **keys;

	if (!scopes)
		return -ENOMEM;
	s->world.scopes = scopes;
	keys = realloc(s->keys, room * sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	s->keys = keys;
	s->room = room;
	return 0;
}

static uint32_t hash_of(const char *text) /* FNV-1a */
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

/* The index of the scope like `like`, which is added when it is new. -ENOMEM. */
static int find_scope(struct scopes *s, const struct accounts_limits *limits,
		      const struct eligible_scope *like)
{
	const char *of = like->of ? like->of : "";
	uint32_t hash = hash_of(like->name);
	struct key *k;

	for (size_t i = 0; i < s->world.n_scopes; i++)
		if (s->keys[i]->hash == hash && s->keys[i]->kind == like->kind &&
		    !strcmp(s->keys[i]->name, like->name) && !strcmp(s->keys[i]->of, of))
			return (int)i;
	if (s->world.n_scopes == s->room && grow_scopes(s) < 0)
		return -ENOMEM;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->kind = like->kind;
	k->limits = *limits;
	k->hash = hash;
	snprintf(k->name, sizeof(k->name), "%s", like->name);
	snprintf(k->of, sizeof(k->of), "%s", of);
	s->keys[s->world.n_scopes] = k;
	s->world.scopes[s->world.n_scopes] = (struct eligible_scope){
		.kind = like->kind,
		.name = k->name,
		.of = k->of,
		.limit = { limits->running_cores, limits->running_gpus,
			   limits->running_memory_bytes, limits->running_jobs },
		.has_shares = like->has_shares,
		.shares = like->shares,
		.per_share = like->per_share,
	};
	eligible_multiply_shares(&s->world.scopes[s->world.n_scopes]);
	return (int)s->world.n_scopes++;
}

/* Adds a scope to those found, if its limits limit anything. What `stated` leaves open, or all
 * where it is NULL, comes from `fallback`. */
static int add_scope(struct scopes *s, const struct accounts_limits *stated,
		     const struct accounts_limits *fallback, const struct eligible_scope *like)
{
	const struct accounts_limits limits =
		stated ? accounts_limits_or(stated, fallback) : *fallback;
	int i;

	if (!is_limited(&limits) && !like->has_shares)
		return 0;
	if (s->n_found == s->found_room) {
		size_t room = s->found_room ? s->found_room * 2 : 16;
		int32_t *more = realloc(s->found, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->found = more;
		s->found_room = room;
	}
	i = find_scope(s, &limits, like);
	if (i < 0)
		return i;
	s->found[s->n_found++] = i;
	return 0;
}

/* ---- multiples of shares ---- */

static void set_shares(struct eligible_scope *to, const struct accounts_per_share *p,
		       int64_t shares)
{
	to->has_shares = accounts_has_per_share(p);
	to->shares = shares;
	to->per_share = (struct eligible_amounts){ p->cores, p->gpus, p->memory_bytes, 0 };
}

/* An account states multiples of its own shares; the default is of groups. */
static int add_account_scope(struct scopes *s, int32_t i)
{
	const struct accounts *a = s->accounts;
	const struct accounts_account *p = &a->accounts[i];
	struct eligible_scope like = { .kind = ELIGIBLE_ACCOUNT, .name = p->name };
	const struct accounts_per_share of_group =
		accounts_per_share_or(&p->per_share, &a->defaults.account_per_share);

	set_shares(&like, p->parent < 0 ? &of_group : &p->per_share, p->shares);
	return add_scope(s, &p->limits, &a->defaults.account, &like);
}

/* The limit of a user's running jobs in a group for each of its shares. */
static int add_group_scope(struct scopes *s, const struct scopes_job *job)
{
	const struct accounts *a = s->accounts;
	const struct accounts_user *u = accounts_user(a, job->user);
	const struct accounts_per_share per_share =
		u ? accounts_per_share_or(&u->per_share, &a->defaults.user_per_share)
		  : a->defaults.user_per_share;
	static const struct accounts_limits none = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						     ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						     ACCOUNTS_NO_LIMIT };
	struct eligible_scope like = { .kind = ELIGIBLE_GROUP_USER, .name = job->user };
	int32_t i = accounts_group(a, accounts_find(a, job->account));

	if (i < 0)
		return 0;
	like.of = a->accounts[i].name;
	set_shares(&like, &per_share, a->accounts[i].shares);
	return add_scope(s, NULL, &none, &like);
}

static int add_account_scopes(struct scopes *s, const struct scopes_job *job)
{
	const struct accounts *a = s->accounts;
	int32_t i = accounts_find(a, job->account);
	const struct accounts_member *m = i < 0 ? NULL : accounts_member(a, i, job->user);
	int r = 0;

	if (m)
		r = add_scope(s, &m->limits, &a->defaults.association,
			      &(struct eligible_scope){ .kind = ELIGIBLE_ASSOCIATION,
							.name = m->user,
							.of = a->accounts[i].name });
	for (; i >= 0 && r >= 0; i = a->accounts[i].parent)
		r = add_account_scope(s, i);
	return r < 0 ? r : add_group_scope(s, job);
}

static int add_qos_scope(struct scopes *s, const struct scopes_job *job)
{
	const struct config_qos *q = job->qos ? config_qos(s->config, job->qos) : NULL;
	struct accounts_limits limits;

	if (!q)
		return 0;
	limits = limits_of(q);
	return add_scope(s, NULL, &limits,
			 &(struct eligible_scope){
				 .kind = ELIGIBLE_QOS, .name = job->user, .of = q->name });
}

int scopes_find(struct scopes *s, const struct scopes_job *job, struct err *err)
{
	const struct accounts_user *u = accounts_user(s->accounts, job->user);
	const struct accounts_queue *q = accounts_queue(s->accounts, job->queue);
	int r = 0;

	s->n_found = 0;
	r = add_scope(s, u ? &u->limits : NULL, &s->accounts->defaults.user,
		      &(struct eligible_scope){ .kind = ELIGIBLE_USER, .name = job->user });
	if (r >= 0)
		r = add_account_scopes(s, job);
	if (r >= 0)
		r = add_scope(s, q ? &q->user_limits : NULL, &s->accounts->defaults.queue,
			      &(struct eligible_scope){ .kind = ELIGIBLE_QUEUE,
							.name = job->user,
							.of = job->queue });
	if (r >= 0)
		r = add_qos_scope(s, job);
	return r < 0 ? err_set(err, r, "out of memory") : (int)s->n_found;
}

struct scopes_job scopes_job_of(const struct store_quota_job *j)
{
	/* As store_nodes_in_use(): the cores of a job whose desired state is suspended are
	 * free. */
	bool is_away = j->state == JOB_SUSPENDED && j->want == DESIRED_SUSPEND;

	return (struct scopes_job){ .account = j->account,
				    .user = j->user,
				    .queue = j->queue,
				    .qos = j->qos,
				    .n_queued = j->n,
				    .want = { is_away ? 0 : j->held.ncpus, j->held.ngpus,
					      j->held.mem_bytes, 1 } };
}

static struct eligible_job found_job(const struct scopes *s, const struct scopes_job *job)
{
	return (struct eligible_job){ .want = job->want,
				      .scopes = s->found,
				      .n_scopes = s->n_found,
				      .account = job->account };
}

int scopes_count(struct scopes *s, const struct store_quota_job *j, struct err *err)
{
	const struct scopes_job job = scopes_job_of(j);
	int r = scopes_find(s, &job, err);
	struct eligible_job e;

	if (r < 0)
		return r;
	e = found_job(s, &job);
	if (j->state != JOB_QUEUED)
		eligible_add(&s->world, &e);
	for (size_t i = 0; i < s->n_found && j->state == JOB_QUEUED; i++)
		s->keys[s->found[i]]->queued += j->n;
	return 0;
}

static int count_job(void *ctx, const struct store_quota_job *j, struct err *err)
{
	return scopes_count(ctx, j, err);
}

int scopes_load(struct scopes *s, const struct quota_site *site, struct err *err)
{
	const struct expected_ask ask = { .now_ns = site->expected_ns };
	int r = store_quota_active(site->store, count_job, s, err);

	return r < 0 ? r : expected_each(site->expected, &ask, count_job, s, err);
}

/* s->found has the scopes of the job that was counted last: finds those of this job again. They
 * exist already, so this cannot fail. */
static struct eligible_job find_again(struct scopes *s, const struct scopes_job *job)
{
	scopes_find(s, job, NULL);
	return found_job(s, job);
}

bool scopes_is_possible(struct scopes *s, const struct scopes_job *job,
			char why[static ELIGIBLE_WHY_MAX])
{
	const struct eligible_job e = find_again(s, job);

	return eligible_is_possible(&s->world, &e, why);
}

bool scopes_limit_queue(struct scopes *s, const struct scopes_job *job)
{
	const struct eligible_job e = find_again(s, job);

	for (size_t i = 0; i < e.n_scopes; i++)
		if (s->keys[e.scopes[i]]->limits.queued_jobs != ACCOUNTS_NO_LIMIT)
			return true;
	return false;
}

bool scopes_may_queue(struct scopes *s, const struct scopes_job *job,
		      char why[static ELIGIBLE_WHY_MAX])
{
	const struct eligible_job e = find_again(s, job);

	why[0] = '\0';
	for (size_t i = 0; i < e.n_scopes; i++) {
		const struct key *k = s->keys[e.scopes[i]];
		char who[ELIGIBLE_NAME_MAX], more[64] = "";

		if (k->limits.queued_jobs == ACCOUNTS_NO_LIMIT ||
		    k->queued + job->n_queued <= k->limits.queued_jobs)
			continue;
		if (job->n_queued > 1)
			snprintf(more, sizeof(more), ", %lld more were submitted",
				 (long long)job->n_queued);
		snprintf(why, ELIGIBLE_WHY_MAX,
			 "%s has %lld jobs queued%s, and the limit is %lld",
			 eligible_scope_name(&s->world.scopes[e.scopes[i]], who),
			 (long long)k->queued, more, (long long)k->limits.queued_jobs);
		return false;
	}
	return true;
}
