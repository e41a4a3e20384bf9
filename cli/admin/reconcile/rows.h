/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows - the two lists that are compared: slurmdbd's, which reeve-slurm prints, and the ledger's, which the controller answers. */
#pragma once
#include "cli/admin/reconcile/compare.h"
#include "cli/cli.h"

struct rows_period {
	int64_t from_s, to_s;
	char cluster
		[REQUEST_NAME_MAX]; /* "": that of reeve-slurm.conf; rows_of_slurmdbd() fills it in */
};

/* Runs `program` --list with `config` (NULL: its default), and reads what it prints. -EREMOTEIO: it failed, and has said why on
 * standard error. l->of is malloc()ed. */
int rows_of_slurmdbd(const char *program, const char *config, struct rows_period *p,
		     struct compare_list *l, struct err *err);
/* Asks the controller, page by page. */
int rows_of_ledger(struct cli *c, const struct rows_period *p, struct compare_list *l,
		   struct err *err);
