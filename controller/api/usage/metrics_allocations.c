/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics_allocations.c - reads some allocations at each scrape, in turn, and writes what it has of all; see metrics_allocations.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts.h"
#include "controller/api/submit/submit.h"
#include "controller/api/usage/metrics_allocations.h"
#include "controller/quota/quota.h"

struct figure {
	char account[REQUEST_NAME_MAX], cluster[REQUEST_NAME_MAX]; /* cluster "": of all */
	enum charge_pool pool;
	int64_t total_ms, used_ms;
};

/* Figures of one account: figures[first .. first + n) of a list that is replaced when all accounts were read. */
struct metrics_allocations {
	int64_t revision; /* of the accounts */
	size_t next;	  /* the account that is read next */
	struct figure *figures, *fresh;
	size_t n_figures, n_fresh, room;
	bool has_all;
};

struct metrics_allocations *metrics_allocations_free(struct metrics_allocations *m)
{
	if (m) {
		free(m->figures);
		free(m->fresh);
	}
	free(m);
	return NULL;
}

struct reading {
	struct metrics_allocations *m;
	const char *account;
};

/* One that an account above it owns is shown there. */
static int add_view(void *ctx, const struct quota_view *v, struct err *err)
{
	const struct reading *r = ctx;
	struct metrics_allocations *m = r->m;
	struct figure *f;

	if (!v->has_allocation || strcmp(v->owner, r->account) != 0)
		return 0;
	if (m->n_fresh == m->room) {
		size_t room = m->room ? 2 * m->room : 64;
		struct figure *more = reallocarray(m->fresh, room, sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		m->fresh = more;
		m->room = room;
	}
	f = &m->fresh[m->n_fresh++];
	*f = (struct figure){ .pool = v->pool,
			      .total_ms = quota_total_ms(v),
			      .used_ms = v->used_ms };
	snprintf(f->account, sizeof(f->account), "%s", v->account);
	snprintf(f->cluster, sizeof(f->cluster), "%s", v->allocation_cluster);
	return 0;
}

static void end_round(struct metrics_allocations *m)
{
	free(m->figures);
	m->figures = m->fresh;
	m->n_figures = m->n_fresh;
	m->fresh = NULL;
	m->n_fresh = m->room = m->next = 0;
	m->has_all = true;
}

/* At most one round. */
static int read_some(struct metrics_allocations *m, struct call *c, struct err *err)
{
	const struct quota_site site = submit_quota_site(c);
	const int64_t until_ns = api_monotonic_ns() + METRICS_READ_NS;
	const struct accounts *a = site.accounts;
	int r = 0;

	for (; m->next < a->n_accounts && r >= 0 && api_monotonic_ns() < until_ns; m->next++) {
		struct reading reading = { m, a->accounts[m->next].name };
		const struct quota_each each = { add_view, &reading };
		const struct quota_query ask = { .account = reading.account,
						 .cluster = "",
						 .now_ns = api_now_ns(),
						 .at_day = QUOTA_NOW };

		if (accounts_owns_allocation(a, (int32_t)m->next))
			r = quota_get_views(&site, &ask, &each, err);
	}
	if (r >= 0 && m->next >= a->n_accounts)
		end_round(m);
	return r;
}

static void put_figures(struct metrics_text *t, const struct metrics_allocations *m,
			const char *name, bool is_used)
{
	const struct figure *of = m->has_all ? m->figures : m->fresh;
	size_t n = m->has_all ? m->n_figures : m->n_fresh;

	for (size_t i = 0; i < n; i++) {
		int64_t ms = is_used ? of[i].used_ms : of[i].total_ms;

		fprintf(t->f, "%s{", name);
		metrics_label(t, "account", of[i].account);
		fputc(',', t->f);
		metrics_label(t, "cluster", of[i].cluster);
		fputc(',', t->f);
		metrics_label(t, "pool", charge_pool_name(of[i].pool));
		fputs("} ", t->f);
		metrics_seconds(t, ms);
	}
}

static int refresh_allocations(struct call *c, struct err *err)
{
	struct api *a = c->api;

	if (a->metrics_allocations && a->metrics_allocations->revision != a->accounts_revision)
		a->metrics_allocations = metrics_allocations_free(a->metrics_allocations);
	if (!a->metrics_allocations)
		a->metrics_allocations = calloc(1, sizeof(*a->metrics_allocations));
	if (!a->metrics_allocations)
		return err_set(err, -ENOMEM, "out of memory");
	a->metrics_allocations->revision = a->accounts_revision;
	return read_some(a->metrics_allocations, c, err);
}

int metrics_put_allocations(struct metrics_text *t, struct call *c, struct err *err)
{
	const struct accounts *a = c->api->accounts;
	const struct metrics_allocations *m;
	int64_t n_unread = 0;
	int r = c->api->c.config->policy.quota ? refresh_allocations(c, err) : 0;

	m = c->api->metrics_allocations;
	if (r < 0 || !m)
		return r;
	for (size_t i = m->has_all ? a->n_accounts : m->next; i < a->n_accounts; i++)
		n_unread += accounts_owns_allocation(a, (int32_t)i);
	metrics_head(t, "reeve_allocations_unread", "gauge",
		     "Accounts with allocations of their own that no scrape has read so far.");
	fprintf(t->f, "reeve_allocations_unread %lld\n", (long long)n_unread);
	metrics_head(t, "reeve_allocation_equivalent_seconds", "gauge",
		     "The allocation of the account that counts now, of its whole period.");
	put_figures(t, m, "reeve_allocation_equivalent_seconds", false);
	metrics_head(t, "reeve_allocation_used_equivalent_seconds", "gauge",
		     "What was charged to it in its period.");
	put_figures(t, m, "reeve_allocation_used_equivalent_seconds", true);
	return 0;
}
