/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals.c - the sums of all nodes, without a row for each: those of the table of nodes, of attempts on one node, and of parts. See
 * nodes/page.h. */
#include "common/err.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/nodes/page.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define SUM_COLUMNS(X) \
	X(SUM_STATE,            "CASE WHEN lost <> 0 THEN 2 WHEN draining <> 0 THEN 1 ELSE 0 END") \
	X(SUM_N,                ", COUNT(*)") \
	X(SUM_NCPUS,            ", SUM(ncpus)") \
	X(SUM_MEM_BYTES,        ", SUM(mem_bytes)") \
	X(SUM_JOBFS_BYTES,      ", SUM(jobfs_bytes)") \
	X(SUM_NGPUS,            ", SUM(ngpus)") \
	X(SUM_FREE_NCPUS,       ", SUM(free_ncpus)") \
	X(SUM_FREE_MEM_BYTES,   ", SUM(free_mem_bytes)") \
	X(SUM_FREE_JOBFS_BYTES, ", SUM(free_jobfs_bytes)") \
	X(SUM_FREE_NGPUS,       ", SUM(free_ngpus)")
#define USE_COLUMNS(X) \
	X(USE_LOST,         "CASE WHEN a.node IN (SELECT node FROM nodes WHERE lost <> 0) THEN 1 ELSE 0 END") \
	X(USE_N,            ", COUNT(*)") \
	X(USE_NCPUS,        ", SUM(CASE WHEN a.state = " SQL_JOB_SUSPENDED " AND" \
		" j.want = " SQL_DESIRED_SUSPEND " THEN 0 ELSE j.ncpus END)") \
	X(USE_MEM_BYTES,    ", SUM(CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes" \
		" ELSE j.mem_bytes END)") \
	X(USE_JOBFS_BYTES,  ", SUM(j.jobfs_bytes)") \
	X(USE_NGPUS,        ", SUM(j.ngpus)")
/* clang-format on */
enum { SUM_COLUMNS(SQL_NAME) };
enum { USE_COLUMNS(SQL_NAME) };

static const char sums_sql[] = "SELECT " SUM_COLUMNS(SQL_COLUMN) " FROM nodes GROUP BY 1";
static const char use_sql[] = "SELECT " USE_COLUMNS(
	SQL_COLUMN) " FROM attempts a CROSS JOIN jobs j ON j.job = a.job AND j.state < " SQL_JOB_ENDED
		    " WHERE a.closed = " SQL_STORE_OPEN " AND a.hosts = '' GROUP BY 1";

static void add_amounts(struct resources *sum, struct db_row *st, int column)
{
	sum->ncpus += db_int(st, column);
	sum->mem_bytes += db_int(st, column + 1);
	sum->jobfs_bytes += db_int(st, column + 2);
	sum->ngpus += db_int(st, column + 3);
}

static int add_nodes(struct store *s, struct store_node_totals *t, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, sums_sql, "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int64_t state = db_int(st, SUM_STATE), n = db_int(st, SUM_N);

		*(state == 2 ? &t->n_lost : state == 1 ? &t->n_drained : &t->n_up) += n;
		if (state < 2)
			add_amounts(&t->capacity, st, SUM_NCPUS);
		if (state == 0)
			add_amounts(&t->free, st, SUM_FREE_NCPUS);
	}
	return r;
}

static int add_attempts(struct store *s, struct store_node_totals *t, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, use_sql, "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		t->n_jobs += db_int(st, USE_N);
		if (!db_int(st, USE_LOST))
			add_amounts(&t->in_use, st, USE_NCPUS);
	}
	return r;
}

/* 1: it is there and not lost; 0: it is lost; STORE_NO_NODE: it is not there. */
#define STORE_NO_NODE 2

static int find_node(struct store *s, const char *node, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, "SELECT lost FROM nodes WHERE node = ?1", "t",
			       node),
	    is_lost;

	if (r <= 0)
		return r < 0 ? r : STORE_NO_NODE;
	is_lost = db_int(st, 0) != 0;
	db_done(st);
	return !is_lost;
}

static int add_parts(struct store *s, struct store_node_totals *t, struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use parts = { 0 };
	int r = store_parts_in_use(s, NULL, &parts, err);

	for (size_t i = 0; i < parts.n && r >= 0; i++) {
		const struct store_part_in_use *p = &parts.of[i];
		const struct resources *share = &p->share;

		r = find_node(s, p->node, err);
		t->n_jobs += r == 0 || r == 1;
		if (r != 1)
			continue;
		t->in_use.ncpus += p->frees_cores ? 0 : share->ncpus;
		t->in_use.mem_bytes += share->vmem_bytes ? share->vmem_bytes : share->mem_bytes;
		t->in_use.jobfs_bytes += share->jobfs_bytes;
		t->in_use.ngpus += share->ngpus;
	}
	return r;
}

int store_node_totals(struct store *s, struct store_node_totals *ret, struct err *err)
{
	int r;

	*ret = (struct store_node_totals){ 0 };
	r = add_nodes(s, ret, err);
	if (r >= 0)
		r = add_attempts(s, ret, err);
	if (r >= 0)
		r = add_parts(s, ret, err);
	return r < 0 ? r : 0;
}

int store_node_count(struct store *s, const char *from, int64_t *ret, struct err *err)
{
	int r = db_query_int(s->db, err, ret, "SELECT COUNT(*) FROM nodes WHERE node >= ?1",
			     "t", from ? from : "");

	return r < 0 ? r : 0;
}

/* clang-format off */
#define SIZE_COLUMNS(X) \
	X(SIZE_NODES,   "COUNT(*)") \
	X(SIZE_CORES,   ", COALESCE(SUM(ncpus), 0)") \
	X(SIZE_LARGEST, ", COALESCE(MAX(ncpus), 0)")
/* clang-format on */
enum { SIZE_COLUMNS(SQL_NAME) };

int store_cluster_size(struct store *s, const char *cluster, struct store_cluster_size *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT " SIZE_COLUMNS(SQL_COLUMN) " FROM nodes WHERE cluster = ?1", "t",
		cluster);

	if (r < 0)
		return r;
	*ret = (struct store_cluster_size){ db_int(st, SIZE_NODES), db_int(st, SIZE_CORES),
					    db_int(st, SIZE_LARGEST) };
	db_done(st);
	return 0;
}
