/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms.c - reads the terms that a job is charged by. See terms.h. */
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
	X(TERMS_SUMMED,            ", summed")
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
