/* SPDX-License-Identifier: GPL-2.0-or-later */
/* multinode.c - the parts of jobs on several nodes: their rows at the allocation, what they have in
 * use, and the list that people see. How they change and end is in attempts/part.c. See
 * attempts/multinode.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/attempts/multinode.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/sql.h"

/* ---- allocation ---- */

/* "n1=16,n2=16". malloc()ed. */
static int format_hosts(const struct store_allocation *g, char **ret, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	for (size_t i = 0; to && i < g->n_parts; i++)
		fprintf(to, "%s%s=%lld", i ? "," : "", g->parts[i].node,
			(long long)g->parts[i].ncpus);
	if (!to || fclose(to) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(text);
	return 0;
}

static int insert_part(struct store *s, int64_t job, size_t part, const struct store_part *p,
		       struct err *err)
{
	store_forget_given(s, p->node);
	return db_run(s->db, err,
		      "INSERT INTO parts(job, attempt, part, node, ncpus, vmem_bytes,"
		      " mem_bytes, jobfs_bytes, ngpus, state, user) SELECT job, attempt, ?2,"
		      " ?3, ?4, ?5, ?6, ?7, ?8, " SQL_JOB_STARTING
		      ", user FROM jobs WHERE job = ?1",
		      "iitiiiii", job, (int64_t)part, p->node, p->ncpus, p->vmem_bytes,
		      p->mem_bytes, p->jobfs_bytes, p->ngpus);
}

int store_parts_allocate(struct store *s, const struct store_allocation *g, struct err *err)
{
	_cleanup_free_ char *hosts = NULL;
	int r;

	if (strcmp(g->parts[0].node, g->node) != 0)
		return err_set(err, -EINVAL, "job %lld: part 0 is not on its first node",
			       (long long)g->job);
	r = format_hosts(g, &hosts, err);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET hosts = ?2 WHERE job = ?1 AND attempt ="
			   " (SELECT attempt FROM jobs WHERE job = ?1)",
			   "it", g->job, hosts);
	for (size_t i = 0; i < g->n_parts && r >= 0; i++)
		r = insert_part(s, g->job, i, &g->parts[i], err);
	return r;
}

/* ---- in use ---- */

/* clang-format off */
#define IN_USE_COLUMNS(X) \
	X(IN_USE_JOB,         "p.job") \
	X(IN_USE_ATTEMPT,     ", p.attempt") \
	X(IN_USE_PART,        ", p.part") \
	X(IN_USE_NODE,        ", p.node") \
	X(IN_USE_NCPUS,       ", p.ncpus") \
	X(IN_USE_VMEM_BYTES,  ", p.vmem_bytes") \
	X(IN_USE_MEM_BYTES,   ", p.mem_bytes") \
	X(IN_USE_JOBFS_BYTES, ", p.jobfs_bytes") \
	X(IN_USE_NGPUS,       ", p.ngpus") \
	X(IN_USE_FREES_CORES, ", CASE WHEN j.want = " SQL_DESIRED_SUSPEND " AND CASE WHEN p.part" \
		" = 0 THEN a.state ELSE p.state END = " SQL_JOB_SUSPENDED " THEN 1 ELSE 0 END") \
	X(IN_USE_EXCLUSIVE,   ", j.exclusive") \
	X(IN_USE_GPU_MODEL,   ", j.gpu_model") \
	X(IN_USE_IS_OVER,     ", CASE WHEN a.closed <> " SQL_STORE_OPEN " THEN 1 ELSE 0 END")
/* clang-format on */
enum { IN_USE_COLUMNS(SQL_NAME) };
#define IN_USE_SELECT "SELECT " IN_USE_COLUMNS(SQL_COLUMN)

/* Rows are found by the index of open parts and then sorted: the + keeps SQLite from reading all parts
 * that ever were in the order of the primary key. */
#define OPEN_PARTS                                                                             \
	IN_USE_SELECT                                                                          \
	" FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"             \
	" JOIN jobs j ON j.job = p.job WHERE p.closed = " SQL_STORE_OPEN
static const char in_use_sql[] = OPEN_PARTS " AND (?1 IS NULL OR j.cluster = ?1)"
					    " ORDER BY +p.job, p.attempt, p.part";
static const char in_use_these_sql[] = OPEN_PARTS " AND p.job IN (" STORE_SOME_PARAMETERS ")"
						  " ORDER BY +p.job, p.attempt, p.part";

static void read_in_use(struct db_row *st, struct store_part_in_use *p)
{
	*p = (struct store_part_in_use){ .job = db_int(st, IN_USE_JOB),
					 .attempt = (int32_t)db_int(st, IN_USE_ATTEMPT),
					 .part = (int32_t)db_int(st, IN_USE_PART),
					 .share = { .ncpus = db_int(st, IN_USE_NCPUS),
						    .vmem_bytes = db_int(st, IN_USE_VMEM_BYTES),
						    .mem_bytes = db_int(st, IN_USE_MEM_BYTES),
						    .jobfs_bytes =
							    db_int(st, IN_USE_JOBFS_BYTES),
						    .ngpus = db_int(st, IN_USE_NGPUS) },
					 .frees_cores = db_int(st, IN_USE_FREES_CORES) != 0,
					 .is_exclusive = db_int(st, IN_USE_EXCLUSIVE) != 0,
					 .is_left = db_int(st, IN_USE_IS_OVER) != 0 };
	snprintf(p->node, sizeof(p->node), "%s", store_text(st, IN_USE_NODE));
	store_gpu_model(st, IN_USE_GPU_MODEL, &p->share);
}

static int read_all_in_use(struct store *s, struct db_row *st, struct store_parts_in_use *ret,
			   struct err *err)
{
	_cleanup_free_ struct store_part_in_use *of = NULL;
	size_t n = 0, size = 0;
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		if (n == size) {
			struct store_part_in_use *p;

			size = size ? size * 2 : 64;
			p = realloc(of, size * sizeof(*p));
			if (!p) {
				db_done(st);
				return err_set(err, -ENOMEM, "out of memory");
			}
			of = p;
		}
		read_in_use(st, &of[n++]);
	}
	if (r < 0)
		return r;
	*ret = (struct store_parts_in_use){ TAKE_PTR(of), n };
	return 0;
}

int store_parts_in_use(struct store *s, const char *cluster, struct store_parts_in_use *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, in_use_sql, "t", cluster);

	return r < 0 ? r : read_all_in_use(s, st, ret, err);
}

int store_parts_in_use_these(struct store *s, const struct db_ints *jobs,
			     struct store_parts_in_use *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_ints(s->db, in_use_these_sql, jobs, &st, err);

	return r < 0 ? r : read_all_in_use(s, st, ret, err);
}

/* ---- for people ---- */

/* clang-format off */
#define ROW_COLUMNS(X) \
	X(ROW_PART,         "p.part") \
	X(ROW_STATE,        ", CASE WHEN p.part = 0 THEN a.state ELSE p.state END") \
	X(ROW_NODE,         ", p.node") \
	X(ROW_NCPUS,        ", p.ncpus") \
	X(ROW_VMEM_BYTES,   ", p.vmem_bytes") \
	X(ROW_MEM_BYTES,    ", p.mem_bytes") \
	X(ROW_JOBFS_BYTES,  ", p.jobfs_bytes") \
	X(ROW_NGPUS,        ", p.ngpus") \
	X(ROW_CPUS,         ", p.cpus") \
	X(ROW_USAGE,        ", p.usage") \
	X(ROW_GPUS,         ", p.gpus") \
	X(ROW_END,          ", p.end") \
	X(ROW_NOTE,         ", p.note") \
	X(ROW_STARTED_NS,   ", p.started_ns") \
	X(ROW_ENDED_NS,     ", p.ended_ns") \
	X(ROW_RUNNING_NS,   ", p.running_ns") \
	X(ROW_SUSPENDED_NS, ", p.suspended_ns")
/* clang-format on */
enum { ROW_COLUMNS(SQL_NAME) };
#define ROW_SELECT "SELECT " ROW_COLUMNS(SQL_COLUMN)

static const char parts_sql[] =
	ROW_SELECT " FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"
		   " WHERE p.job = ?1 AND p.attempt = ?2 ORDER BY p.part";

int store_list_parts(struct store *s, struct store_whose of, store_part_row_fn fn, void *ctx,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, parts_sql, "ii", of.job, (int64_t)of.attempt);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_part_row p = {
			.part = (int32_t)db_int(st, ROW_PART),
			.state = (enum job_state)(int)db_int(st, ROW_STATE),
			.share = { .node = store_text(st, ROW_NODE),
				   .ncpus = db_int(st, ROW_NCPUS),
				   .vmem_bytes = db_int(st, ROW_VMEM_BYTES),
				   .mem_bytes = db_int(st, ROW_MEM_BYTES),
				   .jobfs_bytes = db_int(st, ROW_JOBFS_BYTES),
				   .ngpus = db_int(st, ROW_NGPUS) },
			.cpus = store_text(st, ROW_CPUS),
			.usage = db_text(st, ROW_USAGE),
			.gpus = db_text(st, ROW_GPUS),
			.end = db_text(st, ROW_END),
			.note = store_text(st, ROW_NOTE),
			.started_ns = db_int(st, ROW_STARTED_NS),
			.ended_ns = db_int(st, ROW_ENDED_NS),
			.running_ns = db_int(st, ROW_RUNNING_NS),
			.suspended_ns = db_int(st, ROW_SUSPENDED_NS),
		};

		r = fn(ctx, &p, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_job_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		    struct err *err)
{
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT node FROM attempts WHERE job = ?1 AND closed = " SQL_STORE_OPEN
		" UNION SELECT node FROM parts WHERE job = ?1 AND closed = " SQL_STORE_OPEN,
		"i", job);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		fn(ctx, store_text(st, 0));
	return r;
}
