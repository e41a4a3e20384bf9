/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent.c - final reports that were acknowledged; see sent.h. */
#include "agent/report/sent.h"
#include "common/db/db.h"
#include "common/time_units.h"

int sent_keep(struct db *db, int64_t job, int32_t attempt, struct err *err)
{
	return db_run(db, err,
		      "INSERT OR REPLACE INTO sent(job, attempt, seq, at_ns, body)"
		      " SELECT job, attempt, seq, at_ns, body FROM outbox"
		      " WHERE job = ?1 AND attempt = ?2 AND final = 1 AND body IS NOT NULL",
		      "ii", job, (int64_t)attempt);
}

int sent_keep_body(struct db *db, const struct sent_report *r, struct err *err)
{
	return db_run(db, err,
		      "INSERT OR REPLACE INTO sent(job, attempt, seq, at_ns, body)"
		      " VALUES(?1, ?2, ?3, ?4, ?5)",
		      "iiiit", r->job, (int64_t)r->attempt, r->seq, r->at_ns, r->body);
}

int sent_prune(struct db *db, struct err *err)
{
	int r = db_run(db, err,
		       "DELETE FROM sent WHERE at_ns < (SELECT MAX(at_ns) FROM sent) - ?1", "i",
		       (int64_t)SENT_KEEP_DAYS * DAY_NS);

	if (r < 0)
		return r;
	return db_run(db, err,
		      "DELETE FROM sent WHERE at_ns <="
		      " (SELECT at_ns FROM sent ORDER BY at_ns DESC LIMIT 1 OFFSET ?1)",
		      "i", (int64_t)SENT_MAX);
}

/* A row that the outbox has already is newer. */
#define REPEAT                                                                                 \
	"INSERT OR IGNORE INTO outbox(job, attempt, seq, at_ns, final, body, bytes)"           \
	" SELECT job, attempt, seq, at_ns, 1, body, LENGTH(CAST(body AS BLOB)) FROM sent"

int sent_repeat_all(struct db *db, struct err *err)
{
	return db_run(db, err, REPEAT, "");
}

int sent_repeat(struct db *db, int64_t job, int32_t attempt, struct err *err)
{
	int r = db_has_row(db, err, "SELECT 1 FROM sent WHERE job = ?1 AND attempt = ?2", "ii",
			   job, (int64_t)attempt);

	if (r <= 0)
		return r;
	r = db_run(db, err, REPEAT " WHERE job = ?1 AND attempt = ?2", "ii", job,
		   (int64_t)attempt);
	return r < 0 ? r : 1;
}

int sent_forget_all(struct db *db, struct err *err)
{
	return db_run(db, err, "DELETE FROM sent", "");
}
