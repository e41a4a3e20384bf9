/* phases.h - the life of a job as one table: which step does what, and what wakes it. */
#pragma once
#include "agent/job/job.h"

/* Sets node->act and takes up the jobs that an earlier agent left, each at its saved step. */
int job_phases_open(struct node *n, struct err *err);
/* Watch for final records; call once. */
int job_phases_watch(struct node *n, sd_event_source **ret, struct err *err);
/* Each SampleInterval. */
void job_phases_tick(struct node *n);

/* Callbacks of the doors; ctx is the node. */
void job_phases_on_done(void *ctx, struct manager_id id, enum manager_order order, int result,
			const struct err *err);
void job_phases_on_gone(void *ctx, struct manager_id id);
void job_phases_on_empty(void *ctx, int64_t job, uint64_t boot_ns);
