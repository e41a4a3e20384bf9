/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_storage - the newest reading of each account and file system stays, whatever order readings come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/usage/storage.h"
#include "tests/unit/rig/ledger_rig.h"

static struct store_storage a_reading(const char *account, const char *filesystem,
				      int64_t bytes, int64_t at_s)
{
	return (struct store_storage){ .account = account,
				       .filesystem = filesystem,
				       .bytes = bytes,
				       .files = 7,
				       .limit_bytes = STORE_STORAGE_NONE,
				       .limit_files = 1000,
				       .at_ns = at_s * S_NS };
}

static int64_t put_rows(struct rig *r, const struct store_storage *rows, size_t n)
{
	int64_t stored = -1;

	assert_int_equal(store_storage_put(r->store, rows, n, &stored, NULL), 0);
	return stored;
}

static int append_row(void *ctx, const struct store_storage *row, struct err *err)
{
	char *text = ctx;
	size_t n = strlen(text);

	(void)err;
	snprintf(text + n, 512 - n, "%s %s %lld of %lld, %lld of %lld files, %lld s\n",
		 row->account, row->filesystem, (long long)row->bytes,
		 (long long)row->limit_bytes, (long long)row->files,
		 (long long)row->limit_files, (long long)(row->at_ns / S_NS));
	return 0;
}

static const char *read_rows(struct rig *r, const char *account)
{
	static char text[512];

	*text = '\0';
	assert_int_equal(store_storage_each(r->store, account, append_row, text, NULL), 0);
	return text;
}

static void an_account_has_a_row_for_each_file_system(void **state)
{
	struct rig *r = *state;
	const struct store_storage rows[] = {
		a_reading("physics", "/scratch", 30, 100),
		a_reading("physics", "/project", 20, 100),
		a_reading("art", "/project", 10, 100),
	};

	assert_int_equal(put_rows(r, rows, 3), 3);
	assert_string_equal(read_rows(r, "physics"),
			    "physics /project 20 of -1, 7 of 1000 files, 100 s\n"
			    "physics /scratch 30 of -1, 7 of 1000 files, 100 s\n");
	assert_string_equal(read_rows(r, "physic"), "");
}

static void an_older_reading_changes_nothing(void **state)
{
	struct rig *r = *state;
	const struct store_storage first = a_reading("physics", "/project", 20, 100),
				   older = a_reading("physics", "/project", 99, 99),
				   same = a_reading("physics", "/project", 21, 100),
				   newer = a_reading("physics", "/project", 5, 101);

	assert_int_equal(put_rows(r, &first, 1), 1);
	assert_int_equal(put_rows(r, &older, 1), 0);
	assert_string_equal(read_rows(r, "physics"),
			    "physics /project 20 of -1, 7 of 1000 files, 100 s\n");
	assert_int_equal(put_rows(r, &same, 1), 1);
	assert_int_equal(put_rows(r, &newer, 1), 1);
	assert_string_equal(read_rows(r, "physics"),
			    "physics /project 5 of -1, 7 of 1000 files, 101 s\n");
}

static void a_removed_file_system_leaves_the_others(void **state)
{
	struct rig *r = *state;
	const struct store_storage rows[] = {
		a_reading("physics", "/project", 20, 100),
		a_reading("physics", "/scratch", 30, 100),
		a_reading("art", "/project", 10, 100),
	};
	int64_t removed = -1;

	put_rows(r, rows, 3);
	assert_int_equal(store_storage_remove(r->store, "/project", &removed, NULL), 0);
	assert_int_equal(removed, 2);
	assert_string_equal(read_rows(r, "physics"),
			    "physics /scratch 30 of -1, 7 of 1000 files, 100 s\n");
	assert_string_equal(read_rows(r, "art"), "");
	assert_int_equal(store_storage_remove(r->store, "/project", &removed, NULL), 0);
	assert_int_equal(removed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_account_has_a_row_for_each_file_system,
						rig_open, rig_close),
		cmocka_unit_test_setup_teardown(an_older_reading_changes_nothing, rig_open,
						rig_close),
		cmocka_unit_test_setup_teardown(a_removed_file_system_leaves_the_others,
						rig_open, rig_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
