/* SPDX-License-Identifier: GPL-2.0-or-later */
/* credential - what a job's user signed of it, for the nodes that run it
 * (common/signature/signature.h): kept as it came, not read here. Part of the contract of
 * store.h.
 */
#pragma once
#include "controller/ledger/store.h"

/* In the transaction under way. */
int store_credential_add(struct store *s, int64_t job, const char *credential, struct err *err);
/* In the transaction under way, after what may have ended the job: deletes the credential where the job
 * has ended, because nothing of it is started any more. */
int store_credential_drop(struct store *s, int64_t job, struct err *err);
