/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_csv - what RFC 4180 allows is read exactly; what it does not is refused with its place.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/csv/csv.h"
#include "common/err.h"

static const char *const names[] = { "a", "beta", NULL };

#define FILE_NAME "/tmp/reeve-test-csv-XXXXXX"

static char path[sizeof(FILE_NAME)];

static int make_file(void **state)
{
	int fd;

	(void)state;
	memcpy(path, FILE_NAME, sizeof(path));
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_file(const char *text, size_t size)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* All records as "a|beta;" after one another; or the error. */
static int read_all(char *out, size_t size, struct err *err)
{
	_cleanup_(csv_closep) struct csv *c = NULL;
	const char *const *f;
	int column[2], r;
	size_t n = 0;

	*out = '\0';
	assert_int_equal(csv_open(path, &c, err), 0);
	r = csv_header(c, names, column, err);
	if (r < 0)
		return r;
	while ((r = csv_next(c, &f, err)) > 0)
		n += (size_t)snprintf(out + n, size - n, "%s|%s;", f[column[0]], f[column[1]]);
	return r;
}

#define READS(text, expected) expect_rows(text, sizeof(text) - 1, expected)
static void expect_rows(const char *text, size_t size, const char *expected)
{
	struct err err = { "" };
	char out[512];

	write_file(text, size);
	if (read_all(out, sizeof(out), &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(out, expected);
}

#define REFUSES(text, words) expect_refusal(text, sizeof(text) - 1, words)
static void expect_refusal(const char *text, size_t size, const char *words)
{
	char out[512], expected[600];
	struct err err = { "" };

	write_file(text, size);
	assert_int_equal(read_all(out, sizeof(out), &err), -EINVAL);
	snprintf(expected, sizeof(expected), "%s:%s", path, words);
	if (strncmp(err.text, expected, strlen(expected)))
		fail_msg("'%s' lacks '%s'", err.text, expected);
}

static void fields_are_read_exactly(void **state)
{
	(void)state;
	READS("a,beta\n1,2\n", "1|2;");
	READS("a,beta\r\n1,2\r\n3,4", "1|2;3|4;");
	READS("beta,a\n1,2\n", "2|1;");
	READS("\xef\xbb\xbf"
	      "a,beta\n1,\n",
	      "1|;");
	READS("a,beta\n\n,\n\r\n 1 ,2\n", "|; 1 |2;");
	READS("\"a\",beta\n\"1,\"\"2\"\"\r\nx\",\"\"\n", "1,\"2\"\r\nx|;");
	READS("a,beta\n", "");
}

static void damage_is_refused_with_its_line(void **state)
{
	(void)state;
	REFUSES("a,beta\n1,2\n1\n", "3: 1 field, but the header names 2");
	REFUSES("a,beta\n1,2,\n", "2: 3 fields, but the header names 2");
	REFUSES("a,beta\n\"x\ny\",1\n\n1,\"2\n3", "5: the quote that opens field 2");
	REFUSES("a,beta\n1,2\"3\"\n", "2: field 2 has a quote within text");
	REFUSES("a,beta\n\"1\"2,3\n", "2: text behind the closing quote of field 1");
	REFUSES("a,beta\n1,2\rx\n", "2: a carriage return without a line feed");
	REFUSES("a,beta\n1,\0\n", "2: field 2 holds a NUL byte");
	REFUSES("a,beta\n1,\"\0\"\n", "2: field 2 holds a NUL byte");
}

static void a_column_must_be_known_and_there_once(void **state)
{
	(void)state;
	REFUSES("", "1: the file is empty");
	REFUSES("\n\r\n", "3: the file is empty");
	REFUSES("a\n", "1: column 'beta' is missing from the first line");
	REFUSES("a,bta\n", "1: unknown column 'bta'; did you mean 'beta'?");
	REFUSES("a,beta,unlike\n", "1: unknown column 'unlike'; the columns are a,beta");
	REFUSES("a,beta,a\n", "1: column 'a' is named twice");
}

static void an_endless_record_is_refused(void **state)
{
	size_t size = (3 << 20) + 9;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "a,beta\n1,", 9);
	expect_refusal(text, size, "2: the record is longer than 1048576 bytes");
	free(text);
}

static void an_unreadable_file_is_an_error_with_its_name(void **state)
{
	_cleanup_(csv_closep) struct csv *c = NULL;
	struct err err = { "" };
	int column[2];

	(void)state;
	assert_int_equal(csv_open("/tmp/no/such", &c, &err), -ENOENT);
	assert_null(c);
	assert_int_equal(csv_open("/tmp", &c, &err), 0);
	assert_int_equal(csv_header(c, names, column, &err), -EISDIR);
	assert_string_equal(err.text, "cannot read /tmp: Is a directory");
}

static void a_caller_names_the_line_too(void **state)
{
	_cleanup_(csv_closep) struct csv *c = NULL;
	struct err err = { "" };
	const char *const *f;
	char words[96];
	int column[2];

	(void)state;
	write_file("a,beta\n\"x\ny\",1\n2,3\n", 19);
	assert_int_equal(csv_open(path, &c, &err), 0);
	assert_int_equal(csv_header(c, names, column, &err), 0);
	assert_int_equal(csv_next(c, &f, &err), 1);
	assert_int_equal(csv_line(c), 2);
	assert_int_equal(csv_next(c, &f, &err), 1);
	assert_int_equal(csv_error(c, &err, "bad %s", f[0]), -EINVAL);
	snprintf(words, sizeof(words), "%s:4: bad 2", path);
	assert_string_equal(err.text, words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fields_are_read_exactly, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(damage_is_refused_with_its_line, make_file,
						remove_file),
		cmocka_unit_test_setup_teardown(a_column_must_be_known_and_there_once,
						make_file, remove_file),
		cmocka_unit_test_setup_teardown(an_endless_record_is_refused, make_file,
						remove_file),
		cmocka_unit_test(an_unreadable_file_is_an_error_with_its_name),
		cmocka_unit_test_setup_teardown(a_caller_names_the_line_too, make_file,
						remove_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
