/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_load - a document without memory: what is read is the document, or ends the program; what is written is the document, or nothing.
 * Jansson alone loses digits and keys there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "tests/unit/rig/faults/fail_alloc.h"

/* Tokens longer than jansson's buffer, which grows from 16 bytes on. */
static const char text[] =
	"{\"a_key_of_more_than_sixteen_bytes\":1234567890123456789,"
	"\"b\":\"a text of more than thirty-two bytes, which its buffer takes in twice\","
	"\"c\":[0.12345678901234566,true,null]}";

enum { IS_READ = 20, IS_READ_ALL_THE_SAME, IS_ANOTHER };

/* In a process of its own: how it ended. */
static int read_without(long n)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		_cleanup_json_ json_t *whole = json_loads(text, 0, NULL), *read;
		bool has_failed;

		fail_alloc_after(n);
		read = wire_load(text, 0, NULL);
		has_failed = fail_alloc_end();
		_exit(!json_equal(whole, read) ? IS_ANOTHER
		      : has_failed	       ? IS_READ_ALL_THE_SAME
					       : IS_READ);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void a_document_is_read_whole_or_the_program_ends(void **state)
{
	int n_ended = 0, how;

	(void)state;
	for (long n = 0; (how = read_without(n)) != IS_READ; n++) {
		assert_int_equal(how, EXIT_FAILURE);
		n_ended++;
	}
	assert_true(n_ended > 10);
}

static void a_document_is_written_whole_or_not_at_all(void **state)
{
	_cleanup_json_ json_t *j = json_loads(text, 0, NULL);
	bool has_failed = true;
	int n_none = 0;

	(void)state;
	for (long n = 0; has_failed; n++) {
		char *written;

		fail_alloc_after(n);
		written = wire_print(j, JSON_COMPACT);
		has_failed = fail_alloc_end();
		if (written)
			assert_string_equal(written, text);
		else
			n_none++;
		free(written);
	}
	assert_true(n_none > 3);
}

/* Reading and writing have ended: an allocation that fails is again an error like any other. */
static void behind_it_a_program_without_memory_goes_on(void **state)
{
	_cleanup_json_ json_t *j = NULL, *more = NULL;
	char *written;

	(void)state;
	j = wire_load_bytes("[1]x", 3, 0, NULL);
	written = wire_print(j, JSON_COMPACT);
	assert_string_equal(written, "[1]");
	free(written);
	fail_alloc_after(0);
	more = json_array();
	assert_true(fail_alloc_end());
	assert_null(more);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_read_whole_or_the_program_ends),
		cmocka_unit_test(a_document_is_written_whole_or_not_at_all),
		cmocka_unit_test(behind_it_a_program_without_memory_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
