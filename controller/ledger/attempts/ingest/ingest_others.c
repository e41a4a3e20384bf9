/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_others.c - what an exchange of one node changes for others. See ingest_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/ingest/ingest_impl.h"

void ingest_touch_others(struct store_ingest *g)
{
	g->s->n_touched++;
	db_forget_asked(g->s->db);
}

/* Adds the job to those whose other nodes get a new desired state; once, as its reports come one
 * after the other. */
int ingest_wake_others(struct store_ingest *g, int64_t job, struct err *err)
{
	struct sync_result *out = g->out;
	int64_t *p;

	if (out->n_affected && out->affected[out->n_affected - 1] == job)
		return 0;
	p = realloc(out->affected, (out->n_affected + 1) * sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	out->affected = p;
	out->affected[out->n_affected++] = job;
	return 0;
}
