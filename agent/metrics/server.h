/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server.h - GET /metrics of the agent: MetricsListen=.
 *
 * It never delays what holds jobs to their limits: it has the lowest priority in the event loop, no call waits, a
 * client has 5 seconds and 8 KiB for its request, and of more than 32 clients the oldest is closed. The text is
 * made at most once a second and form, however often it is asked for.
 */
#pragma once
#include "agent/node.h"

struct metrics_server;

/* *ret NULL: MetricsListen= is not set, or it cannot listen: a note of the node says why, and jobs run. -ENOMEM. */
int metrics_server_open(struct node *n, struct metrics_server **ret, struct err *err);
struct metrics_server *metrics_server_close(struct metrics_server *s);
