/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array_task - the task of an array that a call names, "12[7]" or /v1/jobs/12.7. */
#pragma once
#include "controller/api/call.h"

/* c->id becomes the task's own number. A call that changes the task gives it a row; for a call
 * that only shows a task without a row, c->id stays its array's. -ENOENT: no such task, or not
 * the caller's. Refused: it was cancelled before it had a row. */
int array_task_find(struct call *c, struct err *err);
