/* SPDX-License-Identifier: GPL-2.0-or-later */
/* in_use.c - nodes of a cluster with what jobs have in use there, for placing others. See store.h.
 * What jobs on several nodes use is added from their parts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define NODE_COLUMNS(X) \
	X(NODE_NODE,               "n.node") \
	X(NODE_IS_OPEN,            ", n.draining = 0 AND n.lost = 0") \
	X(NODE_NCPUS,              ", n.ncpus") \
	X(NODE_MEM_BYTES,          ", n.mem_bytes") \
	X(NODE_JOBFS_BYTES,        ", n.jobfs_bytes") \
	X(NODE_NGPUS,              ", n.ngpus") \
	X(NODE_NCPUS_IN_USE,       ", COALESCE(SUM(CASE WHEN a.state = " SQL_JOB_SUSPENDED \
		" AND j.want = " SQL_DESIRED_SUSPEND " THEN 0 ELSE j.ncpus END), 0)") \
	X(NODE_MEM_IN_USE,         ", COALESCE(SUM(CASE WHEN j.vmem_bytes > 0 THEN" \
		" j.vmem_bytes ELSE j.mem_bytes END), 0)") \
	X(NODE_JOBFS_IN_USE,       ", COALESCE(SUM(j.jobfs_bytes), 0)") \
	X(NODE_NGPUS_IN_USE,       ", COALESCE(SUM(j.ngpus), 0)") \
	X(NODE_IS_EXCLUSIVE,       ", COALESCE(MAX(j.exclusive), 0)") \
	X(NODE_GPU_MODELS,         ", n.gpu_models") \
	X(NODE_DRAINED_GPU_MODELS, ", n.drained_gpu_models") \
	X(NODE_NODE_TYPE,          ", n.node_type") \
	X(NODE_FEATURES,           ", n.features") \
	X(NODE_PIDS,               ", n.pids")
/* clang-format on */
enum { NODE_COLUMNS(SQL_NAME) };
#define NODE_SELECT "SELECT " NODE_COLUMNS(SQL_COLUMN)

/* The cores of a job that is suspended, and is to stay so, are free for others; everything else that
 * was allocated is in use until the attempt is closed. */
static const char in_use_sql[] = NODE_SELECT
	" FROM nodes n LEFT JOIN attempts a ON a.node = n.node AND a.closed = " SQL_STORE_OPEN
	" AND a.hosts = ''"
	" LEFT JOIN jobs j ON j.job = a.job"
	" WHERE n.cluster = ?1 GROUP BY n.node ORDER BY n.node";

/* The same columns with nothing in use. */
static const char bare_sql[] =
	"SELECT node, draining = 0 AND lost = 0, ncpus, mem_bytes, jobfs_bytes, ngpus, 0, 0, 0,"
	" 0, 0, gpu_models, drained_gpu_models, node_type, features, pids FROM nodes"
	" WHERE cluster = ?1 ORDER BY node";

/* Of an exclusive job, also while it is suspended. */
static void use_whole_node(struct fit_node *n)
{
	n->in_use = n->capacity;
	n->gpus_in_use = n->gpus;
}

static void read_node_in_use(struct db_row *st, struct fit_node *ret)
{
	snprintf(ret->name, sizeof(ret->name), "%s", store_text(st, NODE_NODE));
	ret->open = (int)db_int(st, NODE_IS_OPEN);
	ret->capacity = (struct resources){ .ncpus = db_int(st, NODE_NCPUS),
					    .mem_bytes = db_int(st, NODE_MEM_BYTES),
					    .jobfs_bytes = db_int(st, NODE_JOBFS_BYTES),
					    .ngpus = db_int(st, NODE_NGPUS),
					    .pids = db_int(st, NODE_PIDS) };
	ret->in_use = (struct resources){ .ncpus = db_int(st, NODE_NCPUS_IN_USE),
					  .mem_bytes = db_int(st, NODE_MEM_IN_USE),
					  .jobfs_bytes = db_int(st, NODE_JOBFS_IN_USE),
					  .ngpus = db_int(st, NODE_NGPUS_IN_USE) };
	store_gpu_counts(st, NODE_GPU_MODELS, &ret->gpus);
	store_gpu_counts(st, NODE_DRAINED_GPU_MODELS, &ret->gpus_drained);
	store_node_kind(st, NODE_NODE_TYPE, &ret->capacity);
	ret->gpus_in_use = (struct gpus){ 0 };
	if (db_int(st, NODE_IS_EXCLUSIVE))
		use_whole_node(ret);
}

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct fit_node *)node)->name);
}

static void add_part_in_use(struct fit_node *n, const struct store_part_in_use *p)
{
	const struct resources *share = &p->share;

	if (p->is_exclusive) {
		use_whole_node(n);
		return;
	}
	n->in_use.ncpus += p->frees_cores ? 0 : share->ncpus;
	n->in_use.mem_bytes += share->vmem_bytes ? share->vmem_bytes : share->mem_bytes;
	n->in_use.jobfs_bytes += share->jobfs_bytes;
	n->in_use.ngpus += share->ngpus;
	if (share->ngpus && n->gpus.n)
		gpus_add(&n->gpus_in_use, share->gpu_model, share->ngpus);
}

static int add_parts_in_use(struct store *s, const char *cluster, struct fit_node *nodes,
			    size_t n, struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use parts = { 0 };
	int r = n ? store_parts_in_use(s, cluster, &parts, err) : 0;

	for (size_t i = 0; i < parts.n; i++) {
		struct fit_node *at =
			bsearch(parts.of[i].node, nodes, n, sizeof(*nodes), compare_name);

		if (at)
			add_part_in_use(at, &parts.of[i]);
	}
	return r;
}

struct nodes {
	struct fit_node *of;
	size_t n, size;
};

static int read_nodes(struct store *s, struct db_row *st, struct nodes *ret, struct err *err)
{
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		if (ret->n == ret->size) {
			size_t larger = ret->size ? ret->size * 2 : 16;
			struct fit_node *p = realloc(ret->of, larger * sizeof(*p));

			if (!p) {
				db_done(st);
				return err_set(err, -ENOMEM, "out of memory");
			}
			ret->of = p;
			ret->size = larger;
		}
		read_node_in_use(st, &ret->of[ret->n++]);
	}
	return r;
}

int store_nodes_in_use(struct store *s, const char *cluster, struct fit_node **ret,
		       size_t *ret_n, struct err *err)
{
	struct nodes nodes = { 0 };
	struct db_row *st;
	int r = db_query(s->db, err, &st, in_use_sql, "t", cluster);

	if (r >= 0)
		r = read_nodes(s, st, &nodes, err);
	if (r >= 0)
		r = store_gpus_in_use(s, cluster, nodes.of, nodes.n, err);
	if (r >= 0)
		r = add_parts_in_use(s, cluster, nodes.of, nodes.n, err);
	if (r < 0) {
		free(nodes.of);
		return r;
	}
	*ret = nodes.of;
	*ret_n = nodes.n;
	return 0;
}

int store_bare_nodes(struct store *s, const char *cluster, struct fit_node **ret, size_t *ret_n,
		     struct err *err)
{
	struct nodes nodes = { 0 };
	struct db_row *st;
	int r = db_query(s->db, err, &st, bare_sql, "t", cluster);

	if (r >= 0) {
		db_stream(st);
		r = read_nodes(s, st, &nodes, err);
	}
	if (r < 0) {
		free(nodes.of);
		return r;
	}
	*ret = nodes.of;
	*ret_n = nodes.n;
	return 0;
}
