/* node_list.c - limits the list of nodes and sums up all of them; see node_list.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/nodes/node_list.h"

int node_list_read(const struct call *c, struct node_list *l, struct err *err)
{
	static const int64_t all = INT64_MAX, no = 0;
	int64_t totals = 0;
	int r = call_query_int(c, "limit", (struct wire_int){ 0, INT64_MAX, &all }, &l->limit,
			       err);

	if (r >= 0)
		r = call_query_int(c, "totals", (struct wire_int){ 0, 1, &no }, &totals, err);
	l->has_totals = totals;
	l->node = call_query_text(c, "node");
	return r;
}

static void add_amounts(struct resources *sum, const struct resources *more)
{
	sum->ncpus += more->ncpus;
	sum->mem_bytes += more->mem_bytes;
	sum->jobfs_bytes += more->jobfs_bytes;
	sum->ngpus += more->ngpus;
}

static void count_node(struct node_list *l, const struct store_node *n)
{
	++*(n->lost ? &l->n_lost : n->draining ? &l->n_drained : &l->n_up);
	l->n_jobs += n->jobs;
	if (n->lost)
		return;
	add_amounts(&l->capacity, &n->capacity);
	add_amounts(&l->in_use, &n->in_use);
	if (!n->draining)
		add_amounts(&l->free, &n->free);
}

bool node_list_count(struct node_list *l, const struct store_node *n)
{
	count_node(l, n);
	if (l->node && strcmp(l->node, n->node) != 0)
		return false;
	if ((int64_t)json_array_size(l->nodes) < l->limit)
		return true;
	l->left_out++;
	return false;
}

static json_t *encode_sum(const struct resources *r)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "ncpus", r->ncpus);
	doc_int(&d, "mem_bytes", r->mem_bytes);
	doc_int(&d, "jobfs_bytes", r->jobfs_bytes);
	doc_int(&d, "ngpus", r->ngpus);
	return doc_take(&d);
}

/* Jobs by state, of all clusters together. */
static int add_count(void *ctx, const struct store_count *n, struct err *err)
{
	int64_t *of_state = ctx;

	(void)err;
	of_state[n->state] += n->n;
	return 0;
}

static int set_jobs(struct call *c, struct doc *totals, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object();
	int64_t n[_JOB_STATE_MAX] = { 0 };
	int r = store_counts(c->api->c.store, add_count, n, err);

	for (enum job_state s = 0; s < JOB_ENDED; s++)
		doc_int(&d, job_state_name(s), n[s]);
	doc_set(totals, "jobs_by_state", doc_take(&d));
	return r;
}

int node_list_finish(struct call *c, struct node_list *l, struct err *err)
{
	_cleanup_doc_ struct doc totals = doc_object(), answer = doc_edit(c->answer);
	int r = 0;

	if (l->node && l->limit && json_array_size(l->nodes) == 0)
		return err_set(err, -ENOENT, "no node '%.64s'", l->node);
	if (l->left_out)
		doc_int(&answer, "left_out", l->left_out);
	if (l->has_totals) {
		doc_int(&totals, "up", l->n_up);
		doc_int(&totals, "drain", l->n_drained);
		doc_int(&totals, "lost", l->n_lost);
		doc_int(&totals, "jobs", l->n_jobs);
		doc_set(&totals, "capacity", encode_sum(&l->capacity));
		doc_set(&totals, "held", encode_sum(&l->in_use));
		doc_set(&totals, "free", encode_sum(&l->free));
		r = set_jobs(c, &totals, err);
		doc_set(&answer, "totals", doc_take(&totals));
	}
	if (r >= 0)
		r = doc_check(&answer, err);
	return r;
}
