/* SPDX-License-Identifier: GPL-2.0-or-later */
/* together.c - one commit for all jobs that are due; see job/together.h. */
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

static bool is_due(const struct job *j, int64_t now_ns)
{
	return j->due_ns[DUE_ACT] && j->due_ns[DUE_ACT] <= now_ns && !job_together_is_saved(j);
}

/* `first` is due no more, since its timer has fired. With parts NULL it counts alone. */
static int find_due(const struct node *n, const struct job *first, struct part *parts)
{
	int64_t now_ns = node_now_ns();
	int count = 0;

	for (struct job *j = n->jobs; j && count < TOGETHER_MAX; j = j->next)
		if (j == first || is_due(j, now_ns)) {
			if (parts)
				parts[count].job = j;
			count++;
		}
	return count;
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

/* Of one part nothing is gained. */
void job_save_together(struct node *n, struct job *first, job_together_fn find_part)
{
	int n_due = find_due(n, first, NULL), count, r;
	_cleanup_free_ struct part *parts =
		n_due < 2 ? NULL : calloc((size_t)n_due, sizeof(*parts));

	if (!parts)
		return;
	find_due(n, first, parts);
	count = find_parts(n, parts, n_due, find_part);
	if (count < 2)
		return;
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
}
