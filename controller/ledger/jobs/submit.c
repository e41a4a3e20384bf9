/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submit.c - stores submitted jobs, one or many in a transaction, and counts what is queued. See
 * store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/sql.h"

/* jobs.withheld of a new job; a hold is added by store_hold_add(). */
static int64_t withheld_of(const struct store_new *n)
{
	int64_t bits = 0;

	if (n->n_targets > 0)
		bits |= STORE_DEPENDS;
	if (n->request->array.n > 0)
		bits |= STORE_IS_ARRAY;
	return bits;
}

static int64_t start_by_ns(const struct store_new *n)
{
	const struct request *q = n->request;

	if (!q->is_immediate)
		return 0;
	return q->immediate_s ? n->now_ns + q->immediate_s * S_NS : STORE_START_NOW;
}

static int insert_job(struct store *s, const struct store_new *n, int64_t job,
		      const char *request, struct err *err)
{
	const struct request *q = n->request;
	const struct resources *r = &q->res;
	const struct fraction *b = n->terms.bundle.side;
	char chunks[SELECT_TEXT_MAX];

	return db_run(
		s->db, err,
		"INSERT INTO jobs(state, uid, user, account, cluster, queue, name,"
		" ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
		" submitted_ns, pool, decided_by, rate_num, rate_den,"
		" bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,"
		" bundle_memory_num, bundle_memory_den, request, unit, rule, exclusive,"
		" gpu_model, job, withheld, node_type, features, chunks, scattered, summed,"
		" qos, start_by_ns)"
		" VALUES(" SQL_JOB_QUEUED
		", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
		" ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27,"
		" ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37)",
		"ittttt"
		"iiiiii"
		"iiiii"
		"iiiiii"
		"titit"
		"iitt"
		"tiiti",
		(int64_t)q->uid, q->user, q->account, q->cluster, q->queue, q->name, r->ncpus,
		r->vmem_bytes, r->mem_bytes, r->jobfs_bytes, r->walltime_s, r->ngpus, n->now_ns,
		(int64_t)n->pool, (int64_t)n->decided_by, n->terms.rate.num, n->terms.rate.den,
		b[CHARGE_GPUS].num, b[CHARGE_GPUS].den, b[CHARGE_CORES].num,
		b[CHARGE_CORES].den, b[CHARGE_MEMORY].num, b[CHARGE_MEMORY].den, request,
		(int64_t)n->unit, n->rule ? n->rule : "", (int64_t)n->is_exclusive,
		r->gpu_model, job, withheld_of(n), r->node_type, r->features,
		select_format(&q->select, r->gpu_model, chunks),
		(int64_t)q->select.is_scattered, (int64_t)n->terms.bundle.is_sum, q->qos,
		start_by_ns(n));
}

/* The rows of other tables that belong to the job. */
static int insert_rest(struct store *s, const struct store_new *n, int64_t job, struct err *err)
{
	const struct request *q = n->request;
	const struct store_event e = { n->now_ns, job, NULL, "submit", q->user };
	const struct store_hold hold = { job, n->now_ns, STORE_HOLD_USER, q->user };
	int r = store_event(s, &e, err);

	if (r >= 0 && q->array.n > 0)
		r = store_array_add(s, job, &q->array, err);
	if (r >= 0)
		r = store_depends_add(s, job, n, err);
	if (r >= 0 && q->is_held)
		r = store_hold_add(s, &hold, err);
	if (r >= 0 && n->credential)
		r = store_credential_add(s, job, n->credential, err);
	return r;
}

/* Moves a large member of the request's document to a text of its own. *ret: the text's id; 0: it was
 * absent, or small enough to stay. */
static int extract_piece(struct store *s, json_t *doc, const char *key, int64_t *ret,
			 struct err *err)
{
	const char *user = json_string_value(json_object_get(doc, "user"));
	json_t *piece = json_object_get(doc, key);
	_cleanup_free_ char *text = NULL, *member = NULL;

	*ret = 0;
	if (!piece || !user)
		return 0;
	text = wire_print(piece, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text || asprintf(&member, ",\"%s\":%s", key, text) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (strlen(member) < STORE_TEXT_LARGE)
		return 0;
	json_object_del(doc, key);
	return store_text_take(s, user, member, ret, err);
}

/* The request as it is stored: the ids of its texts, and the rest (jobs/texts.h). */
struct pieces {
	char *rest;
	int64_t env, script;
};

/* Where a text was moved out, `rest` ends without its closing bracket: STORE_REQUEST appends the texts
 * and the bracket. */
static int split_request(struct store *s, const struct request *q, struct pieces *ret,
			 struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_request(q);
	int r = doc ? extract_piece(s, doc, "env", &ret->env, err)
		    : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = extract_piece(s, doc, "script", &ret->script, err);
	if (r < 0)
		return r;
	ret->rest = wire_format(doc);
	if (!ret->rest)
		return err_set(err, -ENOMEM, "out of memory");
	if (ret->env || ret->script)
		ret->rest[strlen(ret->rest) - 1] = '\0';
	return 0;
}

static int insert_pieces(struct store *s, const struct pieces *p, int64_t job, struct err *err)
{
	if (!p->env && !p->script)
		return 0;
	return db_run(s->db, err, "UPDATE jobs SET env = ?2, script = ?3 WHERE job = ?1", "iii",
		      job, p->env, p->script);
}

int store_submit_numbered(struct store *s, const struct store_new *n, int64_t job,
			  struct err *err)
{
	struct pieces p = { 0 };
	int r = split_request(s, n->request, &p, err);

	if (r >= 0)
		r = insert_job(s, n, job, p.rest, err);
	free(p.rest);
	if (r >= 0)
		r = insert_pieces(s, &p, job, err);
	if (r >= 0)
		r = insert_rest(s, n, job, err);
	if (r < 0)
		return r;
	store_announce_job(s, job);
	return 0;
}

int store_submit_one(struct store *s, const struct store_new *n, int64_t *ret_job,
		     struct err *err)
{
	int64_t job;
	int r = store_new_numbers(s, &job, err);

	if (r >= 0)
		r = store_submit_numbered(s, n, job, err);
	if (r < 0)
		return r;
	*ret_job = job;
	return 0;
}

int store_begin(struct store *s, struct err *err)
{
	return db_begin(s->db, err);
}

int store_commit(struct store *s, struct err *err)
{
	return db_commit(s->db, err);
}

void store_rollback(struct store *s)
{
	db_rollback(s->db);
}

/* An array counts by its tasks: those with a row, and those without. "state < ENDED" says nothing
 * new, but the planner takes the index of active jobs only where it is spelled out. */
#define QUEUED(column)                                                                         \
	"SELECT (SELECT COUNT(*) FROM jobs WHERE state = " SQL_JOB_QUEUED                      \
	" AND state < " SQL_JOB_ENDED " AND (withheld & " SQL_STORE_IS_ARRAY ") = 0"           \
	" AND " column " = ?1)"                                                                \
	" + CAST((SELECT COALESCE(SUM(r.n_waiting), 0) FROM arrays r CROSS JOIN jobs j"        \
	" ON j.job = r.job WHERE r.is_open = 1 AND j." column " = ?1) AS BIGINT)"

int store_queued(struct store *s, enum store_queued_by by, const char *name, int64_t *ret,
		 struct err *err)
{
	static const char of_user[] = QUEUED("user"), of_account[] = QUEUED("account");
	int r = db_query_int(s->db, err, ret, by == STORE_QUEUED_BY_USER ? of_user : of_account,
			     "t", name);

	return r < 0 ? r : 0;
}
