/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync.c - POST /v1/node/sync: has what a node reports stored (sync_batch.h), and answers with the desired states.
 *
 * The answer is sent at once when it has something new for the node, else when something
 * changes or the time is up. A desired state that was just sent and not carried out yet (a
 * resume that waits for cores) is nothing new: it is sent again after RESEND_NS, so that
 * neither a lost answer nor a slow node makes either side spin. A node may say that acknowledgements are to wait for a
 * moment (linger_ms): what follows its reports, such as the next job of a core that has become free, comes with them then.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-id128.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "controller/api/sync/sync.h"
#include "controller/api/answer.h"
#include "controller/api/call.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/sync/desired.h"
#include "controller/api/sync/sent.h"
#include "controller/api/sync/slurm.h"
#include "controller/api/sync/sync_batch.h"
#include "controller/api/usage/share_update.h"
#include "controller/ledger/attempts/bound/clock_step.h"
#include "controller/ledger/identity.h"

#define RESEND_NS S_NS
#define LINGER_MAX_MS 10000

/* An agent that does not wait for orders would get some, or one that does would get none. */
static int check_engine(struct call *c, const struct sync *in, const struct config_cluster *cl,
			struct err *err)
{
	if ((int)in->engine == cl->engine)
		return 0;
	err_set(err, 0, "node '%s' has Engine=%s, and cluster '%s' has Engine=%s", in->node,
		engine_words[in->engine], cl->name, engine_words[cl->engine]);
	return call_refuse(
		c, 403, "wrong-engine",
		"set Engine= in agent.conf of the node and Engine= of its [Cluster] in "
		"controller.conf to the same");
}

/* Finds the cluster of the node; refuses a node that is not configured, or not at its address.
 */
static int admit_node(struct call *c, const struct sync *in,
		      char ret_cluster[static REQUEST_NAME_MAX], struct err *err)
{
	const struct config *config = c->api->c.config;
	const struct config_cluster *cl;
	const struct config_node *n = config_node(config, in->node);

	if (!n && config->accept_nodes != CONFIG_ACCEPT_ANY) {
		err_set(err, 0, "node '%s' is not known here", in->node);
		return call_refuse(c, 403, "unknown-node",
				   "add a [Node NAME] section to controller.conf");
	}
	if (n && n->address && strcmp(n->address, c->who.host) != 0) {
		err_set(err, 0, "node '%s' connects from %s, not from its address", in->node,
			c->who.host);
		return call_refuse(c, 403, "wrong-address",
				   "correct Address= of the node in controller.conf");
	}
	cl = config_cluster(config, n ? n->cluster : "");
	snprintf(ret_cluster, REQUEST_NAME_MAX, "%s", cl->name);
	return check_engine(c, in, cl, err);
}

/* --- the answer --- */

/* Its lists stay those of the result and of `d`. */
static int encode_answer(struct talk *t, struct sync_desired *d, json_t **ret, struct err *err)
{
	struct sync_result *r = &t->result;
	const struct store_identity *ledger = store_identity(t->api->c.store);
	struct sync_answer answer = { .acks = r->acks,
				      .n_acks = r->n_acks,
				      .output_acks = r->output_acks,
				      .n_output_acks = r->n_output_acks,
				      .refusals = r->refusals,
				      .n_refusals = r->n_refusals,
				      .step_acks = r->step_acks,
				      .n_step_acks = r->n_step_acks,
				      .jobs = d->jobs,
				      .n_jobs = d->n_jobs,
				      .steps = d->steps,
				      .n_steps = d->n_steps,
				      .restored_ns = ledger->restored_ns };

	snprintf(answer.ledger, sizeof(answer.ledger), "%s", ledger->id);

	if (engine_is_foreign(t->in->engine))
		slurm_translate_answer(t->in->engine, r, d);
	return sync_answer_encode(&answer, ret, err);
}

static void answer_failure(struct talk *t, const struct err *err)
{
	log_line(LOG_ERR, "answer to node %s: %s", t->in->node, err->text);
	t->api->counts.failures++;
	exchange_answer(t->x, (struct exchange_answer){ .status = 500 });
}

static void answer_node(struct talk *t, struct sync_desired *d)
{
	struct sync_sent *sent = sync_sent_find(&t->api->sent, t->in->node);
	_cleanup_json_ json_t *doc = NULL;
	struct err err = { "" };

	if (encode_answer(t, d, &doc, &err) < 0) {
		answer_failure(t, &err);
		return;
	}
	if (sent) {
		sent->digest = d->digest;
		sent->at_ns = api_monotonic_ns();
	}
	call_answer(t->api, t->x, doc, t->credential);
}

static bool has_new_orders(const struct talk *t, const struct sync_desired *d)
{
	const struct sync_sent *sent = sync_sent_find(&t->api->sent, t->in->node);

	return !sent || (d->digest && d->digest != sent->digest);
}

/* Does the answer have something new for the node? Otherwise *ret_again_ns: when to send it
 * again; INT64_MAX: never. */
static bool has_something_new(struct talk *t, const struct sync_desired *d,
			      int64_t *ret_again_ns)
{
	const struct sync_sent *sent = sync_sent_find(&t->api->sent, t->in->node);

	*ret_again_ns = INT64_MAX;
	if (t->result.n_acks || t->result.n_output_acks || t->result.n_refusals ||
	    t->result.n_step_acks || !sent)
		return true;
	if (d->digest == 0)
		return false;
	*ret_again_ns = sent->at_ns + RESEND_NS;
	return d->digest != sent->digest || api_monotonic_ns() >= *ret_again_ns;
}

static bool on_wake(void *ctx, enum long_poll_why why)
{
	struct talk *t = ctx;
	_cleanup_(sync_desired_done) struct sync_desired d = { 0 };
	struct err err = { "" };
	int64_t again_ns;

	if (why == LONG_POLL_ABANDONED) {
		/* This is read by no one, and not worth a signature. */
		exchange_answer(t->x, (struct exchange_answer){ .status = 409 });
	} else if (sync_desired_read(t->api, t->in, NULL, &d, &err) < 0) {
		answer_failure(t, &err);
	} else {
		/* Woken because something changed: any open desired state is worth an answer.
		 */
		if (why == LONG_POLL_WOKEN && !has_something_new(t, &d, &again_ns) &&
		    again_ns == INT64_MAX)
			return false;
		answer_node(t, &d);
	}
	talk_free(t);
	return true;
}

/* --- the request --- */

/* Before the time of a job is bounded by the clock. */
static int note_clock(struct api *a, int64_t now_ns, struct err *err)
{
	char boot[SD_ID128_STRING_MAX] = "";
	sd_id128_t id;
	int64_t back_ns;

	if (sd_id128_get_boot(&id) >= 0)
		sd_id128_to_string(id, boot);
	back_ns = store_clock_step(
		a->c.store, &(struct store_clock){ boot, now_ns, clock_ns(CLOCK_BOOTTIME) },
		err);
	if (back_ns > 0)
		log_line(
			LOG_WARNING,
			"the clock was set back by %lld s: jobs that run are taken to have been "
			"dispatched as much earlier",
			(long long)(back_ns / S_NS));
	return back_ns < 0 ? (int)back_ns : 0;
}

/* After the commit: readers of jobs, output and steps, other nodes of the same jobs, the
 * scheduler. */
static int wake_others(struct api *a, const struct talk *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->in->n_reports; i++)
		api_wake_job(a, t->in->reports[i].job);
	for (size_t i = 0; i < t->in->n_outputs; i++)
		api_wake_step(a, t->in->outputs[i].job, t->in->outputs[i].step);
	for (size_t i = 0; i < t->result.n_step_acks; i++)
		api_wake_step(a, t->result.step_acks[i].job, t->result.step_acks[i].step);
	for (size_t i = 0; i < t->result.n_affected && r >= 0; i++)
		r = parts_wake(a, t->result.affected[i], err);
	if (t->result.has_freed)
		api_request_cycle(a);
	return r;
}

static int add_waiter(struct talk *t, int64_t again_ns, struct err *err)
{
	struct long_poll_waiter w = { .kind = LONG_POLL_NODE, .wake = on_wake, .ctx = t };

	w.deadline_ns = t->deadline_ns < again_ns ? t->deadline_ns : again_ns;
	snprintf(w.key, sizeof(w.key), "%s", t->in->node);
	return long_poll_add(t->api->c.poll, &w, err);
}

static int read_patience(struct call *c, struct talk_patience *ret, struct err *err)
{
	static const int64_t none = 0;
	int64_t lost_s = c->api->c.config->node_lost_s;
	int r = call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &none },
			       &ret->wait_s, err);

	if (r >= 0)
		r = call_query_int(c, "linger_ms", (struct wire_int){ 0, LINGER_MAX_MS, &none },
				   &ret->linger_ms, err);
	/* A waiting node sends at least three requests before it would be lost. */
	if (r >= 0 && ret->wait_s > lost_s / 3)
		ret->wait_s = lost_s / 3;
	return r;
}

/* Sets the deadline. False: the answer is to be sent now. */
static bool can_wait(struct talk *t, const struct talk_patience *p,
		     const struct sync_desired *d, int64_t *ret_again_ns)
{
	int64_t now_ns = api_monotonic_ns();

	t->deadline_ns = now_ns + p->wait_s * S_NS;
	if (!has_something_new(t, d, ret_again_ns))
		return p->wait_s > 0;
	if (!p->linger_ms || has_new_orders(t, d))
		return false;
	t->deadline_ns = now_ns + p->linger_ms * MS_NS;
	*ret_again_ns = INT64_MAX;
	return true;
}

/* What follows from the exchange outside the ledger. */
static void note_stored(struct talk *t)
{
	exchange_mark_node(t->x);
	if (t->result.n_bad_series)
		log_line(LOG_WARNING,
			 "node %s: %zu series of jobs are not readable and were dropped",
			 t->in->node, t->result.n_bad_series);
	share_update_usage(t->api, &t->result);
	/* A node has one exchange at a time: it has abandoned an earlier one that still waits.
	 */
	long_poll_drop(t->api->c.poll, LONG_POLL_NODE, t->in->node);
}

/* 1: it was answered; 0: it waits. */
static int answer_or_wait(struct talk *t, struct err *err)
{
	int64_t again_ns;
	int r = wake_others(t->api, t, err);

	if (r < 0)
		return r;
	if (can_wait(t, &t->patience, &t->desired, &again_ns) &&
	    add_waiter(t, again_ns, err) >= 0) {
		sync_desired_done(&t->desired);
		return 0;
	}
	answer_node(t, &t->desired);
	return 1;
}

static void finish_talk(struct talk *t)
{
	int r = t->r;

	if (r == -ESTALE)
		r = call_refuse(&t->call, 409, "overtaken", "");
	if (r >= 0) {
		note_stored(t);
		r = answer_or_wait(t, &t->err);
	}
	if (r < 0)
		answer_finish(&t->call, r, &t->err);
	if (r != 0)
		talk_free(t);
}

static int read_talk(struct call *c, struct talk *t, struct err *err)
{
	int r = read_patience(c, &t->patience, err);

	if (r >= 0)
		r = sync_decode(c->body, &t->in, err);
	if (r >= 0)
		r = admit_node(c, t->in, t->cluster, err);
	return r < 0 ? r : note_clock(c->api, api_now_ns(), err);
}

int route_sync(struct call *c, struct err *err)
{
	_cleanup_(talk_freep) struct talk *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->api = c->api;
	t->x = c->x;
	t->finish = finish_talk;
	snprintf(t->credential, sizeof(t->credential), "%s",
		 exchange_header(c->x, AUTH_REQUEST_HEADER));
	r = read_talk(c, t, err);
	t->call = *c;
	t->call.body = NULL;
	if (r >= 0)
		r = sync_batch_add(t, err);
	if (r < 0)
		return r;
	TAKE_PTR(t);
	return CALL_DEFERRED;
}
