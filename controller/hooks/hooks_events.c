/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_events.c - the table from journal entries to hooks, and the rules for ends. */
#include <string.h>
#include "common/cleanup.h"
#include "controller/hooks/hooks_events.h"

/* Entries that map to one hook, whatever happened before. */
static const struct {
	const char *what;
	enum config_hook hook;
} plain[] = {
	{ "submit", CONFIG_HOOK_JOB_SUBMITTED },
	{ "requeue", CONFIG_HOOK_JOB_REQUEUED },
	{ "suspended", CONFIG_HOOK_JOB_SUSPENDED },
	{ "gpu-idle", CONFIG_HOOK_GPU_IDLE },
	{ "allocation", CONFIG_HOOK_ALLOCATION_USED },
	{ "gpu-busy", CONFIG_HOOK_GPU_BUSY },
	{ "walltime-50", CONFIG_HOOK_WALLTIME_50 },
	{ "walltime-80", CONFIG_HOOK_WALLTIME_80 },
	{ "walltime-90", CONFIG_HOOK_WALLTIME_90 },
	{ "lost", CONFIG_HOOK_NODE_LOST },
	{ "reboot", CONFIG_HOOK_NODE_REBOOTED },
};

/* Up to three hooks, in order: the start that was never reported, the kill, the end. */
static size_t ends_of(const struct store_happening *h, enum config_hook *ret)
{
	size_t n = 0;

	if (h->has_started && !h->has_run)
		ret[n++] = CONFIG_HOOK_JOB_STARTED;
	if (h->was_killed)
		ret[n++] = CONFIG_HOOK_JOB_KILLED;
	ret[n++] = CONFIG_HOOK_JOB_ENDED;
	return n;
}

size_t hooks_of(const struct store_happening *h, enum config_hook ret[static HOOKS_OF_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (!strcmp(plain[i].what, h->what)) {
			ret[0] = plain[i].hook;
			return 1;
		}
	if (!strcmp(h->what, "running")) {
		ret[0] = h->has_run ? CONFIG_HOOK_JOB_RESUMED : CONFIG_HOOK_JOB_STARTED;
		return 1;
	}
	if (!strcmp(h->what, "ended") || !strcmp(h->what, "node-lost"))
		return ends_of(h, ret);
	/* A job on a node is only to be cancelled so far: the node reports its end. */
	if (!strcmp(h->what, "cancel") && h->is_queued) {
		ret[0] = CONFIG_HOOK_JOB_ENDED;
		return 1;
	}
	return 0;
}
