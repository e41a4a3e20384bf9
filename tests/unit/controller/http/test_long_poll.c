/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_long_poll - each waiter is woken once: by its key alone, at its deadline, or when the controller closes, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <cmocka.h>
#include "common/clock.h"
#include "common/err.h"
#include "controller/http/long_poll.h"

#define MANY 3000

struct waiter {
	int n_woken; /* in all */
	enum long_poll_why why;
	bool goes_on; /* when it is woken */
	int64_t at;   /* which one to be woken */
};

static int64_t n_woken;

static bool note_wake(void *ctx, enum long_poll_why why)
{
	struct waiter *w = ctx;

	w->n_woken++;
	w->why = why;
	w->at = n_woken++;
	return why != LONG_POLL_WOKEN || !w->goes_on;
}

struct rig {
	sd_event *event;
	struct long_poll *poll;
	struct waiter of[MANY];
};

static void open_rig(struct rig *r)
{
	struct err err;

	memset(r, 0, sizeof(*r));
	n_woken = 0;
	assert_true(sd_event_new(&r->event) >= 0);
	assert_int_equal(long_poll_open(r->event, &r->poll, &err), 0);
}

static void close_rig(struct rig *r)
{
	long_poll_close(r->poll);
	sd_event_unref(r->event);
}

static void add_waiter(struct rig *r, int i, const char *key, int64_t deadline_ns)
{
	struct long_poll_waiter w = { .kind = i % 2 ? LONG_POLL_JOB : LONG_POLL_NODE,
				      .deadline_ns = deadline_ns,
				      .wake = note_wake,
				      .ctx = &r->of[i] };
	struct err err;

	snprintf(w.key, sizeof(w.key), "%s", key);
	assert_int_equal(long_poll_add(r->poll, &w, &err), 0);
}

static void a_key_wakes_its_own_waiters_alone(void **state)
{
	static struct rig r;
	char key[32];

	(void)state;
	open_rig(&r);
	for (int i = 0; i < MANY; i++) {
		snprintf(key, sizeof(key), "n%d", i / 4);
		add_waiter(&r, i, key, INT64_MAX);
	}
	long_poll_wake(r.poll, LONG_POLL_NODE, "n100");
	long_poll_replace(r.poll, LONG_POLL_JOB, "n200");
	long_poll_wake(r.poll, LONG_POLL_NODE, "n");
	for (int i = 0; i < MANY; i++)
		assert_int_equal(r.of[i].n_woken,
				 (i / 4 == 100 && i % 2 == 0) || (i / 4 == 200 && i % 2));
	assert_int_equal(r.of[400].why, LONG_POLL_WOKEN);
	assert_int_equal(r.of[801].why, LONG_POLL_REPLACED);
	assert_int_equal(long_poll_count(r.poll), MANY - 4);
	close_rig(&r);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(r.of[i].n_woken, 1);
	assert_int_equal(r.of[0].why, LONG_POLL_CLOSED);
}

static void keys_below_are_woken_with_it_and_alone(void **state)
{
	static const char *const keys[] = { "12", "12.1", "12.1", "120", "1", "12.10" };
	static struct rig r;

	(void)state;
	open_rig(&r);
	for (int i = 0; i < 6; i++)
		add_waiter(&r, 2 * i + 1, keys[i], INT64_MAX);
	long_poll_wake(r.poll, LONG_POLL_JOB, "12.1");
	assert_int_equal(n_woken, 2);
	long_poll_wake_all(r.poll, LONG_POLL_JOB, "12");
	assert_int_equal(n_woken, 4);
	assert_int_equal(r.of[7].n_woken + r.of[9].n_woken, 0); /* 120, 1 */
	close_rig(&r);
}

static void one_that_goes_on_is_woken_again(void **state)
{
	static struct rig r;

	(void)state;
	open_rig(&r);
	r.of[1].goes_on = true;
	add_waiter(&r, 1, "7", INT64_MAX);
	long_poll_wake(r.poll, LONG_POLL_JOB, "7");
	long_poll_wake(r.poll, LONG_POLL_JOB, "7");
	assert_int_equal(r.of[1].n_woken, 2);
	assert_int_equal(long_poll_count(r.poll), 1);
	close_rig(&r);
}

/* Deadlines in no order, some of them woken before: each that is due is woken in the order of the deadlines, and no other. */
static void deadlines_are_kept_in_order(void **state)
{
	static struct rig r;
	int64_t now = clock_ns(CLOCK_MONOTONIC), last = -1;
	char key[32];

	(void)state;
	open_rig(&r);
	for (int i = 0; i < MANY; i++) {
		int place = i * 7919 % MANY;

		snprintf(key, sizeof(key), "n%d", i);
		add_waiter(&r, i, key,
			   place < MANY / 2 ? now + place * 1000 : now + 3600 * S_NS + place);
	}
	for (int i = 0; i < MANY; i += 3) {
		snprintf(key, sizeof(key), "n%d", i);
		long_poll_wake(r.poll, i % 2 ? LONG_POLL_JOB : LONG_POLL_NODE, key);
	}
	for (int i = 0; i < 1000 && long_poll_count(r.poll) > MANY / 2 - MANY / 6; i++)
		assert_true(sd_event_run(r.event, 20000) >= 0);
	assert_true(sd_event_run(r.event, 20000) >=
		    0); /* none of the others comes before its time */
	for (int place = 0; place < MANY; place++) {
		int i = 0;

		while (i * 7919 % MANY != place)
			i++;
		assert_int_equal(r.of[i].n_woken, place < MANY / 2 || i % 3 == 0);
		if (i % 3 == 0 || place >= MANY / 2)
			continue;
		assert_int_equal(r.of[i].why, LONG_POLL_EXPIRED);
		assert_true(r.of[i].at > last);
		last = r.of[i].at;
	}
	close_rig(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_wakes_its_own_waiters_alone),
		cmocka_unit_test(keys_below_are_woken_with_it_and_alone),
		cmocka_unit_test(one_that_goes_on_is_woken_again),
		cmocka_unit_test(deadlines_are_kept_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
