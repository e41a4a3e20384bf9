/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_workers - tasks done by threads: each once, the results in the loop; what waits when they are drained, and what comes after. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "controller/http/workers.h"

#define MANY 1000

static pthread_t loop;
static int n_done, n_not_worked;

/* A sum, made by a thread. */
struct adding {
	struct worker_task task;
	int a, b, sum;
	bool was_in_loop;
	sem_t *begun, *may_end; /* NULL: it does not wait */
	bool is_done, has_worked;
};

static void add_up(struct worker_task *t)
{
	struct adding *a = (struct adding *)t;

	if (a->begun)
		sem_post(a->begun);
	while (a->may_end && sem_wait(a->may_end) < 0)
		;
	a->sum = a->a + a->b;
	a->was_in_loop = pthread_equal(pthread_self(), loop);
}

static void note_done(struct worker_task *t, bool has_worked)
{
	struct adding *a = (struct adding *)t;

	assert_true(pthread_equal(pthread_self(), loop));
	assert_false(a->is_done);
	a->is_done = true;
	a->has_worked = has_worked;
	n_done++;
	n_not_worked += !has_worked;
}

static struct adding adding_of(int a, int b)
{
	return (struct adding){ .task = { .work = add_up, .done = note_done }, .a = a, .b = b };
}

struct rig {
	struct sd_event *event;
	struct workers *w;
};

static void open_rig(struct rig *r, int n_threads)
{
	struct err err = { "" };

	loop = pthread_self();
	n_done = n_not_worked = 0;
	assert_true(sd_event_new(&r->event) >= 0);
	assert_int_equal(workers_open(r->event, n_threads, &r->w, &err), 0);
}

static void close_rig(struct rig *r)
{
	r->w = workers_close(r->w);
	r->event = sd_event_unref(r->event);
}

static void each_task_is_done_once_and_ends_in_the_loop(void **state)
{
	static struct adding of[MANY];
	struct rig r;

	(void)state;
	open_rig(&r, 3);
	for (int i = 0; i < MANY; i++) {
		of[i] = adding_of(i, 1);
		workers_add(r.w, &of[i].task);
	}
	while (n_done < MANY)
		assert_true(sd_event_run(r.event, 10 * 1000 * 1000) > 0);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(of[i].sum, i + 1);
		assert_true(of[i].has_worked);
		assert_false(of[i].was_in_loop);
	}
	close_rig(&r);
	assert_int_equal(n_done, MANY);
}

static void what_waits_ends_without_work_when_they_are_drained(void **state)
{
	struct adding slow = adding_of(1, 2), second = adding_of(3, 4), after = adding_of(5, 6);
	sem_t begun, may_end;
	struct rig r;

	(void)state;
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	slow.begun = &begun;
	slow.may_end = &may_end;
	open_rig(&r, 1);
	workers_add(r.w, &slow.task);
	workers_add(r.w, &second.task);
	sem_wait(&begun);
	sem_post(&may_end);
	/* The second may have begun, too: done() says which. */
	workers_drain(r.w);
	assert_int_equal(n_done, 2);
	assert_true(slow.has_worked);
	assert_int_equal(slow.sum, 3);
	assert_int_equal(second.sum, second.has_worked ? 7 : 0);
	workers_add(r.w, &after.task);
	assert_true(after.is_done);
	assert_true(after.was_in_loop);
	assert_int_equal(after.sum, 11);
	close_rig(&r);
	assert_int_equal(n_done, 3);
	sem_destroy(&begun);
	sem_destroy(&may_end);
}

/* All threads are kept from working, so that what comes then must wait. */
static void none_is_forgotten_at_the_end(void **state)
{
	struct adding slow[2] = { adding_of(1, 1), adding_of(1, 1) };
	struct adding waiting[50];
	sem_t begun, may_end;
	struct rig r;

	(void)state;
	sem_init(&begun, 0, 0);
	sem_init(&may_end, 0, 0);
	open_rig(&r, 2);
	for (int i = 0; i < 2; i++) {
		slow[i].begun = &begun;
		slow[i].may_end = &may_end;
		workers_add(r.w, &slow[i].task);
	}
	sem_wait(&begun);
	sem_wait(&begun);
	for (int i = 0; i < 50; i++) {
		waiting[i] = adding_of(i, i);
		workers_add(r.w, &waiting[i].task);
	}
	sem_post(&may_end);
	sem_post(&may_end);
	close_rig(&r);
	assert_int_equal(n_done, 52);
	for (int i = 0; i < 50; i++)
		assert_int_equal(waiting[i].sum, waiting[i].has_worked ? 2 * i : 0);
	sem_destroy(&begun);
	sem_destroy(&may_end);
}

static void tasks_come_one_after_the_other(void **state)
{
	struct rig r;
	struct adding one = adding_of(1, 2), two = adding_of(2, 2);

	(void)state;
	open_rig(&r, 2);
	workers_add(r.w, &one.task);
	while (n_done < 1)
		assert_true(sd_event_run(r.event, 10 * 1000 * 1000) > 0);
	workers_add(r.w, &two.task);
	while (n_done < 2)
		assert_true(sd_event_run(r.event, 10 * 1000 * 1000) > 0);
	assert_int_equal(two.sum, 4);
	close_rig(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_is_done_once_and_ends_in_the_loop),
		cmocka_unit_test(what_waits_ends_without_work_when_they_are_drained),
		cmocka_unit_test(none_is_forgotten_at_the_end),
		cmocka_unit_test(tasks_come_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
