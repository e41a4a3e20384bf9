/* hold - jobs that are kept from starting: by their owner, or by an operator. Part of the
 * contract of store.h.
 *
 * A hold of an array holds all its elements that have not started. An element may be held by
 * itself; what releases its array releases it too.
 */
#pragma once
#include "controller/ledger/store.h"

enum store_holder { STORE_HOLD_USER, STORE_HOLD_OPERATOR, _STORE_HOLDER_MAX };

struct store_hold {
	int64_t job, now_ns;
	enum store_holder kind; /* to release: STORE_HOLD_OPERATOR may take both away */
	const char *author;
};
/* 0, also when it was held so before: the first one stays. STORE_TOO_LATE: it is not queued.
 * -ENOENT. */
int store_hold(struct store *s, const struct store_hold *h, struct err *err);
#define STORE_NOT_HELD 2
#define STORE_HELD_ABOVE 3 /* by an operator, and asked for by a user */
/* 0, STORE_TOO_LATE, or one of these. */
int store_release(struct store *s, const struct store_hold *h, struct err *err);

struct store_held {
	enum store_holder kind;
	char author[REQUEST_NAME_MAX];
	int64_t at_ns;
};
/* Who holds the job, or its array; an operator first. 1: it is held. */
int store_held(struct store *s, int64_t job, struct store_held *ret, struct err *err);
