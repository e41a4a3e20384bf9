/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals.c - the sums of all nodes, without a row for each. See nodes/page.h. */
#include "common/err.h"
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
/* clang-format on */
enum { SUM_COLUMNS(SQL_NAME) };

static const char sums_sql[] = "SELECT " SUM_COLUMNS(SQL_COLUMN) " FROM nodes GROUP BY 1";

static void add_amounts(struct resources *sum, struct db_row *st, int column)
{
	sum->ncpus += db_int(st, column);
	sum->mem_bytes += db_int(st, column + 1);
	sum->jobfs_bytes += db_int(st, column + 2);
	sum->ngpus += db_int(st, column + 3);
}

int store_node_totals(struct store *s, struct store_node_totals *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, sums_sql, "");

	*ret = (struct store_node_totals){ 0 };
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int64_t state = db_int(st, SUM_STATE), n = db_int(st, SUM_N);

		*(state == 2 ? &ret->n_lost : state == 1 ? &ret->n_drained : &ret->n_up) += n;
		if (state < 2)
			add_amounts(&ret->capacity, st, SUM_NCPUS);
		if (state == 0)
			add_amounts(&ret->free, st, SUM_FREE_NCPUS);
	}
	return r;
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
