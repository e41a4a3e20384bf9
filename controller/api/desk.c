/* desk.c - POST /v1/jobs; see desk.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/answer.h"
#include "controller/api/desk.h"
#include "controller/api/submit.h"

#define BATCH_MAX 256
#define BATCH_NS 20000000 /* 20 ms: others are to be heard, too */

/* One that waits. */
struct paper {
	struct paper *next;
	struct call call;
	struct submission done;
	struct err err;
	int r;
};

/* Those of one user, first in first; the lines stand in a ring. */
struct line {
	struct line *next;
	uint32_t uid;
	struct paper *first, **end;
};

struct desk {
	struct api *api;
	struct sd_event_source *source;
	struct bounds *bounds;
	struct line *last; /* the one behind it is next; NULL: nobody waits */
};

/* ---- lines ---- */

static struct line *find_line(struct desk *d, uint32_t uid)
{
	struct line *l = d->last;

	if (!l)
		return NULL;
	do {
		l = l->next;
		if (l->uid == uid)
			return l;
	} while (l != d->last);
	return NULL;
}

/* A new line comes last. NULL: no memory. */
static struct line *add_line(struct desk *d, uint32_t uid)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->uid = uid;
	l->end = &l->first;
	l->next = d->last ? d->last->next : l;
	if (d->last)
		d->last->next = l;
	d->last = l;
	return l;
}

/* The next one's first; its line, if there is more in it, is last from now on. */
static struct paper *take_next(struct desk *d)
{
	struct line *l = d->last ? d->last->next : NULL;
	struct paper *p;

	if (!l)
		return NULL;
	p = l->first;
	l->first = p->next;
	if (l->first) {
		d->last = l;
		return p;
	}
	if (l == d->last)
		d->last = NULL;
	else
		d->last->next = l->next;
	free(l);
	return p;
}

/* ---- batches ---- */

static void finish(struct desk *d, struct paper *p)
{
	if (p->r >= 0)
		submit_finish(&p->call, &p->done);
	answer_finish(&p->call, p->r, &p->err);
	(void)d;
	free(p);
}

static int take_in(struct desk *d, struct paper *p, struct err *err)
{
	return submit_take(&p->call, d->bounds, &p->done, err);
}

/* By itself, where the batch could not be written: what is wrong with one is not the others'.
 */
static void write_alone(struct desk *d, struct paper *p)
{
	struct store *s = d->api->c.store;

	json_decref(p->call.answer);
	p->call.answer = NULL;
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
	return p->r < 0 && p->call.status < 400 && p->r != -EINVAL && p->r != -ENOENT;
}

/* Looks at up to a batch, in the transaction under way. Returns how many. */
static size_t fill(struct desk *d, struct paper **batch, bool *ret_is_bad)
{
	int64_t start_ns = call_monotonic_ns();
	size_t n = 0;

	*ret_is_bad = false;
	while (n < BATCH_MAX && call_monotonic_ns() - start_ns < BATCH_NS) {
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
		finish(d, batch[0]);
		return;
	}
	n = fill(d, batch, &is_bad);
	if (is_bad)
		store_rollback(s);
	else
		is_bad = store_commit(s, &err) < 0;
	for (size_t i = 0; i < n; i++) {
		if (is_bad)
			write_alone(d, batch[i]);
		finish(d, batch[i]);
	}
	d->api->counts.batches++;
}

static int on_turn(sd_event_source *source, void *ctx)
{
	struct desk *d = ctx;

	if (d->last)
		write_batch(d);
	return sd_event_source_set_enabled(source, d->last ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

/* ---- its life ---- */

struct desk *desk_close(struct desk *d)
{
	struct paper *p;

	if (!d)
		return NULL;
	while ((p = take_next(d))) {
		json_decref(p->call.body);
		free(p);
	}
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
	struct line *l;
	int r = open_desk(c->api, err);

	if (r < 0)
		return r;
	l = find_line(c->api->desk, c->who.uid);
	p = calloc(1, sizeof(*p));
	if (p && !l)
		l = add_line(c->api->desk, c->who.uid);
	if (!p || !l) {
		free(p);
		return err_set(err, -ENOMEM, "out of memory");
	}
	p->call = *c;
	p->call.body = json_incref(c->body);
	if (!l->first)
		l->end = &l->first;
	*l->end = p;
	l->end = &p->next;
	sd_event_source_set_enabled(c->api->desk->source, SD_EVENT_ONESHOT);
	return CALL_HELD;
}
