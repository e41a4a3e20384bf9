/* SPDX-License-Identifier: GPL-2.0-or-later */
/* imported - reads an imported job back from the ledger as its history recorded it: to price it again,
 * or to compute its efficiency.
 *
 * Internal to the ledger. A statement selects STORE_IMPORTED_COLUMNS first and its own columns after
 * them, FROM STORE_IMPORTED_TABLES.
 */
#pragma once
#include "controller/history/history.h"
#include "controller/ledger/store_sqlite.h"

#define STORE_IMPORTED_COLUMNS                                                                 \
	" i.id, a.cluster, a.account, a.user, i.submit_s, i.wait_s, i.run_s, i.ncpus, "        \
	"i.ngpus,"                                                                             \
	" i.walltime_s, i.mem_bytes, i.mem_peak_bytes, i.cpu_ms, i.suspended_s, i.nodes,"      \
	" k.queue, k.qos, k.gpus, k.node_type"
#define STORE_IMPORTED_N 19 /* columns: the caller's own begin with this one */
#define STORE_IMPORTED_TABLES                                                                  \
	" imported i JOIN associations a ON a.id = i.association"                              \
	" LEFT JOIN import_kinds k ON k.id = i.kind"

/* ret->number is the number alone, without the origin. -EBADMSG: the text of its GPUs is damaged. */
int store_imported_read(struct db_row *st, struct history_job *ret, struct err *err);
