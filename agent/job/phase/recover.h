/* recover.h - an agent that comes back: every job that was left is found again, goes on
 * under its limits, or is brought to its end.
 */
#pragma once
#include "agent/job/job.h"

int job_recover_all(struct node *n, struct err *err);
/* PREPARE of a job whose unit runs here already, because the agent's database was lost: taken
 * over as it runs, its disk untouched. 1: so it is; 0: it does not run. */
int job_recover_unknown(struct node *n, struct job *j);

/* Jobs that run here and of which there is no record: they are told to the controller, which
 * either says what they are (then they are taken up) or refuses them (then they are killed).
 * All of them, into the malloc()ed `*ret`, which may be an earlier list; those that are over or
 * were taken up are dropped. -ENOMEM leaves it. */
int job_recover_list_found(struct node *n, struct sync_job **ret, size_t *ret_n);
/* Kills one of them. 0: it is none. */
int job_recover_refuse(struct node *n, struct manager_id id);
