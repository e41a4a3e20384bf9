/* job.c - table and steps of jobs; see job.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/job.h"
#include "agent/job/due.h"
#include "agent/job/gpus/meter.h"
#include "agent/job/save.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"

#define START_PATIENCE_NS (60 * S_NS)

static const char *const step_names[_STEP_MAX] = { "prepare", "unit",	 "running", "final",
						   "drain",   "cleanup", "report" };

const char *job_step_name(enum job_step step)
{
	return step < _STEP_MAX ? step_names[step] : "unknown";
}

int job_step_parse(const char *name, enum job_step *ret)
{
	for (int i = 0; i < _STEP_MAX; i++)
		if (!strcmp(name, step_names[i])) {
			*ret = (enum job_step)i;
			return 0;
		}
	return -EINVAL;
}

struct job *job_new(struct node *n, int64_t id, int32_t attempt)
{
	struct job *j = calloc(1, sizeof(*j)), **at = &n->jobs;

	if (!j)
		return NULL;
	state_attempt_init(&j->s);
	j->node = n;
	j->s.job = id;
	j->s.attempt = attempt;
	j->kill_fd = -1;
	while (*at)
		at = &(*at)->next;
	*at = j;
	n->n_jobs++;
	return j;
}

struct job *job_find(struct node *n, int64_t id, int32_t attempt)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->s.job == id && j->s.attempt == attempt)
			return j;
	return NULL;
}

struct job *job_find_running(struct node *n, int64_t id)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->s.job == id && j->step == STEP_RUNNING)
			return j;
	return NULL;
}

void job_free(struct job *j)
{
	struct job **at = &j->node->jobs;

	while (*at && *at != j)
		at = &(*at)->next;
	if (*at) {
		*at = j->next;
		j->node->n_jobs--;
	}
	for (int i = 0; i < 2; i++)
		sd_event_source_disable_unref(j->streams[i].watch);
	if (j->kill_fd >= 0)
		close(j->kill_fd);
	gpu_meter_free(j->meter);
	state_attempt_done(&j->s);
	free(j->start);
	free(j);
}

/* Is the job to begin now, or to be given up because it could not be saved for long? */
static void wait_to_start(struct job *j, const struct err *why)
{
	if (node_now_ns() - j->unsaved_ns < START_PATIENCE_NS) {
		job_again(j, 1000);
		return;
	}
	job_fail(j, "node %s cannot save the state of jobs: %.180s", j->node->conf->node,
		 why->text);
	job_go(j, STEP_FINAL);
}

void job_act(struct job *j)
{
	bool is_begun = j->step > STEP_UNIT;
	struct err err;

	if (job_save(j, &err) < 0 && !is_begun) {
		if (j->s.end.kind == END_NONE)
			wait_to_start(j, &err);
		else
			job_go(j, STEP_FINAL);
		return;
	}
	/* The job may be freed by its act. */
	j->node->act(j->node, j);
}

void job_again(struct job *j, unsigned delay_ms)
{
	job_due_set(j, DUE_ACT, node_now_ns() + delay_ms * MS_NS);
}

void job_go(struct job *j, enum job_step step)
{
	j->step = step;
	job_again(j, 0);
}

void job_fail(struct job *j, const char *fmt, ...)
{
	char text[sizeof(((struct reason *)0)->text)];
	va_list ap;

	if (j->s.end.kind != END_NONE)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_clean(text);
	job_latch(j, END_FAILED, text);
	log_job(LOG_NOTICE, j->s.job, "failed", "%s", text);
}

void job_latch(struct job *j, enum job_end_kind kind, const char *text)
{
	struct job_end end = {
		.kind = kind,
		.exit_status = -1,
		.reason = { .requested = -1, .reached = -1, .at_ns = node_realtime_ns() }
	};

	snprintf(end.reason.host, sizeof(end.reason.host), "%s", j->node->conf->node);
	utf8_copy(end.reason.text, sizeof(end.reason.text), text, strlen(text));
	state_end_set(&j->s, &end);
}

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
