/* SPDX-License-Identifier: GPL-2.0-or-later */
/* context - what all routes share: configuration, ledger, queue, the active accounts, counters.
 *
 * No module of the api is named here but by its own structs' names, so that each may include
 * this header.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/auth/auth.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"

struct accounts;
struct consoles;
struct cycle;
struct err;
struct exchange;
struct expected;
struct hooks;
struct metrics_allocations;
struct metrics_usage;
struct long_poll;
struct sd_event;
struct sd_event_source;
struct server;
struct session_table;
struct sharetree;
struct slurm_pending_table;
struct submit_batches;
struct sync_batches;
struct sync_sent_table;
struct survey;
struct turns;
struct workers;

struct api_config {
	struct sd_event *event;
	const struct config *config;
	struct store *store;
	struct cycle *cycle;
	struct long_poll *poll;
	struct sharetree *sharetree; /* loaded from the store */
};

struct api_counts {
	int64_t syncs, reports, reports_new, refusals, submits, denied, failures, cycles, given,
		batches, sync_batches, deferred;
	int64_t ingest_ns, ingest_max_ns, cycle_ns;
	int64_t killed
		[_LIMIT_MAX]; /* jobs, or their parts on a node, by the limit that they exceeded */
};

struct api {
	struct api_config c;
	struct server *server; /* NULL until api_set_server() */
	/* Never NULL; replaced when they change (accounts/active_accounts.h). Revision 0: those
	 * of controller.conf. */
	const struct accounts *accounts;
	int64_t accounts_revision;
	struct sd_event_source *cycle_source; /* runs a scheduling cycle: maintenance/ */
	bool is_cycle_wanted;		      /* requested since the last one began */
	struct sd_event_source
		*start_by_source;	   /* requests one when a job's time to start is over */
	int64_t cycle_due_ns;		   /* CLOCK_MONOTONIC: the next cycle not before this */
	struct submit_batches *batches;	   /* made by the first submission */
	struct sync_batches *sync_batches; /* made by the first exchange with a node */
	struct sync_sent_table *sent;	   /* desired states last sent to each node */
	struct slurm_pending_table *slurm_pending; /* NULL until reeve-slurm sends a list */
	struct expected *expected;	/* NULL until a job of Slurm is (quota/expected.h) */
	struct consoles *consoles;	/* of interactive steps; NULL until the first one */
	struct session_table *sessions; /* of the pages; NULL: the site has none */
	struct hooks *hooks;		/* NULL: the site has none */
	struct survey *survey;		/* of what runs; NULL until the first one */
	struct workers *workers;	/* of credentials and large bodies */
	size_t worker_bytes;		/* of the bodies that workers read */
	struct turns *turns;		/* of requests; a page's are those of web/ */
	int64_t turn_ns;		/* how long a turn is */
	int64_t turn_until_ns; /* of this one, CLOCK_MONOTONIC; 0: no turn, all is read */
	int64_t busy_until_ns; /* CLOCK_MONOTONIC: so many exchanges of nodes come; see api_must_defer() */
	struct metrics_usage *metrics_usage;		 /* NULL until the first GET /metrics */
	struct metrics_allocations *metrics_allocations; /* NULL until the first scrape */
	struct api_counts counts;
	bool is_node_loss_paused; /* refused connections may be nodes': maintenance/ */
	struct log_limit munge_log;
};

int64_t api_now_ns(void);	/* real time */
int64_t api_monotonic_ns(void); /* CLOCK_MONOTONIC */

/* A turn of a page or a request that had `count` of them (turns.h). In it a route that has to read much fails with -EAGAIN once the
 * turn is over, after one part in any case, and goes on from there in the next. After TURNS_MAX turns it reads all. */
void api_begin_turn(struct api *a, unsigned count);
void api_end_turn(struct api *a);
/* Nodes exchange so often that many exchanges would wait for a request that only reads: it is to wait for a turn, and is counted. */
bool api_must_defer(struct api *a);

/* MungeSocket= as auth.h takes it: a copy for a worker, since the configuration may be read again meanwhile. */
void api_munge_socket(const struct api *a, char ret[static AUTH_SOCKET_MAX]);

/* Requests a scheduling cycle over all clusters, soon; many requests make one cycle. */
void api_request_cycle(struct api *a);

/* Wake the requests that wait for a change of: a job and its steps; one step; a node. */
void api_wake_job(struct api *a, int64_t job);
void api_wake_step(struct api *a, int64_t job, int64_t step);
void api_wake_node(struct api *a, const char *node);

#define API_ANY_STEP (-1)
/* The key of the long poll for a step (controller/http/long_poll.h); step 0: the job itself. */
void api_step_key(int64_t job, int64_t step, char *key); /* LONG_POLL_KEY_MAX bytes */
