/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - asks slurmdbd for a day at a time and prints its rows; see list.h. */
#include <errno.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "common/err.h"
#include "common/time_units.h"
#include "slurm/follow/config.h"
#include "slurm/follow/read/dbd.h"
#include "slurm/follow/list.h"

static int print_batch(const struct slurm_batch *b, struct err *err)
{
	json_t *doc;
	int r = slurm_batch_encode(b, &doc, err);

	if (r < 0)
		return r;
	r = json_dumpf(doc, stdout, JSON_COMPACT);
	json_decref(doc);
	if (r < 0 || putchar('\n') == EOF)
		return err_set(err, -EIO, "cannot write to standard output");
	return 0;
}

/* As many documents as it takes: a document has SLURM_BATCH_MAX jobs at most. */
static int print_rows(struct slurm_batch *b, const struct dbd_rows *rows, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rows->n && r >= 0; i += SLURM_BATCH_MAX) {
		b->jobs = rows->of + i;
		b->n_jobs = rows->n - i < SLURM_BATCH_MAX ? rows->n - i : SLURM_BATCH_MAX;
		r = print_batch(b, err);
	}
	return r;
}

/* The first document has no jobs: it names the cluster also where no job ended. A day at a time, since
 * slurmdbd holds all rows of an answer in memory. */
int list_print(const struct follow_config *c, int64_t from_s, int64_t to_s, struct err *err)
{
	_cleanup_(dbd_closep) struct dbd *d = NULL;
	struct slurm_batch b = { .source = SLURM_BATCH_SLURMDBD, .at_s = time(NULL) };
	int r;

	snprintf(b.cluster, sizeof(b.cluster), "%s", c->cluster);
	slurm_init(c->slurm_conf);
	r = dbd_open(follow_config_slurm_cluster(c), &d, err);
	if (r >= 0)
		r = print_batch(&b, err);
	for (int64_t at_s = from_s; at_s < to_s && r >= 0; at_s += DAY_S) {
		int64_t end_s = at_s + DAY_S < to_s ? at_s + DAY_S : to_s;
		struct dbd_rows rows;

		r = dbd_ended(d, at_s, end_s, &rows, err);
		if (r < 0)
			return r;
		r = print_rows(&b, &rows, err);
		free(rows.of);
	}
	return r;
}
