/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spool.c - reports that the controller has not yet acknowledged; see spool.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/former.h"
#include "agent/report/sent.h"
#include "agent/report/spool.h"
#include "agent/report/state.h"
#include "agent/report/unsaved.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"

#define PRUNE_EACH 1000 /* final reports */

struct spool {
	struct db *db;
	int64_t max_bytes, dropped;
	int64_t last_job, last_attempt; /* where spool_fill() stopped */
	struct unsaved *unsaved;	/* the next to be sent first */
	char ledger[SYNC_LEDGER_MAX];	/* of the last answer; "": none yet */
	int64_t restored_ns;
	int n_kept;	 /* since sent_prune() */
	bool has_former; /* former.h has one, or cannot be read */
};

/* ---- the ledger ---- */

/* The setting "ledger": "ID RESTORED_NS". One that cannot be read counts as none: the next answer sets it. */
static void load_ledger(struct spool *s)
{
	char text[SYNC_LEDGER_MAX + 24], *end;

	if (state_get(s->db, "ledger", text, sizeof(text), NULL) < 0)
		return;
	end = strchr(text, ' ');
	if (!end || end - text >= SYNC_LEDGER_MAX)
		return;
	memcpy(s->ledger, text, (size_t)(end - text));
	s->restored_ns = strtoll(end + 1, NULL, 10);
}

static int write_ledger(struct spool *s, const char *id, int64_t restored_ns, struct err *err)
{
	char text[SYNC_LEDGER_MAX + 24];
	int r = spool_flush(s, err);

	if (r < 0)
		return r;
	/* Of another ledger nothing is known here. */
	if (strcmp(id, s->ledger) == 0)
		r = sent_repeat_all(s->db, err);
	else
		r = sent_forget_all(s->db, err);
	snprintf(text, sizeof(text), "%.*s %" PRId64, SYNC_LEDGER_MAX - 1, id, restored_ns);
	return r < 0 ? r : state_set(s->db, "ledger", text, err);
}

int spool_set_ledger(struct spool *s, const char *id, int64_t restored_ns, struct err *err)
{
	int r;

	if (!*id || (strcmp(id, s->ledger) == 0 && restored_ns == s->restored_ns))
		return 0;
	r = spool_begin(s, err);
	if (r < 0)
		return r;
	r = write_ledger(s, id, restored_ns, err);
	if (r < 0)
		spool_rollback(s);
	else
		r = spool_commit(s, err);
	if (r < 0)
		return r;
	snprintf(s->ledger, sizeof(s->ledger), "%s", id);
	s->restored_ns = restored_ns;
	return 0;
}

void spool_name_ledger(struct spool *s, int max, char ret[static SYNC_LEDGER_MAX],
		       int64_t *ret_restored_ns)
{
	struct spool_status now = { 0 };
	/* spool_fill() gives those in memory half of the room, and holds those of later runs back. */
	bool is_all = !s->has_former && spool_get_status(s, &now, NULL) >= 0 &&
		      now.reports + 2 * now.unsaved <= max;

	snprintf(ret, SYNC_LEDGER_MAX, "%s", s->ledger);
	*ret_restored_ns = is_all ? s->restored_ns : 0;
}

int spool_repeat(struct spool *s, int64_t job, int32_t attempt, struct err *err)
{
	if (unsaved_find(s->unsaved, job, attempt) && spool_flush(s, err) < 0)
		return -EIO;
	return *s->ledger ? sent_repeat(s->db, job, attempt, err) : 0;
}

/* Before the row of a final report goes, or where there was none. */
static int keep_sent(struct spool *s, const struct unsaved *u, struct err *err)
{
	const struct sent_report sent = { u->job, u->seq, u->at_ns, u->attempt, u->acked };
	int r = !*s->ledger ? 0
		: u->acked  ? sent_keep_body(s->db, &sent, err)
			    : sent_keep(s->db, u->job, u->attempt, err);

	if (r < 0 || ++s->n_kept < PRUNE_EACH)
		return r;
	s->n_kept = 0;
	return sent_prune(s->db, err);
}

static void look_for_former(struct spool *s)
{
	struct former_totals n;

	s->has_former = former_count(s->db, &n, NULL) < 0 || n.reports;
}

/* What is kept of the attempt is of its next run, and waits. */
static bool is_held(struct spool *s, int64_t job, int32_t attempt)
{
	return s->has_former && former_has(s->db, job, attempt, NULL) != 0;
}

static int ack_former(struct spool *s, int64_t job, int32_t attempt, int64_t seq,
		      struct err *err)
{
	int r = s->has_former ? former_ack(s->db, job, attempt, seq, err) : 0;

	if (r > 0)
		look_for_former(s);
	return r;
}

/* ---- the store ---- */

int spool_open(struct db *db, int64_t max_bytes, struct spool **ret, struct err *err)
{
	struct spool *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	*s = (struct spool){ .db = db, .max_bytes = max_bytes, .n_kept = PRUNE_EACH };
	load_ledger(s);
	look_for_former(s);
	*ret = s;
	return 0;
}

void spool_set_max(struct spool *s, int64_t max_bytes)
{
	s->max_bytes = max_bytes;
}

struct spool *spool_close(struct spool *s)
{
	while (s && s->unsaved)
		unsaved_remove(&s->unsaved, s->unsaved);
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
	/* Where even that fails, nothing may stay open: all that comes later would be part of it. */
	if (db_run(s->db, NULL, "ROLLBACK TO spool", "") < 0 ||
	    db_run(s->db, NULL, "RELEASE spool", "") < 0)
		db_rollback(s->db);
}

/* A commit that is synced without need is no harm; one that should be and cannot fails (db_begin()). */
void spool_lazy(struct spool *s, bool is_lazy)
{
	db_lazy(s->db, is_lazy, NULL);
}

struct row {
	int64_t seq, bytes;
	bool final, has_body;
};

/* 1: *ret is what is kept of the attempt; 0: nothing. */
static int find_report(struct spool *s, int64_t job, int32_t attempt, struct row *ret,
		       struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT seq, final, body IS NOT NULL, bytes FROM outbox "
			       "WHERE job = ? AND attempt = ?",
			       "ii", job, (int64_t)attempt);

	*ret = (struct row){ 0 };
	if (r <= 0)
		return r;
	*ret = (struct row){ .seq = db_int(st, 0),
			     .bytes = db_int(st, 3),
			     .final = db_int(st, 1),
			     .has_body = db_int(st, 2) };
	db_done(st);
	return 1;
}

static char *encode_report(const struct report *r, struct err *err)
{
	_cleanup_json_ json_t *j = wire_encode_report(r);
	char *body = j ? wire_format(j) : NULL;

	if (!body)
		err_set(err, -ENOMEM,
			"the report of job %" PRId64 " cannot be written down (out of memory)",
			r->job);
	return body;
}

static int write_row(struct spool *s, const struct report *r, struct err *err)
{
	_cleanup_free_ char *body = encode_report(r, err);

	if (!body)
		return -ENOMEM;
	return db_run(
		s->db, err,
		"INSERT INTO outbox (job, attempt, seq, at_ns, final, body, bytes) "
		"VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (job, attempt) DO UPDATE "
		"SET seq = ?3, at_ns = ?4, final = ?5, body = ?6, bytes = ?7",
		"iiiiiti", r->job, (int64_t)r->attempt, r->seq, r->at_ns,
		(int64_t)(r->state == JOB_ENDED), body, (int64_t)strlen(body));
}

static int read_totals(struct spool *s, struct spool_status *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT reports, final, bytes FROM outbox_total", "");

	if (r <= 0)
		return r < 0 ? r : err_set(err, -EBADMSG, "the spool has no totals");
	ret->reports = db_int(st, 0);
	ret->final = db_int(st, 1);
	ret->bytes = db_int(st, 2);
	db_done(st);
	return 0;
}

/* Drops the oldest interim reports until the bound is kept; their rows, which have seq, stay. Returns how many. */
static int make_room(struct spool *s, struct err *err)
{
	struct spool_status now = { 0 };
	int n = 0, r;

	while ((r = read_totals(s, &now, err)) >= 0 && now.bytes > s->max_bytes &&
	       now.reports != now.final) {
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
	return r < 0 ? r : n;
}

/* At least the time in ms, so that seq grows also when the store was lost. */
static int64_t next_seq(int64_t last, int64_t at_ns)
{
	return last + 1 > at_ns / MS_NS ? last + 1 : at_ns / MS_NS;
}

static int put_report(struct spool *s, struct report *r, struct err *err)
{
	struct row old;
	int rc = find_report(s, r->job, r->attempt, &old, err);

	if (rc < 0)
		return rc;
	if (old.final)
		return err_set(err, -EALREADY, "job %" PRId64 " has its final report already",
			       r->job);
	r->seq = next_seq(old.seq > r->seq ? old.seq : r->seq, r->at_ns);
	rc = write_row(s, r, err);
	return rc < 0 ? rc : make_room(s, err);
}

int spool_put(struct spool *s, struct report *r, struct err *err)
{
	int64_t seq = r->seq;
	int rc = spool_begin(s, err), n;

	if (rc < 0)
		return rc;
	n = put_report(s, r, err);
	if (n < 0)
		spool_rollback(s);
	rc = n < 0 ? n : spool_commit(s, err);
	if (rc < 0) {
		r->seq = seq;
		return rc;
	}
	s->dropped += n;
	unsaved_remove(&s->unsaved, unsaved_find(s->unsaved, r->job, r->attempt));
	return n ? SPOOL_DROPPED : 0;
}

int spool_put_unsaved(struct spool *s, struct report *r, struct err *err)
{
	struct unsaved *u = unsaved_find(s->unsaved, r->job, r->attempt);
	int64_t seq = r->seq;
	char *body;

	if (u && u->final)
		return 0; /* it is kept, or acknowledged, already */
	if (u && u->seq > r->seq)
		r->seq = u->seq;
	r->seq = next_seq(r->seq, r->at_ns);
	body = encode_report(r, err);
	u = body ? unsaved_add(&s->unsaved, r->job, r->attempt) : NULL;
	if (!u) {
		free(body);
		r->seq = seq;
		return err_set(err, -ENOMEM, "out of memory");
	}
	free(u->body);
	u->body = body;
	u->seq = r->seq;
	u->at_ns = r->at_ns;
	u->final = r->state == JOB_ENDED;
	return 0;
}

static int flush_one(struct spool *s, const struct unsaved *u, struct err *err)
{
	if (!u->final)
		return db_run(s->db, err,
			      "UPDATE outbox SET body = NULL, bytes = 0, seq = MAX(seq, ?3) "
			      "WHERE job = ?1 AND attempt = ?2",
			      "iii", u->job, (int64_t)u->attempt, u->seq);
	/* Without room for that it is acknowledged all the same. */
	if (u->acked_bytes || u->acked)
		(void)keep_sent(s, u, NULL);
	return db_run(s->db, err, "DELETE FROM outbox WHERE job = ? AND attempt = ?", "ii",
		      u->job, (int64_t)u->attempt);
}

static bool has_to_flush(const struct spool *s)
{
	for (const struct unsaved *u = s->unsaved; u; u = u->next)
		if (!u->body)
			return true;
	return false;
}

static void remove_flushed(struct spool *s)
{
	for (struct unsaved *u = s->unsaved, *next; u; u = next) {
		next = u->next;
		if (!u->body)
			unsaved_remove(&s->unsaved, u);
	}
}

int spool_flush(struct spool *s, struct err *err)
{
	int r;

	if (!has_to_flush(s))
		return 0;
	r = spool_begin(s, err);
	if (r < 0)
		return r;
	for (const struct unsaved *u = s->unsaved; u && r >= 0; u = u->next)
		r = u->body ? 0 : flush_one(s, u, err);
	if (r < 0)
		spool_rollback(s);
	else
		r = spool_commit(s, err);
	if (r >= 0)
		remove_flushed(s);
	return r < 0 ? r : 0;
}

static int append_report(const char *body, json_t *to)
{
	json_t *j = body ? wire_load(body, 0, NULL) : NULL;

	return j ? json_array_append_new(to, j) : -1;
}

/* The longest-waiting first; each that was sent moves to the end of the list. */
static int fill_unsaved(struct spool *s, int max, json_t *to)
{
	struct unsaved *last = s->unsaved, *u;
	int n = 0;

	while (last && last->next)
		last = last->next;
	while (last && n < max) {
		u = s->unsaved;
		unsaved_add(&s->unsaved, u->job, u->attempt);
		if (u->body && !is_held(s, u->job, u->attempt) &&
		    append_report(u->body, to) == 0)
			n++;
		if (u == last)
			break;
	}
	return n;
}

/* Up to `max` reports that the prepared query yields, noting where it stopped. One that cannot
 * be read back holds up no other. */
static int append_rows(struct spool *s, struct db_row *st, int max, json_t *to, struct err *err)
{
	int n = 0, r = 0;

	while (n < max && (r = db_step(s->db, st, err)) > 0) {
		s->last_job = db_int(st, 0);
		s->last_attempt = db_int(st, 1);
		if (!unsaved_find(s->unsaved, s->last_job, (int32_t)s->last_attempt) &&
		    !is_held(s, s->last_job, (int32_t)s->last_attempt) &&
		    append_report(db_text(st, 2), to) == 0)
			n++;
	}
	db_done(st);
	return r < 0 ? r : n;
}

static int fill_saved(struct spool *s, int max, json_t *to, struct err *err)
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
	n = append_rows(s, st, max, to, err);
	if (n < 0 || n == max)
		return n;
	r = db_query(s->db, err, &st,
		     "SELECT job, attempt, body FROM outbox WHERE body IS NOT NULL "
		     "AND (job, attempt) <= (?, ?) ORDER BY job, attempt",
		     "ii", job, attempt);
	if (r < 0)
		return r;
	r = append_rows(s, st, max - n, to, err);
	return r < 0 ? r : n + r;
}

int spool_fill(struct spool *s, int max, json_t *to, struct err *err)
{
	/* Half of the room for those in memory, and half of the rest for runs of before: they must not keep out the rows. */
	int n = fill_unsaved(s, (max + 1) / 2, to), r;

	r = s->has_former ? former_fill(s->db, (max - n + 1) / 2, to, err) : 0;
	n += r > 0 ? r : 0;
	r = r < 0 ? r : fill_saved(s, max - n, to, err);
	return r < 0 && !n ? r : n + (r > 0 ? r : 0);
}

static int ack_unsaved(struct unsaved *u, int64_t seq)
{
	if (!u->body || u->seq > seq)
		return 0;
	if (u->final)
		u->acked = TAKE_PTR(u->body);
	free(u->body);
	u->body = NULL;
	return u->final ? SPOOL_FINAL : 0;
}

int spool_ack(struct spool *s, int64_t job, int32_t attempt, int64_t seq, struct err *err)
{
	struct unsaved *u = unsaved_find(s->unsaved, job, attempt);
	struct row row;
	int r = ack_former(s, job, attempt, seq, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = u ? 0 : find_report(s, job, attempt, &row, err);
	if (u)
		return ack_unsaved(u, seq);
	if (r <= 0 || row.seq > seq || !row.has_body)
		return r < 0 ? r : 0;
	if (unsaved_mark_sent(&s->unsaved, job, attempt, row.final) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	unsaved_find(s->unsaved, job, attempt)->acked_bytes = row.bytes;
	return row.final ? SPOOL_FINAL : 0;
}

int spool_forget(struct spool *s, int64_t job, int32_t attempt, struct err *err)
{
	struct unsaved *u = unsaved_find(s->unsaved, job, attempt);
	int r = db_run(s->db, err, "DELETE FROM outbox WHERE job = ? AND attempt = ?", "ii",
		       job, (int64_t)attempt);

	if (r < 0)
		return unsaved_mark_sent(&s->unsaved, job, attempt, true);
	unsaved_remove(&s->unsaved, u);
	return s->has_former ? former_forget(s->db, job, attempt, err) : 0;
}

int spool_set_aside(struct spool *s, const struct sync_slurm_job *told, struct err *err)
{
	struct row row;
	int r = spool_flush(s, err);

	if (r >= 0)
		r = find_report(s, told->job, told->attempt, &row, err);
	if (r >= 0 && (!r || !row.final || unsaved_find(s->unsaved, told->job, told->attempt)))
		r = err_set(err, -ENOENT, "the store does not have its end");
	if (r >= 0)
		r = spool_begin(s, err);
	if (r < 0)
		return r;
	s->has_former = true;
	r = former_keep(s->db, told, err);
	if (r < 0)
		spool_rollback(s);
	else
		r = spool_commit(s, err);
	return r;
}

int spool_describe(struct spool *s, struct former_lists *to)
{
	return s->has_former && former_describe(s->db, to, NULL) == -ENOMEM ? -ENOMEM : 0;
}

static int64_t find_oldest_ns(struct spool *s)
{
	int64_t at = 0;

	(void)db_query_int(s->db, NULL, &at,
			   "SELECT MIN(at) FROM (SELECT MIN(at_ns) AS at FROM outbox"
			   " WHERE body IS NOT NULL UNION ALL SELECT MIN(at_ns) FROM former)",
			   "");
	return at;
}

int spool_get_status(struct spool *s, struct spool_status *ret, struct err *err)
{
	struct spool_status now = { .max_bytes = s->max_bytes, .dropped = s->dropped };
	struct former_totals former = { 0 };
	int r = read_totals(s, &now, err);

	if (r < 0)
		return r;
	for (const struct unsaved *u = s->unsaved; u; u = u->next) {
		now.unsaved += u->body != NULL;
		if (!u->acked_bytes)
			continue;
		now.reports--;
		now.final -= u->final;
		now.bytes -= u->acked_bytes;
	}
	if (s->has_former)
		r = former_count(s->db, &former, err);
	if (r < 0)
		return r;
	now.reports += former.reports;
	now.final += former.reports;
	now.bytes += former.bytes;
	now.oldest_ns = find_oldest_ns(s);
	*ret = now;
	return 0;
}

bool spool_is_full(struct spool *s)
{
	struct spool_status now = { 0 };

	return spool_get_status(s, &now, NULL) < 0 ||
	       (now.bytes >= s->max_bytes && now.reports == now.final);
}
