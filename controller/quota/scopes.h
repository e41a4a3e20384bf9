/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scopes - the limits of accounts.h and of QOS as scopes of policy/quota/eligible.h, with what
 * runs and waits there now.
 *
 * A job counts against its user, its association, its account and every account above, and
 * its user in its group, its queue and its QOS, if a limit is stated; on all clusters together. A
 * suspended job keeps its memory and GPUs but no cores. Where nothing is limited, nothing is
 * read.
 */
#pragma once
#include "controller/policy/quota/eligible.h"
#include "controller/quota/quota.h"

struct err;
struct scopes;

/* Accounts and configuration of the site must stay valid until the last job is found and
 * counted.
 */
int scopes_new(const struct quota_site *site, struct scopes **ret, struct err *err);
struct scopes *scopes_free(struct scopes *s);
DEFINE_CLEANUP(struct scopes *, scopes_free)

/* Does it state any limit at all? */
bool scopes_has_limits(const struct quota_site *site);

struct scopes_job {
	const char *account, *user, *queue, *qos;
	struct eligible_amounts want;
	int64_t n_queued; /* jobs that it counts as while it is queued: an array by its tasks */
};
struct scopes_job scopes_job_of(const struct store_quota_job *j);
/* Finds the scopes that the job counts against, and adds those that are new. scopes_found() has
 * them until the next call. Returns how many; -ENOMEM. */
int scopes_find(struct scopes *s, const struct scopes_job *job, struct err *err);
const int32_t *scopes_found(const struct scopes *s);
/* For eligible_check() and the others. */
struct eligible_world *scopes_world(struct scopes *s);

/* Counts one active (queued, running or suspended) job. */
int scopes_count(struct scopes *s, const struct store_quota_job *j, struct err *err);
/* Counts all active jobs, and those of Slurm that the ledger does not have yet. */
int scopes_load(struct scopes *s, const struct quota_site *site, struct err *err);

/* Could the job start if nothing else ran? False: `why` has the limit that it exceeds by
 * itself. */
bool scopes_is_possible(struct scopes *s, const struct scopes_job *job,
			char why[static ELIGIBLE_WHY_MAX]);
/* Does any of the job's scopes limit how many jobs may be queued? Otherwise scopes_load() is
 * not needed. */
bool scopes_limit_queue(struct scopes *s, const struct scopes_job *job);
/* May the job be queued beside those counted? After scopes_load(). */
bool scopes_may_queue(struct scopes *s, const struct scopes_job *job,
		      char why[static ELIGIBLE_WHY_MAX]);
