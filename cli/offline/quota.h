/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota - computes quotas from a ledger file and a profile, without a controller. */
#pragma once
#include <jansson.h>
#include "common/verb/verb.h"

struct err;

/* The document of GET /v1/quota, from the options of `reeve quota`. -EINVAL: options; -ENOENT:
 * no such file or account; -EBADMSG: a profile or accounts file with a fault. */
int quota_ledger_read(const struct verb_call *call, json_t **ret, struct err *err);
