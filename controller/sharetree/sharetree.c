/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sharetree.c - loads charges into the trees, applies new ones, and ranks on request; see
 * sharetree.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/sharetree/sharetree.h"
#include "controller/sharetree/tree/tree.h"

#define HALF_LIVES_READ 60 /* charges older than this are not read: 2^-60 of each is left */

struct sharetree {
	const struct config *config;
	struct tree_rule rule;
	int64_t *resets_ns;  /* of the rule */
	struct tree **trees; /* by cluster, then pool */
	size_t n_trees;
};

int sharetree_new(const struct sharetree_config *c, struct sharetree **ret, struct err *err)
{
	struct sharetree *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->config = c->config;
	s->rule = (struct tree_rule){
		.decay = { .half_life_ns = c->config->policy.usage_half_life_s * S_NS },
		.fairshare = c->config->policy.fairshare,
		.root_shares = c->config->policy.root_shares,
		.accounts = c->accounts,
	};
	*ret = s;
	return 0;
}

struct sharetree *sharetree_free(struct sharetree *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_trees; i++) {
		tree_done(s->trees[i]);
		free(s->trees[i]);
	}
	free(s->trees);
	free(s->resets_ns);
	free(s);
	return NULL;
}

const struct config *sharetree_policy(const struct sharetree *s)
{
	return s->config;
}

static int compare_tree(const struct tree *t, struct sharetree_where w)
{
	int r = strcmp(t->cluster, w.cluster);

	return r ? r : (int)t->pool - (int)w.pool;
}

/* Finds or makes the tree. NULL: out of memory. */
static struct tree *find_tree(struct sharetree *s, struct sharetree_where w)
{
	struct tree **larger, *new;
	size_t i = 0;

	while (i < s->n_trees && compare_tree(s->trees[i], w) < 0)
		i++;
	if (i < s->n_trees && compare_tree(s->trees[i], w) == 0)
		return s->trees[i];
	larger = realloc(s->trees, (s->n_trees + 1) * sizeof(*larger));
	if (!larger)
		return NULL;
	s->trees = larger;
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	snprintf(new->cluster, sizeof(new->cluster), "%s", w.cluster);
	new->pool = w.pool;
	memmove(&larger[i + 1], &larger[i], (s->n_trees - i) * sizeof(*larger));
	s->n_trees++;
	return larger[i] = new;
}

bool sharetree_tree(const struct sharetree *s, size_t i, struct sharetree_where *ret)
{
	if (i >= s->n_trees)
		return false;
	*ret = (struct sharetree_where){ s->trees[i]->cluster, s->trees[i]->pool };
	return true;
}

/* ---- what counts ---- */

/* The weight of one second of running: the rate that the job is charged. */
static int find_weight(const struct store_charge *c, double *ret)
{
	if (c->rate.num < 0 || c->rate.den <= 0)
		return -EINVAL;
	*ret = (double)c->rate.num / (double)c->rate.den;
	return 0;
}

static int fail_charge(const struct store_charge *c, int r, struct err *err)
{
	return err_set(err, r, "usage of %s in account %s on %s cannot be weighed: %s", c->user,
		       c->account, c->cluster, strerror(-r));
}

/* An adjustment has an amount of its own; any other charge is weight x running time. Negative
 * ones take usage away. */
static int apply_charge(struct sharetree *s, const struct store_charge *c, struct decay *usage,
			int64_t now_ns)
{
	struct decay_charge d = { .from_ns = c->from_ns, .to_ns = c->to_ns };
	double weight = 0;
	int r;

	if (c->adjusted_ms) {
		d.amount = fabs((double)c->adjusted_ms / 1000);
		return c->adjusted_ms < 0 ? decay_refund(usage, &s->rule.decay, &d, now_ns)
					  : decay_add(usage, &s->rule.decay, &d, now_ns);
	}
	r = find_weight(c, &weight);
	d.amount = weight * fabs((double)c->running_ns / (double)S_NS);
	if (r < 0)
		return r;
	return c->running_ns < 0 ? decay_refund(usage, &s->rule.decay, &d, now_ns)
				 : decay_add(usage, &s->rule.decay, &d, now_ns);
}

static int find_entry(struct sharetree *s, const struct store_charge *c, struct tree **ret_tree,
		      struct tree_entry **ret)
{
	*ret_tree = find_tree(s, (struct sharetree_where){ c->cluster, c->pool });
	if (*ret_tree)
		*ret = tree_entry(*ret_tree, c->account, c->user);
	return *ret_tree && *ret ? 0 : -ENOMEM;
}

int sharetree_charge(struct sharetree *s, const struct store_charge *c, int64_t now_ns,
		     struct err *err)
{
	struct tree *t;
	struct tree_entry *e = NULL;
	int r = find_entry(s, c, &t, &e);

	if (r == 0)
		r = apply_charge(s, c, &e->usage, now_ns);
	if (r == 0)
		r = tree_changed(t, &s->rule, e, now_ns);
	return r < 0 ? fail_charge(c, r, err) : 0;
}

int sharetree_add_delta(struct sharetree *s, const struct sync_usage_delta *g, int64_t now_ns,
			struct err *err)
{
	const struct store_charge now = {
		.cluster = g->cluster,
		.account = g->account,
		.user = g->user,
		.queue = g->queue,
		.pool = g->pool,
		.from_ns = g->from_ns,
		.to_ns = g->to_ns,
		.running_ns = g->running_ns,
		.rate = g->rate,
		.ncpus = g->ncpus,
		.ngpus = g->ngpus,
		.mem_bytes = g->mem_bytes,
	};
	struct decay_charge was = { .from_ns = g->from_ns, .to_ns = g->was_to_ns };
	struct tree *t;
	struct tree_entry *e = NULL;
	double weight = 0;
	int r = find_entry(s, &now, &t, &e);

	if (r == 0)
		r = find_weight(&now, &weight);
	was.amount = weight * ((double)g->was_running_ns / (double)S_NS);
	/* Add first, then take away: a sum is cut at 0, and where an operator refunded some of
	 * it, the other order would cut on the way. */
	if (r == 0)
		r = apply_charge(s, &now, &e->usage, now_ns);
	if (r == 0 && g->was_running_ns)
		r = decay_refund(&e->usage, &s->rule.decay, &was, now_ns);
	if (r == 0)
		r = tree_changed(t, &s->rule, e, now_ns);
	return r < 0 ? fail_charge(&now, r, err) : 0;
}

struct loading {
	struct sharetree *s;
	int64_t now_ns;
};

static int load_one(void *ctx, const struct store_charge *c, struct err *err)
{
	const struct loading *l = ctx;

	return sharetree_charge(l->s, c, l->now_ns, err);
}

/* The instants of [Policy] UsageReset, in the ledger's time zone. */
#define RESET_YEARS 230 /* from 1970 on */

static int make_resets(struct sharetree *s, struct store *store, struct err *err)
{
	const struct config_policy *p = &s->config->policy;
	bool is_yearly = p->usage_reset == CONFIG_RESET_YEARLY;
	size_t n = is_yearly ? RESET_YEARS : 12 * RESET_YEARS;
	const int64_t first = calendar_month(0); /* of 1970-01-01 */

	if (p->usage_reset == CONFIG_RESET_NEVER || s->resets_ns)
		return 0;
	s->resets_ns = calloc(n, sizeof(*s->resets_ns));
	if (!s->resets_ns)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int64_t month = first + (int64_t)i;
		int64_t day = calendar_month_first(month);

		if (is_yearly)
			day = calendar_month_first(first + 12 * (int64_t)i +
						   p->year_start_month - 1) +
			      p->year_start_day - 1;
		s->resets_ns[i] = store_first_ns(store, day);
	}
	s->rule.decay.resets_ns = s->resets_ns;
	s->rule.decay.n_resets = n;
	return 0;
}

int sharetree_load(struct sharetree *s, struct store *store, int64_t now_ns, struct err *err)
{
	struct store_charge_span span = { INT64_MIN, now_ns };
	struct loading l = { s, now_ns };
	int64_t old_ns;
	int r = make_resets(s, store, err);

	if (r < 0)
		return r;
	if (s->rule.decay.half_life_ns &&
	    !__builtin_mul_overflow(s->rule.decay.half_life_ns, HALF_LIVES_READ, &old_ns) &&
	    __builtin_sub_overflow(now_ns, old_ns, &span.since_ns))
		span.since_ns = INT64_MIN;
	return store_charges(store, &span, load_one, &l, err);
}

void sharetree_set_accounts(struct sharetree *s, const struct accounts *a)
{
	s->rule.accounts = a;
	for (size_t i = 0; i < s->n_trees; i++)
		tree_forget_rows(s->trees[i]);
}

void sharetree_reload(struct sharetree *s)
{
	s->rule.fairshare = s->config->policy.fairshare;
	s->rule.root_shares = s->config->policy.root_shares;
	sharetree_set_accounts(s, s->rule.accounts);
}

int sharetree_rank_by(struct sharetree *s, enum config_fairshare algorithm, int64_t now_ns,
		      struct err *err)
{
	int r = 0;

	if (s->rule.fairshare == (int)algorithm)
		return 0;
	s->rule.fairshare = algorithm;
	for (size_t i = 0; i < s->n_trees && r >= 0; i++) {
		bool was_ranked = s->trees[i]->is_ranked;

		s->trees[i]->is_ranked = false;
		r = was_ranked ? tree_rank(s->trees[i], &s->rule, now_ns, err) : 0;
	}
	return r;
}

/* ---- views ---- */

/* Sums the usage of associations without a row of their own, which counts higher in the tree.
 */
static void add_gone(const struct tree *t, const struct decay_rule *rule, int64_t now_ns,
		     struct sharetree_view *v)
{
	if (!t->has_gone)
		return;
	for (size_t i = 0; i < t->n_entries; i++) {
		const struct tree_entry *e = &t->entries[i];

		if (e->is_row || !e->was_charged)
			continue;
		v->n_gone++;
		v->gone += decay_read(&e->usage, rule, now_ns);
	}
}

int sharetree_get_view(struct sharetree *s, struct sharetree_where w, int64_t now_ns,
		       struct sharetree_view *ret, struct err *err)
{
	struct tree *t = find_tree(s, w);
	struct sharetree_view v;
	int r = t ? tree_rank(t, &s->rule, now_ns, err) : -ENOMEM;

	if (r < 0)
		return t ? r : err_set(err, -ENOMEM, "out of memory");
	v = (struct sharetree_view){ .rows = t->rows, .results = t->results, .n = t->n_rows };
	v.unit_seconds = 1e-9 * decay_factor(now_ns - t->at_ns, s->rule.decay.half_life_ns);
	add_gone(t, &s->rule.decay, now_ns, &v);
	*ret = v;
	return 0;
}

double sharetree_usage(const struct sharetree_view *v, size_t row)
{
	fairshare_usage u = v->results[row].raw_usage;

	return ((double)(uint64_t)(u >> 64) * 0x1p64 + (double)(uint64_t)u) * v->unit_seconds;
}

double sharetree_factor(struct sharetree *s, struct sharetree_where w, const char *account,
			const char *user)
{
	struct tree *t = find_tree(s, w);
	const struct tree_entry *e = t && t->is_ranked ? tree_find(t, account, user) : NULL;

	if (!e || !e->is_row || isnan(t->results[e->row].fairshare))
		return 0;
	return t->results[e->row].fairshare;
}
