/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage - sums up usage of a ledger file. The head is the document of GET /v1/usage; rows are
 * passed to a function, since making JSON of them took longer than reading the ledger. */
#pragma once
#include <jansson.h>
#include "common/verb/verb.h"
#include "controller/quota/projection/projection.h"

struct err;

/* Takes the options of `reeve usage`, already checked. Without --start and --end: with a profile
 * the allocation year of --at, else the whole ledger. */
int usage_ledger_read(const struct verb_call *call, const enum store_by by[static 2],
		      const struct projection_each *each, json_t **ret_head, struct err *err);
