/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kill.h - end the processes of a job: all at once, or SIGTERM first and SIGKILL after the grace. */
#pragma once
#include "agent/job/job.h"

/* SIGKILL to all processes of the user: one write to the cgroup.kill that was opened beforehand. */
void job_kill_now(struct job *j);
/* SIGKILL to the launcher of a job that could not be attached, wherever in the unit it is. */
void job_kill_launcher(struct job *j);
/* SIGTERM, and SIGKILL after KillGrace; a suspended job is thawed for it. The reason is in j->s.end before. */
void job_terminate(struct node *n, struct job *j);
