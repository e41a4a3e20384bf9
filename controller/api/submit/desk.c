/* desk.c - POST /v1/jobs; see desk.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/answer.h"
#include "controller/api/submit/desk.h"
#include "controller/api/submit/lines.h"
#include "controller/api/submit/submit.h"

#define BATCH_MAX 256
/* A batch is looked at for four times as long as the last one took to get on disk: then the
 * disk costs a fifth of the time at most, and others are heard soon. */
#define BATCH_PER_COMMIT 4
#define BATCH_LEAST_NS 4000000
#define BATCH_MOST_NS 40000000

/* One that waits. */
struct paper {
	struct lines_entry entry; /* first */
	struct call call;
	struct submission done;
	struct err err;
	int r;
};

struct desk {
	struct api *api;
	struct sd_event_source *source;
	struct bounds *bounds;
	struct lines lines;
	int64_t batch_ns; /* so long may a batch be looked at */
};

static struct paper *take_next(struct desk *d)
{
	return (struct paper *)lines_take(&d->lines);
}

/* ---- batches ---- */

static void finish(struct paper *p)
{
	if (p->r >= 0)
		submit_finish(&p->call, &p->done);
	answer_finish(&p->call, p->r, &p->err);
	free(p);
}

/* What waits is kept as it was sent, which is bounded and counted (server.h): parsed, it takes
 * many times as much. */
static int take_in(struct desk *d, struct paper *p, struct err *err)
{
	size_t size;
	const char *text = exchange_body(p->call.x, &size);
	int r = wire_parse(text, size, &p->call.body, err);

	if (r >= 0)
		r = submit_take(&p->call, d->bounds, &p->done, err);
	json_decref(p->call.body);
	p->call.body = NULL;
	return r;
}

/* By itself, where the batch could not be written: what is wrong with one is not the others'.
 */
static void write_alone(struct desk *d, struct paper *p)
{
	struct store *s = d->api->c.store;

	json_decref(p->call.answer);
	p->call.answer = NULL;
	p->call.status = 0;
	p->done = (struct submission){ 0 };
	p->r = store_begin(s, &p->err);
	if (p->r < 0)
		return;
	p->r = take_in(d, p, &p->err);
	if (p->r >= 0)
		p->r = store_commit(s, &p->err);
	else
		store_rollback(s);
}

/* A refusal has a status; anything else below 0 is a fault of the ledger. */
static bool is_fault(const struct paper *p)
{
	return p->done.has_failed ||
	       (p->r < 0 && p->call.status < 400 && p->r != -EINVAL && p->r != -ENOENT);
}

/* Looks at up to a batch, in the transaction under way. Returns how many. */
static size_t fill(struct desk *d, struct paper **batch, bool *ret_is_bad)
{
	int64_t start_ns = call_monotonic_ns();
	size_t n = 0;

	*ret_is_bad = false;
	while (n < BATCH_MAX && call_monotonic_ns() - start_ns < d->batch_ns) {
		struct paper *p = take_next(d);

		if (!p)
			break;
		batch[n++] = p;
		p->r = take_in(d, p, &p->err);
		*ret_is_bad |= is_fault(p);
		if (*ret_is_bad)
			break;
	}
	return n;
}

static int commit(struct desk *d, struct err *err)
{
	int64_t start_ns = call_monotonic_ns();
	int r = store_commit(d->api->c.store, err);
	int64_t next_ns = (call_monotonic_ns() - start_ns) * BATCH_PER_COMMIT;

	if (next_ns < BATCH_LEAST_NS)
		next_ns = BATCH_LEAST_NS;
	d->batch_ns = next_ns < BATCH_MOST_NS ? next_ns : BATCH_MOST_NS;
	return r;
}

static void write_batch(struct desk *d)
{
	struct paper *batch[BATCH_MAX];
	struct store *s = d->api->c.store;
	struct err err = { "" };
	bool is_bad;
	size_t n;
	int r = store_begin(s, &err);

	if (r < 0) {
		/* The one that is next is told; the others try again. */
		batch[0] = take_next(d);
		batch[0]->r = r;
		batch[0]->err = err;
		finish(batch[0]);
		return;
	}
	n = fill(d, batch, &is_bad);
	if (is_bad)
		store_rollback(s);
	else
		is_bad = commit(d, &err) < 0;
	for (size_t i = 0; i < n; i++) {
		if (is_bad)
			write_alone(d, batch[i]);
		finish(batch[i]);
	}
	d->api->counts.batches++;
}

static int on_turn(sd_event_source *source, void *ctx)
{
	struct desk *d = ctx;

	if (!lines_are_empty(&d->lines))
		write_batch(d);
	return sd_event_source_set_enabled(
		source, lines_are_empty(&d->lines) ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* ---- its life ---- */

struct desk *desk_close(struct desk *d)
{
	struct paper *p;

	if (!d)
		return NULL;
	while ((p = take_next(d)))
		free(p);
	sd_event_source_disable_unref(d->source);
	bounds_free(d->bounds);
	free(d);
	return NULL;
}
DEFINE_CLEANUP(struct desk *, desk_close)

static int open_desk(struct api *a, struct err *err)
{
	_cleanup_(desk_closep) struct desk *d = calloc(1, sizeof(*d));
	int r;

	if (a->desk)
		return 0;
	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->api = a;
	d->batch_ns = BATCH_LEAST_NS;
	r = bounds_new(&d->bounds, err);
	if (r < 0)
		return r;
	r = sd_event_add_defer(a->c.event, &d->source, on_turn, d);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	a->desk = TAKE_PTR(d);
	return 0;
}

int route_submit(struct call *c, struct err *err)
{
	struct paper *p;
	int r = open_desk(c->api, err);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p || lines_put(&c->api->desk->lines, c->who.uid, &p->entry) < 0) {
		free(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->call = *c;
	p->call.body = NULL;
	exchange_keep_body(c->x);
	sd_event_source_set_enabled(c->api->desk->source, SD_EVENT_ONESHOT);
	return CALL_HELD;
}
