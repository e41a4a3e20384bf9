/* SPDX-License-Identifier: GPL-2.0-or-later */
/* await - a GET that is answered as soon as there is something new, or when its time is
 * over.
 */
#pragma once
#include "controller/api/call.h"

struct await {
	/* 1: there is something new; 0: not yet. *ret is the answer in both cases. */
	int (*read)(struct api *a, const void *what, json_t **ret, struct err *err);
	const void *what; /* copied: plain data */
	size_t size;
	int64_t job, step; /* whose changes wake it: api_step_key() */
	int64_t wait_s;	   /* at most; 0: answered at once */
};
/* Returns as a route does: 0, CALL_DEFERRED, or < 0. */
int await_answer(struct call *c, const struct await *w, struct err *err);
/* "wait" of the query: seconds, 0 when absent. */
int await_query(const struct call *c, int64_t *ret_s, struct err *err);
