/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spool - the outbox: reports that the controller has not yet said it has committed.
 *
 * Reports are cumulative, so only the latest of an attempt is kept; it replaces an older
 * unsent one. A final report (state ended) stays until it is acknowledged. At `max_bytes`
 * the oldest interim reports go first, which costs nothing: the next one says it all again.
 * When only final ones are left, spool_is_full() is true: the node then takes no new jobs
 * and has a note about it; a final report itself is always kept. While the store fails (a full disk),
 * reports and what was acknowledged are kept in memory and sent from there. Lives in the store:
 * put inside the caller's db_begin()/db_commit() it is one with state.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/db/db.h"
#include "common/model/job.h"
#include "common/wire/sync.h"

struct spool;
struct former_lists;

int spool_open(struct db *db, int64_t max_bytes, struct spool **ret, struct err *err);
/* Another bound from now on; reports that are beyond it already are dropped with the next one. */
void spool_set_max(struct spool *s, int64_t max_bytes);
struct spool *spool_close(struct spool *s);
DEFINE_CLEANUP(struct spool *, spool_close)

/* Many changes as one commit; inside the caller's db_begin() a part of that. */
int spool_begin(struct spool *s, struct err *err);
int spool_commit(struct spool *s, struct err *err);
void spool_rollback(struct spool *s);
/* Commits from here on, until `false`, are not synced (db_lazy()): for what the controller has, and takes once more
 * where a power cut undid that it was acknowledged. */
void spool_lazy(struct spool *s, bool is_lazy);

/* Numbers the report (r->seq becomes larger than it was, and than any of its attempt before,
 * also across restarts and the loss of the store: it is at least at_ns in milliseconds) and
 * keeps it. SPOOL_DROPPED: interim reports, perhaps this one, were dropped for room. A report
 * after the final one of the same attempt is -EALREADY. */
#define SPOOL_DROPPED 1
int spool_put(struct spool *s, struct report *r, struct err *err);

/* The same in memory alone, for who cannot put it: it is sent like the others and must be put
 * again once the store works, which takes its place. < 0: out of memory. */
int spool_put_unsaved(struct spool *s, struct report *r, struct err *err);
/* Brings the store up to what was acknowledged. An agent that ends before that sends it once more, and the controller acknowledges it
 * once more. < 0: the store fails; nothing has changed. */
int spool_flush(struct spool *s, struct err *err);

/* Up to `max` reports as wire objects onto the array `to`. Goes round through all, so that one
 * which is never acknowledged blocks none. Returns how many; < 0: the store cannot be read, and
 * nothing is in memory. */
int spool_fill(struct spool *s, int max, json_t *to, struct err *err);

/* Forget what is committed up to `seq`: in memory, and in the store with the next spool_flush(). SPOOL_FINAL: with it
 * the attempt's final report; the state may be forgotten too. What is forgotten or unknown is 0. A store that
 * cannot be read is an error. */
#define SPOOL_FINAL 1
int spool_ack(struct spool *s, int64_t job, int32_t attempt, int64_t seq, struct err *err);
/* The attempt, which has ended here, begins once more (former.h): its final report is kept by itself, and sent; what comes of the attempt from now on
 * is of the next run, and is sent after that. Its acknowledgement is no SPOOL_FINAL. < 0: nothing has changed. */
int spool_set_aside(struct spool *s, const struct sync_slurm_job *told, struct err *err);
/* Runs that were set aside, in what an exchange says of the jobs of the node. Nothing where there are none, or where the store cannot be read. -ENOMEM. */
int spool_describe(struct spool *s, struct former_lists *to);
/* The controller never gave us this attempt: forget all of it. */
int spool_forget(struct spool *s, int64_t job, int32_t attempt, struct err *err);

/* The controller's answer named its ledger. Of a ledger that was restored since the last answer all final reports that are kept (sent.h) are to
 * be sent again. `id` "" is an older controller: nothing changes. */
int spool_set_ledger(struct spool *s, const char *id, int64_t restored_ns, struct err *err);
/* What an exchange with up to `max` reports says of the ledger: the one of the last answer, where all reports are in that exchange. Where they are
 * not, *ret_restored_ns is 0. */
void spool_name_ledger(struct spool *s, int max, char ret[static SYNC_LEDGER_MAX],
		       int64_t *ret_restored_ns);
/* 1: the attempt has ended here, and its final report is sent again; 0: nothing is known of it. */
int spool_repeat(struct spool *s, int64_t job, int32_t attempt, struct err *err);

struct spool_status {
	int64_t reports, final; /* kept; of these final */
	int64_t unsaved;	/* in memory alone, as the store refuses them */
	int64_t bytes, max_bytes;
	int64_t oldest_ns; /* report.at_ns of the oldest; 0: none */
	int64_t dropped;   /* interim reports dropped since start */
};
int spool_get_status(struct spool *s, struct spool_status *ret, struct err *err);
/* Also true when the store cannot be read. */
bool spool_is_full(struct spool *s);
