/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_conf - every mistake in a configuration file is named with file, line and remedy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/conf/conf.h"
#include "common/err.h"
#include "common/model/request.h"

struct node {
	char name[64];
	int64_t cores;
	char *address;
};

struct site {
	char *listen;
	char user[REQUEST_NAME_MAX];
	bool verbose;
	int64_t count, memory, grace;
	struct resources res;
	int mode;
	struct node nodes[4];
	int n_nodes;
};

static const char *const modes[] = { "slow", "fast", NULL };
#define S(f) offsetof(struct site, f)
#define N(f) offsetof(struct node, f)
static const struct conf_key keys[] = {
	{ "Main", "Listen", CONF_TEXT, S(listen), 0, 0, NULL, "", "0.0.0.0:1", CONF_RESTART },
	{ "Main", "User", CONF_NAME, S(user), 0, 0, NULL, "", "alice", CONF_RESTART },
	{ "Main", "Verbose", CONF_BOOL, S(verbose), 0, 0, NULL, "", "yes", CONF_RESTART },
	{ "Main", "Count", CONF_COUNT, S(count), 1, 10, NULL, "", "3", CONF_RESTART },
	{ "Main", "Memory", CONF_BYTES, S(memory), 0, 1000000, NULL, "", "1MB", CONF_RESTART },
	{ "Main", "Grace", CONF_SECONDS, S(grace), 0, 0, NULL, "", "30s", CONF_RESTART },
	{ "Main", "Defaults", CONF_RESOURCES, S(res), 0, 0, NULL, "", "ncpus=1", CONF_RESTART },
	{ "Main", "Mode", CONF_ENUM, S(mode), 0, 0, modes, "", "fast", CONF_RESTART },
	{ "Node", "Cores", CONF_COUNT, N(cores), 0, 0, NULL, "", "8", CONF_RESTART },
	{ "Node", "Address", CONF_TEXT, N(address), 0, 0, NULL, "", "10.0.0.1", CONF_RESTART },
	{ NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, CONF_RESTART },
};

static int add_node(void *target, const char *x, void **ret, struct err *err)
{
	struct site *s = target;

	for (int i = 0; i < s->n_nodes; i++)
		if (!strcmp(s->nodes[i].name, x))
			return err_set(err, -EINVAL, "is there twice");
	if (s->n_nodes == 4)
		return err_set(err, -EINVAL, "too many");
	snprintf(s->nodes[s->n_nodes].name, sizeof(s->nodes[0].name), "%s", x);
	*ret = &s->nodes[s->n_nodes++];
	return 0;
}

static const struct conf_section sections[] = { { "Node", add_node }, { NULL, NULL } };

static int parse_site(const char *text, size_t size, struct site *s, struct err *err)
{
	memset(s, 0, sizeof(*s));
	err->text[0] = '\0';
	return conf_parse(text, size, "f.conf", keys, sections, s, err);
}

static void free_site(struct site *s)
{
	conf_done(keys, "Main", s);
	for (int i = 0; i < s->n_nodes; i++)
		conf_done(keys, "Node", &s->nodes[i]);
}

static void expect_good(const char *text, struct site *s)
{
	struct err err;

	if (parse_site(text, strlen(text), s, &err) < 0)
		fail_msg("%s: %s", text, err.text);
}

/* The text is refused and the words hold `expected`. */
static void bad_sized(const char *text, size_t size, const char *expected)
{
	struct err err;
	struct site s;

	assert_int_equal(parse_site(text, size, &s, &err), -EINVAL);
	if (!strstr(err.text, expected))
		fail_msg("'%s' lacks '%s'", err.text, expected);
	free_site(&s);
}

static void expect_bad(const char *text, const char *expected)
{
	bad_sized(text, strlen(text), expected);
}

static void every_type_is_read(void **state)
{
	struct site s;

	(void)state;
	expect_good(
		"# head\n; other\n\n[Main]\n  Listen = a:1 # not a comment "
		"\nUser=bob\nVerbose=on\n"
		"Count=10\nMemory=1MB\nGrace=0:10:00\nDefaults=ncpus=2,vmem=1GB\nMode=FAST\n"
		"[Node n1]\nCores=8\nAddress=x\n[Node n2]\nCores=9",
		&s);
	assert_string_equal(s.listen, "a:1 # not a comment");
	assert_string_equal(s.user, "bob");
	assert_true(s.verbose);
	assert_int_equal(s.count, 10);
	assert_int_equal(s.memory, 1000000);
	assert_int_equal(s.grace, 600);
	assert_int_equal(s.res.ncpus, 2);
	assert_int_equal(s.res.vmem_bytes, 1000000000);
	assert_int_equal(s.mode, 1);
	assert_int_equal(s.n_nodes, 2);
	assert_string_equal(s.nodes[0].name, "n1");
	assert_int_equal(s.nodes[0].cores, 8);
	assert_string_equal(s.nodes[0].address, "x");
	assert_int_equal(s.nodes[1].cores, 9);
	free_site(&s);
}

static void lines_continue_across_comments(void **state)
{
	struct site s;

	(void)state;
	expect_good("[Main]\nListen=a \\\n# between\\\n  b\\\nc\nCount=2\n", &s);
	assert_string_equal(s.listen, "a    b c");
	assert_int_equal(s.count, 2);
	free_site(&s);
	expect_good("# a comment does not continue \\\n[Main]\nCount=3\n", &s);
	assert_int_equal(s.count, 3);
	expect_bad("[Main]\nListen=a\\\n", "line 2: ends in a backslash, but no line follows");
}

static void every_mistake_is_named(void **state)
{
	(void)state;
	expect_bad("[Main]\nLissten=1\n",
		   "f.conf, line 2: unknown key 'Lissten' in [Main]; did you "
		   "mean 'Listen'?");
	expect_bad("[Main]\nqqqqqqqq=1\n", "known are: Listen, User");
	expect_bad("[Main]\nlisten=1\n", "did you mean 'Listen'?"); /* names are exact */
	expect_bad("[Mainn]\n", "unknown section [Mainn]; did you mean [Main]?");
	expect_bad("[zzzzzzz]\n", "known are: [Main], [Node NAME]");
	expect_bad("[Main\n", "lacks the closing ]");
	expect_bad("[]\n", "unknown section []");
	expect_bad("[Main x]\n", "takes no name");
	expect_bad("[Node]\n", "needs a name");
	expect_bad("[Node a]\n[Node a]\n", "line 2: [Node a]: is there twice");
	expect_bad("Count=1\n", "stands before any [Section]");
	expect_bad("[Main]\nwords\n", "'words' is neither");
	expect_bad("[Main]\nCount=\n", "Count has no value");
	expect_bad("[Main]\nCount=1\n[Main]\nCount=2\n",
		   "line 4: Count is already set on line 2");
	expect_bad("[Node a]\nCores=1\nCores=1\n", "line 3: Cores is already set on line 2");
}

static void every_bad_value_names_the_remedy(void **state)
{
	(void)state;
	expect_bad("[Main]\nCount=0\n", "Count = 0: out of range: it must be from 1 to 10; for "
					"example: Count = 3");
	expect_bad("[Main]\nCount=11\n", "from 1 to 10");
	expect_bad("[Main]\nCount=-1\n", "Count = -1: ");
	expect_bad("[Main]\nCount=99999999999999999999\n", "line 2: Count = 9999");
	expect_bad("[Main]\nMemory=2MB\n", "from 0B to 1MB");
	expect_bad("[Main]\nMemory=1 GBs\n", "Memory = 1 GBs");
	expect_bad("[Main]\nGrace=1:99\n", "Grace = 1:99");
	expect_bad("[Main]\nVerbose=maybe\n", "yes or no");
	expect_bad("[Main]\nMode=medium\n", "one of: slow, fast");
	expect_bad("[Main]\nUser=a b\n", "a name is");
	expect_bad("[Main]\nDefaults=cpus=1\n", "unknown resource 'cpus'");
}

static void bytes_that_are_no_text_are_refused(void **state)
{
	static const char nul[] = "[Main]\nUser=a\0b\n";

	(void)state;
	expect_bad("[Main]\r\nCount=1\r\n", "line 1: a carriage return");
	expect_bad("[Main]\nListen=a\rb\n", "line 2: a carriage return");
	bad_sized(nul, sizeof(nul) - 1, "line 2: a NUL byte");
	expect_bad("[Main]\nCo\033[31m=1\n", "'Co?[31m'"); /* messages are fit for a terminal */
}

static void lines_may_have_the_documented_length_and_no_more(void **state)
{
	static char text[2 * CONF_LINE_MAX];
	struct site s;
	size_t n = (size_t)sprintf(text, "[Main]\nListen=");

	(void)state;
	memset(text + n, 'x', CONF_LINE_MAX - 7);
	expect_good(text, &s);
	assert_int_equal(strlen(s.listen), CONF_LINE_MAX - 7);
	free_site(&s);
	memset(text + n, 'x', CONF_LINE_MAX - 6);
	expect_bad(text, "longer than 65536 bytes");
	/* also by continuation, whose line end does not count */
	memset(text + n, 'x', CONF_LINE_MAX - 5);
	text[n + 1000] = '\\';
	text[n + 1001] = '\n';
	expect_bad(text, "line 2: longer than 65536 bytes");
}

static void put_file(const char *dir, const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void drop_ins_come_in_name_order_and_win(void **state)
{
	char dir[] = "/tmp/reeve-conf-XXXXXX", path[512], cmd[512];
	struct site s = { 0 };
	struct err err = { "" };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.conf.d", dir);
	put_file(dir, "a.conf", "[Main]\nCount=1\nListen=first\n[Node n]\nCores=1\n");
	assert_int_equal(mkdir(path, 0700), 0);
	put_file(path, "20-b.conf", "[Main]\nCount=3\n");
	put_file(path, "10-a.conf", "[Main]\nCount=2\nListen=second\n");
	put_file(path, "30.conf~", "nonsense\n");
	put_file(path, ".hidden.conf", "nonsense\n");
	snprintf(path, sizeof(path), "%s/a.conf", dir);
	if (conf_load(path, keys, sections, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s.count, 3);
	assert_string_equal(s.listen, "second");
	free_site(&s);
	snprintf(path, sizeof(path), "%s/none.conf", dir);
	assert_int_equal(conf_load(path, keys, sections, &s, &err), -ENOENT);
	assert_non_null(strstr(err.text, "none.conf: No such file"));
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
}

struct told {
	char text[2048];
	int n;
};

static void on_fault(void *ctx, const struct conf_fault *fault)
{
	struct told *t = ctx;
	size_t n = strlen(t->text);

	t->n++;
	snprintf(t->text + n, sizeof(t->text) - n, "%s\n", fault->text);
	assert_string_equal(fault->file, "f.conf");
	assert_true(fault->line > 0);
}

static int refuse_bob(void *target, const struct conf_place *place, struct err *err)
{
	(void)target;
	if (place->key && !strcmp(place->value, "bob"))
		return err_set(err, -EINVAL, "bob is away");
	return 0;
}

static void every_fault_of_a_file_is_reported_and_correct_keys_are_set(void **state)
{
	static const char text[] = "Count = 1\n"
				   "[Main]\n"
				   "Count = 99\n"
				   "User = bob\n"
				   "[Nowhere]\n"
				   "Count = 1\n"
				   "[Node a]\n"
				   "Cores = x\n"
				   "[Node a]\n"
				   "Cores = y\n"
				   "[Main]\n"
				   "Grace = 7s\n";
	struct site s = { 0 };
	struct told t = { "", 0 };
	struct err err = { "" };
	const struct conf_reader how = { keys, sections, &s, refuse_bob, on_fault, &t };

	(void)state;
	assert_int_equal(conf_read_text(text, strlen(text), "f.conf", &how, &err), 0);
	assert_int_equal(t.n, 6);
	assert_non_null(strstr(t.text, "f.conf, line 1: 'Count' stands before any [Section]"));
	assert_non_null(strstr(t.text, "f.conf, line 3: Count = 99: out of range"));
	assert_non_null(strstr(t.text, "f.conf, line 4: bob is away"));
	assert_non_null(strstr(t.text, "f.conf, line 5: unknown section [Nowhere]"));
	assert_non_null(strstr(t.text, "f.conf, line 8: Cores = x"));
	assert_non_null(strstr(t.text, "f.conf, line 9: [Node a]: is there twice"));
	assert_int_equal(s.grace, 7);
	free_site(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_read),
		cmocka_unit_test(lines_continue_across_comments),
		cmocka_unit_test(every_mistake_is_named),
		cmocka_unit_test(every_bad_value_names_the_remedy),
		cmocka_unit_test(bytes_that_are_no_text_are_refused),
		cmocka_unit_test(lines_may_have_the_documented_length_and_no_more),
		cmocka_unit_test(drop_ins_come_in_name_order_and_win),
		cmocka_unit_test(every_fault_of_a_file_is_reported_and_correct_keys_are_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
