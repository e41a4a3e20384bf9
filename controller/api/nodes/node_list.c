/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_list.c - reads which nodes are wanted, and passes those; the sums of all; see node_list.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/nodes/node_list.h"
#include "controller/api/nodes/survey.h"

#define LIMIT_MAX 1000000000 /* no limit */

static int read_sort(const struct call *c, struct store_node_page *page, struct err *err)
{
	const char *sort = call_query_text(c, "sort"), *order = call_query_text(c, "order");
	int i = 0;

	page->is_descending = order && !strcmp(order, "descending");
	if (order && !page->is_descending && strcmp(order, "ascending") != 0)
		return err_set(err, -EINVAL, "order=%.40s is neither ascending nor descending",
			       order);
	while (sort && store_node_sort_words[i] && strcmp(sort, store_node_sort_words[i]) != 0)
		i++;
	if (i == _STORE_NODE_SORT_MAX)
		return err_set(
			err, -EINVAL,
			"sort=%.40s: nodes are sorted by node, cluster, state, tier, jobs or "
			"last_ns",
			sort);
	page->sort = (enum store_node_sort)i;
	return 0;
}

int node_list_read(const struct call *c, struct node_list *l, struct err *err)
{
	static const int64_t all = LIMIT_MAX, no = 0;
	int64_t totals = 0;
	int r = call_query_int(c, "limit", (struct wire_int){ 0, LIMIT_MAX, &all },
			       &l->page.limit, err);

	if (r >= 0)
		r = call_query_int(c, "totals", (struct wire_int){ 0, 1, &no }, &totals, err);
	if (r >= 0)
		r = read_sort(c, &l->page, err);
	l->page.node = call_query_text(c, "node");
	l->page.from = call_query_text(c, "from");
	l->is_all = l->page.limit == LIMIT_MAX && !l->page.node && !l->page.from &&
		    !call_query_text(c, "sort") && !call_query_text(c, "order");
	return r >= 0 && totals ? survey_take(c->api, &l->running, err) : r;
}

/* One node more than the limit is read: it is the first of the next answer. */
struct passing {
	struct node_list *l;
	store_node_fn fn;
	int64_t n;
};

static int pass_node(void *ctx, const struct store_node *n, struct err *err)
{
	struct passing *p = ctx;

	if (p->n++ < p->l->page.limit)
		return p->fn(p->l, n, err);
	if (p->l->page.sort == STORE_NODE_SORT_NODE && !p->l->page.is_descending)
		snprintf(p->l->next, sizeof(p->l->next), "%s", n->node);
	return 0;
}

static int count_left_out(struct call *c, struct node_list *l, int64_t shown, struct err *err)
{
	int64_t n = 0;
	int r = store_node_count(c->api->c.store, l->page.from, &n, err);

	l->n_left_out = n - shown;
	return r;
}

int node_list_pass(struct call *c, struct node_list *l, store_node_fn fn, struct err *err)
{
	struct passing p = { l, fn, 0 };
	struct store_node_page page = l->page;
	int64_t limit = page.limit++;
	int r;

	if (l->is_all)
		return store_nodes(c->api->c.store, fn, l, err);
	r = store_nodes_page(c->api->c.store, &page, pass_node, &p, err);
	if (r >= 0 && !page.node && p.n > limit)
		r = count_left_out(c, l, limit, err);
	return r;
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

static int set_totals(struct call *c, const struct survey *running, struct doc *answer,
		      struct err *err)
{
	_cleanup_doc_ struct doc totals = doc_object();
	struct store_node_totals t;
	int r = store_node_totals(c->api->c.store, &t, err);

	if (r < 0)
		return r;
	doc_int(&totals, "up", t.n_up);
	doc_int(&totals, "drain", t.n_drained);
	doc_int(&totals, "lost", t.n_lost);
	doc_int(&totals, "jobs", running->n_jobs);
	doc_set(&totals, "capacity", encode_sum(&t.capacity));
	doc_set(&totals, "held", encode_sum(&running->in_use));
	doc_set(&totals, "free", encode_sum(&t.free));
	r = set_jobs(c, &totals, err);
	doc_set(answer, "totals", doc_take(&totals));
	return r;
}

int node_list_finish(struct call *c, struct node_list *l, struct err *err)
{
	_cleanup_doc_ struct doc answer = doc_edit(c->answer);
	int r;

	if (l->page.node && l->page.limit && json_array_size(l->nodes) == 0)
		return err_set(err, -ENOENT, "no node '%.64s'", l->page.node);
	if (l->n_left_out)
		doc_int(&answer, "left_out", l->n_left_out);
	doc_text_if(&answer, "next", l->next);
	r = l->running ? set_totals(c, l->running, &answer, err) : 0;
	if (r >= 0)
		r = doc_check(&answer, err);
	return r;
}
