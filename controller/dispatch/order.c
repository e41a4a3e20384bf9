/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order.c - reads the queued jobs of a cluster, ranks them, and follows what the ledger announces. The
 * jobs are an array by number, so that changed ones are found by bisection and merged in one walk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/changes.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/dispatch/order.h"

void order_done(struct order *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->jobs[i].select);
	free(o->jobs);
	*o = (struct order){ 0 };
}

static int make_room(struct order *o, size_t n, struct err *err)
{
	size_t larger = o->room ? o->room : 64;
	struct order_job *p;

	if (n <= o->room)
		return 0;
	while (larger < n)
		larger *= 2;
	p = realloc(o->jobs, larger * sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	o->jobs = p;
	o->room = larger;
	return 0;
}

int32_t order_queue(const struct config *c, const char *queue)
{
	for (size_t i = 0; i < c->n_queues; i++)
		if (!strcmp(c->queues[i]->name, queue))
			return (int32_t)i;
	return -1;
}

static int32_t find_qos(const struct config *c, const char *name)
{
	for (size_t i = 0; i < c->n_qos; i++)
		if (!strcmp(c->qos[i]->name, name))
			return (int32_t)i;
	return -1;
}

/* ---- ranking ---- */

static int rank_one(const struct order_ask *a, struct order_job *j, struct err *err)
{
	const char *queue = j->queue < 0 ? "" : a->config->queues[j->queue]->name;
	const struct rank_job ask = { .where = { a->cluster, j->pool },
				      .account = a->accounts->texts[j->account],
				      .user = a->users->texts[j->user],
				      .queue = queue,
				      .qos = j->qos < 0 ? "" : a->config->qos[j->qos]->name,
				      .want = &j->want,
				      .select = j->select,
				      .is_exclusive = j->is_exclusive,
				      .nice = j->nice,
				      .site = j->site,
				      .waited_s = (a->now_ns - j->eligible_ns) / S_NS };
	const struct priority_row *most;
	struct priority p;
	int r = rank_job(a->sharetree, &a->has, &ask, &p, err);

	if (r < 0)
		return r;
	most = rank_main(&p);
	j->priority = p.value;
	j->main = most ? most->name : NULL;
	return 0;
}

/* Both trees are brought up to date once, before the jobs are ranked. */
static int update_trees(const struct order_ask *a, struct err *err)
{
	struct sharetree_view v;
	int r = 0;

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
		r = sharetree_get_view(a->sharetree, (struct sharetree_where){ a->cluster, p },
				       a->now_ns, &v, err);
	return r;
}

static int rank_all(const struct order_ask *a, struct order *o, struct err *err)
{
	int r = a->sharetree ? update_trees(a, err) : 0;

	for (size_t i = 0; a->sharetree && i < o->n && r >= 0; i++)
		r = rank_one(a, &o->jobs[i], err);
	return r;
}

/* ---- reading ---- */

/* Most jobs are one chunk: only the others carry theirs. */
static int read_chunks(const struct store_waiting *w, struct order_job *j, struct err *err)
{
	char model[REQUEST_NAME_MAX];
	int r;

	if (!w->chunks || !*w->chunks)
		return 0;
	j->select = calloc(1, sizeof(*j->select));
	if (!j->select)
		return err_set(err, -ENOMEM, "out of memory");
	r = select_parse(w->chunks, j->select, model, err);
	j->select->is_scattered = w->is_scattered;
	return r < 0 ? err_prefix(err, r, "the chunks of a job in the ledger") : 0;
}

static int read_job(const struct order_ask *a, const struct store_waiting *w,
		    struct order_job *ret, struct err *err)
{
	*ret = (struct order_job){ .job = w->job,
				   .number = -1,
				   .want = w->want,
				   .is_exclusive = w->is_exclusive,
				   .submitted_ns = w->submitted_ns,
				   .eligible_ns = w->eligible_ns,
				   .due_ns = w->due_ns,
				   .nice = w->nice,
				   .site = w->site,
				   .pool = w->pool,
				   .user = names_number(a->users, w->user),
				   .account = names_number(a->accounts, w->account),
				   .queue = order_queue(a->config, w->queue),
				   .qos = find_qos(a->config, w->qos) };
	if (ret->user < 0 || ret->account < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return read_chunks(w, ret, err);
}

struct reading {
	const struct order_ask *ask;
	struct order *o;
};

/* Behind all others. */
static int add_job(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct reading *f = ctx;
	int r = make_room(f->o, f->o->n + 1, err);

	if (r < 0)
		return r;
	/* Counted also where it fails, so that it is freed. */
	return read_job(f->ask, w, &f->o->jobs[f->o->n++], err);
}

int order_make(const struct order_ask *a, struct order *ret, struct err *err)
{
	struct reading f = { a, ret };
	int r;

	*ret = (struct order){ 0 };
	r = store_waiting(a->store, a->cluster, add_job, &f, err);
	return r < 0 ? r : rank_all(a, ret, err);
}

/* ---- following changes ---- */

/* The first of that number or a higher one. */
static size_t lower_bound(const struct order *o, int64_t job)
{
	size_t low = 0, high = o->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->jobs[mid].job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* By number, as the jobs of the order are. Numbers that are not among them are ignored. */
struct numbers {
	int64_t *of;
	size_t n;
};

static void remove_rows(struct order *o, const struct numbers *gone)
{
	size_t to = gone->n ? lower_bound(o, gone->of[0]) : o->n, from = to;

	for (size_t k = 0; k < gone->n && from < o->n; k++) {
		size_t next = lower_bound(o, gone->of[k]);

		if (to != from)
			memmove(&o->jobs[to], &o->jobs[from], (next - from) * sizeof(*o->jobs));
		to += next - from;
		from = next;
		if (next < o->n && o->jobs[next].job == gone->of[k])
			free(o->jobs[from++].select);
	}
	if (to != from)
		memmove(&o->jobs[to], &o->jobs[from], (o->n - from) * sizeof(*o->jobs));
	o->n -= from - to;
}

/* Puts `new` in, from the end on; what is behind keeps its order. */
static void insert_rows(struct order *o, const struct order *new)
{
	size_t to = o->n + new->n, from = o->n, k = new->n;

	while (k > 0) {
		size_t at = from;

		while (at > 0 && o->jobs[at - 1].job > new->jobs[k - 1].job)
			at--;
		to -= from - at;
		memmove(&o->jobs[to], &o->jobs[at], (from - at) * sizeof(*o->jobs));
		o->jobs[--to] = new->jobs[--k];
		from = at;
	}
	o->n += new->n;
}

struct rereading {
	struct order *o, new;
	struct numbers gone;
};

/* `new` has what was read of the jobs `since`. Those of them that were in the order already are
 * replaced in their place, so that `new` has the others; what does not wait any more is `gone`. */
static void sort_out(struct rereading *x, const struct store_changes *since)
{
	struct order_job *new = x->new.jobs;
	size_t at = 0, n = 0;

	for (size_t i = 0; i < since->n; i++) {
		int64_t job = since->jobs[i];
		size_t was = lower_bound(x->o, job);
		bool is_known = was < x->o->n && x->o->jobs[was].job == job;

		if (at == x->new.n || new[at].job != job) {
			x->gone.of[x->gone.n++] = job;
		} else if (is_known) {
			free(x->o->jobs[was].select);
			x->o->jobs[was] = new[at++];
		} else {
			new[n++] = new[at++];
		}
	}
	x->new.n = n;
}

int order_update(const struct order_ask *a, const struct store_changes *since, struct order *o,
		 struct err *err)
{
	_cleanup_free_ int64_t *numbers = calloc(since->n + 1, sizeof(*numbers));
	const struct store_these these = { a->cluster, since->jobs, since->n };
	struct rereading x = { o, { 0 }, { numbers, 0 } };
	struct reading f = { a, &x.new };
	int r = numbers ? store_waiting_these(a->store, &these, add_job, &f, err)
			: err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = make_room(o, o->n + x.new.n, err);
	if (r < 0) {
		order_done(&x.new);
		return r;
	}
	sort_out(&x, since);
	remove_rows(o, &x.gone);
	insert_rows(o, &x.new);
	free(x.new.jobs); /* their chunks are with the others now */
	return rank_all(a, o, err);
}

static bool is_same_select(const struct select *a, const struct select *b)
{
	if (!a || !b)
		return a == b;
	return a->n == b->n && a->is_scattered == b->is_scattered &&
	       !memcmp(a->of, b->of, (size_t)a->n * sizeof(*a->of));
}

bool order_is_same_want(const struct resources *a, const struct resources *b)
{
	for (const struct resource_def *d = request_resources; d->name; d++)
		if (memcmp((const char *)a + d->offset, (const char *)b + d->offset,
			   sizeof(int64_t)) != 0)
			return false;
	return !strcmp(a->gpu_model, b->gpu_model) && !strcmp(a->node_type, b->node_type) &&
	       !strcmp(a->features, b->features);
}

static bool is_same_job(const struct order_job *a, const struct order_job *b)
{
	return a->job == b->job && a->is_exclusive == b->is_exclusive &&
	       order_is_same_want(&a->want, &b->want) && is_same_select(a->select, b->select) &&
	       a->priority == b->priority && a->main == b->main &&
	       a->submitted_ns == b->submitted_ns && a->eligible_ns == b->eligible_ns &&
	       a->due_ns == b->due_ns && a->nice == b->nice && a->site == b->site &&
	       a->user == b->user && a->account == b->account && a->queue == b->queue &&
	       a->qos == b->qos && a->pool == b->pool;
}

bool order_is_same(const struct order *a, const struct order *b, int64_t *ret_job)
{
	for (size_t i = 0; i < a->n || i < b->n; i++) {
		if (i < a->n && i < b->n && is_same_job(&a->jobs[i], &b->jobs[i]))
			continue;
		*ret_job = (i < a->n ? a : b)->jobs[i].job;
		return false;
	}
	return true;
}

struct order_job *order_find(const struct order *o, int64_t job)
{
	size_t i = lower_bound(o, job);

	return i < o->n && o->jobs[i].job == job ? &o->jobs[i] : NULL;
}
