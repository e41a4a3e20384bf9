/* SPDX-License-Identifier: GPL-2.0-or-later */
/* walltime - notes in the journal that a part of a job's walltime has passed, where its user asked to be told
 * (--mail-type=TIME_LIMIT_80). For the ledger's own files.
 */
#pragma once
#include "controller/ledger/attempts/known.h"
#include "controller/ledger/store_sqlite.h"

/* To be called for each report that is accepted, with what the attempt had run before and has now. Of several parts
 * that have passed since the report before, the largest that was asked for. In the transaction of the report, so that
 * each is noted once. */
int store_walltime_note(struct store *s, const struct store_report_case *c,
			const struct store_known *k, const struct tally_span *span,
			struct err *err);
