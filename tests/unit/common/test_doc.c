/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_doc.c - a document is complete or absent: no failed set is lost, no failed allocation
 * leaves a key out; bytes are standard base64, and nothing else is read as such. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/doc.h"

static long allocations, fails_at;

static void *allocate_or_fail(size_t size)
{
	return ++allocations == fails_at ? NULL : malloc(size);
}

static int build_all(json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message(), list = doc_array();

	doc_int(&d, "job", 7);
	doc_text(&d, "name", "bad \xff byte");
	doc_text(&d, "note", NULL);
	doc_text_if(&d, "qos", "");
	doc_text_if(&d, "queue", NULL);
	doc_flag(&d, "end", false);
	doc_flag(&d, "held", true);
	doc_real(&d, "share", 0.5);
	doc_null(&d, "cpu_ms");
	doc_bytes(&d, "data", "fooba", 5);
	doc_stored(&d, "usage", "{\"a\":[1,{\"b\":2}]}");
	doc_stored(&d, "gpus", NULL);
	doc_stored(&d, "broken", "{\"a\":");
	doc_add(&list, json_integer(1));
	doc_add(&list, json_string("x"));
	doc_set(&d, "list", doc_take(&list));
	return doc_finish(&d, ret, err);
}

static const char all[] =
	"{\"schema\":\"" WIRE_SCHEMA "\",\"job\":7,\"name\":\"bad ? byte\",\"note\":\"\","
	"\"held\":true,\"share\":0.5,\"cpu_ms\":null,\"data\":\"Zm9vYmE=\",\"usage\":{\"a\":[1,"
	"{\"b\":2}]},\"list\":[1,\"x\"]}";

static void a_document_has_its_keys_in_the_order_in_which_they_were_set(void **unused)
{
	_cleanup_json_ json_t *j = NULL;
	_cleanup_free_ char *text = NULL;
	struct err err;

	(void)unused;
	assert_int_equal(build_all(&j, &err), 0);
	text = wire_format(j);
	assert_string_equal(text, all);
}

/* doc_stored() leaves out what cannot be parsed: allocations of its parser are the only ones
 * whose failure may leave a key out. */
static void a_failed_allocation_refuses_the_whole_document(void **unused)
{
	struct err err;
	int refused = 0;

	(void)unused;
	json_set_alloc_funcs(allocate_or_fail, free);
	for (fails_at = 1;; fails_at++) {
		json_t *j = NULL;
		int r;

		allocations = 0;
		r = build_all(&j, &err);
		if (r == 0) {
			assert_int_equal(json_object_get(j, "usage") ? json_object_size(j)
								     : json_object_size(j) + 1,
					 10);
			json_decref(j);
		} else {
			assert_int_equal(r, -ENOMEM);
			assert_null(j);
			refused++;
		}
		if (allocations < fails_at)
			break;
	}
	json_set_alloc_funcs(malloc, free);
	assert_true(refused > 10);
}

static void the_first_failure_sticks(void **unused)
{
	_cleanup_doc_ struct doc d = doc_object();
	json_t *j = NULL;
	struct err err;

	(void)unused;
	doc_real(&d, "share", NAN);
	doc_int(&d, "job", 1);
	doc_set(&d, "list", json_array()); /* owned by the document all the same */
	assert_int_equal(doc_check(&d, &err), -ENOMEM);
	assert_int_equal(doc_finish(&d, &j, &err), -ENOMEM);
	assert_null(j);
	assert_null(doc_take(&d));
}

static void an_edit_is_seen_in_the_document_that_was_there(void **unused)
{
	_cleanup_json_ json_t *j = json_pack("{s:i}", "a", 1);
	_cleanup_doc_ struct doc d = doc_edit(j), none = doc_edit(NULL);
	struct err err;

	(void)unused;
	doc_int(&d, "b", 2);
	doc_int(&none, "b", 2);
	assert_int_equal(doc_check(&d, &err), 0);
	assert_int_equal(doc_check(&none, &err), -ENOMEM);
	assert_int_equal(json_integer_value(json_object_get(j, "b")), 2);
}

static void bytes_are_standard_base64_both_ways(void **unused)
{
	static const char *const known[][2] = { /* RFC 4648 section 10 */
						{ "", "" },
						{ "f", "Zg==" },
						{ "fo", "Zm8=" },
						{ "foo", "Zm9v" },
						{ "foob", "Zm9vYg==" },
						{ "fooba", "Zm9vYmE=" },
						{ "foobar", "Zm9vYmFy" }
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		_cleanup_doc_ struct doc d = doc_object();
		_cleanup_free_ uint8_t *bytes = NULL;
		const json_t *text;
		size_t size;

		doc_bytes(&d, "data", known[i][0], strlen(known[i][0]));
		text = json_object_get(d.j, "data");
		assert_string_equal(json_string_value(text), known[i][1]);
		assert_int_equal(doc_decode_bytes(text, 6, &bytes, &size, &err), 0);
		assert_int_equal(size, strlen(known[i][0]));
		assert_memory_equal(bytes, known[i][0], size);
	}
}

static void what_is_not_base64_is_refused(void **unused)
{
	json_t *const bad[] = { NULL,
				json_integer(1),
				json_string("Zg"),
				json_string("Z*8="),
				json_string("Zg==Zg=="),
				json_stringn("Zm9v\0", 5),
				json_string("Zm9vYmFyZm9v") };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		uint8_t *bytes = NULL;
		struct err err;
		size_t size;

		assert_int_equal(doc_decode_bytes(bad[i], 6, &bytes, &size, &err), -EINVAL);
		assert_null(bytes);
		json_decref(bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_has_its_keys_in_the_order_in_which_they_were_set),
		cmocka_unit_test(a_failed_allocation_refuses_the_whole_document),
		cmocka_unit_test(the_first_failure_sticks),
		cmocka_unit_test(an_edit_is_seen_in_the_document_that_was_there),
		cmocka_unit_test(bytes_are_standard_base64_both_ways),
		cmocka_unit_test(what_is_not_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
