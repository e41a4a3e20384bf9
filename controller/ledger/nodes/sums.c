/* sums.c - nodes with what their jobs hold. See store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/sql.h"

static const char nodes_sql[] =
	"SELECT n.node, n.cluster, n.boot, n.version, n.address, n.topology, n.notes, "
	"n.draining,"
	" n.lost, n.tier, n.first_ns, n.last_ns, n.ncpus, n.mem_bytes, n.jobfs_bytes, n.ngpus,"
	" n.free_ncpus, n.free_mem_bytes, n.free_jobfs_bytes, n.free_ngpus, COUNT(a.job),"
	" COALESCE(SUM(CASE WHEN a.state = " SQL_JOB_SUSPENDED
	" AND j.want = " SQL_STORE_SUSPEND " THEN 0 ELSE j.ncpus END), 0),"
	" COALESCE(SUM(CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes ELSE j.mem_bytes END), 0),"
	" COALESCE(SUM(j.jobfs_bytes), 0), COALESCE(SUM(j.ngpus), 0),"
	" n.gpus, n.gpu_models, n.free_gpu_models, n.node_type, n.features"
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
		.node = store_text(st, 0),
		.cluster = store_text(st, 1),
		.boot = store_text(st, 2),
		.version = store_text(st, 3),
		.address = store_text(st, 4),
		.topology = store_text(st, 5),
		.notes = store_text(st, 6),
		.draining = (int)db_int(st, 7),
		.lost = (int)db_int(st, 8),
		.tier = (int)db_int(st, 9),
		.first_ns = db_int(st, 10),
		.last_ns = db_int(st, 11),
		.capacity = amounts_at(st, 12),
		.free = amounts_at(st, 16),
		.jobs = (int)db_int(st, 20),
		.held = amounts_at(st, 21),
		.gpus = store_text(st, 25),
	};
	store_gpu_counts(st, 26, &n->gpu_models);
	store_gpu_counts(st, 27, &n->free_gpu_models);
	store_node_kind(st, 28, &n->capacity);
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct store_held_part *)a)->node,
		      ((const struct store_held_part *)b)->node);
}

/* What jobs on several nodes hold of this one; the parts are in the order of the nodes, *at
 * stands behind those of the nodes before. */
static void add_parts(struct store_node *n, const struct store_held_parts *parts, size_t *at)
{
	while (*at < parts->n && strcmp(parts->of[*at].node, n->node) < 0)
		++*at; /* of a node that is not there */
	for (; *at < parts->n && !strcmp(parts->of[*at].node, n->node); ++*at) {
		const struct store_held_part *p = &parts->of[*at];
		const struct resources *share = &p->share;

		n->jobs++;
		n->held.ncpus += p->frees_cores ? 0 : share->ncpus;
		n->held.mem_bytes += share->vmem_bytes ? share->vmem_bytes : share->mem_bytes;
		n->held.jobfs_bytes += share->jobfs_bytes;
		n->held.ngpus += share->ngpus;
	}
}

int store_nodes(struct store *s, store_node_fn fn, void *ctx, struct err *err)
{
	_cleanup_(store_held_parts_done) struct store_held_parts parts = { 0 };
	struct db_row *st;
	size_t at = 0;
	int r = store_held_parts(s, NULL, &parts, err);

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
