/* share.c - GET /v1/share, the share trees, and GET /v1/prio, the priorities of queued jobs.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/usage/usage.h"
#include "common/model/engine.h"
#include "controller/api/authz.h"
#include "controller/api/jobs/slurm_pending.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/quota/usage_names.h"
#include "controller/sharetree/rank.h"
#include "controller/sharetree/stand.h"

/* ---- shares ---- */

/* JSON has no infinity: "inf" as a text. NaN (not defined for the row): absent. */
static void set_real(struct doc *d, const char *key, double v)
{
	if (isinf(v))
		doc_text(d, key, "inf");
	else if (!isnan(v))
		doc_real(d, key, v);
}

static json_t *encode_row(struct sharetree_where w, const struct sharetree_view *v, size_t i)
{
	const struct sharetree_row *row = &v->rows[i];
	const struct fairshare_result *r = &v->results[i];
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "cluster", w.cluster);
	doc_text(&d, "pool", charge_pool_name(w.pool));
	doc_text(&d, "account", row->account);
	doc_text(&d, "user", row->user);
	doc_int(&d, "depth", row->depth);
	if (row->raw_shares == FAIRSHARE_PARENT)
		doc_text(&d, "RawShares", "parent");
	else
		doc_int(&d, "RawShares", row->raw_shares);
	set_real(&d, "NormShares", r->norm_shares);
	set_real(&d, "RawUsage", sharetree_usage(v, i));
	set_real(&d, "NormUsage", r->norm_usage);
	set_real(&d, "EffectvUsage", r->effective_usage);
	set_real(&d, "LevelFS", r->level_fs);
	set_real(&d, "FairShare", r->fairshare);
	return doc_take(&d);
}

/* All callers see accounts; a user's row only the user, and callers that may see the account's
 * usage. */
static bool sees_row(const struct call *c, const struct sharetree_row *row, bool wants_all)
{
	if (!*row->user || !strcmp(row->user, c->user))
		return true;
	return wants_all && authz_sees_usage(c, row->account);
}

struct trees {
	struct call *c;
	json_t *rows, *gone, *stand;
	int64_t now_ns, limit;
	bool wants_all;
	int64_t from, seen, next; /* rows that the caller may see; next 0: there are no more */
	int64_t account;	  /* the last one's place among those rows */
};

#define SHARE_LIMIT 4000 /* rows of one answer, so that it delays no other request */
#define STAND_MAX 20	 /* associations of the caller: each is counted among all users */

/* Does the next row belong to this page? Counts it. */
static bool is_of_page(struct trees *t)
{
	bool is_full = (int64_t)json_array_size(t->rows) == t->limit;

	if (is_full && !t->next)
		t->next = t->seen;
	return t->seen++ >= t->from && !is_full;
}

/* Where the caller stands in one of their accounts; `from` is the account's row, for the page that has it. */
static int add_stand(struct trees *t, struct sharetree_where w, const struct sharetree_view *v,
		     size_t i)
{
	_cleanup_doc_ struct doc d = doc_object();
	char words[STAND_WORDS_MAX];
	struct stand s;

	if (strcmp(v->rows[i].user, t->c->user) != 0 || json_array_size(t->stand) >= STAND_MAX)
		return 0;
	stand_find(v, i, &s);
	doc_text(&d, "cluster", w.cluster);
	doc_text(&d, "pool", charge_pool_name(w.pool));
	doc_text(&d, "account", v->rows[i].account);
	doc_int(&d, "place", s.place);
	doc_int(&d, "tied", s.tied);
	doc_int(&d, "users", s.users);
	set_real(&d, "FairShare", s.fairshare);
	set_real(&d, "LevelFS", s.level_fs);
	doc_int(&d, "from", t->account);
	doc_text(&d, "words",
		 stand_words(&s, t->c->api->c.config->policy.weight_fairshare, words));
	return json_array_append_new(t->stand, doc_take(&d));
}

static int add_row(struct trees *t, struct sharetree_where w, const struct sharetree_view *v,
		   size_t i)
{
	if (!sees_row(t->c, &v->rows[i], t->wants_all))
		return 0;
	if (!*v->rows[i].user)
		t->account = t->seen;
	if (add_stand(t, w, v, i) < 0)
		return -ENOMEM;
	return is_of_page(t) ? json_array_append_new(t->rows, encode_row(w, v, i)) : 0;
}

static int add_tree(struct trees *t, struct sharetree_where w, struct err *err)
{
	struct sharetree_view v;
	int r = sharetree_get_view(t->c->api->c.sharetree, w, t->now_ns, &v, err);

	for (size_t i = 0; r >= 0 && i < v.n; i++)
		if (add_row(t, w, &v, i) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	if (r >= 0 && v.n_gone &&
	    json_array_append_new(t->gone,
				  json_pack("{s:s,s:s,s:I,s:f}", "cluster", w.cluster, "pool",
					    charge_pool_name(w.pool), "associations",
					    (json_int_t)v.n_gone, "RawUsage", v.gone)) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* A GPU pool without bundle and without usage is not shown. */
static int add_pool(struct trees *t, const struct config_cluster *cl, enum charge_pool pool,
		    struct err *err)
{
	const struct sharetree_where w = { cl->name, pool };
	struct sharetree_view v;
	int r = 0;

	if (pool == CHARGE_POOL_GPU && (t->c->api->c.config->policy.pools == CONFIG_POOLS_ONE ||
					cl->bundle[pool].side[CHARGE_GPUS].num == 0)) {
		r = sharetree_get_view(t->c->api->c.sharetree, w, t->now_ns, &v, err);
		if (r < 0 || v.results[0].raw_usage == 0)
			return r;
	}
	return add_tree(t, w, err);
}

static int read_pool(const struct call *c, int *ret, struct err *err)
{
	const char *text = call_query_text(c, "pool");

	*ret = -1;
	for (enum charge_pool p = 0; text && p < _CHARGE_POOL_MAX; p++)
		if (!strcmp(text, charge_pool_name(p)))
			*ret = (int)p;
	if (text && *ret < 0)
		return err_set(err, -EINVAL, "pool=%.40s: it is cpu or gpu", text);
	return 0;
}

int route_share(struct call *c, struct err *err)
{
	static const int64_t none = 0, most = SHARE_LIMIT;
	const struct config *config = c->api->c.config;
	const char *cluster = call_query_text(c, "cluster");
	struct trees t = { .c = c, .now_ns = api_now_ns() };
	int pool, r = read_pool(c, &pool, err);

	t.wants_all = call_query_text(c, "users") != NULL;
	if (r >= 0)
		r = call_query_int(c, "from", (struct wire_int){ 0, INT64_MAX, &none }, &t.from,
				   err);
	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, SHARE_LIMIT, &most },
				   &t.limit, err);
	if (r >= 0 && cluster && !config_cluster(config, cluster))
		r = err_set(err, -EINVAL, "there is no cluster '%.64s'", cluster);
	if (r < 0)
		return r;
	c->answer = wire_new();
	t.rows = json_array();
	t.gone = json_array();
	t.stand = json_array();
	if (!c->answer || json_object_set_new(c->answer, "rows", t.rows) < 0 ||
	    json_object_set_new(c->answer, "gone", t.gone) < 0 ||
	    json_object_set_new(c->answer, "stand", t.stand) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < config->n_clusters && r >= 0; i++) {
		const struct config_cluster *cl = config->clusters[i];

		for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
			if ((!cluster || !strcmp(cluster, cl->name)) &&
			    (pool < 0 || pool == (int)p))
				r = add_pool(&t, cl, p, err);
	}
	if (r >= 0 && t.next &&
	    json_object_set_new(c->answer, "next", json_integer(t.next)) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* ---- priorities ---- */

#define PRIO_LIMIT 1000 /* rows of one answer, so that it delays no other request */

struct queued {
	struct call *c;
	json_t *rows;
	struct rank_cluster has;
	int64_t now_ns, job; /* job 0: all */
	int64_t limit, left_out;
	const char *user, *account;
};

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

static bool is_wanted(const struct queued *q, const struct store_waiting *w)
{
	if (q->job && w->job != q->job)
		return false;
	if (strcmp(w->user, q->c->user) != 0 &&
	    authz_role_of(q->c, w->account) < AUTHZ_COORDINATOR)
		return false;
	return (!q->user || !strcmp(w->user, q->user)) &&
	       (!q->account || !strcmp(w->account, q->account));
}

static json_t *encode_queued(const struct store_waiting *w, const struct priority *p)
{
	char words[RANK_WORDS_MAX], sum[PRIORITY_TEXT_MAX];
	_cleanup_doc_ struct doc d = doc_object();

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
	return doc_take(&d);
}

static int add_queued(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct queued *q = ctx;
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
	int r = 0;

	if (!is_wanted(q, w))
		return 0;
	if ((int64_t)json_array_size(q->rows) == q->limit) {
		q->left_out++;
		return 0;
	}
	if (*w->chunks)
		r = select_parse(w->chunks, &select, model, err);
	if (r >= 0)
		r = rank_job(q->c->api->c.sharetree, &q->has, &ask, &p, err);
	if (r < 0)
		return r;
	if (json_array_append_new(q->rows, encode_queued(w, &p)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_cluster(struct queued *q, const char *cluster, struct err *err)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	struct sharetree_view v;
	size_t n;
	int r = store_nodes_in_use(q->c->api->c.store, cluster, &nodes, &n, err);

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
		r = sharetree_get_view(q->c->api->c.sharetree,
				       (struct sharetree_where){ cluster, p }, q->now_ns, &v,
				       err);
	if (r < 0)
		return r;
	q->has = rank_cluster(nodes, n);
	r = store_waiting(q->c->api->c.store, cluster, add_queued, q, err);
	return r < 0 ? r : store_withheld(q->c->api->c.store, cluster, add_queued, q, err);
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

int route_prio(struct call *c, struct err *err)
{
	static const int64_t none = 0, limit = PRIO_LIMIT;
	const struct config *config = c->api->c.config;
	const struct quota_site site = { .store = c->api->c.store,
					 .config = config,
					 .accounts = c->api->accounts };
	struct queued q = { .c = c,
			    .now_ns = api_now_ns(),
			    .user = call_query_text(c, "user"),
			    .account = call_query_text(c, "account") };
	_cleanup_doc_ struct doc answer = { 0 };
	int r = call_query_int(c, "job", (struct wire_int){ 0, INT64_MAX, &none }, &q.job, err);

	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, PRIO_LIMIT, &limit },
				   &q.limit, err);
	if (r >= 0)
		r = usage_names_check_period(
			&(struct usage_names){ &site, c->is_operator ? NULL : c->user },
			&(struct store_period){ .account = q.account, .user = q.user }, err);
	if (r < 0)
		return r;
	c->answer = wire_new();
	q.rows = json_array();
	if (!c->answer || json_object_set_new(c->answer, "rows", q.rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	answer = doc_edit(c->answer);
	doc_text(&answer, "order", rank_is_used(config) ? "priority" : "submission");
	for (size_t i = 0; i < config->n_clusters && r >= 0; i++)
		r = config->clusters[i]->engine == ENGINE_SLURM
			    ? add_pending(&q, config->clusters[i]->name, err)
			    : add_cluster(&q, config->clusters[i]->name, err);
	doc_int(&answer, "left_out", q.left_out);
	if (r >= 0)
		r = doc_check(&answer, err);
	if (r >= 0 && q.job && json_array_size(q.rows) == 0)
		return err_set(err, -ENOENT, "no queued job %lld", (long long)q.job);
	return r;
}
