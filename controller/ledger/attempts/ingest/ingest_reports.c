/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_reports.c - the reports of one exchange: each into the ledger, what follows from it, and what the node is answered. See ingest.c. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/ingest/ingest_impl.h"
#include "controller/ledger/attempts/known.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/series.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/steps/steps.h"

/* Refusing it would kill a job that is Slurm's: the report is dropped, with a line in the journal. */
static int drop_report(struct store_ingest *g, const struct store_report_case *c,
		       struct err *err)
{
	const struct store_event e = { c->now_ns, c->report->job, c->node, "refused",
				       c->refusal.why };

	g->out->acks[g->out->n_acks++] =
		(struct sync_ack){ c->report->job, c->report->seq, c->report->attempt };
	return store_event(g->s, &e, err);
}

/* Once for each part of a job: later reports of the same end change no state. */
static void count_kill(struct sync_result *out, const struct store_report_case *c)
{
	const struct job_end *end = &c->report->end;

	if (c->is_new && c->has_freed && c->report->state == JOB_ENDED &&
	    end->kind == END_LIMIT)
		out->n_killed[end->reason.limit]++;
}

static int ingest_series(struct store_ingest *g, const struct store_report_case *c,
			 struct err *err)
{
	int r = store_series_put(g->s, c, err);

	g->out->n_bad_series += r > 0;
	return r;
}

/* Its job is on several nodes, or may be queued again. */
static bool is_of_others(const struct store_report_case *c)
{
	return c->affects_others || (c->is_new && c->part >= 0) ||
	       (c->report->state == JOB_ENDED && c->report->end.kind == END_NODE_LOST);
}

static int ingest_report(struct store_ingest *g, const struct report *report,
			 const struct store_known *loaded, struct store_report_rows *rows,
			 struct err *err)
{
	struct store_report_case c = { .report = report,
				       .node = g->in->node,
				       .now_ns = g->from->now_ns,
				       .may_adopt = g->may_adopt,
				       .loaded = loaded,
				       .rows = rows };
	int r = store_report(g->s, &c, err);

	if (r < 0)
		return r;
	if (is_of_others(&c))
		ingest_touch_others(g);
	if (r == STORE_REPORT_REFUSED && store_is_slurm(report->job))
		r = drop_report(g, &c, err);
	else if (r == STORE_REPORT_REFUSED)
		g->out->refusals[g->out->n_refusals++] = c.refusal;
	else if (r == STORE_REPORT_ACK)
		g->out->acks[g->out->n_acks++] = c.ack;
	if (c.gain.running_ns)
		g->out->deltas[g->out->n_deltas++] = c.gain;
	if (c.is_new)
		r = store_gpus_report(g->s, &c, err);
	if (r >= 0 && c.is_new)
		r = ingest_series(g, &c, err);
	if (r >= 0 && c.affects_others)
		r = ingest_wake_others(g, report->job, err);
	if (r >= 0 && c.is_new && c.part <= 0 && report->state == JOB_ENDED)
		r = store_steps_close(g->s, report->job, c.now_ns, err);
	if (r >= 0 && c.is_new && report->state == JOB_ENDED)
		r = store_credential_drop(g->s, report->job, err);
	if (r < 0)
		return r;
	g->out->n_accepted += c.is_new;
	count_kill(g->out, &c);
	g->out->has_freed |= c.has_freed;
	return 0;
}

/* Some report before it is of the same job, and may have changed what was loaded. */
static bool is_repeated(const struct store_ingest *g, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (g->in->reports[k].job == g->in->reports[i].job)
			return true;
	return false;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

int ingest_ask_reports(struct store_ingest *g, struct err *err)
{
	size_t n = lesser(g->in->n_reports, STORE_SOME);

	return n ? store_known_ask_some(g->s, g->in->reports, n, err) : 0;
}

/* A job's first report in an exchange is of what was loaded, and what it writes can be written with that of others. */
static int ingest_ith(struct store_ingest *g, size_t i, const struct store_known_some *its,
		      struct store_report_rows *rows, struct err *err)
{
	const struct report *report = &g->in->reports[i];
	int r;

	if (!is_repeated(g, i))
		return ingest_report(g, report, its->is_loaded ? &its->known : NULL, rows, err);
	r = store_report_rows_write(g->s, rows, err);
	return r < 0 ? r : ingest_report(g, report, NULL, NULL, err);
}

/* What the ledger has of the attempts is read for many reports at once. */
int ingest_reports(struct store_ingest *g, struct err *err)
{
	const struct report *reports = g->in->reports;
	size_t n = g->in->n_reports, most = lesser(n, STORE_SOME);
	_cleanup_free_ struct store_known_some *some = calloc(most + 1, sizeof(*some));
	_cleanup_(store_report_rows_done) struct store_report_rows rows = store_report_rows();
	int r = some ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && r >= 0; i++) {
		if (i % STORE_SOME == 0)
			r = store_known_load_some(g->s, reports + i, lesser(n - i, STORE_SOME),
						  some, err);
		if (r >= 0)
			r = ingest_ith(g, i, &some[i % STORE_SOME], &rows, err);
	}
	return r < 0 ? r : store_report_rows_write(g->s, &rows, err);
}
