/* rows.c - the rows of a projection, and the part of an allocation that is within its period;
 * see projection_impl.h. */
#include <stdlib.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/projection/projection_impl.h"

struct projection_entry *projection_add_entry(struct projection_state *g)
{
	size_t size = g->room ? g->room * 2 : 64;
	struct projection_entry *more;

	if (g->n == g->room) {
		more = realloc(g->rows, size * sizeof(*more));
		if (!more)
			return NULL;
		g->rows = more;
		g->room = size;
	}
	g->rows[g->n] = (struct projection_entry){ .account = -1, .depth = -1 };
	return &g->rows[g->n++];
}

struct overlap {
	int64_t from, to; /* days */
};

static struct overlap overlap_of(const struct accounts_allocation *a,
				 const struct store_period *p)
{
	return (struct overlap){ a->from_day > p->from_day ? a->from_day : p->from_day,
				 a->to_day < p->to_day ? a->to_day : p->to_day };
}

int projection_allotted_ms(const struct projection_state *g,
			   const struct accounts_allocation *a, int64_t *ret)
{
	struct store *s = g->site->store;
	struct overlap o = overlap_of(a, &g->ask->period);
	int64_t months;

	*ret = 0;
	if (o.to <= o.from)
		return 0;
	switch (a->kind) {
	case ACCOUNTS_TARGET:
		return charge_requested(
			a->amount, store_first_ns(s, o.to) - store_first_ns(s, o.from), ret);
	case ACCOUNTS_MONTHLY: /* months that begin within */
		months = calendar_month(o.to - 1) - calendar_month(o.from) + 1;
		if (calendar_month_first(calendar_month(o.from)) < o.from)
			months--;
		return charge_requested(a->amount, months * HOUR_NS, ret);
	case ACCOUNTS_GRANT:
		if (a->from_day < g->ask->period.from_day)
			return 0;
		return charge_requested(a->amount, HOUR_NS, ret);
	default:
		return 0;
	}
}

bool projection_counts_allocation(const struct projection_state *g,
				  const struct accounts_allocation *a)
{
	const struct store_period *p = &g->ask->period;

	/* A part of an account's usage is not what its allocation is measured by. */
	return g->is_tree && p->each == STORE_EACH_PERIOD && !p->user &&
	       (!p->cluster || !strcmp(p->cluster, a->cluster));
}
