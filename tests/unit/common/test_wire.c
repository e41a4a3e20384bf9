/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_wire.c - what is encoded decodes to the same; every broken document is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"

static struct report full_report(void)
{
	struct report r = { .job = 42, .attempt = 1, .seq = 9, .at_ns = 5, .state = JOB_ENDED };

	r.started_ns = 1;
	r.ended_ns = 4;
	r.running_ns = 3;
	r.suspended_ns = 2;
	strcpy(r.cpus, "0-3,8");
	strcpy(r.note, "a \"note\"");
	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *f = (int64_t *)(void *)((char *)&r.usage + usage_fields[i].offset);

		usage_set(&r.usage, f, (int64_t)i * 1000000007);
	}
	r.usage.n_cores = 2;
	r.usage.cores[0] = (struct usage_core){ 0, 5 };
	r.usage.cores[1] = (struct usage_core){ 8, INT64_MAX };
	r.end = (struct job_end){ .kind = END_LIMIT, .exit_status = -1, .signal = 9 };
	r.end.reason = (struct reason){ .limit = LIMIT_MEM,
					.requested = 1,
					.reached = 2,
					.at_ns = 3,
					.host = "n1",
					.n_procs = 1,
					.procs = { { 4, -1, "sh" } },
					.text = "words" };
	return r;
}

static void a_decoded_report_equals_the_encoded_one(void **state)
{
	struct report r = full_report(), back;
	_cleanup_json_ json_t *j = wire_encode_report(&r);
	struct err err = { "" };

	(void)state;
	assert_non_null(j);
	assert_int_equal(wire_decode_report(j, "report", &back, &err), 0);
	assert_memory_equal(&r, &back, sizeof(r));
}

/* What a job and its files are called is in notes and ends: the report is made all the same. */
static void a_report_with_any_bytes_in_its_words_is_read_at_the_other_end(void **state)
{
	static const char *const words[] = { "\xff\xfe", "a\xd0", "\xed\xa0\x80", "\033[2J",
					     "\xe2\x80\xae" };
	struct report r = full_report(), back;
	struct err err = { "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		json_t *j;

		snprintf(r.note, sizeof(r.note), "%s", words[i]);
		snprintf(r.end.reason.text, sizeof(r.end.reason.text), "%s", words[i]);
		snprintf(r.end.reason.host, sizeof(r.end.reason.host), "%s", words[i]);
		snprintf(r.end.reason.procs[0].comm, 16, "%s", words[i]);
		j = wire_encode_report(&r);
		assert_non_null(j);
		if (wire_decode_report(j, "report", &back, &err) < 0)
			fail_msg("%s", err.text);
		for (const char *c = back.note; *c; c++)
			assert_in_range(*c, ' ', '~');
		assert_string_equal(back.note, back.end.reason.text);
		assert_string_equal(back.note, back.end.reason.host);
		report_done(&back);
		json_decref(j);
	}
}

static void the_decoded_gpus_of_a_report_equal_the_encoded_ones(void **state)
{
	struct gpu_use two[2] = { { .uuid = "GPU-1", .model = "a100-40", .source = "nvml" },
				  { .uuid = "MIG-2", .is_simulated = true } };
	struct report r = full_report(), back;
	_cleanup_json_ json_t *j = NULL;
	struct err err = { "" };

	(void)state;
	for (size_t i = 0; gpu_use_fields[i].name; i++)
		gpu_use_set(&two[0],
			    (int64_t *)(void *)((char *)two + gpu_use_fields[i].offset),
			    (int64_t)i);
	r.gpus = two;
	r.n_gpus = 2;
	j = wire_encode_report(&r);
	assert_int_equal(wire_decode_report(j, "report", &back, &err), 0);
	assert_int_equal(back.n_gpus, 2);
	assert_memory_equal(two, back.gpus, sizeof(two));
	report_done(&back);
}

static void contradictory_gpus_of_a_report_are_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "{}", "gpus is not an array" },
		{ "[1]", "gpus[0]: is not an object" },
		{ "[{}]", "gpus[0]: uuid is missing" },
		{ "[{\"uuid\":\"\"}]", "uuid is empty" },
		{ "[{\"uuid\":\"a\",\"model\":\"A 1\"}]", "not the name of one" },
		{ "[{\"uuid\":\"a\",\"busy_ns\":-1}]", "busy_ns = -1 is outside" },
		{ "[{\"uuid\":\"a\"},{\"uuid\":\"a\"}]", "gpus[1]: uuid 'a' is there twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_json_ json_t *j = json_loads(bad[i].text, 0, NULL);
		struct gpu_use *list = NULL;
		struct err err = { "" };
		int32_t n = 0;

		assert_int_equal(wire_decode_gpus(j, "gpus", &list, &n, &err), -EINVAL);
		if (!strstr(err.text, bad[i].word))
			fail_msg("'%s' lacks '%s'", err.text, bad[i].word);
	}
}

static void a_model_without_gpus_is_refused(void **state)
{
	static const char *const bad[] = { "{\"gpu_model\":\"a100\"}",
					   "{\"ngpus\":1,\"gpu_model\":\"A100\"}",
					   "{\"ngpus\":1,\"gpu_model\":7}",
					   "{\"ngpus\":1,\"gpu_model\":\"a b\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_json_ json_t *j = json_loads(bad[i], 0, NULL);
		struct resources res;

		assert_int_equal(wire_decode_resources(j, "resources", &res, NULL), -EINVAL);
	}
}

static void a_decoded_request_equals_the_encoded_one(void **state)
{
	_cleanup_(request_done) struct request r, back;
	_cleanup_json_ json_t *j = NULL, *again = NULL;
	_cleanup_free_ char *a = NULL, *b = NULL;

	(void)state;
	request_init(&r);
	request_init(&back);
	request_set(&r, "resources",
		    "ncpus=1,vmem=3GB,jobfs=1MB,walltime=60,ngpus=a100:2,pids=9", NULL);
	request_set(&r, "vmem-action", "enomem", NULL);
	request_set(&r, "account", "physics", NULL);
	r.uid = 4294967294U;
	r.gid = 100;
	r.stream = true;
	r.script = strdup("#!/bin/sh\necho 'ä'\n");
	r.env = calloc(2, sizeof(*r.env));
	r.env[0] = strdup("A=b=c");
	r.workdir = strdup("/home/x");
	j = wire_encode_request(&r);
	assert_int_equal(wire_decode_request(j, "request", &back, NULL), 0);
	assert_int_equal(back.uid, 4294967294U);
	assert_string_equal(back.res.gpu_model, "a100");
	again = wire_encode_request(&back);
	a = wire_format(j);
	b = wire_format(again);
	assert_string_equal(a, b);
}

/* Take each key away in turn, and put a value of a wrong type in its place: all refused, but
 * for the keys that may be absent. */
static void a_report_with_any_key_broken_is_refused(void **state)
{
	static const char *const optional = " cpus note ";
	struct report r = full_report(), back;
	_cleanup_json_ json_t *whole = wire_encode_report(&r);
	const char *key;
	json_t *value;

	(void)state;
	json_object_foreach(whole, key, value)
	{
		_cleanup_json_ json_t *cut = json_copy(whole), *odd = json_copy(whole);
		char word[64];
		struct err err = { "" };

		snprintf(word, sizeof(word), " %s ", key);
		json_object_del(cut, key);
		if (!strstr(optional, word)) {
			assert_int_equal(wire_decode_report(cut, "r", &back, &err), -EINVAL);
			assert_non_null(strstr(err.text, key));
		}
		json_object_set_new(odd, key, json_true());
		assert_int_equal(wire_decode_report(odd, "r", &back, &err), -EINVAL);
	}
}

static void hostile_documents_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"schema\":\"reeve/2\"}",
		"{\"schema\":\"reeve/1\",\"schema\":\"reeve/1\"}",
		"{\"schema\":\"reeve/1\",\"n\":1e999}",
		"{\"schema\":\"reeve/1\",\"n\":9223372036854775808}",
		"{\"schema\":\"reeve/1\",\"s\":\"\\ud800\"}",
		"{\"schema\":\"reeve/1\"} x",
	};
	struct err err;
	json_t *j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(wire_parse(bad[i], strlen(bad[i]), &j, &err), -EINVAL);
}

static void bytes_beside_a_document_come_back(void **state)
{
	static const char bytes[] = "a\0\xff\n{";
	_cleanup_json_ json_t *doc = wire_new(), *back = NULL, *none = NULL;
	size_t size, n;
	char *whole;

	(void)state;
	assert_int_equal(json_object_set_new(doc, "n", json_integer(5)), 0);
	assert_int_equal(wire_attach(doc, bytes, sizeof(bytes)), 0);
	whole = wire_format_whole(doc, &size);
	assert_memory_equal(whole + size - sizeof(bytes), bytes, sizeof(bytes));
	assert_null(strstr(whole, WIRE_ATTACHED));
	assert_non_null(wire_attached(doc, &n)); /* it keeps them */
	assert_int_equal(wire_parse_whole(whole, size, &back, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(back, "n")), 5);
	assert_memory_equal(wire_attached(back, &n), bytes, sizeof(bytes));
	assert_int_equal(n, sizeof(bytes));
	assert_int_equal(wire_parse_whole(whole, strlen(whole), &none, NULL), 0);
	assert_null(wire_attached(none, &n));
	assert_int_equal(n, 0);
	free(whole);
}

static void a_document_says_nothing_of_its_bytes(void **state)
{
	static const char typed[] = "{\"schema\":\"reeve/1\",\"attached\":\"abc\"}";
	static const char only[] = "\0abc";
	struct err err;
	json_t *j;

	(void)state;
	assert_int_equal(wire_parse_whole(typed, strlen(typed), &j, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no key of a document"));
	assert_int_equal(wire_parse_whole(only, sizeof(only), &j, &err), -EINVAL);
}

static void out_of_range_numbers_are_refused(void **state)
{
	static const struct {
		const char *key;
		json_int_t value;
	} bad[] = {
		{ "job", 0 }, { "job", -1 }, { "attempt", 1LL << 40 }, { "running_ns", -1 }
	};
	struct report r = full_report(), back;
	_cleanup_json_ json_t *whole = wire_encode_report(&r);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_json_ json_t *odd = json_copy(whole);

		json_object_set_new(odd, bad[i].key, json_integer(bad[i].value));
		assert_int_equal(wire_decode_report(odd, "r", &back, NULL), -EINVAL);
	}
}

static void
arrays_dependencies_and_holds_of_a_decoded_request_equal_the_encoded_ones(void **state)
{
	struct request r, back;
	_cleanup_json_ json_t *j = NULL;

	(void)state;
	request_init(&r);
	request_init(&back);
	assert_int_equal(request_set(&r, "array", "0-998:2%20", NULL), 0);
	assert_int_equal(request_set(&r, "depend", "depend=afterok:7:8[3]", NULL), 0);
	assert_int_equal(request_set(&r, "after-any", "9", NULL), 0);
	assert_int_equal(request_set(&r, "hold", "", NULL), 0);
	assert_int_equal(request_set(&r, "requeue", "y", NULL), 0);
	assert_int_equal(request_set(&r, "immediate", "7", NULL), 0);
	j = wire_encode_request(&r);
	assert_int_equal(wire_decode_request(j, "request", &back, NULL), 0);
	assert_memory_equal(&r.array, &back.array, sizeof(r.array));
	assert_int_equal(back.after.n, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(r.after.at[i].kind, back.after.at[i].kind);
		assert_int_equal(r.after.at[i].id.job, back.after.at[i].id.job);
		assert_int_equal(r.after.at[i].id.index, back.after.at[i].id.index);
	}
	assert_true(back.is_held && back.requeue);
	assert_true(back.is_immediate && back.immediate_s == 7);
	request_done(&r);
	request_done(&back);
}

static void contradictory_arrays_and_dependencies_are_refused(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "{\"resources\":{},\"array\":{\"first\":5,\"last\":1}}", "before it begins" },
		{ "{\"resources\":{},\"array\":{\"first\":1}}", "last is missing" },
		{ "{\"resources\":{},\"array\":{\"first\":0,\"last\":9,\"step\":0}}", "step" },
		{ "{\"resources\":{},\"array\":{\"first\":0,\"last\":4000000000}}", "last" },
		{ "{\"resources\":{},\"after\":{}}", "after is not an array" },
		{ "{\"resources\":{},\"after\":[{\"kind\":\"afterbad\",\"job\":1}]}",
		  "'afterbad'" },
		{ "{\"resources\":{},\"after\":[{\"kind\":\"afterok\"}]}", "after[0]: job" },
		{ "{\"resources\":{},\"after\":[{\"kind\":\"afterok\",\"job\":0}]}", "job" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		_cleanup_json_ json_t *j = json_loads(bad[i].text, 0, NULL);
		struct err err = { "" };
		struct request r;

		request_init(&r);
		assert_int_equal(wire_decode_request(j, "request", &r, &err), -EINVAL);
		if (!strstr(err.text, bad[i].word))
			fail_msg("%s: %s", bad[i].text, err.text);
		request_done(&r);
	}
}

/* The bounds are exact: what has as much passes, what has one less as its bound does not. */
static void values_of_a_document_are_counted_before_it_is_parsed(void **state)
{
	static const struct {
		const char *text;
		struct wire_bounds has;
	} docs[] = {
		{ "{\"a\":1}", { 3, 1, 1 } },
		{ "[1,2,3]", { 4, 1, 1 } },
		{ "[[],[],[]]", { 7, 4, 2 } },
		{ "{\"a[{,:\":\"]}\\\"[[[,,,\"}", { 3, 1, 1 } },
		{ "{\"a\":[{\"b\":[1]}]}", { 7, 4, 4 } },
		{ "]]]]}}}}[[", { 3, 2, 2 } },
		{ "\"never ends [[[[", { 1, 0, 0 } },
		{ "\"\\", { 1, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(docs); i++) {
		size_t size = strlen(docs[i].text);
		struct wire_bounds less = docs[i].has;
		struct err err = { "" };

		assert_int_equal(wire_scan(docs[i].text, size, &docs[i].has, &err), 0);
		less.elements--;
		if (docs[i].has.elements > 1)
			assert_int_equal(wire_scan(docs[i].text, size, &less, &err), -EMSGSIZE);
		if (!docs[i].has.containers)
			continue;
		less = docs[i].has;
		less.containers--;
		assert_int_equal(wire_scan(docs[i].text, size, &less, &err), -EMSGSIZE);
		less = docs[i].has;
		less.depth--;
		assert_int_equal(wire_scan(docs[i].text, size, &less, &err), -EMSGSIZE);
		assert_non_null(strstr(err.text, "levels"));
	}
}

/* Any figures, some of them not measured; at most 18 digits, of which the quick way reads no more. */
static struct usage draw_usage(uint64_t *seed)
{
	struct usage u = { 0 };

	for (size_t i = 0; usage_fields[i].name; i++) {
		*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (*seed >> 62)
			usage_set(&u, (int64_t *)(void *)((char *)&u + usage_fields[i].offset),
				  (int64_t)(*seed >> (*seed >> 58)) % 1000000000000000000);
	}
	u.n_cores = (int32_t)(*seed >> 40) % (USAGE_CORES_MAX + 1);
	for (int32_t i = 0; i < u.n_cores; i++)
		u.cores[i] = (struct usage_core){ i * 3, i * 1000000007LL };
	return u;
}

static void the_text_of_usage_is_that_of_its_document(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int n = 0; n < 2000; n++) {
		struct usage u = n ? draw_usage(&seed) : (struct usage){ 0 }, back;
		_cleanup_json_ json_t *doc = wire_encode_usage(&u);
		_cleanup_free_ char *slow = wire_format(doc), *quick = wire_format_usage(&u);

		assert_string_equal(quick, slow);
		if (!u.have && !u.n_cores)
			continue;
		assert_int_equal(wire_parse_usage(quick, &back), 0);
		assert_memory_equal(&back, &u, sizeof(u));
	}
}

/* Then the general way reads it, or refuses it. */
static void text_of_another_form_is_not_read_quickly(void **state)
{
	static const char *const other[] = { "",
					     "{}",
					     "{ \"cpu_ns\":1}",
					     "{\"cpu_ns\":-1}",
					     "{\"cpu_ns\":1e3}",
					     "{\"cpu_ns\":9223372036854775808}",
					     "{\"cpu_ns\":1}x",
					     "{\"cpu_ns\":1,}",
					     "{\"procs\":1,\"cpu_ns\":1}",
					     "{\"unknown\":1}",
					     "{\"cores\":[]}",
					     "{\"cores\":[{\"cpu\":1}]}" };
	uint64_t seed = 9;
	struct usage u = draw_usage(&seed), back;
	_cleanup_free_ char *text = wire_format_usage(&u);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		assert_int_equal(wire_parse_usage(other[i], &back), -EINVAL);
	for (size_t n = strlen(text); n-- > 0;) {
		text[n] = '\0';
		assert_int_equal(wire_parse_usage(text, &back), -EINVAL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_of_usage_is_that_of_its_document),
		cmocka_unit_test(text_of_another_form_is_not_read_quickly),
		cmocka_unit_test(values_of_a_document_are_counted_before_it_is_parsed),
		cmocka_unit_test(a_decoded_report_equals_the_encoded_one),
		cmocka_unit_test(a_decoded_request_equals_the_encoded_one),
		cmocka_unit_test(a_report_with_any_bytes_in_its_words_is_read_at_the_other_end),
		cmocka_unit_test(the_decoded_gpus_of_a_report_equal_the_encoded_ones),
		cmocka_unit_test(contradictory_gpus_of_a_report_are_refused),
		cmocka_unit_test(a_model_without_gpus_is_refused),
		cmocka_unit_test(a_report_with_any_key_broken_is_refused),
		cmocka_unit_test(hostile_documents_are_refused),
		cmocka_unit_test(bytes_beside_a_document_come_back),
		cmocka_unit_test(a_document_says_nothing_of_its_bytes),
		cmocka_unit_test(out_of_range_numbers_are_refused),
		cmocka_unit_test(
			arrays_dependencies_and_holds_of_a_decoded_request_equal_the_encoded_ones),
		cmocka_unit_test(contradictory_arrays_and_dependencies_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
