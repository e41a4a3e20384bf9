/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch.c - stores one document: new attempts that have ended (fresh.c), each other row at its attempt (settle.c writes what follows), then what has become due, then the
 * attempts that slurmctld no longer has, then the mark. See batch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/slurm/counted.h"
#include "controller/ledger/slurm/fresh.h"
#include "controller/ledger/slurm/settle.h"
#include "controller/ledger/sql.h"

static bool has_ended(const struct slurm_batch_job *row)
{
	return row->state > SLURM_BATCH_SUSPENDED;
}

/* Which attempt `row` is of the last job of its id, whose rows come first in `of`. It follows the last row that was submitted
 * before it, unless that job can have had no further attempt: then it is the first attempt of another job with the same id. A row
 * that is older than all others comes before them; 0: no number is left there. */
static int32_t place_attempt(const struct rows_attempt *of, size_t n,
			     const struct slurm_batch_job *row)
{
	const struct rows_attempt *before = NULL;

	for (size_t i = 0; i < n && of[i].job == of[0].job; i++)
		if (of[i].row.submit_s < row->submit_s)
			before = &of[i];
	if (before) {
		const struct rule_former former = { before->row.state, before->row.end_s };

		return rule_is_next_attempt(&former, row) ? before->attempt + 1 : 1;
	}
	return of[0].attempt - 1;
}

static bool has_open(const struct rows_attempt *of, size_t n)
{
	size_t i = 0;

	while (i < n && of[i].job == of[0].job && of[i].row.end_s)
		i++;
	return i < n && of[i].job == of[0].job;
}

/* slurmdbd does not say which attempt of its job a row is. One that is earlier than the first that is known is a job of its own,
 * unless an agent may still report that one: by its id it finds the last job alone. */
static int find_attempt_number(struct settle *t, const struct slurm_batch_job *row,
			       struct rows_attempt *a, struct err *err)
{
	_cleanup_(rows_list_done) struct rows_list known = { 0 };
	int r;

	if (row->attempt) {
		a->attempt = (int32_t)row->attempt;
		return 0;
	}
	r = rows_of_id(t->s, t->origin, row->job, &known, err);
	a->attempt = r >= 0 && known.n ? place_attempt(known.of, known.n, row) : 1;
	if (!a->attempt) {
		a->attempt = 1;
		a->is_another = !has_open(known.of, known.n);
	}
	return r;
}

/* True: the row says nothing that is not known. slurmdbd's word on an attempt that has ended is the last one; slurmctld may
 * still have it as it was. */
static bool is_old(const struct rows_attempt *known, const struct slurm_batch_job *row,
		   enum slurm_batch_source source)
{
	const struct slurm_batch_job *k = &known->row;

	if (k->end_s && known->source > source)
		return true;
	if (k->end_s && !has_ended(row))
		return true;
	return k->end_s && known->source == source && k->state == row->state &&
	       k->start_s == row->start_s && k->end_s == row->end_s &&
	       k->suspended_s == row->suspended_s;
}

/* 1: the ledger has counted this attempt, and has no job of it: it was archived, or imported. */
static int is_counted(struct settle *t, const struct slurm_batch_job *row, struct err *err)
{
	const struct counted_run run = { t->origin, row->job, row->start_s, row->end_s };
	bool differs = false;
	int r = counted_is_archived(t->s, t->origin, row, &differs, err);

	if (r == 0 && row->start_s)
		r = counted_is_imported(t->s, &run, err);
	if (differs && t->batch->source == SLURM_BATCH_SLURMDBD && t->n_late++ == 0)
		t->late_id = row->job;
	return r;
}

/* 1: Slurm has started the attempt again after its run had ended, as its agent reported: slurmctld had died before it saved that start,
 * and has but the later one. Its starts are whole seconds: the run may have ended within that one, if it began before it. */
static int is_started_again(struct settle *t, const struct rows_attempt *known,
			    const struct slurm_batch_job *row, struct err *err)
{
	const int64_t start_ns = row->start_s * S_NS;

	if (row->start_s <= known->row.start_s || !known->job)
		return 0;
	return db_has_row(t->s->db, err,
			  "SELECT 1 FROM attempts WHERE job = ?1 AND attempt = ?2"
			  " AND closed = " SQL_STORE_FINAL " AND seq > 0 AND (ended_ns <= ?3"
			  " OR (ended_ns < ?4 AND started_ns < ?5))",
			  "iiiii", known->job, (int64_t)known->attempt, start_ns,
			  start_ns + S_NS, start_ns - S_NS);
}

/* The run before stays in the ledger as it is, and the row becomes that of another job of the same id: one that an agent has reported, or
 * a new one. */
static int move_to_next_run(struct settle *t, struct rows_attempt *a, struct err *err)
{
	int64_t newest = 0;
	int r = store_slurm_find(t->s, t->origin, rule_local_id(&a->row), &newest, err);

	if (r < 0)
		return r;
	a->is_another = newest == a->job;
	a->job = a->is_another ? 0 : newest;
	return 0;
}

/* The attempt that the row is of, in *a, whose job may be 0. 0: the row says nothing that is not known or counted. */
static int find_attempt(struct settle *t, const struct slurm_batch_job *row,
			struct rows_attempt *a, struct err *err)
{
	int r = rows_load(t->s, t->origin, row, a, err);

	if (r > 0 && is_old(a, row, t->batch->source))
		return 0;
	if (r > 0) {
		r = is_started_again(t, a, row, err);
		r = r > 0 ? move_to_next_run(t, a, err) : r;
		return r < 0 ? r : 1;
	}
	r = r < 0 ? r : is_counted(t, row, err);
	if (r != 0)
		return r < 0 ? r : 0;
	*a = (struct rows_attempt){ .origin = t->origin };
	r = find_attempt_number(t, row, a, err);
	return r < 0 ? r : 1;
}

/* A row that waits or was revoked is no attempt of this cluster. */
static int take_row(struct settle *t, const struct slurm_batch_job *row, struct err *err)
{
	struct rows_attempt a;
	int r;

	if (row->state == SLURM_BATCH_PENDING || row->state == SLURM_BATCH_REVOKED)
		return 0;
	r = find_attempt(t, row, &a, err);
	if (r <= 0)
		return r;
	a.row = *row;
	/* An end without a time is when Slurm said it. */
	if (has_ended(row) && !a.row.end_s)
		a.row.end_s = t->batch->at_s;
	a.source = t->batch->source;
	a.at_s = t->batch->at_s;
	t->n_changed++;
	return settle_new(t, &a, err);
}

/* ---- attempts that slurmctld no longer has ---- */

static int compare_present(const void *a, const void *b)
{
	const struct slurm_batch_present *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* `present` is sorted: take_whole(). */
static bool is_present(const struct slurm_batch *b, const struct rows_attempt *a)
{
	const struct slurm_batch_present key = { a->row.job, a->attempt };

	return b->n_present &&
	       bsearch(&key, b->present, b->n_present, sizeof(key), compare_present);
}

/* What does not fit is named with the next document. */
static void add_wanted(struct slurm_batch_answer *to, const struct rows_attempt *a)
{
	if (to->n_wanted < SLURM_BATCH_WANTED_MAX)
		to->wanted[to->n_wanted++] =
			(struct slurm_batch_present){ a->row.job, a->attempt };
}

/* One attempt that has not ended in the ledger: still there, gone for the first time (the time is kept), or
 * gone for so long that it counts as lost. */
static int take_open(struct settle *t, struct rows_attempt *a, struct slurm_batch_answer *to,
		     struct err *err)
{
	int64_t now_ns = t->from->now_ns;

	if (is_present(t->batch, a))
		return a->gone_ns ? rows_set_gone(t->s, a, 0, err) : 0;
	add_wanted(to, a);
	if (!a->gone_ns)
		return rows_set_gone(t->s, a, now_ns, err);
	return now_ns - a->gone_ns >= t->from->forgotten_ns ? settle_forgotten(t, a, err) : 0;
}

/* The document lists all attempts that slurmctld has: compares it with those that are open in the ledger.
 * Sorts batch->present. */
static int take_whole(struct settle *t, struct slurm_batch_answer *to, struct err *err)
{
	_cleanup_(rows_list_done) struct rows_list open = { 0 };
	int r = rows_open(t->s, t->origin, &open, err);

	if (t->batch->n_present)
		qsort(t->batch->present, t->batch->n_present, sizeof(*t->batch->present),
		      compare_present);
	for (size_t i = 0; i < open.n && r >= 0; i++)
		r = take_open(t, &open.of[i], to, err);
	return r < 0 ? r : rows_set_live(t->s, t->origin, t->from->now_ns, err);
}

/* Attempts for whose agent the rule waited, and whose time has come: at most 1,000 with each document. */
static int take_due(struct settle *t, struct err *err)
{
	_cleanup_(rows_list_done) struct rows_list due = { 0 };
	int r = rows_due(t->s, t->origin, t->from->now_ns, &due, err);

	for (size_t i = 0; i < due.n && r >= 0; i++)
		r = settle_due(t, &due.of[i], err);
	return r;
}

/* First those that the ledger knows nothing of, together, then the others one by one. */
static int take_rows(struct settle *t, struct err *err)
{
	const struct slurm_batch *b = t->batch;
	_cleanup_free_ bool *is_taken = calloc(b->n_jobs + 1, sizeof(*is_taken));
	int r = is_taken ? fresh_take(t, is_taken, err)
			 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < b->n_jobs && r >= 0; i++)
		if (!is_taken[i])
			r = take_row(t, &b->jobs[i], err);
	return r;
}

/* The mark comes last: it says that all rows before it are stored. */
static int take_all(struct settle *t, struct slurm_batch_answer *to, struct err *err)
{
	const struct slurm_batch *b = t->batch;
	int r = store_slurm_origin(t->s, b->cluster, &t->origin, err);

	if (r >= 0)
		r = take_rows(t, err);
	if (r >= 0)
		r = take_due(t, err);
	if (r >= 0 && b->is_whole)
		r = take_whole(t, to, err);
	if (r >= 0 && b->mark_s)
		r = rows_set_mark(t->s, t->origin, b->mark_s, err);
	return r < 0 ? r : rows_load_mark(t->s, t->origin, &to->mark_s, err);
}

int store_slurm_batch(struct store *s, const struct slurm_batch *b,
		      const struct store_slurm_from *from, struct store_slurm_result *ret,
		      struct err *err)
{
	struct settle t = { .s = s,
			    .batch = b,
			    .from = from,
			    .how = { .price = from->price, .ctx = from->ctx } };
	struct store_slurm_result out = { .answer.wanted = calloc(SLURM_BATCH_WANTED_MAX,
								  sizeof(*out.answer.wanted)) };
	int r = out.answer.wanted ? db_begin(s->db, err)
				  : err_set(err, -ENOMEM, "out of memory");

	t.changes = &out.changes;
	if (r >= 0)
		r = db_end(s->db, take_all(&t, &out.answer, err), err);
	if (r < 0) {
		store_slurm_result_done(&out);
		return r;
	}
	out.answer.n_changed = t.n_changed;
	out.n_late = t.n_late;
	out.late_id = t.late_id;
	*ret = out;
	return 0;
}

void store_slurm_result_done(struct store_slurm_result *r)
{
	slurm_batch_answer_done(&r->answer);
	sync_result_done(&r->changes);
	*r = (struct store_slurm_result){ 0 };
}
