/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share.c - GET /v1/share, the share trees. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/rows/rowpack.h"
#include "controller/api/usage/usage.h"
#include "controller/api/authz.h"
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

/* The same for a client that asked for packed rows. */
static void pack_row(struct rowpack_writer *w, struct sharetree_where where,
		     const struct sharetree_view *v, size_t i)
{
	const struct sharetree_row *row = &v->rows[i];
	const struct fairshare_result *r = &v->results[i];
	const double reals[] = { r->norm_shares,     sharetree_usage(v, i), r->norm_usage,
				 r->effective_usage, r->level_fs,	    r->fairshare };

	rowpack_put_text(w, where.cluster);
	rowpack_put_text(w, charge_pool_name(where.pool));
	rowpack_put_text(w, row->account);
	rowpack_put_text(w, row->user);
	rowpack_put_int(w, row->depth);
	if (row->raw_shares == FAIRSHARE_PARENT)
		rowpack_put_text(w, "parent");
	else
		rowpack_put_int(w, row->raw_shares);
	for (size_t k = 0; k < ARRAY_LEN(reals); k++)
		rowpack_put_real(w, reals[k]);
}

/* As pack_row() puts them. */
static json_t *list_columns(void)
{
	return json_pack("[s,s,s,s,s,s,s,s,s,s,s,s]", "cluster", "pool", "account", "user",
			 "depth", "RawShares", "NormShares", "RawUsage", "NormUsage",
			 "EffectvUsage", "LevelFS", "FairShare");
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
	struct rowpack_writer packed; /* instead of rows; owned */
	int64_t now_ns, limit;
	bool wants_all, is_packed;
	int algorithm;		  /* enum config_fairshare */
	int64_t n;		  /* rows of this page */
	int64_t from, seen, next; /* rows that the caller may see; next 0: there are no more */
	int64_t account;	  /* the last one's place among those rows */
};

/* Rows of one answer, so that it delays no other request: of JSON, and packed. */
#define SHARE_LIMIT 4000
#define SHARE_PACKED_LIMIT 20000
#define STAND_MAX 20 /* associations of the caller: each is counted among all users */

/* Does the next row belong to this page? Counts it. */
static bool is_of_page(struct trees *t)
{
	bool is_full = t->n == t->limit;

	if (is_full && !t->next)
		t->next = t->seen;
	return t->seen++ >= t->from && !is_full;
}

/* Where the caller stands in one of their accounts; `from` is the account's row, for the page that has it. */
static int add_stand(struct trees *t, struct sharetree_where w, const struct sharetree_view *v,
		     size_t i)
{
	_cleanup_doc_ struct doc d = { .j = NULL };
	char words[STAND_WORDS_MAX];
	struct stand s;

	if (v->rows[i].parent == 0 || strcmp(v->rows[i].user, t->c->user) != 0 ||
	    json_array_size(t->stand) >= STAND_MAX)
		return 0;
	stand_find(v, i, &s);
	d = doc_object();
	doc_text(&d, "cluster", w.cluster);
	doc_text(&d, "pool", charge_pool_name(w.pool));
	doc_text(&d, "account", v->rows[i].account);
	doc_int(&d, "place", s.place);
	doc_int(&d, "tied", s.tied);
	doc_int(&d, "users", s.users);
	set_real(&d, "FairShare", s.fairshare);
	set_real(&d, "LevelFS", s.level_fs);
	doc_int(&d, "from", t->account);
	doc_text(&d, "words", stand_words(&s, t->c->api->c.config, w.cluster, words));
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
	if (!is_of_page(t))
		return 0;
	t->n++;
	if (!t->is_packed)
		return json_array_append_new(t->rows, encode_row(w, v, i));
	pack_row(&t->packed, w, v, i);
	return t->packed.has_failed ? -ENOMEM : 0;
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

static int read_algorithm(const struct call *c, int *ret, struct err *err)
{
	const char *text = call_query_text(c, "algorithm");

	*ret = c->api->c.config->policy.fairshare;
	if (!text)
		return 0;
	for (int i = 0; config_fairshare_words[i]; i++) {
		*ret = i;
		if (!strcmp(text, config_fairshare_words[i]))
			return 0;
	}
	return err_set(err, -EINVAL, "algorithm=%.40s: it is fair-tree or classic", text);
}

static int read_query(struct trees *t, int *ret_pool, struct err *err)
{
	static const int64_t none = 0;
	const struct call *c = t->c;
	const char *cluster = call_query_text(c, "cluster");
	int64_t most;
	int r = read_pool(c, ret_pool, err);

	t->wants_all = call_query_text(c, "users") != NULL;
	t->is_packed = call_query_text(c, "packed") != NULL;
	most = t->is_packed ? SHARE_PACKED_LIMIT : SHARE_LIMIT;
	if (r >= 0)
		r = call_query_int(c, "from", (struct wire_int){ 0, INT64_MAX, &none },
				   &t->from, err);
	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, most, &most }, &t->limit,
				   err);
	if (r >= 0)
		r = read_algorithm(c, &t->algorithm, err);
	if (r >= 0 && cluster && !config_cluster(c->api->c.config, cluster))
		r = err_set(err, -EINVAL, "there is no cluster '%.64s'", cluster);
	return r;
}

static int begin_answer(struct trees *t, struct err *err)
{
	json_t *answer = t->c->answer = wire_new();
	char legend[STAND_LEGEND_MAX];

	stand_legend(t->c->api->c.config, t->algorithm, legend);
	t->rows = t->is_packed ? list_columns() : json_array();
	t->gone = json_array();
	t->stand = json_array();
	if (!answer ||
	    json_object_set_new(answer, t->is_packed ? "columns" : "rows", t->rows) < 0 ||
	    json_object_set_new(answer, "algorithm",
				json_string(config_fairshare_words[t->algorithm])) < 0 ||
	    json_object_set_new(answer, "legend", json_string(legend)) < 0 ||
	    json_object_set_new(answer, "gone", t->gone) < 0 ||
	    json_object_set_new(answer, "stand", t->stand) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int end_answer(const struct trees *t, struct err *err)
{
	const struct rowpack_writer *w = &t->packed;
	struct call *c = t->c;

	if (t->is_packed && wire_attach(c->answer, w->data ? w->data : (void *)"", w->size) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (t->next && (json_object_set_new(c->answer, "next", json_integer(t->next)) < 0 ||
			asprintf(&c->headers, WIRE_NEXT_HEADER ": %" PRId64 "\n", t->next) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int add_trees(struct trees *t, int pool, struct err *err)
{
	const struct config *config = t->c->api->c.config;
	const char *cluster = call_query_text(t->c, "cluster");
	int r = 0;

	for (size_t i = 0; i < config->n_clusters && r >= 0; i++) {
		const struct config_cluster *cl = config->clusters[i];

		for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
			if ((!cluster || !strcmp(cluster, cl->name)) &&
			    (pool < 0 || pool == (int)p))
				r = add_pool(t, cl, p, err);
	}
	return r;
}

int route_share(struct call *c, struct err *err)
{
	struct sharetree *s = c->api->c.sharetree;
	const int in_force = c->api->c.config->policy.fairshare;
	struct trees t = { .c = c, .now_ns = api_now_ns() };
	int pool, r = read_query(&t, &pool, err), back;
	struct err why;

	if (r >= 0)
		r = begin_answer(&t, err);
	if (r >= 0)
		r = sharetree_rank_by(s, t.algorithm, t.now_ns, err);
	if (r >= 0)
		r = add_trees(&t, pool, err);
	/* Jobs are ordered by the algorithm in force. */
	back = sharetree_rank_by(s, in_force, t.now_ns, &why);
	if (r >= 0 && back < 0)
		r = err_set(err, back, "%s", why.text);
	if (r >= 0)
		r = end_answer(&t, err);
	rowpack_done(&t.packed);
	return r;
}
