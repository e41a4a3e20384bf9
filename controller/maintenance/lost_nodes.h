/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost_nodes - declares nodes lost that were silent for NodeLost=, and ends or requeues their
 * jobs.
 *
 * A node's silence counts only while the controller was able to receive: not before it led, nor
 * while it or its machine was stopped, its clock was set, or it refused connections that may
 * have been nodes'.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/log.h"
#include "common/time_units.h"

struct api;
struct err;

#define LOST_NODES_CHECK_NS (5 * S_NS) /* between checks, about */

struct lost_nodes {
	int64_t listening_ns, checked_ns; /* real time: able to receive since; last check */
	int64_t shed; /* connections refused that may have been nodes', at the last check */
	struct log_limit log;
};

void lost_nodes_init(struct lost_nodes *l, int64_t now_ns);
int lost_nodes_check(struct lost_nodes *l, struct api *a, int64_t now_ns, struct err *err);
