/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elapsed.c - bounds reported time by elapsed time. See attempts/bound/elapsed.h. */
#include <stdio.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/attempts/bound/elapsed.h"
#include "controller/ledger/jobs/slurm.h"

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Running and suspended time may each be up to INT64_MAX: they are compared without adding them. */
static bool is_within(const struct report *rep, int64_t elapsed_ns)
{
	int64_t most = elapsed_ns + STORE_CLOCK_SLACK_NS + elapsed_ns / STORE_CLOCK_SLACK_PART;

	return rep->running_ns <= most && rep->suspended_ns <= most - rep->running_ns;
}

static int64_t elapsed_of(const struct store_report_case *c, int64_t given_ns)
{
	return c->now_ns > given_ns ? c->now_ns - given_ns : 0;
}

bool store_elapsed_is_within(const struct store_report_case *c, int64_t given_ns)
{
	return is_within(c->report, elapsed_of(c, given_ns));
}

/* 1: the journal has a "clamp" of this attempt, that is since given_ns. */
static int is_noted(struct store *s, const struct store_report_case *c, int64_t given_ns,
		    struct err *err)
{
	return db_has_row(s->db, err,
			  "SELECT 1 FROM events WHERE job = ?1 AND what = 'clamp'"
			  " AND node = ?2 AND at_ns >= ?3 LIMIT 1",
			  "iti", c->report->job, c->node, given_ns);
}

static void format_clamp(const struct store_report_case *c, int64_t elapsed_ns,
			 char text[static 256])
{
	const struct report *was = c->report, *now = &c->believed;
	int n = snprintf(
		text, 256,
		"node %s reported %lld s of running %lld s after the job was dispatched"
		" to it: %lld s are charged",
		c->node, (long long)(was->running_ns / S_NS), (long long)(elapsed_ns / S_NS),
		(long long)(now->running_ns / S_NS));

	if (was->suspended_ns != now->suspended_ns)
		snprintf(text + n, (size_t)(256 - n),
			 "; of %lld s of suspension %lld s are counted",
			 (long long)(was->suspended_ns / S_NS),
			 (long long)(now->suspended_ns / S_NS));
}

/* c->report becomes the lowered copy; the journal has its note, once while the job runs. */
static int lower_report(struct store *s, struct store_report_case *c, int64_t given_ns,
			struct err *err)
{
	struct report *now = &c->believed;
	struct store_event e = { c->now_ns, c->report->job, c->node, "clamp", now->note };
	int r = now->state != JOB_ENDED ? is_noted(s, c, given_ns, err) : 0;

	if (r == 0)
		r = store_event(s, &e, err);
	c->report = now;
	return r < 0 ? r : 0;
}

int store_elapsed_clamp(struct store *s, struct store_report_case *c, int64_t given_ns,
			struct err *err)
{
	int64_t elapsed_ns = elapsed_of(c, given_ns);
	struct report *now = &c->believed;

	if (is_within(c->report, elapsed_ns))
		return 0;
	*now = *c->report;
	now->running_ns = lesser(now->running_ns, elapsed_ns);
	now->suspended_ns = lesser(now->suspended_ns, elapsed_ns - now->running_ns);
	format_clamp(c, elapsed_ns, now->note);
	return lower_report(s, c, given_ns, err);
}

/* 0: Slurm has not reported its end. */
static int load_slurm_end(struct store *s, const struct report *rep, int64_t *ret_ns,
			  struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT end_s FROM slurm_attempts WHERE job = ?1 AND attempt = ?2", "ii",
		rep->job, (int64_t)rep->attempt);

	*ret_ns = 0;
	if (r <= 0)
		return r;
	*ret_ns = db_int(st, 0) * S_NS;
	db_done(st);
	return 0;
}

int store_elapsed_slurm(struct store *s, struct store_report_case *c, int64_t given_ns,
			struct err *err)
{
	const struct report *rep = c->report;
	struct report *now = &c->believed;
	int64_t end_ns, most_ns;
	int r;

	if (c->is_followed || !rep->started_ns || !store_is_slurm(rep->job))
		return 0;
	r = load_slurm_end(s, rep, &end_ns, err);
	if (r < 0 || !end_ns)
		return r;
	most_ns = end_ns > rep->started_ns ? end_ns - rep->started_ns : 0;
	if (rep->running_ns <= most_ns + STORE_SLURM_END_SLACK_NS &&
	    rep->suspended_ns <= most_ns + STORE_SLURM_END_SLACK_NS - rep->running_ns)
		return 0;
	*now = *rep;
	now->suspended_ns = lesser(now->suspended_ns, most_ns);
	now->running_ns = lesser(now->running_ns, most_ns - now->suspended_ns);
	if (now->ended_ns)
		now->ended_ns = lesser(now->ended_ns, end_ns);
	snprintf(
		now->note, sizeof(now->note),
		"node %s reported %lld s of running; Slurm has the end of the job %lld s after its "
		"start: %lld s are charged",
		c->node, (long long)(rep->running_ns / S_NS), (long long)(most_ns / S_NS),
		(long long)(now->running_ns / S_NS));
	return lower_report(s, c, given_ns, err);
}
