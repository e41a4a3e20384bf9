/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ordering - what decides which queued job of a cluster starts next under a configuration, and the sentences that people read about it.
 *
 * Every sentence about priority (queue, shares, quotas, why a job waits, check-config) is made of these texts, so that none of them
 * describes another scheduler than the one in force. The texts are constants. Pure.
 */
#pragma once
#include "controller/config/config.h"

enum config_ordering {
	CONFIG_ORDERING_SUBMISSION, /* no weight is set */
	CONFIG_ORDERING_PRIORITY,
	CONFIG_ORDERING_SHUFFLE, /* Scheduler = suspend; priorities decide between equal scores */
	CONFIG_ORDERING_FOREIGN, /* Slurm or PBS orders its own jobs, and Reeve adds nothing to that */
	_CONFIG_ORDERING_MAX
};
/* `cluster` NULL or without a section: a cluster whose jobs Reeve starts. */
enum config_ordering config_ordering(const struct config *c, const char *cluster);
/* "submission" "priority" "shuffle" "foreign" */
const char *config_ordering_name(enum config_ordering o);

/* Is any PriorityWeight... set? */
bool config_is_ranked(const struct config *c);
/* Does a larger decayed usage make jobs on the cluster start later? */
bool config_orders_by_usage(const struct config *c, const char *cluster);

/* A sentence: how the queues of Reeve are ordered. */
const char *config_ordering_queue(const struct config *c);
/* "unless a higher-priority job arrives before then": what may delay the job that is next in the queue. */
const char *config_ordering_unless(const struct config *c);
/* A clause about an account that used more than its share: "priority is lower until usage has faded". */
const char *config_ordering_overuse(const struct config *c, const char *cluster);
/* A sentence: why shares order no jobs on the cluster. NULL: they do. */
const char *config_ordering_without_usage(const struct config *c, const char *cluster);
/* "no weight is set: fairshare orders nothing" of a policy that relies on fairshare. NULL: nothing to say. */
const char *config_ordering_warning(const struct config *c);
