/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - the SQL of slurm_attempts and slurm_marks; see rows.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/slurm/rows.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define ROWS_COLUMNS(X) \
	X(ROWS_ORIGIN,      "a.origin") \
	X(ROWS_ID,          ", a.id") \
	X(ROWS_SUBMIT_S,    ", a.submit_s") \
	X(ROWS_JOB,         ", a.job") \
	X(ROWS_ATTEMPT,     ", a.attempt") \
	X(ROWS_STATE,       ", a.state") \
	X(ROWS_START_S,     ", a.start_s") \
	X(ROWS_END_S,       ", a.end_s") \
	X(ROWS_SUSPENDED_S, ", a.suspended_s") \
	X(ROWS_EXIT_STATUS, ", a.exit_status") \
	X(ROWS_SIGNAL,      ", a.signal") \
	X(ROWS_NCPUS,       ", a.ncpus") \
	X(ROWS_NODES,       ", a.nodes") \
	X(ROWS_NODE,        ", a.node") \
	X(ROWS_ARRAY_JOB,   ", a.array_job") \
	X(ROWS_ARRAY_TASK,  ", a.array_task") \
	X(ROWS_HET_JOB,     ", a.het_job") \
	X(ROWS_HET_OFFSET,  ", a.het_offset") \
	X(ROWS_SOURCE,      ", a.source") \
	X(ROWS_AT_S,        ", a.at_s") \
	X(ROWS_GONE_NS,     ", a.gone_ns") \
	X(ROWS_DUE_NS,      ", a.due_ns") \
	X(ROWS_WALLTIME_S,  ", j.walltime_s") \
	X(ROWS_MEM_BYTES,   ", j.mem_bytes") \
	X(ROWS_UID,         ", j.uid")
/* clang-format on */
enum { ROWS_COLUMNS(SQL_NAME) };
#define ROWS_SELECT                                                                            \
	"SELECT " ROWS_COLUMNS(SQL_COLUMN) " FROM slurm_attempts a JOIN jobs j ON j.job = a.job"
#define ROWS_DUE_MOST SQL_TEXT(1000)

/* slurm_attempts.source begins at 1. */
int64_t rows_source_number(enum slurm_batch_source source)
{
	return source + 1;
}

static void read_row(struct db_row *st, struct rows_attempt *a)
{
	struct slurm_batch_job *r = &a->row;

	*a = (struct rows_attempt){ .origin = db_int(st, ROWS_ORIGIN),
				    .job = db_int(st, ROWS_JOB),
				    .attempt = (int32_t)db_int(st, ROWS_ATTEMPT),
				    .source = (enum slurm_batch_source)(
					    (int)db_int(st, ROWS_SOURCE) - 1),
				    .at_s = db_int(st, ROWS_AT_S),
				    .gone_ns = db_int(st, ROWS_GONE_NS),
				    .due_ns = db_int(st, ROWS_DUE_NS) };
	r->job = db_int(st, ROWS_ID);
	r->attempt = a->attempt;
	r->uid = db_int(st, ROWS_UID);
	r->state = (enum slurm_batch_state)(int)db_int(st, ROWS_STATE);
	r->submit_s = db_int(st, ROWS_SUBMIT_S);
	r->start_s = db_int(st, ROWS_START_S);
	r->end_s = db_int(st, ROWS_END_S);
	r->suspended_s = db_int(st, ROWS_SUSPENDED_S);
	r->exit_status = db_int(st, ROWS_EXIT_STATUS);
	r->signal = db_int(st, ROWS_SIGNAL);
	r->ncpus = db_int(st, ROWS_NCPUS);
	r->array_job = db_int(st, ROWS_ARRAY_JOB);
	r->array_task = db_int(st, ROWS_ARRAY_TASK);
	r->het_job = db_int(st, ROWS_HET_JOB);
	r->het_offset = db_int(st, ROWS_HET_OFFSET);
	r->walltime_s = db_int(st, ROWS_WALLTIME_S);
	r->mem_bytes = db_int(st, ROWS_MEM_BYTES);
	snprintf(r->nodes, sizeof(r->nodes), "%s", store_text(st, ROWS_NODES));
	snprintf(r->node, sizeof(r->node), "%s", store_text(st, ROWS_NODE));
}

int rows_load(struct store *s, int64_t origin, const struct slurm_batch_job *key,
	      struct rows_attempt *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       ROWS_SELECT
			       " WHERE a.origin = ?1 AND a.id = ?2 AND a.submit_s = ?3",
			       "iii", origin, key->job, key->submit_s);

	if (r <= 0)
		return r;
	read_row(st, ret);
	db_done(st);
	return 1;
}

/* gone_ns becomes 0: Slurm has just reported the attempt. */
int rows_save(struct store *s, const struct rows_attempt *a, struct err *err)
{
	const struct slurm_batch_job *r = &a->row;

	return db_run(
		s->db, err,
		"INSERT INTO slurm_attempts(origin, id, submit_s, job, attempt, state, start_s,"
		" end_s, suspended_s, exit_status, signal, ncpus, nodes, node, array_job,"
		" array_task, het_job, het_offset, source, at_s)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
		" ?16, ?17, ?18, ?19, ?20) ON CONFLICT(origin, id, submit_s) DO UPDATE SET"
		" job = excluded.job, state = excluded.state, start_s = excluded.start_s, end_s = excluded.end_s,"
		" suspended_s = excluded.suspended_s, exit_status = excluded.exit_status,"
		" signal = excluded.signal, ncpus = excluded.ncpus, nodes = excluded.nodes,"
		" node = excluded.node, source = excluded.source, at_s = excluded.at_s,"
		" gone_ns = 0",
		"iiiiiiiiiiii"
		"tt"
		"iiiiii",
		a->origin, r->job, r->submit_s, a->job, (int64_t)a->attempt, (int64_t)r->state,
		r->start_s, r->end_s, r->suspended_s, r->exit_status, r->signal, r->ncpus,
		r->nodes, r->node, r->array_job, r->array_task, r->het_job, r->het_offset,
		rows_source_number(a->source), a->at_s);
}

int rows_set_due(struct store *s, const struct rows_attempt *a, int64_t due_ns, struct err *err)
{
	return db_run(s->db, err,
		      "UPDATE slurm_attempts SET due_ns = ?4"
		      " WHERE origin = ?1 AND id = ?2 AND submit_s = ?3",
		      "iiii", a->origin, a->row.job, a->row.submit_s, due_ns);
}

int rows_set_gone(struct store *s, const struct rows_attempt *a, int64_t gone_ns,
		  struct err *err)
{
	return db_run(s->db, err,
		      "UPDATE slurm_attempts SET gone_ns = ?4"
		      " WHERE origin = ?1 AND id = ?2 AND submit_s = ?3",
		      "iiii", a->origin, a->row.job, a->row.submit_s, gone_ns);
}

/* As is_started_again() of batch.c has it. Slurm's starts are whole seconds: the run may have ended within that one, if it began before it. */
#define LATER                                                                                  \
	"job = ?1 AND attempt = ?2 AND EXISTS("                                                \
	"SELECT 1 FROM attempts t WHERE t.job = ?1 AND t.attempt = ?2 AND"                     \
	" (t.ended_ns <= start_s * 1000000000 OR (t.ended_ns < (start_s + 1) * 1000000000"     \
	" AND t.started_ns < (start_s - 1) * 1000000000)))"

int rows_move_later(struct store *s, int64_t from, int32_t attempt, int64_t to, struct err *err)
{
	return db_run(s->db, err, "UPDATE slurm_attempts SET job = ?3 WHERE " LATER, "iii",
		      from, (int64_t)attempt, to);
}

int rows_has_later(struct store *s, int64_t from, int32_t attempt, struct err *err)
{
	return db_has_row(s->db, err, "SELECT 1 FROM slurm_attempts WHERE " LATER, "ii", from,
			  (int64_t)attempt);
}

/* ---- lists ---- */

void rows_list_done(struct rows_list *l)
{
	free(l->of);
	*l = (struct rows_list){ 0 };
}

/* The room for elements is a power of two, from 16 on. */
static int add_row(struct rows_list *l, struct db_row *st, struct err *err)
{
	bool is_full = l->n == 0 || (l->n >= 16 && (l->n & (l->n - 1)) == 0);
	struct rows_attempt *p = l->of;

	if (is_full)
		p = realloc(l->of, (l->n ? 2 * l->n : 16) * sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	l->of = p;
	read_row(st, &l->of[l->n++]);
	return 0;
}

/* `r`: of the query. */
static int read_list(struct store *s, int r, struct db_row *st, struct rows_list *ret,
		     struct err *err)
{
	*ret = (struct rows_list){ 0 };
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int added = add_row(ret, st, err);

		if (added < 0) {
			db_done(st);
			r = added;
		}
	}
	if (r < 0)
		rows_list_done(ret);
	return r < 0 ? r : 0;
}

int rows_of_id(struct store *s, int64_t origin, int64_t id, struct rows_list *ret,
	       struct err *err)
{
	struct db_row *st = NULL;
	int r = db_query(s->db, err, &st,
			 ROWS_SELECT " WHERE a.origin = ?1 AND a.id = ?2"
				     " ORDER BY a.job DESC, a.attempt",
			 "ii", origin, id);

	return read_list(s, r, st, ret, err);
}

int rows_due(struct store *s, int64_t origin, int64_t now_ns, struct rows_list *ret,
	     struct err *err)
{
	struct db_row *st = NULL;
	int r = db_query(s->db, err, &st,
			 ROWS_SELECT " WHERE a.origin = ?1 AND a.due_ns > 0 AND a.due_ns <= ?2"
				     " ORDER BY a.due_ns LIMIT " ROWS_DUE_MOST,
			 "ii", origin, now_ns);

	return read_list(s, r, st, ret, err);
}

int rows_open(struct store *s, int64_t origin, struct rows_list *ret, struct err *err)
{
	struct db_row *st = NULL;
	int r = db_query(s->db, err, &st,
			 ROWS_SELECT " WHERE a.origin = ?1 AND a.end_s = 0 ORDER BY a.id", "i",
			 origin);

	return read_list(s, r, st, ret, err);
}

/* ---- marks ---- */

int rows_load_mark(struct store *s, int64_t origin, int64_t *ret_mark_s, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT mark_s FROM slurm_marks WHERE origin = ?1", "i", origin);

	*ret_mark_s = 0;
	if (r <= 0)
		return r;
	*ret_mark_s = db_int(st, 0);
	db_done(st);
	return 0;
}

int rows_set_mark(struct store *s, int64_t origin, int64_t mark_s, struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO slurm_marks(origin, mark_s, live_ns) VALUES(?1, ?2, 0)"
		      " ON CONFLICT(origin) DO UPDATE SET mark_s ="
		      " CASE WHEN excluded.mark_s > slurm_marks.mark_s THEN excluded.mark_s"
		      " ELSE slurm_marks.mark_s END",
		      "ii", origin, mark_s);
}

int rows_set_live(struct store *s, int64_t origin, int64_t now_ns, struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO slurm_marks(origin, mark_s, live_ns) VALUES(?1, 0, ?2)"
		      " ON CONFLICT(origin) DO UPDATE SET live_ns = excluded.live_ns",
		      "ii", origin, now_ns);
}
