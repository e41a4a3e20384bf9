/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff_sums.c - sums up efficiency by job, user, account or cluster, and sorts the rows. See usage/eff.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/hash.h"
#include "controller/ledger/usage/eff.h"

const char *const store_eff_by_words[] = { "job", "user", "account", "cluster", NULL };
const char *const store_eff_sort_words[] = { "key", "waste",	"charge", "cpu",
					     "mem", "walltime", "gpu",	  NULL };
_Static_assert(ARRAY_LEN(store_eff_by_words) == _STORE_EFF_BY_MAX + 1, "a word for each");
_Static_assert(ARRAY_LEN(store_eff_sort_words) == _STORE_EFF_SORT_MAX + 1, "a word for each");

/* ---- the order of rows ---- */

/* Rows with a smaller rank come first. */
static int64_t sort_rank(const struct store_eff_row *r, enum store_eff_sort sort)
{
	static const enum eff_side sides[_STORE_EFF_SORT_MAX] = {
		[STORE_EFF_SORT_CPU] = EFF_CPU,
		[STORE_EFF_SORT_MEM] = EFF_MEM,
		[STORE_EFF_SORT_WALLTIME] = EFF_WALLTIME,
	};
	int64_t v;

	switch (sort) {
	case STORE_EFF_SORT_KEY:
		return 0;
	case STORE_EFF_SORT_CHARGE:
		return -r->sum.charge_ms;
	case STORE_EFF_SORT_WASTE:
		v = eff_idle_core_ms(&r->sum);
		return v < 0 ? 1 : -v;
	case STORE_EFF_SORT_GPU:
		v = eff_idle_gpu_ms(&r->sum);
		return v < 0 ? 1 : -v;
	default:
		v = eff_permille(&r->sum, sides[sort]);
		return v < 0 ? INT64_MAX : v;
	}
}

static int compare_keys(const struct store_eff_row *a, const struct store_eff_row *b)
{
	int r = strcmp(a->user, b->user);

	if (a->job != b->job)
		return a->job > b->job ? -1 : 1;
	if (r == 0)
		r = strcmp(a->account, b->account);
	return r ? r : strcmp(a->cluster, b->cluster);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct store_eff_row *ra = a, *rb = b;
	enum store_eff_sort sort = *(const enum store_eff_sort *)ctx;
	int64_t x = sort_rank(ra, sort), y = sort_rank(rb, sort);

	return x < y ? -1 : x > y ? 1 : compare_keys(ra, rb);
}

/* ---- gathering ---- */

#define FIRST_ROOM 64

struct gather {
	const struct store_eff_ask *ask;
	struct store_eff_rows out;
	size_t room;
	size_t *slots; /* of names: index + 1; a power of two, at most half full */
	size_t n_slots;
	bool last_is_history;
};

static void gather_done(struct gather *g)
{
	free(g->out.rows);
	free(g->slots);
}

/* Keeps the first `limit` rows. */
static void sort_and_cut(struct gather *g)
{
	enum store_eff_sort sort = g->ask->sort;

	if (g->out.n)
		qsort_r(g->out.rows, g->out.n, sizeof(*g->out.rows), compare_rows, &sort);
	if (g->out.n > g->ask->limit) {
		g->out.left_out += g->out.n - g->ask->limit;
		g->out.n = g->ask->limit;
	}
}

static struct store_eff_row *new_row(struct gather *g)
{
	struct store_eff_row *more;
	size_t room = g->room ? g->room * 2 : FIRST_ROOM;

	if (g->out.n == g->room) {
		more = reallocarray(g->out.rows, room, sizeof(*more));
		if (!more)
			return NULL;
		g->out.rows = more;
		g->room = room;
	}
	more = &g->out.rows[g->out.n++];
	memset(more, 0, sizeof(*more));
	return more;
}

static void set_name(char to[static REQUEST_NAME_MAX], const char *name)
{
	strncpy(to, name, REQUEST_NAME_MAX - 1);
}

/* The attempts of one job follow each other: a new row is needed when the number changes. Where there are
 * far more jobs than the limit, rows that cannot be among the first ones are dropped on the way. */
static struct store_eff_row *row_of_job(struct gather *g, const struct store_eff_attempt *e)
{
	struct store_eff_row *last = g->out.n ? &g->out.rows[g->out.n - 1] : NULL;

	if (last && last->job == e->a.job && !e->a.is_history && !g->last_is_history)
		return last;
	if (g->out.n >= 2 * g->ask->limit + FIRST_ROOM)
		sort_and_cut(g);
	last = new_row(g);
	if (!last)
		return NULL;
	last->job = e->a.job;
	set_name(last->cluster, e->cluster);
	set_name(last->account, e->account);
	set_name(last->user, e->user);
	g->last_is_history = e->a.is_history;
	return last;
}

static char *name_of(struct store_eff_row *row, enum store_eff_by by)
{
	return by == STORE_EFF_BY_USER	    ? row->user
	       : by == STORE_EFF_BY_ACCOUNT ? row->account
					    : row->cluster;
}

static size_t find_slot(const struct gather *g, const char *name)
{
	size_t i = hash_text(HASH_BEGIN, name) & (g->n_slots - 1);

	while (g->slots[i] &&
	       strcmp(name_of(&g->out.rows[g->slots[i] - 1], g->ask->by), name) != 0)
		i = (i + 1) & (g->n_slots - 1);
	return i;
}

static int grow_slots(struct gather *g)
{
	size_t n = g->n_slots ? g->n_slots * 2 : 2 * FIRST_ROOM;
	size_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(g->slots);
	g->slots = slots;
	g->n_slots = n;
	for (size_t i = 0; i < g->out.n; i++)
		slots[find_slot(g, name_of(&g->out.rows[i], g->ask->by))] = i + 1;
	return 0;
}

static struct store_eff_row *row_of_name(struct gather *g, const char *name)
{
	struct store_eff_row *row;
	size_t i;

	if (2 * (g->out.n + 1) > g->n_slots && grow_slots(g) < 0)
		return NULL;
	i = find_slot(g, name);
	if (g->slots[i])
		return &g->out.rows[g->slots[i] - 1];
	row = new_row(g);
	if (!row)
		return NULL;
	set_name(name_of(row, g->ask->by), name);
	g->slots[i] = g->out.n;
	return row;
}

static int add_attempt(void *ctx, struct store_eff_attempt *e, struct err *err)
{
	struct gather *g = ctx;
	enum store_eff_by by = g->ask->by;
	struct store_eff_row *row;
	int r = g->ask->price ? g->ask->price(g->ask->price_ctx, e, err) : 0;

	if (r < 0)
		return r;
	row = by == STORE_EFF_BY_JOB	   ? row_of_job(g, e)
	      : by == STORE_EFF_BY_USER	   ? row_of_name(g, e->user)
	      : by == STORE_EFF_BY_ACCOUNT ? row_of_name(g, e->account)
					   : row_of_name(g, e->cluster);
	if (!row)
		return err_set(err, -ENOMEM, "out of memory");
	row->requested = e->a.requested;
	if (eff_add(&row->sum, &e->a) < 0)
		return err_set(err, -ERANGE, "the sums are beyond what can be counted");
	return 0;
}

int store_eff_sums(struct store *s, const struct store_eff_ask *ask, struct store_eff_rows *ret,
		   struct err *err)
{
	_cleanup_(gather_done) struct gather g = { .ask = ask };
	int r = store_eff(s, &ask->filter, add_attempt, &g, err);

	if (r < 0)
		return r;
	sort_and_cut(&g);
	*ret = g.out;
	g.out = (struct store_eff_rows){ 0 };
	return 0;
}

void store_eff_rows_done(struct store_eff_rows *r)
{
	free(r->rows);
	*r = (struct store_eff_rows){ 0 };
}
