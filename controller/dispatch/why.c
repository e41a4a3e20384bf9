/* SPDX-License-Identifier: GPL-2.0-or-later */
/* why.c - the sentences that tell users why a queued job waits, from the schedule as of the last cycle
 * and from what the nodes have in use. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/config/ordering.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/why.h"

/* A text that is cut where it is full. */
struct words {
	char *buf;
	size_t size, n;
};

__attribute__((format(printf, 2, 3))) static void add_words(struct words *w, const char *fmt,
							    ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->buf + w->n, w->size - w->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->n = w->n + (size_t)n < w->size ? w->n + (size_t)n : w->size - 1;
}

/* "59 min 58 s": the two largest units. */
static const char *format_duration(int64_t s, char buf[static 64])
{
	static const struct {
		int64_t s;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
	size_t u = 0;
	int n;

	while (u + 1 < ARRAY_LEN(units) && s < units[u].s)
		u++;
	n = snprintf(buf, 64, "%lld %s", (long long)(s / units[u].s), units[u].name);
	s %= units[u].s;
	if (u + 1 < ARRAY_LEN(units) && s >= units[u + 1].s)
		snprintf(buf + n, 64 - (size_t)n, " %lld %s", (long long)(s / units[u + 1].s),
			 units[u + 1].name);
	return buf;
}

/* ---- what a job needs ---- */

/* A sentence of what the job lacks. The texts of fit are clauses about "it": `subject` ("It", "Job 7")
 * takes that place. */
static void add_needs(struct words *w, const char *subject, struct cycle_cluster *cl,
		      const struct order_job *o)
{
	char why[FIT_WHY_MAX];

	needs_explain(&cl->needs, &cl->cluster, o, why);
	if (!strncmp(why, "it ", 3))
		add_words(w, " %s %s.", subject, why + 3);
	else if (*why)
		add_words(w, " %c%s.", toupper((unsigned char)*why), why + 1);
	else if (cl->cluster.has_closings)
		add_words(
			w,
			" There is room now, but its walltime reaches into planned maintenance: "
			"see reeve nodes.");
	else
		add_words(w,
			  " The nodes that it needs are about to be allocated to other jobs.");
}

static void add_estimate(struct words *w, const struct cycle *c, const struct cluster *k,
			 const struct schedule_why *y)
{
	int64_t in_s = y->first_s - k->now_ns / S_NS;
	char text[64];

	if (y->wait != SCHEDULE_FIRST || y->first_s == SCHEDULE_FOREVER)
		return;
	add_words(w, " Estimated start: in %s, %s.", format_duration(in_s > 0 ? in_s : 0, text),
		  config_ordering_unless(sharetree_policy(c->sharetree)));
}

/* ---- the job that has the reservation ---- */

/* "job 3", or "job 3 (priority 750)". Returns NULL where it is not queued: it is suspended then. */
static const struct order_job *add_first(struct words *w, const struct cycle_cluster *cl,
					 const struct schedule_why *y, bool is_ranked)
{
	int64_t id = schedule_job(cl->cluster.schedule, y->first)->id;
	const struct order_job *first = order_find(&cl->order, id);

	add_words(w, "job %lld", (long long)id);
	if (is_ranked && first)
		add_words(w, " (priority %lld)", (long long)first->priority);
	return first;
}

/* After "would delay " or "waits behind ": which job, and what it needs. */
static void explain_first(struct words *w, struct cycle_cluster *cl,
			  const struct schedule_why *y, bool is_ranked)
{
	const struct order_job *first;
	char subject[32];

	if (y->first < 0) {
		add_words(w, "jobs before it.");
		return;
	}
	first = add_first(w, cl, y, is_ranked);
	if (!first) {
		add_words(w, ", which is suspended and resumes first.");
		return;
	}
	snprintf(subject, sizeof(subject), "Job %lld", (long long)first->job);
	add_words(w, ", which is next in the queue.");
	add_needs(w, subject, cl, first);
}

/* ---- the job itself ---- */

static void add_position(struct words *w, const struct schedule_why *y)
{
	add_words(w, "This job is number %d of %d in the queue.", y->position + 1, y->n);
}

static void explain_wait(struct words *w, const struct cycle *c, struct cycle_cluster *cl,
			 const struct order_job *o, const struct schedule_why *y)
{
	switch (y->wait) {
	case SCHEDULE_FIRST:
		add_words(w, "This job is next in the queue.");
		add_needs(w, "It", cl, o);
		return;
	case SCHEDULE_WOULD_DELAY:
		add_position(w, y);
		add_words(w, " It fits now, but would delay ");
		explain_first(w, cl, y, c->is_ranked);
		return;
	case SCHEDULE_BEHIND:
		add_position(w, y);
		add_needs(w, "It", cl, o);
		if (y->first >= 0) {
			add_words(w, " Next is ");
			add_first(w, cl, y, c->is_ranked);
			add_words(w, ".");
		}
		return;
	case SCHEDULE_NEVER:
		add_words(w, "This job cannot start as the nodes are.");
		add_needs(w, "It", cl, o);
		return;
	case SCHEDULE_BLOCKED:
	case SCHEDULE_NOT_CONSIDERED:
		add_words(w, "This job waits for the next scheduling cycle.");
		return;
	}
}

/* FIFO: no job passes the one that waits first. */
static void explain_order(struct words *w, struct cycle_cluster *cl,
			  const struct schedule_why *y, bool is_ranked)
{
	add_position(w, y);
	add_words(w, " It waits behind ");
	explain_first(w, cl, y, is_ranked);
}

static void explain_pending(struct words *w, const struct pending_start *p)
{
	size_t others = 0;

	for (size_t i = 1; i < p->n; i++)
		others += strcmp(p->nodes[i], p->nodes[i - 1]) != 0;
	add_words(w, "This job starts on %s", p->nodes[0]);
	if (others)
		add_words(w, " and %zu other node%s", others, others == 1 ? "" : "s");
	add_words(w, " as soon as the jobs that it preempts are suspended.");
}

static void explain_queued(struct words *w, const struct cycle *c, struct cycle_cluster *cl,
			   const struct order_job *o, enum dispatch_why_form form)
{
	const struct config_policy *policy = &sharetree_policy(c->sharetree)->policy;
	const struct pending_start *p = pending_start_find(&cl->pending, o->job);
	char limit[ELIGIBLE_WHY_MAX] = "";
	struct schedule_why y;

	if (p) {
		explain_pending(w, p);
		return;
	}
	if (!eligibility_check(cl->eligibility, o->job, limit)) {
		add_words(w, "%s", limit);
		return;
	}
	schedule_why(cl->cluster.schedule, o->number, &y);
	if (policy->scheduler == CONFIG_SCHEDULER_FIFO && y.first >= 0 &&
	    (y.wait == SCHEDULE_BEHIND || y.wait == SCHEDULE_WOULD_DELAY))
		explain_order(w, cl, &y, c->is_ranked);
	else
		explain_wait(w, c, cl, o, &y);
	if (form == DISPATCH_WHY_ESTIMATED)
		add_estimate(w, c, &cl->cluster, &y);
}

/* "Priority: 750, mostly fairshare." */
static void add_priority(struct words *w, const struct order_job *o)
{
	bool is_sentence = w->n > 0 && w->buf[w->n - 1] == '.';

	add_words(w, "%s Priority: %lld", is_sentence ? "" : ".", (long long)o->priority);
	if (o->main)
		add_words(w, ", mostly %s", o->main);
	add_words(w, ".");
}

void dispatch_why(const struct cycle *c, const char *cluster, int64_t job,
		  enum dispatch_why_form form, char buf[static DISPATCH_WHY_MAX])
{
	struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	const struct order_job *o = cl ? order_find(&cl->order, job) : NULL;
	struct words w = { buf, DISPATCH_WHY_MAX, 0 };

	if (!o || o->number < 0 ||
	    (schedule_state(cl->cluster.schedule, o->number) != SCHEDULE_QUEUED &&
	     !pending_start_find(&cl->pending, job))) {
		add_words(&w, "This job waits for the next scheduling cycle.");
		return;
	}
	explain_queued(&w, c, cl, o, form);
	if (c->is_ranked)
		add_priority(&w, o);
}
