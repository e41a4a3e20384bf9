/* order.c - see order.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store_charges.h"
#include "controller/queue/order.h"

#define S_NS 1000000000LL

void order_done(struct order *o)
{
	for (size_t i = 0; i < o->n; i++)
		free(o->jobs[i].select);
	free(o->jobs);
	free(o->by_place);
	*o = (struct order){ 0 };
}

struct filling {
	const struct order_ask *ask;
	struct order *o;
	size_t room;
};

static int make_room(struct filling *f, struct err *err)
{
	size_t larger = f->room ? f->room * 2 : 64;
	struct order_job *p = realloc(f->o->jobs, larger * sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	f->o->jobs = p;
	f->room = larger;
	return 0;
}

static int rank(const struct order_ask *a, const struct store_waiting *w, struct order_job *j,
		struct err *err)
{
	const struct rank_job ask = { .where = { w->cluster, w->pool },
				      .account = w->account,
				      .user = w->user,
				      .queue = w->queue,
				      .want = &w->want,
				      .nice = w->nice,
				      .site = w->site,
				      .waited_s = (a->now_ns - w->submitted_ns) / S_NS };
	const struct priority_row *most;
	struct priority p;
	int r = rank_job(a->standing, &a->has, &ask, &p, err);

	if (r < 0)
		return r;
	most = rank_main(&p);
	j->priority = p.value;
	j->main = most ? most->name : NULL;
	return 0;
}

int32_t order_queue(const struct config *c, const char *queue)
{
	for (size_t i = 0; i < c->n_queues; i++)
		if (!strcmp(c->queues[i]->name, queue))
			return (int32_t)i;
	return -1;
}

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

static int add_job(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct filling *f = ctx;
	struct order_job j = { .job = { .job = w->job,
					.want = w->want,
					.is_exclusive = w->is_exclusive,
					.node = -1 },
			       .submitted_ns = w->submitted_ns,
			       .due_ns = w->due_ns,
			       .user = names_number(f->ask->users, w->user),
			       .account = names_number(f->ask->accounts, w->account),
			       .queue = order_queue(f->ask->config, w->queue) };
	int r = f->o->n == f->room ? make_room(f, err) : 0;

	if (j.user < 0 || j.account < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (r >= 0 && f->ask->standing)
		r = rank(f->ask, w, &j, err);
	if (r >= 0)
		r = read_chunks(w, &j, err);
	if (r >= 0)
		f->o->jobs[f->o->n++] = j;
	else
		free(j.select);
	return r;
}

/* Both trees are brought up to date once, before the jobs are ranked. */
static int bring_up(const struct order_ask *a, struct err *err)
{
	struct standing_view v;
	int r = 0;

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
		r = standing_look(a->standing, (struct standing_where){ a->cluster, p },
				  a->now_ns, &v, err);
	return r;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	const struct order_job *x = &o->jobs[*(const size_t *)a],
			       *y = &o->jobs[*(const size_t *)b];

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return (x->job.job > y->job.job) - (x->job.job < y->job.job);
}

int order_make(const struct order_ask *a, struct order *ret, struct err *err)
{
	struct filling f = { a, ret, 0 };
	int r = a->standing ? bring_up(a, err) : 0;

	*ret = (struct order){ 0 };
	if (r >= 0)
		r = store_waiting(a->store, a->cluster, add_job, &f, err);
	if (r < 0)
		return r;
	ret->by_place = calloc(ret->n + 1, sizeof(*ret->by_place));
	if (!ret->by_place)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < ret->n; i++)
		ret->by_place[i] = i;
	qsort_r(ret->by_place, ret->n, sizeof(*ret->by_place), compare, ret);
	for (size_t i = 0; i < ret->n; i++)
		ret->jobs[ret->by_place[i]].place = i;
	return 0;
}

const struct order_job *order_find(const struct order *o, int64_t job)
{
	size_t low = 0, high = o->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (o->jobs[mid].job.job < job)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->n && o->jobs[low].job.job == job ? &o->jobs[low] : NULL;
}
