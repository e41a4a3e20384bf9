/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_limits - limits how many jobs a user or an account may have queued, how large an array
 * may be, and how much of the ledger a user may fill (MaxQueuedPerUser, MaxQueuedPerAccount,
 * MaxArraySize, MaxStoredPerUser of controller.conf). Each task of an array counts as a job.
 * The limits of accounts.conf are checked besides, in quota.c.
 *
 * Counting is slow where many jobs are queued, so counts are kept and raised by each job that
 * is submitted: they are never too low. A count is read again only when it reaches its limit or
 * is old.
 */
#pragma once
#include "controller/api/call.h"

struct queue_limits;
int queue_limits_new(struct queue_limits **ret, struct err *err);
struct queue_limits *queue_limits_free(struct queue_limits *l);
DEFINE_CLEANUP(struct queue_limits *, queue_limits_free)

/* May the job be queued? < 0: refused by call_refuse(), with the configuration key and the
 * numbers. */
int queue_limits_check(struct queue_limits *l, struct call *c, const struct request *q,
		       struct err *err);
/* Counts a job that is queued from now on. */
void queue_limits_add(struct queue_limits *l, const struct request *q);
