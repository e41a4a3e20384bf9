/* SPDX-License-Identifier: GPL-2.0-or-later */
/* imported.c - reads an imported job back from its row. See imported.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "controller/ledger/import/imported.h"

/* In the order of STORE_IMPORTED_COLUMNS. */
enum column {
	ID,
	CLUSTER,
	ACCOUNT,
	USER,
	SUBMIT_S,
	WAIT_S,
	RUN_S,
	NCPUS,
	NGPUS,
	WALLTIME_S,
	MEM_BYTES,
	MEM_PEAK_BYTES,
	CPU_MS,
	SUSPENDED_S,
	NODES,
	QUEUE,
	QOS,
	GPUS,
	NODE_TYPE,
	_COLUMN_MAX,
};
_Static_assert(_COLUMN_MAX == STORE_IMPORTED_N, "the columns of STORE_IMPORTED_COLUMNS");

/* -1: the history did not record it. */
static int64_t read_recorded(struct db_row *st, enum column column)
{
	return db_is_null(st, column) ? -1 : db_int(st, column);
}

static void read_name(struct db_row *st, enum column column, char ret[static REQUEST_NAME_MAX])
{
	snprintf(ret, REQUEST_NAME_MAX, "%s", store_text(st, column));
}

int store_imported_read(struct db_row *st, struct history_job *ret, struct err *err)
{
	struct history_job *j = ret;

	history_init(j);
	j->number = db_int(st, ID) & HISTORY_NUMBER_MAX;
	read_name(st, CLUSTER, j->cluster);
	read_name(st, ACCOUNT, j->account);
	read_name(st, USER, j->user);
	j->submit_s = db_int(st, SUBMIT_S);
	j->start_s = j->submit_s + db_int(st, WAIT_S);
	j->suspended_s = db_int(st, SUSPENDED_S);
	j->end_s = j->start_s + db_int(st, RUN_S) + j->suspended_s;
	j->ncpus = db_int(st, NCPUS);
	j->ngpus = db_int(st, NGPUS);
	j->walltime_s = read_recorded(st, WALLTIME_S);
	j->mem_bytes = read_recorded(st, MEM_BYTES);
	j->mem_peak_bytes = read_recorded(st, MEM_PEAK_BYTES);
	j->cpu_ms = read_recorded(st, CPU_MS);
	j->nodes = db_int(st, NODES);
	read_name(st, QUEUE, j->queue);
	read_name(st, QOS, j->qos);
	read_name(st, NODE_TYPE, j->node_type);
	if (gpus_parse(store_text(st, GPUS), &j->gpus) < 0)
		return err_set(err, -EBADMSG, "the GPUs of imported job %lld",
			       (long long)j->number);
	return 0;
}
