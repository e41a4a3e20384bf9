/* nodes.c - lists nodes with what their jobs have in use. See store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define NODE_COLUMNS(X) \
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
	X(NODE_JOBS,             ", COUNT(a.job)") \
	X(NODE_NCPUS_IN_USE,     ", COALESCE(SUM(CASE WHEN a.state = " SQL_JOB_SUSPENDED " AND" \
		" j.want = " SQL_DESIRED_SUSPEND " THEN 0 ELSE j.ncpus END), 0)") \
	X(NODE_MEM_IN_USE,       ", COALESCE(SUM(CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes" \
		" ELSE j.mem_bytes END), 0)") \
	X(NODE_JOBFS_IN_USE,     ", COALESCE(SUM(j.jobfs_bytes), 0)") \
	X(NODE_NGPUS_IN_USE,     ", COALESCE(SUM(j.ngpus), 0)") \
	X(NODE_GPUS,             ", n.gpus") \
	X(NODE_GPU_MODELS,       ", n.gpu_models") \
	X(NODE_FREE_GPU_MODELS,  ", n.free_gpu_models") \
	X(NODE_NODE_TYPE,        ", n.node_type") \
	X(NODE_FEATURES,         ", n.features")
/* clang-format on */
enum { NODE_COLUMNS(SQL_NAME) };
#define NODE_SELECT "SELECT " NODE_COLUMNS(SQL_COLUMN)

static const char nodes_sql[] = NODE_SELECT
	" FROM nodes n LEFT JOIN attempts a ON a.node = n.node AND a.closed = " SQL_STORE_OPEN
	" AND a.hosts = ''"
	" LEFT JOIN jobs j ON j.job = a.job GROUP BY n.node ORDER BY n.node";

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

/* What jobs on several nodes hold of this one; the parts are in the order of the nodes, *at
 * stands behind those of the nodes before. */
static void add_parts(struct store_node *n, const struct store_parts_in_use *parts, size_t *at)
{
	while (*at < parts->n && strcmp(parts->of[*at].node, n->node) < 0)
		++*at; /* of a node that is not there */
	for (; *at < parts->n && !strcmp(parts->of[*at].node, n->node); ++*at) {
		const struct store_part_in_use *p = &parts->of[*at];
		const struct resources *share = &p->share;

		n->jobs++;
		n->in_use.ncpus += p->frees_cores ? 0 : share->ncpus;
		n->in_use.mem_bytes += share->vmem_bytes ? share->vmem_bytes : share->mem_bytes;
		n->in_use.jobfs_bytes += share->jobfs_bytes;
		n->in_use.ngpus += share->ngpus;
	}
}

int store_nodes(struct store *s, store_node_fn fn, void *ctx, struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use parts = { 0 };
	struct db_row *st;
	size_t at = 0;
	int r = store_parts_in_use(s, NULL, &parts, err);

	if (r >= 0 && parts.n)
		qsort(parts.of, parts.n, sizeof(*parts.of), compare_nodes);
	if (r >= 0)
		r = db_query(s->db, err, &st, nodes_sql, "");
	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_node n;

		read_node(st, &n);
		add_parts(&n, &parts, &at);
		r = fn(ctx, &n, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}
