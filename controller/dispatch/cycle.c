/* cycle.c - see cycle.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/policy/placement/fit_chunks.h"
#include "controller/ledger/changes.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/dispatch/parts.h"

static void on_change(void *ctx, const struct store_changes *changes)
{
	struct cycle *c = ctx;

	for (struct head *h = c->heads; h; h = h->next)
		store_changes_merge(&h->changes, changes);
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
	c->is_ranked = rank_is_used(sharetree_policy(sharetree));
	c->is_checked = getenv("REEVE_QUEUE_CHECK") != NULL;
	*ret = c;
	return 0;
}

struct cycle *cycle_free(struct cycle *c)
{
	if (c)
		store_listen(c->store, NULL, NULL);
	while (c && c->heads) {
		struct head *h = c->heads;

		c->heads = h->next;
		order_done(&h->order);
		store_changes_done(&h->changes);
		snapshot_done(&h->snapshot);
		names_done(&h->users);
		names_done(&h->accounts);
		intents_done(&h->intents);
		eligibility_free(h->eligibility);
		free(h);
	}
	free(c);
	return NULL;
}

struct head *cycle_head(const struct cycle *c, const char *cluster)
{
	struct head *h = c->heads;

	while (h && strcmp(h->cluster, cluster) != 0)
		h = h->next;
	return h;
}

static int make_head(struct cycle *c, const char *cluster, struct head **ret, struct err *err)
{
	struct head *h = cycle_head(c, cluster);
	int r;

	*ret = h;
	if (h)
		return 0;
	h = calloc(1, sizeof(*h));
	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	r = eligibility_new(&h->eligibility, err);
	if (r < 0) {
		free(h);
		return r;
	}
	snprintf(h->cluster, sizeof(h->cluster), "%s", cluster);
	h->changes.is_all = true;
	h->next = c->heads;
	*ret = c->heads = h;
	return 0;
}

bool cycle_is_holding(const struct cycle *c)
{
	bool may_suspend =
		sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND;

	for (const struct head *h = c->heads; h; h = h->next)
		if (h->n_held > 0 || (may_suspend && h->order.n > 0))
			return true;
	return false;
}

/* ---- what there is ---- */

static int load_gate(struct cycle *c, struct head *h, const struct cycle_run *run,
		     struct err *err)
{
	const struct quota_site site = { c->store, sharetree_policy(c->sharetree),
					 run->accounts };
	const struct eligibility_run now = { h->cluster, run->now_ns };

	h->n_held = 0;
	return run->accounts ? eligibility_load(h->eligibility, &site, &now, err) : 0;
}

/* For tests: what is kept must be what the ledger has. */
static int check(const struct order_ask *ask, const struct order *kept, struct err *err)
{
	struct order fresh = { 0 };
	int64_t job;
	int r = order_make(ask, &fresh, err);

	if (r >= 0 && !order_is_same(kept, &fresh, &job)) {
		fprintf(stderr, "reeve: the queue that was kept has job %lld otherwise\n",
			(long long)job);
		abort();
	}
	order_done(&fresh);
	return r;
}

/* The order of the last cycle, with what has changed since; or all of it read again, where that
 * is not known, or a cycle failed half-way. */
static int follow(struct cycle *c, struct head *h, const struct order_ask *ask, struct err *err)
{
	struct store_changes since = store_changes_take(&h->changes);
	int r;

	if (!since.is_all) {
		r = order_update(ask, &since, &h->order, err);
	} else {
		order_done(&h->order);
		r = order_make(ask, &h->order, err);
	}
	store_changes_done(&since);
	if (r >= 0 && c->is_checked)
		r = check(ask, &h->order, err);
	if (r < 0)
		h->changes.is_all = true;
	return r;
}

static int load_order(struct cycle *c, struct head *h, struct rank_cluster has,
		      const struct cycle_run *run, struct err *err)
{
	const struct order_ask ask = { .store = c->store,
				       .sharetree = c->is_ranked ? c->sharetree : NULL,
				       .cluster = run->cluster,
				       .has = has,
				       .now_ns = run->now_ns,
				       .config = sharetree_policy(c->sharetree),
				       .users = &h->users,
				       .accounts = &h->accounts };

	return follow(c, h, &ask, err);
}

static bool may_start(void *ctx, int64_t job)
{
	struct head *h = ctx;
	char why[ELIGIBLE_WHY_MAX];

	if (eligibility_check(h->eligibility, job, why))
		return true;
	h->n_held++;
	return false;
}

static void starts(void *ctx, int64_t job, bool is_undone)
{
	struct head *h = ctx;

	if (is_undone)
		eligibility_undo(h->eligibility, job);
	else
		eligibility_start(h->eligibility, job);
}

static int by_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct fit_node *)node)->name);
}

/* Do all its nodes take jobs? The ledger has them by name. */
static bool is_open(const struct intent *in, const struct fit_node *nodes, size_t n_nodes)
{
	for (size_t i = 0; i < in->n; i++) {
		const struct fit_node *node =
			bsearch(in->nodes[i], nodes, n_nodes, sizeof(*nodes), by_name);

		if (!node || !node->open)
			return false;
	}
	return true;
}

/* Those that are not queued any more, or have waited for too long, or whose node takes none. */
static void drop_intents(struct head *h, const struct fit_node *nodes, size_t n_nodes,
			 int64_t now_ns)
{
	for (size_t i = h->intents.n; i-- > 0;) {
		const struct intent *in = &h->intents.of[i];

		if (is_open(in, nodes, n_nodes) && order_find(&h->order, in->job) &&
		    now_ns - in->since_ns < INTENT_KEEP_NS)
			continue;
		intents_drop(&h->intents, in->job);
	}
}

static int load(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	const struct snapshot_ask ask = { .store = c->store,
					  .config = sharetree_policy(c->sharetree),
					  .cluster = h->cluster,
					  .order = &h->order,
					  .intents = &h->intents,
					  .users = &h->users,
					  .accounts = &h->accounts,
					  .now_ns = run->now_ns,
					  .is_checked = c->is_checked,
					  .may_start = run->accounts ? may_start : NULL,
					  .starts = run->accounts ? starts : NULL,
					  .ctx = h };
	struct fit_node *nodes = NULL;
	size_t n_nodes = 0;
	int r = store_nodes_in_use_by_parts(c->store, run->cluster, &nodes, &n_nodes, err);

	if (r >= 0)
		r = load_order(c, h, rank_cluster(nodes, n_nodes), run, err);
	if (r < 0) {
		free(nodes);
		return r;
	}
	drop_intents(h, nodes, n_nodes, run->now_ns);
	/* They are queued in the ledger, and count against limits all the same. */
	for (size_t i = 0; i < h->intents.n; i++)
		eligibility_start(h->eligibility, h->intents.of[i].job);
	snapshot_done(&h->snapshot);
	return snapshot_make(&ask, nodes, n_nodes, &h->snapshot, err);
}

/* ---- what was decided ---- */

struct carrying {
	struct cycle *c;
	struct head *h;
	const struct cycle_run *run;
	struct store_allocation *gifts;
	struct parts *parts; /* of each gift */
	size_t n_gifts;
};

static int64_t id_of(const struct carrying *y, int32_t number)
{
	return number < 0 ? 0 : schedule_job(y->h->snapshot.schedule, number)->id;
}

/* All its nodes hear of it. */
static void tell(const struct carrying *y, const struct cycle_news *news, int32_t number)
{
	const struct snapshot *s = &y->h->snapshot;
	struct cycle_news n = *news;
	int32_t n_nodes;
	const int32_t *nodes = schedule_nodes(s->schedule, number, &n_nodes);

	if (!y->run->told)
		return;
	for (int32_t i = 0; nodes && i < n_nodes; i++) {
		if (i > 0 && nodes[i] == nodes[i - 1])
			continue;
		n.node = s->nodes[nodes[i]].name;
		n.is_more = i > 0;
		y->run->told(y->run->ctx, &n);
	}
}

/* Where a start shall be: the node of each chunk. */
struct place {
	int64_t job;
	const int32_t *nodes;
	size_t n;
};

static int intend(struct carrying *y, const struct place *at, struct err *err)
{
	struct intent in = { .job = at->job, .since_ns = y->run->now_ns, .n = at->n };

	if (intents_find(&y->h->intents, at->job))
		return 0;
	in.nodes = calloc(at->n, sizeof(*in.nodes));
	if (!in.nodes)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < at->n; i++)
		snprintf(in.nodes[i], sizeof(in.nodes[i]), "%s",
			 y->h->snapshot.nodes[at->nodes[i]].name);
	if (intents_add(&y->h->intents, &in) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The ledger has the last word on what is free by now: who was asked to give way may not have
 * done so yet. */
static int start(struct carrying *y, const struct place *at, struct err *err)
{
	const struct snapshot *s = &y->h->snapshot;
	const struct parts_ask ask = { order_find(&y->h->order, at->job), at->nodes, at->n,
				       s->nodes, s->n_nodes };
	struct parts *p = &y->parts[y->n_gifts];
	int r = parts_make(&ask, p);

	if (r < 0) {
		parts_done(p);
		return err_set(err, r, "the parts of job %lld: %s", (long long)at->job,
			       strerror(-r));
	}
	if (!fit_parts(p->nodes, p->want, p->n, ask.job->job.is_exclusive)) {
		parts_done(p);
		return intend(y, at, err);
	}
	y->gifts[y->n_gifts++] = (struct store_allocation){ .job = at->job,
							    .node = p->of[0].node,
							    .parts = p->n > 1 ? p->of : NULL,
							    .n_parts = p->n > 1 ? p->n : 0 };
	return 0;
}

static int suspend(struct carrying *y, int32_t number, int64_t by, struct err *err)
{
	char reason[160], node[REQUEST_NAME_MAX];
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_SUSPEND,
					  .reason = reason,
					  .now_ns = y->run->now_ns,
					  .gave_way_to = by,
					  .by_queue = true };
	int r;

	snprintf(reason, sizeof(reason), "gives its cores to job %lld", (long long)by);
	r = store_set_desired(y->c->store, &w, node, err);
	if (r == 0)
		tell(y, &(struct cycle_news){ CYCLE_SUSPENDED, .job = w.job, .by = by },
		     number);
	return r < 0 ? r : 0; /* too late: it has ended */
}

/* Its cores, which it had given up. */
static void take_back(const struct snapshot *s, int32_t number)
{
	const struct schedule_job *j = schedule_job(s->schedule, number);
	int32_t n, at = 0;
	const int32_t *nodes = schedule_nodes(s->schedule, number, &n);

	for (int32_t k = 0; k < j->n_chunks; k++)
		for (int32_t i = 0; i < j->chunks[k].n; i++)
			s->nodes[nodes[at++]].held.ncpus += j->chunks[k].cores;
}

static int resume(struct carrying *y, int32_t number, struct err *err)
{
	struct store_desired_change w = { .job = id_of(y, number),
					  .want = DESIRED_RUN,
					  .now_ns = y->run->now_ns,
					  .by_queue = true };
	char node[REQUEST_NAME_MAX];
	int r = store_set_desired(y->c->store, &w, node, err);

	take_back(&y->h->snapshot, number);
	if (r == 0)
		tell(y, &(struct cycle_news){ CYCLE_RESUMED, .job = w.job }, number);
	return r < 0 ? r : 0;
}

static int carry_out(struct carrying *y, const struct schedule_action *a, struct err *err)
{
	struct place at = { .job = id_of(y, a->job) };
	int32_t n;

	switch (a->what) {
	case SCHEDULE_START:
		at.nodes = schedule_nodes(y->h->snapshot.schedule, a->job, &n);
		at.n = (size_t)n;
		return start(y, &at, err);
	case SCHEDULE_RESUME:
		return resume(y, a->job, err);
	case SCHEDULE_SUSPEND:
		return suspend(y, a->job, id_of(y, a->by), err);
	}
	return 0;
}

static int give(struct carrying *y, struct err *err)
{
	int r;

	if (y->n_gifts == 0)
		return 0;
	r = store_allocate(y->c->store, y->gifts, y->n_gifts, y->run->now_ns, err);
	for (size_t i = 0; i < y->n_gifts && r >= 0; i++) {
		int64_t job = y->gifts[i].job;

		intents_drop(&y->h->intents, job);
		tell(y, &(struct cycle_news){ CYCLE_GAVE, .job = job },
		     snapshot_find(&y->h->snapshot, job)->number);
	}
	return r;
}

/* Starts that wait for cores come first: these are theirs. */
static int start_intents(struct carrying *y, struct err *err)
{
	const struct snapshot *s = &y->h->snapshot;
	int r = 0;

	for (size_t i = 0; i < y->h->intents.n && r >= 0; i++) {
		struct place at = { .job = y->h->intents.of[i].job };
		int32_t n;

		at.nodes = schedule_nodes(s->schedule, snapshot_find(s, at.job)->number, &n);
		at.n = (size_t)n;
		r = start(y, &at, err);
	}
	return r;
}

/* Whose start was withdrawn in this cycle is late from now on. Both are by number. */
static int note_late(struct carrying *y, struct err *err)
{
	const struct snapshot *s = &y->h->snapshot;
	const struct order *o = &y->h->order;
	int64_t jobs[64];
	size_t n = 0, k = 0;

	for (size_t i = 0; i < o->n && n < ARRAY_LEN(jobs); i++) {
		int64_t job = o->jobs[i].job.job;

		while (k < s->n_jobs && s->jobs[k].job < job)
			k++;
		if (!o->jobs[i].due_ns && k < s->n_jobs && s->jobs[k].job == job &&
		    schedule_job(s->schedule, s->jobs[k].number)->due_s)
			jobs[n++] = job;
	}
	return n ? store_set_due(y->c->store, jobs, n, y->run->now_ns, err) : 0;
}

static int carry_all(struct carrying *y, const struct schedule_action *actions, size_t n,
		     struct err *err)
{
	int r = start_intents(y, err);

	for (size_t i = 0; i < n && r >= 0; i++)
		r = carry_out(y, &actions[i], err);
	return r < 0 ? r : give(y, err);
}

static int decide(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	_cleanup_free_ struct store_allocation *gifts = NULL;
	_cleanup_free_ struct parts *parts = NULL;
	struct carrying y = { .c = c, .h = h, .run = run };
	const struct schedule_action *actions;
	size_t n;
	int r = schedule_pass(h->snapshot.schedule, run->now_ns / S_NS, &actions, &n);

	if (r < 0)
		return err_set(err, r, "out of memory");
	y.gifts = gifts = calloc(n + h->intents.n + 1, sizeof(*gifts));
	y.parts = parts = calloc(n + h->intents.n + 1, sizeof(*parts));
	if (!gifts || !parts)
		return err_set(err, -ENOMEM, "out of memory");
	r = carry_all(&y, actions, n, err);
	for (size_t i = 0; i < y.n_gifts; i++)
		parts_done(&parts[i]);
	if (r >= 0 &&
	    sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		r = note_late(&y, err);
	return r;
}

/* Where nobody waits, and nobody can be suspended, there is nothing to decide. */
static bool is_idle(const struct cycle *c, const struct cycle_run *run, struct err *err)
{
	struct fit_job one;

	return sharetree_policy(c->sharetree)->policy.scheduler != CONFIG_SCHEDULER_SUSPEND &&
	       store_queue(c->store, run->cluster, &one, 1, err) == 0;
}

int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	struct head *h = NULL;
	int r = make_head(c, run->cluster, &h, err);

	if (r < 0)
		return r;
	if (is_idle(c, run, err)) {
		h->n_held = 0;
		order_done(&h->order);
		h->changes.is_all = true;
		snapshot_done(&h->snapshot);
		return 0;
	}
	r = load_gate(c, h, run, err);
	if (r >= 0)
		r = load(c, h, run, err);
	return r < 0 ? r : decide(c, h, run, err);
}
