/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lead - one controller leads, that is, writes a ledger; others are standbys.
 *
 * For a ledger in a file: a lock on FILE.lead, which the kernel releases when the process has ended and
 * not before, so that a leader that is only stopped still leads. For one in PostgreSQL: a lock, a lease
 * and an epoch (controller/postgres/pg_lead.h), so that a leader that is stopped is replaced, and what
 * it writes when it goes on is refused.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct store;
struct store_lead;

struct store_lead_config {
	const char *place;  /* of the ledger, as store_open() takes it */
	const char *listen; /* the address of this controller, for people */
	int64_t lease_s;
};

/* < 0: the ledger cannot be reached. */
int store_lead_open(const struct store_lead_config *c, struct store_lead **ret,
		    struct err *err);
/* Ends the lead: a standby may begin. */
struct store_lead *store_lead_close(struct store_lead *l);
DEFINE_CLEANUP(struct store_lead *, store_lead_close)

/* For a command that must be alone with the ledger: leads for 30 s, which it may extend. `verb` is what a controller that tries
 * meanwhile names. -EBUSY: a controller leads; err names it. */
int store_lead_take(const char *place, const char *verb, struct store_lead **ret,
		    struct err *err);

/* 1: this process leads from now on; 0: another does. A standby calls it again and again. */
int store_lead_try(struct store_lead *l, struct err *err);
/* The leader calls it at least three times in a lease. 1: it leads; 0: another has taken over, or the
 * file of the lock was removed; < 0: not known, and nothing can be written either. */
int store_lead_keep(struct store_lead *l, struct err *err);
/* The leader: "HOST at ADDRESS:PORT, process N, up since TIME"; "" when it is not known. */
const char *store_lead_who(const struct store_lead *l);

/* The place by which the leader opens the ledger; good as long as l. */
const char *store_lead_place(const struct store_lead *l);
/* From now on every transaction of `s` checks whether this process still leads. Where it does not, the
 * transaction fails with -EOWNERDEAD and on_lost() is called. */
typedef void (*store_lead_lost_fn)(void *ctx);
void store_lead_guard(struct store_lead *l, struct store *s, store_lead_lost_fn on_lost,
		      void *ctx);
