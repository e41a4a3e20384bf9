/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch.c - GET /v1/nodes/watch: what of the nodes needs a look. Silent nodes, nodes whose figures are late, how far the accounting
 * of Slurm has been read; of the jobs that the caller may see, those whose GPUs are idle and those whose cores idle most. One pass
 * over what runs; each list is short. */
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
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/page.h"
#include "controller/ledger/nodes/running.h"

#define LIST_MAX 20
#define SILENT_NS MIN_NS	    /* agents exchange more often */
#define LATE_NS (3 * MIN_NS)	    /* agents report the use of jobs every 30 s */
#define WASTE_FROM_NS (10 * MIN_NS) /* a job that just began has not shown its use */

/* A running job, or a node (job 0), with the figure that it is listed by. */
struct watched {
	int64_t key; /* more comes first */
	int64_t job, ncpus, ngpus;
	char node[REQUEST_NAME_MAX], cluster[REQUEST_NAME_MAX], name[REQUEST_NAME_MAX],
		user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX];
};

struct top_list {
	struct watched of[LIST_MAX]; /* in order */
	size_t n;
	int64_t n_all;
};

struct watch {
	struct call *c;
	int64_t now_ns, idle_after_ns;
	int64_t oldest_ns; /* of the figures of a running job; 0: none runs */
	struct top_list late, idle, waste;
	struct doc silent, slurm;
};

/* ---- the pass ---- */

static void copy_name(char to[static REQUEST_NAME_MAX], const char *name)
{
	snprintf(to, REQUEST_NAME_MAX, "%s", name);
}

static void fill_watched(struct watched *w, const struct store_running *r, int64_t key)
{
	*w = (struct watched){
		.key = key, .job = r->job, .ncpus = r->ncpus, .ngpus = r->ngpus
	};
	copy_name(w->node, r->node);
	copy_name(w->cluster, r->cluster);
	copy_name(w->name, r->name);
	copy_name(w->user, r->user);
	copy_name(w->account, r->account);
}

static void insert_top(struct top_list *l, const struct store_running *r, int64_t key)
{
	size_t at = l->n;

	l->n_all++;
	while (at > 0 && l->of[at - 1].key < key)
		at--;
	if (at == LIST_MAX)
		return;
	l->n -= l->n == LIST_MAX;
	memmove(&l->of[at + 1], &l->of[at], (l->n - at) * sizeof(*l->of));
	fill_watched(&l->of[at], r, key);
	l->n++;
}

/* A node has one row: that of its job with the oldest figures. */
static void add_late(struct watch *w, const struct store_running *r, int64_t late_ns)
{
	struct top_list *l = &w->late;

	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->of[i].node, r->node) != 0)
			continue;
		if (l->of[i].key >= late_ns)
			return;
		memmove(&l->of[i], &l->of[i + 1], (l->n - i - 1) * sizeof(*l->of));
		l->n--;
		break;
	}
	insert_top(l, r, late_ns);
}

static int add_running(void *ctx, const struct store_running *r, struct err *err)
{
	struct watch *w = ctx;
	int64_t idle_ms =
		r->cpu_ns < 0 ? 0 : r->ncpus * (r->running_ns / MS_NS) - r->cpu_ns / MS_NS;

	(void)err;
	if (r->is_suspended || !r->at_ns)
		return 0;
	if (!w->oldest_ns || r->at_ns < w->oldest_ns)
		w->oldest_ns = r->at_ns;
	if (w->now_ns - r->at_ns > LATE_NS)
		add_late(w, r, w->now_ns - r->at_ns);
	if (!authz_sees_job(w->c, r->uid, r->account))
		return 0;
	if (w->idle_after_ns && r->ngpus && r->gpu_idle_ns >= w->idle_after_ns)
		insert_top(&w->idle, r, r->gpu_idle_ns);
	if (r->running_ns >= WASTE_FROM_NS && idle_ms > 0)
		insert_top(&w->waste, r, idle_ms);
	return 0;
}

/* ---- the document ---- */

static void add_job(struct doc *d, const struct watched *w)
{
	if (store_is_slurm(w->job))
		doc_int(d, "slurm_job", store_slurm_id(w->job));
	doc_int(d, "job", w->job);
	doc_text(d, "name", w->name);
	doc_text(d, "user", w->user);
	doc_text(d, "account", w->account);
	doc_int(d, "ncpus", w->ncpus);
	doc_int(d, "ngpus", w->ngpus);
}

static json_t *encode_list(const struct top_list *l, const char *key, bool has_jobs)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (size_t i = 0; i < l->n; i++) {
		_cleanup_doc_ struct doc d = doc_object();

		doc_text(&d, "node", l->of[i].node);
		doc_text(&d, "cluster", l->of[i].cluster);
		doc_int(&d, key, l->of[i].key);
		if (has_jobs)
			add_job(&d, &l->of[i]);
		doc_add(&a, doc_take(&d));
	}
	return doc_take(&a);
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

static int read_all(struct watch *w, int64_t *ret_silent, struct err *err)
{
	static const struct store_node_page silent = { .sort = STORE_NODE_SORT_LAST_NS,
						       .limit = LIST_MAX };
	struct store *s = w->c->api->c.store;
	int r = store_silent_count(s, w->now_ns - SILENT_NS, ret_silent, err);

	if (r >= 0 && *ret_silent)
		r = store_nodes_page(s, &silent, add_silent, w, err);
	if (r >= 0)
		r = store_running_all(s, add_running, w, err);
	return r < 0 ? r : store_followed(s, add_slurm, w, err);
}

int route_node_watch(struct call *c, struct err *err)
{
	struct watch *w = calloc(1, sizeof(*w));
	_cleanup_free_ struct watch *owned = w;
	_cleanup_doc_ struct doc d = doc_message();
	int64_t n_silent = 0;
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->c = c;
	w->now_ns = api_now_ns();
	w->idle_after_ns = config_gpu_idle_ns(c->api->c.config);
	w->silent = doc_array();
	w->slurm = doc_array();
	r = read_all(w, &n_silent, err);
	doc_int(&d, "n_silent", n_silent);
	doc_set(&d, "silent", doc_take(&w->silent));
	if (w->oldest_ns)
		doc_int(&d, "oldest_ns", w->oldest_ns);
	doc_set(&d, "late", encode_list(&w->late, "late_ns", false));
	doc_set(&d, "slurm", doc_take(&w->slurm));
	doc_int(&d, "n_idle_gpu_jobs", w->idle.n_all);
	doc_set(&d, "idle_gpus", encode_list(&w->idle, "gpu_idle_ns", true));
	doc_set(&d, "waste", encode_list(&w->waste, "idle_core_ms", true));
	return r < 0 ? r : doc_finish(&d, &c->answer, err);
}
