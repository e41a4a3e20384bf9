/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch.c - POST /v1/jobs: queues the call, runs the chain of each submission in one
 * transaction, and answers; see batch.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/answer.h"
#include "controller/api/submit/batch.h"
#include "controller/api/submit/round_robin.h"
#include "controller/api/submit/submit.h"

#define BATCH_MAX 256
/* A batch is filled for four times as long as the last commit took: then the disk costs at most
 * a fifth of the time, and other calls are answered soon. */
#define BATCH_PER_COMMIT 4
#define BATCH_LEAST_NS 4000000
#define BATCH_MOST_NS 40000000

/* One submission that waits. */
struct waiting {
	struct round_robin_entry entry; /* first */
	struct call call;
	struct submit_result result;
	struct err err;
	int r;
};

struct submit_batches {
	struct api *api;
	struct sd_event_source *source;
	struct queue_limits *limits;
	struct round_robin queue;
	int64_t fill_ns; /* how long the next batch may be filled */
};

static struct waiting *take_next(struct submit_batches *b)
{
	return (struct waiting *)round_robin_take(&b->queue);
}

/* ---- one submission ---- */

static void answer_one(struct waiting *w)
{
	if (w->r >= 0)
		submit_finish(&w->call, &w->result);
	answer_finish(&w->call, w->r, &w->err);
	free(w);
}

/* A waiting body stays text: that is bounded and counted (server.h). Parsed it
 * takes many times as much, so it is parsed only here. */
static int run_one(struct submit_batches *b, struct waiting *w, struct err *err)
{
	size_t size;
	const char *text = exchange_body(w->call.x, &size);
	int r = wire_parse(text, size, &w->call.body, err);

	if (r >= 0)
		r = submit_run(&w->call, b->limits, &w->result, err);
	json_decref(w->call.body);
	w->call.body = NULL;
	return r;
}

/* Stores one submission in a transaction of its own, after its batch could not be written: the
 * fault of one must not fail the others. Nothing of the first run is kept. */
static void store_alone(struct submit_batches *b, struct waiting *w)
{
	struct store *s = b->api->c.store;

	json_decref(w->call.answer);
	w->call.answer = NULL;
	w->call.status = 0;
	w->result = (struct submit_result){ 0 };
	w->r = store_begin(s, &w->err);
	if (w->r < 0)
		return;
	w->r = run_one(b, w, &w->err);
	if (w->r >= 0)
		w->r = store_commit(s, &w->err);
	else
		store_rollback(s);
}

/* A refusal has a status; anything else below 0 is a fault of the ledger. */
static bool is_ledger_fault(const struct waiting *w)
{
	return w->result.has_ledger_failed ||
	       (w->r < 0 && w->call.status < 400 && w->r != -EINVAL && w->r != -ENOENT);
}

/* ---- a batch ---- */

/* Runs waiting submissions in the open transaction. Returns how many; *ret_has_failed: the
 * ledger failed, and the transaction must be rolled back. */
static size_t fill_batch(struct submit_batches *b, struct waiting **batch, bool *ret_has_failed)
{
	int64_t start_ns = api_monotonic_ns();
	size_t n = 0;

	*ret_has_failed = false;
	while (n < BATCH_MAX && api_monotonic_ns() - start_ns < b->fill_ns) {
		struct waiting *w = take_next(b);

		if (!w)
			break;
		batch[n++] = w;
		w->r = run_one(b, w, &w->err);
		*ret_has_failed = is_ledger_fault(w);
		if (*ret_has_failed)
			break;
	}
	return n;
}

static int commit_batch(struct submit_batches *b, struct err *err)
{
	int64_t start_ns = api_monotonic_ns();
	int r = store_commit(b->api->c.store, err);
	int64_t next_ns = (api_monotonic_ns() - start_ns) * BATCH_PER_COMMIT;

	if (next_ns < BATCH_LEAST_NS)
		next_ns = BATCH_LEAST_NS;
	b->fill_ns = next_ns < BATCH_MOST_NS ? next_ns : BATCH_MOST_NS;
	return r;
}

static void store_batch(struct submit_batches *b)
{
	struct waiting *batch[BATCH_MAX];
	struct store *s = b->api->c.store;
	struct err err = { "" };
	bool has_failed;
	size_t n;
	int r = store_begin(s, &err);

	if (r < 0) { /* the next call gets the error; the others are tried again */
		batch[0] = take_next(b);
		batch[0]->r = r;
		batch[0]->err = err;
		answer_one(batch[0]);
		return;
	}
	n = fill_batch(b, batch, &has_failed);
	if (has_failed)
		store_rollback(s);
	else
		has_failed = commit_batch(b, &err) < 0;
	for (size_t i = 0; i < n; i++) {
		if (has_failed)
			store_alone(b, batch[i]);
		answer_one(batch[i]);
	}
	b->api->counts.batches++;
}

static int on_batch(sd_event_source *source, void *ctx)
{
	STOPS_IN("submissions");
	struct submit_batches *b = ctx;

	if (!round_robin_is_empty(&b->queue))
		store_batch(b);
	return sd_event_source_set_enabled(
		source, round_robin_is_empty(&b->queue) ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* ---- open, close, route ---- */

struct submit_batches *submit_batches_close(struct submit_batches *b)
{
	struct waiting *w;

	if (!b)
		return NULL;
	while ((w = take_next(b)))
		free(w);
	sd_event_source_disable_unref(b->source);
	queue_limits_free(b->limits);
	free(b);
	return NULL;
}
DEFINE_CLEANUP(struct submit_batches *, submit_batches_close)

static int open_batches(struct api *a, struct err *err)
{
	_cleanup_(submit_batches_closep) struct submit_batches *b = calloc(1, sizeof(*b));
	int r;

	if (a->batches)
		return 0;
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->api = a;
	b->fill_ns = BATCH_LEAST_NS;
	r = queue_limits_new(&b->limits, err);
	if (r < 0)
		return r;
	r = sd_event_add_defer(a->c.event, &b->source, on_batch, b);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	a->batches = TAKE_PTR(b);
	return 0;
}

int route_submit(struct call *c, struct err *err)
{
	struct waiting *w;
	int r = open_batches(c->api, err);

	if (r < 0)
		return r;
	w = calloc(1, sizeof(*w));
	if (!w || round_robin_add(&c->api->batches->queue, c->who.uid, &w->entry) < 0) {
		free(w);
		return err_set(err, -ENOMEM, "out of memory");
	}
	w->call = *c;
	w->call.body = NULL;
	exchange_keep_body(c->x, true);
	sd_event_source_set_enabled(c->api->batches->source, SD_EVENT_ONESHOT);
	return CALL_DEFERRED;
}
