/* bounds - how many jobs may be queued of a user and of an account, how large an array may
 * be, and what a user may fill of the ledger (MaxQueuedPerUser, MaxQueuedPerAccount,
 * MaxArraySize, MaxStoredPerUser of controller.conf). Elements of arrays count as jobs. The
 * limits of accounts.conf are asked besides (quota.c).
 *
 * Counting is slow where many are queued, so what was counted is kept and raised by what is
 * handed in since: never less than there is. Only when that reaches the bound it is counted
 * again.
 */
#pragma once
#include "controller/api/call.h"

struct bounds;
int bounds_new(struct bounds **ret, struct err *err);
struct bounds *bounds_free(struct bounds *b);
DEFINE_CLEANUP(struct bounds *, bounds_free)

/* Refuses what the user `name` would fill of the ledger beyond MaxStoredPerUser: `more` bytes,
 * 0: not told. err, status and remedy are set. */
int bounds_refuse_stored(struct call *c, const char *name, int64_t more, struct err *err);
/* May this be queued? Refused: err, status and remedy are set, with key and number. */
int bounds_check(struct call *c, struct bounds *b, const struct request *q, struct err *err);
/* It is queued from now on. */
void bounds_add(struct bounds *b, const struct request *q);
