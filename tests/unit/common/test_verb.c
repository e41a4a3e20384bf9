/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_verb - a verb table parses, refuses with the remedy, and says what it can do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/verb/verb.h"

static const struct verb_option common[] = {
	{ "json", 0, NULL, "JSON", NULL },
	{ "columns", 'o', "LIST", "columns", NULL },
	{ "output", 0, "FORM", "form", "table json" },
	{ "help", 'h', NULL, "help", NULL },
	{ 0 },
};
static const struct verb_option send_options[] = {
	{ "resources", 'l', "LIST", "what it needs", NULL },
	{ "output", 'o', "FILE", "a file", NULL }, /* hides both common ones */
	{ "quiet", 'q', NULL, "say nothing", NULL },
	{ "within", 'w', "[=SECONDS]", "not later", NULL },
	{ 0 },
};

static int ran;
static char seen[256];

static int record_call(const struct verb_call *call, void *ctx, struct err *err)
{
	(void)err;
	ran++;
	snprintf(seen, sizeof(seen), "%s:", call->verb->name);
	for (int i = 0; i < call->n_args; i++)
		strcat(strcat(seen, " "), call->args[i]);
	if (call->dashes)
		strcat(seen, " --");
	return *(int *)ctx;
}

static const struct verb send = { "send",	 "FILE [ARG]...", "Send it", "More.",
				  "tool send x", send_options,	  1,	     -1,
				  true,		 record_call };
static const struct verb list = { "list", "[ID]", "List them", NULL,  NULL,
				  NULL,	  0,	  1,	       false, record_call };
static const struct verb *const verbs[] = { &send, &list, NULL };
static const struct verb_tool tool = { "tool", "Does things", NULL, "Exit: 0.", verbs, common };

#define WORDS(...)                                                                             \
	(const char *[])                                                                       \
	{                                                                                      \
		__VA_ARGS__, NULL                                                              \
	}
#define ARGV(...)                                                                              \
	((struct verb_argv){ (char **)(void *)WORDS(__VA_ARGS__),                              \
			     (int)(sizeof(WORDS(__VA_ARGS__)) / sizeof(char *)) - 1 })

static int run_tool(struct verb_argv typed, struct err *err)
{
	int zero = 0;

	ran = 0;
	err->text[0] = '\0';
	return verb_main(&tool, typed, &zero, NULL, err);
}

static void expect_refusal(struct verb_argv typed, const char *expected)
{
	struct err err;

	assert_int_equal(run_tool(typed, &err), -EINVAL);
	assert_int_equal(ran, 0);
	if (!strstr(err.text, expected))
		fail_msg("'%s' lacks '%s'", err.text, expected);
}

static void arguments_and_options_reach_the_verb(void **state)
{
	struct verb_call call;
	struct err err;

	(void)state;
	assert_int_equal(verb_parse(&send, common,
				    ARGV("send", "-la=1", "-q", "--output=f", "-l", "b=2",
					 "--json", "x", "-q", "--", "y"),
				    &call, &err),
			 0);
	assert_int_equal(call.n_given, 5);
	assert_string_equal(call.given[0].value, "a=1");
	assert_string_equal(verb_value(&call, "resources"), "b=2");
	assert_string_equal(verb_value(&call, "output"), "f");
	assert_ptr_equal(call.given[2].option, &send_options[1]);
	assert_int_equal(verb_count(&call, "resources"), 2);
	assert_int_equal(verb_count(&call, "quiet"), 1);
	assert_int_equal(verb_count(&call, "columns"), 0);
	assert_null(verb_value(&call, "columns"));
	assert_int_equal(call.n_args, 4); /* x -q -- y: the first argument ends the options */
	assert_string_equal(call.args[1], "-q");
	assert_false(call.dashes);
	verb_done(&call);
}

static void an_argument_in_brackets_may_be_left_out(void **state)
{
	struct verb_call call;
	struct err err;

	(void)state;
	assert_int_equal(
		verb_parse(&send, common, ARGV("send", "--within=5", "-w", "x"), &call, &err),
		0);
	assert_int_equal(call.n_given, 2);
	assert_string_equal(call.given[0].value, "5");
	assert_null(call.given[1].value);
	assert_int_equal(call.n_args, 1); /* not the value of -w */
	verb_done(&call);
	assert_int_equal(
		verb_parse(&send, common, ARGV("send", "-w7", "--within", "x"), &call, &err),
		0);
	assert_string_equal(call.given[0].value, "7");
	assert_null(call.given[1].value);
	verb_done(&call);
}

static void a_hidden_letter_leaves_the_long_name(void **state)
{
	struct verb_call call;
	struct err err;

	(void)state;
	assert_int_equal(verb_parse(&send, common,
				    ARGV("send", "-o", "f", "--columns", "c", "x"), &call,
				    &err),
			 0);
	assert_string_equal(verb_value(&call, "output"), "f");
	assert_string_equal(verb_value(&call, "columns"), "c");
	verb_done(&call);
}

static void dashes_are_seen_only_where_they_stand_alone(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(run_tool(ARGV("tool", "send", "--", "-q", "y"), &err), 0);
	assert_string_equal(seen, "send: -q y --");
	assert_int_equal(run_tool(ARGV("tool", "send", "-l", "--", "y"), &err), 0);
	assert_string_equal(seen, "send: y");
}

static void options_may_follow_arguments_where_nothing_is_run(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(run_tool(ARGV("tool", "list", "7", "--json"), &err), 0);
	assert_string_equal(seen, "list: 7");
}

static void every_mistake_is_refused_with_the_remedy(void **state)
{
	(void)state;
	expect_refusal(ARGV("tool"), "'tool help' lists them");
	expect_refusal(ARGV("tool", "sned"), "did you mean 'tool send'?");
	expect_refusal(ARGV("tool", "xyzzyplugh"), "'tool help' lists them");
	expect_refusal(ARGV("tool", "list", "--jsn"), "did you mean --json?");
	expect_refusal(ARGV("tool", "list", "--json=1"), "--json takes no value");
	expect_refusal(ARGV("tool", "send", "--time=1:00:00", "x"),
		       "unknown option --time; here it is -l walltime=H:MM:SS (--resources)");
	expect_refusal(ARGV("tool", "list", "--time=1:00:00"), "unknown option --time (see");
	expect_refusal(ARGV("tool", "list", "-z"), "unknown option -z (see");
	expect_refusal(ARGV("tool", "list", "-5"),
		       "unknown option -5; write -- before a negative number");
	expect_refusal(ARGV("tool", "list", "-o"), "-o (--columns) needs a value: -o LIST");
	expect_refusal(ARGV("tool", "list", "--output"),
		       "--output needs a value: --output FORM");
	expect_refusal(ARGV("tool", "list", "1", "2"), "unexpected argument '2'");
	expect_refusal(ARGV("tool", "send"),
		       "an argument is missing; write: send FILE [ARG]...");
	expect_refusal(ARGV("tool", "list", "-\033"), "unknown option -?");
}

static void the_result_of_the_verb_is_the_result_of_the_program(void **state)
{
	const struct verb *v = NULL;
	struct err err = { "" };
	int result = -ENOENT;

	(void)state;
	assert_int_equal(verb_main(&tool, ARGV("tool", "list"), &result, &v, &err), -ENOENT);
	assert_ptr_equal(v, &list);
}

static char *text_of(void (*fn)(const struct verb_tool *, const struct verb *, FILE *),
		     const struct verb *v)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fn(&tool, v, f);
	fclose(f);
	return text;
}

static void help_shows_all_and_hides_what_is_hidden(void **state)
{
	char *all = text_of(verb_help, NULL), *one = text_of(verb_help, &send);

	(void)state;
	assert_non_null(strstr(all, "  send       Send it\n"));
	assert_non_null(strstr(all, "  list       List them\n"));
	assert_non_null(strstr(one, "Usage: tool send [OPTION]... FILE [ARG]...\n"));
	assert_non_null(strstr(one, "  -o, --output FILE "));
	assert_non_null(strstr(one, "  -w, --within[=SECONDS] "));
	assert_non_null(strstr(one, "      --columns LIST"));
	assert_null(strstr(one, "--output FORM"));
	assert_non_null(strstr(one, "Examples:\n  tool send x\n"));
	assert_non_null(strstr(one, "Exit: 0."));
	free(all);
	free(one);
}

/* As the daemons are: one table is both the verb's and the common one. */
static void help_of_a_tool_of_one_verb_lists_each_option_once(void **state)
{
	static const struct verb_option options[] = { { "check", 0, NULL, "check it", NULL },
						      { 0 } };
	static const struct verb only = { .name = "one", .help = "Do it", .options = options };
	static const struct verb *const only_one[] = { &only, NULL };
	static const struct verb_tool one = { .name = "one",
					      .verbs = only_one,
					      .common = options };
	char text[512] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	(void)state;
	verb_help(&one, &only, f);
	fclose(f);
	assert_non_null(strstr(text, "Options:\n      --check"));
	assert_null(strstr(text, "Options of every command"));
}

static void completion_knows_every_word(void **state)
{
	char *all = text_of(verb_words, NULL), *one = text_of(verb_words, &list);

	(void)state;
	assert_string_equal(all, "send\nlist\n");
	assert_string_equal(one, "--json\n-o=\n--columns=\n--output=table json\n-h\n--help\n");
	free(all);
	free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_and_options_reach_the_verb),
		cmocka_unit_test(an_argument_in_brackets_may_be_left_out),
		cmocka_unit_test(a_hidden_letter_leaves_the_long_name),
		cmocka_unit_test(dashes_are_seen_only_where_they_stand_alone),
		cmocka_unit_test(options_may_follow_arguments_where_nothing_is_run),
		cmocka_unit_test(every_mistake_is_refused_with_the_remedy),
		cmocka_unit_test(the_result_of_the_verb_is_the_result_of_the_program),
		cmocka_unit_test(help_shows_all_and_hides_what_is_hidden),
		cmocka_unit_test(help_of_a_tool_of_one_verb_lists_each_option_once),
		cmocka_unit_test(completion_knows_every_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
