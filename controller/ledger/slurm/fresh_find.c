/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh_find.c - which rows of a document the ledger knows nothing of. See fresh_impl.h.
 *
 * In doubt a row is not fresh: batch.c asks what it has to ask of each of those.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/slurm/counted.h"
#include "controller/ledger/slurm/fresh_impl.h"
#include "controller/ledger/sql.h"

/* A row that may be fresh, and what the ledger has under its id. */
struct candidate {
	const struct slurm_batch_job *row;
	size_t at; /* in the document */
	int64_t id;
	bool is_known;
	/* The job of the last generation: */
	int32_t generation; /* -1: there is none */
	bool is_archived;
	int64_t attempt, ended_ns;
	int64_t n_attempts; /* that Slurm has listed, of all generations */
};

struct find {
	struct settle *t;
	struct candidate *of; /* by id */
	size_t n;
	int32_t generations;
	int64_t imported_until_s;
};

/* A lost node's job may have to be queued again. */
static bool is_whole(const struct slurm_batch_job *row)
{
	return row->state > SLURM_BATCH_SUSPENDED && row->state != SLURM_BATCH_NODE_FAIL &&
	       row->state != SLURM_BATCH_REVOKED && row->state != SLURM_BATCH_UNKNOWN &&
	       row->submit_s && row->end_s;
}

static int compare_ids(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Rows of one id in one document depend on each other: none of them is a candidate. */
static void keep_single(struct find *f)
{
	size_t kept = 0;

	if (f->n)
		qsort(f->of, f->n, sizeof(*f->of), compare_ids);
	for (size_t i = 0, next; i < f->n; i = next) {
		for (next = i + 1; next < f->n && f->of[next].id == f->of[i].id;)
			next++;
		if (next == i + 1 && is_whole(f->of[i].row))
			f->of[kept++] = f->of[i];
	}
	f->n = kept;
}

static void list_candidates(struct find *f)
{
	const struct slurm_batch *b = f->t->batch;

	for (size_t i = 0; i < b->n_jobs; i++)
		f->of[f->n++] = (struct candidate){ .row = &b->jobs[i],
						    .at = i,
						    .id = rule_local_id(&b->jobs[i]),
						    .generation = -1 };
	keep_single(f);
}

/* ---- what the ledger has under the ids ---- */

/* Candidates that are asked for together: f->of[first] and those after it. */
struct group {
	struct candidate *of;
	size_t n;
	int64_t keys[STORE_SOME];
};

static struct candidate *find_id(const struct group *g, int64_t id)
{
	size_t lo = 0, hi = g->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (g->of[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < g->n && g->of[lo].id == id ? &g->of[lo] : NULL;
}

/* Asks for the group's keys. `sql` has STORE_SOME_PARAMETERS. */
static int query_group(struct find *f, const struct group *g, const char *sql,
		       struct db_row **ret, struct err *err)
{
	const struct store_these these = { .jobs = g->keys, .n = g->n };
	int64_t buf[STORE_SOME];
	struct db_ints v;

	return db_query_ints(f->t->s->db, sql, store_some(&these, 0, buf, &v), ret, err);
}

enum job_column { JOB_JOB, JOB_ATTEMPT, JOB_STATE, JOB_ENDED_NS };

static int read_jobs(struct find *f, struct group *g, int32_t generation, struct err *err)
{
	struct db_row *st;
	int r = query_group(f, g,
			    "SELECT job, attempt, state, ended_ns FROM jobs"
			    " WHERE job IN (" STORE_SOME_PARAMETERS ")",
			    &st, err);

	while (r >= 0 && (r = db_step(f->t->s->db, st, err)) > 0) {
		struct candidate *c = find_id(g, store_slurm_id(db_int(st, JOB_JOB)));

		if (!c)
			continue;
		c->generation = generation;
		c->is_archived = false;
		c->attempt = db_int(st, JOB_ATTEMPT);
		c->ended_ns = db_int(st, JOB_ENDED_NS);
		c->is_known |= db_int(st, JOB_STATE) != JOB_ENDED;
	}
	return r;
}

enum archived_column { ARCHIVED_JOB, ARCHIVED_ID, ARCHIVED_SUBMIT_S };

/* An archived attempt that only agents reported is known by when it ran, which counted.c compares. */
static int read_archived(struct find *f, struct group *g, int32_t generation, struct err *err)
{
	struct db_row *st;
	int r = query_group(f, g,
			    "SELECT job, id, submit_s FROM archived_slurm"
			    " WHERE job IN (" STORE_SOME_PARAMETERS ")",
			    &st, err);

	while (r >= 0 && (r = db_step(f->t->s->db, st, err)) > 0) {
		struct candidate *c = find_id(g, store_slurm_id(db_int(st, ARCHIVED_JOB)));

		if (!c)
			continue;
		c->generation = generation;
		c->is_archived = true;
		c->is_known |= !db_int(st, ARCHIVED_SUBMIT_S) ||
			       (db_int(st, ARCHIVED_ID) == c->row->job &&
				db_int(st, ARCHIVED_SUBMIT_S) == c->row->submit_s);
	}
	return r;
}

enum attempt_column { ATTEMPT_JOB, ATTEMPT_SUBMIT_S, ATTEMPT_STATE, ATTEMPT_END_S };

/* By the number of the job: also those of another cluster of a federation. */
static int read_attempts(struct find *f, struct group *g, struct err *err)
{
	struct db_row *st;
	int r = query_group(f, g,
			    "SELECT job, submit_s, state, end_s FROM slurm_attempts"
			    " WHERE job IN (" STORE_SOME_PARAMETERS ")",
			    &st, err);

	while (r >= 0 && (r = db_step(f->t->s->db, st, err)) > 0) {
		struct candidate *c = find_id(g, store_slurm_id(db_int(st, ATTEMPT_JOB)));
		const struct rule_former former = { (enum slurm_batch_state)(int)db_int(
							    st, ATTEMPT_STATE),
						    db_int(st, ATTEMPT_END_S) };

		if (!c)
			continue;
		c->n_attempts++;
		c->is_known |= db_int(st, ATTEMPT_SUBMIT_S) >= c->row->submit_s ||
			       rule_is_next_attempt(&former, c->row);
	}
	return r;
}

static int read_group(struct find *f, struct group *g, struct err *err)
{
	int r = 0;

	for (int32_t n = 0; n < f->generations && r >= 0; n++) {
		for (size_t i = 0; i < g->n; i++)
			g->keys[i] = store_slurm_number(f->t->origin, n, g->of[i].id);
		r = read_jobs(f, g, n, err);
		if (r >= 0)
			r = read_archived(f, g, n, err);
		if (r >= 0)
			r = read_attempts(f, g, err);
	}
	return r;
}

static int read_all(struct find *f, struct err *err)
{
	int r = counted_find_generations(f->t->s, f->t->origin, &f->generations, err);

	for (size_t at = 0; at < f->n && f->generations && r >= 0; at += STORE_SOME) {
		struct group g = { .of = f->of + at,
				   .n = f->n - at < STORE_SOME ? f->n - at : STORE_SOME };

		r = read_group(f, &g, err);
	}
	return r < 0 ? r : 0;
}

/* ---- imports and agents ---- */

static int load_imported_until(struct find *f, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(f->t->s->db, err, &st,
			       "SELECT value FROM meta WHERE key = 'imported_until_s'", "");

	if (r <= 0)
		return r;
	f->imported_until_s = strtoll(store_text(st, 0), NULL, 10);
	db_done(st);
	return 0;
}

static int is_imported(struct find *f, const struct slurm_batch_job *row, struct err *err)
{
	const struct counted_run run = { f->t->origin, row->job, row->start_s, row->end_s };

	if (!row->start_s || row->start_s >= f->imported_until_s)
		return 0;
	return counted_is_imported(f->t->s, &run, err);
}

/* 1: the agent of the row's node may still report it. */
static int is_awaited(struct find *f, const struct slurm_batch_job *row, struct err *err)
{
	const struct store_slurm_from *from = f->t->from;

	if (!row->start_s || row->end_s * S_NS + RULE_AGENT_WAIT_NS <= from->now_ns)
		return 0;
	return db_has_row(f->t->s->db, err,
			  "SELECT 1 FROM nodes WHERE node = ?1 AND last_ns > ?2", "ti",
			  row->node, from->now_ns - from->lost_ns);
}

/* The id is new, or the job that had it ended more than a day before this one was submitted: as jobs/slurm.c and
 * batch.c see it, another job of the next generation. */
static bool is_new_job(const struct candidate *c)
{
	int64_t attempt = c->row->attempt ? c->row->attempt : 1;

	if (c->is_known || c->generation + 1 >= STORE_SLURM_GENERATIONS)
		return false;
	if (c->generation < 0 || c->is_archived)
		return true;
	return c->n_attempts && attempt <= c->attempt &&
	       c->row->submit_s * S_NS > c->ended_ns + DAY_NS;
}

static int judge_candidate(struct find *f, const struct candidate *c, struct fresh_found *ret,
			   struct err *err)
{
	int r = is_new_job(c) ? is_imported(f, c->row, err) : 1;

	if (r == 0)
		r = is_awaited(f, c->row, err);
	if (r == 0)
		*ret = (struct fresh_found){ true, c->generation + 1 };
	return r < 0 ? r : 0;
}

int fresh_find(struct settle *t, struct fresh_found *ret, struct err *err)
{
	_cleanup_free_ struct candidate *of = calloc(t->batch->n_jobs + 1, sizeof(*of));
	struct find f = { .t = t, .of = of };
	int r = of ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	list_candidates(&f);
	if (!f.n)
		return 0;
	r = read_all(&f, err);
	if (r >= 0)
		r = load_imported_until(&f, err);
	for (size_t i = 0; i < f.n && r >= 0; i++)
		r = judge_candidate(&f, &f.of[i], &ret[f.of[i].at], err);
	return r;
}
