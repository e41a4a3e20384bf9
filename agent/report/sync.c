/* sync.c - encode and decode the exchange of the node with the controller; see sync.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/sync.h"
#include "common/err.h"
#include "common/wire/doc.h"

static json_t *encode_capacity(const struct admit_capacity *c)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "ncpus", (json_int_t)c->ncpus, "mem_bytes",
			 (json_int_t)c->mem_bytes, "jobfs_bytes", (json_int_t)c->jobfs_bytes,
			 "ngpus", (json_int_t)c->ngpus);
}

/* What is free, of GPUs by model too: what there is of these the devices say. */
static json_t *encode_free(const struct admit_capacity *c)
{
	_cleanup_json_ json_t *j = encode_capacity(c);
	json_t *models;

	if (!j || c->gpus.n == 0)
		return TAKE_PTR(j);
	models = json_object();
	if (json_object_set_new(j, "gpu_models", models) < 0)
		return NULL;
	for (int32_t i = 0; i < c->gpus.n; i++)
		if (json_object_set_new(models, c->gpus.of[i].model,
					json_integer(c->gpus.of[i].n)) < 0)
			return NULL;
	return TAKE_PTR(j);
}

static json_t *encode_gpu(const struct sync_gpu *g)
{
	json_t *j = json_pack("{s:o,s:s,s:o*,s:s*,s:I}", "uuid", wire_string(g->uuid), "model",
			      g->model, "product", g->product ? wire_string(g->product) : NULL,
			      "vendor", g->vendor, "mem_bytes", (json_int_t)g->mem_bytes);

	if (j && g->numa_node >= 0)
		json_object_set_new(j, "numa_node", json_integer(g->numa_node));
	if (j && g->is_simulated)
		json_object_set_new(j, "simulated", json_true());
	if (j && g->is_partitioned)
		json_object_set_new(j, "partitioned", json_true());
	if (j && g->is_drained)
		json_object_set_new(j, "drained", json_true());
	return j;
}

static json_t *encode_gpus(const struct sync_node *node)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < node->n_gpus; i++)
		if (json_array_append_new(a, encode_gpu(&node->gpus[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static json_t *encode_jobs(const struct sync_node *node)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < node->n_jobs; i++) {
		const struct sync_job *j = &node->jobs[i];

		if (json_array_append_new(a,
					  json_pack("{s:I,s:i,s:s}", "job", (json_int_t)j->job,
						    "attempt", (int)j->attempt, "state",
						    job_state_name(j->state))) < 0)
			return NULL;
	}
	return TAKE_PTR(a);
}

static int set_found(json_t *doc, const struct sync_node *node)
{
	json_t *a = node->n_found ? json_array() : NULL;

	if (!node->n_found)
		return 0;
	if (json_object_set_new(doc, "found", a) < 0)
		return -1;
	for (size_t i = 0; i < node->n_found; i++)
		if (json_array_append_new(
			    a, json_pack("{s:I,s:i}", "job", (json_int_t)node->found[i].job,
					 "attempt", (int)node->found[i].attempt)) < 0)
			return -1;
	return 0;
}

static json_t *encode_notes(const struct sync_node *node)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && node->notes && node->notes[i]; i++)
		if (json_array_append_new(a, wire_string(node->notes[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

/* The node's type and features, where configured. */
static int set_kind(json_t *doc, const struct sync_node *node)
{
	if (node->node_type && *node->node_type &&
	    json_object_set_new(doc, "node_type", json_string(node->node_type)) < 0)
		return -1;
	if (node->features && *node->features)
		return json_object_set_new(doc, "features", json_string(node->features));
	return 0;
}

json_t *sync_encode(const struct sync_node *node)
{
	json_t *capacity = encode_capacity(&node->capacity), *doc;

	if (!capacity ||
	    json_object_set_new(capacity, "topology", wire_string(node->topology)) < 0) {
		json_decref(capacity);
		return NULL;
	}
	doc = json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:s,s:i,s:o,s:o,s:[],s:[]}", "schema",
			WIRE_SCHEMA, "node", node->node, "boot", node->boot, "version",
			node->version, "capacity", capacity, "free", encode_free(&node->free),
			"state", node->draining ? "drain" : "up", "tier", node->tier, "notes",
			encode_notes(node), "jobs", encode_jobs(node), "reports", "output");
	if (doc && node->n_gpus && json_object_set_new(doc, "gpus", encode_gpus(node)) < 0)
		doc = wire_unref(doc);
	if (doc && (set_kind(doc, node) < 0 || set_found(doc, node) < 0 ||
		    sync_steps_encode(doc, node->steps, node->n_steps) < 0))
		doc = wire_unref(doc);
	return doc;
}

int sync_add_output(json_t *doc, const struct sync_chunk *c, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "job", c->job);
	doc_int(&d, "attempt", c->attempt);
	doc_text(&d, "stream", sync_stream_name(c->stream));
	doc_int(&d, "offset", c->offset);
	doc_bytes(&d, "data", c->data, c->size);
	if (c->step)
		doc_int(&d, "step", c->step);
	doc_flag(&d, "end", c->end);
	if (json_array_append_new(json_object_get(doc, "output"), doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* What the answer is read into, one element at a time. */
struct item {
	int64_t job, number; /* seq or offset */
	int64_t step;	     /* 0: none */
	int32_t attempt;
	enum sync_stream stream;
	enum job_desired want;
	char text[512];
	const json_t *request;
	const char *credential; /* borrowed; NULL: none */
};

struct apply {
	struct spool *spool;
	const struct sync_handlers *handlers;
	void *ctx;
	struct item *settled; /* attempts whose final report was acknowledged */
	size_t n_settled;
};

typedef int (*decode_fn)(const json_t *j, struct item *ret, struct err *err);
typedef int (*act_fn)(struct apply *a, const struct item *it, struct err *err);

static int decode_ids(const json_t *j, struct item *ret, struct err *err)
{
	*ret = (struct item){ 0 };
	return sync_get_attempt(j, &ret->job, &ret->attempt, err);
}

static int decode_ack(const json_t *j, struct item *ret, struct err *err)
{
	int r = decode_ids(j, ret, err);

	return r < 0 ? r
		     : wire_get_int(j, "seq", (struct wire_int){ 0, INT64_MAX, NULL },
				    &ret->number, err);
}

static int decode_output_ack(const json_t *j, struct item *ret, struct err *err)
{
	const int64_t none = 0;
	char word[32];
	int r = decode_ids(j, ret, err);

	if (r >= 0)
		r = wire_get_int(j, "step", (struct wire_int){ 0, INT64_MAX, &none },
				 &ret->step, err);
	if (r >= 0)
		r = wire_get_text(j, "stream", (struct wire_text){ word, sizeof(word), false },
				  err);
	if (r >= 0)
		r = sync_stream_parse(word, &ret->stream, err);
	if (r >= 0)
		r = wire_get_int(j, "offset", (struct wire_int){ 0, INT64_MAX, NULL },
				 &ret->number, err);
	return r;
}

static int decode_refused(const json_t *j, struct item *ret, struct err *err)
{
	int r = decode_ids(j, ret, err);

	return r < 0 ? r
		     : wire_get_text(j, "why",
				     (struct wire_text){ ret->text, sizeof(ret->text), true },
				     err);
}

static int decode_order(const json_t *j, struct item *ret, struct err *err)
{
	char word[32];
	int r = decode_ids(j, ret, err);

	if (r >= 0)
		r = wire_get_text(j, "want", (struct wire_text){ word, sizeof(word), false },
				  err);
	if (r >= 0 && job_desired_parse(word, &ret->want) < 0)
		r = err_set(err, -EINVAL, "'%.32s' is unknown", word);
	if (r >= 0)
		r = wire_get_text(j, "reason",
				  (struct wire_text){ ret->text, sizeof(ret->text), true },
				  err);
	if (r >= 0) {
		ret->request = json_object_get(j, "request");
		ret->credential = json_string_value(json_object_get(j, "credential"));
	}
	return r;
}

static int act_ack(struct apply *a, const struct item *it, struct err *err)
{
	int r = spool_ack(a->spool, it->job, it->attempt, it->number, err);

	if (r == SPOOL_FINAL)
		a->settled[a->n_settled++] = *it;
	return r < 0 ? r : 0;
}

static int act_forget(struct apply *a, const struct item *it, struct err *err)
{
	return spool_forget(a->spool, it->job, it->attempt, err);
}

static int act_refused(struct apply *a, const struct item *it, struct err *err)
{
	(void)err;
	if (a->handlers->on_refused)
		a->handlers->on_refused(a->ctx, it->job, it->attempt, it->text);
	return 0;
}

static int act_output_ack(struct apply *a, const struct item *it, struct err *err)
{
	struct sync_chunk ack = { .job = it->job,
				  .step = it->step,
				  .attempt = it->attempt,
				  .stream = it->stream,
				  .offset = it->number };

	(void)err;
	if (a->handlers->on_output_ack)
		a->handlers->on_output_ack(a->ctx, &ack);
	return 0;
}

/* A request that cannot be read must not hold up the rest of the answer, nor be asked for for
 * ever: it goes to the handler as bad. */
static int act_order(struct apply *a, const struct item *it, struct err *err)
{
	struct sync_order order = { .job = it->job,
				    .attempt = it->attempt,
				    .want = it->want,
				    .credential = it->credential,
				    .reason = it->text };
	struct request request;
	struct err why = { "" };

	(void)err;
	request_init(&request);
	if (it->request && !json_is_null(it->request)) {
		if (wire_decode_request(it->request, "request", &request, &why) < 0)
			order.bad = why.text;
		else
			order.request = &request;
	}
	if (a->handlers->on_want)
		a->handlers->on_want(a->ctx, &order);
	request_done(&request);
	return 0;
}

/* One array of the answer: every element decoded, and acted on when `act` is given. */
struct part {
	const char *key;
	decode_fn decode;
	act_fn act;
};

static int walk(const json_t *answer, const struct part *p, struct apply *a, struct err *err)
{
	const json_t *array = json_object_get(answer, p->key);
	struct item it;
	int r;

	if (!array || json_is_null(array))
		return 0;
	if (!json_is_array(array))
		return err_set(err, -EINVAL, "%s is not an array", p->key);
	for (size_t i = 0; i < json_array_size(array); i++) {
		r = p->decode(json_array_get(array, i), &it, err);
		if (r >= 0 && p->act)
			r = p->act(a, &it, err);
		if (r < 0)
			return err_prefix(err, r, "%s[%zu]", p->key, i);
	}
	return 0;
}

static int walk_all(const json_t *answer, const struct part *parts, struct apply *a,
		    struct err *err)
{
	int r = 0;

	for (const struct part *p = parts; p->key && r >= 0; p++)
		r = walk(answer, p, a, err);
	return r;
}

static const struct part check_parts[] = {
	{ "acks", decode_ack, NULL },
	{ "output_acks", decode_output_ack, NULL },
	{ "refused", decode_refused, NULL },
	{ "jobs", decode_order, NULL },
	{ NULL, NULL, NULL },
};
static const struct part spool_parts[] = {
	{ "acks", decode_ack, act_ack },
	{ "refused", decode_refused, act_forget },
	{ NULL, NULL, NULL },
};
static const struct part call_parts[] = {
	{ "output_acks", decode_output_ack, act_output_ack },
	{ "refused", decode_refused, act_refused },
	{ "jobs", decode_order, act_order },
	{ NULL, NULL, NULL },
};

/* Acks and refusals as one commit; where the store refuses that, one by one, which the spool
 * then keeps in mind. < 0: it cannot be read: what was acknowledged will be sent again. */
static int apply_to_spool(const json_t *answer, struct apply *a)
{
	bool is_begun = spool_begin(a->spool, NULL) >= 0;
	int r = walk_all(answer, spool_parts, a, NULL);

	if (!is_begun)
		return r;
	if (r < 0) {
		spool_rollback(a->spool);
		return r;
	}
	if (spool_commit(a->spool, NULL) >= 0)
		return 0;
	a->n_settled = 0;
	return walk_all(answer, spool_parts, a, NULL);
}

static int count(const json_t *answer, const char *key)
{
	return (int)json_array_size(json_object_get(answer, key));
}

int sync_apply(const json_t *answer, struct spool *spool, const struct sync_handlers *handlers,
	       void *ctx, struct err *err)
{
	struct apply a = { .spool = spool, .handlers = handlers, .ctx = ctx };
	_cleanup_free_ struct item *settled = NULL;
	int n_acks = count(answer, "acks"), r;

	r = walk_all(answer, check_parts, &a, err);
	if (r >= 0)
		r = sync_steps_check(answer, err);
	if (r < 0)
		return r;
	settled = calloc((size_t)n_acks + 1, sizeof(*settled));
	if (!settled)
		return err_set(err, -ENOMEM, "out of memory");
	a.settled = settled;
	/* Whatever the store says: what is wanted of jobs is in the same answer. */
	if ((n_acks || count(answer, "refused")) && apply_to_spool(answer, &a) < 0)
		n_acks = 0;
	for (size_t i = 0; i < a.n_settled && handlers->on_settled; i++)
		handlers->on_settled(ctx, settled[i].job, settled[i].attempt);
	r = walk_all(answer, call_parts, &a, err);
	if (r < 0)
		return r;
	n_acks += sync_steps_act(answer, &handlers->steps, ctx);
	return n_acks + count(answer, "output_acks");
}
