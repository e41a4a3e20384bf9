/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queued.c - passes the order of the last cycle on, but for jobs that have changed since. See queued.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/queued.h"
#include "controller/ledger/jobs/waiting.h"

struct listing {
	const struct cycle_cluster *cl; /* NULL: no cycle has run yet */
	const char *cluster;
	queued_fn fn;
	void *ctx;
};

static int pass_read(void *ctx, const struct store_waiting *w, struct err *err)
{
	const struct listing *l = ctx;
	const struct order_job *o = l->cl ? order_find(&l->cl->order, w->job) : NULL;
	const struct queued_job q = { .job = w->job,
				      .has_priority = o != NULL,
				      .priority = o ? o->priority : 0,
				      .user = w->user,
				      .account = w->account };

	return l->fn(l->ctx, &q, err);
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* `changed`: by number; some more than once. */
static int pass_kept(const struct listing *l, const int64_t *changed, size_t n, struct err *err)
{
	const struct order *order = &l->cl->order;
	int r = 0;

	for (size_t i = 0; i < order->n && r >= 0; i++) {
		const struct order_job *o = &order->jobs[i];
		const struct queued_job q = { .job = o->job,
					      .has_priority = true,
					      .priority = o->priority,
					      .user = l->cl->users.texts[o->user],
					      .account = l->cl->accounts.texts[o->account] };

		if (!n || !bsearch(&o->job, changed, n, sizeof(*changed), compare_numbers))
			r = l->fn(l->ctx, &q, err);
	}
	return r;
}

static int pass_changed(const struct cycle *c, struct listing *l, const int64_t *changed,
			size_t n, struct err *err)
{
	const struct store_these these = { l->cluster, changed, n };

	return n ? store_waiting_these(c->store, &these, pass_read, l, err) : 0;
}

/* Each job once. */
static size_t sort_numbers(int64_t *jobs, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(jobs, n, sizeof(*jobs), compare_numbers);
	for (size_t i = 0; i < n; i++)
		if (!kept || jobs[kept - 1] != jobs[i])
			jobs[kept++] = jobs[i];
	return kept;
}

int dispatch_each_queued(const struct cycle *c, const char *cluster, queued_fn fn, void *ctx,
			 struct err *err)
{
	struct listing l = { cycle_find_cluster(c, cluster), cluster, fn, ctx };
	const struct store_changes *since = l.cl ? &l.cl->changes : NULL;
	_cleanup_free_ int64_t *changed = NULL;
	size_t n;
	int r;

	/* Rows of many jobs one by one cost more than all in a row. */
	if (!l.cl || !l.cl->cluster.schedule || since->is_all || since->n > l.cl->order.n / 2)
		return store_waiting(c->store, cluster, pass_read, &l, err);
	changed = calloc(since->n + 1, sizeof(*changed));
	if (!changed)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < since->n; i++)
		changed[i] = since->jobs[i];
	n = sort_numbers(changed, since->n);
	r = pass_kept(&l, changed, n, err);
	return r < 0 ? r : pass_changed(c, &l, changed, n, err);
}
