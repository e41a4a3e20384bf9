/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options - checks of options that several verbs have: --start, --end, --limit, and those that go with --ledger. */
#pragma once
#include "common/verb/verb.h"

struct err;

/* Checks --start and --end: each a day, and --end after --start. Both may be absent. -EINVAL. */
int options_check_period(const struct verb_call *call, struct err *err);
/* -EINVAL: one of these options (NULL-terminated) is given without --ledger FILE. */
int options_need_ledger(const struct verb_call *call, const char *const *options,
			struct err *err);
/* Reads --limit, from 1 to most; *ret is unchanged where it is absent. -EINVAL. */
int options_read_limit(const struct verb_call *call, int64_t most, int64_t *ret,
		       struct err *err);
