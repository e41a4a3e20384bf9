/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_forecast - a forecast that takes long is computed by a worker, once for all who ask; until then the start is not known yet; and
 * a worker that stops on request ends at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <time.h>
#include <cmocka.h>
#include "common/clock.h"
#include "controller/dispatch/cycle_impl.h"
#include "controller/http/workers.h"

#define NODES 400
#define RUNNING (4 * NODES)
#define QUEUED 20000

struct world {
	sd_event *event;
	struct workers *workers;
	struct cycle cycle;
	struct cycle_cluster cluster;
};

/* Every job ends at another time, so that the future has thousands of passes. */
static struct schedule *make_schedule(int running, int queued)
{
	const struct schedule_config c = { .rule = SCHEDULE_PRIORITY, .tries_max = 8 };
	const struct schedule_node node = { .cores = 64,
					    .mem_bytes = 1 << 20,
					    .is_open = true };
	struct schedule *s = NULL;
	int32_t job;

	assert_int_equal(schedule_new(&c, &s), 0);
	schedule_edit_begin(s);
	for (int i = 0; i < NODES; i++)
		assert_int_equal(schedule_add_node(s, &node), 0);
	for (int i = 0; i < running + queued; i++) {
		struct schedule_chunk chunk = { .cores = 16, .mem_bytes = 1, .n = 1 };
		const struct schedule_job j = { .id = i + 1,
						.chunks = &chunk,
						.n_chunks = 1,
						.submit_s = i,
						.limit_s = 1000 + (i * 7919) % 100003 };
		int32_t at = i % NODES;
		const struct schedule_allocation h = { SCHEDULE_RUNNING, &at, 0 };

		if (i >= running)
			chunk.cores = 1 + i % 48;
		assert_int_equal(i < running ? schedule_add_allocated(s, &j, &h, &job)
					     : schedule_add(s, &j, &job),
				 0);
	}
	assert_int_equal(schedule_edit_end(s), 0);
	return s;
}

static void open_world(struct world *w, int running, int queued)
{
	*w = (struct world){ .cycle.clusters = &w->cluster };
	strcpy(w->cluster.name, "main");
	w->cluster.cluster.schedule = make_schedule(running, queued);
	w->cluster.cluster.now_ns = S_NS;
	assert_true(sd_event_new(&w->event) >= 0);
	assert_int_equal(workers_open(w->event, 1, &w->workers, NULL), 0);
	cycle_set_workers(&w->cycle, w->workers);
}

static void close_world(struct world *w)
{
	workers_close(w->workers);
	forecast_done(&w->cluster.forecast);
	schedule_free(w->cluster.cluster.schedule);
	sd_event_unref(w->event);
}

static enum dispatch_start ask_start(struct world *w, int64_t job, int64_t *ret)
{
	return dispatch_start(&w->cycle, "main", job, ret);
}

static void a_worker_computes_what_takes_long_once_for_all(void **state)
{
	const struct forecast_task *task;
	struct world w;
	int64_t at_s, again_s, begun_ns;

	(void)state;
	open_world(&w, RUNNING, QUEUED);
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	assert_int_equal(ask_start(&w, RUNNING + 1, &at_s), DISPATCH_START_PENDING);
	printf("# the first answer took %.1f ms\n",
	       (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / 1e6);
	task = w.cluster.forecast.task;
	assert_non_null(task);
	assert_int_equal(ask_start(&w, RUNNING + 2, &at_s), DISPATCH_START_PENDING);
	assert_ptr_equal(w.cluster.forecast.task, task);
	while (w.cluster.forecast.task)
		assert_true(sd_event_run(w.event, UINT64_MAX) >= 0);
	assert_int_equal(ask_start(&w, RUNNING + 1, &at_s), DISPATCH_START_KNOWN);
	assert_int_equal(ask_start(&w, RUNNING + QUEUED + 9, &again_s), DISPATCH_START_NONE);
	/* The next cycle: what is known counts until the pause is over and the next forecast is there. */
	w.cluster.cluster.now_ns += S_NS;
	assert_int_equal(ask_start(&w, RUNNING + 1, &again_s), DISPATCH_START_KNOWN);
	assert_int_equal(again_s, at_s);
	close_world(&w);
}

static void a_worker_that_is_told_to_stop_ends_at_once(void **state)
{
	struct world w;
	int64_t at_s, begun_ns;

	(void)state;
	open_world(&w, RUNNING, 2 * QUEUED);
	assert_int_equal(ask_start(&w, RUNNING + 1, &at_s), DISPATCH_START_PENDING);
	cycle_stop(&w.cycle);
	begun_ns = clock_ns(CLOCK_MONOTONIC);
	workers_drain(w.workers);
	assert_true(clock_ns(CLOCK_MONOTONIC) - begun_ns < S_NS);
	assert_null(w.cluster.forecast.task);
	assert_int_equal(w.cluster.forecast.cycle_ns, 0);
	close_world(&w);
}

static void a_short_one_is_known_at_once(void **state)
{
	struct world w;
	int64_t at_s;

	(void)state;
	open_world(&w, 4, 3);
	assert_int_equal(ask_start(&w, 5, &at_s), DISPATCH_START_KNOWN);
	assert_int_equal(ask_start(&w, 1, &at_s), DISPATCH_START_NONE);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_worker_computes_what_takes_long_once_for_all),
		cmocka_unit_test(a_worker_that_is_told_to_stop_ends_at_once),
		cmocka_unit_test(a_short_one_is_known_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
