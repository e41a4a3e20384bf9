/* SPDX-License-Identifier: GPL-2.0-or-later */
/* grant.c - what jobs use and reserve of a grant, and whether it covers one more; see grant.h.
 */
#include <errno.h>
#include "common/cleanup.h"
#include "controller/policy/quota/grant.h"

static const char *const verdict_names[] = { "covered", "bonus", "refused" };
_Static_assert(ARRAY_LEN(verdict_names) == _GRANT_VERDICT_MAX, "a name a verdict");

const char *grant_verdict_name(enum grant_verdict v)
{
	return v < _GRANT_VERDICT_MAX ? verdict_names[v] : "none";
}

/* reserved = charge(whole walltime) - charge(so far), not charge(rest): each is rounded once,
 * so that used + reserved is the same number at every moment. */
int grant_job_part(const struct grant_job *job, struct grant_part *ret)
{
	int64_t whole_ns = job->walltime_ns > job->ran_ns ? job->walltime_ns : job->ran_ns;
	int64_t used, whole;
	int r;

	if (job->walltime_ns < 0 || job->ran_ns < 0)
		return -EINVAL;
	r = charge_requested(job->rate, job->ran_ns, &used);
	if (r == 0)
		r = charge_requested(job->rate, whole_ns, &whole);
	if (r < 0)
		return r;
	*ret = (struct grant_part){ used, job->ended ? 0 : whole - used };
	return 0;
}

int grant_sum(int64_t granted, int64_t settled, const struct grant_jobs *jobs,
	      struct grant *ret)
{
	struct grant g = { .granted = granted, .used = settled };
	struct grant_part part;
	int r;

	if (granted < 0 || settled < 0)
		return -EINVAL;
	for (size_t i = 0; i < jobs->n; i++) {
		r = grant_job_part(&jobs->jobs[i], &part);
		if (r < 0)
			return r;
		if (__builtin_add_overflow(g.used, part.used, &g.used) ||
		    __builtin_add_overflow(g.reserved, part.reserved, &g.reserved))
			return -ERANGE;
	}
	if (__builtin_sub_overflow(g.granted, g.used, &g.available) ||
	    __builtin_sub_overflow(g.available, g.reserved, &g.available))
		return -ERANGE;
	*ret = g;
	return 0;
}

int grant_admit(const struct grant *g, const struct grant_rule *rule, int64_t need,
		enum grant_verdict *ret)
{
	int64_t room;
	bool covered;

	if (need < 0 || rule->overdraft < 0 || rule->cover >= _GRANT_COVER_MAX)
		return -EINVAL;
	if (__builtin_add_overflow(g->available, rule->overdraft, &room))
		return -ERANGE;
	covered = need == 0 || (rule->cover == GRANT_COVER_WHOLE ? need <= room : room > 0);
	*ret = covered ? GRANT_COVERED : rule->refuse_beyond ? GRANT_REFUSED : GRANT_BONUS;
	return 0;
}
