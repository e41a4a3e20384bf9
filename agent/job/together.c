/* SPDX-License-Identifier: GPL-2.0-or-later */
/* together.c - one commit for all jobs that are due; see job/together.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "agent/job/together.h"

#define TOGETHER_MAX 32 /* the loop stands while they are written: some 0.1 ms each */

struct part {
	struct job *job;
	enum job_together what;
	struct report report;
};

bool job_together_is_saved(const struct job *j)
{
	return j->is_saved && j->saved_end == j->s.end.kind;
}

static bool is_due(const struct job *j, enum job_due what, int64_t now_ns)
{
	return j->due_ns[what] && j->due_ns[what] <= now_ns &&
	       (what != DUE_ACT || !job_together_is_saved(j));
}

/* Those that are due besides `first`, whose timer has fired. NULL: of one part nothing is gained, or no memory. */
static struct part *find_due(const struct node *n, struct job *first, enum job_due what,
			     int *ret_n)
{
	int64_t now_ns = node_now_ns();
	struct part *parts;
	int count = 1;

	for (const struct job *j = n->jobs; j && count < TOGETHER_MAX; j = j->next)
		count += j != first && is_due(j, what, now_ns);
	parts = count < 2 ? NULL : calloc((size_t)count, sizeof(*parts));
	if (!parts)
		return NULL;
	*ret_n = count;
	parts[0].job = first;
	for (struct job *j = n->jobs; j && count > 1; j = j->next)
		if (j != first && is_due(j, what, now_ns))
			parts[--count].job = j;
	return parts;
}

/* How many of them have something to save; they come first then. */
static int find_parts(struct node *n, struct part *parts, int n_due, job_together_fn find_part)
{
	int count = 0;

	for (int i = 0; i < n_due; i++) {
		parts[count].job = parts[i].job;
		parts[count].what = find_part(n, parts[i].job);
		count += parts[count].what != TOGETHER_NOTHING;
	}
	return count;
}

static int write_parts(struct node *n, struct part *parts, int count)
{
	bool is_lazy = true;
	int r;

	for (int i = 0; i < count; i++)
		is_lazy = is_lazy && parts[i].what == TOGETHER_LAZY;
	if (is_lazy)
		db_lazy(n->db, true, NULL);
	r = db_begin(n->db, NULL);
	for (int i = 0; i < count && r >= 0; i++)
		r = parts[i].what == TOGETHER_REPORT
			    ? report_write(n, parts[i].job, &parts[i].report, NULL)
			    : job_save_with_start(parts[i].job, NULL);
	r = db_end(n->db, r, NULL);
	db_lazy(n->db, false, NULL);
	return r;
}

static void mark_saved(const struct part *p)
{
	struct job *j = p->job;

	j->is_saved = true;
	j->saved_end = j->s.end.kind;
	j->is_reported = p->what == TOGETHER_REPORT;
	if (j->is_reported)
		report_written(j, &p->report);
	else
		job_save_start_done(j);
	job_save_done(j, 0, NULL);
}

/* < 0: nothing is written, nor marked. */
static int save_parts(struct node *n, struct part *parts, int count)
{
	int r;

	for (int i = 0; i < count; i++)
		if (parts[i].what == TOGETHER_REPORT)
			report_make(n, parts[i].job, &parts[i].report);
	r = write_parts(n, parts, count);
	for (int i = 0; i < count; i++) {
		if (r >= 0)
			mark_saved(&parts[i]);
		if (parts[i].what == TOGETHER_REPORT)
			report_done(&parts[i].report);
	}
	if (r >= 0 && n->uplink)
		uplink_kick(n->uplink);
	return r;
}

void job_save_together(struct node *n, struct job *first, job_together_fn find_part)
{
	int count;
	_cleanup_free_ struct part *parts = find_due(n, first, DUE_ACT, &count);

	if (!parts)
		return;
	count = find_parts(n, parts, count, find_part);
	if (count > 1)
		save_parts(n, parts, count);
}

static bool is_reportable(const struct job *j)
{
	return j->phase == PHASE_UNIT || j->phase == PHASE_RUNNING;
}

static enum job_together find_report(struct node *n, const struct job *j)
{
	(void)n;
	return is_reportable(j) ? TOGETHER_REPORT : TOGETHER_NOTHING;
}

void job_report_together(struct node *n, struct job *first)
{
	int count, r = -ENOENT;
	_cleanup_free_ struct part *parts = find_due(n, first, DUE_REPORT, &count);

	if (parts)
		count = find_parts(n, parts, count, find_report);
	if (parts && count > 1 && is_reportable(first))
		r = save_parts(n, parts, count);
	if (r < 0 && is_reportable(first))
		report_change(n, first);
}
