/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspended - limits how long owners may suspend their jobs (MaxSuspend, MaxSuspendAction). */
#pragma once
#include "controller/api/context.h"

/* Resumes or ends the jobs whose owners suspended them for MaxSuspend; some hundreds a call. */
int suspended_check(struct api *a, int64_t now_ns, struct err *err);
/* The latest end of a suspension that began at since_ns; 0: no limit. */
int64_t suspended_until_ns(const struct api *a, int64_t since_ns);
/* Why the job is suspended, for users, with times in UTC. */
void suspended_why(const struct api *a, int64_t since_ns, char *buf, size_t size);
