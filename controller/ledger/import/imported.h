/* imported - an imported job as its history told it, read back from the ledger: for
 * whatever prices it again, or asks what it made of its request.
 *
 * Internal to the ledger. A statement selects STORE_IMPORTED_COLUMNS first and its own columns
 * after them, FROM STORE_IMPORTED_TABLES.
 */
#pragma once
#include "controller/history/history.h"
#include "controller/ledger/store_sqlite.h"

#define STORE_IMPORTED_COLUMNS                                                                 \
	" i.id, a.cluster, a.account, a.user, i.submit_s, i.wait_s, i.run_s, i.ncpus, "        \
	"i.ngpus,"                                                                             \
	" i.walltime_s, i.mem_bytes, i.mem_peak_bytes, i.cpu_ms, i.suspended_s, i.nodes,"      \
	" k.queue, k.qos, k.gpus, k.node_type"
#define STORE_IMPORTED_N 19 /* columns */
#define STORE_IMPORTED_TABLES                                                                  \
	" imported i JOIN associations a ON a.id = i.association"                              \
	" LEFT JOIN import_kinds k ON k.id = i.kind"

/* Its number is without its origin. -EBADMSG: its GPUs are not what an import writes. */
int store_imported_read(struct db_row *st, struct history_job *ret, struct err *err);
