/* cycle - gives queued jobs to nodes: reads the ledger, asks fifo, writes the gifts.
 *
 * Jobs are placed in the order of their priorities where the profile weighs anything
 * (PriorityWeight...), else in the order in which they were handed in. Either way the first
 * that cannot start keeps the later ones of its cluster waiting, so that no large job starves.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct accounts;
struct err;
struct standing;
struct store;
struct cycle;

/* Both are kept. */
int cycle_new(struct store *s, struct standing *standing, struct cycle **ret, struct err *err);
struct cycle *cycle_free(struct cycle *c);
DEFINE_CLEANUP(struct cycle *, cycle_free)

typedef void (*cycle_given_fn)(void *ctx, int64_t job, const char *node);

/* One cycle over a cluster; calls `given` for each job after it is on disk. */
struct cycle_run {
	const char *cluster;
	int64_t now_ns;
	cycle_given_fn given;
	void *ctx;
	const struct accounts *accounts; /* limits and allotments; not kept. NULL: none */
};
int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err);
/* Did limits or a quota hold back any job in the last cycles? Then time alone may free it: a
 * month begins, a quota is raised or usage refunded, with nothing that ends. */
bool cycle_is_holding(const struct cycle *c);

/* Why a queued job waits, as of the last cycle, with its priority where there are any. */
void cycle_why(const struct cycle *c, const char *cluster, int64_t job, char *buf, size_t size);
