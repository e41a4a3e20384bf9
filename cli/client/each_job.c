/* SPDX-License-Identifier: GPL-2.0-or-later */
/* each_job.c - runs a verb for each of several jobs; see each_job.h. */
#include <errno.h>
#include "cli/client/each_job.h"
#include "cli/client/job_fetch.h"
#include "common/err.h"

static int run_one(struct cli *c, const struct each_job *how, const char *typed,
		   struct table *t, struct err *err)
{
	char text[JOB_ID_TEXT_MAX];
	struct job_id id;
	int r = job_fetch_id(c, typed, &id, err);

	if (r < 0)
		return r;
	r = how->send(c, how, id, t, err);
	if (r < 0)
		return cli_name_job(id, r, err);
	table_text(t, "job", job_id_format(id, text));
	return 0;
}

int each_job_run(const struct verb_call *call, struct cli *c, const struct each_job *how,
		 struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("jobs", how->columns, &t, err);

	if (r < 0)
		return r;
	for (int i = how->first; i < call->n_args; i++) {
		r = run_one(c, how, call->args[i], t, err);
		if (r == -EHOSTUNREACH || r == -ENOMEM)
			return r;
		if (r == 0)
			continue;
		cli_complain(call->verb->name, err);
		if (!c->exit_code)
			c->exit_code = (int)cli_exit_code(r);
	}
	return table_print(t, &c->format, err);
}
