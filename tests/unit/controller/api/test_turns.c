/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_turns - pages that need several turns: each gets one after the other, and none is forgotten. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "controller/api/turns.h"

struct rig {
	struct sd_event *event;
	struct turns *turns;
	unsigned needs[3]; /* turns of each page */
	char said[64];	   /* "a1 b1 a2": page and turn; "x" behind it: closed */
};

static void take_turn(void *ctx, struct turns_request request, enum turns_why why)
{
	struct rig *r = ctx;
	unsigned *needs = request.request, k = (unsigned)(needs - r->needs);
	char *end = r->said + strlen(r->said);

	snprintf(end, sizeof(r->said) - (size_t)(end - r->said), "%s%c%u%s",
		 *r->said ? " " : "", 'a' + k, request.count, why == TURNS_CLOSED ? "x" : "");
	request.count++;
	if (why == TURNS_NEXT && request.count <= *needs)
		assert_int_equal(turns_add(r->turns, request, NULL), 0);
}

static void open_rig(struct rig *r)
{
	struct err err = { "" };

	assert_true(sd_event_new(&r->event) >= 0);
	assert_int_equal(turns_open(r->event, take_turn, r, &r->turns, &err), 0);
}

static void run_events(struct rig *r)
{
	while (sd_event_run(r->event, 50000) > 0)
		;
}

static void add_page(struct rig *r, int k, unsigned needs)
{
	r->needs[k] = needs;
	assert_int_equal(turns_add(r->turns, (struct turns_request){ &r->needs[k], 1 }, NULL),
			 0);
}

static void pages_take_turns_until_each_is_done(void **state)
{
	struct rig r = { .said = "" };

	(void)state;
	open_rig(&r);
	add_page(&r, 0, 3);
	add_page(&r, 1, 1);
	add_page(&r, 2, 2);
	run_events(&r);
	assert_string_equal(r.said, "a1 b1 c1 a2 c2 a3");
	/* And again after a time without any. */
	add_page(&r, 1, 2);
	run_events(&r);
	assert_string_equal(r.said, "a1 b1 c1 a2 c2 a3 b1 b2");
	turns_close(r.turns);
	assert_string_equal(r.said, "a1 b1 c1 a2 c2 a3 b1 b2");
	sd_event_unref(r.event);
}

static int set_flag(sd_event_source *source, uint64_t us, void *ctx)
{
	struct rig *r = ctx;

	(void)source;
	(void)us;
	r->needs[0] = 0; /* the page is done in its next turn */
	return 0;
}

/* A page that is never done does not keep the loop from its other work. */
static void other_events_come_between_two_turns(void **state)
{
	struct rig r = { .said = "" };

	(void)state;
	open_rig(&r);
	assert_true(sd_event_add_time_relative(r.event, NULL, CLOCK_MONOTONIC, 5000, 1,
					       set_flag, &r) >= 0);
	add_page(&r, 0, UINT32_MAX);
	for (int i = 0; i < 100000 && r.needs[0]; i++)
		sd_event_run(r.event, 50000);
	assert_int_equal(r.needs[0], 0);
	turns_close(r.turns);
	sd_event_unref(r.event);
}

static int stay_busy(sd_event_source *source, void *ctx)
{
	unsigned *n = ctx;

	(void)source;
	++*n;
	return 0;
}

/* There is always something else to do; *n counts it. */
static void open_busy_rig(struct rig *r, sd_event_source **ret_busy, unsigned *n)
{
	open_rig(r);
	assert_true(sd_event_add_defer(r->event, ret_busy, stay_busy, n) >= 0);
	assert_true(sd_event_source_set_enabled(*ret_busy, SD_EVENT_ON) >= 0);
}

/* Where there is always something else to do, turns come by the clock. */
static void a_busy_loop_has_turns_by_the_clock(void **state)
{
	struct rig r = { .said = "" };
	sd_event_source *busy;
	unsigned n = 0;

	(void)state;
	open_busy_rig(&r, &busy, &n);
	add_page(&r, 0, 2);
	while (!strstr(r.said, "a2"))
		assert_true(sd_event_run(r.event, UINT64_MAX) > 0);
	assert_string_equal(r.said, "a1 a2");
	assert_true(n > 100);
	sd_event_source_disable_unref(busy);
	turns_close(r.turns);
	sd_event_unref(r.event);
}

/* One by one, many short requests would each wait for the clock. */
static void short_ones_that_wait_are_done_together(void **state)
{
	struct rig r = { .said = "" };
	sd_event_source *busy;
	unsigned n = 0;

	(void)state;
	open_busy_rig(&r, &busy, &n);
	add_page(&r, 0, 2);
	add_page(&r, 1, 1);
	add_page(&r, 2, 1);
	while (!*r.said)
		assert_true(sd_event_run(r.event, UINT64_MAX) > 0);
	assert_string_equal(r.said, "a1 b1 c1");
	sd_event_source_disable_unref(busy);
	turns_close(r.turns);
	assert_string_equal(r.said, "a1 b1 c1 a2x");
	sd_event_unref(r.event);
}

static void pages_that_wait_are_told_of_the_end(void **state)
{
	struct rig r = { .said = "" };

	(void)state;
	open_rig(&r);
	add_page(&r, 0, 5);
	add_page(&r, 2, 5);
	turns_close(r.turns);
	assert_string_equal(r.said, "a1x c1x");
	sd_event_unref(r.event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_take_turns_until_each_is_done),
		cmocka_unit_test(other_events_come_between_two_turns),
		cmocka_unit_test(a_busy_loop_has_turns_by_the_clock),
		cmocka_unit_test(short_ones_that_wait_are_done_together),
		cmocka_unit_test(pages_that_wait_are_told_of_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
