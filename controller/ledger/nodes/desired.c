/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desired.c - the desired state of every attempt that a node has and has not finished. See
 * store.h.
 *
 * Of a job on several nodes (attempts/multinode.h) the nodes of the parts other than the first get them at
 * once, the first node when all of them have been shown running, or when the job is to be cancelled. When
 * the attempt is over, or the end of part 0 waits for them, the others are to be cancelled.
 */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

/* The columns of both halves of desired_sql. */
enum given_column {
	ASSIGNED_JOB,
	ASSIGNED_ATTEMPT,
	ASSIGNED_WANT,
	ASSIGNED_STATE,
	ASSIGNED_REASON,
	ASSIGNED_ARRAY_JOB,
	ASSIGNED_ARRAY_INDEX,
	/* of a job on several nodes: */
	ASSIGNED_HOSTS,
	ASSIGNED_PART,
	ASSIGNED_NODE,
	ASSIGNED_NCPUS,
	ASSIGNED_VMEM_BYTES,
	ASSIGNED_MEM_BYTES,
	ASSIGNED_JOBFS_BYTES,
	ASSIGNED_NGPUS,
};
/* When the first part of a job has ended, its others get an order to end. Not those of Slurm: its cancel names a job's id, which may be the
 * next attempt's by then. */
static const char desired_sql[] =
	"SELECT a.job, a.attempt, j.want, a.state, j.want_reason,"
	" j.array_job, j.array_index, a.hosts, 0, a.node, p.ncpus, p.vmem_bytes, p.mem_bytes,"
	" p.jobfs_bytes, p.ngpus"
	" FROM attempts a JOIN jobs j ON j.job = a.job LEFT JOIN parts p"
	" ON p.job = a.job AND p.attempt = a.attempt AND p.part = 0"
	" WHERE a.node = ?1 AND a.closed = " SQL_STORE_OPEN " AND a.missing_ns = 0"
	" AND (a.hosts = '' OR a.shown = 1 OR j.want = " SQL_DESIRED_CANCEL
	" OR NOT EXISTS(SELECT 1 FROM parts o"
	"  WHERE o.job = a.job AND o.attempt = a.attempt AND o.part > 0 AND o.state < " SQL_JOB_RUNNING
	"))"
	" UNION ALL"
	" SELECT p.job, p.attempt, CASE WHEN p.job < " SQL_SLURM_FROM
	" AND (a.closed <> " SQL_STORE_OPEN " OR a.held_ns > 0) THEN " SQL_DESIRED_CANCEL
	" ELSE j.want END, p.state,"
	" CASE WHEN a.closed <> " SQL_STORE_OPEN " OR a.held_ns > 0 THEN 'the job has ended'"
	" ELSE j.want_reason END,"
	" j.array_job, j.array_index, a.hosts, p.part, p.node, p.ncpus, p.vmem_bytes,"
	" p.mem_bytes, p.jobfs_bytes, p.ngpus"
	" FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"
	" JOIN jobs j ON j.job = p.job"
	" WHERE p.node = ?1 AND p.closed = " SQL_STORE_OPEN
	" AND p.missing_ns = 0 AND p.part > 0"
	" ORDER BY 1, 2";
_Static_assert(DESIRED_CANCEL == 2 && JOB_RUNNING == 2, "desired_sql has them as numbers");

static int32_t count_hosts(const char *hosts)
{
	int32_t n = *hosts != '\0';

	for (; *hosts; hosts++)
		n += *hosts == ',';
	return n;
}

static void read_part(struct db_row *st, struct store_desired *g)
{
	const char *hosts = store_text(st, ASSIGNED_HOSTS);

	g->part = (struct job_part){ .index = (int32_t)db_int(st, ASSIGNED_PART),
				     .n = count_hosts(hosts),
				     .hosts = (char *)hosts };
	g->share = (struct store_part){ .node = store_text(st, ASSIGNED_NODE),
					.ncpus = db_int(st, ASSIGNED_NCPUS),
					.vmem_bytes = db_int(st, ASSIGNED_VMEM_BYTES),
					.mem_bytes = db_int(st, ASSIGNED_MEM_BYTES),
					.jobfs_bytes = db_int(st, ASSIGNED_JOBFS_BYTES),
					.ngpus = db_int(st, ASSIGNED_NGPUS) };
}

int store_desired_ask(struct store *s, const char *node, struct err *err)
{
	return db_ask(s->db, err, desired_sql, "t", node);
}

int store_desired(struct store *s, const char *node, store_desired_fn fn, void *ctx,
		  struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, desired_sql, "t", node);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct store_desired g = {
			.job = db_int(st, ASSIGNED_JOB),
			.attempt = (int)db_int(st, ASSIGNED_ATTEMPT),
			.want = (enum job_desired)(int)db_int(st, ASSIGNED_WANT),
			.state = (enum job_state)(int)db_int(st, ASSIGNED_STATE),
			.reason = store_text(st, ASSIGNED_REASON),
			.array = { db_int(st, ASSIGNED_ARRAY_JOB),
				   db_int(st, ASSIGNED_ARRAY_INDEX) },
		};

		read_part(st, &g);
		r = fn(ctx, &g, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_desired_request(struct store *s, const struct store_desired *g, char **ret,
			  struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT " STORE_REQUEST("j") " FROM jobs j WHERE j.job = ?1",
			       "i", g->array.job ? g->array.job : g->job);

	if (r <= 0)
		return r < 0 ? r
			     : err_set(err, -ENOENT, "job %lld has no row", (long long)g->job);
	*ret = strdup(store_text(st, 0));
	db_done(st);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}
