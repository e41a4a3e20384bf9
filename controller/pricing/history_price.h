/* history_price - the price under a profile of a job that ran elsewhere, and which parts of the
 * job's record (queue, QOS) the profile does not have.
 *
 * The one rule for `reeve import --profile`, `reeve admin reprice` and `reeve eff --profile`.
 * The queue is the job's partition where the profile's cluster has one of that name, else its
 * default queue; its QOS is priced where the profile has one of that name, and a job whose QOS
 * is not known has the profile's DefaultQos. Of an exclusive queue the job's nodes are held
 * whole. GPUs are priced by model; a job of several models is priced as one job for each, with
 * cores and memory split in proportion to the GPUs, and its rate is their sum.
 */
#pragma once
#include "controller/config/config.h"
#include "controller/history/history.h"
#include "controller/policy/charge/tally.h"

struct err;

struct history_price {
	enum charge_pool pool;
	struct tally_terms terms;
	bool has_queue; /* false: the profile has no queue of that name (or the record has none) */
	bool has_qos; /* likewise */
};
/* config NULL: the cores are charged as they are. -EINVAL, -ERANGE: no price, with words. */
int history_price(const struct config *config, const struct history_job *j,
		  struct history_price *ret, struct err *err);
