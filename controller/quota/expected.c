/* SPDX-License-Identifier: GPL-2.0-or-later */
/* expected.c - keeps the jobs of Slurm that wait and the submissions that no list has yet; see expected.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/quota/expected.h"

/* Jobs that count alike. */
struct kind {
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX],
		qos[REQUEST_NAME_MAX];
	enum charge_pool pool;
	int64_t need_ms;
};

/* Jobs of one kind that wait: their tasks together. */
struct group {
	struct kind kind;
	int64_t n;
};

struct waiting {
	int64_t job, n_tasks; /* 0: the ledger has it */
	size_t group;
};

/* Submissions of one kind, of as many tasks each, accepted in the same second. */
struct accepted {
	struct kind kind;
	int64_t n, n_tasks, at_ns;
	int64_t changed; /* the job that is changed; 0: a submission */
};

/* Ids below the largest one seen that were not seen themselves. */
struct gap {
	int64_t from, to;
};

#define GAPS_MAX 1000 /* the lowest are forgotten */

struct expected {
	struct expected *next;
	char cluster[REQUEST_NAME_MAX];
	struct waiting *waiting; /* sorted by job */
	struct group *groups;
	struct accepted *accepted; /* the oldest first */
	size_t n_waiting, n_groups, n_accepted, room;
	struct expected_look waiting_look, started_look;
	bool has_list;
	int64_t seen_max; /* the largest id of lists and of the ledger's new rows; 0: none */
	struct gap gaps[GAPS_MAX]; /* sorted */
	size_t n_gaps;
};

struct expected *expected_free(struct expected *e)
{
	while (e) {
		struct expected *next = e->next;

		free(e->waiting);
		free(e->groups);
		free(e->accepted);
		free(e);
		e = next;
	}
	return NULL;
}

static struct expected *find_cluster(const struct expected *e, const char *cluster)
{
	while (e && strcmp(e->cluster, cluster) != 0)
		e = e->next;
	return (struct expected *)(uintptr_t)e;
}

/* NULL: out of memory. */
static struct expected *make_cluster(struct expected **all, const char *cluster)
{
	struct expected *e = find_cluster(*all, cluster);

	if (e)
		return e;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	snprintf(e->cluster, sizeof(e->cluster), "%s", cluster);
	e->next = *all;
	*all = e;
	return e;
}

static struct kind kind_of(const struct expected_job *job)
{
	struct kind k = { .pool = job->pool, .need_ms = job->need_ms };

	snprintf(k.account, sizeof(k.account), "%s", job->account);
	snprintf(k.user, sizeof(k.user), "%s", job->user);
	snprintf(k.queue, sizeof(k.queue), "%s", job->queue);
	snprintf(k.qos, sizeof(k.qos), "%s", job->qos);
	return k;
}

static int compare_kinds(const struct kind *a, const struct kind *b)
{
	int r = strcmp(a->account, b->account);

	if (!r)
		r = strcmp(a->user, b->user);
	if (!r)
		r = strcmp(a->queue, b->queue);
	if (!r)
		r = strcmp(a->qos, b->qos);
	if (!r)
		r = (a->pool > b->pool) - (a->pool < b->pool);
	return r ? r : (a->need_ms > b->need_ms) - (a->need_ms < b->need_ms);
}

/* ---- accepted ---- */

static void remove_accepted(struct expected *e, size_t i)
{
	memmove(&e->accepted[i], &e->accepted[i + 1],
		(--e->n_accepted - i) * sizeof(*e->accepted));
}

static void drop_old(struct expected *e, int64_t now_ns)
{
	size_t n = 0;

	while (n < e->n_accepted && now_ns - e->accepted[n].at_ns >= EXPECTED_MAX_NS)
		n++;
	if (n)
		memmove(e->accepted, e->accepted + n,
			(e->n_accepted -= n) * sizeof(*e->accepted));
}

/* The last one of this kind and second; NULL: there is none. */
static struct accepted *find_alike(struct expected *e, const struct accepted *a)
{
	for (size_t i = e->n_accepted;
	     i-- > 0 && e->accepted[i].at_ns / S_NS == a->at_ns / S_NS;)
		if (e->accepted[i].n_tasks == a->n_tasks &&
		    e->accepted[i].changed == a->changed &&
		    compare_kinds(&e->accepted[i].kind, &a->kind) == 0)
			return &e->accepted[i];
	return NULL;
}

static size_t count_of_user(const struct expected *e, const char *user)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_accepted; i++)
		n += !strcmp(e->accepted[i].kind.user, user);
	return n;
}

static int make_room(struct expected *e, const char *user, struct err *err)
{
	struct accepted *more;
	size_t room = e->room ? 2 * e->room : 64;

	if (e->n_accepted >= EXPECTED_ACCEPTED_MAX ||
	    count_of_user(e, user) >= EXPECTED_USER_MAX)
		return err_set(err, -EAGAIN,
			       "too many submissions that slurmctld has not listed yet: submit "
			       "again in two minutes, or submit an array");
	if (e->n_accepted < e->room)
		return 0;
	more = realloc(e->accepted, room * sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	e->accepted = more;
	e->room = room;
	return 0;
}

int expected_accept(struct expected **all, const struct expected_job *job, int64_t now_ns,
		    struct err *err)
{
	struct expected *e = make_cluster(all, job->cluster);
	const struct accepted new = { kind_of(job), 1, job->changed ? 0 : job->n_tasks, now_ns,
				      job->changed };
	struct accepted *alike;
	int r;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory");
	drop_old(e, now_ns);
	alike = find_alike(e, &new);
	if (alike) {
		alike->n++;
		alike->at_ns = now_ns;
		return 0;
	}
	r = make_room(e, job->user, err);
	if (r >= 0)
		e->accepted[e->n_accepted++] = new;
	return r;
}

static __int128 cost_of(const struct accepted *a)
{
	return (__int128)a->kind.need_ms * a->n_tasks;
}

/* The cheapest submission of the user in the account, accepted up to until_ns; -1: there is none. */
static ssize_t find_cheapest(const struct expected *e, const char *user, const char *account,
			     int64_t until_ns)
{
	ssize_t best = -1;

	for (size_t i = 0; i < e->n_accepted && e->accepted[i].at_ns <= until_ns; i++) {
		const struct accepted *a = &e->accepted[i];

		if (a->n_tasks && !strcmp(a->kind.user, user) &&
		    !strcmp(a->kind.account, account) &&
		    (best < 0 || cost_of(a) < cost_of(&e->accepted[best])))
			best = (ssize_t)i;
	}
	return best;
}

static void end_cheapest(struct expected *e, const char *user, const char *account,
			 int64_t until_ns)
{
	ssize_t i = find_cheapest(e, user, account, until_ns);

	if (i >= 0 && --e->accepted[i].n == 0)
		remove_accepted(e, (size_t)i);
}

/* ---- which jobs were seen ---- */

static void insert_gap(struct expected *e, size_t at, struct gap g)
{
	if (g.from > g.to)
		return;
	if (e->n_gaps == GAPS_MAX) {
		if (at == 0)
			return;
		memmove(e->gaps, e->gaps + 1, --e->n_gaps * sizeof(*e->gaps));
		at--;
	}
	memmove(e->gaps + at + 1, e->gaps + at, (e->n_gaps++ - at) * sizeof(*e->gaps));
	e->gaps[at] = g;
}

/* Slurm counts its ids upwards, but jobs are seen in the order in which they start. Is this the first time that the id is seen? */
static bool note_id(struct expected *e, int64_t id)
{
	size_t i = 0;
	struct gap g;

	if (id > e->seen_max) {
		if (e->seen_max || e->has_list)
			insert_gap(e, e->n_gaps, (struct gap){ e->seen_max + 1, id - 1 });
		e->seen_max = id;
		return true;
	}
	while (i < e->n_gaps && e->gaps[i].to < id)
		i++;
	if (i == e->n_gaps || e->gaps[i].from > id)
		return false;
	g = e->gaps[i];
	memmove(e->gaps + i, e->gaps + i + 1, (--e->n_gaps - i) * sizeof(*e->gaps));
	insert_gap(e, i, (struct gap){ id + 1, g.to });
	insert_gap(e, i, (struct gap){ g.from, id - 1 });
	return true;
}

/* Ends what both looks must have, had Slurm taken it. */
static void end_listed(struct expected *e)
{
	int64_t a = e->waiting_look.asked_ns, b = e->started_look.asked_ns;
	int64_t until_ns = (a < b ? a : b) - EXPECTED_SETTLE_NS;
	size_t n = 0;

	while (n < e->n_accepted && e->accepted[n].at_ns <= until_ns)
		n++;
	if (n)
		memmove(e->accepted, e->accepted + n,
			(e->n_accepted -= n) * sizeof(*e->accepted));
}

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

/* NULL: it does not wait. */
static struct waiting *find_waiting(const struct expected *e, int64_t job)
{
	const struct waiting key = { .job = job };

	return e->n_waiting
		       ? bsearch(&key, e->waiting, e->n_waiting, sizeof(key), compare_waiting)
		       : NULL;
}

/* slurmctld changes a job with its lock held: a list that it was asked for afterwards has it. */
static void end_changes(struct expected *e)
{
	int64_t until_ns = e->waiting_look.asked_ns - EXPECTED_CHANGE_NS;

	for (size_t i = e->n_accepted; i-- > 0;)
		if (e->accepted[i].changed && e->accepted[i].at_ns <= until_ns &&
		    find_waiting(e, e->accepted[i].changed))
			remove_accepted(e, i);
}

/* ---- waiting ---- */

struct sorted {
	struct kind kind;
	size_t at;
};

static int compare_sorted(const void *a, const void *b)
{
	return compare_kinds(&((const struct sorted *)a)->kind,
			     &((const struct sorted *)b)->kind);
}

/* Puts each job in the group of its kind. */
static int group_jobs(const struct expected_waiting *jobs, size_t n, struct waiting *waiting,
		      struct group **ret, size_t *ret_n)
{
	_cleanup_free_ struct sorted *sorted = calloc(n + 1, sizeof(*sorted));
	struct group *groups = calloc(n + 1, sizeof(*groups)), *less;
	size_t n_groups = 0;

	if (!sorted || !groups) {
		free(groups);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		sorted[i] = (struct sorted){ kind_of(&jobs[i].of), i };
	if (n)
		qsort(sorted, n, sizeof(*sorted), compare_sorted);
	for (size_t i = 0; i < n; i++) {
		const struct expected_waiting *job = &jobs[sorted[i].at];

		if (!i || compare_kinds(&sorted[i].kind, &sorted[i - 1].kind) != 0)
			groups[n_groups++].kind = sorted[i].kind;
		groups[n_groups - 1].n += job->of.n_tasks;
		waiting[sorted[i].at] =
			(struct waiting){ job->job, job->of.n_tasks, n_groups - 1 };
	}
	less = realloc(groups, (n_groups + 1) * sizeof(*groups));
	*ret = less ? less : groups;
	*ret_n = n_groups;
	return 0;
}

/* Each job that was in no list before ends an accepted submission; those of the first list may all be old. */
static void match_new_jobs(struct expected *e, const struct expected_waiting *jobs, size_t n,
			   int64_t now_ns)
{
	bool are_new = e->has_list || e->seen_max;

	for (size_t i = 0; i < n; i++)
		if (note_id(e, jobs[i].job) && are_new)
			end_cheapest(e, jobs[i].of.user, jobs[i].of.account, now_ns);
	if (!are_new)
		e->n_gaps = 0;
	e->has_list = true;
}

int expected_set_waiting(struct expected **all, const struct expected_list *list,
			 struct err *err)
{
	struct expected *e = make_cluster(all, list->cluster);
	_cleanup_free_ struct waiting *waiting = calloc(list->n + 1, sizeof(*waiting));
	struct group *groups;
	size_t n_groups;

	if (!e || !waiting || group_jobs(list->jobs, list->n, waiting, &groups, &n_groups) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	match_new_jobs(e, list->jobs, list->n, list->look.now_ns);
	free(e->waiting);
	free(e->groups);
	e->waiting = TAKE_PTR(waiting);
	e->n_waiting = list->n;
	e->groups = groups;
	e->n_groups = n_groups;
	e->waiting_look = list->look;
	end_changes(e);
	end_listed(e);
	return 0;
}

void expected_set_started(struct expected *all, const char *cluster,
			  const struct expected_look *look)
{
	struct expected *e = find_cluster(all, cluster);

	if (!e)
		return;
	e->started_look = *look;
	end_listed(e);
}

/* ---- seen ---- */

void expected_see(struct expected *all, const struct expected_seen *s)
{
	struct expected *e = find_cluster(all, s->cluster);
	struct waiting *w;
	bool is_known;

	if (!e)
		return;
	w = find_waiting(e, s->array ? s->array : s->job);
	if (w) {
		e->groups[w->group].n -= w->n_tasks > 0;
		w->n_tasks -= w->n_tasks > 0;
		return;
	}
	/* The other tasks of an array that was never listed still wait: it counts whole until it is. */
	if (s->array)
		return;
	is_known = e->has_list || e->seen_max;
	if (note_id(e, s->job) && is_known)
		end_cheapest(e, s->user, s->account, INT64_MAX);
}

/* ---- all ---- */

struct walk {
	const struct expected *e;
	store_quota_job_fn fn;
	void *ctx;
	int64_t own; /* Slurm's id of the own job */
};

/* Its rate is such that an hour of it is charged need_ms. */
static int send_job(const struct walk *w, const struct kind *k, int64_t n, int64_t job,
		    struct err *err)
{
	struct store_quota_job j = { .job = job,
				     .cluster = w->e->cluster,
				     .account = k->account,
				     .user = k->user,
				     .queue = k->queue,
				     .qos = k->qos,
				     .state = JOB_QUEUED,
				     .pool = k->pool,
				     .held = { .walltime_s = HOUR_NS / S_NS },
				     .n = n };

	if (n <= 0)
		return 0;
	if (fraction_make(k->need_ms, HOUR_NS / MS_NS, &j.rate) < 0)
		return err_set(err, -ERANGE,
			       "a job that waits has a price that cannot be counted");
	return w->fn(w->ctx, &j, err);
}

/* Where the own job counts: in a group or among the accepted. */
struct own_row {
	ssize_t group, accepted; /* -1 */
	int64_t n;
};

static struct own_row find_own(const struct expected *e, const struct expected_own *own)
{
	struct own_row o = { -1, -1, 0 };
	const struct waiting *w;

	if (!own || strcmp(own->cluster, e->cluster) != 0)
		return o;
	w = find_waiting(e, own->job);
	if (w) {
		o.group = (ssize_t)w->group;
		o.n = w->n_tasks;
		return o;
	}
	o.accepted = find_cheapest(e, own->user, own->account, INT64_MAX);
	o.n = o.accepted >= 0 ? e->accepted[o.accepted].n_tasks : 0;
	return o;
}

int64_t expected_tasks_of(const struct expected *all, const struct expected_own *own)
{
	const struct expected *e = find_cluster(all, own->cluster);
	const struct waiting *w = e ? find_waiting(e, own->job) : NULL;

	return w && w->n_tasks > 0 ? w->n_tasks : 1;
}

static int send_row(const struct walk *w, const struct kind *k, int64_t n, int64_t n_own,
		    struct err *err)
{
	int r = send_job(w, k, n - n_own, 0, err);

	return r < 0 || !n_own ? r
			       : send_job(w, k, n_own, store_slurm_number(1, 0, w->own), err);
}

static int send_cluster(const struct walk *w, const struct expected_ask *ask, struct err *err)
{
	const struct expected *e = w->e;
	const struct own_row own = find_own(e, ask->own);
	bool is_fresh = e->has_list && ask->now_ns - e->waiting_look.now_ns < EXPECTED_MAX_NS;
	int r = 0;

	for (size_t i = 0; i < e->n_groups && r >= 0 && is_fresh; i++)
		r = send_row(w, &e->groups[i].kind, e->groups[i].n,
			     own.group == (ssize_t)i ? own.n : 0, err);
	for (size_t i = 0; i < e->n_accepted && r >= 0; i++) {
		const struct accepted *a = &e->accepted[i];
		/* A change adds to its job, which counts already. */
		int64_t n_tasks = a->n_tasks ? a->n_tasks : 1;

		if (ask->now_ns - a->at_ns < EXPECTED_MAX_NS)
			r = send_row(w, &a->kind, a->n * n_tasks,
				     own.accepted == (ssize_t)i ? own.n : 0, err);
	}
	return r;
}

int expected_each(const struct expected *all, const struct expected_ask *ask,
		  store_quota_job_fn fn, void *ctx, struct err *err)
{
	int64_t own = ask->own ? ask->own->job : 0;
	int r = 0;

	for (const struct expected *e = all; e && r >= 0; e = e->next)
		r = send_cluster(&(struct walk){ e, fn, ctx, own }, ask, err);
	return r;
}
