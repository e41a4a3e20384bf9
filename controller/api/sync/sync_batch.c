/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_batch.c - queues exchanges, and stores them in one transaction from the event loop; see sync_batch.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/sync/slurm.h"
#include "controller/api/sync/sync_batch.h"

#define BATCH_MAX 256
#define ROUND_MAX 16 /* of them at a time are asked for ahead */
/* Where exchanges wait, a batch is filled for ten times as long as the last commit took: then the commit costs at most a tenth of the time.
 * All of it waits for its last exchange, and what else the controller does for all of it. */
#define BATCH_PER_COMMIT 10
#define FILL_LEAST_NS (5 * MS_NS)
/* And the next one begins so many times as long as the last commit took after it, so that what comes one by one is committed together, too; or
 * when enough of them wait. */
#define PAUSE_PER_COMMIT 8
#define PAUSE_MOST_NS (25 * MS_NS)
#define ENOUGH 32
/* Where so many come in a second: one node whose jobs end one after the other would wait for each. */
#define PAUSE_FROM 200
#define FILL_MOST_NS (100 * MS_NS)

struct sync_batches {
	struct api *api;
	struct sd_event_source *soon,
		*later; /* a batch; the later of both alone, if it is not due yet */
	int64_t not_before_ns;
	int64_t second_ns;	   /* when this second began */
	unsigned n_this, n_last;   /* exchanges in it, and in the one before */
	struct talk *first, **end; /* in the order in which they came */
	size_t n_waiting;	   /* of them */
	int64_t fill_ns;	   /* how long the next batch may be filled */
};

static struct talk *take_first(struct sync_batches *b)
{
	struct talk *t = b->first;

	b->first = t->next;
	if (!b->first)
		b->end = &b->first;
	b->n_waiting--;
	t->next = NULL;
	return t;
}

/* ---- one exchange ---- */

/* What is stored of the exchange in a transaction; see ingest.h. */
static void begin_talk(struct talk *t)
{
	struct sync_from *from = &t->from;

	store_ingest_done(&t->ingest);
	sync_result_done(&t->result);
	sync_desired_done(&t->desired);
	*t->err.text = '\0';
	*from = (struct sync_from){ .now_ns = api_now_ns(),
				    .lost_ns = t->api->c.config->node_lost_s * S_NS };
	snprintf(from->address, sizeof(from->address), "%s", t->call.who.host);
	snprintf(from->cluster, sizeof(from->cluster), "%s", t->cluster);
	t->ingest = (struct store_ingest){
		.s = t->api->c.store, .in = t->in, .from = from, .out = &t->result
	};
	t->r = store_ingest_begin(&t->ingest, &t->err);
}

/* The jobs of Slurm and PBS are their cluster's. */
static void store_said(struct talk *t)
{
	struct slurm_pricing pricing = { .api = t->api };
	const struct store_slurm slurm = { .doc = t->in,
					   .is_pbs = t->in->engine == ENGINE_PBS,
					   .price = slurm_find_price,
					   .ctx = &pricing };

	if (engine_is_foreign(t->in->engine))
		t->from.slurm = &slurm;
	t->r = store_ingest_said(&t->ingest, &t->err);
	t->from.slurm = NULL;
}

static void count_talk(struct talk *t, int64_t took_ns)
{
	struct api_counts *n = &t->api->counts;

	n->syncs++;
	n->reports += (int64_t)t->in->n_reports;
	n->reports_new += (int64_t)t->result.n_accepted;
	n->refusals += (int64_t)t->result.n_refusals;
	for (int i = 0; i < _LIMIT_MAX; i++)
		n->killed[i] += t->result.n_killed[i];
	n->ingest_ns += took_ns;
	if (took_ns > n->ingest_max_ns)
		n->ingest_max_ns = took_ns;
	log_line(LOG_DEBUG, "node %s: sync with %zu reports, %zu new, stored in %.1f ms",
		 t->in->node, t->in->n_reports, t->result.n_accepted, (double)took_ns / 1e6);
}

/* ---- a batch ---- */

/* Exchanges whose queries are sent ahead together: a part of the batch. */
struct round {
	struct talk **of;
	size_t n;
	bool has_failed; /* then the transaction must be rolled back */
};

static bool is_among(struct talk *const *of, size_t n, const char *node)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(of[i]->in->node, node))
			return true;
	return false;
}

/* The exchanges from `t` on, which stay queued, begin as the round behind the n first ones of the batch. No node is in a batch twice: what is sent
 * ahead for one exchange must not be what another one writes. */
static struct round begin_round(struct talk *t, struct talk **batch, size_t n)
{
	struct round g = { .of = batch + n };

	for (; t && g.n < ROUND_MAX && n + g.n < BATCH_MAX && !g.has_failed; t = t->next) {
		if (is_among(batch, n + g.n, t->in->node))
			break;
		begin_talk(t);
		if (t->r >= 0)
			t->r = store_ingest_ask(&t->ingest, &t->err);
		g.of[g.n++] = t;
		g.has_failed = t->r < 0;
	}
	return g;
}

/* As many as there is time for, one at least; the others stay queued. */
static void say_round(struct sync_batches *b, struct round *g, int64_t until_ns)
{
	size_t n = 0;

	while (n < g->n && (n == 0 || api_monotonic_ns() < until_ns)) {
		struct talk *t = take_first(b);

		n++;
		if (g->has_failed)
			continue;
		store_said(t);
		g->has_failed = t->r < 0;
	}
	g->n = n;
}

/* One step of each exchange of a round. */
static void step_round(struct round *g, int (*step)(struct talk *t))
{
	for (size_t i = 0; i < g->n && !g->has_failed; i++) {
		struct talk *t = g->of[i];

		t->r = step(t);
		g->has_failed = t->r < 0;
	}
}

static int ask_list(struct talk *t)
{
	return store_ingest_ask_list(&t->ingest, &t->err);
}

static int store_list(struct talk *t)
{
	return store_ingest_list(&t->ingest, &t->err);
}

static int ask_desired(struct talk *t)
{
	return sync_desired_ask(t->api, t->in, store_ingest_given(&t->ingest), &t->err);
}

static int read_desired(struct talk *t)
{
	return sync_desired_read(t->api, t->in, store_ingest_given(&t->ingest), &t->desired,
				 &t->err);
}

/* The next ones behind `g`, of all. */
static struct round next_part(const struct round *all, const struct round *g)
{
	struct talk **of = g->of + g->n;
	size_t left = (size_t)(all->of + all->n - of);

	return (struct round){ .of = of, .n = left < ROUND_MAX ? left : ROUND_MAX };
}

/* What each node is to have: of some of them is sent ahead while that of those before them is read. */
static void read_all_desired(struct round *all)
{
	struct round now = { .of = all->of }, next = next_part(all, &now);

	do {
		now = next;
		next = next_part(all, &now);
		if (now.of == all->of)
			step_round(&now, ask_desired);
		step_round(&next, ask_desired);
		step_round(&now, read_desired);
		all->has_failed |= now.has_failed || next.has_failed;
	} while (next.n && !all->has_failed);
}

static void store_alone(struct talk *t)
{
	struct store *s = t->api->c.store;

	begin_talk(t);
	if (t->r >= 0)
		t->r = store_begin(s, &t->err);
	if (t->r < 0)
		return;
	store_said(t);
	if (t->r >= 0)
		t->r = store_ingest_list(&t->ingest, &t->err);
	if (t->r >= 0)
		t->r = read_desired(t);
	if (t->r >= 0)
		t->r = store_commit(s, &t->err);
	else
		store_rollback(s);
}

/* Returns how many; *ret_has_failed: one of them. The queries of a round are sent before the round before it is stored, so that a server works on
 * one while the other is decided. */
static size_t fill_batch(struct sync_batches *b, struct talk **batch, bool *ret_has_failed)
{
	int64_t until_ns = api_monotonic_ns() + b->fill_ns;
	struct round now, next = begin_round(b->first, batch, 0), all = { .of = batch };

	do {
		now = next;
		next = begin_round(now.of[now.n - 1]->next, batch, all.n + now.n);
		say_round(b, &now, until_ns);
		step_round(&now, ask_list);
		step_round(&now, store_list);
		all.n += now.n;
		all.has_failed = now.has_failed;
	} while (next.n && !all.has_failed && api_monotonic_ns() < until_ns);
	/* After all of them, as one may change what another node is to do: nothing else is done between this and the moment at which those that
	 * wait can be woken. In the transaction, where it needs no lock of its own. */
	if (!all.has_failed)
		read_all_desired(&all);
	*ret_has_failed = all.has_failed;
	return all.n;
}

static int64_t clamp_ns(int64_t ns, int64_t least, int64_t most)
{
	return ns < least ? least : ns > most ? most : ns;
}

static bool are_many(const struct sync_batches *b)
{
	return b->n_this >= PAUSE_FROM || b->n_last >= PAUSE_FROM;
}

static int commit_batch(struct sync_batches *b, struct err *err)
{
	int64_t from_ns = api_monotonic_ns(), now_ns;
	int r = store_commit(b->api->c.store, err);

	now_ns = api_monotonic_ns();
	b->fill_ns =
		clamp_ns((now_ns - from_ns) * BATCH_PER_COMMIT, FILL_LEAST_NS, FILL_MOST_NS);
	if (are_many(b))
		b->not_before_ns = now_ns + clamp_ns((now_ns - from_ns) * PAUSE_PER_COMMIT, 0,
						     PAUSE_MOST_NS);
	return r;
}

static void store_batch(struct sync_batches *b)
{
	int64_t from_ns = api_monotonic_ns(), took_ns;
	struct store *s = b->api->c.store;
	struct talk *batch[BATCH_MAX];
	struct err err = { "" };
	bool has_failed = true;
	size_t n = 1;
	int r = store_begin(s, &err);

	if (r >= 0)
		n = fill_batch(b, batch, &has_failed);
	else
		batch[0] = take_first(b);
	if (r >= 0 && has_failed)
		store_rollback(s);
	else if (r >= 0)
		has_failed = commit_batch(b, &err) < 0;
	for (size_t i = 0; i < n && has_failed; i++)
		store_alone(batch[i]);
	took_ns = (api_monotonic_ns() - from_ns) / (int64_t)n;
	for (size_t i = 0; i < n; i++) {
		if (batch[i]->r >= 0)
			count_talk(batch[i], took_ns);
		store_ingest_done(&batch[i]->ingest); /* not while the node waits */
		batch[i]->finish(batch[i]);
	}
	b->api->counts.sync_batches++;
}

static int plan_batch(struct sync_batches *b)
{
	bool is_due = b->n_waiting >= ENOUGH || b->not_before_ns <= api_monotonic_ns();
	int r;

	if (!b->first)
		return 0;
	if (!is_due) {
		r = sd_event_source_set_time(b->later, (uint64_t)b->not_before_ns / 1000);
		return r < 0 ? r : sd_event_source_set_enabled(b->later, SD_EVENT_ONESHOT);
	}
	r = sd_event_source_set_enabled(b->later, SD_EVENT_OFF);
	return r < 0 ? r : sd_event_source_set_enabled(b->soon, SD_EVENT_ONESHOT);
}

static int on_batch(sd_event_source *source, void *ctx)
{
	STOPS_IN("syncs");
	struct sync_batches *b = ctx;

	(void)source;
	if (b->first)
		store_batch(b);
	return plan_batch(b);
}

static int on_later(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("syncs");
	(void)us;
	return on_batch(source, ctx);
}

/* ---- open, close, add ---- */

struct sync_batches *sync_batches_close(struct sync_batches *b)
{
	if (!b)
		return NULL;
	while (b->first)
		talk_free(take_first(b));
	sd_event_source_disable_unref(b->soon);
	sd_event_source_disable_unref(b->later);
	free(b);
	return NULL;
}
DEFINE_CLEANUP(struct sync_batches *, sync_batches_close)

static int open_batches(struct api *a, struct err *err)
{
	_cleanup_(sync_batches_closep) struct sync_batches *b = NULL;
	int r;

	if (a->sync_batches)
		return 0;
	b = calloc(1, sizeof(*b));
	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	b->api = a;
	b->end = &b->first;
	b->fill_ns = FILL_LEAST_NS;
	r = sd_event_add_defer(a->c.event, &b->soon, on_batch, b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->soon, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(a->c.event, &b->later, CLOCK_MONOTONIC, 0, 1, on_later,
				      b);
	if (r >= 0)
		r = sd_event_source_set_enabled(b->later, SD_EVENT_OFF);
	if (r < 0)
		return err_set(err, r, "event loop: %s", strerror(-r));
	a->sync_batches = TAKE_PTR(b);
	return 0;
}

static void count_exchange(struct sync_batches *b, int64_t now_ns)
{
	if (now_ns - b->second_ns >= S_NS) {
		b->n_last = now_ns - b->second_ns < 2 * S_NS ? b->n_this : 0;
		b->n_this = 0;
		b->second_ns = now_ns;
	}
	b->n_this++;
	if (are_many(b))
		b->api->busy_until_ns = now_ns + S_NS;
}

int sync_batch_add(struct talk *t, struct err *err)
{
	struct sync_batches *b;
	int r = open_batches(t->api, err);

	if (r < 0)
		return r;
	b = t->api->sync_batches;
	count_exchange(b, api_monotonic_ns());
	t->next = NULL;
	*b->end = t;
	b->end = &t->next;
	b->n_waiting++;
	plan_batch(b);
	return 0;
}
