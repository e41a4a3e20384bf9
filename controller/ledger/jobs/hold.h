/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hold - queued jobs that their owner or an operator does not let start. Part of the contract of
 * store.h.
 *
 * A hold of an array holds all its tasks that have not started. A task may be held alone; a release of
 * its array releases it too.
 */
#pragma once
#include "controller/ledger/store.h"

enum store_holder { STORE_HOLD_USER, STORE_HOLD_OPERATOR, _STORE_HOLDER_MAX };

struct store_hold {
	int64_t job, now_ns;
	enum store_holder kind; /* in a release: STORE_HOLD_OPERATOR releases both kinds */
	const char *author;
};
/* 0, also when the job was held in this way before: then the first hold stays. STORE_TOO_LATE: it is
 * not queued. -ENOENT: no such job. */
int store_hold(struct store *s, const struct store_hold *h, struct err *err);
#define STORE_NOT_HELD 2
#define STORE_HELD_ABOVE 3 /* held by an operator, released by a user */
/* 0, STORE_TOO_LATE, or one of these. */
int store_release(struct store *s, const struct store_hold *h, struct err *err);

struct store_held {
	enum store_holder kind;
	char author[REQUEST_NAME_MAX];
	int64_t at_ns;
};
/* The hold of the job or of its array; an operator's first. 1: it is held. */
int store_held(struct store *s, int64_t job, struct store_held *ret, struct err *err);
/* The same as one text, in a statement that reads many jobs, of the job with this alias: KIND AT_NS AUTHOR. */
#define STORE_HOLD_TEXT(alias)                                                                    \
	"(SELECT h.kind || ' ' || h.at_ns || ' ' || h.author FROM holds h WHERE h.job IN (" alias \
	".job, " alias ".array_job) ORDER BY h.kind DESC LIMIT 1)"
/* false: it is none. */
bool store_hold_parse(const char *text, struct store_held *ret);
