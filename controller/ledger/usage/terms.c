/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms.c - reads the terms that a job is charged by, and writes them for a job with whole nodes when it is allocated. See
 * terms.h. */
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/usage/terms.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define TERMS_COLUMNS(X) \
	X(TERMS_NCPUS,             "ncpus") \
	X(TERMS_NGPUS,             ", ngpus") \
	X(TERMS_VMEM_BYTES,        ", vmem_bytes") \
	X(TERMS_MEM_BYTES,         ", mem_bytes") \
	X(TERMS_JOBFS_BYTES,       ", jobfs_bytes") \
	X(TERMS_WALLTIME_S,        ", walltime_s") \
	X(TERMS_GPU_MODEL,         ", gpu_model") \
	X(TERMS_NODE_TYPE,         ", node_type") \
	X(TERMS_FEATURES,          ", features") \
	X(TERMS_BUNDLE_GPUS_NUM,   ", bundle_gpus_num") \
	X(TERMS_BUNDLE_GPUS_DEN,   ", bundle_gpus_den") \
	X(TERMS_BUNDLE_CORES_NUM,  ", bundle_cores_num") \
	X(TERMS_BUNDLE_CORES_DEN,  ", bundle_cores_den") \
	X(TERMS_BUNDLE_MEMORY_NUM, ", bundle_memory_num") \
	X(TERMS_BUNDLE_MEMORY_DEN, ", bundle_memory_den") \
	X(TERMS_SUMMED,            ", summed") \
	X(TERMS_UNIT,              ", unit") \
	X(TERMS_NODE_CORES,        ", COALESCE((SELECT a.node_cores FROM attempts a" \
		" WHERE a.job = jobs.job AND a.attempt = jobs.attempt), 0)")
/* clang-format on */
enum { TERMS_COLUMNS(SQL_NAME) };

static struct fraction fraction_at(struct db_row *st, int column)
{
	return (struct fraction){ db_int(st, column), db_int(st, column + 1) };
}

static void read_terms(struct db_row *st, struct store_terms *ret)
{
	*ret = (struct store_terms){
		.requested = { .ncpus = db_int(st, TERMS_NCPUS),
			       .ngpus = db_int(st, TERMS_NGPUS),
			       .vmem_bytes = db_int(st, TERMS_VMEM_BYTES),
			       .mem_bytes = db_int(st, TERMS_MEM_BYTES),
			       .jobfs_bytes = db_int(st, TERMS_JOBFS_BYTES),
			       .walltime_s = db_int(st, TERMS_WALLTIME_S) },
		.bundle = { .side = { [CHARGE_GPUS] = fraction_at(st, TERMS_BUNDLE_GPUS_NUM),
				      [CHARGE_CORES] = fraction_at(st, TERMS_BUNDLE_CORES_NUM),
				      [CHARGE_MEMORY] =
					      fraction_at(st, TERMS_BUNDLE_MEMORY_NUM) },
			    .is_sum = db_int(st, TERMS_SUMMED) != 0 },
		.unit = (enum tariff_unit)(int)db_int(st, TERMS_UNIT),
		.node_cores = db_int(st, TERMS_NODE_CORES),
	};
	store_gpu_model(st, TERMS_GPU_MODEL, &ret->requested);
	store_node_kind(st, TERMS_NODE_TYPE, &ret->requested);
}

int store_job_terms(struct store *s, int64_t job, struct store_terms *ret, struct err *err)
{
	static const char sql[] =
		"SELECT " TERMS_COLUMNS(SQL_COLUMN) " FROM jobs WHERE job = ?1";
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, sql, "i", job);

	if (r <= 0)
		return r;
	read_terms(st, ret);
	db_done(st);
	return 1;
}

static int write_price(struct store *s, int64_t job, const struct tariff_price *p,
		       struct err *err)
{
	int r = db_run(s->db, err,
		       "UPDATE jobs SET rate_num = ?2, rate_den = ?3, decided_by = ?4,"
		       " rule = ?5 WHERE job = ?1",
		       "iiiit", job, p->rate.num, p->rate.den, (int64_t)p->decided_by, p->rule);

	return r < 0 ? r
		     : db_run(s->db, err,
			      "UPDATE attempts SET rate_num = ?2, rate_den = ?3, node_cores = ?4"
			      " WHERE job = ?1 AND attempt ="
			      " (SELECT attempt FROM jobs WHERE job = ?1)",
			      "iiii", job, p->rate.num, p->rate.den,
			      p->amounts.side[CHARGE_CORES]);
}

int store_terms_settle(struct store *s, int64_t job, int64_t node_cores, struct err *err)
{
	struct store_terms t;
	struct tariff_price p;
	struct tariff_nodes n;
	int r = store_job_terms(s, job, &t, err);

	if (r <= 0)
		return r;
	n = (struct tariff_nodes){ .unit = t.unit, .terms = t.bundle };
	n.amounts.side[CHARGE_GPUS] = t.requested.ngpus;
	n.amounts.side[CHARGE_MEMORY] = fit_memory(&t.requested);
	n.amounts.side[CHARGE_CORES] =
		node_cores > t.requested.ncpus ? node_cores : t.requested.ncpus;
	r = tariff_price_nodes(&n, &p);
	return r < 0 ? err_set(err, r, "job %lld: its nodes cost more than can be charged",
			       (long long)job)
		     : write_price(s, job, &p, err);
}
