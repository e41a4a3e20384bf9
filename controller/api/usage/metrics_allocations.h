/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics_allocations - what accounts have used of their allocations, in GET /metrics.
 *
 * Reading one costs some queries, and a site may have tens of thousands: each scrape reads for at most METRICS_READ_NS, goes on where
 * the one before stopped, and shows what was read last of each. An allocation that was not read since the start, or since accounts
 * changed, is not shown; reeve_allocations_unread counts them. By account, so for those alone who see accounts (metrics_usage.h).
 */
#pragma once
#include "controller/api/usage/metrics_usage.h"

#define METRICS_READ_NS (20 * MS_NS)

int metrics_put_allocations(struct metrics_text *t, struct call *c, struct err *err);
struct metrics_allocations *metrics_allocations_free(struct metrics_allocations *m);
