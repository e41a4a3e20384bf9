/* submit - one job handed in: what must hold of it, its price, its row. */
#pragma once
#include "controller/api/submit/admit.h"
#include "controller/api/submit/bounds.h"

struct submission {
	int64_t job;
	struct admit_note note;
	char account[REQUEST_NAME_MAX];
	bool has_failed; /* the ledger, half-way: the transaction is to be rolled back */
};
/* In the ledger's transaction under way. 0: it is in, and c->answer says so, to be sent when it
 * is on disk. < 0: refused, nothing was written; or the ledger failed. */
int submit_take(struct call *c, struct bounds *b, struct submission *ret, struct err *err);
/* It is on disk: what is to be done then. */
void submit_finish(struct call *c, const struct submission *s);
