/* SPDX-License-Identifier: GPL-2.0-or-later */
/* starts - what was started here on which signature: one statement of a user (its nonce) starts
 * one job, one array or one step, and each attempt of it once. In the agent's database, so that
 * neither a restart of the agent nor a controller that asks again makes it start twice.
 *
 * A record is kept for as long as its statement could be used (MaxQueueAge).
 */
#pragma once
#include <stdint.h>

struct db;
struct err;

struct start {
	const char *nonce;
	int64_t base;	   /* the job that was submitted: of an element, its array */
	int64_t job, step; /* step 0: the job itself */
	int32_t attempt;
	int64_t made_s; /* when it was signed, real time */
};

/* May it be started? 0; or */
#define STARTS_ANOTHER 1 /* no: the statement has started *ret, another job or step */
#define STARTS_AGAIN 2	 /* no: attempt *ret of it was started, this one or a later one */
int starts_look(struct db *db, const struct start *s, int64_t *ret, struct err *err);
/* It is started now. What was signed before `forget_s` is forgotten. In the caller's
 * transaction, or one of its own. */
int starts_keep(struct db *db, const struct start *s, int64_t forget_s, struct err *err);
