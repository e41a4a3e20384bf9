/* SPDX-License-Identifier: GPL-2.0-or-later */
/* each_job - sends one request for each job that the command line names, and prints the answers as a table. */
#pragma once
#include "cli/cli.h"
#include "common/model/array.h"

struct each_job {
	const struct table_column *columns;
	int first; /* index of the first job in the arguments */
	/* Sends the request and fills the row of the job, whose column "job" is set. */
	int (*send)(struct cli *c, const struct each_job *how, struct job_id id,
		    struct table *row, struct err *err);
	void *ctx;
};

/* After cli_begin(). A job that fails does not prevent the requests for the others: it is reported on stderr, and
 * the first such error decides the exit status. Only a lost controller ends the loop. */
int each_job_run(const struct verb_call *call, struct cli *c, const struct each_job *how,
		 struct err *err);
