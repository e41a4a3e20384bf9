/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_mail - words, letters and addresses of mails; hostile addresses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <stdbool.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/mail.h"

static void has_types(const char *text, uint32_t expected)
{
	uint32_t types = 0;
	struct err err = { "" };

	assert_int_equal(mail_parse_types(text, &types, &err), 0);
	assert_int_equal(types, expected);
}

static void test_words_of_slurm(void **state)
{
	uint32_t types = 7;
	char buf[MAIL_TYPES_MAX];
	struct err err = { "" };

	(void)state;
	has_types("BEGIN,end,Fail", MAIL_BEGIN | MAIL_END | MAIL_FAIL);
	has_types("ALL", MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_REQUEUE);
	has_types("NONE", 0);
	has_types("TIME_LIMIT,LIMIT,ARRAY_TASKS,INVALID_DEPEND",
		  MAIL_TIME_LIMIT | MAIL_LIMIT | MAIL_EACH_TASK);
	assert_int_equal(mail_parse_types("BEGIN,ENDE", &types, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'ENDE': write some of BEGIN,END,FAIL"));
	assert_int_equal(types, 7);
	assert_int_equal(mail_parse_types("TIME_LIMIT_70", &types, &err), -EINVAL);
	has_types("time_limit_80,TIME_LIMIT_50", MAIL_TIME_80 | MAIL_TIME_50);
	has_types("TIME_LIMIT_90", MAIL_TIME_90);
	assert_int_equal(mail_parse_types("", &types, &err), -EINVAL);
	assert_int_equal(mail_parse_types("BEGIN,", &types, &err), -EINVAL);
	assert_string_equal(mail_format_types(MAIL_END | MAIL_LIMIT, buf), "END,LIMIT");
	has_types(mail_format_types(UINT32_MAX, buf), 1023);
}

static void test_letters_of_pbs(void **state)
{
	uint32_t types = 0;
	struct err err = { "" };

	(void)state;
	assert_int_equal(mail_parse_points("abe", &types, &err), 0);
	assert_int_equal(types, MAIL_FAIL | MAIL_BEGIN | MAIL_END);
	assert_int_equal(mail_parse_points("n", &types, &err), 0);
	assert_int_equal(types, 0);
	assert_int_equal(mail_parse_points("nb", &types, &err), -EINVAL);
	assert_int_equal(mail_parse_points("x", &types, &err), -EINVAL);
	assert_int_equal(mail_parse_points("", &types, &err), -EINVAL);
}

static void test_addresses(void **state)
{
	char address[MAIL_ADDRESS_MAX];
	const char *rest = "a@b.example,c";
	struct err err;

	(void)state;
	assert_int_equal(mail_check_user("alice", &err), 0);
	assert_int_equal(mail_check_user("a.l-i+ce@mail.example.org,bob", &err), 0);
	rest = mail_next_address(rest, address);
	assert_string_equal(address, "a@b.example");
	rest = mail_next_address(rest, address);
	assert_string_equal(address, "c");
	assert_null(mail_next_address(rest, address));
}

static void each_length_is_bounded(void **state)
{
	char most[MAIL_USER_MAX + 1], local[80];
	struct err err = { "" };
	size_t n = 0;

	(void)state;
	/* Three addresses of the same length, and one that fills the rest. */
	for (int i = 0; i < 4; i++) {
		size_t host =
			i < 3 ? (MAIL_USER_MAX - 1) / 4 - 3 : (size_t)MAIL_USER_MAX - 1 - n - 2;

		if (host > MAIL_ADDRESS_MAX - 3)
			host = MAIL_ADDRESS_MAX - 3;
		most[n++] = 'a';
		most[n++] = '@';
		memset(most + n, 'h', host);
		n += host;
		if (i < 3)
			most[n++] = ',';
	}
	most[n] = '\0';
	assert_int_equal(n, MAIL_USER_MAX - 1);
	assert_int_equal(mail_check_user(most, &err), 0);
	strcpy(most + n, "h");
	assert_int_equal(mail_check_user(most, &err), -EINVAL);
	assert_non_null(strstr(err.text, "longer than"));
	memset(local, 'a', 64);
	strcpy(local + 64, "@b");
	assert_int_equal(mail_check_user(local, &err), 0);
}

static void a_job_has_a_bounded_number_of_addresses(void **state)
{
	struct err err = { "" };

	(void)state;
	assert_int_equal(MAIL_ADDRESSES_MAX, 4);
	assert_int_equal(mail_check_user("a,b,c,d", &err), 0);
	assert_int_equal(mail_check_user("a,b,c,d,e", &err), -EINVAL);
	assert_string_equal(err.text, "mail-user has 5 addresses, and may have 4");
}

static void test_hostile_addresses_are_refused(void **state)
{
	static const char *const hostile[] = {
		"",
		"a@b\r\nBcc: c@d",
		"a\nb",
		"a b@c",
		"-oQ/tmp",
		"<a@b>",
		"a@b,",
		",a@b",
		"a@@b",
		"a@b@c",
		"\"a b\"@c",
		"a@-b",
		"a@b..c",
		".a@b",
		"a.@b",
		"a@",
		"@b",
		"a@b>c",
		"\xc3\xa9@b",
		"a@[1.2.3.4]",
		"a\t@b",
		"a;b@c",
		"a@b,c,d,e,f",
		"a(x)@b",
		"a@b\x7f",
		"a\\b@c",
		"victim%evil@site",
		"evil!victim",
		"evil!victim@site",
		"|mail@site",
		"/var/spool/x",
		"`x`@site",
	};
	char far[MAIL_USER_MAX + 1], local[72];
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hostile); i++)
		if (mail_check_user(hostile[i], &err) != -EINVAL)
			fail_msg("'%s' was accepted", hostile[i]);
	memset(far, 'a', MAIL_USER_MAX);
	far[MAIL_USER_MAX] = '\0';
	assert_int_equal(mail_check_user(far, &err), -EINVAL);
	far[MAIL_ADDRESS_MAX] = '\0';
	assert_int_equal(mail_check_user(far, &err), -EINVAL);
	memset(local, 'a', 65);
	strcpy(local + 65, "@b");
	assert_int_equal(mail_check_user(local, &err), -EINVAL);
}

/* Every character, as the only one, between others, and on both sides of an '@'. */
static void each_character_is_allowed_where_it_may_be(void **state)
{
	static const char local[] = "#$&'*+=?^_{}~-";

	(void)state;
	for (int c = 1; c < 256; c++) {
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9');
		bool is_local = is_plain || strchr(local, c);
		char text[8] = { (char)c, '\0' };

		if (c == ',' || c == '@')
			continue;
		assert_int_equal(mail_check_user(text, NULL),
				 is_local && c != '-' ? 0 : -EINVAL);
		snprintf(text, sizeof(text), "a%cb", c);
		assert_int_equal(mail_check_user(text, NULL),
				 is_local || c == '.' ? 0 : -EINVAL);
		snprintf(text, sizeof(text), "a@b%cc", c);
		assert_int_equal(mail_check_user(text, NULL),
				 is_plain || c == '-' || c == '.' ? 0 : -EINVAL);
		snprintf(text, sizeof(text), "a@%c", c);
		assert_int_equal(mail_check_user(text, NULL), is_plain ? 0 : -EINVAL);
	}
}

static void messages_say_what_was_wrong(void **state)
{
	char address[MAIL_ADDRESS_MAX], text[64], long_one[66];
	uint32_t types = 9;
	struct err err = { "" };

	(void)state;
	memset(text, 'X', sizeof(text));
	text[41] = '\0';
	assert_int_equal(mail_parse_types(text, &types, &err), -EINVAL);
	assert_null(strstr(err.text, text)); /* 40 of its letters */
	assert_non_null(strstr(err.text, text + 1));
	assert_int_equal(mail_parse_points("ax", &types, &err), -EINVAL);
	assert_non_null(strstr(err.text, "-m 'ax': write letters of a (it fails)"));
	assert_int_equal(mail_parse_points("bn", &types, &err), -EINVAL);
	assert_non_null(strstr(err.text, "or n alone"));
	assert_int_equal(types, 9);
	assert_int_equal(mail_parse_points("e", &types, &err), 0);
	assert_int_equal(types, MAIL_END);
	assert_int_equal(mail_check_user("ann,b c,d", &err), -EINVAL);
	assert_string_equal(err.text, "mail-user 'b c' is not an address; write USER or "
				      "USER@HOST, several by commas");
	memset(text, '-', sizeof(text)); /* 64 bytes of it */
	memcpy(long_one, text, sizeof(text));
	strcpy(long_one + sizeof(text), "+");
	assert_int_equal(mail_check_user(long_one, &err), -EINVAL);
	assert_null(strchr(err.text, '+'));
	assert_non_null(strstr(err.text, "-' is not an address"));
	long_one[sizeof(text) - 1] = '\0'; /* 63: all of it */
	assert_int_equal(mail_check_user(long_one, &err), -EINVAL);
	assert_non_null(strstr(err.text, long_one));
	assert_null(mail_next_address(NULL, address));
	assert_null(mail_next_address("", address));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_slurm),
		cmocka_unit_test(test_letters_of_pbs),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(each_length_is_bounded),
		cmocka_unit_test(a_job_has_a_bounded_number_of_addresses),
		cmocka_unit_test(test_hostile_addresses_are_refused),
		cmocka_unit_test(each_character_is_allowed_where_it_may_be),
		cmocka_unit_test(messages_say_what_was_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
