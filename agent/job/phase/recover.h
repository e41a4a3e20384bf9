/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recover.h - after a restart of the agent: find every job that was left, and continue it under its limits or end it.
 */
#pragma once
#include "agent/job/job.h"

int job_recover_all(struct node *n, struct err *err);
/* PREPARE of a job whose unit runs here already, because the agent's database was lost: adopt it as it runs, without
 * touching its disk. 1: adopted; 0: it does not run. */
int job_recover_unknown(struct node *n, struct job *j);

/* Jobs that run here without a record. The sync lists them, and the controller either sends their request (then they
 * are adopted) or refuses them (then they are killed). All of them in the malloc()ed `*ret`, which may be an earlier
 * list; jobs that have ended or were adopted are left out. -ENOMEM leaves `*ret` as it was. */
int job_recover_list_found(struct node *n, struct sync_job **ret, size_t *ret_n);
/* Kill one of them. 0: it is not one of them. */
int job_recover_refuse(struct node *n, struct manager_id id);
/* Is it one of them? */
bool job_recover_is_found(const struct node *n, int64_t job);
/* It is none of them any more. */
void job_recover_drop_found(struct node *n, int64_t job);
