/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_config_reload - a configuration that is read again: every key that changed is listed, and what may change while the
 * controller runs is in force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/conf/change.h"
#include "common/err.h"
#include "controller/config/config.h"

static struct config *parse_config(const char *text)
{
	struct config *c = NULL;
	struct err err = { "" };

	if (config_parse(text, strlen(text), &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

struct lines {
	char text[8192];
};

static void add_line(void *ctx, const struct conf_change *c)
{
	struct lines *l = ctx;
	char text[CONF_CHANGE_TEXT_MAX];
	size_t n = strlen(l->text);

	snprintf(l->text + n, sizeof(l->text) - n, "%s\n", conf_change_format(c, text));
}

static struct conf_tally reload_text(struct config *now, const char *text, struct lines *ret)
{
	_cleanup_(config_freep) struct config *fresh = parse_config(text);
	struct conf_changes to = { .tell = add_line, .ctx = ret };

	ret->text[0] = '\0';
	config_reload(now, fresh, &to);
	return to.tally;
}

static void limits_weights_and_lists_count_at_once(void **state)
{
	_cleanup_(config_freep) struct config *c =
		parse_config("[Controller]\nOperators = root\n");
	struct lines said;

	(void)state;
	reload_text(c,
		    "[Controller]\nOperators = root,ann\nMaxQueuedPerUser = 5\n"
		    "[Policy]\nPriorityWeightAge = 10\n[Cluster main]\nBundleMemory = 8GB\n",
		    &said);
	assert_string_equal(said.text, "[Controller] Operators: root -> root,ann\n"
				       "[Controller] MaxQueuedPerUser: 100000 -> 5\n"
				       "[Policy] PriorityWeightAge: 0 -> 10\n"
				       "[Cluster main] BundleMemory: not set -> 8GB\n");
	assert_true(config_is_operator(c, "ann"));
	assert_int_equal(c->max_queued_per_user, 5);
	assert_int_equal(c->policy.weight_age, 10);
	assert_int_equal(
		config_cluster(c, "main")->bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY].num,
		INT64_C(8000000000));
}

static void what_needs_a_restart_stays_until_then_and_is_listed_again(void **state)
{
	static const char fresh[] = "[Controller]\nListen = 127.0.0.1:1\nNodeLost = 3:00\n"
				    "[Policy]\nAllocationYearStart = 10-02\n"
				    "[Cluster main]\nEngine = slurm\n";
	_cleanup_(config_freep) struct config *c = parse_config("[Cluster main]\n");
	const char *listen = c->listen;
	struct conf_tally t;
	struct lines said;

	(void)state;
	t = reload_text(c, fresh, &said);
	assert_int_equal(t.keys, 4);
	assert_int_equal(t.restart, 3);
	assert_ptr_equal(c->listen, listen); /* modules may have it */
	assert_int_equal(c->node_lost_s, 180);
	assert_int_equal(c->policy.year_start_month, 4);
	assert_int_equal(c->policy.year_start_day, 1);
	assert_int_equal(config_cluster(c, "")->engine, 0);
	t = reload_text(c, fresh, &said);
	assert_int_equal(t.keys, 3);
	assert_int_equal(t.restart, 3);
	assert_non_null(strstr(
		said.text,
		"[Policy] AllocationYearStart: not set -> 10-02; takes effect at the next restart\n"));
	t = reload_text(c, "[Cluster main]\n", &said);
	assert_int_equal(t.keys, 1); /* NodeLost: what needs a restart was never in force */
}

static void sections_come_and_go(void **state)
{
	_cleanup_(config_freep) struct config *c = parse_config(
		"[Cluster a]\nQueues = normal,slow\n[Queue slow]\n[Node n1]\n[Node n2]\n");
	struct conf_tally t;
	struct lines said;

	(void)state;
	t = reload_text(
		c,
		"[Cluster b]\n[Cluster a]\nQueues = normal\n[Node n2]\nAddress = 10.0.0.2\n[Node n3]\n",
		&said);
	assert_string_equal(said.text, "[Cluster b] added\n"
				       "[Cluster a] Queues: normal,slow -> normal\n"
				       "[Queue slow] removed\n"
				       "[Node n2] Address: not set -> 10.0.0.2\n"
				       "[Node n3] added\n"
				       "[Node n1] removed\n"
				       "[Cluster] first: a -> b\n");
	assert_int_equal(t.keys, 2);
	assert_int_equal(t.sections, 5);
	assert_null(config_node(c, "n1"));
	assert_string_equal(config_node(c, "n2")->address, "10.0.0.2");
	assert_non_null(config_node(c, "n3"));
	assert_string_equal(config_cluster(c, "")->name, "b");
}

/* A file that states only this key, as its example has it. */
static void state_example(const struct conf_key *k, char *buf, size_t size)
{
	bool is_node_type = !strcmp(k->section, "NodeType");
	bool is_plain = !strcmp(k->section, "Controller") || !strcmp(k->section, "Policy") ||
			!strcmp(k->section, "Hooks");

	snprintf(
		buf, size,
		"[Cluster main]\nQueues = normal\nCoresPerNode = 1\n[Queue normal]\n[Qos normal]\n[%s%s]\n%s = %s\n",
		k->section,
		is_plain							? ""
		: is_node_type							? " main/x"
		: !strcmp(k->section, "Cluster") || !strcmp(k->section, "Node") ? " main"
										: " normal",
		k->key, k->example);
}

/* With the object that the key is of, so that one value alone differs. */
static void every_key_is_listed_if_it_differs_and_not_again_once_it_counts(void **state)
{
	int n = 0, n_live = 0, n_restart = 0;

	(void)state;
	for (const struct conf_key *k = config_all_keys(); k->key; k++) {
		_cleanup_(config_freep) struct config *now = NULL, *fresh = NULL, *again = NULL;
		struct conf_changes to = { 0 };
		char with[1024], without[1024];
		struct err err = { "" };

		state_example(k, with, sizeof(with));
		strcpy(without, with);
		without[strlen(without) - strlen(k->key) - strlen(k->example) - 4] = '\0';
		if (!strcmp(k->key, "Queues") || !strcmp(k->key, "CoresPerNode") ||
		    config_parse(with, strlen(with), &fresh, &err) < 0)
			continue; /* files of other machines; keys that need another */
		n++;
		now = parse_config(without);
		again = parse_config(with);
		config_reload(now, fresh, &to);
		if (!to.tally.keys)
			continue; /* the example is the default */
		if (to.tally.keys != 1 || to.tally.sections)
			fail_msg("%s of [%s]: %d changes", k->key, k->section, to.tally.keys);
		assert_int_equal(to.tally.restart, k->reload == CONF_RESTART);
		to.tally = (struct conf_tally){ 0 };
		config_reload(now, again, &to);
		if (to.tally.keys != (k->reload == CONF_RESTART))
			fail_msg("%s of [%s] is listed twice or not", k->key, k->section);
		n_live += k->reload == CONF_LIVE;
		n_restart += k->reload == CONF_RESTART;
	}
	assert_true(n > 70);
	assert_true(n_live >= 45);
	assert_true(n_restart >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_weights_and_lists_count_at_once),
		cmocka_unit_test(what_needs_a_restart_stays_until_then_and_is_listed_again),
		cmocka_unit_test(sections_come_and_go),
		cmocka_unit_test(
			every_key_is_listed_if_it_differs_and_not_again_once_it_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
