/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps.c - adds, lists, cancels and ends steps of running jobs. See steps/steps.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

/* A list without a running step may have been made before the node's agent had searched for what runs:
 * a step ends as missing when a list this much later lacks it too. */
#define MISSING_GRACE_NS (10 * S_NS)

/* --- adding --- */

struct now {
	int64_t attempt, last, n_open;
	char user[REQUEST_NAME_MAX];
};

enum now_column { NOW_ATTEMPT, NOW_RUNS, NOW_LAST, NOW_N_OPEN, NOW_USER };

/* 0, STORE_STEPS_NOT_RUNNING, -ENOENT. */
static int load_now(struct store *s, int64_t job, struct now *ret, struct err *err)
{
	struct db_row *st;
	bool runs;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT attempt, state IN (" SQL_JOB_RUNNING ", " SQL_JOB_SUSPENDED
		") AND want <> " SQL_DESIRED_CANCEL ","
		" (SELECT COALESCE(MAX(step), 0) FROM steps t WHERE t.job = ?1),"
		" (SELECT COUNT(*) FROM steps t WHERE t.job = ?1 AND t.state < " SQL_STORE_STEP_ENDED
		"),"
		" user FROM jobs WHERE job = ?1",
		"i", job);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no job %lld", (long long)job);
	*ret = (struct now){ .attempt = db_int(st, NOW_ATTEMPT),
			     .last = db_int(st, NOW_LAST),
			     .n_open = db_int(st, NOW_N_OPEN) };
	snprintf(ret->user, sizeof(ret->user), "%s", store_text(st, NOW_USER));
	runs = db_int(st, NOW_RUNS) != 0;
	db_done(st);
	return runs ? 0 : STORE_STEPS_NOT_RUNNING;
}

/* STORE_STEPS_NOT_ITS_NODE: it has nothing there. */
static int add_one(struct store *s, const struct store_steps_new *n, const struct now *now,
		   size_t i, struct err *err)
{
	int64_t command = 0;
	int r = store_text_take(s, now->user, n->spec, &command, err);

	s->has_no_steps = false;
	if (r >= 0)
		r = db_run(s->db, err,
			   "INSERT INTO steps(job, step, attempt, node, spec, created_ns,"
			   " command) SELECT p.job, ?2, p.attempt, p.node, '', ?6, ?5"
			   " FROM placements p WHERE p.job = ?1 AND p.attempt = ?3"
			   " AND p.node = ?4 AND p.closed = " SQL_STORE_OPEN,
			   "iiitii", n->job, now->last + 1 + (int64_t)i, now->attempt,
			   n->nodes[i], command, n->now_ns);
	if (r < 0)
		return r;
	return db_changes(s->db) == 1 ? 0 : STORE_STEPS_NOT_ITS_NODE;
}

/* Their rows, and the command once. */
static int check_room(struct store *s, const struct store_steps_new *n, struct err *err)
{
	int64_t room = 0, rows = (int64_t)n->n_nodes * STORE_STEP_BYTES;
	int r = store_stored_room(s, n->job, &room, err);

	if (r < 0)
		return r;
	return (int64_t)strlen(n->spec) + rows <= room ? 0 : STORE_STEPS_TOO_MUCH;
}

static int add_all(struct store *s, const struct store_steps_new *n, int64_t *ret_first,
		   struct err *err)
{
	struct now now = { 0 };
	int r = load_now(s, n->job, &now, err);

	if (r == 0 && now.last + (int64_t)n->n_nodes > STORE_STEPS_MAX)
		r = STORE_STEPS_TOO_MANY;
	if (r == 0 && now.n_open + (int64_t)n->n_nodes > STORE_STEPS_OPEN_MAX)
		r = STORE_STEPS_TOO_OPEN;
	if (r == 0)
		r = check_room(s, n, err);
	if (r == 0)
		r = store_stored_add(s, n->job, (int64_t)n->n_nodes * STORE_STEP_BYTES, err);
	*ret_first = now.last + 1;
	for (size_t i = 0; i < n->n_nodes && r == 0; i++) {
		r = add_one(s, n, &now, i, err);
		if (r == STORE_STEPS_NOT_ITS_NODE)
			*ret_first = (int64_t)i;
	}
	return r;
}

int store_steps_add(struct store *s, const struct store_steps_new *n, int64_t *ret_first,
		    struct err *err)
{
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	r = add_all(s, n, ret_first, err);
	if (r == 0)
		return db_commit(s->db, err);
	db_rollback(s->db);
	return r;
}

/* --- reading --- */

int store_steps_nodes(struct store *s, int64_t job, char **ret, struct err *err)
{
	_cleanup_free_ char *names = strdup("");
	struct db_row *st;
	int r = names ? db_query(
				s->db, err, &st,
				"SELECT p.node FROM jobs j JOIN placements p"
				" ON p.job = j.job AND p.attempt = j.attempt AND p.closed = " SQL_STORE_OPEN
				" WHERE j.job = ?1 ORDER BY p.part",
				"i", job)
		      : err_set(err, -ENOMEM, "out of memory");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		char *more = NULL;

		if (asprintf(&more, "%s%s%s", names, *names ? "," : "", store_text(st, 0)) <
		    0) {
			db_done(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
		free(names);
		names = more;
	}
	if (r >= 0)
		*ret = TAKE_PTR(names);
	return r;
}

/* clang-format off */
#define STEP_COLUMNS(X) \
	X(STEP_JOB,         "t.job") \
	X(STEP_STEP,        ", t.step") \
	X(STEP_ATTEMPT,     ", t.attempt") \
	X(STEP_NODE,        ", t.node") \
	X(STEP_STATE,       ", t.state") \
	X(STEP_WANT,        ", t.want") \
	X(STEP_EXIT_STATUS, ", t.exit_status") \
	X(STEP_SIGNAL,      ", t.signal") \
	X(STEP_TEXT,        ", t.text")
/* clang-format on */
enum { STEP_COLUMNS(SQL_NAME) };
#define STEP_SELECT "SELECT " STEP_COLUMNS(SQL_COLUMN)

static int pass_steps(struct store *s, struct db_row *st, store_step_fn fn, void *ctx,
		      struct err *err)
{
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_step t = {
			.job = db_int(st, STEP_JOB),
			.step = db_int(st, STEP_STEP),
			.attempt = (int32_t)db_int(st, STEP_ATTEMPT),
			.node = store_text(st, STEP_NODE),
			.state = (enum store_step_state)(int)db_int(st, STEP_STATE),
			.is_cancelled = db_int(st, STEP_WANT) != 0,
			.exit_status = db_is_null(st, STEP_EXIT_STATUS)
					       ? -1
					       : (int)db_int(st, STEP_EXIT_STATUS),
			.signal = (int)db_int(st, STEP_SIGNAL),
			.text = store_text(st, STEP_TEXT),
		};

		r = fn(ctx, &t, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_steps(struct store *s, struct store_steps_range range, store_step_fn fn, void *ctx,
		struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 STEP_SELECT " FROM steps t WHERE t.job = ?1 AND t.step > ?2"
				     " ORDER BY t.step LIMIT ?3",
			 "iii", range.job, range.after, range.limit);

	return r < 0 ? r : pass_steps(s, st, fn, ctx, err);
}

/* 1: some step is open somewhere. Each exchange with each node asks, most sites have no step most of the time, and this program alone makes
 * steps: that there is none is remembered until one is made, or a transaction in which the last one ended is rolled back. */
static int are_open(struct store *s, struct err *err)
{
	int r = s->has_no_steps ? 0
				: db_has_row(s->db, err,
					     "SELECT 1 FROM steps WHERE node >= ''"
					     " AND state < " SQL_STORE_STEP_ENDED " LIMIT 1",
					     "");

	s->has_no_steps = r == 0;
	return r;
}

int store_steps_open(struct store *s, const char *node, store_step_fn fn, void *ctx,
		     struct err *err)
{
	struct db_row *st;
	int r = are_open(s, err);

	if (r <= 0)
		return r;
	r = db_query(s->db, err, &st,
		     STEP_SELECT
		     " FROM steps t WHERE t.node = ?1 AND t.state < " SQL_STORE_STEP_ENDED
		     " ORDER BY t.job, t.step",
		     "t", node);

	return r < 0 ? r : pass_steps(s, st, fn, ctx, err);
}

int store_steps_spec(struct store *s, int64_t job, int64_t step, char **ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT COALESCE((SELECT x.text FROM texts x WHERE x.id = t.command),"
		" t.spec) FROM steps t WHERE t.job = ?1 AND t.step = ?2",
		"ii", job, step);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no step %lld of job %lld", (long long)step,
			       (long long)job);
	*ret = strdup(store_text(st, 0));
	db_done(st);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* --- cancelling --- */

struct found {
	char *node;
	enum store_step_state state;
};

static int keep_found(void *ctx, const struct store_step *t, struct err *err)
{
	struct found *f = ctx;

	(void)err;
	f->state = t->state;
	snprintf(f->node, REQUEST_NAME_MAX, "%s", t->node);
	return 0;
}

int store_steps_cancel(struct store *s, int64_t job, int64_t step,
		       char ret_node[REQUEST_NAME_MAX], struct err *err)
{
	struct found f = { ret_node, STORE_STEP_ENDED };
	int r;

	*ret_node = '\0';
	r = store_steps(s, (struct store_steps_range){ job, step - 1, 1 }, keep_found, &f, err);
	if (r < 0)
		return r;
	r = db_run(s->db, err,
		   "UPDATE steps SET want = " SQL_STORE_STEP_CANCEL
		   " WHERE job = ?1 AND step = ?2 AND state < " SQL_STORE_STEP_ENDED,
		   "ii", job, step);
	if (r < 0)
		return r;
	if (!*ret_node)
		return err_set(err, -ENOENT, "job %lld has no step %lld", (long long)job,
			       (long long)step);
	return f.state == STORE_STEP_ENDED ? STORE_TOO_LATE : 0;
}

/* --- what the node says --- */

static int acknowledge_step(struct sync_result *out, struct sync_step_id ack, struct err *err)
{
	struct sync_step_id *more =
		realloc(out->step_acks, (out->n_step_acks + 1) * sizeof(*more));

	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	out->step_acks = more;
	more[out->n_step_acks++] = ack;
	return 0;
}

static int end_one(struct store *s, const struct sync_step *t, int64_t now_ns, struct err *err)
{
	return db_run_ints(s->db,
			   "UPDATE steps SET state = " SQL_STORE_STEP_ENDED
			   ", ended_ns = ?3, exit_status = ?4,"
			   " signal = ?5 WHERE job = ?1 AND step = ?2",
			   &(struct db_ints){ (int64_t[]){ t->id.job, t->id.step, now_ns,
							   t->exit_status, t->signal },
					      5, -1 },
			   err);
}

static int write_text(struct store *s, const struct sync_step *t, struct err *err)
{
	if (!t->text)
		return 0;
	return db_run(s->db, err, "UPDATE steps SET text = ?3 WHERE job = ?1 AND step = ?2",
		      "iit", t->id.job, t->id.step, t->text);
}

enum ingested_column { INGESTED_STATE, INGESTED_MISSING_NS };

/* A step that is unknown here, is of another node, or has ended is passed over. */
static int ingest_step(struct store *s, const struct sync *in, const struct sync_step *t,
		       int64_t now_ns, struct err *err)
{
	struct db_row *st;
	enum store_step_state was;
	bool was_missing;
	int r = db_query_first(s->db, err, &st,
			       "SELECT state, missing_ns FROM steps"
			       " WHERE job = ?1 AND step = ?2 AND attempt = ?3 AND node = ?4",
			       "iiit", t->id.job, t->id.step, (int64_t)t->id.attempt, in->node);

	if (r <= 0)
		return r;
	was = (enum store_step_state)(int)db_int(st, INGESTED_STATE);
	was_missing = db_int(st, INGESTED_MISSING_NS) != 0;
	db_done(st);
	if (was == STORE_STEP_ENDED)
		return 0;
	if (!t->has_ended && was == STORE_STEP_RUNS && !was_missing)
		return 0;
	if (!t->has_ended)
		return db_run(s->db, err,
			      "UPDATE steps SET state = " SQL_STORE_STEP_RUNS ", missing_ns = 0"
			      " WHERE job = ?1 AND step = ?2",
			      "ii", t->id.job, t->id.step);
	r = end_one(s, t, now_ns, err);
	return r < 0 ? r : write_text(s, t, err);
}

static bool is_listed(const struct sync *in, const struct sync_step_id *key)
{
	return in->n_steps &&
	       bsearch(key, in->steps, in->n_steps, sizeof(*in->steps), sync_step_compare);
}

struct missing {
	struct sync_step_id id;
	int64_t since_ns;
};

enum running_column { RUNNING_JOB, RUNNING_STEP, RUNNING_ATTEMPT, RUNNING_MISSING_NS };

/* Steps that run on the node and that it does not list. *ret malloc()ed. */
static int find_missing(struct store *s, const struct sync *in, struct missing **ret,
			size_t *ret_n, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT job, step, attempt, missing_ns FROM steps"
			 " WHERE node = ?1 AND state < " SQL_STORE_STEP_ENDED
			 " AND state = " SQL_STORE_STEP_RUNS,
			 "t", in->node);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct sync_step_id key = { .job = db_int(st, RUNNING_JOB),
					    .step = db_int(st, RUNNING_STEP),
					    .attempt = (int32_t)db_int(st, RUNNING_ATTEMPT) };
		struct missing *more;

		if (is_listed(in, &key))
			continue;
		more = realloc(*ret, (*ret_n + 1) * sizeof(*more));
		if (!more) {
			db_done(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
		*ret = more;
		more[(*ret_n)++] = (struct missing){ key, db_int(st, RUNNING_MISSING_NS) };
	}
	return r;
}

static int handle_missing(struct store *s, const struct missing *m, int64_t now_ns,
			  struct sync_result *out, struct err *err)
{
	int r;

	if (m->since_ns && now_ns - m->since_ns < MISSING_GRACE_NS)
		return 0;
	if (!m->since_ns)
		return db_run(s->db, err,
			      "UPDATE steps SET missing_ns = ?3 WHERE job = ?1 AND step = ?2",
			      "iii", m->id.job, m->id.step, now_ns);
	r = db_run(s->db, err,
		   "UPDATE steps SET state = " SQL_STORE_STEP_ENDED ", ended_ns = ?3,"
		   " text = 'its node no longer knows it'"
		   " WHERE job = ?1 AND step = ?2",
		   "iii", m->id.job, m->id.step, now_ns);
	return r < 0 ? r : acknowledge_step(out, m->id, err);
}

int store_steps_take(struct store *s, const struct sync *in, int64_t now_ns,
		     struct sync_result *out, struct err *err)
{
	_cleanup_free_ struct missing *missing = NULL;
	size_t n_missing = 0;
	int r = in->n_steps ? 1 : are_open(s, err);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < in->n_steps && r >= 0; i++) {
		const struct sync_step *t = &in->steps[i];

		r = ingest_step(s, in, t, now_ns, err);
		if (r >= 0 && t->has_ended)
			r = acknowledge_step(out, t->id, err);
	}
	if (r >= 0)
		r = find_missing(s, in, &missing, &n_missing, err);
	for (size_t i = 0; i < n_missing && r >= 0; i++)
		r = handle_missing(s, &missing[i], now_ns, out, err);
	return r;
}

int store_steps_close(struct store *s, int64_t job, int64_t now_ns, struct err *err)
{
	return db_run(
		s->db, err,
		"UPDATE steps SET state = " SQL_STORE_STEP_ENDED
		", ended_ns = ?2, text = 'the job ended'"
		" WHERE job = ?1 AND state < " SQL_STORE_STEP_ENDED " AND NOT EXISTS("
		"SELECT 1 FROM placements p WHERE p.job = ?1 AND"
		" p.attempt = steps.attempt AND p.node = steps.node AND p.closed = " SQL_STORE_OPEN
		")",
		"ii", job, now_ns);
}
