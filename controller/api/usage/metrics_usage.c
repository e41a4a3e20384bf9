/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics_usage.c - sums usage for GET /metrics, and checks the token that shows it by account;
 * see metrics_usage.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/log.h"
#include "common/token.h"
#include "controller/api/usage/metrics_usage.h"

/* ---- callers that get figures by account ---- */

static int refuse_token(struct call *c, struct err *err)
{
	err_set(err, 0, "the token is not that of the controller's MetricsToken=");
	return call_refuse(c, 401, NULL, "leave it out for the sums of all accounts");
}

static int check_token(struct call *c, const char *authorization, struct err *err)
{
	const char *path = c->api->c.config->metrics_token;
	char token[TOKEN_MAX];
	struct err why;
	int r;

	if (!path)
		return refuse_token(c, err);
	r = token_read(path, token, &why);
	if (r < 0)
		log_line(LOG_ERR, "MetricsToken: %s", why.text);
	return r < 0 || !token_is_shown(authorization, token) ? refuse_token(c, err) : 0;
}

int metrics_may_see_accounts(struct call *c, bool *ret, struct err *err)
{
	const char *authorization = exchange_header(c->x, AUTH_REQUEST_HEADER);
	bool is_user = c->user[0]; /* by a munge credential, which is in the same header */
	int r = 0;

	*ret = c->is_operator || c->api->c.config->metrics_accounts == CONFIG_METRICS_PUBLIC;
	if (authorization && !is_user) {
		r = check_token(c, authorization, err);
		*ret |= r >= 0;
	}
	return r;
}

/* ---- the figures ---- */

enum usage_figure { FIGURE_REQUESTED, FIGURE_USED, FIGURE_CPU, FIGURE_ENDED, _FIGURE_MAX };

struct usage_sum {
	char account[REQUEST_NAME_MAX], pool[16]; /* account "": all together */
	int64_t n[_FIGURE_MAX];
};

struct usage_sums {
	struct usage_sum *of;
	size_t n;
};

struct metrics_usage {
	struct usage_sums sums;	 /* by account and pool, each once */
	int64_t looked_until_ns; /* monotonic: until then they are new enough */
};

static void usage_sums_done(struct usage_sums *s)
{
	free(s->of);
	*s = (struct usage_sums){ NULL, 0 };
}

struct metrics_usage *metrics_usage_free(struct metrics_usage *m)
{
	if (m)
		usage_sums_done(&m->sums);
	free(m);
	return NULL;
}

static struct usage_sum *add_sum(struct usage_sums *s, const char *account, const char *pool)
{
	struct usage_sum *more = s->of;

	if ((s->n & (s->n - 1)) == 0) /* a power of two: full */
		more = reallocarray(more, s->n ? s->n * 2 : 1, sizeof(*more));
	if (!more)
		return NULL;
	s->of = more;
	more = &s->of[s->n++];
	*more = (struct usage_sum){ .n = { 0 } };
	snprintf(more->account, sizeof(more->account), "%s", account);
	snprintf(more->pool, sizeof(more->pool), "%s", pool);
	return more;
}

static int add_usage(void *ctx, const struct store_usage *u, struct err *err)
{
	struct usage_sum *sum = add_sum(ctx, u->key, u->pool);

	if (!sum)
		return err_set(err, -ENOMEM, "out of memory");
	sum->n[FIGURE_REQUESTED] = u->charge_requested_ms;
	sum->n[FIGURE_USED] = u->charge_used_ms;
	sum->n[FIGURE_CPU] = u->cpu_ms;
	sum->n[FIGURE_ENDED] = u->jobs_ended;
	return 0;
}

/* Summing reads the whole ledger, and any client may request it: so the sums are kept a hundred
 * times as long as they took, and a client that requests them without pause costs one per cent
 * of the controller. */
#define KEEP_TIMES 100
#define KEEP_MAX_NS (60 * S_NS)

static int refresh_sums(struct api *a, struct err *err)
{
	const struct store_period all = { .by = STORE_BY_ACCOUNT,
					  .from_day = INT32_MIN,
					  .to_day = INT32_MAX };
	_cleanup_(usage_sums_done) struct usage_sums fresh = { NULL, 0 };
	int64_t now_ns = api_monotonic_ns(), keep_ns;
	int r;

	if (!a->metrics_usage)
		a->metrics_usage = calloc(1, sizeof(*a->metrics_usage));
	if (!a->metrics_usage)
		return err_set(err, -ENOMEM, "out of memory");
	if (now_ns < a->metrics_usage->looked_until_ns)
		return 0;
	r = store_usage(a->c.store, &all, add_usage, &fresh, err);
	if (r < 0)
		return r;
	usage_sums_done(&a->metrics_usage->sums);
	a->metrics_usage->sums = fresh;
	fresh = (struct usage_sums){ NULL, 0 };
	keep_ns = (api_monotonic_ns() - now_ns) * KEEP_TIMES;
	a->metrics_usage->looked_until_ns =
		api_monotonic_ns() + (keep_ns < KEEP_MAX_NS ? keep_ns : KEEP_MAX_NS);
	return 0;
}

/* All accounts together: as many as there are pools. */
static int add_up(const struct usage_sums *all, struct usage_sums *ret, struct err *err)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct usage_sum *one = &all->of[i];
		struct usage_sum *sum = NULL;

		for (size_t k = 0; k < ret->n; k++)
			if (!strcmp(ret->of[k].pool, one->pool))
				sum = &ret->of[k];
		if (!sum)
			sum = add_sum(ret, "", one->pool);
		if (!sum)
			return err_set(err, -ENOMEM, "out of memory");
		for (int k = 0; k < _FIGURE_MAX; k++)
			sum->n[k] += one->n[k];
	}
	return 0;
}

static void put_sum(struct metrics_text *t, const char *name, const struct usage_sum *sum,
		    enum usage_figure figure)
{
	long long n = sum->n[figure];

	fprintf(t->f, "%s{", name);
	if (sum->account[0]) {
		metrics_label(t, "account", sum->account);
		fputc(',', t->f);
	}
	metrics_label(t, "pool", sum->pool);
	fputs("} ", t->f);
	if (figure == FIGURE_ENDED)
		fprintf(t->f, "%lld\n", n);
	else
		metrics_seconds(t, n);
}

static void put_sums(struct metrics_text *t, const struct usage_sums *s)
{
	static const struct {
		const char *name, *type, *help;
	} figures[_FIGURE_MAX] = {
		[FIGURE_REQUESTED] = { "reeve_charge_requested_equivalent_seconds_total",
				       "counter", "Charged for what was requested." },
		/* A better measurement may lower it: the resident peak replaces the cgroup's.
		 */
		[FIGURE_USED] = { "reeve_charge_used_equivalent_seconds", "gauge",
				  "What requests of what was used would have cost." },
		[FIGURE_CPU] = { "reeve_job_cpu_seconds_total", "counter",
				 "CPU time of jobs." },
		[FIGURE_ENDED] = { "reeve_jobs_ended_total", "counter", "Jobs that ended." },
	};

	for (int i = 0; i < _FIGURE_MAX; i++) {
		metrics_head(t, figures[i].name, figures[i].type, figures[i].help);
		for (size_t k = 0; k < s->n; k++)
			put_sum(t, figures[i].name, &s->of[k], (enum usage_figure)i);
	}
}

int metrics_put_usage(struct metrics_text *t, struct api *a, bool by_account, struct err *err)
{
	_cleanup_(usage_sums_done) struct usage_sums together = { NULL, 0 };
	int r = refresh_sums(a, err);

	if (r >= 0 && !by_account)
		r = add_up(&a->metrics_usage->sums, &together, err);
	if (r >= 0)
		put_sums(t, by_account ? &a->metrics_usage->sums : &together);
	return r;
}
