/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_lead - which of several controllers writes a ledger in PostgreSQL.
 *
 * A lock and a row. The lock of a session (pg_advisory_lock) shows that the leader's process is
 * there: the server releases it when the connection of that process ends. The row, reeve_lead, names
 * the leader and its epoch, and has a beat that the leader counts up. A leader whose process is there
 * and does not work (stopped, or cut off from the server) is replaced by a standby when the beat has
 * not changed for the lease, measured by the standby's own monotonic clock. Epochs only grow. They
 * change under the lock of the ledger's writers, and every transaction of a leader compares its own
 * epoch with the row's under the same lock (store_lead_guard()): what a leader of an earlier epoch
 * still writes is refused. The connections of a leader have its epoch in their application_name, so
 * that the next leader can end them together with their transactions.
 */
#pragma once
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct pg_lead;

struct pg_lead_config {
	const char *place; /* as pg_open() takes it */
	const char *me;	   /* the name of this controller, for people */
	int64_t lease_ns;
};

/* Connects. -ENOENT, -ECONNREFUSED as pg_open(). */
int pg_lead_open(const struct pg_lead_config *c, struct pg_lead **ret, struct err *err);
struct pg_lead *pg_lead_close(struct pg_lead *l);
DEFINE_CLEANUP(struct pg_lead *, pg_lead_close)

/* 1: this one leads from now on; 0: another does. */
int pg_lead_try(struct pg_lead *l, struct err *err);
/* The leader calls it a few times in a lease. 1: it leads; 0: another has taken over; < 0: not
 * known, because the server does not answer. */
int pg_lead_keep(struct pg_lead *l, struct err *err);

int64_t pg_lead_epoch(const struct pg_lead *l);
/* The leader's name when the row was last read; "" before. */
const char *pg_lead_who(const struct pg_lead *l);
/* The place for the leader's own connections, which carry its epoch. Lives as long as l. */
const char *pg_lead_place(const struct pg_lead *l);
