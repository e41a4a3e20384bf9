/* scopes - the limits of accounts.h as scopes of policy/eligible.h, with what runs and
 * waits there now.
 *
 * A job counts against its user, its association, its account and every account above, and
 * its user in its queue and in its QOS, where a limit is stated; on all clusters together. A
 * suspended job holds its memory and GPUs but no cores. Cheap where nothing is limited: then
 * nothing is read.
 */
#pragma once
#include "controller/policy/quota/eligible.h"
#include "controller/quota/quota.h"

struct err;
struct scopes;

/* Accounts and configuration must stay until all is counted. */
int scopes_new(const struct quota_site *site, struct scopes **ret, struct err *err);
struct scopes *scopes_free(struct scopes *s);
DEFINE_CLEANUP(struct scopes *, scopes_free)

/* Does it state any limit at all? */
bool scopes_has_limits(const struct quota_site *site);

struct scopes_job {
	const char *account, *user, *queue, *qos;
	struct eligible_amounts want;
	int64_t n_queued; /* as so many it counts while it waits: an array by its elements */
};
struct scopes_job scopes_job_of(const struct store_quota_job *j);
/* Finds, and makes known, what the job counts against: scopes_found() tells, until the next
 * call. Returns how many. */
int scopes_find(struct scopes *s, const struct scopes_job *job, struct err *err);
const int32_t *scopes_found(const struct scopes *s);
/* For eligible_check() and the others. */
struct eligible_world *scopes_world(struct scopes *s);

/* Counts a job that is active: it waits, or runs. */
int scopes_count(struct scopes *s, const struct store_quota_job *j, struct err *err);
/* Counts all active jobs. */
int scopes_load(struct scopes *s, struct store *store, struct err *err);

/* Could it start if nothing else ran? False: `why`. */
bool scopes_is_possible(struct scopes *s, const struct scopes_job *job,
			char why[static ELIGIBLE_WHY_MAX]);
/* Does anything that the job counts against limit how many may be queued? Else there is nothing
 * to count. */
bool scopes_limit_queue(struct scopes *s, const struct scopes_job *job);
/* May one more be queued? */
bool scopes_may_queue(struct scopes *s, const struct scopes_job *job,
		      char why[static ELIGIBLE_WHY_MAX]);
