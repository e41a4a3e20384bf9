/* cycle - gives queued jobs to nodes, and has others give way: reads the ledger, asks a
 * schedule (controller/scheduler), writes what it decides.
 *
 * Which rule goes is the profile's Scheduler=. Jobs stand in the order of their priorities
 * where the profile weighs anything (PriorityWeight...), else in that in which they were handed
 * in. Who may not start, by limits or quotas, is passed by.
 *
 * A start that needs cores of others is an intent (intent.h) until these are suspended.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct accounts;
struct err;
struct sharetree;
struct store;
struct cycle;

/* Both are kept. */
int cycle_new(struct store *s, struct sharetree *sharetree, struct cycle **ret,
	      struct err *err);
struct cycle *cycle_free(struct cycle *c);
DEFINE_CLEANUP(struct cycle *, cycle_free)

enum cycle_did { CYCLE_GAVE, CYCLE_SUSPENDED, CYCLE_RESUMED };
/* Told once for each node of the job, the first one first. */
struct cycle_news {
	enum cycle_did did;
	int64_t job;
	const char *node;
	bool is_more; /* told before, of another node */
	int64_t by;   /* of a suspension, the job that gets the cores; else 0 */
};
typedef void (*cycle_told_fn)(void *ctx, const struct cycle_news *news);

/* One cycle over a cluster; tells of each job after it is on disk. */
struct cycle_run {
	const char *cluster;
	int64_t now_ns;
	cycle_told_fn told;
	void *ctx;
	const struct accounts *accounts; /* limits and allotments; not kept. NULL: none */
};
int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err);
/* May time alone let a job start? Limits or a quota held one back in the last cycles: a month
 * begins, a quota is raised or usage refunded, with nothing that ends. Or some wait where
 * others may give way: the longer they wait, the more. */
bool cycle_is_holding(const struct cycle *c);

/* Why a queued job waits, as of the last cycle, with its priority where there are any. */
#define CYCLE_WHY_MAX 1024
void cycle_why(const struct cycle *c, const char *cluster, int64_t job, char *buf, size_t size);

/* When a queued job starts at the latest, if all that runs runs to its walltime and nobody
 * comes: in seconds from its last cycle. < 0: not known, or not foreseeable. */
int64_t cycle_forecast_s(const struct cycle *c, const char *cluster, int64_t job);
