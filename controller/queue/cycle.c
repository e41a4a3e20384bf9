/* cycle.c - see cycle.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store.h"
#include "controller/queue/cycle.h"

#define BATCH 64

/* The first job of a cluster that could not start. */
struct head {
	struct head *next;
	char cluster[REQUEST_NAME_MAX], why[FIFO_WHY_MAX];
	int64_t job; /* 0: nobody waits */
};

struct cycle {
	struct store *store;
	struct head *heads;
};

int cycle_new(struct store *s, struct cycle **ret, struct err *err)
{
	struct cycle *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->store = s;
	*ret = c;
	return 0;
}

struct cycle *cycle_free(struct cycle *c)
{
	while (c && c->heads) {
		struct head *h = c->heads;

		c->heads = h->next;
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

static int set_head(struct cycle *c, const char *cluster, const struct fifo_job *j,
		    struct err *err)
{
	struct head *h = find_head(c, cluster);

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return err_set(err, -ENOMEM, "out of memory");
		snprintf(h->cluster, sizeof(h->cluster), "%s", cluster);
		h->next = c->heads;
		c->heads = h;
	}
	h->job = j ? j->job : 0;
	snprintf(h->why, sizeof(h->why), "%s", j ? j->why : "");
	return 0;
}

struct world {
	struct fifo_node *nodes;
	size_t n_nodes;
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

/* 1: all of a full batch was placed, there may be more. */
static int run_batch(struct cycle *c, const struct cycle_run *run, struct world *w,
		     struct err *err)
{
	int n = store_queue(c->store, run->cluster, w->jobs, BATCH, err), r;
	size_t placed;

	if (n < 0)
		return n;
	if (n > 0 && !w->nodes) {
		r = store_holds(c->store, run->cluster, &w->nodes, &w->n_nodes, err);
		if (r < 0)
			return r;
	}
	placed = fifo_decide(w->nodes, w->n_nodes, w->jobs, (size_t)n);
	r = give(c, run, w, placed, err);
	if (r >= 0)
		r = set_head(c, run->cluster, placed < (size_t)n ? &w->jobs[placed] : NULL,
			     err);
	return r < 0 ? r : placed == BATCH;
}

int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	_cleanup_(world_free) struct world *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	do
		r = run_batch(c, run, w, err);
	while (r > 0);
	return r;
}

void cycle_why(const struct cycle *c, const char *cluster, int64_t job, char *buf, size_t size)
{
	const struct head *h = find_head(c, cluster);

	if (!h || h->job == 0 || job < h->job)
		snprintf(buf, size, "waits for the next scheduling cycle");
	else if (job == h->job)
		snprintf(buf, size, "%s", h->why);
	else
		snprintf(buf, size, "waits behind job %lld, the first in the queue, which %s",
			 (long long)h->job, h->why);
}
