/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes.c - lists nodes with what their jobs have in use, all or a page of them. See store.h and nodes/page.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/nodes/given/given.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/nodes/page.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define NODE_COLUMNS(X, HELD) \
	X(NODE_NODE,             "n.node") \
	X(NODE_CLUSTER,          ", n.cluster") \
	X(NODE_BOOT,             ", n.boot") \
	X(NODE_VERSION,          ", n.version") \
	X(NODE_ADDRESS,          ", n.address") \
	X(NODE_TOPOLOGY,         ", n.topology") \
	X(NODE_NOTES,            ", n.notes") \
	X(NODE_DRAINING,         ", n.draining") \
	X(NODE_LOST,             ", n.lost") \
	X(NODE_TIER,             ", n.tier") \
	X(NODE_FIRST_NS,         ", n.first_ns") \
	X(NODE_LAST_NS,          ", n.last_ns") \
	X(NODE_NCPUS,            ", n.ncpus") \
	X(NODE_MEM_BYTES,        ", n.mem_bytes") \
	X(NODE_JOBFS_BYTES,      ", n.jobfs_bytes") \
	X(NODE_NGPUS,            ", n.ngpus") \
	X(NODE_FREE_NCPUS,       ", n.free_ncpus") \
	X(NODE_FREE_MEM_BYTES,   ", n.free_mem_bytes") \
	X(NODE_FREE_JOBFS_BYTES, ", n.free_jobfs_bytes") \
	X(NODE_FREE_NGPUS,       ", n.free_ngpus") \
	X(NODE_JOBS,             ", " HELD("COUNT(a.job)")) \
	X(NODE_NCPUS_IN_USE,     ", " HELD("COALESCE(SUM(CASE WHEN a.state = " SQL_JOB_SUSPENDED \
		" AND j.want = " SQL_DESIRED_SUSPEND " THEN 0 ELSE j.ncpus END), 0)")) \
	X(NODE_MEM_IN_USE,       ", " HELD("COALESCE(SUM(CASE WHEN j.vmem_bytes > 0 THEN" \
		" j.vmem_bytes ELSE j.mem_bytes END), 0)")) \
	X(NODE_JOBFS_IN_USE,     ", " HELD("COALESCE(SUM(j.jobfs_bytes), 0)")) \
	X(NODE_NGPUS_IN_USE,     ", " HELD("COALESCE(SUM(j.ngpus), 0)")) \
	X(NODE_GPUS,             ", n.gpus") \
	X(NODE_GPU_MODELS,       ", n.gpu_models") \
	X(NODE_FREE_GPU_MODELS,  ", n.free_gpu_models") \
	X(NODE_NODE_TYPE,        ", n.node_type") \
	X(NODE_FEATURES,         ", n.features")
/* clang-format on */
/* What jobs on one node alone hold of it is read with it; or it is kept in memory, and nothing of it is read. */
#define READ(text) text
#define NOT_READ(text) "0"
enum { NODE_COLUMNS(SQL_NAME, READ) };
#define NODE_SELECT "SELECT " NODE_COLUMNS(SQL_COLUMN, READ)
#define BARE_SELECT "SELECT " NODE_COLUMNS(SQL_COLUMN, NOT_READ)

#define NODE_FROM                                                                              \
	" FROM nodes n LEFT JOIN attempts a ON a.node = n.node AND a.closed = " SQL_STORE_OPEN \
	" AND a.hosts = ''"                                                                    \
	" LEFT JOIN jobs j ON j.job = a.job"

static const char node_sql[] =
	NODE_SELECT NODE_FROM " WHERE n.node = ?1 AND ?2 > 0 GROUP BY n.node";

/* A page: the names are chosen first, so that jobs of those nodes alone are read. */
#define SOME(of, order)                                                                        \
	" FROM nodes n WHERE n.node >= ?1 ORDER BY " of("n") order ", n.node LIMIT ?2"
#define PAGE(of, order)                                                                                 \
	{                                                                                               \
		NODE_SELECT NODE_FROM                                                                   \
			" WHERE n.node IN (SELECT m.node FROM nodes m WHERE m.node >= ?1 ORDER BY " of( \
				"m") order                                                              \
			", m.node LIMIT ?2) GROUP BY n.node ORDER BY " of("n") order                    \
			", n.node",                                                                     \
			BARE_SELECT SOME(of, order), "SELECT n.node" SOME(of, order)                    \
	}
#define BOTH(of)                                                                               \
	{                                                                                      \
		PAGE(of, ""), PAGE(of, " DESC")                                                \
	}
#define BY_NODE(n) n ".node"
#define BY_CLUSTER(n) n ".cluster"
#define BY_STATE(n) "(CASE WHEN " n ".lost <> 0 THEN 2 ELSE " n ".draining END)"
#define BY_TIER(n) n ".tier"
#define BY_LAST_NS(n) n ".last_ns"
#define BY_JOBS(n)                                                                             \
	"((SELECT COUNT(*) FROM attempts o WHERE o.node = " n                                  \
	".node AND o.closed = " SQL_STORE_OPEN " AND o.hosts = '') + (SELECT COUNT(*)"         \
	" FROM parts q WHERE q.node = " n ".node AND q.closed = " SQL_STORE_OPEN "))"

struct page_sql {
	const char *whole, *bare, *names;
};
static const struct page_sql pages_sql[_STORE_NODE_SORT_MAX][2] = {
	[STORE_NODE_SORT_NODE] = BOTH(BY_NODE),	  [STORE_NODE_SORT_CLUSTER] = BOTH(BY_CLUSTER),
	[STORE_NODE_SORT_STATE] = BOTH(BY_STATE), [STORE_NODE_SORT_TIER] = BOTH(BY_TIER),
	[STORE_NODE_SORT_JOBS] = BOTH(BY_JOBS),	  [STORE_NODE_SORT_LAST_NS] = BOTH(BY_LAST_NS),
};
const char *const store_node_sort_words[] = { "node", "cluster", "state", "tier",
					      "jobs", "last_ns", NULL };
_Static_assert(ARRAY_LEN(store_node_sort_words) == _STORE_NODE_SORT_MAX + 1, "a word for each");

static struct resources amounts_at(struct db_row *st, int column)
{
	return (struct resources){ .ncpus = db_int(st, column),
				   .mem_bytes = db_int(st, column + 1),
				   .jobfs_bytes = db_int(st, column + 2),
				   .ngpus = db_int(st, column + 3) };
}

static void read_node(struct db_row *st, struct store_node *n)
{
	*n = (struct store_node){
		.node = store_text(st, NODE_NODE),
		.cluster = store_text(st, NODE_CLUSTER),
		.boot = store_text(st, NODE_BOOT),
		.version = store_text(st, NODE_VERSION),
		.address = store_text(st, NODE_ADDRESS),
		.topology = store_text(st, NODE_TOPOLOGY),
		.notes = store_text(st, NODE_NOTES),
		.draining = (int)db_int(st, NODE_DRAINING),
		.lost = (int)db_int(st, NODE_LOST),
		.tier = (int)db_int(st, NODE_TIER),
		.first_ns = db_int(st, NODE_FIRST_NS),
		.last_ns = db_int(st, NODE_LAST_NS),
		.capacity = amounts_at(st, NODE_NCPUS),
		.free = amounts_at(st, NODE_FREE_NCPUS),
		.jobs = (int)db_int(st, NODE_JOBS),
		.in_use = amounts_at(st, NODE_NCPUS_IN_USE),
		.gpus = store_text(st, NODE_GPUS),
	};
	store_gpu_counts(st, NODE_GPU_MODELS, &n->gpu_models);
	store_gpu_counts(st, NODE_FREE_GPU_MODELS, &n->free_gpu_models);
	store_node_kind(st, NODE_NODE_TYPE, &n->capacity);
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct store_part_in_use *)a)->node,
		      ((const struct store_part_in_use *)b)->node);
}

/* The first part of the node, or where it would be. */
static size_t find_parts(const struct store_parts_in_use *parts, const char *node)
{
	size_t low = 0, high = parts->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(parts->of[mid].node, node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What jobs on several nodes hold of this one; the parts are in the order of the nodes. */
static void add_parts(struct store_node *n, const struct store_parts_in_use *parts)
{
	for (size_t i = find_parts(parts, n->node);
	     i < parts->n && !strcmp(parts->of[i].node, n->node); i++) {
		const struct store_part_in_use *p = &parts->of[i];
		const struct resources *share = &p->share;

		n->jobs++;
		n->in_use.ncpus += p->frees_cores ? 0 : share->ncpus;
		n->in_use.mem_bytes += share->vmem_bytes ? share->vmem_bytes : share->mem_bytes;
		n->in_use.jobfs_bytes += share->jobfs_bytes;
		n->in_use.ngpus += share->ngpus;
	}
}

/* ---- what is kept ---- */

/* The lists of so many nodes, and of a thirty-second part of a page, are read one by one where they are not kept; of more, jobs are read with
 * the nodes. */
#define FEW 16
#define FEW_PER 32
#define FEW_MAX 256

struct names {
	size_t n, n_all; /* those that are here, and all */
	char of[FEW_MAX][REQUEST_NAME_MAX];
};

static const struct page_sql *find_sql(const struct store_node_page *page)
{
	return &pages_sql[page->sort][page->is_descending];
}

static int query_some(struct store *s, const char *sql, const struct store_node_page *page,
		      struct db_row **ret, struct err *err)
{
	return db_query(s->db, err, ret, sql, "ti", page->from ? page->from : "", page->limit);
}

/* Those nodes of the page whose lists are not kept. Returns how many the page has. */
static int64_t find_missing(struct store *s, const struct store_node_page *page,
			    struct names *ret, struct err *err)
{
	struct db_row *st;
	int64_t n = 0;
	int r = query_some(s, find_sql(page)->names, page, &st, err);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const char *node = store_text(st, 0);

		n++;
		if (store_given_is_kept(s, node))
			continue;
		if (ret->n < FEW_MAX)
			snprintf(ret->of[ret->n++], sizeof(ret->of[0]), "%s", node);
		ret->n_all++;
	}
	return r < 0 ? r : n;
}

/* 1: the lists of all nodes of the page are kept now; 0: too many are not. */
static int keep_lists(struct store *s, const struct store_node_page *page, struct err *err)
{
	_cleanup_free_ struct names *missing = calloc(1, sizeof(*missing));
	int64_t n = missing ? find_missing(s, page, missing, err)
			    : err_set(err, -ENOMEM, "out of memory");

	if (n < 0)
		return (int)n;
	if (missing->n < missing->n_all || missing->n > FEW + (size_t)n / FEW_PER)
		return 0;
	for (size_t i = 0; i < missing->n; i++) {
		_cleanup_(store_given_putp) struct store_given_list *l = NULL;
		int r = store_given_get(s, missing->of[i], &l, err);

		if (r < 0)
			return r;
		if (!store_given_is_kept(s, missing->of[i]))
			return 0;
	}
	return 1;
}

/* What jobs hold that are on this node alone. */
static void add_held(struct store *s, struct store_node *n)
{
	_cleanup_(store_given_putp) struct store_given_list *l =
		store_given_kept_find(s, n->node);

	for (size_t i = 0; l && i < l->n; i++) {
		const struct store_desired *d = &l->rows[i].desired;

		if (d->part.n)
			continue;
		n->jobs++;
		if (d->state != JOB_SUSPENDED || d->want != DESIRED_SUSPEND)
			n->in_use.ncpus += d->share.ncpus;
		n->in_use.mem_bytes +=
			d->share.vmem_bytes ? d->share.vmem_bytes : d->share.mem_bytes;
		n->in_use.jobfs_bytes += d->share.jobfs_bytes;
		n->in_use.ngpus += d->share.ngpus;
	}
}

/* ---- pages ---- */

struct receiver {
	store_node_fn fn;
	void *ctx;
	const struct store_parts_in_use *parts;
	bool is_bare; /* rows are without what jobs hold: that is kept */
};

static int pass_node(struct store *s, struct db_row *st, const struct receiver *to,
		     struct err *err)
{
	struct store_node n;

	read_node(st, &n);
	if (to->is_bare)
		add_held(s, &n);
	add_parts(&n, to->parts);
	return to->fn(to->ctx, &n, err);
}

static int query_nodes(struct store *s, const struct store_node_page *page, struct receiver *to,
		       struct db_row **ret, struct err *err)
{
	int r;

	if (page->node)
		return db_query(s->db, err, ret, node_sql, "ti", page->node, page->limit);
	r = keep_lists(s, page, err);
	if (r < 0)
		return r;
	to->is_bare = r > 0;
	return query_some(s, to->is_bare ? find_sql(page)->bare : find_sql(page)->whole, page,
			  ret, err);
}

/* Parts and lists are read first: no other statement runs while the nodes are stepped through. */
int store_nodes_page(struct store *s, const struct store_node_page *page, store_node_fn fn,
		     void *ctx, struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use parts = { 0 };
	struct receiver to = { .fn = fn, .ctx = ctx, .parts = &parts };
	struct db_row *st;
	int r = store_parts_in_use(s, NULL, &parts, err);

	if (r >= 0 && parts.n)
		qsort(parts.of, parts.n, sizeof(*parts.of), compare_nodes);
	if (r >= 0)
		r = query_nodes(s, page, &to, &st, err);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = pass_node(s, st, &to, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_nodes(struct store *s, store_node_fn fn, void *ctx, struct err *err)
{
	const struct store_node_page all = { .limit = INT64_MAX };

	return store_nodes_page(s, &all, fn, ctx, err);
}
