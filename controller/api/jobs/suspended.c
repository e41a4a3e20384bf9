/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspended.c - resumes or ends jobs that their owners suspended for longer than MaxSuspend;
 * see suspended.h. */
#include "controller/api/jobs/suspended.h"
#include <stdio.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/log.h"
#include "common/model/amount.h"
#include "controller/api/call.h"
#include "controller/api/jobs/parts.h"
#include "controller/ledger/attempts/suspended.h"

#define AT_ONCE 256 /* jobs handled in one call; the next check takes more */

static bool ends_jobs(const struct api *a)
{
	return a->c.config->max_suspend_action == CONFIG_MAX_SUSPEND_END;
}

/* Resumes or ends a job (1). 0: its state has changed since it was read. */
static int release_job(struct api *a, int64_t job, int64_t now_ns, struct err *err)
{
	char limit[AMOUNT_TEXT_MAX], reason[160], node[REQUEST_NAME_MAX];
	struct store_desired_change w = { .job = job, .want = DESIRED_RUN, .now_ns = now_ns };
	int r;

	amount_format_seconds(a->c.config->max_suspend_s, limit);
	snprintf(reason, sizeof(reason),
		 "cancelled: it was suspended by its owner for longer than MaxSuspend (%s)",
		 limit);
	if (ends_jobs(a)) {
		w.want = DESIRED_CANCEL;
		w.reason = reason;
	}
	r = store_set_desired(a->c.store, &w, node, err);
	if (r != 0)
		return r < 0 ? r : 0;
	log_job(LOG_NOTICE, job, ends_jobs(a) ? "cancel" : "resume",
		"its owner suspended it for longer than MaxSuspend (%s)", limit);
	r = parts_wake(a, job, err);
	api_wake_job(a, job);
	return r < 0 ? r : 1;
}

int suspended_check(struct api *a, int64_t now_ns, struct err *err)
{
	int64_t jobs[AT_ONCE], bound_ns = a->c.config->max_suspend_s * S_NS;
	bool has_changed = false;
	int n, r = 0;

	if (!bound_ns)
		return 0;
	n = store_suspended(a->c.store, now_ns - bound_ns, jobs, AT_ONCE, err);
	for (int i = 0; i < n && r >= 0; i++) {
		r = release_job(a, jobs[i], now_ns, err);
		has_changed |= r > 0;
	}
	if (has_changed)
		api_request_cycle(a);
	return n < 0 ? n : r < 0 ? r : 0;
}

int64_t suspended_until_ns(const struct api *a, int64_t since_ns)
{
	int64_t bound_ns = a->c.config->max_suspend_s * S_NS;

	return bound_ns ? since_ns + bound_ns : 0;
}

void suspended_why(const struct api *a, int64_t since_ns, char *buf, size_t size)
{
	char since[AMOUNT_TEXT_MAX], until[AMOUNT_TEXT_MAX];
	int64_t until_ns = suspended_until_ns(a, since_ns);

	amount_format_utc(since_ns, since);
	if (!until_ns)
		snprintf(buf, size, "suspended by its owner since %s", since);
	else
		snprintf(buf, size, "suspended by its owner since %s; %s at %s at the latest",
			 since, ends_jobs(a) ? "ended" : "resumed",
			 amount_format_utc(until_ns, until));
}
