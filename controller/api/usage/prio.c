/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prio.c - GET /v1/prio, the priorities of queued jobs, the highest first; with why=1 each one's reason to wait
 * and its latest start. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/engine.h"
#include "common/time_units.h"
#include "common/wire/doc.h"
#include "controller/api/authz.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/api/usage/usage.h"
#include "controller/config/ordering.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/queued.h"
#include "controller/dispatch/why.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/nodes/page.h"
#include "controller/quota/usage_names.h"
#include "controller/sharetree/rank.h"

#define PRIO_LIMIT 1000 /* rows of one answer, so that it delays no other request */

/* A queued job that the caller may see. The priority is that of the last cycle, for the choice alone. */
struct candidate {
	int64_t job, priority;
	size_t cluster; /* of the configuration */
};

struct queued {
	struct call *c;
	json_t *rows;
	struct rank_cluster has;
	int64_t now_ns, job; /* job 0: all */
	int64_t limit, left_out, why;
	const char *user, *account;
	struct candidate *of; /* all of them, then the first `limit` by number */
	size_t n, room;
	size_t cluster; /* that is being read */
};

static void queued_done(struct queued *q)
{
	free(q->of);
}

/* ---- one row ---- */

static json_t *encode_factors(const struct priority *p)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (size_t i = 0; i < p->n_rows; i++) {
		char product[PRIORITY_TEXT_MAX];

		doc_add(&a,
			json_pack("{s:s,s:f,s:I,s:s}", "factor", p->rows[i].name, "value",
				  p->rows[i].factor, "weight", (json_int_t)p->rows[i].weight,
				  "product",
				  priority_format_micro(p->rows[i].product_micro, product)));
	}
	return doc_take(&a);
}

struct placed_row {
	struct queued *q;
	struct doc *row;
};

static int add_place(void *ctx, const struct store_job *job, struct err *err)
{
	const struct placed_row *to = ctx;
	const struct api *a = to->q->c->api;
	enum dispatch_start start = DISPATCH_START_NONE;
	int64_t at_s;

	(void)err;
	describe_place(a, job, DISPATCH_WHY_REASON, to->row);
	doc_int(to->row, "submitted_ns", job->submitted_ns);
	if (!job->is_withheld)
		start = dispatch_start(a->c.cycle, job->cluster, job->job, &at_s);
	if (start == DISPATCH_START_KNOWN)
		doc_int(to->row, "starts_at_ns", at_s * S_NS);
	doc_flag(to->row, "start_pending", start == DISPATCH_START_PENDING);
	return 0;
}

/* *ret NULL: out of memory. */
static int encode_queued(struct queued *q, const struct store_waiting *w,
			 const struct priority *p, json_t **ret, struct err *err)
{
	char words[RANK_WORDS_MAX], sum[PRIORITY_TEXT_MAX];
	_cleanup_doc_ struct doc d = doc_object();
	int r = 0;

	doc_int(&d, "job", w->job);
	doc_text(&d, "name", w->name);
	doc_text(&d, "user", w->user);
	doc_text(&d, "account", w->account);
	doc_text(&d, "cluster", w->cluster);
	doc_text(&d, "queue", w->queue);
	doc_text(&d, "pool", charge_pool_name(w->pool));
	doc_int(&d, "priority", p->value);
	doc_text(&d, "sum", priority_format_micro(p->sum_micro, sum));
	doc_text(&d, "words", rank_words(p, words));
	doc_set(&d, "factors", encode_factors(p));
	doc_text_if(&d, "qos_name", w->qos);
	doc_text_if(&d, "held", w->held);
	if (q->why)
		r = store_job(q->c->api->c.store, w->job, add_place,
			      &(struct placed_row){ q, &d }, err);
	*ret = doc_take(&d);
	return r;
}

static int add_row(struct queued *q, const struct store_waiting *w, struct err *err)
{
	struct select select = { .is_scattered = w->is_scattered };
	const struct rank_job ask = {
		.where = { w->cluster, w->pool },
		.account = w->account,
		.user = w->user,
		.queue = w->queue,
		.qos = w->qos,
		.want = &w->want,
		.select = &select,
		.is_exclusive = w->is_exclusive,
		.is_held = w->held != NULL,
		.nice = w->nice,
		.site = w->site,
		.waited_s = w->held ? 0 : (q->now_ns - w->eligible_ns) / S_NS
	};
	char model[REQUEST_NAME_MAX];
	struct priority p;
	json_t *row = NULL;
	int r = *w->chunks ? select_parse(w->chunks, &select, model, err) : 0;

	if (r >= 0)
		r = rank_job(q->c->api->c.sharetree, &q->has, &ask, &p, err);
	if (r >= 0)
		r = encode_queued(q, w, &p, &row, err);
	if (r >= 0 && json_array_append_new(q->rows, row) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* ---- which rows ---- */

static bool is_wanted(const struct queued *q, const struct queued_job *w)
{
	if (q->job && w->job != q->job)
		return false;
	if (strcmp(w->user, q->c->user) != 0 &&
	    authz_role_of(q->c, w->account) < AUTHZ_COORDINATOR)
		return false;
	return (!q->user || !strcmp(w->user, q->user)) &&
	       (!q->account || !strcmp(w->account, q->account));
}

static struct queued_job key_of(const struct store_waiting *w)
{
	return (struct queued_job){ .job = w->job, .user = w->user, .account = w->account };
}

static int add_queued(void *ctx, const struct store_waiting *w, struct err *err)
{
	const struct queued_job key = key_of(w);
	struct queued *q = ctx;

	return is_wanted(q, &key) ? add_row(q, w, err) : 0;
}

static int add_candidate(struct queued *q, int64_t job, int64_t priority, struct err *err)
{
	size_t room = q->room ? q->room * 2 : 256;

	if (q->n == q->room) {
		struct candidate *more = reallocarray(q->of, room, sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		q->of = more;
		q->room = room;
	}
	q->of[q->n++] = (struct candidate){ job, priority, q->cluster };
	return 0;
}

/* Held jobs come after all others; those that no cycle has seen yet, after those that one has. */
#define PRIORITY_HELD INT64_MIN
#define PRIORITY_NEW (INT64_MIN + 1)

static int collect_queued(void *ctx, const struct queued_job *one, struct err *err)
{
	struct queued *q = ctx;

	if (!is_wanted(q, one))
		return 0;
	return add_candidate(q, one->job, one->has_priority ? one->priority : PRIORITY_NEW,
			     err);
}

static int collect_held(void *ctx, const struct store_waiting *w, struct err *err)
{
	const struct queued_job key = key_of(w);
	struct queued *q = ctx;

	return is_wanted(q, &key) ? add_candidate(q, w->job, PRIORITY_HELD, err) : 0;
}

static int compare_priorities(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->priority != y->priority)
		return x->priority > y->priority ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int compare_places(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->cluster != y->cluster)
		return x->cluster < y->cluster ? -1 : 1;
	return x->job < y->job ? -1 : x->job > y->job;
}

static int add_held(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct queued *q = ctx;
	const struct candidate key = { w->job, 0, q->cluster };

	return bsearch(&key, q->of, q->n, sizeof(key), compare_places) ? add_row(q, w, err) : 0;
}

/* The rows of the chosen jobs of one cluster: `first` of q->of is the first of them. */
static int add_chosen(struct queued *q, const char *cluster, size_t first, struct err *err)
{
	_cleanup_free_ int64_t *jobs = calloc(q->n + 1, sizeof(*jobs));
	struct store_these these = { cluster, jobs, 0 };
	bool has_held = false;
	int r = 0;

	if (!jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = first; i < q->n && q->of[i].cluster == q->cluster; i++) {
		jobs[these.n++] = q->of[i].job;
		has_held |= q->of[i].priority == PRIORITY_HELD;
	}
	if (these.n)
		r = store_waiting_these(q->c->api->c.store, &these, add_queued, q, err);
	if (r >= 0 && has_held)
		r = store_withheld(q->c->api->c.store, cluster, add_held, q, err);
	return r;
}

/* ---- one cluster ---- */

/* What ranks of the cluster's jobs depend on. */
static int read_cluster(struct queued *q, const char *cluster, struct err *err)
{
	struct store_cluster_size size;
	struct sharetree_view v;
	int r = store_cluster_size(q->c->api->c.store, cluster, &size, err);

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
		r = sharetree_get_view(q->c->api->c.sharetree,
				       (struct sharetree_where){ cluster, p }, q->now_ns, &v,
				       err);
	if (r >= 0)
		q->has = (struct rank_cluster){ size.nodes, size.cores, size.largest };
	return r;
}

static int collect_cluster(struct queued *q, const char *cluster, struct err *err)
{
	int r = dispatch_each_queued(q->c->api->c.cycle, cluster, collect_queued, q, err);

	return r < 0 ? r : store_withheld(q->c->api->c.store, cluster, collect_held, q, err);
}

static int add_cluster(struct queued *q, const char *cluster, struct err *err)
{
	size_t first = 0;
	int r = read_cluster(q, cluster, err);

	if (r < 0)
		return r;
	while (first < q->n && q->of[first].cluster < q->cluster)
		first++;
	return add_chosen(q, cluster, first, err);
}

/* Of a Slurm cluster the job that is asked for by Slurm's id, and no list: squeue and sprio have it. */
static int add_pending(struct queued *q, const char *cluster, struct err *err)
{
	const char *name = call_query_text(q->c, "cluster");
	const struct slurm_pending_job *j =
		q->job ? slurm_pending_find(q->c->api->slurm_pending, cluster, q->job) : NULL;

	if (!j || (name && strcmp(name, cluster) != 0) ||
	    !authz_sees_job(q->c, (uint32_t)j->uid, j->account))
		return 0;
	if (json_array_append_new(q->rows, slurm_pending_encode_prio(q->c, cluster, j)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Those of the highest priority over all clusters. */
static int choose_best(struct queued *q, struct err *err)
{
	const struct config *config = q->c->api->c.config;
	int r = 0;

	for (q->cluster = 0; q->cluster < config->n_clusters && r >= 0; q->cluster++)
		if (config->clusters[q->cluster]->engine != ENGINE_SLURM)
			r = collect_cluster(q, config->clusters[q->cluster]->name, err);
	if (q->n)
		qsort(q->of, q->n, sizeof(*q->of), compare_priorities);
	if ((int64_t)q->n > q->limit) {
		q->left_out = (int64_t)q->n - q->limit;
		q->n = (size_t)q->limit;
	}
	if (q->n)
		qsort(q->of, q->n, sizeof(*q->of), compare_places);
	return r;
}

static int add_all(struct queued *q, struct err *err)
{
	const struct config *config = q->c->api->c.config;
	int r = choose_best(q, err);

	for (q->cluster = 0; q->cluster < config->n_clusters && r >= 0; q->cluster++) {
		const struct config_cluster *cl = config->clusters[q->cluster];

		r = cl->engine == ENGINE_SLURM ? add_pending(q, cl->name, err)
					       : add_cluster(q, cl->name, err);
	}
	return r;
}

/* ---- their order ---- */

/* Held jobs last; where priority orders the queue the highest first, then by number, which is the order of submission. */
static int compare_rows(const void *a, const void *b, void *by_priority)
{
	const json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
	const bool is_held[2] = { json_object_get(x, "held"), json_object_get(y, "held") };
	int64_t p[2] = { json_integer_value(json_object_get(x, "priority")),
			 json_integer_value(json_object_get(y, "priority")) };
	int64_t job[2] = { json_integer_value(json_object_get(x, "job")),
			   json_integer_value(json_object_get(y, "job")) };

	if (is_held[0] != is_held[1])
		return is_held[0] ? 1 : -1;
	if (*(const bool *)by_priority && p[0] != p[1])
		return p[0] > p[1] ? -1 : 1;
	return job[0] < job[1] ? -1 : job[0] > job[1];
}

static int sort_rows(struct queued *q, struct err *err)
{
	size_t n = json_array_size(q->rows);
	_cleanup_free_ json_t **rows = calloc(n + 1, sizeof(*rows));
	bool by_priority =
		config_ordering(q->c->api->c.config, NULL) == CONFIG_ORDERING_PRIORITY;
	int r = 0;

	if (!rows)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		rows[i] = json_incref(json_array_get(q->rows, i));
	qsort_r(rows, n, sizeof(*rows), compare_rows, &by_priority);
	for (size_t i = 0; i < n; i++)
		if (json_array_set_new(q->rows, i, rows[i]) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* ---- the call ---- */

static int read_query(struct call *c, struct queued *q, struct err *err)
{
	static const int64_t none = 0, limit = PRIO_LIMIT;
	const struct wire_int flag = { 0, 1, &none };
	const struct quota_site site = { .store = c->api->c.store,
					 .config = c->api->c.config,
					 .accounts = c->api->accounts };
	int r = call_query_int(c, "job", (struct wire_int){ 0, INT64_MAX, &none }, &q->job,
			       err);

	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, PRIO_LIMIT, &limit },
				   &q->limit, err);
	if (r >= 0)
		r = call_query_int(c, "why", flag, &q->why, err);
	q->user = call_query_text(c, "user");
	q->account = call_query_text(c, "account");
	return r < 0 ? r
		     : usage_names_check_period(
			       &(struct usage_names){ &site, c->is_operator ? NULL : c->user },
			       &(struct store_period){ .account = q->account, .user = q->user },
			       err);
}

int route_prio(struct call *c, struct err *err)
{
	_cleanup_(queued_done) struct queued q = { .c = c, .now_ns = api_now_ns() };
	_cleanup_doc_ struct doc answer = { 0 };
	int r = read_query(c, &q, err);

	if (r < 0)
		return r;
	c->answer = wire_new();
	q.rows = json_array();
	if (!c->answer || json_object_set_new(c->answer, "rows", q.rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	answer = doc_edit(c->answer);
	doc_text(&answer, "order",
		 config_ordering_name(config_ordering(c->api->c.config, NULL)));
	doc_text(&answer, "order_words", config_ordering_queue(c->api->c.config));
	r = add_all(&q, err);
	if (r < 0)
		return r;
	r = sort_rows(&q, err);
	if (r < 0)
		return r;
	doc_int(&answer, "left_out", q.left_out);
	if (q.why)
		doc_text(&answer, "sure", DISPATCH_SURE);
	r = doc_check(&answer, err);
	if (r < 0)
		return r;
	if (q.job && json_array_size(q.rows) == 0)
		return err_set(err, -ENOENT, "no queued job %lld", (long long)q.job);
	return 0;
}
