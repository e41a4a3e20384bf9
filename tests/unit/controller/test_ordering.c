/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ordering - what is said about priority under each scheduler, with and without weights, and on clusters of other engines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/config/ordering.h"

static struct config *parse_config(const char *text)
{
	struct config *c = NULL;
	struct err err = { "" };

	if (config_parse(text, strlen(text), &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void check_words(const char *text, const char *part)
{
	if (!text || !strstr(text, part))
		fail_msg("'%s' lacks '%s'", text ? text : "NULL", part);
}

static void without_weights_the_queue_is_that_of_submission(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config("[Policy]\nQuota = target\n");

	(void)state;
	assert_int_equal(config_ordering(c, "main"), CONFIG_ORDERING_SUBMISSION);
	check_words(config_ordering_queue(c), "in order of submission");
	check_words(config_ordering_unless(c), "an earlier job is released");
	check_words(config_ordering_overuse(c, "main"),
		    "start no later, since fairshare has no weight");
	check_words(config_ordering_without_usage(c, "main"), "PriorityWeightFairshare is 0");
	check_words(config_ordering_warning(c), "no weight is set: fairshare orders nothing");
}

static void with_weights_usage_lowers_the_priority(void **state)
{
	_cleanup_(config_freep) struct config *c =
		parse_config("[Policy]\nPriorityWeightFairshare = 1\n");
	_cleanup_(config_freep) struct config *never =
		parse_config("[Policy]\nPriorityWeightFairshare = 1\nUsageHalfLife = 0\n");
	_cleanup_(config_freep) struct config *reset = parse_config(
		"[Policy]\nPriorityWeightFairshare = 1\nUsageHalfLife = 0\nUsageReset = yearly\n");
	_cleanup_(config_freep) struct config *age =
		parse_config("[Policy]\nPriorityWeightAge = 1\n");

	(void)state;
	check_words(config_ordering_queue(c), "in order of priority");
	check_words(config_ordering_unless(c), "a higher-priority job arrives");
	assert_string_equal(config_ordering_overuse(c, "main"),
			    "priority is lower until usage has faded");
	assert_string_equal(config_ordering_overuse(never, "main"),
			    "priority is lower, and usage never fades");
	assert_string_equal(config_ordering_overuse(reset, "main"),
			    "priority is lower until usage is reset");
	assert_null(config_ordering_without_usage(c, "main"));
	assert_null(config_ordering_warning(c));
	check_words(config_ordering_queue(age), "in order of priority");
	check_words(config_ordering_overuse(age, "main"), "start no later");
	check_words(config_ordering_warning(age), "PriorityWeightFairshare is 0");
}

static void shuffled_queues_follow_neither_submission_nor_usage(void **state)
{
	_cleanup_(config_freep) struct config *c =
		parse_config("[Policy]\nScheduler = suspend\nPriorityWeightFairshare = 1000\n");

	(void)state;
	assert_int_equal(config_ordering(c, "main"), CONFIG_ORDERING_SHUFFLE);
	assert_null(strstr(config_ordering_queue(c), "order of"));
	check_words(config_ordering_queue(c), "shuffled");
	check_words(config_ordering_unless(c), "a higher queue");
	check_words(config_ordering_overuse(c, "main"),
		    "start no later, since queues are shuffled");
	check_words(config_ordering_without_usage(c, "main"), "queues are shuffled");
	assert_null(config_ordering_warning(c));
}

/* Windows and grants act without a weight. */
static void only_policies_that_rely_on_shares_are_warned_of(void **state)
{
	_cleanup_(config_freep) struct config *window =
		parse_config("[Policy]\nQuota = window\n");
	_cleanup_(config_freep) struct config *grant =
		parse_config("[Policy]\nQuota = grant\n");

	(void)state;
	assert_null(config_ordering_warning(window));
	assert_null(config_ordering_warning(grant));
}

static void other_batch_systems_order_their_own_jobs(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config(
		"[Policy]\nPriorityWeightFairshare = 1\n[Cluster main]\n[Cluster s]\nEngine = slurm\n"
		"[Cluster p]\nEngine = pbs\n");
	_cleanup_(config_freep) struct config *bare =
		parse_config("[Cluster s]\nEngine = slurm\n");

	(void)state;
	assert_true(config_orders_by_usage(c, "main"));
	assert_true(config_orders_by_usage(c, "s")); /* as Slurm's SiteFactor */
	assert_false(config_orders_by_usage(c, "p"));
	check_words(config_ordering_overuse(c, "p"), "batch system orders them");
	check_words(config_ordering_without_usage(bare, "s"), "batch system orders them");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_weights_the_queue_is_that_of_submission),
		cmocka_unit_test(with_weights_usage_lowers_the_priority),
		cmocka_unit_test(shuffled_queues_follow_neither_submission_nor_usage),
		cmocka_unit_test(only_policies_that_rely_on_shares_are_warned_of),
		cmocka_unit_test(other_batch_systems_order_their_own_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
