/* SPDX-License-Identifier: GPL-2.0-or-later */
/* routes.c - the table of routes with the limits of their bodies, and the search in it; see
 * routes.h. */
#include <string.h>
#include "controller/api/about.h"
#include "controller/api/accounts/accounts.h"
#include "controller/api/console/console.h"
#include "controller/api/jobs/jobs.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/api/nodes/nodes.h"
#include "controller/api/routes.h"
#include "controller/api/steps/steps.h"
#include "controller/api/submit/submit.h"
#include "controller/api/sync/slurm_jobs.h"
#include "controller/api/sync/sync.h"
#include "controller/api/usage/usage.h"
#include "controller/api/web/ticket.h"

#define MIB (1UL << 20)

/* Bytes; then values, members of one container, and depth of the JSON (struct wire_bounds).
 * Sized for an array of 87,000 short environment variables; a node's list of 100,000 attempts
 * with 500 reports. A report's cores are the 6th level. */
const struct route_body route_bodies[_BODY_MAX] = {
	[BODY_NONE] = { 0, { 0, 0, 0 } },
	[BODY_SMALL] = { 256 << 10, { 20000, 64, 8 } },
	[BODY_REQUEST] = { 2 * MIB, { 200000, 1024, 16 } },
	[BODY_ACCOUNTS] = { 8 * MIB, { 64, 8, 8 } },
	[BODY_SYNC] = { 8 * MIB, { 1200000, 120000, 16 } },
	[BODY_CONSOLE] = { MIB, { 64, 8, 4 }, .has_bytes = true },
	[BODY_RELAY] = { 8 * MIB, { 20000, 2048, 8 }, .has_bytes = true },
	[BODY_SLURM] = { 8 * MIB, { 1200000, 120000, 8 } },
};

const struct route routes[] = {
	{ "POST", "/v1/node/sync", ROLE_NODE, BODY_SYNC, route_sync,
	  "a node's reports; its desired states" },
	{ "POST", "/v1/node/console", ROLE_NODE, BODY_RELAY, route_node_console,
	  "output of a node's interactive steps; their input" },
	{ "POST", "/v1/slurm/jobs", ROLE_USER, BODY_SLURM, route_slurm_jobs,
	  "what slurmctld and slurmdbd say of jobs" },
	{ "GET", "/v1/slurm/attempts", ROLE_USER, BODY_NONE, route_slurm_attempts,
	  "attempts of Slurm's jobs, as the ledger has them" },
	{ "POST", "/v1/jobs", ROLE_USER, BODY_REQUEST, route_submit, "submit a job" },
	{ "GET", "/v1/jobs", ROLE_USER, BODY_NONE, route_jobs, "list jobs" },
	{ "GET", "/v1/jobs/#", ROLE_USER, BODY_NONE, route_job, "one job in full" },
	{ "GET", "/v1/jobs/#/why", ROLE_USER, BODY_NONE, route_why,
	  "why it waits, and for how long" },
	{ "GET", "/v1/jobs/#/price", ROLE_USER, BODY_NONE, route_job_price,
	  "its charge, explained; its price by queue" },
	{ "GET", "/v1/jobs/#/eff", ROLE_USER, BODY_NONE, route_job_eff,
	  "what it used; what to request next" },
	{ "GET", "/v1/jobs/#/series", ROLE_USER, BODY_NONE, route_series,
	  "its use over its time" },
	{ "POST", "/v1/jobs/#/cancel", ROLE_USER, BODY_SMALL, route_cancel, "end a job" },
	{ "POST", "/v1/jobs/#/suspend", ROLE_USER, BODY_SMALL, route_suspend, "suspend a job" },
	{ "POST", "/v1/jobs/#/resume", ROLE_USER, BODY_SMALL, route_resume, "resume a job" },
	{ "POST", "/v1/jobs/#/hold", ROLE_USER, BODY_SMALL, route_hold,
	  "keep a queued job from starting" },
	{ "POST", "/v1/jobs/#/release", ROLE_USER, BODY_SMALL, route_release,
	  "let a held job start" },
	{ "POST", "/v1/jobs/#/priority", ROLE_USER, BODY_SMALL, route_priority,
	  "change a queued job's priority" },
	{ "GET", "/v1/jobs/#/output", ROLE_USER, BODY_NONE, route_output,
	  "output of a streamed job" },
	{ "POST", "/v1/jobs/#/steps", ROLE_USER, BODY_REQUEST, route_start_steps,
	  "start steps in a job" },
	{ "GET", "/v1/jobs/#/steps", ROLE_USER, BODY_NONE, route_steps, "list steps of a job" },
	{ "GET", "/v1/jobs/#/steps/output", ROLE_USER, BODY_NONE, route_step_output,
	  "output of steps" },
	{ "POST", "/v1/jobs/#/steps/cancel", ROLE_USER, BODY_SMALL, route_cancel_step,
	  "end a step" },
	{ "POST", "/v1/jobs/#/console", ROLE_USER, BODY_CONSOLE, route_console,
	  "a terminal of an interactive step" },
	{ "GET", "/v1/nodes", ROLE_USER, BODY_NONE, route_list_nodes, "list nodes" },
	{ "GET", "/v1/nodes/jobs", ROLE_USER, BODY_NONE, route_core_map,
	  "which job has which cores" },
	{ "GET", "/v1/nodes/watch", ROLE_USER, BODY_NONE, route_node_watch,
	  "silent nodes, late figures, idle GPUs, idle cores" },
	{ "POST", "/v1/nodes/drain", ROLE_USER, BODY_SMALL, route_drain,
	  "drain nodes: no new jobs" },
	{ "POST", "/v1/nodes/resume", ROLE_USER, BODY_SMALL, route_resume_node,
	  "end the drain of nodes" },
	{ "GET", "/v1/utilisation", ROLE_USER, BODY_NONE, route_utilisation,
	  "a cluster's capacity and its use by day" },
	{ "GET", "/v1/usage", ROLE_USER, BODY_NONE, route_usage, "sums of usage and charges" },
	{ "GET", "/v1/adjustments", ROLE_USER, BODY_NONE, route_entries,
	  "list refunds, recharges" },
	{ "POST", "/v1/adjustments", ROLE_USER, BODY_SMALL, route_adjust,
	  "refund or recharge" },
	{ "GET", "/v1/eff", ROLE_USER, BODY_NONE, route_eff, "requested against used" },
	{ "GET", "/v1/share", ROLE_USER, BODY_NONE, route_share, "the share trees" },
	{ "GET", "/v1/prio", ROLE_USER, BODY_NONE, route_prio, "priorities of queued jobs" },
	{ "GET", "/v1/quota", ROLE_USER, BODY_NONE, route_quota,
	  "what is left of allocations" },
	{ "GET", "/v1/balances", ROLE_USER, BODY_NONE, route_balances,
	  "what each account has left, with its users" },
	{ "GET", "/v1/outages", ROLE_USER, BODY_NONE, route_outages, "declared outages" },
	{ "POST", "/v1/outages", ROLE_USER, BODY_SMALL, route_declare_outage,
	  "declare an outage" },
	{ "POST", "/v1/outages/remove", ROLE_USER, BODY_SMALL, route_remove_outage,
	  "remove a declared outage" },
	{ "GET", "/v1/storage", ROLE_USER, BODY_NONE, route_storage,
	  "what accounts occupy on file systems" },
	{ "POST", "/v1/storage", ROLE_USER, BODY_REQUEST, route_import_storage,
	  "readings of what accounts occupy" },
	{ "POST", "/v1/storage/remove", ROLE_USER, BODY_SMALL, route_remove_storage,
	  "forget a file system's readings" },
	{ "POST", "/v1/cost", ROLE_USER, BODY_REQUEST, route_cost,
	  "what a request would be charged" },
	{ "POST", "/v1/slurm/submit", ROLE_USER, BODY_SMALL, route_slurm_submit,
	  "may a job be submitted to Slurm" },
	{ "POST", "/v1/slurm/pending", ROLE_USER, BODY_REQUEST, route_slurm_pending,
	  "jobs that wait in Slurm; their site factors" },
	{ "GET", "/v1/cluster", ROLE_USER, BODY_NONE, route_cluster,
	  "clusters, bundles, queues" },
	{ "GET", "/v1/accounts", ROLE_USER, BODY_NONE, route_accounts, "what is declared" },
	{ "POST", "/v1/accounts", ROLE_USER, BODY_ACCOUNTS, route_change_accounts,
	  "change the accounts" },
	{ "GET", "/v1/accounts/log", ROLE_USER, BODY_NONE, route_accounts_log,
	  "changes of accounts" },
	{ "POST", "/v1/web/tickets", ROLE_USER, BODY_SMALL, route_ticket,
	  "a link that opens the pages" },
	{ "GET", "/v1/about", ROLE_USER, BODY_NONE, route_about,
	  "the controller's version and clock" },
	{ "GET", "/metrics", ROLE_ANYONE, BODY_NONE, route_metrics, "figures for monitoring" },
	{ 0 },
};

/* A positive number of at most 18 digits without leading zeros: a job has one path only. NULL:
 * none. */
static const char *read_number(const char *p, int64_t *ret)
{
	int64_t n = 0;
	int digits = 0;

	if (*p == '0')
		return NULL;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (++digits > 18)
			return NULL;
		n = n * 10 + (*p - '0');
	}
	if (digits == 0)
		return NULL;
	*ret = n;
	return p;
}

/* "12", or "12.7" for task 7 of array 12. NULL: neither. */
static const char *read_id(const char *p, struct job_id *ret)
{
	const char *index;

	p = read_number(p, &ret->job);
	if (!p || *p != '.')
		return p;
	index = p + 1;
	if (index[0] == '0' && !(index[1] >= '0' && index[1] <= '9')) {
		ret->index = 0;
		return index + 1;
	}
	p = read_number(index, &ret->index);
	return p && ret->index <= ARRAY_INDEX_MAX ? p : NULL;
}

static bool matches_pattern(const char *pattern, const char *path, struct job_id *ret_id)
{
	*ret_id = (struct job_id){ 0, JOB_ID_NO_INDEX };
	for (; *pattern; pattern++) {
		if (*pattern == '#')
			path = read_id(path, ret_id);
		else
			path = *path == *pattern ? path + 1 : NULL;
		if (!path)
			return false;
	}
	return *path == '\0';
}

const struct route *routes_find(const char *method, const char *path, struct job_id *ret_id,
				bool *ret_is_known)
{
	*ret_is_known = false;
	for (const struct route *r = routes; r->method; r++) {
		if (!matches_pattern(r->pattern, path, ret_id))
			continue;
		*ret_is_known = true;
		if (!strcmp(r->method, method))
			return r;
	}
	return NULL;
}
