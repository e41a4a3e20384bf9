/* spool.c - see spool.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "agent/report/spool.h"
#include "common/err.h"
#include "common/wire/wire.h"

#define NS_PER_MS 1000000

struct spool {
	struct db *db;
	int64_t max_bytes, dropped;
	int64_t last_job, last_attempt; /* where spool_fill() stopped */
};

int spool_open(struct db *db, int64_t max_bytes, struct spool **ret, struct err *err)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	*s = (struct spool){ .db = db, .max_bytes = max_bytes };
	*ret = s;
	return 0;
}

struct spool *spool_close(struct spool *s)
{
	free(s);
	return NULL;
}

/* A savepoint is a transaction of its own, or a part of the one the caller has begun. */
int spool_begin(struct spool *s, struct err *err)
{
	return db_run(s->db, err, "SAVEPOINT spool", "");
}

int spool_commit(struct spool *s, struct err *err)
{
	int r = db_run(s->db, err, "RELEASE spool", "");

	if (r < 0)
		spool_rollback(s);
	return r;
}

void spool_rollback(struct spool *s)
{
	if (db_run(s->db, NULL, "ROLLBACK TO spool", "") >= 0)
		db_run(s->db, NULL, "RELEASE spool", "");
}

struct row {
	int64_t seq;
	bool final, body;
};

/* 1: *ret is what is kept of the attempt; 0: nothing. */
static int find(struct spool *s, int64_t job, int32_t attempt, struct row *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT seq, final, body IS NOT NULL FROM outbox "
			 "WHERE job = ? AND attempt = ?",
			 "ii", job, (int64_t)attempt);

	*ret = (struct row){ 0 };
	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r;
	*ret = (struct row){ db_int(st, 0), db_int(st, 1), db_int(st, 2) };
	db_done(st);
	return 1;
}

static int write_row(struct spool *s, const struct report *r, struct err *err)
{
	_cleanup_json_ json_t *j = wire_encode_report(r);
	_cleanup_free_ char *body = j ? wire_format(j) : NULL;

	if (!body)
		return err_set(err, -ENOMEM,
			       "the report of job %" PRId64
			       " cannot be written down (out of memory)",
			       r->job);
	return db_run(
		s->db, err,
		"INSERT INTO outbox (job, attempt, seq, at_ns, final, body, bytes) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (job, attempt) DO UPDATE "
		"SET seq = ?3, at_ns = ?4, final = ?5, body = ?6, bytes = ?7",
		"iiiiiti", r->job, (int64_t)r->attempt, r->seq, r->at_ns,
		(int64_t)(r->state == JOB_ENDED), body, (int64_t)strlen(body));
}

static int totals(struct spool *s, struct spool_status *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, "SELECT reports, final, bytes FROM outbox_total", "");

	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r < 0 ? r : err_set(err, -EBADMSG, "the spool has no totals");
	ret->reports = db_int(st, 0);
	ret->final = db_int(st, 1);
	ret->bytes = db_int(st, 2);
	db_done(st);
	return 0;
}

/* Lets the oldest interim reports go until the bound is kept. The rows stay: they carry seq.
 * Returns how many went. */
static int make_room(struct spool *s, struct err *err)
{
	struct spool_status now = { 0 };
	int n = 0, r;

	for (;;) {
		r = totals(s, &now, err);
		if (r < 0)
			return r;
		if (now.bytes <= s->max_bytes || now.reports == now.final)
			return n;
		r = db_run(
			s->db, err,
			"UPDATE outbox SET body = NULL, bytes = 0 WHERE (job, attempt) = "
			"(SELECT job, attempt FROM outbox WHERE final = 0 AND body IS NOT NULL "
			"ORDER BY at_ns LIMIT 1)",
			"");
		if (r < 0)
			return r;
		n++;
	}
}

/* The clock is the floor of seq, so that it grows even when the store was lost. */
static int64_t next_seq(int64_t last, int64_t at_ns)
{
	return last + 1 > at_ns / NS_PER_MS ? last + 1 : at_ns / NS_PER_MS;
}

static int put(struct spool *s, struct report *r, struct err *err)
{
	struct row old;
	int rc = find(s, r->job, r->attempt, &old, err);

	if (rc < 0)
		return rc;
	if (old.final)
		return err_set(err, -EALREADY, "job %" PRId64 " has its final report already",
			       r->job);
	r->seq = next_seq(old.seq, r->at_ns);
	rc = write_row(s, r, err);
	return rc < 0 ? rc : make_room(s, err);
}

int spool_put(struct spool *s, struct report *r, struct err *err)
{
	int64_t seq = r->seq;
	int rc = spool_begin(s, err), n;

	if (rc < 0)
		return rc;
	n = put(s, r, err);
	if (n < 0)
		spool_rollback(s);
	rc = n < 0 ? n : spool_commit(s, err);
	if (rc < 0) {
		r->seq = seq;
		return rc;
	}
	s->dropped += n;
	return n ? SPOOL_DROPPED : 0;
}

static int append(const char *body, json_t *to, struct err *err)
{
	json_t *j = body ? json_loads(body, 0, NULL) : NULL;

	if (!j || json_array_append_new(to, j) < 0)
		return err_set(err, -ENOMEM, "a spooled report cannot be read back");
	return 0;
}

/* Up to `max` reports that the prepared query yields, noting where it stopped. */
static int fill(struct spool *s, struct db_row *st, int max, json_t *to, struct err *err)
{
	int n = 0, r = 0;

	while (n < max && (r = db_step(s->db, st, err)) > 0) {
		r = append(db_text(st, 2), to, err);
		if (r < 0)
			break;
		s->last_job = db_int(st, 0);
		s->last_attempt = db_int(st, 1);
		n++;
	}
	db_done(st);
	return r < 0 ? r : n;
}

int spool_fill(struct spool *s, int max, json_t *to, struct err *err)
{
	int64_t job = s->last_job, attempt = s->last_attempt;
	struct db_row *st;
	int n, r;

	r = db_query(s->db, err, &st,
		     "SELECT job, attempt, body FROM outbox WHERE body IS NOT NULL "
		     "AND (job, attempt) > (?, ?) ORDER BY job, attempt",
		     "ii", job, attempt);
	if (r < 0)
		return r;
	n = fill(s, st, max, to, err);
	if (n < 0 || n == max)
		return n;
	r = db_query(s->db, err, &st,
		     "SELECT job, attempt, body FROM outbox WHERE body IS NOT NULL "
		     "AND (job, attempt) <= (?, ?) ORDER BY job, attempt",
		     "ii", job, attempt);
	if (r < 0)
		return r;
	r = fill(s, st, max - n, to, err);
	return r < 0 ? r : n + r;
}

int spool_ack(struct spool *s, int64_t job, int32_t attempt, int64_t seq, struct err *err)
{
	struct row row;
	int r = find(s, job, attempt, &row, err);

	if (r <= 0 || row.seq > seq || !row.body)
		return r < 0 ? r : 0;
	if (!row.final)
		return db_run(s->db, err,
			      "UPDATE outbox SET body = NULL, bytes = 0 "
			      "WHERE job = ? AND attempt = ?",
			      "ii", job, (int64_t)attempt);
	r = spool_forget(s, job, attempt, err);
	return r < 0 ? r : SPOOL_FINAL;
}

int spool_forget(struct spool *s, int64_t job, int32_t attempt, struct err *err)
{
	return db_run(s->db, err, "DELETE FROM outbox WHERE job = ? AND attempt = ?", "ii", job,
		      (int64_t)attempt);
}

int spool_owes_final(struct spool *s, int64_t job, int32_t attempt, struct err *err)
{
	struct row row;
	int r = find(s, job, attempt, &row, err);

	return r < 0 ? r : row.final && row.body;
}

static int64_t oldest(struct spool *s)
{
	struct db_row *st;
	int64_t at = 0;

	if (db_query(s->db, NULL, &st, "SELECT MIN(at_ns) FROM outbox WHERE body IS NOT NULL",
		     "") < 0)
		return 0;
	if (db_step(s->db, st, NULL) > 0)
		at = db_int(st, 0);
	db_done(st);
	return at;
}

int spool_get_status(struct spool *s, struct spool_status *ret, struct err *err)
{
	struct spool_status now = { .max_bytes = s->max_bytes, .dropped = s->dropped };
	int r = totals(s, &now, err);

	if (r < 0)
		return r;
	now.oldest_ns = oldest(s);
	*ret = now;
	return 0;
}

bool spool_is_full(struct spool *s)
{
	struct spool_status now = { 0 };

	return totals(s, &now, NULL) < 0 ||
	       (now.bytes >= s->max_bytes && now.reports == now.final);
}
