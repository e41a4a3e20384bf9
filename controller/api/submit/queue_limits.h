/* queue_limits - how many jobs a user or an account may have queued, how large an array may be,
 * and how much of the ledger a user may fill (MaxQueuedPerUser, MaxQueuedPerAccount, MaxArraySize,
 * MaxStoredPerUser of controller.conf). Each task of an array counts as a job. The limits of
 * accounts.conf are checked besides, in quota.c.
 *
 * Counting is slow where many jobs are queued, so counts are kept and raised by each job that is
 * submitted: they are never below the truth. Only a count that reaches its limit is taken again.
 */
#pragma once
#include "controller/api/call.h"

struct queue_limits;
int queue_limits_new(struct queue_limits **ret, struct err *err);
struct queue_limits *queue_limits_free(struct queue_limits *l);
DEFINE_CLEANUP(struct queue_limits *, queue_limits_free)

/* May this be queued? < 0: refused, as call_refuse() has it, with the key and the numbers. */
int queue_limits_check(struct queue_limits *l, struct call *c, const struct request *q,
		       struct err *err);
/* The job is queued from now on. */
void queue_limits_add(struct queue_limits *l, const struct request *q);
