/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent - final reports that the controller has acknowledged, for a ledger that is restored from an older backup and lacks them.
 *
 * In the agent's database, for two weeks, at most SENT_MAX. All in the caller's transaction, where it has one.
 */
#pragma once
#include <stdint.h>

struct db;
struct err;

#define SENT_MAX 20000
#define SENT_KEEP_DAYS 14

/* Keeps the attempt's report that is in the outbox now. */
int sent_keep(struct db *db, int64_t job, int32_t attempt, struct err *err);
/* Keeps one that is not in the outbox: the store had refused it. */
struct sent_report {
	int64_t job, seq, at_ns;
	int32_t attempt;
	const char *body;
};
int sent_keep_body(struct db *db, const struct sent_report *r, struct err *err);
/* Removes what is older than SENT_KEEP_DAYS before the newest report, and beyond SENT_MAX. */
int sent_prune(struct db *db, struct err *err);
/* Puts them all into the outbox again. */
int sent_repeat_all(struct db *db, struct err *err);
/* The same of one. 1; 0: it is not there. */
int sent_repeat(struct db *db, int64_t job, int32_t attempt, struct err *err);
int sent_forget_all(struct db *db, struct err *err);
