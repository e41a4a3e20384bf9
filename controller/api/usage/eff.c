/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff.c - GET /v1/eff: efficiency of jobs, users, accounts or clusters. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/usage/usage.h"
#include "controller/api/authz.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/eff.h"
#include "controller/quota/usage_names.h"

#define JOBS_MAX 100   /* job numbers in one request */
#define LIMIT_MAX 1000 /* rows of an answer */
#define LATEST 100000  /* jobs that are read at most, so that other requests do not wait */

/* The index of the query's word in the list; 0 when absent. -EINVAL. */
static int read_word(const struct call *c, const char *name, const char *const *words,
		     struct err *err)
{
	const char *text = call_query_text(c, name);

	for (int i = 0; words[i]; i++)
		if (!text || !strcmp(text, words[i]))
			return i;
	return err_set(err, -EINVAL, "%s=%.40s is not known", name, text);
}

/* "12,14,15" */
static int read_jobs(const struct call *c, int64_t jobs[static JOBS_MAX], size_t *ret_n,
		     struct err *err)
{
	const char *text = call_query_text(c, "jobs");
	char one[24];
	size_t n;

	for (*ret_n = 0; text; text = text[n] ? text + n + 1 : NULL) {
		n = strcspn(text, ",");
		snprintf(one, sizeof(one), "%.*s", (int)n, text);
		if (*ret_n == JOBS_MAX)
			return err_set(err, -EINVAL, "more than %d jobs at once", JOBS_MAX);
		if (n >= sizeof(one) || amount_parse_count(one, &jobs[*ret_n], NULL) < 0)
			return err_set(err, -EINVAL, "jobs: '%.40s' is not a job number", one);
		(*ret_n)++;
	}
	return 0;
}

static int read_filter(struct call *c, struct store_eff_filter *f, struct err *err)
{
	const struct quota_site site = { .store = c->api->c.store,
					 .config = c->api->c.config,
					 .accounts = c->api->accounts };
	int r;

	f->account = call_query_text(c, "account");
	f->cluster = call_query_text(c, "cluster");
	f->user = call_query_text(c, "user");
	r = authz_narrow_usage(c, f->account, &f->user, err);
	f->latest = LATEST;
	if (r >= 0)
		r = usage_names_check_period(
			&(struct usage_names){ &site, c->is_operator ? NULL : c->user },
			&(struct store_period){
				.account = f->account, .user = f->user, .cluster = f->cluster },
			err);
	if (r >= 0)
		r = call_query_day(c, "start", STORE_EFF_FIRST_DAY, &f->from_day, err);
	if (r >= 0)
		r = call_query_day(c, "end", STORE_EFF_LAST_DAY, &f->to_day, err);
	return r;
}

static int read_ask(struct call *c, struct store_eff_ask *ask, struct err *err)
{
	static const int64_t limit_default = 100;
	int64_t limit;
	int r = read_filter(c, &ask->filter, err), by, sort;

	if (r >= 0)
		r = call_query_int(c, "limit",
				   (struct wire_int){ 1, LIMIT_MAX, &limit_default }, &limit,
				   err);
	if (r < 0)
		return r;
	by = read_word(c, "by", store_eff_by_words, err);
	if (by < 0)
		return by;
	sort = read_word(c, "sort", store_eff_sort_words, err);
	if (sort < 0)
		return sort;
	ask->by = (enum store_eff_by)by;
	ask->sort = (enum store_eff_sort)sort;
	ask->limit = (size_t)limit;
	return 0;
}

int route_eff(struct call *c, struct err *err)
{
	_cleanup_(store_eff_rows_done) struct store_eff_rows found = { 0 };
	struct store_eff_ask ask = { 0 };
	int64_t jobs[JOBS_MAX];
	size_t n;
	int r = read_jobs(c, jobs, &n, err);

	if (r >= 0)
		r = read_ask(c, &ask, err);
	if (r < 0)
		return r;
	ask.filter.jobs = n ? jobs : NULL;
	ask.filter.n_jobs = n;
	r = store_eff_sums(c->api->c.store, &ask, &found, err);
	return r < 0 ? r : store_eff_encode(&found, &c->answer, err);
}
