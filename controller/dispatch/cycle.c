/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cycle.c - runs scheduling cycles. Each cluster is read once; from then on the ledger announces what
 * it changes, and a cycle reads only that again. carry_out.c writes what the pass decides. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/stops/stops.h"
#include "common/time_units.h"
#include "controller/config/ordering.h"
#include "controller/ledger/changes.h"
#include "controller/dispatch/carry_out.h"

static void on_change(void *ctx, const struct store_changes *changes)
{
	struct cycle *c = ctx;

	for (struct cycle_cluster *cl = c->clusters; cl; cl = cl->next)
		store_changes_merge(&cl->changes, changes);
}

int cycle_new(struct store *s, struct sharetree *sharetree, struct cycle **ret, struct err *err)
{
	struct cycle *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	r = store_listen(s, on_change, c);
	if (r < 0) {
		free(c);
		return err_set(err, r, "the ledger has a queue that listens already");
	}
	c->store = s;
	c->sharetree = sharetree;
	c->is_ranked = config_is_ranked(sharetree_policy(sharetree));
	c->is_checked = getenv("REEVE_QUEUE_CHECK") != NULL;
	*ret = c;
	return 0;
}

struct cycle *cycle_free(struct cycle *c)
{
	if (c)
		store_listen(c->store, NULL, NULL);
	while (c && c->clusters) {
		struct cycle_cluster *cl = c->clusters;

		c->clusters = cl->next;
		cluster_done(&cl->cluster);
		order_done(&cl->order);
		store_changes_done(&cl->changes);
		names_done(&cl->users);
		names_done(&cl->accounts);
		pending_start_done(&cl->pending);
		forecast_done(&cl->forecast);
		carry_out_free(cl->carry_out);
		eligibility_free(cl->eligibility);
		free(cl);
	}
	free(c);
	return NULL;
}

void cycle_set_workers(struct cycle *c, struct workers *w)
{
	c->workers = w;
}

void cycle_stop(struct cycle *c)
{
	for (struct cycle_cluster *cl = c ? c->clusters : NULL; cl; cl = cl->next)
		forecast_stop(&cl->forecast);
}

static int add_cluster(struct cycle *c, const char *cluster, struct cycle_cluster **ret,
		       struct err *err)
{
	struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	int r;

	*ret = cl;
	if (cl)
		return 0;
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return err_set(err, -ENOMEM, "out of memory");
	r = eligibility_new(&cl->eligibility, err);
	if (r < 0) {
		free(cl);
		return r;
	}
	snprintf(cl->name, sizeof(cl->name), "%s", cluster);
	cl->changes.is_all = true;
	cl->next = c->clusters;
	*ret = c->clusters = cl;
	return 0;
}

void cycle_summarize(const struct cycle *c, const char *cluster, struct cycle_summary *ret)
{
	const struct cycle_cluster *cl = cycle_find_cluster(c, cluster);

	*ret = (struct cycle_summary){ 0 };
	if (cl)
		*ret = (struct cycle_summary){ cl->order.n, cl->cluster.placed.n, cl->n_limited,
					       cl->pending.n, cl->is_dropped };
}

bool cycle_is_starting(const struct cycle *c, const char *cluster, int64_t job)
{
	const struct cycle_cluster *cl = cycle_find_cluster(c, cluster);

	return cl && pending_start_find(&cl->pending, job);
}

bool cycle_may_start_by_time(const struct cycle *c)
{
	bool may_suspend =
		sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND;

	for (const struct cycle_cluster *cl = c->clusters; cl; cl = cl->next)
		if (cl->n_limited > 0 || (may_suspend && cl->order.n > 0))
			return true;
	return false;
}

/* ---- limits ---- */

static int load_limits(struct cycle *c, struct cycle_cluster *cl, const struct cycle_run *run,
		       struct err *err)
{
	STOPS_IN("cycle: limits");
	const struct quota_site site = { .store = c->store,
					 .config = sharetree_policy(c->sharetree),
					 .accounts = run->accounts };
	const struct eligibility_run now = { cl->name, run->now_ns };

	cl->n_limited = 0;
	return run->accounts ? eligibility_load(cl->eligibility, &site, &now, err) : 0;
}

static bool may_start(void *ctx, int64_t job)
{
	struct cycle_cluster *cl = ctx;
	char why[ELIGIBLE_WHY_MAX];

	if (eligibility_check(cl->eligibility, job, why))
		return true;
	cl->n_limited++;
	return false;
}

static void on_start(void *ctx, int64_t job, bool is_withdrawn)
{
	struct cycle_cluster *cl = ctx;

	if (is_withdrawn)
		eligibility_undo(cl->eligibility, job);
	else
		eligibility_start(cl->eligibility, job);
}

static int compare_node_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct fit_node *)node)->name);
}

/* Do all nodes of a pending start take jobs? `nodes` is sorted by name, as the ledger reads it. */
static bool are_nodes_open(const struct pending_start *in, const struct fit_node *nodes,
			   size_t n_nodes)
{
	for (size_t i = 0; i < in->n; i++) {
		const struct fit_node *node = bsearch(in->nodes[i], nodes, n_nodes,
						      sizeof(*nodes), compare_node_name);

		if (!node || !node->open)
			return false;
	}
	return true;
}

/* Drops pending starts whose job is not queued any more, which have waited for too long, or of which
 * a node takes no jobs. */
static void drop_stale_pending(struct cycle_cluster *cl, const struct fit_node *nodes,
			       size_t n_nodes, int64_t now_ns)
{
	for (size_t i = cl->pending.n; i-- > 0;) {
		const struct pending_start *in = &cl->pending.of[i];

		if (are_nodes_open(in, nodes, n_nodes) && order_find(&cl->order, in->job) &&
		    now_ns - in->since_ns < PENDING_START_MAX_NS)
			continue;
		pending_start_drop(&cl->pending, in->job);
	}
}

static struct cluster_ask cluster_ask_of(struct cycle *c, struct cycle_cluster *cl,
					 const struct cycle_run *run)
{
	return (struct cluster_ask){ .store = c->store,
				     .config = sharetree_policy(c->sharetree),
				     .cluster = cl->name,
				     .order = &cl->order,
				     .pending = &cl->pending,
				     .users = &cl->users,
				     .accounts = &cl->accounts,
				     .now_ns = run->now_ns,
				     .is_ranked = c->is_ranked,
				     .may_start = may_start,
				     .on_start = on_start,
				     .ctx = cl };
}

static struct order_ask order_ask_of(struct cycle *c, struct cycle_cluster *cl,
				     const struct cycle_run *run)
{
	return (struct order_ask){ .store = c->store,
				   .sharetree = c->is_ranked ? c->sharetree : NULL,
				   .cluster = cl->name,
				   .has = rank_cluster(cl->cluster.nodes, cl->cluster.n_nodes),
				   .now_ns = run->now_ns,
				   .config = sharetree_policy(c->sharetree),
				   .users = &cl->users,
				   .accounts = &cl->accounts };
}

/* For tests: aborts where what is in memory differs from a fresh reading of the ledger. */
static int check_memory(struct cycle *c, struct cycle_cluster *cl, const struct cycle_run *run,
			struct err *err)
{
	const struct order_ask order_ask = order_ask_of(c, cl, run);
	struct cluster_ask ask = cluster_ask_of(c, cl, run);
	struct order fresh = { 0 };
	char what[160] = "";
	int64_t job;
	int r = order_make(&order_ask, &fresh, err);

	ask.order = &fresh;
	if (r >= 0 && !order_is_same(&cl->order, &fresh, &job))
		snprintf(what, sizeof(what), "queued job %lld", (long long)job);
	else if (r >= 0)
		r = cluster_check(&cl->cluster, &ask, what, sizeof(what), err);
	order_done(&fresh);
	if (*what) {
		fprintf(stderr, "reeve: the queue in memory differs from the ledger: %s\n",
			what);
		abort();
	}
	return r < 0 ? r : 0;
}

/* The next cycle reads everything again. One that is under way ends: nothing more of it is carried out. */
static void drop_memory(struct cycle_cluster *cl)
{
	cl->stage = CYCLE_IDLE;
	cl->carry_out = carry_out_free(cl->carry_out);
	cluster_done(&cl->cluster);
	order_done(&cl->order);
	cl->needs.n = 0;
	cl->changes.is_all = true;
}

void cycle_reload(struct cycle *c)
{
	c->is_ranked = config_is_ranked(sharetree_policy(c->sharetree));
	for (struct cycle_cluster *cl = c->clusters; cl; cl = cl->next) {
		drop_memory(cl);
		forecast_forget(&cl->forecast);
	}
}

/* Reads what has changed since the last cycle, or everything. The order of the steps matters: ranks
 * depend on what the nodes have, and a job is found in the schedule by its row in the old order. */
static int read_changes(struct cycle *c, struct cycle_cluster *cl, const struct cycle_run *run,
			const struct store_changes *since, struct err *err)
{
	STOPS_IN("cycle: changes");
	const struct cluster_ask ask = cluster_ask_of(c, cl, run);
	struct order_ask order_ask;
	bool is_new = !cl->cluster.schedule;
	int r = cluster_update_nodes(&cl->cluster, &ask, since, err);

	if (r < 0)
		return r;
	if (!is_new)
		cluster_remove_changed(&cl->cluster, &cl->order, since);
	order_ask = order_ask_of(c, cl, run);
	r = is_new ? order_make(&order_ask, &cl->order, err)
		   : order_update(&order_ask, since, &cl->order, err);
	if (r < 0)
		return r;
	drop_stale_pending(cl, cl->cluster.nodes, cl->cluster.n_nodes, run->now_ns);
	r = cluster_update(&cl->cluster, &ask, since, err);
	return r >= 0 && c->is_checked ? check_memory(c, cl, run, err) : r;
}

/* An error after store_changes_take() loses what was announced: the caller drops the memory. */
static int update_memory(struct cycle *c, struct cycle_cluster *cl, const struct cycle_run *run,
			 struct err *err)
{
	struct store_changes since = store_changes_take(&cl->changes);
	int r;

	if (since.is_all)
		drop_memory(cl);
	cl->changes.is_all = false;
	r = read_changes(c, cl, run, &since, err);
	store_changes_done(&since);
	return r;
}

/* ---- the pass ---- */

/* Is there nothing to decide: no job is queued, and the rule never suspends or resumes any? */
static bool is_idle(const struct cycle *c, const struct cycle_cluster *cl, struct err *err)
{
	if (sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		return false;
	if (cl->cluster.schedule)
		return cl->order.n == 0;
	return store_has_queued(c->store, cl->name, err) == 0;
}

/* 1: the pass begins; 0: there is nothing to decide. */
static int begin_cluster(struct cycle *c, struct cycle_cluster *cl, struct err *err)
{
	int r = 0;

	cl->n_limited = 0;
	if (cl->cluster.schedule && !cl->changes.is_all)
		r = update_memory(c, cl, &cl->run, err);
	else
		drop_memory(cl);
	if (r < 0 || is_idle(c, cl, err))
		return r;
	r = load_limits(c, cl, &cl->run, err);
	if (r >= 0 && !cl->cluster.schedule)
		r = update_memory(c, cl, &cl->run, err);
	if (r < 0)
		return r;
	/* Pending starts are queued in the ledger, and count against limits all the same. */
	for (size_t i = 0; i < cl->pending.n; i++)
		eligibility_start(cl->eligibility, cl->pending.of[i].job);
	schedule_pass_begin(cl->cluster.schedule, cl->run.now_ns / S_NS);
	cl->stage = CYCLE_PASSES;
	return 1;
}

/* Everything may have changed since the cycle began: what it decided is dropped. */
static int drop_cycle(struct cycle_cluster *cl)
{
	drop_memory(cl);
	cl->is_dropped = true;
	return 0;
}

/* 1: the pass is not done, or is to be carried out now. */
static int go_on_with_pass(struct cycle *c, struct cycle_cluster *cl,
			   const struct schedule_budget *b, struct err *err)
{
	STOPS_IN("cycle: pass");
	struct carry_out_ask ask = { .cycle = c, .cluster = cl, .run = &cl->run };
	int r = schedule_pass_go_on(cl->cluster.schedule, b, &ask.actions, &ask.n_actions);

	if (r < 0)
		return err_set(err, r, "out of memory");
	if (r > 0)
		return 1;
	r = carry_out_new(&ask, &cl->carry_out, err);
	if (r < 0)
		return r;
	cl->stage = CYCLE_CARRIES_OUT;
	return 1;
}

static int go_on_with_carrying(struct cycle_cluster *cl, const struct schedule_budget *b,
			       struct err *err)
{
	STOPS_IN("cycle: starts");
	int r = carry_out_go_on(cl->carry_out, b, err);

	if (r != 0)
		return r;
	cl->carry_out = carry_out_free(cl->carry_out);
	cl->stage = CYCLE_IDLE;
	return 0;
}

static int go_on(struct cycle *c, struct cycle_cluster *cl, const struct schedule_budget *b,
		 struct err *err)
{
	if (cl->stage == CYCLE_IDLE)
		return 0;
	if (cl->changes.is_all)
		return drop_cycle(cl);
	return cl->stage == CYCLE_PASSES ? go_on_with_pass(c, cl, b, err)
					 : go_on_with_carrying(cl, b, err);
}

int cycle_begin(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	struct cycle_cluster *cl = NULL;
	int r = add_cluster(c, run->cluster, &cl, err);

	if (r < 0)
		return r;
	if (cl->stage != CYCLE_IDLE)
		drop_memory(cl);
	cl->run = *run;
	cl->run.cluster = cl->name;
	cl->is_dropped = false;
	r = begin_cluster(c, cl, err);
	if (r < 0)
		drop_memory(cl);
	return r;
}

int cycle_go_on(struct cycle *c, const char *cluster, const struct schedule_budget *b,
		struct err *err)
{
	struct cycle_cluster *cl = cycle_find_cluster(c, cluster);
	int r = cl ? go_on(c, cl, b, err) : 0;

	if (r < 0)
		drop_memory(cl);
	return r;
}

int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	int r = cycle_begin(c, run, err);

	while (r > 0)
		r = cycle_go_on(c, run->cluster, NULL, err);
	return r;
}
