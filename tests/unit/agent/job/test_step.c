/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_step - which action an order for a step, or what is seen of the step on the node, leads to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/step/step.h"
#include "common/cleanup.h"

static char *words[] = { (char *)"true", NULL };

static struct sync_step_id make_id(int64_t job, int32_t attempt, int64_t step)
{
	return (struct sync_step_id){ .job = job, .attempt = attempt, .step = step };
}

static struct sync_step_order an_order(int64_t step, enum sync_step_want want, char **argv)
{
	return (struct sync_step_order){ .id = make_id(7, 1, step),
					 .want = want,
					 .command = { .argv = argv } };
}

static struct step_asker runs_of(uint32_t uid)
{
	return (struct step_asker){ STEP_JOB_RUNS, uid };
}

static void clear_table(struct step_table *t)
{
	while (t->first)
		step_remove(t, t->first);
	assert_int_equal(t->n, 0);
}

static void the_table_is_sorted_and_finds(void **unused)
{
	static const int order[] = { 3, 1, 2, 5, 4 };
	struct step_table t = { 0 };
	int64_t last = 0;

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		assert_non_null(step_add(&t, make_id(7, 2, order[i])));
		assert_non_null(step_add(&t, make_id(7, 1, order[i])));
		assert_non_null(step_add(&t, make_id(6, 9, order[i])));
	}
	for (const struct step *s = t.first; s; s = s->next) {
		int64_t rank = s->id.job * 10000 + s->id.attempt * 100 + s->id.step;

		assert_true(rank > last);
		last = rank;
		assert_ptr_equal(step_find(&t, s->id), s);
	}
	assert_null(step_find(&t, make_id(7, 3, 1)));
	assert_null(step_find(&t, make_id(7, 1, 6)));
	assert_int_equal(step_count_open(&t, make_id(7, 1, 0)), 5);
	step_fail(step_find(&t, make_id(7, 1, 2)), "x");
	assert_int_equal(step_count_open(&t, make_id(7, 1, 0)), 4);
	clear_table(&t);
}

/* Every order, by every state of the job, without and with the step in each of its phases. */
static void a_repeated_order_starts_a_step_once(void **unused)
{
	static const enum step_act fresh[2][5] = {
		[SYNC_STEP_RUN] = { STEP_DO_REFUSE, STEP_DO_NOTHING, STEP_DO_START,
				    STEP_DO_REFUSE, STEP_DO_REFUSE },
		[SYNC_STEP_CANCEL] = { STEP_DO_REFUSE, STEP_DO_REFUSE, STEP_DO_REFUSE,
				       STEP_DO_REFUSE, STEP_DO_REFUSE },
	};

	(void)unused;
	for (int job = STEP_JOB_NONE; job <= STEP_JOB_ENDS; job++)
		for (int want = SYNC_STEP_RUN; want <= SYNC_STEP_CANCEL; want++) {
			struct sync_step_order o =
				an_order(1, (enum sync_step_want)want, words);
			struct step_table t = { 0 };
			struct err why = { "" };
			enum step_act act = step_decide(
				&t, &o, (struct step_asker){ (enum step_job)job, 1000 }, &why);

			assert_int_equal(act, fresh[want][job]);
			assert_true((act == STEP_DO_REFUSE) == (why.text[0] != '\0'));
		}
	for (int phase = STEP_IS_ASKED; phase <= STEP_IS_OVER; phase++)
		for (int cancelled = 0; cancelled < 2; cancelled++) {
			struct sync_step_order run = an_order(1, SYNC_STEP_RUN, words);
			struct sync_step_order cancel = an_order(1, SYNC_STEP_CANCEL, NULL);
			struct step_table t = { 0 };
			struct err why = { "" };
			struct step *s = step_add(&t, run.id);

			s->phase = (enum step_phase)phase;
			s->is_cancelled = cancelled;
			assert_int_equal(step_decide(&t, &run, runs_of(1000), &why),
					 STEP_DO_NOTHING);
			assert_int_equal(step_decide(&t, &cancel, runs_of(1000), &why),
					 phase < STEP_DRAINS && !cancelled ? STEP_DO_CANCEL
									   : STEP_DO_NOTHING);
			clear_table(&t);
		}
}

static void a_step_without_its_command_is_requested_again(void **unused)
{
	struct sync_step_order o = an_order(1, SYNC_STEP_RUN, NULL);
	struct step_table t = { 0 };
	struct err why = { "" };

	(void)unused;
	assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_NOTHING);
	o.bad = "argv: names no command";
	assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_REFUSE);
	assert_string_equal(why.text, o.bad);
}

static void a_job_has_at_most_a_thousand_open_steps(void **unused)
{
	struct sync_step_order o = an_order(STEP_OPEN_MAX + 1, SYNC_STEP_RUN, words);
	struct step_table t = { 0 };
	struct err why = { "" };

	(void)unused;
	for (int64_t i = STEP_OPEN_MAX; i > 0; i--) {
		assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_START);
		assert_non_null(step_add(&t, make_id(7, 1, i)));
		assert_non_null(step_add(&t, make_id(8, 1, i)));
	}
	assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_REFUSE);
	assert_non_null(strstr(why.text, "1000 steps"));
	step_fail(t.first, "over");
	assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_START);
	clear_table(&t);
}

/* As many as the agent would start: of jobs of 1000 steps each, in the order of their numbers,
 * so that the list is walked at its front. */
static size_t fill_table(struct step_table *t, uint32_t uid, struct err *why)
{
	size_t n = 0;

	for (int64_t job = 1000; job > 0; job--)
		for (int64_t i = 500; i > 0; i--) {
			struct sync_step_order o = an_order(i, SYNC_STEP_RUN, words);
			struct step *s;

			o.id.job = uid * 1000LL - job;
			/* Deciding looks at all: at each hundredth, and near the edge. */
			if ((i % 100 == 0 || n >= 4500) &&
			    step_decide(t, &o, runs_of(uid), why) != STEP_DO_START)
				return n;
			s = step_add(t, o.id);
			s->uid = uid;
			n++;
		}
	return n;
}

static void one_user_cannot_fill_the_table_of_steps(void **unused)
{
	struct sync_step_order o = an_order(1, SYNC_STEP_RUN, words);
	struct step_table t = { 0 };
	struct err why = { "" };
	size_t n[4];

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(n); i++)
		n[i] = fill_table(&t, (uint32_t)(40 - i), &why);
	assert_int_equal(n[0], STEP_TABLE_MAX / 2);
	assert_int_equal(n[1], STEP_TABLE_MAX / 4);
	assert_true(n[2] >= STEP_TABLE_MAX / 8 && n[3] > 0);
	assert_non_null(strstr(why.text, "of its 20000 are free for all users"));
	assert_int_equal(step_decide(&t, &o, runs_of(7), &why), STEP_DO_START);
	clear_table(&t);
}

/* Nor by orders that are refused. */
static void refused_steps_take_no_room_and_are_bounded(void **unused)
{
	struct sync_step_order o = an_order(1, SYNC_STEP_CANCEL, NULL);
	struct step_table t = { 0 };
	struct err why = { "" };
	int64_t n;

	(void)unused;
	for (n = 3 * STEP_REFUSED_MAX; n > 0; n--) {
		struct step *s;

		o.id.step = n;
		if (step_decide(&t, &o, runs_of(1000), &why) != STEP_DO_REFUSE)
			break;
		s = step_add(&t, o.id);
		s->uid = 1000;
		s->is_refused = true;
		step_fail(s, why.text);
	}
	assert_int_equal(n, 2 * STEP_REFUSED_MAX);
	assert_int_equal(step_decide(&t, &o, runs_of(1001), &why), STEP_DO_REFUSE);
	o = an_order(9, SYNC_STEP_RUN, words);
	assert_int_equal(step_decide(&t, &o, runs_of(1000), &why), STEP_DO_START);
	clear_table(&t);
}

/* All that can be seen of a step, in both of its open phases. */
static void the_state_of_a_step_follows_what_is_seen_on_the_node(void **unused)
{
	(void)unused;
	for (int bits = 0; bits < 64; bits++) {
		struct step s = { .phase = bits & 16 ? STEP_RUNS : STEP_IS_ASKED,
				  .is_cancelled = bits & 32 };
		struct step_sight sight = { .has_end = bits & 1,
					    .has_waiter = bits & 2,
					    .has_begun = bits & 4,
					    .is_late = bits & 8 };
		enum step_move m = step_look(&s, sight);

		if (sight.has_end)
			assert_int_equal(m, STEP_ENDS);
		/* Only a step that cannot have begun is given up. */
		if (m == STEP_NEVER_BEGAN)
			assert_false(sight.has_begun || sight.has_waiter || sight.has_end);
		if (m == STEP_IS_LOST)
			assert_true(sight.has_begun && !sight.has_waiter && !sight.has_end);
		if (m == STEP_BEGINS)
			assert_true(sight.has_begun && sight.has_waiter && !(bits & 16));
		if (!sight.has_end && sight.has_begun && !sight.has_waiter)
			assert_int_equal(m, STEP_IS_LOST);
		s.phase = bits & 16 ? STEP_DRAINS : STEP_IS_OVER;
		assert_int_equal(step_look(&s, sight), STEP_STAYS);
	}
}

static void a_record_of_a_steps_end_is_read_whole_or_not_at_all(void **unused)
{
	struct step_end end = { .version = STEP_VERSION, .exit_status = 3, .text = "a\nb" };
	struct step s = { 0 };

	(void)unused;
	assert_int_equal(step_take_end(&s, &end), 0);
	assert_int_equal(s.phase, STEP_DRAINS);
	assert_int_equal(s.end.exit_status, 3);
	assert_string_equal(s.end.text, "a b");
	end.exit_status = 256;
	assert_int_equal(step_take_end(&s, &end), -EBADMSG);
	assert_int_equal(s.phase, STEP_IS_OVER);
	assert_int_equal(s.end.exit_status, -1);
	end.exit_status = 0;
	memset(end.text, 'x', sizeof(end.text));
	assert_int_equal(step_take_end(&s, &end), -EBADMSG);
	end = (struct step_end){ .version = STEP_VERSION + 1 };
	assert_int_equal(step_take_end(&s, &end), -EBADMSG);
}

static void files_with_other_names_are_left_alone(void **unused)
{
	static const char *const foreign[] = { "",	 "1-1",	   "1-1-0",  "0-1-1", "1--1-1",
					       "01-1-1", "1-1-+1", "x1-1-1", " 1-1-1" };
	char buf[STEP_FILE_MAX];
	struct sync_step_id got;
	const char *rest;

	(void)unused;
	assert_string_equal(step_format_name(make_id(12, 3, 45), buf), "12-3-45");
	assert_int_equal(step_parse_name("12-3-45", &got, &rest), 0);
	assert_true(step_id_is_equal(got, make_id(12, 3, 45)) && !*rest);
	assert_int_equal(step_parse_name("12-3-45.end", &got, &rest), 0);
	assert_string_equal(rest, ".end");
	step_format_name(make_id(INT64_MAX, INT32_MAX, INT64_MAX), buf);
	assert_int_equal(step_parse_name(buf, &got, &rest), 0);
	assert_true(got.job == INT64_MAX && got.step == INT64_MAX);
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		assert_int_equal(step_parse_name(foreign[i], &got, &rest), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sorted_and_finds),
		cmocka_unit_test(a_repeated_order_starts_a_step_once),
		cmocka_unit_test(a_step_without_its_command_is_requested_again),
		cmocka_unit_test(a_job_has_at_most_a_thousand_open_steps),
		cmocka_unit_test(one_user_cannot_fill_the_table_of_steps),
		cmocka_unit_test(refused_steps_take_no_room_and_are_bounded),
		cmocka_unit_test(the_state_of_a_step_follows_what_is_seen_on_the_node),
		cmocka_unit_test(a_record_of_a_steps_end_is_read_whole_or_not_at_all),
		cmocka_unit_test(files_with_other_names_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
