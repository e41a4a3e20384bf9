/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue of events for a site's program (controller/hooks/hooks_queue.h): no user's events take another's place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/hooks/hooks_queue.h"

#define MAX 8

struct event {
	struct hooks_item item;
	int64_t uid;
	char name;
	bool is_here;
};
static struct event events[256];
static struct hooks_queue queue;

static struct event *event_of(struct hooks_item *item)
{
	return (struct event *)item;
}

/* Adds an event as the controller does. The dropped event, itself or another; 0: none. */
static char add_event(char name, int64_t uid)
{
	struct event *e = &events[(unsigned char)name];
	struct hooks_item *surplus;
	char dropped = 0;

	if (!hooks_queue_has_room(&queue, uid, MAX, &surplus))
		return name;
	if (surplus) {
		dropped = event_of(surplus)->name;
		event_of(surplus)->is_here = false;
		hooks_queue_remove(&queue, surplus);
	}
	*e = (struct event){ .uid = uid, .name = name, .is_here = true };
	assert_int_equal(hooks_queue_add(&queue, &e->item, uid), 0);
	return dropped;
}

static void add_events(const char *names, int64_t uid)
{
	for (; *names; names++)
		assert_int_equal(add_event(*names, uid), 0);
}

static const char *names_in_order(void)
{
	static char names[sizeof(events)];
	size_t n = 0;

	for (struct hooks_item *i = queue.first; i; i = i->next)
		names[n++] = event_of(i)->name;
	names[n] = '\0';
	return names;
}

static int empty_queue(void **unused)
{
	(void)unused;
	while (queue.first)
		hooks_queue_remove(&queue, queue.first);
	memset(events, 0, sizeof(events));
	assert_null(queue.last);
	assert_null(queue.owners);
	assert_int_equal(queue.n_waiting, 0);
	return 0;
}

static void one_user_alone_has_all_of_it(void **unused)
{
	(void)unused;
	add_events("abcdefgh", 1);
	assert_int_equal(add_event('i', 1), 'i');
	assert_string_equal(names_in_order(), "abcdefgh");
}

static void an_event_of_another_user_takes_the_newest_place_of_the_first(void **unused)
{
	(void)unused;
	add_events("abcdefgh", 1);
	assert_int_equal(add_event('A', 2), 'h');
	assert_int_equal(add_event('N', HOOKS_QUEUE_SITE), 'g');
	assert_string_equal(names_in_order(), "abcdefAN");
	/* Up to an equal share. */
	assert_int_equal(add_event('B', 2), 'f');
	assert_int_equal(add_event('C', 2), 'e');
	assert_int_equal(add_event('D', 2), 'D');
	assert_string_equal(names_in_order(), "abcdANBC");
}

static void what_the_program_runs_for_is_not_dropped(void **unused)
{
	(void)unused;
	add_events("abcdefgh", 1);
	hooks_queue_begin(&queue, &events['h'].item);
	hooks_queue_begin(&queue, &events['a'].item);
	add_events("ij", 1);
	assert_int_equal(queue.n_waiting, MAX);
	assert_int_equal(add_event('A', 2), 'j');
	assert_int_equal(add_event('B', 2), 'i');
	assert_int_equal(add_event('C', 2), 'g');
	/* An event that runs again is older than all that wait. */
	hooks_queue_remove(&queue, &events['C'].item);
	hooks_queue_defer(&queue, &events['h'].item);
	assert_int_equal(add_event('D', 3), 'f');
	assert_string_equal(names_in_order(), "abcdehABD");
}

/* Events are added and taken at random: counts are true, and no user who has less than an equal share loses one. */
static void a_user_below_an_equal_share_loses_nothing(void **unused)
{
	uint64_t random = 7;

	(void)unused;
	for (int n = 0; n < 20000; n++) {
		struct event *e;
		int64_t n_of[5] = { 0 }, waiting = 0;

		random = random * 6364136223846793005U + 1442695040888963407U;
		e = &events[33 + (random >> 33) % 90];
		for (struct hooks_item *i = queue.first; i; i = i->next) {
			n_of[event_of(i)->uid] += i->is_waiting;
			waiting += i->is_waiting;
		}
		assert_int_equal(queue.n_waiting, waiting);
		assert_true(waiting <= MAX + 2);
		if (e->is_here && e->item.is_waiting && random >> 60 < 8) {
			hooks_queue_begin(&queue, &e->item);
		} else if (e->is_here) {
			hooks_queue_remove(&queue, &e->item);
			e->is_here = false;
		} else {
			char name = (char)(e - events), dropped;
			int64_t uid = (int64_t)(random >> 50) % 5;

			dropped = add_event(name, uid);
			if (dropped && dropped != name)
				assert_true(n_of[events[(unsigned char)dropped].uid] >
					    n_of[uid] + 1);
			if (dropped == name)
				for (size_t u = 0; u < ARRAY_LEN(n_of); u++)
					assert_true(n_of[u] <= n_of[uid] + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(one_user_alone_has_all_of_it, empty_queue),
		cmocka_unit_test_teardown(
			an_event_of_another_user_takes_the_newest_place_of_the_first,
			empty_queue),
		cmocka_unit_test_teardown(what_the_program_runs_for_is_not_dropped,
					  empty_queue),
		cmocka_unit_test_teardown(a_user_below_an_equal_share_loses_nothing,
					  empty_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
