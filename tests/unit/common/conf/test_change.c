/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_change - two configurations are compared key by key, and only what may change at once is taken over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/conf/change.h"
#include "common/err.h"
#include "common/model/request.h"

struct site {
	char *listen, *motto;
	char user[REQUEST_NAME_MAX];
	bool verbose;
	int64_t count, memory, grace;
	struct resources res;
	int mode;
};

static const char *const modes[] = { "slow", "fast", NULL };
#define S(f) offsetof(struct site, f)
static const struct conf_key keys[] = {
	{ "Main", "Listen", CONF_TEXT, S(listen), 0, 0, NULL, "", "", CONF_RESTART },
	{ "Main", "Motto", CONF_TEXT, S(motto), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "User", CONF_NAME, S(user), 0, 0, NULL, "", "", CONF_RESTART },
	{ "Main", "Verbose", CONF_BOOL, S(verbose), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "Count", CONF_COUNT, S(count), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "Memory", CONF_BYTES, S(memory), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "Grace", CONF_SECONDS, S(grace), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "Defaults", CONF_RESOURCES, S(res), 0, 0, NULL, "", "", CONF_LIVE },
	{ "Main", "Mode", CONF_ENUM, S(mode), 0, 0, modes, "", "", CONF_RESTART },
	{ 0 },
};

/* The lines of all changes, one below the other. */
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

static struct site parse_site(const char *text)
{
	struct site s = { 0 };
	struct err err = { "" };

	if (conf_parse(text, strlen(text), "f", keys, NULL, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

static struct conf_tally compare_sites(struct site *a, struct site *b, const char *name,
				       struct lines *ret)
{
	struct conf_changes to = { .tell = add_line, .ctx = ret };

	ret->text[0] = '\0';
	conf_compare(keys, &(struct conf_pair){ "Main", name, a, b }, &to);
	return to.tally;
}

static void assert_lines(const char *was, const char *is, const char *lines)
{
	struct site a = parse_site(was), b = parse_site(is);
	struct lines said;

	compare_sites(&a, &b, "", &said);
	assert_string_equal(said.text, lines);
	conf_done(keys, "Main", &a);
	conf_done(keys, "Main", &b);
}

static void each_type_is_compared_and_told_as_a_file_states_it(void **state)
{
	(void)state;
	assert_lines("[Main]\nMotto = a\n", "[Main]\nMotto = b c\n",
		     "[Main] Motto: a -> b c\n");
	assert_lines("[Main]\n", "[Main]\nMotto = b\n", "[Main] Motto: not set -> b\n");
	assert_lines("[Main]\nUser = ann\n", "[Main]\n",
		     "[Main] User: ann -> not set; takes effect at the next restart\n");
	assert_lines("[Main]\n", "[Main]\nVerbose = on\n", "[Main] Verbose: no -> yes\n");
	assert_lines("[Main]\nCount = 1\n", "[Main]\nCount = 12\n", "[Main] Count: 1 -> 12\n");
	assert_lines("[Main]\nMemory = 64MiB\n", "[Main]\nMemory = 1GB\n",
		     "[Main] Memory: 64MiB -> 1GB\n");
	assert_lines("[Main]\nGrace = 30s\n", "[Main]\nGrace = 2:00\n",
		     "[Main] Grace: 0:00:30 -> 0:02:00\n");
	assert_lines("[Main]\nDefaults = ncpus=1\n", "[Main]\nDefaults = ncpus=2,mem=1GB\n",
		     "[Main] Defaults: ncpus=1 -> ncpus=2,mem=1GB\n");
	assert_lines("[Main]\n", "[Main]\nMode = fast\n",
		     "[Main] Mode: slow -> fast; takes effect at the next restart\n");
}

static void the_same_values_written_otherwise_are_no_change(void **state)
{
	(void)state;
	assert_lines("[Main]\nVerbose = yes\nMemory = 1GB\nGrace = 60s\nMode = FAST\n",
		     "[Main]\nVerbose = 1\nMemory = 1000MB\nGrace = 1:00\nMode = fast\n", "");
}

static void long_texts_are_shown_where_they_differ(void **state)
{
	char was[4096] = "[Main]\nMotto = ", is[4096], *lines;
	struct site a, b;
	struct lines said;

	(void)state;
	for (int i = 0; i < 200; i++)
		sprintf(was + strlen(was), "user%03d,", i);
	strcpy(is, was);
	strcat(was, "last\n");
	strcat(is, "new,last\n");
	a = parse_site(was);
	b = parse_site(is);
	compare_sites(&a, &b, "", &said);
	lines = said.text;
	assert_string_equal(lines, "[Main] Motto: ...user197,user198,user199,last -> "
				   "...user197,user198,user199,new,last\n");
	conf_done(keys, "Main", &a);
	conf_done(keys, "Main", &b);
}

static void control_characters_do_not_reach_a_terminal(void **state)
{
	(void)state;
	assert_lines("[Main]\nMotto = a\n", "[Main]\nMotto = \033[31mred\n",
		     "[Main] Motto: a -> ?[31mred\n");
}

static void a_named_section_is_told_by_its_name(void **state)
{
	struct site a = parse_site("[Main]\n"), b = parse_site("[Main]\nCount = 1\n");
	struct lines said;

	(void)state;
	compare_sites(&a, &b, "express", &said);
	assert_string_equal(said.text, "[Main express] Count: 0 -> 1\n");
}

static void values_that_need_a_restart_stay_and_those_that_do_not_are_taken(void **state)
{
	struct site now =
		parse_site("[Main]\nListen = a\nMotto = m\nUser = u\nCount = 1\nMode = fast\n");
	struct site fresh = parse_site("[Main]\nListen = b\nMotto = n\nUser = v\nCount = 2\n");
	const struct conf_pair p = { "Main", "", &now, &fresh };
	struct lines said;
	struct conf_tally t = compare_sites(&now, &fresh, "", &said);

	(void)state;
	assert_int_equal(t.keys, 5);
	assert_int_equal(t.restart, 3);
	conf_swap_restart(keys, &p);
	assert_string_equal(fresh.listen, "a");
	assert_string_equal(fresh.user, "u");
	assert_int_equal(fresh.mode, 1);
	assert_string_equal(fresh.motto, "n");
	assert_int_equal(fresh.count, 2);
	conf_swap_restart(keys, &p);
	assert_string_equal(now.listen, "a");
	assert_string_equal(fresh.listen, "b");
	assert_int_equal(now.mode, 1);
	conf_done(keys, "Main", &now);
	conf_done(keys, "Main", &fresh);
}

static void assert_tally(struct conf_tally t, const char *words)
{
	char text[CONF_TALLY_TEXT_MAX];

	assert_string_equal(conf_tally_format(&t, text), words);
}

static void the_number_of_changes_is_a_sentence(void **state)
{
	(void)state;
	assert_tally((struct conf_tally){ 0, 0, 0 }, "nothing changed");
	assert_tally((struct conf_tally){ 1, 0, 0 }, "1 key changed");
	assert_tally((struct conf_tally){ 3, 0, 1 }, "3 keys changed, 1 needs a restart");
	assert_tally((struct conf_tally){ 3, 0, 2 }, "3 keys changed, 2 need a restart");
	assert_tally((struct conf_tally){ 0, 2, 0 }, "2 sections changed");
	assert_tally((struct conf_tally){ 1, 1, 1 },
		     "1 key and 1 section changed, 1 needs a restart");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_compared_and_told_as_a_file_states_it),
		cmocka_unit_test(the_same_values_written_otherwise_are_no_change),
		cmocka_unit_test(long_texts_are_shown_where_they_differ),
		cmocka_unit_test(control_characters_do_not_reach_a_terminal),
		cmocka_unit_test(a_named_section_is_told_by_its_name),
		cmocka_unit_test(
			values_that_need_a_restart_stay_and_those_that_do_not_are_taken),
		cmocka_unit_test(the_number_of_changes_is_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
