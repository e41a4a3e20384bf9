/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - what all phases do with a job: enter a phase, latch its end, note, paths; see job.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/enforce/events_files.h"
#include "agent/job/job.h"
#include "agent/job/due.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"

/* These names are stored in the agent's database. */
static const char *const phase_names[_PHASE_MAX] = { "prepare", "unit",	   "running", "final",
						     "drain",	"cleanup", "report" };

const char *job_phase_name(enum job_phase phase)
{
	return phase < _PHASE_MAX ? phase_names[phase] : "unknown";
}

/* -EINVAL: a phase of another version of the agent, or a damaged row. */
int job_phase_parse(const char *name, enum job_phase *ret)
{
	for (int i = 0; i < _PHASE_MAX; i++)
		if (!strcmp(name, phase_names[i])) {
			*ret = (enum job_phase)i;
			return 0;
		}
	return -EINVAL;
}

/* Before anything is done the job is saved; see act_on_phase() in phases.c. */
void job_act_after(struct job *j, unsigned delay_ms)
{
	job_due_set(j, DUE_ACT, node_now_ns() + delay_ms * MS_NS);
}

bool job_has_processes(const struct job *j)
{
	char path[MANAGER_PATH_MAX];
	int r = events_files_read(job_cgroup(j, path), "populated");

	return r < 0 ? access(path, F_OK) == 0 : r == 1;
}

int64_t job_now_ns(const struct job *j)
{
	return j->gone_ns ? j->gone_ns : node_now_ns();
}

/* The act runs from the event loop, never inside the caller: callers may still use the job after this call. */
void job_enter_phase(struct job *j, enum job_phase phase)
{
	log_job(LOG_DEBUG, j->s.job, "phase", "phase %s", job_phase_name(phase));
	j->phase = phase;
	if (phase == PHASE_REPORT)
		j->node->left.is_known = false;
	job_act_after(j, 0);
}

void job_fail(struct job *j, const char *fmt, ...)
{
	char text[REASON_NODE_TEXT_MAX];
	va_list ap;

	if (j->s.end.kind != END_NONE)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_clean(text);
	job_latch_end(j, END_FAILED, text);
	log_job(LOG_NOTICE, j->s.job, "failed", "%s", text);
}

/* Overwrites an end that is recorded; callers that must keep the first one check before (job_fail(),
 * latch_limit(), latch_cancel()). */
void job_latch_end(struct job *j, enum job_end_kind kind, const char *text)
{
	struct job_end end = {
		.kind = kind,
		.exit_status = -1,
		.reason = { .requested = -1, .reached = -1, .at_ns = node_realtime_ns() }
	};

	snprintf(end.reason.host, sizeof(end.reason.host), "%s", j->node->conf->node);
	utf8_copy(end.reason.text, REASON_NODE_TEXT_MAX, text, strlen(text));
	state_end_set(&j->s, &end);
}

/* Logged even where the copy fails: the journal has it then, and the report keeps the note before. */
void job_note(struct job *j, const char *fmt, ...)
{
	char text[JOB_NOTE_MAX], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_clean(text);
	log_job(LOG_NOTICE, j->s.job, "note", "%s", text);
	copy = strdup(text);
	if (!copy)
		return;
	free(j->s.note);
	j->s.note = copy;
}

/* Counters and peaks only grow (usage_merge()), so that a late or repeated sample takes nothing away. */
void job_merge_usage(struct job *j, const struct usage *u)
{
	struct usage all;
	int64_t before_ns;

	state_usage_get(&j->s, &all);
	before_ns = all.cpu_ns;
	usage_merge(&all, u);
	j->node->counts.cpu_ns += all.cpu_ns - before_ns;
	if (state_usage_set(&j->s, &all) < 0)
		log_job(LOG_WARNING, j->s.job, "usage", "no memory: the figures before stay");
}

const char *job_cgroup(const struct job *j, char buf[static MANAGER_PATH_MAX])
{
	struct node *n = j->node;

	return manager_path(n->ops->parent(n->manager),
			    (struct manager_id){ j->s.job, j->s.attempt }, buf);
}

const char *job_file(const struct job *j, const char *name, char *buf, size_t size)
{
	char dir[4096];

	if (!j->node->jobfs || !j->s.jobfs.projid)
		return NULL;
	jobfs_path(j->node->jobfs, &j->s.jobfs, dir, sizeof(dir));
	snprintf(buf, size, "%s%s%s", dir, *name ? "/" : "", name);
	return buf;
}
