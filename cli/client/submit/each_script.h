/* SPDX-License-Identifier: GPL-2.0-or-later */
/* each_script - `reeve submit --each`: every argument is a script, and each becomes a job. */
#pragma once
#include "cli/cli.h"

struct each_script {
	const char *path; /* of call->args */
	int64_t job;	  /* 0: it was refused */
};

/* Called with each job as soon as it is in the ledger. */
struct each_script_sink {
	void (*put)(void *ctx, const struct each_script *one);
	void *ctx;
};

/* Reads and checks all scripts first: where one is wrong, each of those is named on stderr, none is submitted, and -EINVAL
 * returned. Then submits them in the order of the arguments over one connection, so that their numbers rise in that order. One
 * that the controller refuses is named on stderr, c->exit_code is set, and the next one follows. *ret_jobs has call->n_args of
 * them, also after an error of the controller (-EHOSTUNREACH), which ends it; the caller frees it. */
int each_script_submit(struct cli *c, const struct verb_call *call, struct each_script_sink to,
		       struct each_script **ret_jobs, struct err *err);
