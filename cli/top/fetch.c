/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch.c - plans the requests of a view, and keeps their answers; see fetch.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "cli/cli.h"
#include "cli/client/job_fetch.h"
#include "cli/top/fetch.h"
#include "common/err.h"

void top_plan_done(struct top_plan *p)
{
	for (int i = 0; i < p->n; i++)
		free(p->of[i].path);
	p->n = 0;
}

/* Takes over the path. */
static void add_request(struct top_plan *p, enum top_doc doc, char *path, bool is_optional)
{
	p->of[p->n++] = (struct top_request){ doc, path, is_optional };
}

/* Sums of all nodes, and as many of them as the list shows. */
static int plan_nodes(const struct top_ask *ask, struct top_plan *p, struct err *err)
{
	bool is_list = ask->subject == TOP_CLUSTER && ask->tab == TOP_NODES;
	char *path = NULL;
	int r;

	if (asprintf(&path, "/v1/nodes?%s&limit=%d",
		     ask->subject == TOP_NODE ? "totals=0" : "totals=1",
		     ask->subject == TOP_NODE ? 1
		     : is_list		      ? TOP_NODES_MAX
					      : 0) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(&path, "node", ask->subject == TOP_NODE ? ask->node : NULL, err);
	add_request(p, TOP_DOC_NODES, path, false);
	return r;
}

static int plan_jobs(const struct top_ask *ask, struct top_plan *p, struct err *err)
{
	bool is_sum = ask->tab == TOP_ACCOUNTS || ask->tab == TOP_USERS;
	const char *state = ask->subject == TOP_NODE ? "active"
			    : ask->tab == TOP_QUEUED ? "queued"
						     : "running";
	char *path = NULL;
	int r;

	p->limit = ask->subject == TOP_CLUSTER && is_sum ? TOP_SUMS_MAX : TOP_JOBS_MAX;
	if (asprintf(&path, "/v1/jobs?state=%s&limit=%" PRId64, state, p->limit) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(&path, "user", *ask->user ? ask->user : NULL, err);
	if (r == 0)
		r = cli_query(&path, "account", *ask->account ? ask->account : NULL, err);
	if (r == 0)
		r = cli_query(&path, "node",
			      ask->subject == TOP_NODE ||
					      (*ask->node && ask->tab == TOP_RUNNING)
				      ? ask->node
				      : NULL,
			      err);
	add_request(p, TOP_DOC_JOBS, path, false);
	return r;
}

/* Without its script and environment. A job of Slurm or PBS has no steps of ours. */
static int plan_job(const struct top_ask *ask, struct top_plan *p, struct err *err)
{
	char cluster[REQUEST_NAME_MAX], id[JOB_ID_TEXT_MAX], *path = NULL;
	struct job_id job;
	int64_t foreign = 0;
	int r = job_fetch_split(ask->job, cluster, &foreign, err), n;

	if (r == 0)
		r = cli_parse_job_id(ask->job, &job, err);
	else if (r > 0)
		foreign = foreign > 0 ? foreign : 1;
	if (r < 0)
		return r;
	n = foreign ? asprintf(&path, "/v1/jobs/%" PRId64 "?brief=1&cluster=%s", foreign,
			       cluster)
		    : asprintf(&path, "/v1/jobs/%s?brief=1", job_id_format_path(job, id));
	if (n < 0)
		return err_set(err, -ENOMEM, "out of memory");
	add_request(p, TOP_DOC_JOB, path, false);
	if (foreign)
		return 0;
	if (asprintf(&path, "/v1/jobs/%s/steps", job_id_format_path(job, id)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	add_request(p, TOP_DOC_STEPS, path, true);
	return 0;
}

int top_fetch_plan(const struct top_ask *ask, struct top_plan *ret, struct err *err)
{
	bool has_jobs = ask->subject == TOP_NODE ||
			(ask->subject == TOP_CLUSTER && ask->tab != TOP_NODES);
	int r;

	*ret = (struct top_plan){ .n = 0 };
	if (ask->subject == TOP_JOB)
		r = plan_job(ask, ret, err);
	else
		r = plan_nodes(ask, ret, err);
	if (r == 0 && has_jobs)
		r = plan_jobs(ask, ret, err);
	if (r < 0)
		top_plan_done(ret);
	return r;
}

/* ---- answers ---- */

/* false: the job has no measurement yet. */
static bool read_report(const json_t *job, struct top_rate *ret)
{
	*ret = (struct top_rate){ cli_int(job, "job", 0),
				  cli_int(json_object_get(job, "usage"), "cpu_ns", -1),
				  cli_int(job, "running_ns", 0), -1 };
	return ret->job > 0 && ret->cpu_ns >= 0;
}

/* Without memory there are no rates of these jobs, which is shown as "-". */
static void update_rates(struct top_docs *d)
{
	const json_t *jobs = json_object_get(d->of[TOP_DOC_JOBS], "jobs");
	struct top_rate one, *reports;
	size_t n = 0;

	if (read_report(json_object_get(d->of[TOP_DOC_JOB], "job"), &one))
		top_rates_put(&d->rates, one);
	if (!json_array_size(jobs))
		return;
	reports = calloc(json_array_size(jobs), sizeof(*reports));
	for (size_t i = 0; reports && i < json_array_size(jobs); i++)
		n += read_report(json_array_get(jobs, i), &reports[n]);
	top_rates_update(&d->rates, reports, n);
}

void top_fetch_keep(struct top_docs *d, const struct top_plan *plan, json_t *answers[],
		    int64_t at_ns)
{
	for (int i = 0; i < _TOP_DOC_MAX; i++) {
		json_decref(d->of[i]);
		d->of[i] = NULL;
	}
	for (int i = 0; i < plan->n; i++)
		d->of[plan->of[i].doc] = answers[i];
	d->at_ns = at_ns;
	d->limit = plan->limit;
	update_rates(d);
}
