/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_jobs.c - admits the sender, stores the document in one transaction, updates the share tree; see slurm_jobs.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include "common/err.h"
#include "common/log.h"
#include "common/engine.h"
#include "controller/api/sync/slurm.h"
#include "controller/api/sync/slurm_jobs.h"
#include "controller/api/usage/share_update.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/list.h"
#include "controller/quota/expected.h"

static int find_cluster(struct call *c, const char *cluster, const struct config_cluster **ret,
			struct err *err)
{
	const struct config_cluster *cl = config_cluster(c->api->c.config, cluster);

	*ret = cl;
	if (cl && cl->engine == ENGINE_SLURM)
		return 0;
	err_set(err, 0, "there is no cluster '%.63s' with Engine=slurm here", cluster);
	return call_refuse(
		c, 400, "unknown-cluster",
		"correct Cluster= in reeve-slurm.conf, or Engine= of the [Cluster] in "
		"controller.conf");
}

int route_slurm_admit(struct call *c, const char *cluster, const struct config_cluster **ret,
		      struct err *err)
{
	int r = find_cluster(c, cluster, ret, err);

	if (r < 0 || config_is_slurm_user(c->api->c.config, *ret, c->user))
		return r;
	err_set(err, 0, "user '%s' may not tell of the jobs of cluster '%s'", c->user,
		(*ret)->name);
	return call_refuse(c, 403, NULL,
			   "root and SlurmUser= of the [Cluster] in controller.conf may");
}

static int store_batch(struct call *c, const struct slurm_batch *b,
		       const struct config_cluster *cl, struct store_slurm_result *ret,
		       struct err *err)
{
	struct slurm_pricing pricing = { .api = c->api };
	const struct store_slurm_from from = {
		.now_ns = api_now_ns(),
		.forgotten_ns = cl->slurm_forgotten_s * S_NS,
		.lost_ns = c->api->c.config->node_lost_s * S_NS,
		.price = slurm_find_price,
		.ctx = &pricing,
	};

	return store_slurm_batch(c->api->c.store, b, &from, ret, err);
}

static void log_late(const char *cluster, const struct store_slurm_result *result)
{
	if (result->n_late)
		log_line(LOG_WARNING,
			 "cluster %s: slurmdbd has other figures now of %lld archived jobs "
			 "(job %lld first); the ledger keeps what it charged: 'reeve admin "
			 "reconcile' lists them, 'reeve admin adjust' corrects a charge",
			 cluster, (long long)result->n_late, (long long)result->late_id);
}

/* What was accepted before slurmctld was asked is in one of its lists by now. */
static void set_started(struct api *a, const struct slurm_batch *b)
{
	int64_t now_ns = api_monotonic_ns();
	const struct expected_look look = { now_ns - b->age_ms * MS_NS, now_ns };

	expected_set_started(a->expected, b->cluster, &look);
}

int route_slurm_jobs(struct call *c, struct err *err)
{
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = NULL;
	_cleanup_(store_slurm_result_done) struct store_slurm_result result = { 0 };
	const struct config_cluster *cl;
	int r = slurm_batch_decode(c->body, &b, err);

	if (r >= 0)
		r = route_slurm_admit(c, b->cluster, &cl, err);
	if (r >= 0)
		r = store_batch(c, b, cl, &result, err);
	if (r < 0)
		return r;
	log_late(b->cluster, &result);
	share_update_usage(c->api, &result.changes);
	if (b->is_whole && b->age_ms)
		set_started(c->api, b);
	return slurm_batch_encode_answer(&result.answer, &c->answer, err);
}

static int read_page(struct call *c, struct store_slurm_page *ret, struct err *err)
{
	static const int64_t none = 0, latest = SLURM_BATCH_TIME_MAX;
	const struct wire_int times = { 0, SLURM_BATCH_TIME_MAX, &none };
	int r = call_query_int(c, "from", times, &ret->from_s, err);

	if (r >= 0)
		r = call_query_int(c, "to",
				   (struct wire_int){ 0, SLURM_BATCH_TIME_MAX, &latest },
				   &ret->to_s, err);
	if (r >= 0)
		r = call_query_int(c, "after", (struct wire_int){ 0, UINT32_MAX, &none },
				   &ret->after_id, err);
	return r < 0 ? r : call_query_int(c, "submit", times, &ret->after_submit_s, err);
}

int route_slurm_attempts(struct call *c, struct err *err)
{
	_cleanup_free_ struct slurm_batch_job *jobs = calloc(SLURM_BATCH_MAX, sizeof(*jobs));
	const char *cluster = call_query_text(c, "cluster");
	struct slurm_batch b = { .source = SLURM_BATCH_SLURMDBD,
				 .at_s = api_now_ns() / S_NS,
				 .jobs = jobs };
	const struct config_cluster *cl;
	struct store_slurm_page page;
	int r = jobs ? find_cluster(c, cluster ? cluster : "", &cl, err)
		     : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	if (!c->is_operator && !config_is_slurm_user(c->api->c.config, cl, c->user)) {
		err_set(err, 0, "only operators may compare the ledger with slurmdbd");
		return call_refuse(c, 403, NULL, "");
	}
	page.cluster = cl->name;
	snprintf(b.cluster, sizeof(b.cluster), "%s", cl->name);
	r = read_page(c, &page, err);
	if (r >= 0)
		r = store_slurm_list(c->api->c.store, &page, jobs, &b.n_jobs, err);
	return r < 0 ? r : slurm_batch_encode(&b, &c->answer, err);
}
