/* usage_ledger - usage from a ledger file, as GET /v1/usage answers. */
#pragma once
#include <jansson.h>
#include "common/verb.h"

struct err;

/* By the options of `reeve usage`, which were checked. With a profile and no days stated: the
 * allocation year of --at; else all there is. */
int usage_ledger_read(const struct verb_call *call, json_t **ret, struct err *err);
