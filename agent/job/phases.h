/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.h - the job state machine: a table of phases and their acts, and the events that wake it. */
#pragma once
#include "agent/job/job.h"

/* Recover the jobs that an earlier agent left, each at its saved phase. */
int job_phases_open(struct node *n, struct err *err);
/* Watch the directory of final records; call once. */
int job_phases_watch(struct node *n, sd_event_source **ret, struct err *err);
/* Each SampleInterval. */
void job_phases_tick(struct node *n);

/* Callbacks of the unit manager and of events; ctx is the node. */
void job_phases_on_done(void *ctx, struct manager_id id, enum manager_order order, int result,
			const struct err *err);
bool job_phases_is_due(void *ctx, struct manager_id id, enum manager_order order);
void job_phases_on_gone(void *ctx, struct manager_id id);
void job_phases_on_empty(void *ctx, int64_t job, uint64_t boot_ns);
