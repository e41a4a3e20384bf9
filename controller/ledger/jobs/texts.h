/* SPDX-License-Identifier: GPL-2.0-or-later */
/* texts - large texts (scripts and environments of jobs, commands of steps), each stored once for a
 * user however many jobs and steps have it; and how many bytes of the ledger a user has filled with
 * these, with output and with steps.
 *
 * A text is found by its user and its SHA-256, and deleted with the last row that has it. Large members
 * "env" and "script" of a request are stored as texts; jobs.request is then the rest without its
 * closing bracket, and STORE_REQUEST puts them together again. All in the transaction under way.
 */
#pragma once
#include "controller/ledger/store_sqlite.h"

/* The whole request of the row of jobs that is called `j` in a query. */
#define STORE_REQUEST(j)                                                                       \
	"(" j ".request || COALESCE((SELECT te.text FROM texts te WHERE te.id = " j            \
	".env), '') || COALESCE((SELECT ts.text FROM texts ts WHERE ts.id = " j                \
	".script), '') || CASE WHEN " j ".env + " j ".script > 0 THEN '}' ELSE '' END)"

#define STORE_TEXT_LARGE 512 /* bytes from which on a piece is worth a row of its own */
#define STORE_STEP_BYTES 256 /* what a step's row counts as */

/* One more row has this text; *ret: its number. */
int store_text_take(struct store *s, const char *user, const char *text, int64_t *ret,
		    struct err *err);
/* `n` rows fewer have it. 0: there is none of that number. */
int store_text_release(struct store *s, int64_t id, int64_t n, struct err *err);

/* The user of the job has `bytes` more in the ledger; < 0: fewer. */
int store_stored_add(struct store *s, int64_t job, int64_t bytes, struct err *err);
/* How many bytes more the user of the job may store; INT64_MAX: there is no bound. */
int store_stored_room(struct store *s, int64_t job, int64_t *ret, struct err *err);
