/* cycle.c - see cycle.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store.h"
#include "controller/queue/cycle.h"
#include "controller/queue/order.h"
#include "controller/quota/quota_gate.h"

#define BATCH 64

/* The first job of a cluster that could not start, and the order it is the first of. */
struct head {
	struct head *next;
	char cluster[REQUEST_NAME_MAX], why[FIFO_WHY_MAX];
	int64_t job; /* 0: nobody waits */
	struct order order;
	struct gate *gate;
	size_t n_held; /* by the gate */
};

struct cycle {
	struct store *store;
	struct standing *standing;
	bool is_ranked; /* else first in, first out */
	struct head *heads;
};

int cycle_new(struct store *s, struct standing *standing, struct cycle **ret, struct err *err)
{
	struct cycle *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->store = s;
	c->standing = standing;
	c->is_ranked = rank_is_used(standing_policy(standing));
	*ret = c;
	return 0;
}

struct cycle *cycle_free(struct cycle *c)
{
	while (c && c->heads) {
		struct head *h = c->heads;

		c->heads = h->next;
		order_done(&h->order);
		gate_free(h->gate);
		free(h);
	}
	free(c);
	return NULL;
}

static struct head *find_head(const struct cycle *c, const char *cluster)
{
	struct head *h = c->heads;

	while (h && strcmp(h->cluster, cluster) != 0)
		h = h->next;
	return h;
}

static int make_head(struct cycle *c, const char *cluster, struct head **ret, struct err *err)
{
	struct head *h = find_head(c, cluster);
	int r;

	*ret = h;
	if (h)
		return 0;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	r = gate_new(&h->gate, err);
	if (r < 0) {
		free(h);
		return r;
	}
	snprintf(h->cluster, sizeof(h->cluster), "%s", cluster);
	h->next = c->heads;
	*ret = c->heads = h;
	return 0;
}

static void set_head(struct head *h, const struct fifo_job *j)
{
	h->job = j ? j->job : 0;
	snprintf(h->why, sizeof(h->why), "%s", j ? j->why : "");
}

struct world {
	struct fifo_node *nodes;
	size_t n_nodes, taken; /* of the order */
	struct fifo_job jobs[BATCH];
};

static void world_free(struct world **w)
{
	if (*w)
		free((*w)->nodes);
	free(*w);
}

static int give(struct cycle *c, const struct cycle_run *run, const struct world *w, size_t n,
		struct err *err)
{
	struct store_gift gifts[BATCH];
	int r;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		gifts[i] =
			(struct store_gift){ w->jobs[i].job, w->nodes[w->jobs[i].node].name };
	r = store_give(c->store, gifts, n, run->now_ns, err);
	for (size_t i = 0; i < n && r >= 0; i++)
		run->given(run->ctx, gifts[i].job, gifts[i].node);
	return r;
}

/* The next jobs in order that nothing holds back. Each is taken to start, for the sake of the
 * limits that the later ones count against. Returns how many. */
static int next_batch(struct cycle *c, struct head *h, const struct cycle_run *run,
		      struct world *w, struct err *err)
{
	char why[ELIGIBLE_WHY_MAX];
	int n = 0;

	if (!c->is_ranked && gate_is_open(h->gate))
		return store_queue(c->store, run->cluster, w->jobs, BATCH, err);
	for (; n < BATCH && w->taken < h->order.n; w->taken++) {
		const struct fifo_job *j = &h->order.jobs[h->order.by_place[w->taken]].job;

		if (!gate_ask(h->gate, j->job, why)) {
			h->n_held++;
			continue;
		}
		gate_start(h->gate, j->job);
		w->jobs[n++] = *j;
	}
	return n;
}

/* 1: all of a full batch was placed, there may be more. */
static int run_batch(struct cycle *c, struct head *h, const struct cycle_run *run,
		     struct world *w, struct err *err)
{
	int n = next_batch(c, h, run, w, err), r;
	size_t placed;

	if (n < 0)
		return n;
	if (n > 0 && !w->nodes) {
		r = store_holds(c->store, run->cluster, &w->nodes, &w->n_nodes, err);
		if (r < 0)
			return r;
	}
	placed = fifo_decide(w->nodes, w->n_nodes, w->jobs, (size_t)n);
	for (size_t i = placed; i < (size_t)n; i++)
		gate_undo(h->gate, w->jobs[i].job);
	r = give(c, run, w, placed, err);
	if (r < 0)
		return r;
	set_head(h, placed < (size_t)n ? &w->jobs[placed] : NULL);
	return placed == BATCH;
}

static int load_gate(struct cycle *c, struct head *h, const struct cycle_run *run,
		     struct err *err)
{
	const struct quota_site site = { c->store, standing_policy(c->standing),
					 run->accounts };
	const struct gate_run now = { h->cluster, run->now_ns };

	return run->accounts ? gate_load(h->gate, &site, &now, err) : 0;
}

/* Where jobs may pass each other by: all of them, in order. */
static int put_in_order(struct cycle *c, struct head *h, const struct cycle_run *run,
			struct world *w, struct err *err)
{
	struct order_ask ask = { .store = c->store,
				 .standing = c->is_ranked ? c->standing : NULL,
				 .cluster = run->cluster,
				 .now_ns = run->now_ns };
	int r;

	order_done(&h->order);
	if (!c->is_ranked && gate_is_open(h->gate))
		return 0;
	r = store_holds(c->store, run->cluster, &w->nodes, &w->n_nodes, err);
	if (r < 0)
		return r;
	ask.has = rank_cluster(w->nodes, w->n_nodes);
	return order_make(&ask, &h->order, err);
}

bool cycle_is_holding(const struct cycle *c)
{
	for (const struct head *h = c->heads; h; h = h->next)
		if (h->n_held > 0)
			return true;
	return false;
}

/* 0: nobody is queued. */
static int prepare(struct cycle *c, struct head *h, const struct cycle_run *run,
		   struct world *w, struct err *err)
{
	int r = store_queue(c->store, run->cluster, w->jobs, 1, err);

	h->n_held = 0;
	if (r <= 0) {
		order_done(&h->order);
		set_head(h, NULL);
		return r;
	}
	r = load_gate(c, h, run, err);
	if (r >= 0)
		r = put_in_order(c, h, run, w, err);
	return r < 0 ? r : 1;
}

int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	_cleanup_(world_free) struct world *w = calloc(1, sizeof(*w));
	struct head *h = NULL;
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	r = make_head(c, run->cluster, &h, err);
	if (r >= 0)
		r = prepare(c, h, run, w, err);
	if (r <= 0)
		return r;
	do
		r = run_batch(c, h, run, w, err);
	while (r > 0);
	return r;
}

/* ---- why ---- */

static void why_fifo(const struct head *h, int64_t job, char *buf, size_t size)
{
	if (job == h->job)
		snprintf(buf, size, "%s", h->why);
	else
		snprintf(buf, size, "waits behind job %lld, the first in the queue, which %s",
			 (long long)h->job, h->why);
}

static void why_order(const struct head *h, const struct order_job *j, char *buf, size_t size)
{
	const struct order_job *first = order_find(&h->order, h->job);

	if (j == first)
		snprintf(buf, size, "first in the queue; %s", h->why);
	else
		snprintf(
			buf, size,
			"place %zu of %zu; waits behind job %lld (priority %lld), the first in "
			"the queue, which %s",
			j->place - first->place + 1, h->order.n - first->place,
			(long long)h->job, (long long)first->priority, h->why);
}

/* Is the job behind the one that could not start? Those before it have started, or are new. */
static bool is_behind(const struct cycle *c, const struct head *h, int64_t job)
{
	const struct order_job *j = order_find(&h->order, job);
	const struct order_job *first = order_find(&h->order, h->job);

	if (h->job == 0)
		return false;
	return c->is_ranked ? j && first && j->place >= first->place : job >= h->job;
}

void cycle_why(const struct cycle *c, const char *cluster, int64_t job, char *buf, size_t size)
{
	const struct head *h = find_head(c, cluster);
	const struct order_job *j = h ? order_find(&h->order, job) : NULL;
	char held[ELIGIBLE_WHY_MAX] = "";
	size_t n = 0;

	if (c->is_ranked && j)
		n = (size_t)snprintf(buf, size, "priority %lld%s%s; ", (long long)j->priority,
				     j->main ? ", mostly " : "", j->main ? j->main : "");
	if (n >= size)
		return;
	if (h && !gate_ask(h->gate, job, held))
		snprintf(buf + n, size - n, "%s", held);
	else if (!h || !is_behind(c, h, job))
		snprintf(buf, size, "waits for the next scheduling cycle");
	else if (c->is_ranked)
		why_order(h, j, buf + n, size - n);
	else
		why_fifo(h, job, buf, size);
}
