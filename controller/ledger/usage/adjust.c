/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adjust.c - checks and writes adjustments (refunds and recharges), and lists them. See
 * usage/adjust.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "controller/ledger/usage/adjust.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_write.h"

#define CHARGE_MAX (INT64_MAX / 1024) /* so that a thousand of them can be summed */

/* The association that the entry is about, and how much of the job's charge may still be refunded. */
struct target {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	int64_t pool, charged_ms; /* of the job, earlier adjustments included */
};

/* ---- the job ---- */

/* The columns of live_sql and imported_sql; load_names() reads the first three. */
enum target_column {
	TARGET_CLUSTER,
	TARGET_ACCOUNT,
	TARGET_USER,
	TARGET_POOL,
	TARGET_CHARGED_MS
};
static const char live_sql[] =
	"SELECT j.cluster, j.account, j.user, j.pool,"
	" (SELECT COALESCE(SUM(charge_requested_ms), 0) FROM attempts a WHERE a.job = j.job)"
	" FROM jobs j WHERE j.job = ?1 AND (?2 IS NULL OR j.cluster = ?2)";
static const char imported_sql[] =
	"SELECT a.cluster, a.account, a.user, i.pool, i.charge_requested_ms"
	" FROM origins o JOIN imported i ON i.id = (o.id << 40 | ?1)"
	" JOIN associations a ON a.id = i.association"
	" WHERE o.cluster = ?2 AND ?1 < 1099511627776";

static void read_names(struct db_row *st, struct target *ret)
{
	snprintf(ret->cluster, sizeof(ret->cluster), "%s", store_text(st, TARGET_CLUSTER));
	snprintf(ret->account, sizeof(ret->account), "%s", store_text(st, TARGET_ACCOUNT));
	snprintf(ret->user, sizeof(ret->user), "%s", store_text(st, TARGET_USER));
}

/* 1: found; *ret is set. */
static int find_job(struct store *s, const struct store_adjustment *a, const char *sql,
		    struct target *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, sql, "it", a->job, a->cluster);

	if (r <= 0)
		return r;
	read_names(st, ret);
	ret->pool = db_int(st, TARGET_POOL);
	ret->charged_ms = db_int(st, TARGET_CHARGED_MS);
	db_done(st);
	return 1;
}

static int add_earlier(struct store *s, int64_t job, struct target *t, struct err *err)
{
	int64_t earlier_ms = 0;
	int r = db_query_int(s->db, err, &earlier_ms,
			     "SELECT COALESCE(SUM(charge_ms), 0) FROM adjustments"
			     " WHERE cluster = ?1 AND job = ?2",
			     "ti", t->cluster, job);

	t->charged_ms += earlier_ms;
	return r < 0 ? r : 0;
}

/* Without a name given, the job's is taken. */
static int refuse_difference(const char *what, const char *given, const char *is,
			     struct err *err)
{
	if (!given || !strcmp(given, is))
		return 0;
	return err_set(err, -EINVAL, "the job's %s is %.64s, not %.64s", what, is, given);
}

/* A number may be of a job that ran here and of an imported one: then the entry is refused. */
static int load_job(struct store *s, const struct store_adjustment *a, struct target *ret,
		    struct err *err)
{
	struct target imported;
	int live = find_job(s, a, live_sql, ret, err), r;

	r = live < 0 ? live : find_job(s, a, imported_sql, &imported, err);
	if (r < 0)
		return r;
	if (live && r)
		return err_set(err, -EINVAL,
			       "job %lld of %s is one that ran here and one that was imported; "
			       "adjust its account without naming the job",
			       (long long)a->job, ret->cluster);
	if (!live && !r)
		return err_set(err, -ENOENT, "no job %lld%s%.64s", (long long)a->job,
			       a->cluster ? " of " : "; of an imported one, name the cluster",
			       a->cluster ? a->cluster : "");
	if (r)
		*ret = imported;
	r = refuse_difference("account", a->account, ret->account, err);
	if (r >= 0)
		r = refuse_difference("user", a->user, ret->user, err);
	return r < 0 ? r : add_earlier(s, a->job, ret, err);
}

/* ---- an association, without a job ---- */

static int load_names(struct store *s, const struct store_adjustment *a, struct target *ret,
		      struct err *err)
{
	struct db_row *st;
	int r;

	if (!a->cluster || !a->account || !a->user)
		return err_set(err, -EINVAL, "name the cluster, the account and the user");
	r = db_query_first(s->db, err, &st,
			   "SELECT cluster, account, user FROM associations"
			   " WHERE cluster = ?1 AND account = ?2 AND user = ?3",
			   "ttt", a->cluster, a->account, a->user);
	if (r == 0)
		return err_set(err, -ENOENT,
			       "nothing was ever charged to %.64s of %.64s on %.64s; see reeve "
			       "usage for the names",
			       a->user, a->account, a->cluster);
	if (r < 0)
		return r;
	*ret = (struct target){ .pool = (int64_t)a->pool };
	read_names(st, ret);
	db_done(st);
	return 0;
}

static int check_amount(const struct store_adjustment *a, const struct target *t,
			struct err *err)
{
	int64_t left;

	if (a->charge_ms > CHARGE_MAX || a->charge_ms < -CHARGE_MAX)
		return err_set(err, -ERANGE, "the charge is beyond what an entry can hold");
	if (!a->job)
		return 0;
	if (!__builtin_add_overflow(t->charged_ms, a->charge_ms, &left) && left >= 0)
		return 0;
	return err_set(err, -ERANGE,
		       "job %lld has a charge of %.6f left, after earlier "
		       "adjustments: no more can be refunded",
		       (long long)a->job, (double)t->charged_ms / 3600000);
}

/* Also decides the day. */
static int check_words(struct store *s, const struct store_adjustment *a, int64_t *ret_day,
		       struct err *err)
{
	int64_t today = calendar_day(s->calendar, a->at_ns);
	size_t size = a->reason ? strlen(a->reason) : 0;

	if (!a->author || !*a->author)
		return err_set(err, -EINVAL, "an adjustment needs an author");
	if (!size || strspn(a->reason, " \t\n") == size)
		return err_set(err, -EINVAL, "an adjustment needs a reason");
	if (size > STORE_REASON_MAX)
		return err_set(err, -EINVAL, "the reason is longer than %d bytes",
			       STORE_REASON_MAX);
	if (a->charge_ms == 0)
		return err_set(err, -EINVAL, "an adjustment of 0 adjusts nothing");
	*ret_day = a->day == STORE_DAY_OF_ENTRY ? today : a->day;
	if (*ret_day > today)
		return err_set(err, -EINVAL, "an adjustment cannot be of a day to come");
	return 0;
}

static int write_entry(struct store *s, struct store_adjustment *a, struct err *err)
{
	const struct rollup_key key = { a->cluster, a->account, a->user, (int64_t)a->pool,
					a->day };
	struct rollup gained = { 0 };
	int r = db_run(s->db, err,
		       "INSERT INTO adjustments(at_ns, author, reason, cluster, account, user,"
		       " pool, day, charge_ms, job)"
		       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULLIF(?10, 0))",
		       "itt"
		       "ttti"
		       "iii",
		       a->at_ns, a->author, a->reason, a->cluster, a->account, a->user,
		       (int64_t)a->pool, a->day, a->charge_ms, a->job);

	if (r < 0)
		return r;
	a->id = db_last_id(s->db);
	gained.figure[ROLLUP_ADJUSTED_MS] = a->charge_ms;
	return rollup_write(s, &key, &gained, err);
}

/* *ret points into *t from here on. */
static int adjust_target(struct store *s, const struct store_adjustment *a, struct target *t,
			 struct store_adjustment *ret, struct err *err)
{
	int r = check_words(s, a, &ret->day, err);

	if (r >= 0)
		r = a->job ? load_job(s, a, t, err) : load_names(s, a, t, err);
	if (r >= 0)
		r = check_amount(a, t, err);
	if (r < 0)
		return r;
	ret->cluster = t->cluster;
	ret->account = t->account;
	ret->user = t->user;
	ret->pool = (enum charge_pool)t->pool;
	return write_entry(s, ret, err);
}

int store_adjust(struct store *s, const struct store_adjustment *a, store_adjustment_fn fn,
		 void *ctx, struct err *err)
{
	struct store_adjustment made = *a;
	char reason[STORE_REASON_MAX + 1]; /* one line without control characters */
	struct target t;
	int r = db_begin(s->db, err);

	made.reason =
		utf8_copy(reason, sizeof(reason), a->reason ? a->reason : "", STORE_REASON_MAX);
	if (r < 0)
		return r;
	r = db_end(s->db, adjust_target(s, a, &t, &made, err), err);
	return r < 0 ? r : fn(ctx, &made, err);
}

/* clang-format off */
#define ENTRY_COLUMNS(X) \
	X(ENTRY_ID,        "id") \
	X(ENTRY_AT_NS,     ", at_ns") \
	X(ENTRY_AUTHOR,    ", author") \
	X(ENTRY_REASON,    ", reason") \
	X(ENTRY_CLUSTER,   ", cluster") \
	X(ENTRY_ACCOUNT,   ", account") \
	X(ENTRY_USER,      ", user") \
	X(ENTRY_POOL,      ", pool") \
	X(ENTRY_DAY,       ", day") \
	X(ENTRY_CHARGE_MS, ", charge_ms") \
	X(ENTRY_JOB,       ", COALESCE(job, 0)")
/* clang-format on */
enum { ENTRY_COLUMNS(SQL_NAME) };
#define ENTRY_SELECT "SELECT " ENTRY_COLUMNS(SQL_COLUMN)

/* ---- the list ---- */

int store_adjustments(struct store *s, const struct store_adjustments *which,
		      store_adjustment_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 ENTRY_SELECT
			 " FROM adjustments"
			 " WHERE (?1 IS NULL OR cluster = ?1) AND (?2 IS NULL OR account = ?2)"
			 " AND (?3 IS NULL OR user = ?3) AND (?4 = 0 OR job = ?4) ORDER BY id",
			 "ttti", which->cluster, which->account, which->user, which->job);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_adjustment a = {
			.id = db_int(st, ENTRY_ID),
			.at_ns = db_int(st, ENTRY_AT_NS),
			.author = store_text(st, ENTRY_AUTHOR),
			.reason = store_text(st, ENTRY_REASON),
			.cluster = store_text(st, ENTRY_CLUSTER),
			.account = store_text(st, ENTRY_ACCOUNT),
			.user = store_text(st, ENTRY_USER),
			.pool = (enum charge_pool)(int)db_int(st, ENTRY_POOL),
			.day = db_int(st, ENTRY_DAY),
			.charge_ms = db_int(st, ENTRY_CHARGE_MS),
			.job = db_int(st, ENTRY_JOB),
		};

		r = fn(ctx, &a, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : 0;
}
