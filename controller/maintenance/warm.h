/* SPDX-License-Identifier: GPL-2.0-or-later */
/* warm - reads the sums of the allocation period under way, part by part, so that no page has to read all of them: at the start for two
 * seconds at most, then between requests; and again every ten minutes what has changed. See ledger/usage/ranks/ranks.h. */
#pragma once
#include "common/cleanup.h"

struct api;
struct err;
struct warm;

int warm_open(struct api *a, struct warm **ret, struct err *err);
struct warm *warm_close(struct warm *w);
DEFINE_CLEANUP(struct warm *, warm_close)
