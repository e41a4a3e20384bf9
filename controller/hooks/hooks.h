/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks - runs a site's own program for events of jobs and nodes (docs/operation.md).
 *
 * Events are read from the ledger's journal (ledger/hooks.h) a moment after they were
 * committed, so that neither a sync nor a cycle waits for this module. They run in order, and
 * for one job never two at once. The program runs without a shell, from a bounded queue,
 * several at once, each for a limited time. The ledger keeps the place in the journal: after a
 * restart of the controller the program runs again for events that it had not finished, for all
 * others once.
 */
#pragma once
#include <jansson.h>
#include "common/cleanup.h"
#include "controller/config/config.h"

struct err;
struct hooks;
struct sd_event;
struct store;

struct hooks_config {
	struct sd_event *event;
	const struct config_hooks *config;
	struct store *store;
	/* A job as users see it, in a new object. */
	int (*describe)(void *ctx, int64_t job, json_t **ret, struct err *err);
	void *ctx;
};

/* Blocks SIGCHLD, as sd-event requires. Without a program *ret is NULL, and the place in the
 * journal is forgotten: a program that is configured later runs for events from then on. */
int hooks_open(const struct hooks_config *c, struct hooks **ret, struct err *err);
/* Running programs are killed; they run again for their events at the next start. */
struct hooks *hooks_close(struct hooks *h);
DEFINE_CLEANUP(struct hooks *, hooks_close)

struct hooks_counts {
	int64_t done, failed, timed_out; /* exit 0; other ends, or not started; killed */
	int64_t retried;		 /* asked to be run again (exit status 75), and is */
	int64_t dropped;		 /* the queue was full (hooks_queue.h) */
	int64_t waiting, running;	 /* now */
};
void hooks_get_counts(const struct hooks *h, struct hooks_counts *ret);
