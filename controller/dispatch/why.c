/* why.c - in words, why a queued job waits. See cycle.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/policy/placement/fit_chunks.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/why.h"

struct words {
	char *buf;
	size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->buf + w->n, w->size - w->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->n = w->n + (size_t)n < w->size ? w->n + (size_t)n : w->size - 1;
}

/* Could it, were the nodes empty? Else says how much could be. Chunks are looked at one kind
 * at a time, as the schedule does. */
static bool is_possible(const struct cluster *s, const struct order_job *o,
			char why[static FIT_WHY_MAX])
{
	struct resources one;

	if (!o->select)
		return fit_is_possible(s->nodes, s->n_nodes, &o->want, why);
	for (int32_t k = 0; k < o->select->n; k++) {
		select_chunk(&o->select->of[k], &o->want, &one);
		if (!fit_is_possible(s->nodes, s->n_nodes, &one, why))
			return false;
	}
	return true;
}

static void say_needs(struct words *w, const struct cluster *s, const struct order_job *o)
{
	const struct fit_request ask = { &o->want, o->select, o->is_exclusive };
	char why[FIT_WHY_MAX];

	if (is_possible(s, o, why)) {
		if (o->select)
			fit_explain(s->nodes, s->n_nodes, &ask, why);
		else
			fit_look(s->nodes, s->n_nodes, &ask, why);
	}
	if (*why)
		say(w, "%s", why);
	else if (s->has_closings)
		say(w, "its walltime reaches into the time from which nodes are taken out of "
		       "use (reeve nodes)");
	else
		say(w, "needs what others are about to get");
}

static void say_when(struct words *w, const struct cluster *s, const struct schedule_why *y)
{
	char text[AMOUNT_TEXT_MAX];
	int64_t in_s = y->first_s - s->now_ns / S_NS;

	if (y->first_s == SCHEDULE_FOREVER)
		return;
	say(w, "; starts in %s at the latest, if nobody comes before it",
	    amount_format_seconds(in_s > 0 ? in_s : 0, text));
}

/* "job 3 (priority 750)". NULL: nobody is first, or it is not queued. */
static const struct order_job *say_who(struct words *w, const struct cycle_cluster *h,
				       const struct schedule_why *y, bool is_ranked)
{
	int64_t id = schedule_job(h->cluster.schedule, y->first)->id;
	const struct order_job *first = order_find(&h->order, id);

	say(w, "job %lld", (long long)id);
	if (is_ranked && first)
		say(w, " (priority %lld)", (long long)first->priority);
	return first;
}

static void say_first(struct words *w, const struct cycle_cluster *h,
		      const struct schedule_why *y, bool is_ranked)
{
	const struct order_job *first;

	if (y->first < 0)
		return;
	first = say_who(w, h, y, is_ranked);
	if (!first) {
		say(w, ", which is suspended and shall go on");
		return;
	}
	say(w, ", the first in the queue, which ");
	say_needs(w, &h->cluster, first);
}

static void say_wait(struct words *w, const struct cycle_cluster *h, const struct order_job *o,
		     const struct schedule_why *y, bool is_ranked)
{
	switch (y->wait) {
	case SCHEDULE_FIRST:
		say(w, "first in the queue; ");
		say_needs(w, &h->cluster, o);
		say_when(w, &h->cluster, y);
		return;
	case SCHEDULE_WOULD_DELAY:
		say(w, "place %d of %d; fits now, but would delay ", y->position + 1, y->n);
		say_first(w, h, y, is_ranked);
		return;
	case SCHEDULE_BEHIND:
		say(w, "place %d of %d; ", y->position + 1, y->n);
		say_needs(w, &h->cluster, o);
		if (y->first >= 0) {
			say(w, "; first is ");
			say_who(w, h, y, is_ranked);
		}
		return;
	case SCHEDULE_NEVER:
		say_needs(w, &h->cluster, o);
		return;
	case SCHEDULE_BLOCKED:
	case SCHEDULE_NOT_CONSIDERED:
		say(w, "waits for the next scheduling cycle");
		return;
	}
}

static void say_in_order(struct words *w, const struct cycle_cluster *h,
			 const struct schedule_why *y, bool is_ranked)
{
	say(w, "place %d of %d; waits behind ", y->position + 1, y->n);
	say_first(w, h, y, is_ranked);
}

static void say_intent(struct words *w, const struct pending_start *in)
{
	size_t others = 0;

	for (size_t i = 1; i < in->n; i++)
		others += strcmp(in->nodes[i], in->nodes[i - 1]) != 0;
	say(w, "starts on %s", in->nodes[0]);
	if (others)
		say(w, " and %zu other%s", others, others == 1 ? "" : "s");
	say(w, " as soon as those who give way to it are suspended");
}

static void say_queued(struct words *w, const struct cycle *c, const struct cycle_cluster *h,
		       const struct order_job *o)
{
	const struct config_policy *p = &sharetree_policy(c->sharetree)->policy;
	const struct pending_start *in = pending_start_find(&h->pending, o->job);
	char held[ELIGIBLE_WHY_MAX] = "";
	struct schedule_why y;

	if (c->is_ranked)
		say(w, "priority %lld%s%s; ", (long long)o->priority,
		    o->main ? ", mostly " : "", o->main ? o->main : "");
	if (in) {
		say_intent(w, in);
		return;
	}
	if (!eligibility_check(h->eligibility, o->job, held)) {
		say(w, "%s", held);
		return;
	}
	schedule_why(h->cluster.schedule, o->number, &y);
	if (p->scheduler == CONFIG_SCHEDULER_FIFO && y.first >= 0 &&
	    (y.wait == SCHEDULE_BEHIND || y.wait == SCHEDULE_WOULD_DELAY))
		say_in_order(w, h, &y, c->is_ranked);
	else
		say_wait(w, h, o, &y, c->is_ranked);
}

void dispatch_why(const struct cycle *c, const char *cluster, int64_t job, char *buf,
		  size_t size)
{
	const struct cycle_cluster *h = cycle_find_cluster(c, cluster);
	const struct order_job *o = h ? order_find(&h->order, job) : NULL;
	struct words w = { buf, size, 0 };

	if (o && o->number >= 0 &&
	    (schedule_state(h->cluster.schedule, o->number) == SCHEDULE_QUEUED ||
	     pending_start_find(&h->pending, job)))
		say_queued(&w, c, h, o);
	else
		say(&w, "waits for the next scheduling cycle");
}

/* So many ends are looked at. */
#define PASSES 20000

int64_t dispatch_forecast_s(const struct cycle *c, const char *cluster, int64_t job)
{
	const struct cycle_cluster *h = cycle_find_cluster(c, cluster);
	const struct order_job *j = h ? order_find(&h->order, job) : NULL;
	int64_t now_s, at_s;

	if (!j || j->number < 0 ||
	    schedule_state(h->cluster.schedule, j->number) != SCHEDULE_QUEUED)
		return -1;
	now_s = h->cluster.now_ns / S_NS;
	if (schedule_forecast(h->cluster.schedule, j->number, now_s, PASSES, &at_s) < 0 ||
	    at_s == SCHEDULE_FOREVER)
		return -1;
	return at_s - now_s;
}
