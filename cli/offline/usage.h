/* usage - usage from a ledger file, as GET /v1/usage answers, but for the rows: hundreds
 * of objects take longer to make and to free than the ledger to read. */
#pragma once
#include <jansson.h>
#include "common/verb/verb.h"
#include "controller/quota/projection/projection.h"

struct err;

/* By the options of `reeve usage`, which were checked. With a profile and no days stated: the
 * allocation year of --at; else all there is. */
int usage_ledger_read(const struct verb_call *call, const enum store_by by[static 2],
		      const struct projection_each *each, json_t **ret_head, struct err *err);
