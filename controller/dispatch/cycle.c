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
		cluster_done(&h->kept);
		order_done(&h->order);
		store_changes_done(&h->changes);
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

static struct cluster_ask cluster_ask_of(struct cycle *c, struct head *h,
					 const struct cycle_run *run)
{
	return (struct cluster_ask){ .store = c->store,
				     .config = sharetree_policy(c->sharetree),
				     .cluster = h->cluster,
				     .order = &h->order,
				     .intents = &h->intents,
				     .users = &h->users,
				     .accounts = &h->accounts,
				     .now_ns = run->now_ns,
				     .is_ranked = c->is_ranked,
				     .may_start = may_start,
				     .starts = starts,
				     .ctx = h };
}

static struct order_ask order_ask_of(struct cycle *c, struct head *h,
				     const struct cycle_run *run)
{
	return (struct order_ask){ .store = c->store,
				   .sharetree = c->is_ranked ? c->sharetree : NULL,
				   .cluster = h->cluster,
				   .has = rank_cluster(h->kept.nodes, h->kept.n_nodes),
				   .now_ns = run->now_ns,
				   .config = sharetree_policy(c->sharetree),
				   .users = &h->users,
				   .accounts = &h->accounts };
}

/* For tests: what is kept must be what the ledger has. */
static int check(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	const struct order_ask order_ask = order_ask_of(c, h, run);
	struct cluster_ask ask = cluster_ask_of(c, h, run);
	struct order fresh = { 0 };
	char what[160] = "";
	int64_t job;
	int r = order_make(&order_ask, &fresh, err);

	ask.order = &fresh;
	if (r >= 0 && !order_is_same(&h->order, &fresh, &job))
		snprintf(what, sizeof(what), "queued job %lld", (long long)job);
	else if (r >= 0)
		r = cluster_check(&h->kept, &ask, what, sizeof(what), err);
	order_done(&fresh);
	if (*what) {
		fprintf(stderr, "reeve: the queue in memory differs from the ledger: %s\n",
			what);
		abort();
	}
	return r < 0 ? r : 0;
}

static void forget(struct head *h)
{
	cluster_done(&h->kept);
	order_done(&h->order);
	h->changes.is_all = true;
}

/* What was kept, with what has changed since. */
static int follow(struct cycle *c, struct head *h, const struct cycle_run *run,
		  const struct store_changes *since, struct err *err)
{
	const struct cluster_ask ask = cluster_ask_of(c, h, run);
	struct order_ask order_ask;
	bool is_new = !h->kept.schedule;
	int r = cluster_update_nodes(&h->kept, &ask, since, err);

	if (r < 0)
		return r;
	if (!is_new)
		cluster_remove_changed(&h->kept, &h->order, since);
	order_ask = order_ask_of(c, h, run);
	r = is_new ? order_make(&order_ask, &h->order, err)
		   : order_update(&order_ask, since, &h->order, err);
	if (r < 0)
		return r;
	drop_intents(h, h->kept.nodes, h->kept.n_nodes, run->now_ns);
	r = cluster_update(&h->kept, &ask, since, err);
	return r >= 0 && c->is_checked ? check(c, h, run, err) : r;
}

static int load(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	struct store_changes since = store_changes_take(&h->changes);
	int r;

	if (since.is_all)
		forget(h);
	h->changes.is_all = false;
	r = follow(c, h, run, &since, err);
	store_changes_done(&since);
	return r;
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
	return number < 0 ? 0 : schedule_job(y->h->kept.schedule, number)->id;
}

/* All its nodes hear of it. */
static void tell(const struct carrying *y, const struct cycle_news *news, int32_t number)
{
	const struct cluster *s = &y->h->kept;
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
			 y->h->kept.nodes[at->nodes[i]].name);
	if (intents_add(&y->h->intents, &in) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The ledger has the last word on what is free by now: who was asked to give way may not have
 * done so yet. */
static int start(struct carrying *y, const struct place *at, struct err *err)
{
	const struct cluster *s = &y->h->kept;
	const struct parts_ask ask = { order_find(&y->h->order, at->job), at->nodes, at->n,
				       s->nodes, s->n_nodes };
	struct parts *p = &y->parts[y->n_gifts];
	int r = parts_make(&ask, p);

	if (r < 0) {
		parts_done(p);
		return err_set(err, r, "the parts of job %lld: %s", (long long)at->job,
			       strerror(-r));
	}
	if (!fit_parts(p->nodes, p->want, p->n, ask.job->is_exclusive)) {
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
static void take_back(const struct cluster *s, int32_t number)
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

	take_back(&y->h->kept, number);
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
		at.nodes = schedule_nodes(y->h->kept.schedule, a->job, &n);
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
		     order_find(&y->h->order, job)->number);
	}
	return r;
}

/* Starts that wait for cores come first: these are theirs. */
static int start_intents(struct carrying *y, struct err *err)
{
	const struct cluster *s = &y->h->kept;
	int r = 0;

	for (size_t i = 0; i < y->h->intents.n && r >= 0; i++) {
		struct place at = { .job = y->h->intents.of[i].job };
		int32_t n;

		at.nodes = schedule_nodes(s->schedule, order_find(&y->h->order, at.job)->number,
					  &n);
		at.n = (size_t)n;
		r = start(y, &at, err);
	}
	return r;
}

/* A job whose start was withdrawn in this cycle is overdue from now on. */
static int set_overdue(struct carrying *y, struct err *err)
{
	int64_t jobs[64];
	size_t n = 0, n_withdrawn;
	const int32_t *withdrawn = schedule_withdrawn(y->h->kept.schedule, &n_withdrawn);

	for (size_t i = 0; i < n_withdrawn && n < ARRAY_LEN(jobs); i++) {
		const struct order_job *o = order_find(&y->h->order, id_of(y, withdrawn[i]));

		if (o && !o->due_ns)
			jobs[n++] = o->job;
	}
	return n ? store_set_due(y->c->store, jobs, n, y->run->now_ns, err) : 0;
}

/* What the pass has decided the schedule has as done already; the next cycle takes these jobs as
 * the ledger has them then. */
static void note_decided(struct head *h, const struct schedule_action *actions, size_t n)
{
	const struct schedule *s = h->kept.schedule;
	size_t n_withdrawn;
	const int32_t *withdrawn = schedule_withdrawn(s, &n_withdrawn);

	for (size_t i = 0; i < n; i++)
		store_changes_add(&h->changes, schedule_job(s, actions[i].job)->id);
	for (size_t i = 0; i < n_withdrawn; i++)
		store_changes_add(&h->changes, schedule_job(s, withdrawn[i])->id);
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
	int r = schedule_pass(h->kept.schedule, run->now_ns / S_NS, &actions, &n);

	if (r < 0)
		return err_set(err, r, "out of memory");
	note_decided(h, actions, n);
	y.gifts = gifts = calloc(n + h->intents.n + 1, sizeof(*gifts));
	y.parts = parts = calloc(n + h->intents.n + 1, sizeof(*parts));
	if (!gifts || !parts)
		return err_set(err, -ENOMEM, "out of memory");
	r = carry_all(&y, actions, n, err);
	for (size_t i = 0; i < y.n_gifts; i++)
		parts_done(&parts[i]);
	if (r >= 0 &&
	    sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		r = set_overdue(&y, err);
	return r;
}

/* Where no job waits, and none can be suspended, there is nothing to decide. */
static bool is_idle(const struct cycle *c, const struct head *h, const struct cycle_run *run,
		    struct err *err)
{
	struct fit_job one;

	if (sharetree_policy(c->sharetree)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		return false;
	if (h->kept.schedule)
		return h->order.n == 0;
	return store_queue(c->store, run->cluster, &one, 1, err) == 0;
}

static int run_head(struct cycle *c, struct head *h, const struct cycle_run *run,
		    struct err *err)
{
	int r = 0;

	h->n_held = 0;
	if (h->kept.schedule && !h->changes.is_all)
		r = load(c, h, run, err);
	else
		forget(h);
	if (r < 0 || is_idle(c, h, run, err))
		return r;
	r = load_gate(c, h, run, err);
	if (r >= 0 && !h->kept.schedule)
		r = load(c, h, run, err);
	/* They are queued in the ledger, and count against limits all the same. */
	for (size_t i = 0; i < h->intents.n && r >= 0; i++)
		eligibility_start(h->eligibility, h->intents.of[i].job);
	return r < 0 ? r : decide(c, h, run, err);
}

int cycle_run(struct cycle *c, const struct cycle_run *run, struct err *err)
{
	struct head *h = NULL;
	int r = make_head(c, run->cluster, &h, err);

	if (r < 0)
		return r;
	r = run_head(c, h, run, err);
	if (r < 0)
		forget(h);
	return r;
}
