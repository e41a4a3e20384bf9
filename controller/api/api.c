/* SPDX-License-Identifier: GPL-2.0-or-later */
/* api.c - opens and closes what the routes share; see context.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/api/accounts/active_accounts.h"
#include "controller/api/api.h"
#include "controller/api/console/console.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/nodes/survey.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/quota/expected.h"
#include "controller/api/submit/batch.h"
#include "controller/api/sync/sent.h"
#include "controller/api/sync/sync_batch.h"
#include "controller/api/turns.h"
#include "controller/api/usage/metrics_allocations.h"
#include "controller/api/usage/metrics_usage.h"
#include "controller/dispatch/cycle.h"
#include "controller/hooks/hooks.h"
#include "controller/http/server.h"
#include "controller/http/workers.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/sharetree/sharetree.h"

static int open_hooks(struct api *a, struct err *err)
{
	const struct hooks_config c = { .event = a->c.event,
					.config = &a->c.config->hooks,
					.store = a->c.store,
					.describe = describe_job_number,
					.ctx = a };

	return hooks_open(&c, &a->hooks, err);
}

static void set_store(const struct api *a)
{
	store_set_max_requeues(a->c.store, a->c.config->max_requeues);
	store_set_max_stored(a->c.store, a->c.config->max_stored_per_user);
	store_set_gpu_idle(a->c.store, config_gpu_idle_ns(a->c.config));
}

/* They wait for munged most of the time. */
#define WORKERS 3

/* For tests: REEVE_TURN_NS. */
static int64_t read_turn(void)
{
	const char *text = getenv("REEVE_TURN_NS");

	return text ? strtoll(text, NULL, 10) : TURNS_LENGTH_NS;
}

int api_open(const struct api_config *c, struct api **ret, struct err *err)
{
	_cleanup_(api_closep) struct api *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->c = *c;
	set_store(a);
	a->turn_ns = read_turn();
	r = workers_open(a->c.event, WORKERS, &a->workers, err);
	cycle_set_workers(a->c.cycle, a->workers);
	if (r >= 0)
		r = turns_open(a->c.event, api_go_on, a, &a->turns, err);
	if (r >= 0)
		r = active_accounts_open(a, err);
	if (r >= 0)
		r = open_hooks(a, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(a);
	return 0;
}

void api_drain(struct api *a)
{
	if (!a)
		return;
	cycle_stop(a->c.cycle);
	workers_drain(a->workers);
}

struct api *api_close(struct api *a)
{
	if (!a)
		return NULL;
	cycle_stop(a->c.cycle);
	a->workers = workers_close(a->workers);
	cycle_set_workers(a->c.cycle, NULL);
	a->hooks = hooks_close(a->hooks);
	a->metrics_usage = metrics_usage_free(a->metrics_usage);
	a->metrics_allocations = metrics_allocations_free(a->metrics_allocations);
	submit_batches_close(a->batches);
	sync_batches_close(a->sync_batches);
	slurm_pending_free(a->slurm_pending);
	expected_free(a->expected);
	a->consoles = console_free_all(a->consoles);
	a->survey = survey_free(a->survey);
	a->turns = turns_close(a->turns);
	sync_sent_free(a->sent);
	active_accounts_close(a);
	free(a);
	return NULL;
}

static int add_node(void *ctx, const struct store_node *n, struct err *err)
{
	(void)err;
	server_add_node(ctx, n->address);
	return 0;
}

static void add_configured_nodes(struct api *a)
{
	for (size_t i = 0; i < a->c.config->n_nodes; i++)
		if (a->c.config->nodes[i]->address)
			server_add_node(a->server, a->c.config->nodes[i]->address);
}

int api_set_server(struct api *a, struct server *s, struct err *err)
{
	a->server = s;
	add_configured_nodes(a);
	return store_nodes(a->c.store, add_node, s, err);
}

/* A program that is only another one is the next that runs; programs that run go on. */
static int reload_hooks(struct api *a, struct err *err)
{
	if ((a->hooks != NULL) == (a->c.config->hooks.program != NULL))
		return 0;
	a->hooks = hooks_close(a->hooks);
	return open_hooks(a, err);
}

int api_reload(struct api *a, struct err *err)
{
	int r = 0;

	set_store(a);
	sharetree_reload(a->c.sharetree);
	cycle_reload(a->c.cycle);
	if (a->server)
		add_configured_nodes(a);
	if (!a->accounts_revision)
		r = active_accounts_reload(a, err);
	if (r >= 0)
		r = reload_hooks(a, err);
	api_request_cycle(a);
	return r;
}
