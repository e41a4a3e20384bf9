/* pg_lead - which of several controllers writes a ledger in PostgreSQL.
 *
 * Two things, each for what it does best. A lock of the session (pg_advisory_lock) says that
 * the leader's process is there: the server lets it go the moment that process is gone. A row,
 * reeve_lead, says who leads and in which epoch, and has a beat that the leader moves on: a
 * leader that is there and does not move (stopped, or cut off from the server) is put out by a
 * standby when the beat has stood still for the lease, measured by the standby's own steady
 * clock. Epochs only grow. They change under the lock of the ledger's writers, and every
 * transaction of a leader compares its own with the row's under the same lock
 * (store_lead_guard()): what a leader of an earlier epoch still writes is refused, whenever it
 * comes. Connections of a leader carry its epoch in their name, so that one which was put out
 * in the middle of a transaction can be ended with that transaction.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct pg_lead;

struct pg_lead_config {
	const char *place; /* as pg_open() takes it */
	const char *me;	   /* who this is, for people */
	int64_t lease_ns;
};

/* Connects. -ENOENT, -ECONNREFUSED as pg_open(). */
int pg_lead_open(const struct pg_lead_config *c, struct pg_lead **ret, struct err *err);
struct pg_lead *pg_lead_close(struct pg_lead *l);
DEFINE_CLEANUP(struct pg_lead *, pg_lead_close)

/* 1: this one leads from now on; 0: another does. */
int pg_lead_try(struct pg_lead *l, struct err *err);
/* Of the leader, a few times in a lease. 1: it leads; 0: another has taken over. < 0: not
 * known: the server does not answer. */
int pg_lead_keep(struct pg_lead *l, struct err *err);

int64_t pg_lead_epoch(const struct pg_lead *l);
/* Who led when it was last looked; "" before. */
const char *pg_lead_who(const struct pg_lead *l);
/* The place for the leader's own connections, which carry its epoch. Lives as long as l. */
const char *pg_lead_place(const struct pg_lead *l);
