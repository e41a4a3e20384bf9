/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history_price - the price of a job of an imported history under a profile, and which parts of
 * the job's record (queue, QOS) the profile does not have.
 *
 * The one rule for `reeve import --profile`, `reeve admin reprice` and `reeve eff --profile`.
 * The queue is the job's partition where the profile's cluster has one of that name, else its
 * default queue; its QOS is priced where the profile has one of that name, and a job whose QOS
 * is not known has the profile's DefaultQos. On an exclusive queue the job is charged for its
 * whole nodes. GPUs are priced by model. A job of several models has one rate, as in Slurm: the
 * largest of (the sum of its GPUs by their weights, its cores, its memory), or the sum of the three
 * if the policy sums. If the models have different bundles (of their node types), a core and a
 * byte have the mean of their weights in these, in proportion to the GPUs.
 */
#pragma once
#include "controller/config/config.h"
#include "controller/history/history.h"
#include "controller/policy/charge/tally.h"

struct err;

struct history_price {
	enum charge_pool pool;
	struct tally_terms terms;
	bool has_queue; /* false: the profile has no queue of that name, or the record none */
	bool has_qos;	/* the same for its QOS */
	int32_t gpus; /* of a job that has no price: which of the job's models was priced last */
	bool is_by_queue; /* jobs of the cluster have other prices in other queues of it */
};
/* config NULL: the rate is the number of cores. -EINVAL, -ERANGE: no price; err has the reason.
 */
int history_price(const struct config *config, const struct history_job *j,
		  struct history_price *ret, struct err *err);
