/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - reads a page of attempts: those that Slurm has reported, and those that agents alone reported. See list.h. */
#include <stdio.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/slurm/list.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"

/* The columns of the three parts of the SELECT: attempts that Slurm listed, that agents alone reported, that are archived. */
enum list_column {
	LIST_ID,
	LIST_SUBMIT_S,
	LIST_ATTEMPT,
	LIST_STATE,
	LIST_STARTED_NS,
	LIST_ENDED_NS,
	LIST_SUSPENDED_NS,
	LIST_NCPUS,
	LIST_SEQ,
	LIST_USER,
	LIST_NODES,
};

#define LIST_MOST SQL_TEXT(1000) /* SLURM_BATCH_MAX */
_Static_assert(SLURM_BATCH_MAX == 1000, "the page of the query has another size");

/* The second part has what only agents reported: no row in slurm_attempts. ?8 is one more than the largest id,
 * so that job - job / ?8 * ?8 is the id in a number of the ledger. Each part is read by the index of when
 * attempts ended: a period costs what ended in it. `+` keeps a condition from being looked up by an index,
 * which would read all jobs of the cluster. */
static const char list_sql[] =
	"SELECT a.id AS id, a.submit_s AS submit_s, a.attempt, a.state,"
	" COALESCE(t.started_ns, 0), CASE WHEN t.job IS NULL THEN j.ended_ns ELSE t.ended_ns END,"
	" COALESCE(t.suspended_ns, 0), j.ncpus, COALESCE(t.seq, 0), j.user, a.nodes"
	" FROM slurm_attempts a JOIN jobs j ON j.job = a.job"
	" LEFT JOIN attempts t ON t.job = a.job AND t.attempt = a.attempt"
	" WHERE a.origin = ?1 AND a.end_s >= ?2 AND a.end_s < ?3"
	" AND (+a.id > ?4 OR (+a.id = ?4 AND +a.submit_s > ?5))"
	" UNION ALL SELECT t.job - (t.job / ?8) * ?8, 0, t.attempt, 0, t.started_ns, t.ended_ns,"
	" t.suspended_ns, j.ncpus, t.seq, j.user, t.node FROM attempts t JOIN jobs j ON j.job = t.job"
	" WHERE t.job >= " SQL_SLURM_FROM ""
	" AND t.ended_ns >= ?2 * 1000000000 AND t.ended_ns < ?3 * 1000000000"
	" AND +t.job >= ?6 AND +t.job < ?7 AND +t.job - (t.job / ?8) * ?8 > ?4"
	" AND NOT EXISTS(SELECT 1 FROM slurm_attempts a WHERE a.job = t.job"
	" AND a.attempt = t.attempt)"
	" UNION ALL SELECT x.id, x.submit_s, x.attempt, x.state, x.started_s * 1000000000,"
	" x.ended_s * 1000000000, x.suspended_s * 1000000000, x.ncpus, x.by_agent, '',"
	" CASE WHEN x.has_run > 0 THEN 'archived' ELSE '' END FROM archived_slurm x"
	" WHERE x.slurm_end_s >= ?2 AND x.slurm_end_s < ?3 AND +x.job >= ?6 AND +x.job < ?7"
	" AND (x.id > ?4 OR (x.id = ?4 AND x.submit_s > ?5)) ORDER BY 1, 2 LIMIT " LIST_MOST;

static void read_row(struct db_row *st, struct slurm_batch_job *r)
{
	*r = (struct slurm_batch_job){ .job = db_int(st, LIST_ID),
				       .submit_s = db_int(st, LIST_SUBMIT_S),
				       .attempt = db_int(st, LIST_ATTEMPT),
				       .uid = -1,
				       .state = (enum slurm_batch_state)(int)db_int(st,
										    LIST_STATE),
				       .start_s = db_int(st, LIST_STARTED_NS) / S_NS,
				       .end_s = db_int(st, LIST_ENDED_NS) / S_NS,
				       .suspended_s = db_int(st, LIST_SUSPENDED_NS) / S_NS,
				       .ncpus = db_int(st, LIST_NCPUS),
				       .array_task = SLURM_BATCH_NO_TASK,
				       .by_agent = db_int(st, LIST_SEQ) > 0 };
	snprintf(r->user, sizeof(r->user), "%s", store_text(st, LIST_USER));
	snprintf(r->nodes, sizeof(r->nodes), "%s", store_text(st, LIST_NODES));
}

int store_slurm_list(struct store *s, const struct store_slurm_page *p,
		     struct slurm_batch_job *ret, size_t *ret_n, struct err *err)
{
	struct db_row *st;
	int64_t origin;
	int r = db_query_first(s->db, err, &st, "SELECT id FROM origins WHERE cluster = ?1",
			       "t", p->cluster);

	*ret_n = 0;
	if (r <= 0)
		return r;
	origin = db_int(st, 0);
	db_done(st);
	r = db_query(s->db, err, &st, list_sql, "iiiiiiii", origin, p->from_s, p->to_s,
		     p->after_id, p->after_submit_s, store_slurm_number(origin, 0, 0),
		     store_slurm_number(origin + 1, 0, 0), SYNC_SLURM_ID_MAX + 1);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0 && *ret_n < SLURM_BATCH_MAX)
		read_row(st, &ret[(*ret_n)++]);
	return r < 0 ? r : 0;
}
