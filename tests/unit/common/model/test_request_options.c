/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_request_options - each option of a request sets its own field, and each bound of a request is at the edge that its header has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/request.h"

static void set_option(struct request *r, const char *key, const char *value)
{
	struct err err = { "" };

	assert_int_equal(request_set(r, key, value, &err), 0);
	assert_string_equal(err.text, "");
}

static void refuse_option(const char *key, const char *value, const char *says)
{
	_cleanup_(request_done) struct request r, fresh;
	struct err err = { "" };

	request_init(&r);
	request_init(&fresh);
	assert_int_equal(request_set(&r, key, value, &err), -EINVAL);
	if (!strstr(err.text, says))
		fail_msg("%s '%s' says: %s", key, value, err.text);
	assert_memory_equal(&r, &fresh, sizeof(r));
}

static void a_name_is_set_where_it_belongs(void **state)
{
	static const struct {
		const char *key;
		size_t offset;
	} keys[] = { { "name", offsetof(struct request, name) },
		     { "queue", offsetof(struct request, queue) },
		     { "account", offsetof(struct request, account) },
		     { "qos", offsetof(struct request, qos) },
		     { "cluster", offsetof(struct request, cluster) } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		_cleanup_(request_done) struct request r;
		char longest[REQUEST_NAME_MAX + 1];

		request_init(&r);
		set_option(&r, keys[i].key, "a.b_c+d-9");
		assert_string_equal((char *)&r + keys[i].offset, "a.b_c+d-9");
		memset(longest, 'x', sizeof(longest));
		longest[REQUEST_NAME_MAX] = '\0';
		refuse_option(keys[i].key, longest, "is not a name");
		longest[REQUEST_NAME_MAX - 1] = '\0';
		set_option(&r, keys[i].key, longest);
		assert_string_equal((char *)&r + keys[i].offset, longest);
		for (size_t k = 0; k < ARRAY_LEN(keys); k++)
			assert_true(k == i || !*((char *)&r + keys[k].offset));
		refuse_option(keys[i].key, "", keys[i].key);
		refuse_option(keys[i].key, "-x", "is not a name");
		refuse_option(keys[i].key, ".x", "is not a name");
		refuse_option(keys[i].key, "a b", "is not a name");
	}
}

static void a_path_replaces_the_one_before(void **state)
{
	_cleanup_(request_done) struct request r;
	char longest[4097];

	(void)state;
	request_init(&r);
	set_option(&r, "output", "/o1");
	set_option(&r, "output", "/o2");
	set_option(&r, "error", "/e");
	set_option(&r, "workdir", "/w");
	assert_string_equal(r.out_path, "/o2");
	assert_string_equal(r.err_path, "/e");
	assert_string_equal(r.workdir, "/w");
	refuse_option("output", "", "output needs a path");
	refuse_option("error", "", "error needs a path");
	memset(longest, 'x', sizeof(longest));
	longest[4096] = '\0';
	refuse_option("workdir", longest, "longer than a path may be");
	longest[4095] = '\0';
	set_option(&r, "workdir", longest);
	assert_string_equal(r.workdir, longest);
}

static void words_of_a_choice_set_and_unset(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	request_init(&r);
	set_option(&r, "join", "oe");
	assert_true(r.join);
	set_option(&r, "join", "n");
	assert_false(r.join);
	set_option(&r, "vmem-action", "enomem");
	assert_int_equal(r.vmem_policy, VMEM_POLICY_DENY);
	set_option(&r, "vmem-action", "kill");
	assert_int_equal(r.vmem_policy, VMEM_POLICY_KILL);
	set_option(&r, "requeue", "y");
	assert_true(r.requeue);
	set_option(&r, "requeue", "n");
	assert_false(r.requeue);
	set_option(&r, "hold", NULL);
	assert_true(r.is_held);
	refuse_option("join", "eo", "write oe");
	refuse_option("vmem-action", "deny", "write kill");
	refuse_option("requeue", "yes", "write y");
	refuse_option("nonsense", "1", "unknown option 'nonsense'");
}

static void seconds_to_wait_are_bounded(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	request_init(&r);
	set_option(&r, "immediate", "31622400"); /* 366 days */
	assert_int_equal(r.immediate_s, 31622400);
	set_option(&r, "immediate", "0");
	assert_int_equal(r.immediate_s, 0);
	refuse_option("immediate", "31622401", "at most 31622400");
}

static void mails_are_set(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	request_init(&r);
	set_option(&r, "mail-type", "END");
	assert_int_equal(r.mail_types, MAIL_END);
	set_option(&r, "mail-points", "ab");
	assert_int_equal(r.mail_types, MAIL_FAIL | MAIL_BEGIN);
	set_option(&r, "mail-user", "a,b@c");
	assert_string_equal(r.mail_user, "a,b@c");
	refuse_option("mail-user", "a,,b", "mail-user");
}

static void a_list_of_resources_may_have_qos_and_places(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	request_init(&r);
	set_option(&r, "resources", "ncpus=2 , qos=long ,walltime=60");
	assert_int_equal(r.res.ncpus, 2);
	assert_int_equal(r.res.walltime_s, 60);
	assert_string_equal(r.qos, "long");
	set_option(&r, "resources", "qos=short");
	assert_string_equal(r.qos, "short");
	assert_int_equal(r.res.ncpus, 2);
	set_option(&r, "resources", "select=2:ncpus=3,place=excl");
	assert_int_equal(r.select.n, 1);
	assert_true(r.is_exclusive);
	refuse_option("resources", "ncpus=1,qos=-x", "is not a name");
	refuse_option("resources", "qos=x,ncpus=0", "ncpus");
	refuse_option("resources", "", "");
	refuse_option("resources", "ncpus", "");
}

/* ---- what must hold ---- */

static void make_good(struct request *r)
{
	request_init(r);
	set_option(r, "resources", "ncpus=1,vmem=1GB,jobfs=1MB,walltime=60");
	r->script = strdup("echo\n");
	r->workdir = strdup("/");
	assert_int_equal(request_check(r, NULL), 0);
}

static void expect_refused(const struct request *r, const char *says)
{
	struct err err = { "" };

	assert_int_equal(request_check(r, &err), -EINVAL);
	if (!strstr(err.text, says))
		fail_msg("says: %s", err.text);
}

static void each_amount_is_within_its_bounds(void **state)
{
	(void)state;
	for (const struct resource_def *d = request_resources; d->name; d++) {
		_cleanup_(request_done) struct request r;
		int64_t *v = (int64_t *)(void *)((char *)&r.res + d->offset);

		make_good(&r);
		*v = d->min;
		assert_int_equal(request_check(&r, NULL), 0);
		*v = d->max;
		assert_int_equal(request_check(&r, NULL), 0);
		*v = d->max + 1;
		expect_refused(&r, d->name);
		*v = d->min - 1;
		if (*v) /* 0: not stated */
			expect_refused(&r, d->name);
		*v = -1;
		expect_refused(&r, d->name);
	}
}

static void a_script_may_have_a_mebibyte(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	make_good(&r);
	free(r.script);
	r.script = malloc(REQUEST_SCRIPT_MAX + 2);
	memset(r.script, 'x', REQUEST_SCRIPT_MAX + 1);
	r.script[REQUEST_SCRIPT_MAX + 1] = '\0';
	expect_refused(&r, "larger than 1 MiB");
	r.script[REQUEST_SCRIPT_MAX] = '\0';
	assert_int_equal(request_check(&r, NULL), 0);
}

/* Lists count with the NUL of each entry. */
static char **make_list(size_t size)
{
	char **list = calloc(3, sizeof(*list));

	list[0] = strdup("A=1");
	list[1] = malloc(size - 4);
	memset(list[1], 'x', size - 5);
	list[1][1] = '=';
	list[1][size - 5] = '\0';
	return list;
}

static void a_command_and_an_environment_may_have_so_many_bytes(void **state)
{
	(void)state;
	for (size_t more = 0; more < 2; more++)
		for (int is_env = 0; is_env < 2; is_env++) {
			_cleanup_(request_done) struct request r;

			make_good(&r);
			*(is_env ? &r.env : &r.argv) = make_list(REQUEST_ENV_MAX + more);
			if (more)
				expect_refused(&r, is_env ? "the environment is larger"
							  : "the command is longer");
			else
				assert_int_equal(request_check(&r, NULL), 0);
		}
}

static void a_variable_is_a_name_and_a_value(void **state)
{
	static const char *const bad[] = { "", "A", "=1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_(request_done) struct request r;

		make_good(&r);
		r.env = calloc(3, sizeof(*r.env));
		r.env[0] = strdup("A=");
		assert_int_equal(request_check(&r, NULL), 0);
		r.env[1] = strdup(bad[i]);
		expect_refused(&r, "is not NAME=value");
	}
}

static void something_must_run(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	make_good(&r);
	free(r.script);
	r.script = NULL;
	expect_refused(&r, "nothing to run");
	r.argv = calloc(2, sizeof(*r.argv));
	expect_refused(&r, "nothing to run");
	r.argv[0] = strdup("");
	expect_refused(&r, "nothing to run");
	free(r.argv[0]);
	r.argv[0] = strdup("x");
	assert_int_equal(request_check(&r, NULL), 0);
	r.script = strdup("");
	expect_refused(&r, "the job script is empty");
}

static void each_name_is_checked(void **state)
{
	static const size_t names[] = {
		offsetof(struct request, cluster), offsetof(struct request, account),
		offsetof(struct request, user),	   offsetof(struct request, queue),
		offsetof(struct request, name),	   offsetof(struct request, qos)
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(request_done) struct request r;

		make_good(&r);
		strcpy((char *)&r + names[i], "a/b");
		expect_refused(&r, "'a/b' is not a name");
	}
}

static void what_runs_at_once_waits_for_nothing(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	make_good(&r);
	set_option(&r, "immediate", NULL);
	assert_int_equal(request_check(&r, NULL), 0);
	r.array.n = 1;
	expect_refused(&r, "an array");
	r.array.n = 0;
	set_option(&r, "after-ok", "3");
	expect_refused(&r, "waits for others");
	r.is_immediate = false;
	assert_int_equal(request_check(&r, NULL), 0);
	r.is_held = true;
	assert_int_equal(request_check(&r, NULL), 0);
}

static void the_output_of_an_array_is_in_files(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	make_good(&r);
	r.stream = true;
	assert_int_equal(request_check(&r, NULL), 0);
	r.array.n = 1;
	expect_refused(&r, "cannot be streamed");
	r.stream = false;
	assert_int_equal(request_check(&r, NULL), 0);
	free(r.workdir);
	r.workdir = NULL;
	expect_refused(&r, "is not an absolute path");
}

static void a_name_has_one_to_sixty_three_bytes(void **state)
{
	char name[REQUEST_NAME_MAX + 1] = "";
	struct err err = { "" };

	(void)state;
	assert_int_equal(request_check_name("a", &err), 0);
	assert_string_equal(err.text, "");
	assert_int_equal(request_check_name("", &err), -EINVAL);
	assert_non_null(strstr(err.text, "'' is not a name: 1 to 63"));
	assert_int_equal(request_check_name("-a", NULL), -EINVAL);
	assert_int_equal(request_check_name(".a", NULL), -EINVAL);
	assert_int_equal(request_check_name("a-", NULL), 0);
	assert_int_equal(request_check_name("a/", NULL), -EINVAL);
	memset(name, 'n', REQUEST_NAME_MAX - 1);
	assert_int_equal(request_check_name(name, NULL), 0);
	name[REQUEST_NAME_MAX - 1] = 'n';
	assert_int_equal(request_check_name(name, NULL), -EINVAL);
}

/* Items of a list that are not amounts, at the longest that is read. */
static void an_item_that_is_too_long_is_refused(void **state)
{
	char list[2 * SELECT_TEXT_MAX];

	(void)state;
	for (int k = 0; k < 3; k++) {
		static const char *const keys[] = { "select=", "place=", "qos=" };
		size_t n = strlen(keys[k]);

		snprintf(list, sizeof(list), "%s", keys[k]);
		memset(list + n, '1', SELECT_TEXT_MAX);
		list[SELECT_TEXT_MAX] = '\0';
		refuse_option("resources", list, "is too long for a resource");
		list[SELECT_TEXT_MAX - 1] = '\0';
		refuse_option("resources", list,
			      k == 0   ? "select:"
			      : k == 1 ? "place '"
				       : "is not a name");
	}
	memset(list, 'x', 200);
	strcpy(list + 200, "=1");
	refuse_option("resources", list, "is too long for a resource");
	list[127] = '\0'; /* the longest: only its name is wrong */
	refuse_option("resources", list, "is not NAME=AMOUNT");
}

/* Blanks around each item, at either end of the list. */
static void blanks_beside_items_do_not_count(void **state)
{
	_cleanup_(request_done) struct request r;

	(void)state;
	request_init(&r);
	set_option(&r, "resources", " \tqos=a\t , select=2:ncpus=3 \t,\tplace=scatter ");
	assert_string_equal(r.qos, "a");
	assert_int_equal(r.select.n, 1);
	assert_true(r.select.is_scattered);
	set_option(&r, "resources", "\t ncpus=3\t ,qos=b");
	assert_int_equal(r.res.ncpus, 3);
	set_option(&r, "resources", "features=x,qos=b, y ,z");
	assert_string_equal(r.res.features, "x,y,z");
	refuse_option("resources", "qos=b, ,ncpus=1", "an empty item");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_set_where_it_belongs),
		cmocka_unit_test(a_path_replaces_the_one_before),
		cmocka_unit_test(words_of_a_choice_set_and_unset),
		cmocka_unit_test(seconds_to_wait_are_bounded),
		cmocka_unit_test(mails_are_set),
		cmocka_unit_test(a_list_of_resources_may_have_qos_and_places),
		cmocka_unit_test(each_amount_is_within_its_bounds),
		cmocka_unit_test(a_script_may_have_a_mebibyte),
		cmocka_unit_test(a_command_and_an_environment_may_have_so_many_bytes),
		cmocka_unit_test(a_variable_is_a_name_and_a_value),
		cmocka_unit_test(something_must_run),
		cmocka_unit_test(each_name_is_checked),
		cmocka_unit_test(what_runs_at_once_waits_for_nothing),
		cmocka_unit_test(the_output_of_an_array_is_in_files),
		cmocka_unit_test(a_name_has_one_to_sixty_three_bytes),
		cmocka_unit_test(an_item_that_is_too_long_is_refused),
		cmocka_unit_test(blanks_beside_items_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
