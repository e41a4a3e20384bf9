/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store_hooks - events are read in order with what a hook needs of the job; an idle period of a GPU is
 * one event, also over restarts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/model/mail.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/hooks.h"
#include "tests/unit/rig/ledger_rig.h"

#define IDLE_NS (600 * S_NS)

/* "give/queued running/started ...": each event with its flags. */
struct told {
	char text[1024];
	int64_t last;
};

static int on_happening(void *ctx, const struct store_happening *h, struct err *err)
{
	struct told *t = ctx;
	size_t n = strlen(t->text);

	(void)err;
	assert_true(h->id > t->last);
	assert_int_equal(h->uid, h->job ? 1001 : 0);
	t->last = h->id;
	snprintf(t->text + n, sizeof(t->text) - n, "%s%s%s%s%s%s", n ? " " : "", h->what,
		 h->job && h->is_queued ? "/queued" : "", h->has_run ? "/run" : "",
		 h->has_started ? "/started" : "", h->was_killed ? "/killed" : "");
	return 0;
}

static const char *told_since(struct rig *r, int64_t place)
{
	static struct told t;

	t = (struct told){ .last = place };
	assert_true(store_happenings(r->store, (struct store_happenings){ place, 100 },
				     on_happening, &t, NULL) >= 0);
	return t.text;
}

static int64_t place_now(struct rig *r)
{
	int64_t place = -1;

	assert_int_equal(store_last_place(r->store, &place, NULL), 0);
	return place;
}

static void the_events_of_a_job_come_in_order(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), before = place_now(r);

	assert_string_equal(told_since(r, 0), "submit/queued register give/queued");
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), NOON + S_NS);
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 2), NOON + 2 * S_NS);
	rig_send_report(r, rig_report(job, 3, JOB_SUSPENDED, 2), NOON + 3 * S_NS);
	rig_send_report(r, rig_report(job, 4, JOB_RUNNING, 3), NOON + 4 * S_NS);
	rig_send_report(r, rig_report(job, 5, JOB_ENDED, 4), NOON + 5 * S_NS);
	assert_string_equal(told_since(r, before), "running/started suspended/run/started "
						   "running/run/started ended/run/started");
}

static void a_job_known_by_its_end_alone_has_a_start_event(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), before = place_now(r);
	struct report rep = rig_report(job, 1, JOB_ENDED, 1);

	rep.end.kind = END_LIMIT;
	rep.end.reason.limit = LIMIT_VMEM;
	rig_send_report(r, rep, NOON + S_NS);
	assert_string_equal(told_since(r, before), "ended/started/killed");
}

static void a_cancelled_job_has_an_event(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), before = place_now(r);
	struct store_desired_change w = { .job = job,
					  .want = DESIRED_CANCEL,
					  .reason = "cancelled by alice",
					  .now_ns = NOON };
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(r->store, &w, node, NULL), 0);
	assert_string_equal(told_since(r, before), "cancel");
}

static void events_are_read_in_pages_and_none_twice(void **state)
{
	struct rig *r = *state;
	struct told t = { .last = 0 };
	int n;

	rig_job(r, NOON);
	rig_job(r, NOON);
	do
		n = store_happenings(r->store, (struct store_happenings){ t.last, 2 },
				     on_happening, &t, NULL);
	while (n == 2);
	assert_string_equal(t.text, told_since(r, 0));
}

static void the_position_of_a_hook_is_kept_until_the_hook_is_removed(void **state)
{
	struct rig *r = *state;
	int64_t place = 0;

	assert_int_equal(store_load_place(r->store, &place, NULL), -ENOENT);
	assert_int_equal(store_save_place(r->store, 41, NULL), 0);
	assert_int_equal(store_save_place(r->store, 42, NULL), 0);
	rig_reopen(r);
	assert_int_equal(store_load_place(r->store, &place, NULL), 0);
	assert_int_equal(place, 42);
	assert_int_equal(store_forget_place(r->store, NULL), 0);
	assert_int_equal(store_load_place(r->store, &place, NULL), -ENOENT);
}

/* ---- allocated but idle ---- */

static void idle_for(struct rig *r, int64_t job, int64_t seq, int64_t idle_ns)
{
	struct report rep = rig_report(job, seq, JOB_RUNNING, seq);

	usage_set(&rep.usage, &rep.usage.gpu_idle_ns, idle_ns);
	rig_send_report(r, rep, NOON + seq * S_NS);
}

static void an_idle_period_is_one_event_also_over_a_restart(void **state)
{
	struct rig *r = *state;
	int64_t job, before;

	store_set_gpu_idle(r->store, IDLE_NS);
	job = rig_job(r, NOON);
	idle_for(r, job, 1, IDLE_NS - 1);
	before = place_now(r);
	idle_for(r, job, 2, IDLE_NS);
	idle_for(r, job, 3, IDLE_NS + 1);
	assert_string_equal(told_since(r, before), "gpu-idle/run/started");
	rig_reopen(r);
	store_set_gpu_idle(r->store, IDLE_NS);
	before = place_now(r);
	idle_for(r, job, 4, IDLE_NS + 2);
	assert_string_equal(told_since(r, before), "");
	rig_send_report(r, rig_report(job, 5, JOB_RUNNING, 5),
			NOON + 5 * S_NS); /* not measured */
	assert_string_equal(told_since(r, before), "");
	idle_for(r, job, 6, 0);
	idle_for(r, job, 7, 1);
	idle_for(r, job, 8, IDLE_NS);
	assert_string_equal(told_since(r, before), "gpu-busy/run/started gpu-idle/run/started");
}

static void without_a_gpu_idle_time_there_is_no_idle_event(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), before;

	idle_for(r, job, 1, 0);
	before = place_now(r);
	idle_for(r, job, 2, 1000 * IDLE_NS);
	assert_string_equal(told_since(r, before), "");
}

/* A job of an hour has run so many seconds. */
static void run_for(struct rig *r, int64_t job, int64_t seq, int64_t running_s)
{
	rig_send_report(r, rig_report(job, seq, JOB_RUNNING, running_s),
			NOON + running_s * S_NS);
}

static void a_part_of_the_walltime_is_one_event_also_over_a_restart(void **state)
{
	struct rig *r = *state;
	int64_t job, before;

	r->mail_types = MAIL_TIME_50 | MAIL_TIME_80 | MAIL_TIME_90;
	job = rig_job(r, NOON);
	run_for(r, job, 1, 1799);
	before = place_now(r);
	run_for(r, job, 2, 1800);
	run_for(r, job, 3, 1801);
	assert_string_equal(told_since(r, before), "walltime-50/run/started");
	rig_reopen(r);
	before = place_now(r);
	run_for(r, job, 3, 1801);
	run_for(r, job, 4, 2879);
	assert_string_equal(told_since(r, before), "");
	run_for(r, job, 5, 2881);
	run_for(r, job, 6, 3300);
	run_for(r, job, 7, 3400);
	assert_string_equal(told_since(r, before),
			    "walltime-80/run/started walltime-90/run/started");
}

static void of_parts_that_pass_together_the_largest_that_was_asked_for_is_an_event(void **state)
{
	struct rig *r = *state;
	int64_t job, before;

	r->mail_types = MAIL_TIME_50 | MAIL_TIME_80 | MAIL_END;
	job = rig_job(r, NOON);
	run_for(r, job, 1, 1);
	before = place_now(r);
	run_for(r, job, 2, 3500);
	assert_string_equal(told_since(r, before), "walltime-80/run/started");
}

static void a_walltime_that_passes_is_no_event_unasked_or_at_the_end(void **state)
{
	struct rig *r = *state;
	int64_t job, other, before;

	r->mail_types = MAIL_END | MAIL_TIME_LIMIT;
	job = rig_job(r, NOON);
	r->mail_types = MAIL_TIME_80;
	other = rig_job(r, NOON);
	run_for(r, job, 1, 1);
	run_for(r, other, 1, 1);
	before = place_now(r);
	run_for(r, job, 2, 3500);
	assert_string_equal(told_since(r, before), "");
	rig_send_report(r, rig_report(other, 2, JOB_ENDED, 3500), NOON + 3500 * S_NS);
	assert_string_equal(told_since(r, before), "ended/run/started");
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_events_of_a_job_come_in_order),
		TEST(a_job_known_by_its_end_alone_has_a_start_event),
		TEST(a_cancelled_job_has_an_event),
		TEST(events_are_read_in_pages_and_none_twice),
		TEST(the_position_of_a_hook_is_kept_until_the_hook_is_removed),
		TEST(an_idle_period_is_one_event_also_over_a_restart),
		TEST(without_a_gpu_idle_time_there_is_no_idle_event),
		TEST(a_part_of_the_walltime_is_one_event_also_over_a_restart),
		TEST(of_parts_that_pass_together_the_largest_that_was_asked_for_is_an_event),
		TEST(a_walltime_that_passes_is_no_event_unasked_or_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
