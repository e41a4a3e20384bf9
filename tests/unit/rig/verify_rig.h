/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_rig.h - the ledger of a test against its own sums; for tests that link the ledger's verify. */
#pragma once
#include "controller/ledger/verify/verify.h"
#include "tests/unit/rig/ledger_rig.h"

static inline int rig_ignore_difference(void *ctx, const struct store_difference *d,
					struct err *err)
{
	(void)ctx, (void)d, (void)err;
	return 0;
}

static inline int64_t rig_count_differences(struct rig *r)
{
	struct store_verified n;

	assert_int_equal(store_verify(r->store, rig_ignore_difference, NULL, &n, NULL), 0);
	return n.differences;
}
