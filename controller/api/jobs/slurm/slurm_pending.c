/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_pending.c - keeps the list of jobs that wait in Slurm, and computes their site factors; see slurm_pending.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/slurm_submit.h"
#include "controller/api/authz.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/api/submit/submit.h"
#include "controller/policy/priority/priority.h"
#include "controller/pricing/price.h"
#include "controller/quota/expected.h"
#include "controller/sharetree/sharetree.h"

#define JOBS_MAX 200000 /* of one cluster: 130 MB */

struct job_list {
	struct slurm_pending_job *jobs; /* whole list: sorted by job */
	size_t n, room;
};

struct slurm_pending_table {
	struct slurm_pending_table *next;
	char cluster[REQUEST_NAME_MAX];
	struct job_list whole, coming;
	bool is_coming;
	bool has_whole; /* a list that ended has come, of no jobs perhaps */
};

struct slurm_pending_table *slurm_pending_free(struct slurm_pending_table *t)
{
	while (t) {
		struct slurm_pending_table *next = t->next;

		free(t->whole.jobs);
		free(t->coming.jobs);
		free(t);
		t = next;
	}
	return NULL;
}

static const struct slurm_pending_table *find_table(const struct slurm_pending_table *t,
						    const char *cluster)
{
	while (t && strcmp(t->cluster, cluster) != 0)
		t = t->next;
	return t;
}

static int compare_jobs(const void *a, const void *b)
{
	const struct slurm_pending_job *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

const struct slurm_pending_job *slurm_pending_find(const struct slurm_pending_table *t,
						   const char *cluster, int64_t job)
{
	const struct slurm_pending_job key = { .job = job };

	t = find_table(t, cluster);
	return t && t->whole.n
		       ? bsearch(&key, t->whole.jobs, t->whole.n, sizeof(key), compare_jobs)
		       : NULL;
}

/* ---- the list ---- */

static int make_table(struct api *a, const char *cluster, struct slurm_pending_table **ret,
		      struct err *err)
{
	struct slurm_pending_table *t =
		(struct slurm_pending_table *)(uintptr_t)find_table(a->slurm_pending, cluster);

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			return err_set(err, -ENOMEM, "out of memory");
		snprintf(t->cluster, sizeof(t->cluster), "%s", cluster);
		t->next = a->slurm_pending;
		a->slurm_pending = t;
	}
	*ret = t;
	return 0;
}

static int add_jobs(struct job_list *l, const struct slurm_pending *doc, struct err *err)
{
	if (l->n + doc->n_jobs > JOBS_MAX)
		return err_set(err, -EINVAL, "more than %d jobs wait in cluster %s", JOBS_MAX,
			       doc->cluster);
	if (l->n + doc->n_jobs > l->room) {
		size_t room = 2 * (l->n + doc->n_jobs);
		void *more = realloc(l->jobs, room * sizeof(*l->jobs));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		l->jobs = more;
		l->room = room;
	}
	if (doc->n_jobs)
		memcpy(l->jobs + l->n, doc->jobs, doc->n_jobs * sizeof(*l->jobs));
	l->n += doc->n_jobs;
	return 0;
}

/* ---- what the jobs count against quotas ---- */

/* Priced as the ledger will price it, by the request that slurmctld has. What has no price, or one that cannot be counted, counts as
 * nothing: as it will be charged. */
static void price_job(const struct api *a, const struct config_cluster *cl,
		      const struct slurm_pending_job *j, struct expected_waiting *ret)
{
	bool has_queue = config_has_queue(cl, j->queue);
	const struct price_query query = { .pick = { .cluster = cl->name,
						     .queue = has_queue ? j->queue : "" },
					   .res = { .ncpus = j->ncpus,
						    .ngpus = j->ngpus,
						    .mem_bytes = j->mem_bytes,
						    .walltime_s = j->walltime_s } };
	int64_t walltime_s = j->walltime_s ? j->walltime_s : SLURM_SUBMIT_NO_LIMIT_S;
	struct tariff_price price = { .rate = { 0, 1 } };

	*ret = (struct expected_waiting){ j->array_job ? j->array_job : j->job,
					  { .cluster = cl->name,
					    .account = j->account,
					    .user = j->user,
					    .queue = j->queue,
					    .qos = "",
					    .n_tasks = j->tasks ? j->tasks : 1 } };
	if (price_find(a->c.config, &query, &price, NULL) < 0 ||
	    charge_requested(price.rate, walltime_s * S_NS, &ret->of.need_ms) < 0)
		ret->of.need_ms = 0;
	ret->of.pool = price.pool;
}

static int compare_waiting(const void *a, const void *b)
{
	const struct expected_waiting *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

/* Of the list that has become whole. */
static int expect_jobs(struct api *a, const struct slurm_pending_table *t, int64_t age_ms,
		       struct err *err)
{
	const struct config_cluster *cl = config_cluster(a->c.config, t->cluster);
	size_t n = t->whole.n;
	_cleanup_free_ struct expected_waiting *jobs = calloc(n + 1, sizeof(*jobs));
	int64_t now_ns = api_monotonic_ns();
	struct expected_list list = { t->cluster, { 0, now_ns }, jobs, n };

	if (!jobs)
		return err_set(err, -ENOMEM, "out of memory");
	/* 0: before all that was accepted */
	if (age_ms)
		list.look.asked_ns = now_ns - age_ms * MS_NS;
	for (size_t i = 0; i < n; i++)
		price_job(a, cl, &t->whole.jobs[i], &jobs[i]);
	if (n)
		qsort(jobs, n, sizeof(*jobs), compare_waiting);
	return expected_set_waiting(&a->expected, &list, err);
}

static int take_document(struct api *a, const struct slurm_pending *doc, struct err *err)
{
	struct slurm_pending_table *t = NULL;
	int r = make_table(a, doc->cluster, &t, err);

	if (r < 0)
		return r;
	if (doc->is_first) {
		t->coming.n = 0;
		t->is_coming = true;
	}
	if (!t->is_coming)
		return 0;
	r = add_jobs(&t->coming, doc, err);
	t->is_coming = r >= 0;
	if (r < 0 || !doc->is_last)
		return r;
	free(t->whole.jobs);
	t->whole = t->coming;
	t->coming = (struct job_list){ 0 };
	t->is_coming = false;
	t->has_whole = true;
	if (t->whole.n)
		qsort(t->whole.jobs, t->whole.n, sizeof(*t->whole.jobs), compare_jobs);
	return expect_jobs(a, t, doc->age_ms, err);
}

/* ---- site factors ---- */

static int64_t weight_of(const struct config *c)
{
	int64_t weight = c->policy.weight_fairshare;

	return weight < SLURM_PENDING_SITE_MAX ? weight : SLURM_PENDING_SITE_MAX;
}

static struct sharetree_where where_of(const struct config *c, const struct config_cluster *cl,
				       const struct slurm_pending_job *j)
{
	bool is_gpu = cl->unit == TARIFF_EQUIVALENTS && j->ngpus > 0 &&
		      c->policy.pools == CONFIG_POOLS_SEPARATE;

	return (struct sharetree_where){ cl->name, is_gpu ? CHARGE_POOL_GPU : CHARGE_POOL_CPU };
}

/* Ranks are computed once a list. */
static int compute_ranks(struct call *c, const char *cluster, struct err *err)
{
	struct sharetree_view v;
	int r = 0;

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++)
		r = sharetree_get_view(c->api->c.sharetree,
				       (struct sharetree_where){ cluster, p }, api_now_ns(), &v,
				       err);
	return r;
}

static double factor_of(const struct api *a, const struct config_cluster *cl,
			const struct slurm_pending_job *j)
{
	return sharetree_factor(a->c.sharetree, where_of(a->c.config, cl, j), j->account,
				j->user);
}

static int encode_sites(struct call *c, const struct config_cluster *cl,
			const struct slurm_pending *doc, struct err *err)
{
	int64_t weight = weight_of(c->api->c.config);
	_cleanup_free_ struct slurm_pending_site *sites =
		calloc(doc->n_jobs + 1, sizeof(*sites));
	const struct slurm_pending_table *t = find_table(c->api->slurm_pending, cl->name);
	struct slurm_pending_answer answer = { .weight = weight,
					       .sites = sites,
					       .n_sites = doc->n_jobs,
					       .is_unlisted = !t || !t->has_whole };

	if (!sites)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < doc->n_jobs; i++)
		sites[i].site =
			(int64_t)(factor_of(c->api, cl, &doc->jobs[i]) * (double)weight);
	c->answer = slurm_pending_encode_answer(&answer);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int route_slurm_pending(struct call *c, struct err *err)
{
	_cleanup_(slurm_pending_done) struct slurm_pending doc = { 0 };
	const struct config_cluster *cl;
	int r = slurm_pending_decode(c->body, &doc, err);

	if (r >= 0)
		r = submit_find_slurm_cluster(c, doc.cluster, &cl, err);
	if (r >= 0)
		r = take_document(c->api, &doc, err);
	if (r >= 0 && doc.is_first)
		r = compute_ranks(c, cl->name, err);
	return r < 0 ? r : encode_sites(c, cl, &doc, err);
}

/* ---- one job, for people ---- */

static void word_share(const struct api *a, const struct config_cluster *cl,
		       const struct slurm_pending_job *j, char buf[static 320])
{
	int64_t weight = weight_of(a->c.config);

	if (!weight)
		snprintf(buf, 320,
			 "Reeve's fairshare does not count here: PriorityWeightFairshare is 0");
	else
		snprintf(
			buf, 320,
			"Reeve's part of it is its SiteFactor: fairshare %.6f x %lld; slurmctld has "
			"%lld. 'sprio -j %lld' shows Slurm's part",
			factor_of(a, cl, j), (long long)weight, (long long)j->site,
			(long long)j->job);
}

/* The verdict that a submission of this job would get now. */
static int judge_now(struct call *c, const struct config_cluster *cl,
		     const struct slurm_pending_job *j, struct submit_slurm_verdict *ret,
		     struct err *err)
{
	struct slurm_submit job = { .ncpus = j->ncpus,
				    .ngpus = j->ngpus,
				    .mem_bytes = j->mem_bytes,
				    .walltime_s = j->walltime_s,
				    .tasks = j->tasks ? j->tasks : 1,
				    .job = j->array_job ? j->array_job : j->job,
				    .is_unchanged = true };

	snprintf(job.user, sizeof(job.user), "%s", j->user);
	snprintf(job.account, sizeof(job.account), "%s", j->account);
	snprintf(job.queues, sizeof(job.queues), "%s", j->queue);
	return submit_judge_slurm(c, &job, cl, ret, err);
}

int slurm_pending_answer_why(struct call *c, struct err *err)
{
	const struct slurm_pending_job *j = c->pending;
	const struct config_cluster *cl = c->pending_cluster;
	struct submit_slurm_verdict judged = { .answer.verdict = SLURM_SUBMIT_ACCEPT };
	const struct slurm_submit_answer *quota = &judged.answer;
	_cleanup_doc_ struct doc d = doc_object(), answer = doc_message();
	char share[320];
	int r = authz_sees_job(c, (uint32_t)j->uid, j->account)
			? compute_ranks(c, cl->name, err)
			: err_set(err, -ENOENT, "no job %lld", (long long)j->job);

	if (r >= 0)
		r = judge_now(c, cl, j, &judged, err);
	if (r < 0)
		return r;
	word_share(c->api, cl, j, share);
	doc_int(&d, "job", j->job);
	doc_text(&d, "cluster", cl->name);
	doc_text(&d, "user", j->user);
	doc_text(&d, "account", j->account);
	doc_text(&d, "queue", j->queue);
	doc_text(&d, "reason", j->reason);
	doc_int(&d, "priority", j->priority);
	doc_int(&d, "site_factor", j->site);
	doc_real(&d, "fairshare", factor_of(c->api, cl, j));
	doc_int(&d, "submitted_ns", j->submit_s * S_NS);
	doc_text(&d, "share", share);
	doc_text(&d, "quota", slurm_submit_verdict_name(quota->verdict));
	doc_text_if(&d, "quota_note", quota->text);
	doc_set(&answer, "slurm", doc_take(&d));
	return doc_finish(&answer, &c->answer, err);
}

json_t *slurm_pending_encode_prio(struct call *c, const char *cluster,
				  const struct slurm_pending_job *j)
{
	const struct config *config = c->api->c.config;
	const struct config_cluster *cl = config_cluster(config, cluster);
	int64_t weight = weight_of(config), site;
	_cleanup_doc_ struct doc d = doc_object(), factors = doc_array();
	char product[PRIORITY_TEXT_MAX], words[320];
	double factor;

	if (compute_ranks(c, cluster, NULL) < 0)
		return NULL;
	factor = factor_of(c->api, cl, j);
	site = (int64_t)(factor * (double)weight);
	doc_add(&factors, json_pack("{s:s,s:f,s:I,s:s}", "factor", "fairshare", "value", factor,
				    "weight", (json_int_t)weight, "product",
				    priority_format_micro(site * PRIORITY_UNIT, product)));
	word_share(c->api, cl, j, words);
	doc_int(&d, "job", j->job);
	doc_text(&d, "user", j->user);
	doc_text(&d, "account", j->account);
	doc_text(&d, "cluster", cluster);
	doc_text(&d, "queue", j->queue);
	doc_text(&d, "pool", charge_pool_name(where_of(config, cl, j).pool));
	doc_int(&d, "priority", j->priority);
	doc_text(&d, "sum", product);
	doc_text(&d, "words", words);
	doc_set(&d, "factors", doc_take(&factors));
	return doc_take(&d);
}
