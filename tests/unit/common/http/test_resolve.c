/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_resolve - names are resolved in a thread: each question is answered once, in the loop, or never where it was freed before; also when many
 * are asked at once. Under the thread sanitizer in `make check-all`. */
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <systemd/sd-event.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/http/resolve.h"

#define QUESTIONS 60

static sd_event *event;
static int n_answers, n_found, n_freed_answers;
static struct resolve *open_questions[QUESTIONS];

static void on_answer(void *ctx, int e, struct addrinfo *found)
{
	n_answers++;
	n_found += e == 0 && found;
	if (ctx)
		*(struct resolve **)ctx = NULL;
	if (found)
		freeaddrinfo(found);
}

static void on_freed_answer(void *ctx, int e, struct addrinfo *found)
{
	(void)ctx, (void)e, (void)found;
	n_freed_answers++;
}

static struct resolve *ask_host(const char *host, resolve_done_fn done, void *ctx)
{
	struct resolve *r;
	struct err err = { "" };

	if (resolve_start(event, (struct resolve_host){ host, "80", done, ctx }, &r, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static int set_up(void **state)
{
	(void)state;
	n_answers = n_found = n_freed_answers = 0;
	return sd_event_new(&event) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	event = sd_event_unref(event);
	return 0;
}

static void run_until(int n)
{
	for (int turns = 0; n_answers < n && turns < 400; turns++)
		sd_event_run(event, 50000);
	assert_int_equal(n_answers, n);
}

static void many_names_are_answered_once_each(void **state)
{
	(void)state;
	for (int i = 0; i < QUESTIONS; i++)
		open_questions[i] = ask_host("localhost", on_answer, &open_questions[i]);
	run_until(QUESTIONS);
	for (int i = 0; i < QUESTIONS; i++)
		assert_null(open_questions[i]);
	assert_int_equal(n_found, QUESTIONS);
	sd_event_run(event, 1000);
	assert_int_equal(n_answers, QUESTIONS);
}

/* The thread may be before, in, or behind its look-up. */
static void what_is_freed_is_never_answered(void **state)
{
	(void)state;
	for (int i = 0; i < QUESTIONS; i++) {
		struct resolve *r = ask_host("localhost", on_freed_answer, NULL);

		usleep((useconds_t)(i % 6) * 100);
		assert_null(resolve_free(r));
	}
	ask_host("127.0.0.1", on_answer, NULL);
	run_until(1);
	assert_int_equal(n_freed_answers, 0);
	usleep(100000); /* the threads end before the sanitizers look for leaks */
}

static void a_number_and_no_name_are_answered_from_the_loop(void **state)
{
	(void)state;
	ask_host("127.0.0.1", on_answer, NULL);
	ask_host("no host.invalid", on_answer, NULL);
	assert_int_equal(n_answers, 0);
	run_until(2);
	assert_int_equal(n_found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_names_are_answered_once_each, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_freed_is_never_answered, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_number_and_no_name_are_answered_from_the_loop,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
