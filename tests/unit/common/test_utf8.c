/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes become valid, printable UTF-8 that fits, and good text stays as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/utf8.h"

static void every_text_of_four_bytes_at_the_edges_becomes_valid_utf8(void **unused)
{
	/* One byte of each kind that UTF-8 tells apart, and the borders between them. */
	static const unsigned char kinds[] = { 1,    '\n', 'a',	 0x7f, 0x80, 0x8f, 0x90, 0x9f,
					       0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe2,
					       0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xfe, 0xff };
	const size_t n = ARRAY_LEN(kinds);

	(void)unused;
	for (size_t i = 0; i < n * n * n * n; i++) {
		char text[5] = { (char)kinds[i % n], (char)kinds[i / n % n],
				 (char)kinds[i / n / n % n], (char)kinds[i / n / n / n], 0 };
		char mended[5], before[5];

		memcpy(before, text, sizeof(text));
		memcpy(mended, text, sizeof(text));
		assert_true(utf8_is_valid(utf8_mend(mended)));
		assert_true(utf8_is_clean(utf8_clean(text)));
		if (utf8_is_valid(before))
			assert_string_equal(mended, before);
		if (utf8_is_clean(before))
			assert_string_equal(text, before);
		memcpy(before, text, sizeof(text));
		assert_string_equal(utf8_clean(text), before);
	}
}

static void each_piece_that_is_no_character_is_one_mark(void **unused)
{
	char latin[] = "M\xfcnchen", two[] = "\xff\xfe", half[] = "a\xe2\x82z",
	     ctrl[] = "a\033[2Jb\n", bidi[] = "a\xe2\x80\xaetxt", nul[] = "\xc0\x80",
	     surrogate[] = "\xed\xa0\x80";

	(void)unused;
	assert_true(utf8_is_clean("") && utf8_is_clean("/a \xc3\xa9"));
	assert_false(utf8_is_clean(latin) || utf8_is_clean(ctrl) || utf8_is_clean(bidi));
	assert_string_equal(utf8_clean(latin), "M?nchen");
	assert_string_equal(utf8_clean(two), "??");
	assert_string_equal(utf8_clean(half), "a?z");
	assert_string_equal(utf8_clean(ctrl), "a?[2Jb ");
	assert_string_equal(utf8_clean(bidi), "a?txt");
	assert_string_equal(utf8_clean(nul), "??");
	assert_true(utf8_is_valid(utf8_clean(surrogate)));
	assert_string_equal(surrogate, "?");
}

/* A text of characters of 1, 2, 3 and 4 bytes, into every size: the longest prefix that fits.
 */
static void a_text_is_cut_between_characters_at_every_size(void **unused)
{
	static const char text[] = "a\xd0\x96\xe2\x82\xac\xf0\x9f\x99\x82z";
	static const size_t ends[] = { 0, 1, 3, 6, 10, 11 };

	(void)unused;
	for (size_t size = 1; size <= sizeof(text); size++) {
		char copied[sizeof(text)], formatted[sizeof(text)];
		size_t want = 0;

		for (size_t i = 0; i < ARRAY_LEN(ends); i++)
			if (ends[i] < size)
				want = ends[i];
		utf8_copy(copied, size, text, sizeof(text));
		utf8_format(formatted, size, "%s", text);
		assert_int_equal(strlen(copied), want);
		assert_memory_equal(copied, text, want);
		assert_string_equal(formatted, copied);
	}
}

static void a_name_without_a_nul_is_read_no_further(void **unused)
{
	const char comm[4] = { 'a', 'b', '\xff', 'd' };
	char buf[16];

	(void)unused;
	assert_string_equal(utf8_copy(buf, sizeof(buf), comm, sizeof(comm)), "ab?d");
	assert_string_equal(utf8_copy(buf, sizeof(buf), comm, 2), "ab");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_text_of_four_bytes_at_the_edges_becomes_valid_utf8),
		cmocka_unit_test(each_piece_that_is_no_character_is_one_mark),
		cmocka_unit_test(a_text_is_cut_between_characters_at_every_size),
		cmocka_unit_test(a_name_without_a_nul_is_read_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
