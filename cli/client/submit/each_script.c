/* SPDX-License-Identifier: GPL-2.0-or-later */
/* each_script.c - see each_script.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/client/submit/each_script.h"
#include "cli/client/submit/submission.h"
#include "common/cleanup.h"
#include "common/err.h"

/* The requests of all scripts, until they are sent. */
struct reading {
	struct request *requests;
	int n;
};

static void reading_done(struct reading *r)
{
	for (int i = 0; i < r->n; i++)
		request_done(&r->requests[i]);
	free(r->requests);
}

static int check_call(const struct verb_call *call, struct err *err)
{
	if (call->dashes)
		return err_set(err, -EINVAL,
			       "--each: every argument is a script; a command behind -- is one "
			       "job, without --each");
	for (int i = 0; i < call->n_args; i++) {
		if (!strcmp(call->args[i], "-"))
			return err_set(err, -EINVAL,
				       "--each: standard input is no script here; name files");
		if (call->args[i][0] == '-')
			return err_set(err, -EINVAL,
				       "'%.60s' comes behind a script: options come before the "
				       "first one",
				       call->args[i]);
	}
	if (verb_count(call, "immediate"))
		return err_set(err, -EINVAL,
			       "--immediate and --each exclude each other: submit one at a "
			       "time");
	return 0;
}

/* The call as if the script were the only argument. */
static int read_one(const struct cli *c, const struct verb_call *call, char *path,
		    struct request *r, struct err *err)
{
	struct verb_call one = *call;
	char *args[] = { path, NULL };

	one.args = args;
	one.n_args = 1;
	return submission_read(c, &one, r, err);
}

static void report_script(const struct verb_call *call, const char *path, int r,
			  struct err *err)
{
	/* What cannot be opened or parsed is named in the message already. */
	if (!strstr(err->text, path))
		err_prefix(err, r, "%.200s", path);
	cli_complain(call->verb->name, err);
}

static int read_all(const struct cli *c, const struct verb_call *call, struct reading *to,
		    struct err *err)
{
	int n_bad = 0;

	to->requests = calloc((size_t)call->n_args, sizeof(*to->requests));
	if (!to->requests)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < call->n_args; i++) {
		int r;

		request_init(&to->requests[to->n++]);
		r = read_one(c, call, call->args[i], &to->requests[i], err);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			report_script(call, call->args[i], r, err);
		n_bad += r < 0;
	}
	if (n_bad)
		return err_set(err, -EINVAL,
			       "%d of %d scripts cannot be submitted; nothing was submitted",
			       n_bad, call->n_args);
	return 0;
}

int each_script_submit(struct cli *c, const struct verb_call *call, struct each_script_sink to,
		       struct each_script **ret_jobs, struct err *err)
{
	_cleanup_(reading_done) struct reading all = { NULL, 0 };
	struct each_script *jobs;
	int n_sent = 0;
	int r = check_call(call, err);

	if (r == 0)
		r = read_all(c, call, &all, err);
	if (r < 0)
		return r;
	jobs = *ret_jobs = calloc((size_t)call->n_args, sizeof(*jobs));
	if (!jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < call->n_args; i++) {
		jobs[i].path = call->args[i];
		r = submission_send(c, &all.requests[i], &jobs[i].job, err);
		if (r == -EHOSTUNREACH || r == -ENOMEM)
			return err_prefix(err, r, "%.200s (%d of %d were submitted before it)",
					  jobs[i].path, n_sent, call->n_args);
		if (r == 0) {
			n_sent++;
			to.put(to.ctx, &jobs[i]);
			continue;
		}
		report_script(call, jobs[i].path, r, err);
		if (!c->exit_code)
			c->exit_code = (int)cli_exit_code(r);
	}
	return 0;
}
