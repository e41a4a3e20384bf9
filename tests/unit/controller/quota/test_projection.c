/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_projection - usage of a period beside its allocation: whose rows a scope has, which rows a limit keeps, and
 * the sentence on when an allocation is used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/projection/projection.h"
#include "tests/unit/rig/quota_rig.h"

#define TODAY 20000 /* 2024-10-04, as NOON */
static const char config[] = "[Policy]\nQuota=target\n[Cluster main]\n";
static const char accounts[] =
	"[Account physics]\nUsers=alice,bob\nDescription=Quarks\nCoordinators=alice\n"
	"[Account physics.lab]\nParent=physics\nUsers=bob\n"
	"[Account chemistry]\nUsers=alice,carol\n"
	"[Allocation physics/a]\nKind=target\nAmount=10\nFrom=2024-10-01\nTo=2024-10-11\n"
	"[Allocation chemistry/a]\nKind=target\nAmount=10\nFrom=2024-10-01\nTo=2024-10-11\n";

struct seen {
	char names
		[256]; /* "physics*" with an allocation, "(chemistry)" of the own usage alone */
	char words[PROJECTION_WORDS_MAX];
	int64_t total_ms, end_day, left_out;
};

static int see_row(void *ctx, const struct projection_row *row, struct err *err)
{
	struct seen *s = ctx;
	size_t n = strlen(s->names);

	(void)err;
	if (row->is_total) {
		s->total_ms += row->counts_ms;
		return 0;
	}
	snprintf(s->names + n, sizeof(s->names) - n, "%s%s%s%s%s", n ? " " : "",
		 row->is_own_only ? "(" : "", row->usage->key, row->is_own_only ? ")" : "",
		 row->has_allocation ? "*" : "");
	if (row->words) {
		snprintf(s->words, sizeof(s->words), "%s", row->words);
		s->end_day = row->end_day;
	}
	return 0;
}

static struct seen see_usage(struct quota_rig *q, struct projection_query ask)
{
	struct seen s = { .end_day = -1 };
	struct projection_period period;
	struct err err = { "" };

	ask.now_ns = (TODAY + 1) * DAY_NS; /* four of ten days are gone */
	ask.period.from_day = TODAY - 3;
	ask.period.to_day = TODAY + 7;
	if (projection_usage(&q->site, &ask, &(struct projection_each){ see_row, &s }, &period,
			     &err) < 0)
		fail_msg("%s", err.text);
	s.left_out = period.left_out;
	return s;
}

static void use_hours(struct quota_rig *q, const char *account, const char *user, int64_t rate)
{
	quota_rig_use(q,
		      &(struct quota_rig_job){
			      .account = account, .user = user, .rate = { rate, 1 } },
		      3600);
}

static void fill_ledger(struct quota_rig *q)
{
	quota_rig_set(q, config, accounts);
	use_hours(q, "physics", "alice", 200);
	use_hours(q, "physics.lab", "bob", 300);
	use_hours(q, "chemistry", "alice", 100);
	use_hours(q, "chemistry", "carol", 50);
}

static void a_scope_shows_its_accounts_whole_and_of_others_the_own_usage(void **state)
{
	static const char *const names[] = { "physics", "physics.lab" };
	const struct store_scope scope = { names, 2, "alice" };
	struct quota_rig *q = *state;
	struct projection_query ask = { .period = { .by = STORE_BY_ACCOUNT } };
	struct seen s;

	fill_ledger(q);
	s = see_usage(q, ask);
	assert_string_equal(s.names, "chemistry* physics* physics.lab");
	ask.period.scope = &scope;
	s = see_usage(q, ask);
	assert_string_equal(s.names, "(chemistry) physics* physics.lab");
	assert_int_equal(s.total_ms, 600 * HOUR_MS);
	ask.period.by = STORE_BY_USER;
	assert_string_equal(see_usage(q, ask).names, "alice bob");
	ask.period.by = STORE_BY_NONE;
	ask.period.each = STORE_EACH_MONTH;
	s = see_usage(q, ask);
	assert_string_equal(s.names, "");
	assert_int_equal(s.total_ms, 600 * HOUR_MS);
}

static void an_account_that_is_asked_for_comes_with_those_below_it(void **state)
{
	struct quota_rig *q = *state;
	struct projection_query ask = { .period = { .by = STORE_BY_ACCOUNT,
						    .account = "physics" } };
	struct seen s;

	fill_ledger(q);
	s = see_usage(q, ask);
	assert_string_equal(s.names, "physics* physics.lab");
	assert_int_equal(s.total_ms, 500 * HOUR_MS);
}

static void a_limit_keeps_the_rows_that_count_most_and_the_totals(void **state)
{
	struct quota_rig *q = *state;
	struct projection_query ask = { .period = { .by = STORE_BY_USER }, .limit = 2 };
	struct seen s;

	fill_ledger(q);
	s = see_usage(q, ask);
	assert_string_equal(s.names, "alice bob");
	assert_int_equal(s.left_out, 1);
	assert_int_equal(s.total_ms, 650 * HOUR_MS);
	ask.limit = 3;
	assert_int_equal(see_usage(q, ask).left_out, 0);
	/* In the tree a parent counts what is below it, so that no child stands without it. */
	ask.period.by = STORE_BY_ACCOUNT;
	ask.limit = 1;
	assert_string_equal(see_usage(q, ask).names, "physics*");
	ask.limit = 2;
	assert_string_equal(see_usage(q, ask).names, "physics* physics.lab");
}

/* ---- the rows that the ledger finds by what they count ---- */

#define FIGURES_MAX 1024

/* A line a row: what it counts, what its jobs were, and both projections; totals with how many rows they are of. */
static int note_figures(void *ctx, const struct projection_row *row, struct err *err)
{
	char *text = ctx;
	size_t n = strlen(text);

	(void)err;
	snprintf(text + n, FIGURES_MAX - n,
		 "%s %s counts %lld started %lld year %lld recent %lld of %lld\n",
		 row->is_total ? "total" : row->usage->key, row->usage->pool,
		 (long long)row->counts_ms, (long long)row->usage->jobs_started,
		 (long long)row->by_year_ms, (long long)row->by_recent_ms,
		 (long long)row->n_summed);
	return 0;
}

static int64_t note_period(struct quota_rig *q, const struct projection_query *ask,
			   char text[static FIGURES_MAX])
{
	const struct projection_each each = { note_figures, text };
	struct projection_period period;
	struct err err = { "" };

	*text = '\0';
	if (projection_usage(&q->site, ask, &each, &period, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(period.is_open);
	return period.left_out;
}

/* The allocation year is under way; all used is of the last days. */
static void what_counts_most_has_the_projections_that_it_has_among_all(void **state)
{
	static const char all[] = "[Account physics]\nUsers=alice,bob\n";
	struct quota_rig *q = *state;
	struct projection_query ask = { .period = { .by = STORE_BY_USER },
					.now_ns = (TODAY + 1) * DAY_NS };
	char whole[FIGURES_MAX], some[FIGURES_MAX];

	quota_rig_set(q, config, all);
	use_hours(q, "physics", "alice", 200);
	use_hours(q, "physics.lab", "bob", 300);
	use_hours(q, "chemistry", "alice", 100);
	use_hours(q, "chemistry", "carol", 50);
	ask.period.from_day = calendar_month_first(2024 * 12 + 3);
	ask.period.to_day = calendar_month_first(2025 * 12 + 3);
	assert_int_equal(note_period(q, &ask, whole), 0);
	ask.limit = 3;
	assert_int_equal(note_period(q, &ask, some), 0);
	assert_string_equal(some, whole);
	ask.limit = 2;
	assert_int_equal(note_period(q, &ask, some), 1);
	assert_null(strstr(some, "carol"));
	assert_non_null(strstr(some, strstr(whole, "total")));
	assert_memory_equal(some, whole, (size_t)(strstr(whole, "carol") - whole));
	/* As of a moment before, nothing had been used. */
	ask.now_ns = TODAY * DAY_NS;
	ask.is_past = true;
	note_period(q, &ask, some);
	assert_string_equal(some, "");
}

/* 10 equivalents for 10 days are 2400 hours. After 4 days 1800 are used: 450 a day, the last 600 in 32 hours. */
static void the_sentence_says_when_the_allocation_is_used_up(void **state)
{
	struct quota_rig *q = *state;
	struct projection_query ask = { .period = { .by = STORE_BY_ACCOUNT,
						    .account = "physics" } };
	struct seen s;

	quota_rig_set(q, config, accounts);
	use_hours(q, "physics", "alice", 1000);
	use_hours(q, "physics.lab", "bob", 800);
	s = see_usage(q, ask);
	assert_string_equal(
		s.words, "At the rate of the last 4 days the allocation is used up on "
			 "2024-10-06; the period ends on 2024-10-10. At the rate of the whole "
			 "period so far 187.5 % of it will be used by then.");
	assert_int_equal(s.end_day, TODAY + 2);
}

static const struct projection_outlook quiet = { .used_ms = 1000,
						 .allocation_ms = 4000,
						 .by_year_ms = 2000,
						 .by_recent_ms = 3502,
						 .recent_days = 30,
						 .last_day = TODAY,
						 .end_day = -1 };

static void the_sentence_says_what_will_be_unused(void **state)
{
	struct projection_outlook o = quiet;
	char buf[PROJECTION_WORDS_MAX];

	(void)state;
	assert_string_equal(
		projection_words(&o, buf),
		"At the rate of the last 30 days 12.5 % of the allocation will be "
		"unused when the period ends on 2024-10-04. At the rate of the whole "
		"period so far 50.0 % of it will be used by then.");
	o.used_ms = 4100;
	o.recent_days = 1;
	o.by_year_ms = INT64_MAX;
	assert_non_null(
		strstr(projection_words(&o, buf),
		       "The allocation is used up: 102.5 % of it is used, and the period "
		       "ends on 2024-10-04."));
}

int main(void)
{
#define WITH_LEDGER(f) cmocka_unit_test_setup_teardown(f, quota_rig_open, quota_rig_close)
	const struct CMUnitTest tests[] = {
		WITH_LEDGER(a_scope_shows_its_accounts_whole_and_of_others_the_own_usage),
		WITH_LEDGER(an_account_that_is_asked_for_comes_with_those_below_it),
		WITH_LEDGER(a_limit_keeps_the_rows_that_count_most_and_the_totals),
		WITH_LEDGER(what_counts_most_has_the_projections_that_it_has_among_all),
		WITH_LEDGER(the_sentence_says_when_the_allocation_is_used_up),
		cmocka_unit_test(the_sentence_says_what_will_be_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
