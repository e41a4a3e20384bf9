/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps on the wire: decoding returns what was encoded, and nothing malformed is acted on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/sync_answer.h"
#include "common/wire/wire.h"

static char seen[4096];

static void note_seen(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note_seen(const char *fmt, ...)
{
	size_t at = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + at, sizeof(seen) - at, fmt, ap);
	va_end(ap);
}

static void note_step(const struct sync_desired_step *s)
{
	struct sync_command c;
	struct err why = { "" };

	note_seen("%s %lld.%d.%lld", s->want == SYNC_STEP_RUN ? "run" : "cancel",
		  (long long)s->id.job, s->id.attempt, (long long)s->id.step);
	if (sync_command_decode(s->command, &c, &why) < 0)
		note_seen(" bad: %s", why.text);
	else
		for (char **a = c.argv; a && *a; a++)
			note_seen(" [%s]", *a);
	for (char **e = c.env; !*why.text && e && *e; e++)
		note_seen(" {%s}", *e);
	if (!*why.text && c.workdir)
		note_seen(" in %s", c.workdir);
	note_seen(";");
	sync_command_done(&c);
}

/* What an answer says of steps; "" when it is refused, with the words in `err`. */
static const char *read_json(const json_t *doc, struct err *err)
{
	struct sync_answer a;

	seen[0] = err->text[0] = '\0';
	if (sync_answer_decode(doc, &a, err) < 0)
		return seen;
	for (size_t i = 0; i < a.n_step_acks; i++)
		note_seen("ack %lld.%d.%lld;", (long long)a.step_acks[i].job,
			  a.step_acks[i].attempt, (long long)a.step_acks[i].step);
	for (size_t i = 0; i < a.n_steps; i++)
		note_step(&a.steps[i]);
	sync_answer_done(&a);
	return seen;
}

static const char *read_answer(const char *text, struct err *err)
{
	_cleanup_json_ json_t *answer = json_loads(text, 0, NULL);

	assert_non_null(answer);
	return read_json(answer, err);
}

static void orders_for_steps_are_read(void **unused)
{
	struct err err;

	(void)unused;
	assert_string_equal(
		read_answer(
			"{\"steps\":[{\"job\":7,\"attempt\":1,\"step\":2,\"want\":\"run\","
			"\"argv\":[\"a\",\"\",\"b c\"],\"env\":[\"X=1\"],\"workdir\":\"/w\"},"
			"{\"job\":7,\"attempt\":1,\"step\":1,\"want\":\"cancel\"}],"
			"\"step_acks\":[{\"job\":6,\"attempt\":0,\"step\":9}]}",
			&err),
		"ack 6.0.9;run 7.1.2 [a] [] [b c] {X=1} in /w;cancel 7.1.1;");
	assert_string_equal(read_answer("{}", &err), "");
	assert_string_equal(read_answer("{\"steps\":null,\"step_acks\":[]}", &err), "");
	assert_string_equal(err.text, "");
}

static void an_order_without_identity_stops_the_answer(void **unused)
{
	static const char *const bad[] = {
		"{\"steps\":7}",
		"{\"step_acks\":{}}",
		"{\"steps\":[7]}",
		"{\"steps\":[{\"job\":0,\"attempt\":1,\"step\":1,\"want\":\"run\"}]}",
		"{\"steps\":[{\"job\":1,\"attempt\":-1,\"step\":1,\"want\":\"run\"}]}",
		"{\"steps\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}",
		"{\"steps\":[{\"job\":1,\"attempt\":1,\"step\":\"1\",\"want\":\"run\"}]}",
		"{\"steps\":[{\"job\":1,\"attempt\":1,\"step\":1,\"want\":\"walk\"}]}",
		"{\"steps\":[{\"job\":1,\"attempt\":1,\"step\":1}]}",
		"{\"step_acks\":[{\"job\":1,\"attempt\":1,\"step\":0}]}",
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_string_equal(read_answer(bad[i], &err), "");
		assert_true(err.text[0] != '\0');
	}
	read_answer(bad[2], &err);
	assert_string_equal(err.text, "steps[0]: is not an object");
}

#define STEP(rest)                                                                             \
	"{\"steps\":[{\"job\":1,\"attempt\":1,\"step\":1,\"want\":\"run\"," rest "}]}"

static void a_command_that_cannot_be_read_stops_no_other(void **unused)
{
	static const char *const bad[] = {
		STEP("\"argv\":7"),
		STEP("\"argv\":[]"),
		STEP("\"argv\":[\"\"]"),
		STEP("\"argv\":[\"a\",7]"),
		STEP("\"argv\":[\"a\"],\"env\":[\"X\"]"),
		STEP("\"argv\":[\"a\"],\"env\":[\"=X\"]"),
		STEP("\"argv\":[\"a\"],\"env\":{}"),
		STEP("\"argv\":[\"a\"],\"workdir\":\"w\""),
		STEP("\"argv\":[\"a\"],\"workdir\":7"),
	};
	struct err err;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_non_null(strstr(read_answer(bad[i], &err), " bad: "));
		assert_string_equal(err.text, "");
	}
}

static void a_command_is_bounded(void **unused)
{
	_cleanup_json_ json_t *answer = NULL;
	json_t *step = json_pack("{s:i,s:i,s:i,s:s,s:[]}", "job", 1, "attempt", 1, "step", 1,
				 "want", "run", "argv");
	struct err err;
	char word[1025];

	(void)unused;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	for (int i = 0; i < 1025; i++)
		json_array_append_new(json_object_get(step, "argv"), json_string(word));
	answer = json_pack("{s:[o]}", "steps", step);
	assert_non_null(strstr(read_json(answer, &err), "is larger than"));
}

static void a_node_lists_the_steps_that_it_has(void **unused)
{
	struct sync_step list[] = {
		{ .id = { .job = 7, .step = 1, .attempt = 2 } },
		{ .id = { .job = 7, .step = 2, .attempt = 2 },
		  .has_ended = true,
		  .exit_status = 3 },
		{ .id = { .job = 7, .step = 3, .attempt = 2 },
		  .has_ended = true,
		  .exit_status = -1,
		  .signal = 9 },
		{ .id = { .job = 8, .step = 1, .attempt = 2 },
		  .has_ended = true,
		  .exit_status = -1,
		  .text = "no \xc3" },
	};
	_cleanup_json_ json_t *doc = json_object();
	_cleanup_free_ char *text = NULL;

	(void)unused;
	assert_int_equal(sync_add_steps(doc, list, 0, NULL), 0);
	assert_null(json_object_get(doc, "steps"));
	assert_int_equal(sync_add_steps(doc, list, ARRAY_LEN(list), NULL), 0);
	text = json_dumps(json_object_get(doc, "steps"), JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"[{\"attempt\":2,\"job\":7,\"state\":\"running\",\"step\":1},"
		"{\"attempt\":2,\"exit_status\":3,\"job\":7,\"signal\":0,\"state\":\"ended\","
		"\"step\":2},"
		"{\"attempt\":2,\"exit_status\":-1,\"job\":7,\"signal\":9,\"state\":\"ended\","
		"\"step\":3},"
		"{\"attempt\":2,\"exit_status\":-1,\"job\":8,\"signal\":0,\"state\":\"ended\","
		"\"step\":1,\"text\":\"no \"}]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_for_steps_are_read),
		cmocka_unit_test(an_order_without_identity_stops_the_answer),
		cmocka_unit_test(a_command_that_cannot_be_read_stops_no_other),
		cmocka_unit_test(a_command_is_bounded),
		cmocka_unit_test(a_node_lists_the_steps_that_it_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
