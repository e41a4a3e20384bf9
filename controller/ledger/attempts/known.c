/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known.c - reads an attempt and its job for a report or a loss. See attempts/known.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/known.h"
#include "controller/ledger/sql.h"

static struct fraction fraction_of(struct db_row *st, int column)
{
	return (struct fraction){ db_int(st, column), db_int(st, column + 1) };
}

/* clang-format off */
#define KNOWN_COLUMNS(X) \
	X(KNOWN_JOB,                 "a.job") \
	X(KNOWN_ATTEMPT,             ", a.attempt") \
	X(KNOWN_NODE,                ", a.node") \
	X(KNOWN_SEQ,                 ", a.seq") \
	X(KNOWN_CLOSED,              ", a.closed") \
	X(KNOWN_AT_NS,               ", a.at_ns") \
	X(KNOWN_GIVEN_NS,            ", a.given_ns") \
	X(KNOWN_STARTED_NS,          ", a.started_ns") \
	X(KNOWN_ENDED_NS,            ", a.ended_ns") \
	X(KNOWN_STATE,               ", a.state") \
	X(KNOWN_RUNNING_NS,          ", a.running_ns") \
	X(KNOWN_SUSPENDED_NS,        ", a.suspended_ns") \
	X(KNOWN_CHARGE_REQUESTED_MS, ", a.charge_requested_ms") \
	X(KNOWN_CHARGE_USED_MS,      ", a.charge_used_ms") \
	X(KNOWN_USAGE,               ", a.usage") \
	X(KNOWN_CLUSTER,             ", j.cluster") \
	X(KNOWN_ACCOUNT,             ", j.account") \
	X(KNOWN_USER,                ", j.user") \
	X(KNOWN_POOL,                ", j.pool") \
	X(KNOWN_JOB_ATTEMPT,             ", j.attempt") \
	X(KNOWN_JOB_STATE,           ", j.state") \
	X(KNOWN_JOB_STARTED_NS,      ", j.started_ns") \
	X(KNOWN_JOB_ENDED_NS,        ", j.ended_ns") \
	X(KNOWN_RATE_NUM,            ", COALESCE(a.rate_num, j.rate_num)") \
	X(KNOWN_RATE_DEN,            ", COALESCE(a.rate_den, j.rate_den)") \
	X(KNOWN_BUNDLE_GPUS_NUM,     ", j.bundle_gpus_num") \
	X(KNOWN_BUNDLE_GPUS_DEN,     ", j.bundle_gpus_den") \
	X(KNOWN_BUNDLE_CORES_NUM,    ", j.bundle_cores_num") \
	X(KNOWN_BUNDLE_CORES_DEN,    ", j.bundle_cores_den") \
	X(KNOWN_BUNDLE_MEMORY_NUM,   ", j.bundle_memory_num") \
	X(KNOWN_BUNDLE_MEMORY_DEN,   ", j.bundle_memory_den") \
	X(KNOWN_NCPUS,               ", j.ncpus") \
	X(KNOWN_NGPUS,               ", j.ngpus") \
	X(KNOWN_USAGE_DAY,           ", a.usage_day") \
	X(KNOWN_SLICED,              ", a.sliced") \
	X(KNOWN_QUEUE,               ", j.queue") \
	X(KNOWN_BYTES_RESERVED,      ", CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes ELSE" \
		" j.mem_bytes END") \
	X(KNOWN_IS_SEVERAL,          ", CASE WHEN a.hosts = '' THEN 0 ELSE 1 END") \
	X(KNOWN_VERDICT,             ", a.verdict") \
	X(KNOWN_SUMMED,              ", j.summed") \
	X(KNOWN_WALLTIME_S,          ", j.walltime_s") \
	X(KNOWN_ELIGIBLE_NS,         ", CASE WHEN j.eligible_ns > 0 THEN j.eligible_ns ELSE" \
		" j.submitted_ns END") \
	X(KNOWN_RAN_FROM_NS,         ", x.from_ns") \
	X(KNOWN_RAN_TO_NS,           ", x.to_ns") \
	X(KNOWN_RAN_RUNNING_NS,      ", x.running_ns") \
	X(KNOWN_RAN_EVEN,            ", x.even")
/* clang-format on */
enum { KNOWN_COLUMNS(SQL_NAME) };
/* With its last run interval, if it has any: `jobs` once more, or PostgreSQL reads all intervals where there are few. */
#define KNOWN_SELECT(jobs)                                                                     \
	"SELECT " KNOWN_COLUMNS(SQL_COLUMN) " FROM attempts a JOIN jobs j ON j.job = a.job"    \
					    " LEFT JOIN stretches x ON x.job " jobs            \
					    " AND x.job = a.job AND x.attempt = a.attempt"     \
					    " AND x.from_ns = (SELECT MAX(y.from_ns)"          \
					    " FROM stretches y WHERE y.job = a.job"            \
					    " AND y.attempt = a.attempt) WHERE a.job " jobs

static void read_terms(struct db_row *st, struct tally_terms *ret)
{
	ret->rate = fraction_of(st, KNOWN_RATE_NUM);
	ret->bundle.side[CHARGE_GPUS] = fraction_of(st, KNOWN_BUNDLE_GPUS_NUM);
	ret->bundle.side[CHARGE_CORES] = fraction_of(st, KNOWN_BUNDLE_CORES_NUM);
	ret->bundle.side[CHARGE_MEMORY] = fraction_of(st, KNOWN_BUNDLE_MEMORY_NUM);
	ret->ncpus = db_int(st, KNOWN_NCPUS);
	ret->ngpus = db_int(st, KNOWN_NGPUS);
	ret->bundle.is_sum = db_int(st, KNOWN_SUMMED) != 0;
}

static int decode_verdict(const char *text, struct job_end *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = *text ? wire_load(text, 0, NULL) : NULL;

	if (!*text)
		return 0;
	if (!doc || wire_decode_end(doc, "verdict", ret, err) < 0)
		return err_set(err, -EBADMSG, "an end in the ledger is not readable");
	return 0;
}

static void read_last(struct db_row *st, struct store_run_last *ret)
{
	*ret = (struct store_run_last){ .is_known = true,
					.is_there = !db_is_null(st, KNOWN_RAN_FROM_NS) };
	if (!ret->is_there)
		return;
	ret->from_ns = db_int(st, KNOWN_RAN_FROM_NS);
	ret->to_ns = db_int(st, KNOWN_RAN_TO_NS);
	ret->running_ns = db_int(st, KNOWN_RAN_RUNNING_NS);
	ret->is_even = db_int(st, KNOWN_RAN_EVEN) != 0;
}

/* Texts are copied: *k is good after the statement is done. */
static int read_known(struct db_row *st, struct store_known *k, struct err *err)
{
	*k = (struct store_known){ .days = { .job = db_int(st, KNOWN_JOB),
					     .attempt = (int32_t)db_int(st, KNOWN_ATTEMPT) } };
	snprintf(k->node, sizeof(k->node), "%s", store_text(st, KNOWN_NODE));
	k->seq = db_int(st, KNOWN_SEQ);
	k->closed = db_int(st, KNOWN_CLOSED);
	k->at_ns = db_int(st, KNOWN_AT_NS);
	k->given_ns = db_int(st, KNOWN_GIVEN_NS);
	k->started_ns = db_int(st, KNOWN_STARTED_NS);
	k->ended_ns = db_int(st, KNOWN_ENDED_NS);
	k->state = (enum job_state)(int)db_int(st, KNOWN_STATE);
	k->use.running_ns = db_int(st, KNOWN_RUNNING_NS);
	k->use.suspended_ns = db_int(st, KNOWN_SUSPENDED_NS);
	k->old_charge_requested_ms = db_int(st, KNOWN_CHARGE_REQUESTED_MS);
	k->old_charge_used_ms = db_int(st, KNOWN_CHARGE_USED_MS);
	snprintf(k->cluster, sizeof(k->cluster), "%s", store_text(st, KNOWN_CLUSTER));
	snprintf(k->account, sizeof(k->account), "%s", store_text(st, KNOWN_ACCOUNT));
	snprintf(k->user, sizeof(k->user), "%s", store_text(st, KNOWN_USER));
	k->pool = (enum charge_pool)(int)db_int(st, KNOWN_POOL);
	k->job_attempt = db_int(st, KNOWN_JOB_ATTEMPT);
	k->job_state = (enum job_state)(int)db_int(st, KNOWN_JOB_STATE);
	k->job_started_ns = db_int(st, KNOWN_JOB_STARTED_NS);
	k->job_ended_ns = db_int(st, KNOWN_JOB_ENDED_NS);
	read_terms(st, &k->terms);
	k->days.usage_day = db_int(st, KNOWN_USAGE_DAY);
	k->days.is_sliced = (int)db_int(st, KNOWN_SLICED);
	snprintf(k->queue, sizeof(k->queue), "%s", store_text(st, KNOWN_QUEUE));
	k->mem_bytes = db_int(st, KNOWN_BYTES_RESERVED);
	k->walltime_s = db_int(st, KNOWN_WALLTIME_S);
	k->eligible_ns = db_int(st, KNOWN_ELIGIBLE_NS);
	k->is_several = db_int(st, KNOWN_IS_SEVERAL) != 0;
	read_last(st, &k->last);
	if (decode_verdict(store_text(st, KNOWN_VERDICT), &k->verdict, err) < 0)
		return -EBADMSG;
	return store_usage_decode(store_text(st, KNOWN_USAGE), &k->usage, err);
}

static const char one_sql[] = KNOWN_SELECT("= ?1") " AND a.attempt = ?2";

int store_known_load(struct store *s, const struct report *rep, struct store_known *k,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, one_sql, "ii", rep->job, (int64_t)rep->attempt);

	if (r <= 0)
		return r;
	r = read_known(st, k, err);
	db_done(st);
	return r < 0 ? r : 1;
}

/* The row of the statement, where one of the reports is of that attempt. */
static int read_one_of(struct db_row *st, const struct report *reports, size_t n,
		       struct store_known_some *ret, struct err *err)
{
	int64_t job = db_int(st, KNOWN_JOB), attempt = db_int(st, KNOWN_ATTEMPT);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		if (reports[i].job == job && reports[i].attempt == attempt) {
			r = read_known(st, &ret[i].known, err);
			ret[i].is_loaded = r >= 0;
		}
	return r;
}

static const char some_sql[] = KNOWN_SELECT("IN (" STORE_SOME_PARAMETERS ")");

/* The last one fills the places that are left. */
static void name_some(const struct report *reports, size_t n, int64_t ret[static STORE_SOME])
{
	for (size_t i = 0; i < STORE_SOME; i++)
		ret[i] = reports[i < n ? i : n - 1].job;
}

int store_known_ask_some(struct store *s, const struct report *reports, size_t n,
			 struct err *err)
{
	int64_t numbers[STORE_SOME];
	const struct db_ints jobs = { numbers, STORE_SOME, INT64_MIN };

	if (n == 1)
		return db_ask(s->db, err, one_sql, "ii", reports->job,
			      (int64_t)reports->attempt);
	name_some(reports, n, numbers);
	return db_ask_ints(s->db, some_sql, &jobs, err);
}

int store_known_load_some(struct store *s, const struct report *reports, size_t n,
			  struct store_known_some *ret, struct err *err)
{
	int64_t numbers[STORE_SOME];
	const struct db_ints jobs = { numbers, STORE_SOME, INT64_MIN };
	struct db_row *st;
	int r;

	if (n == 1) {
		r = store_known_load(s, reports, &ret->known, err);
		ret->is_loaded = r > 0;
		return r;
	}
	name_some(reports, n, numbers);
	for (size_t i = 0; i < n; i++)
		ret[i].is_loaded = false;
	r = db_query_ints(s->db, some_sql, &jobs, &st, err);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = read_one_of(st, reports, n, ret, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

const struct job_end *store_known_end(const struct store_known *k, const struct report *rep)
{
	return store_part_judge(&rep->end, &k->verdict);
}
