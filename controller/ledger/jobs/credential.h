/* credential - what a job's user signed of it, for the nodes that run it
 * (common/signature/signature.h): kept as it came, not read here. Part of the contract of
 * store.h.
 */
#pragma once
#include "controller/ledger/store.h"

/* Of a job that has not ended; of an element, its array's number is asked for. *ret is
 * malloc()ed; "" where nothing was signed. */
int store_credential(struct store *s, int64_t job, char **ret, struct err *err);
/* In the transaction under way. */
int store_credential_add(struct store *s, int64_t job, const char *credential, struct err *err);
/* In the transaction under way, behind what may have been the end of the job: where it was,
 * nothing of it is started any more, and this goes. */
int store_credential_drop(struct store *s, int64_t job, struct err *err);
