/* sync.c - POST /v1/node/sync: take what a node says, tell it what is wanted.
 *
 * The answer is sent at once when there is something to say, else when something changes or the
 * wait is over. A wish that the node was just told and has not carried out yet (a resume that
 * waits for cores) is no news: it is repeated after TOLD_AGAIN, so that neither a lost answer
 * nor a slow node makes either side spin.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/sync/sync.h"
#include "controller/api/call.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/sync/sync_part.h"
#include "controller/api/sync/sync_steps.h"
#include "controller/api/sync/sync_wire.h"
#include "controller/api/sync/sent.h"
#include "controller/api/usage/share_update.h"
#include "controller/ledger/jobs/credential.h"

#define RESEND_NS S_NS

/* One sync on its way to its answer. */
struct talk {
	struct api *api;
	struct exchange *x;
	struct sync *in;
	struct sync_result result;
	char credential[AUTH_HEADER_MAX];
	int64_t deadline_ns;
};

static struct talk *talk_free(struct talk *t)
{
	if (!t)
		return NULL;
	sync_free(t->in);
	sync_result_done(&t->result);
	free(t);
	return NULL;
}
DEFINE_CLEANUP(struct talk *, talk_free)

/* Which cluster the node is of, or why it is none of ours. */
static int admit_node(struct call *c, const struct sync *in, const char **ret_cluster,
		      struct err *err)
{
	const struct config *config = c->api->c.config;
	const struct config_node *n = config_node(config, in->node);

	if (!n && config->accept_nodes != CONFIG_ACCEPT_ANY) {
		err_set(err, 0, "node '%s' is not known here", in->node);
		return call_refuse(c, 403, "unknown-node",
				   "add a [Node NAME] section to controller.conf");
	}
	if (n && n->address && strcmp(n->address, c->who.host) != 0) {
		err_set(err, 0, "node '%s' speaks from %s, not from its address", in->node,
			c->who.host);
		return call_refuse(c, 403, "wrong-address",
				   "correct Address= of the node in controller.conf");
	}
	*ret_cluster = config_cluster(config, n ? n->cluster : "")->name;
	return 0;
}

/* --- the answer --- */

struct wants {
	const struct talk *t;
	json_t *jobs; /* NULL: only look */
	uint64_t digest;
};

static const struct sync_hold *find_hold(const struct sync *in, int64_t job, int32_t attempt)
{
	for (size_t i = 0; i < in->n_jobs; i++)
		if (in->jobs[i].job == job && in->jobs[i].attempt == attempt)
			return &in->jobs[i];
	return NULL;
}

/* Does the node still have to do something? */
static bool is_open(const struct store_desired *g, const struct sync_hold *h)
{
	if (!h)
		return true;
	switch (g->want) {
	case DESIRED_CANCEL:
		return h->state != JOB_ENDING && h->state != JOB_ENDED;
	case DESIRED_SUSPEND:
		return h->state == JOB_RUNNING || h->state == JOB_STARTING;
	default:
		return h->state == JOB_SUSPENDED;
	}
}

static uint64_t mix(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 1099511628211ULL;
}

/* What the node does not have yet: the request, and what its user signed of it. */
static int set_request(struct wants *w, const struct store_desired *g, json_t *j,
		       struct err *err)
{
	_cleanup_free_ char *credential = NULL;
	int r = store_credential(w->t->api->c.store, g->array.job ? g->array.job : g->job,
				 &credential, err);

	if (r < 0)
		return r;
	if (json_object_set_new(j, "request", sync_part_request(g)) < 0 ||
	    (*credential && json_object_set_new(j, "credential", json_string(credential)) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static json_t *encode_want(const struct store_desired *g)
{
	_cleanup_json_ json_t *j =
		json_pack("{s:I,s:i,s:s}", "job", (json_int_t)g->job, "attempt",
			  (int)g->attempt, "want", job_desired_name(g->want));

	if (!j)
		return NULL;
	if (g->want == DESIRED_CANCEL && *g->reason)
		json_object_set_new(j, "reason", json_string(g->reason));
	return TAKE_PTR(j);
}

static int add_want(void *ctx, const struct store_desired *g, struct err *err)
{
	struct wants *w = ctx;
	json_t *j;
	const struct sync_hold *h = find_hold(w->t->in, g->job, g->attempt);

	if (is_open(g, h)) {
		w->digest = mix(w->digest, (uint64_t)g->job);
		w->digest = mix(w->digest, (uint64_t)g->attempt * 8 + g->want * 2 + !h);
	}
	if (!w->jobs)
		return 0;
	j = encode_want(g);
	if (!j || json_array_append_new(w->jobs, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return h ? 0 : set_request(w, g, j, err);
}

static json_t *encode_acks(const struct sync_result *r)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < r->n_acks; i++)
		json_array_append_new(a, json_pack("{s:I,s:i,s:I}", "job",
						   (json_int_t)r->acks[i].job, "attempt",
						   (int)r->acks[i].attempt, "seq",
						   (json_int_t)r->acks[i].seq));
	return TAKE_PTR(a);
}

static json_t *encode_output_acks(const struct sync_result *r)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < r->n_output_acks; i++) {
		const struct sync_output_ack *o = &r->output_acks[i];

		json_array_append_new(a,
				      json_pack("{s:I,s:i,s:s,s:I}", "job", (json_int_t)o->job,
						"attempt", (int)o->attempt, "stream",
						o->stream == SYNC_ERR ? "err" : "out", "offset",
						(json_int_t)o->offset));
		if (o->step)
			json_object_set_new(json_array_get(a, i), "step",
					    json_integer(o->step));
	}
	return TAKE_PTR(a);
}

static json_t *encode_refusals(const struct sync_result *r)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < r->n_refusals; i++)
		json_array_append_new(a, json_pack("{s:I,s:i,s:s}", "job",
						   (json_int_t)r->refusals[i].job, "attempt",
						   (int)r->refusals[i].attempt, "why",
						   r->refusals[i].why));
	return TAKE_PTR(a);
}

static int encode_answer(struct talk *t, json_t **ret, uint64_t *ret_digest, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	_cleanup_json_ json_t *jobs = json_array(), *steps = json_array();
	struct wants w = { t, jobs, 0 };
	int r;

	if (!doc || !jobs || !steps)
		return err_set(err, -ENOMEM, "out of memory");
	r = store_desired(t->api->c.store, t->in->node, add_want, &w, err);
	if (r >= 0)
		r = sync_steps_tell(t->api->c.store, t->in, steps, &w.digest, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "acks", encode_acks(&t->result)) < 0 ||
	    json_object_set_new(doc, "output_acks", encode_output_acks(&t->result)) < 0 ||
	    json_object_set_new(doc, "refused", encode_refusals(&t->result)) < 0 ||
	    json_object_set_new(doc, "step_acks", sync_steps_acks(&t->result)) < 0 ||
	    json_object_set(doc, "jobs", jobs) < 0 || json_object_set(doc, "steps", steps) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	*ret_digest = w.digest;
	return 0;
}

static void answer(struct talk *t)
{
	_cleanup_json_ json_t *doc = NULL;
	struct sync_sent *told = sync_sent_find(&t->api->sent, t->in->node);
	struct err err = { "" };
	uint64_t digest = 0;
	int r = encode_answer(t, &doc, &digest, &err);

	if (r < 0) {
		log_line(LOG_ERR, "answer to node %s: %s", t->in->node, err.text);
		t->api->counts.failures++;
		exchange_answer(t->x, (struct exchange_answer){ .status = 500 });
		return;
	}
	if (told) {
		told->digest = digest;
		told->at_ns = api_monotonic_ns();
	}
	call_answer(t->api, t->x, doc, t->credential);
}

/* Is there something that the node does not know? Else *ret_again: when to say it again. */
static bool has_news(struct talk *t, int64_t *ret_again_ns)
{
	const struct sync_sent *told = sync_sent_find(&t->api->sent, t->in->node);
	struct wants w = { t, NULL, 0 };
	struct err err;

	*ret_again_ns = INT64_MAX;
	if (t->result.n_acks || t->result.n_output_acks || t->result.n_refusals ||
	    t->result.n_step_acks)
		return true;
	if (store_desired(t->api->c.store, t->in->node, add_want, &w, &err) < 0 || !told)
		return true;
	if (sync_steps_tell(t->api->c.store, t->in, NULL, &w.digest, &err) < 0)
		return true;
	if (w.digest == 0)
		return false;
	*ret_again_ns = told->at_ns + RESEND_NS;
	return w.digest != told->digest || api_monotonic_ns() >= *ret_again_ns;
}

static bool on_wake(void *ctx, enum long_poll_why why)
{
	struct talk *t = ctx;
	int64_t again_ns;

	/* Woken: something has changed, so whatever is open is worth saying. */
	if (why == LONG_POLL_WOKEN && !has_news(t, &again_ns) && again_ns == INT64_MAX)
		return false;
	answer(t);
	talk_free(t);
	return true;
}

/* --- the request --- */

static int ingest(struct call *c, struct talk *t, struct err *err)
{
	struct sync_from from = { .now_ns = api_now_ns(),
				  .lost_ns = c->api->c.config->node_lost_s * S_NS };
	int64_t start_ns = api_monotonic_ns(), took_ns;
	const char *cluster = "";
	int r = admit_node(c, t->in, &cluster, err);

	if (r < 0)
		return r;
	snprintf(from.address, sizeof(from.address), "%s", c->who.host);
	snprintf(from.cluster, sizeof(from.cluster), "%s", cluster);
	r = store_ingest(c->api->c.store, t->in, &from, &t->result, err);
	if (r == -ESTALE)
		return call_refuse(c, 409, "overtaken", "");
	if (r < 0)
		return r;
	exchange_mark_node(c->x);
	share_update_usage(c->api, &t->result);
	took_ns = api_monotonic_ns() - start_ns;
	c->api->counts.syncs++;
	c->api->counts.reports += (int64_t)t->in->n_reports;
	c->api->counts.reports_new += (int64_t)t->result.n_accepted;
	c->api->counts.refusals += (int64_t)t->result.n_refusals;
	c->api->counts.ingest_ns += took_ns;
	if (took_ns > c->api->counts.ingest_max_ns)
		c->api->counts.ingest_max_ns = took_ns;
	return 0;
}

static int tell_others(struct api *a, const struct talk *t, struct err *err)
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

static int hold(struct talk *t, int64_t again_ns, struct err *err)
{
	struct long_poll_waiter w = { .kind = LONG_POLL_NODE, .wake = on_wake, .ctx = t };

	w.deadline_ns = t->deadline_ns < again_ns ? t->deadline_ns : again_ns;
	snprintf(w.key, sizeof(w.key), "%s", t->in->node);
	return long_poll_add(t->api->c.poll, &w, err);
}

int route_sync(struct call *c, struct err *err)
{
	static const int64_t no_wait = 0;
	_cleanup_(talk_freep) struct talk *t = calloc(1, sizeof(*t));
	int64_t wait_s, again_ns;
	int r;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->api = c->api;
	t->x = c->x;
	snprintf(t->credential, sizeof(t->credential), "%s",
		 exchange_header(c->x, AUTH_REQUEST_HEADER));
	r = call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &no_wait }, &wait_s,
			   err);
	if (r >= 0)
		r = sync_decode(c->body, &t->in, err);
	if (r >= 0)
		r = ingest(c, t, err);
	if (r < 0)
		return r;
	/* Whoever is held is to be heard of thrice within the time after which it is lost. */
	if (wait_s > c->api->c.config->node_lost_s / 3)
		wait_s = c->api->c.config->node_lost_s / 3;
	t->deadline_ns = api_monotonic_ns() + wait_s * S_NS;
	/* The node speaks anew: whatever poll of it is still here is abandoned. */
	long_poll_replace(c->api->c.poll, LONG_POLL_NODE, t->in->node);
	r = tell_others(c->api, t, err);
	if (r < 0)
		return r;
	if (has_news(t, &again_ns) || wait_s == 0 || hold(t, again_ns, err) < 0) {
		answer(t);
		return CALL_DEFERRED;
	}
	TAKE_PTR(t);
	return CALL_DEFERRED;
}
