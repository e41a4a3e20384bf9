/* lead - one controller writes a ledger; others stand by.
 *
 * A ledger in a file: a lock on FILE.lead, which the kernel lets go when the process is gone
 * and not before, so that a leader that is only stopped still leads. One in PostgreSQL: a lock,
 * a lease and an epoch (controller/postgres/pg_lead.h): a leader that does not move is replaced, and
 * what it writes when it wakes is refused.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct store;
struct store_lead;

struct store_lead_config {
	const char *place;  /* of the ledger, as store_open() takes it */
	const char *listen; /* where this controller listens, for people */
	int64_t lease_s;
};

/* < 0: the ledger cannot be reached. */
int store_lead_open(const struct store_lead_config *c, struct store_lead **ret,
		    struct err *err);
/* Gives the lead up. */
struct store_lead *store_lead_close(struct store_lead *l);
DEFINE_CLEANUP(struct store_lead *, store_lead_close)

/* 1: this process leads from now on; 0: another does; to be asked again and again. */
int store_lead_try(struct store_lead *l, struct err *err);
/* Of the leader, at least three times in a lease. 1: it leads; 0: another has taken over, or
 * the lock was taken away. < 0: it could not be found out, and nothing can be written either.
 */
int store_lead_keep(struct store_lead *l, struct err *err);
/* "HOST at ADDRESS:PORT, process N, since TIME" of who leads; "" when that is not known. */
const char *store_lead_who(const struct store_lead *l);

/* The place by which the leader opens the ledger. */
const char *store_lead_place(const struct store_lead *l);
/* From now on every transaction of `s` asks whether this process still leads; where it does not
 * the transaction fails with -EOWNERDEAD and on_lost() is called. */
typedef void (*store_lead_lost_fn)(void *ctx);
void store_lead_guard(struct store_lead *l, struct store *s, store_lead_lost_fn on_lost,
		      void *ctx);
