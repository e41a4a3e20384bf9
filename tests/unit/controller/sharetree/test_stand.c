/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stand - where a user stands in a share tree: the published table of BMRC's 8,511 users, and the sentence. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "controller/sharetree/stand.h"

#define USERS 8511
#define ACCOUNTS 2 /* the root, and one with all users */

static struct sharetree_row rows[ACCOUNTS + USERS];
static struct fairshare_result results[ACCOUNTS + USERS];
static struct sharetree_view view = { .rows = rows, .results = results };

/* Row 2 has the largest rank. Six users tie at 6516, the two behind them have 6510, the next one 6508. */
static int fill_view(void **state)
{
	(void)state;
	view.n = ACCOUNTS + USERS;
	rows[0].parent = -1;
	strcpy(rows[1].account, "bloggs.prj");
	results[0].level_fs = NAN;
	results[1].level_fs = 0.5;
	for (int k = 0; k < USERS; k++) {
		int rank = USERS - k;

		if (rank <= 6516 && rank > 6510)
			rank = 6516;
		else if (rank <= 6510 && rank > 6508)
			rank = 6510;
		rows[ACCOUNTS + k].parent = 1;
		strcpy(rows[ACCOUNTS + k].account, "bloggs.prj");
		snprintf(rows[ACCOUNTS + k].user, REQUEST_NAME_MAX, "u%d", k);
		results[ACCOUNTS + k].fairshare = (double)rank / USERS;
	}
	return 0;
}

static struct stand find_rank(int rank)
{
	struct stand s;

	stand_find(&view, (size_t)(ACCOUNTS + USERS - rank), &s);
	return s;
}

static void the_published_ranks_are_places(void **state)
{
	struct stand s = find_rank(6516);

	(void)state;
	assert_true(fabs(s.fairshare - 0.765597) < 5e-7);
	assert_int_equal(s.users, 8511);
	assert_int_equal(s.place, 8511 - 6516 + 1);
	assert_int_equal(s.tied, 5);
	s = find_rank(6509);
	assert_true(fabs(s.fairshare - 0.764892) < 5e-7);
	assert_int_equal(s.place, 8511 - 6510 + 1);
	assert_int_equal(s.tied, 1);
	s = find_rank(6508);
	assert_true(fabs(s.fairshare - 0.764658) < 5e-7);
	assert_int_equal(s.place, 8511 - 6508 + 1);
	assert_int_equal(s.tied, 0);
	assert_int_equal(find_rank(8511).place, 1);
	assert_string_equal(s.level_account, "bloggs.prj");
}

static void the_sentence_says_what_the_place_means(void **state)
{
	struct config c = { .policy.weight_fairshare = 100000000 };
	char buf[STAND_WORDS_MAX];
	struct stand s = find_rank(6516);

	(void)state;
	assert_string_equal(
		stand_words(&s, &c, NULL, buf),
		"Place 1996 of 8511 users, with 5 others: where fairshare decides, jobs of 1995 "
		"users start before yours. It adds 76559746 of at most 100000000 to the priority "
		"of your jobs. Account bloggs.prj has used more than its share (level fairshare "
		"0.500): its jobs start later.");
	s.place = 1;
	assert_non_null(
		strstr(stand_words(&s, &c, NULL, buf), "no user's jobs start before yours"));
	s.place = 1996;
	s.level_fs = INFINITY;
	s.tied = 1;
	c.policy.weight_fairshare = 0;
	assert_string_equal(
		stand_words(&s, &c, NULL, buf),
		"Place 1996 of 8511 users, with 1 other. Fairshare orders no jobs here: "
		"PriorityWeightFairshare is 0. Account bloggs.prj has used nothing that still "
		"counts.");
}

static void under_a_shuffle_no_job_is_said_to_start_later(void **state)
{
	const struct config c = { .policy = { .scheduler = CONFIG_SCHEDULER_SUSPEND,
					      .weight_fairshare = 1000 } };
	char buf[STAND_WORDS_MAX];
	struct stand s = find_rank(6516);

	(void)state;
	assert_string_equal(
		stand_words(&s, &c, NULL, buf),
		"Place 1996 of 8511 users, with 5 others. Fairshare orders no jobs here: queues are "
		"shuffled, and users and accounts with few cores come first. Account bloggs.prj has "
		"used more than its share (level fairshare 0.500).");
}

static void the_legend_is_that_of_the_algorithm(void **state)
{
	struct config c = { .policy = { .fairshare = CONFIG_FAIR_TREE,
					.weight_fairshare = 1 } };
	char buf[STAND_LEGEND_MAX];

	(void)state;
	stand_legend(&c, CONFIG_FAIR_TREE, buf);
	assert_non_null(strstr(
		buf, "FairShare is a place among all users, rank / users, and no score"));
	assert_non_null(
		strstr(buf, "LevelFS compares a row with the others of its level: above 1"));
	assert_non_null(strstr(buf, "the largest FairShare start first."));
	stand_legend(&c, CONFIG_FAIR_CLASSIC, buf);
	assert_non_null(strstr(buf, "0.5 exactly the share, 0.25 twice the share"));
	assert_non_null(strstr(buf, "these scores order nothing"));
	c.policy.fairshare = CONFIG_FAIR_CLASSIC;
	assert_null(strstr(stand_legend(&c, CONFIG_FAIR_CLASSIC, buf), "order nothing"));
	c.policy.weight_fairshare = 0;
	assert_non_null(strstr(stand_legend(&c, CONFIG_FAIR_CLASSIC, buf),
			       "Fairshare orders no jobs here"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_ranks_are_places),
		cmocka_unit_test(the_sentence_says_what_the_place_means),
		cmocka_unit_test(under_a_shuffle_no_job_is_said_to_start_later),
		cmocka_unit_test(the_legend_is_that_of_the_algorithm),
	};

	return cmocka_run_group_tests(tests, fill_view, NULL);
}
