/* cycle.c - see cycle.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/queue/cycle_impl.h"

int cycle_new(struct store *s, struct standing *standing, struct cycle **ret, struct err *err)
{
	struct cycle *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->store = s;
	c->standing = standing;
	c->is_ranked = rank_is_used(standing_policy(standing));
	*ret = c;
	return 0;
}

struct cycle *cycle_free(struct cycle *c)
{
	while (c && c->heads) {
		struct head *h = c->heads;

		c->heads = h->next;
		order_done(&h->order);
		snapshot_done(&h->snapshot);
		names_done(&h->users);
		names_done(&h->accounts);
		intents_done(&h->intents);
		gate_free(h->gate);
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
	r = gate_new(&h->gate, err);
	if (r < 0) {
		free(h);
		return r;
	}
	snprintf(h->cluster, sizeof(h->cluster), "%s", cluster);
	h->next = c->heads;
	*ret = c->heads = h;
	return 0;
}

bool cycle_is_holding(const struct cycle *c)
{
	bool may_suspend =
		standing_policy(c->standing)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND;

	for (const struct head *h = c->heads; h; h = h->next)
		if (h->n_held > 0 || (may_suspend && h->order.n > 0))
			return true;
	return false;
}

/* ---- what there is ---- */

static int load_gate(struct cycle *c, struct head *h, const struct cycle_run *run,
		     struct err *err)
{
	const struct quota_site site = { c->store, standing_policy(c->standing),
					 run->accounts };
	const struct gate_run now = { h->cluster, run->now_ns };

	h->n_held = 0;
	return run->accounts ? gate_load(h->gate, &site, &now, err) : 0;
}

static int load_order(struct cycle *c, struct head *h, struct rank_cluster has,
		      const struct cycle_run *run, struct err *err)
{
	const struct order_ask ask = { .store = c->store,
				       .standing = c->is_ranked ? c->standing : NULL,
				       .cluster = run->cluster,
				       .has = has,
				       .now_ns = run->now_ns,
				       .config = standing_policy(c->standing),
				       .users = &h->users,
				       .accounts = &h->accounts };

	order_done(&h->order);
	return order_make(&ask, &h->order, err);
}

static bool may_start(void *ctx, int64_t job)
{
	struct head *h = ctx;
	char why[ELIGIBLE_WHY_MAX];

	if (gate_ask(h->gate, job, why))
		return true;
	h->n_held++;
	return false;
}

static void starts(void *ctx, int64_t job, bool is_undone)
{
	struct head *h = ctx;

	if (is_undone)
		gate_undo(h->gate, job);
	else
		gate_start(h->gate, job);
}

/* Those that are not queued any more, or have waited for too long, or whose node takes none. */
static void drop_intents(struct head *h, const struct fit_node *nodes, size_t n_nodes,
			 int64_t now_ns)
{
	for (size_t i = h->intents.n; i-- > 0;) {
		const struct intent *in = &h->intents.of[i];
		bool is_open = false;

		for (size_t k = 0; k < n_nodes; k++)
			is_open |= nodes[k].open && !strcmp(nodes[k].name, in->node);
		if (is_open && order_find(&h->order, in->job) &&
		    now_ns - in->since_ns < INTENT_KEEP_NS)
			continue;
		intents_drop(&h->intents, in->job);
	}
}

static int load(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	const struct snapshot_ask ask = { .store = c->store,
					  .config = standing_policy(c->standing),
					  .cluster = h->cluster,
					  .order = &h->order,
					  .intents = &h->intents,
					  .users = &h->users,
					  .accounts = &h->accounts,
					  .now_ns = run->now_ns,
					  .may_start = run->accounts ? may_start : NULL,
					  .starts = run->accounts ? starts : NULL,
					  .ctx = h };
	struct fit_node *nodes = NULL;
	size_t n_nodes = 0;
	int r = store_holds(c->store, run->cluster, &nodes, &n_nodes, err);

	if (r >= 0)
		r = load_order(c, h, rank_cluster(nodes, n_nodes), run, err);
	if (r < 0) {
		free(nodes);
		return r;
	}
	drop_intents(h, nodes, n_nodes, run->now_ns);
	/* They are queued in the ledger, and count against limits all the same. */
	for (size_t i = 0; i < h->intents.n; i++)
		gate_start(h->gate, h->intents.of[i].job);
	snapshot_done(&h->snapshot);
	return snapshot_make(&ask, nodes, n_nodes, &h->snapshot, err);
}

/* ---- what was decided ---- */

struct carrying {
	struct cycle *c;
	struct head *h;
	const struct cycle_run *run;
	struct store_gift *gifts;
	size_t n_gifts;
};

static int64_t id_of(const struct carrying *y, int32_t number)
{
	return number < 0 ? 0 : schedule_job(y->h->snapshot.schedule, number)->id;
}

static struct fit_node *node_of(const struct carrying *y, int32_t number)
{
	int32_t n;
	const int32_t *nodes = schedule_nodes(y->h->snapshot.schedule, number, &n);

	return &y->h->snapshot.nodes[nodes[0]];
}

static void tell(const struct carrying *y, enum cycle_did did, int64_t job, const char *node,
		 int64_t by)
{
	if (y->run->told)
		y->run->told(y->run->ctx, did, job, node, by);
}

/* The ledger has the last word on what is free by now: who was asked to give way may not have
 * done so yet. */
static int start(struct carrying *y, int64_t job, struct fit_node *node, struct err *err)
{
	const struct order_job *o = order_find(&y->h->order, job);
	struct fit_job j = o->job;
	struct intent intent = { .job = job, .since_ns = y->run->now_ns };

	if (fit_place(node, 1, &j, 1) == 1) {
		y->gifts[y->n_gifts++] = (struct store_gift){ .job = job, .node = node->name };
		return 0;
	}
	if (intents_find(&y->h->intents, job))
		return 0;
	snprintf(intent.node, sizeof(intent.node), "%s", node->name);
	if (intents_add(&y->h->intents, &intent) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int suspend(struct carrying *y, int32_t number, int64_t by, struct err *err)
{
	char reason[160], node[REQUEST_NAME_MAX];
	struct store_wish w = { .job = id_of(y, number),
				.want = STORE_SUSPEND,
				.reason = reason,
				.now_ns = y->run->now_ns,
				.gave_way_to = by,
				.by_queue = true };
	int r;

	snprintf(reason, sizeof(reason), "gives its cores to job %lld", (long long)by);
	r = store_wish(y->c->store, &w, node, err);
	if (r == 0)
		tell(y, CYCLE_SUSPENDED, w.job, node, by);
	return r < 0 ? r : 0; /* too late: it has ended */
}

static int resume(struct carrying *y, int32_t number, struct err *err)
{
	struct store_wish w = { .job = id_of(y, number),
				.want = STORE_RUN,
				.now_ns = y->run->now_ns,
				.by_queue = true };
	const struct schedule_job *j = schedule_job(y->h->snapshot.schedule, number);
	char node[REQUEST_NAME_MAX];
	int r = store_wish(y->c->store, &w, node, err);

	node_of(y, number)->held.ncpus += j->chunks[0].cores;
	if (r == 0)
		tell(y, CYCLE_RESUMED, w.job, node, 0);
	return r < 0 ? r : 0;
}

static int carry_out(struct carrying *y, const struct schedule_action *a, struct err *err)
{
	switch (a->what) {
	case SCHEDULE_START:
		return start(y, id_of(y, a->job), node_of(y, a->job), err);
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
	r = store_give(y->c->store, y->gifts, y->n_gifts, y->run->now_ns, err);
	for (size_t i = 0; i < y->n_gifts && r >= 0; i++) {
		intents_drop(&y->h->intents, y->gifts[i].job);
		tell(y, CYCLE_GAVE, y->gifts[i].job, y->gifts[i].node, 0);
	}
	return r;
}

/* Starts that wait for cores come first: these are theirs. */
static int start_intents(struct carrying *y, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < y->h->intents.n && r >= 0; i++) {
		const struct intent *in = &y->h->intents.of[i];
		int32_t node = snapshot_node(&y->h->snapshot, in->node);

		r = start(y, in->job, &y->h->snapshot.nodes[node], err);
	}
	return r;
}

/* Whose start was withdrawn in this cycle is late from now on. */
static int note_late(struct carrying *y, struct err *err)
{
	const struct snapshot *s = &y->h->snapshot;
	int64_t jobs[64];
	size_t n = 0;

	for (size_t i = 0; i < y->h->order.n && n < ARRAY_LEN(jobs); i++) {
		const struct order_job *o = &y->h->order.jobs[i];
		const struct snapshot_job *j = o->due_ns ? NULL : snapshot_find(s, o->job.job);

		if (j && schedule_job(s->schedule, j->number)->due_s)
			jobs[n++] = o->job.job;
	}
	return n ? store_set_due(y->c->store, jobs, n, y->run->now_ns, err) : 0;
}

static int decide(struct cycle *c, struct head *h, const struct cycle_run *run, struct err *err)
{
	struct carrying y = { .c = c, .h = h, .run = run };
	const struct schedule_action *actions;
	size_t n;
	int r = schedule_pass(h->snapshot.schedule, run->now_ns / 1000000000, &actions, &n);

	if (r < 0)
		return err_set(err, r, "out of memory");
	y.gifts = calloc(n + h->intents.n + 1, sizeof(*y.gifts));
	if (!y.gifts)
		return err_set(err, -ENOMEM, "out of memory");
	r = start_intents(&y, err);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = carry_out(&y, &actions[i], err);
	if (r >= 0)
		r = give(&y, err);
	if (r >= 0 &&
	    standing_policy(c->standing)->policy.scheduler == CONFIG_SCHEDULER_SUSPEND)
		r = note_late(&y, err);
	free(y.gifts);
	return r;
}

/* Where nobody waits, and nobody can be suspended, there is nothing to decide. */
static bool is_idle(const struct cycle *c, const struct cycle_run *run, struct err *err)
{
	struct fit_job one;

	return standing_policy(c->standing)->policy.scheduler != CONFIG_SCHEDULER_SUSPEND &&
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
		snapshot_done(&h->snapshot);
		return 0;
	}
	r = load_gate(c, h, run, err);
	if (r >= 0)
		r = load(c, h, run, err);
	return r < 0 ? r : decide(c, h, run, err);
}
