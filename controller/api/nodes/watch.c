/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch.c - GET /v1/nodes/watch: what of the nodes needs a look. Silent nodes, nodes whose figures are late, how far the accounting
 * of Slurm has been read; of the jobs that the caller may see, those whose GPUs are idle and those whose cores idle most. Each list is
 * short, and chosen from what survey.h has of all that runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/doc.h"
#include "controller/api/authz.h"
#include "controller/api/call.h"
#include "controller/api/nodes/nodes.h"
#include "controller/api/nodes/survey.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/page.h"

#define LIST_MAX 20
#define SILENT_NS MIN_NS	    /* agents exchange more often */
#define LATE_NS (3 * MIN_NS)	    /* agents report the use of jobs every 30 s */
#define WASTE_FROM_NS (10 * MIN_NS) /* a job that just began has not shown its use */

/* A running job with the figure that it is listed by. */
struct watched {
	int64_t key; /* more comes first */
	const struct survey_job *job;
};

struct top_list {
	struct watched of[LIST_MAX]; /* in order */
	size_t n;
	int64_t n_all;
};

struct watch {
	struct call *c;
	int64_t now_ns, idle_after_ns;
	const struct survey *running;
	int64_t oldest_ns; /* of the figures of a running job; 0: none runs */
	struct top_list late, idle, waste;
	struct doc silent, slurm;
};

/* ---- what is listed ---- */

static void insert_top(struct top_list *l, const struct survey_job *j, int64_t key)
{
	size_t at = l->n;

	l->n_all++;
	while (at > 0 && l->of[at - 1].key < key)
		at--;
	if (at == LIST_MAX)
		return;
	l->n -= l->n == LIST_MAX;
	memmove(&l->of[at + 1], &l->of[at], (l->n - at) * sizeof(*l->of));
	l->of[at] = (struct watched){ key, j };
	l->n++;
}

/* A node has one row: that of its job with the oldest figures. */
static void add_late(struct watch *w, const struct survey_job *j, int64_t late_ns)
{
	struct top_list *l = &w->late;

	for (size_t i = 0; i < l->n; i++) {
		if (l->of[i].job->node != j->node)
			continue;
		if (l->of[i].key >= late_ns)
			return;
		memmove(&l->of[i], &l->of[i + 1], (l->n - i - 1) * sizeof(*l->of));
		l->n--;
		break;
	}
	insert_top(l, j, late_ns);
}

static void look_at(struct watch *w, const struct survey_job *j)
{
	if (!w->oldest_ns || j->at_ns < w->oldest_ns)
		w->oldest_ns = j->at_ns;
	if (w->now_ns - j->at_ns > LATE_NS)
		add_late(w, j, w->now_ns - j->at_ns);
	if (!authz_sees_job(w->c, j->uid, w->running->accounts.texts[j->account]))
		return;
	if (w->idle_after_ns && j->gpu_idle_ns >= w->idle_after_ns)
		insert_top(&w->idle, j, j->gpu_idle_ns);
	if (j->running_ns >= WASTE_FROM_NS && j->idle_core_ms > 0)
		insert_top(&w->waste, j, j->idle_core_ms);
}

/* ---- the document ---- */

static void add_job(struct doc *d, const struct store_running *r)
{
	if (store_is_slurm(r->job))
		doc_int(d, "slurm_job", store_slurm_id(r->job));
	doc_int(d, "job", r->job);
	doc_text(d, "name", r->name);
	doc_text(d, "user", r->user);
	doc_text(d, "account", r->account);
	doc_int(d, "ncpus", r->ncpus);
	doc_int(d, "ngpus", r->ngpus);
}

/* Rows of a list, whose names are read now. */
struct listing {
	struct doc rows;
	const struct watched *one;
	const char *key;
	bool has_jobs;
};

static int add_listed(void *ctx, const struct store_running *r, struct err *err)
{
	struct listing *l = ctx;
	_cleanup_doc_ struct doc d = doc_object();

	(void)err;
	/* It has ended since, and this is what follows it. */
	if (r->job != l->one->job->job)
		return 0;
	doc_text(&d, "node", r->node);
	doc_text(&d, "cluster", r->cluster);
	doc_int(&d, l->key, l->one->key);
	if (l->has_jobs)
		add_job(&d, r);
	doc_add(&l->rows, doc_take(&d));
	return 0;
}

static int set_list(struct watch *w, const struct top_list *top, struct listing *l,
		    struct err *err)
{
	int r = 0;

	l->rows = doc_array();
	for (size_t i = 0; i < top->n && r >= 0; i++) {
		const struct store_running_place before = {
			w->running->nodes.texts[top->of[i].job->node], top->of[i].job->job - 1,
			1
		};

		l->one = &top->of[i];
		r = store_running_after(w->c->api->c.store, &before, add_listed, l, err);
	}
	return r;
}

static int add_silent(void *ctx, const struct store_node *n, struct err *err)
{
	struct watch *w = ctx;
	_cleanup_doc_ struct doc d = doc_object();

	(void)err;
	if (n->last_ns >= w->now_ns - SILENT_NS)
		return 0;
	doc_text(&d, "node", n->node);
	doc_text(&d, "cluster", n->cluster);
	doc_int(&d, "last_ns", n->last_ns);
	doc_flag(&d, "lost", n->lost);
	doc_add(&w->silent, doc_take(&d));
	return 0;
}

static int add_slurm(void *ctx, const struct store_followed *f, struct err *err)
{
	struct watch *w = ctx;
	_cleanup_doc_ struct doc d = doc_object();

	(void)err;
	doc_text(&d, "cluster", f->cluster);
	if (f->mark_s)
		doc_int(&d, "read_until_ns", f->mark_s * S_NS);
	if (f->live_ns)
		doc_int(&d, "told_ns", f->live_ns);
	doc_add(&w->slurm, doc_take(&d));
	return 0;
}

static int read_nodes(struct watch *w, int64_t *ret_silent, struct err *err)
{
	static const struct store_node_page silent = { .sort = STORE_NODE_SORT_LAST_NS,
						       .limit = LIST_MAX };
	struct store *s = w->c->api->c.store;
	int r = store_silent_count(s, w->now_ns - SILENT_NS, ret_silent, err);

	if (r >= 0 && *ret_silent)
		r = store_nodes_page(s, &silent, add_silent, w, err);
	return r < 0 ? r : store_followed(s, add_slurm, w, err);
}

static int answer_watch(struct watch *w, int64_t n_silent, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	struct listing late = { .key = "late_ns" },
		       idle = { .key = "gpu_idle_ns", .has_jobs = true },
		       waste = { .key = "idle_core_ms", .has_jobs = true };
	int r = set_list(w, &w->late, &late, err);

	if (r >= 0)
		r = set_list(w, &w->idle, &idle, err);
	if (r >= 0)
		r = set_list(w, &w->waste, &waste, err);
	doc_int(&d, "n_silent", n_silent);
	doc_set(&d, "silent", doc_take(&w->silent));
	if (w->oldest_ns)
		doc_int(&d, "oldest_ns", w->oldest_ns);
	doc_set(&d, "late", doc_take(&late.rows));
	doc_set(&d, "slurm", doc_take(&w->slurm));
	doc_int(&d, "n_idle_gpu_jobs", w->idle.n_all);
	doc_set(&d, "idle_gpus", doc_take(&idle.rows));
	doc_set(&d, "waste", doc_take(&waste.rows));
	return r < 0 ? r : doc_finish(&d, &w->c->answer, err);
}

int route_node_watch(struct call *c, struct err *err)
{
	struct watch w = { .c = c,
			   .now_ns = api_now_ns(),
			   .idle_after_ns = config_gpu_idle_ns(c->api->c.config) };
	int64_t n_silent = 0;
	int r = survey_take(c->api, &w.running, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < w.running->n; i++)
		look_at(&w, &w.running->jobs[i]);
	w.silent = doc_array();
	w.slurm = doc_array();
	r = read_nodes(&w, &n_silent, err);
	return r < 0 ? r : answer_watch(&w, n_silent, err);
}
