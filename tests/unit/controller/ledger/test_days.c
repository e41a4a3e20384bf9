/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_days - a ledger keeps the days of its zone, whatever clocks do. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/verify_rig.h"

static void reopen_in(struct rig *r, const char *zone)
{
	struct err err = { "" };

	r->store = store_close(r->store);
	if (store_open_zone(r->path, zone, &r->store, &err) < 0)
		fail_msg("%s", err.text);
}

/* Running time of an association on a day, in seconds. */
static int64_t ran_on(struct rig *r, const char *day)
{
	struct db_row *row;
	int64_t number, ms = 0;

	assert_int_equal(calendar_parse_day(day, &number), 0);
	assert_int_equal(db_query(r->store->db, NULL, &row,
				  "SELECT running_ms FROM rollups WHERE day = ?1", "i", number),
			 0);
	while (db_step(r->store->db, row, NULL) > 0)
		ms += db_int(row, 0);
	return ms / 1000;
}

static int64_t first_s(struct rig *r, const char *day)
{
	int64_t number;

	assert_int_equal(calendar_parse_day(day, &number), 0);
	return calendar_first_ns(r->store->calendar, number) / S_NS;
}

/* A job that runs from `from_s` on, with `reports` reports. */
static void run_job(struct rig *r, int64_t from_s, int64_t run_s, int reports)
{
	int64_t job = rig_job(r, from_s * S_NS);

	for (int i = 1; i <= reports; i++) {
		int64_t done_s = run_s * i / reports;
		struct report rep =
			rig_report(job, i, i < reports ? JOB_RUNNING : JOB_ENDED, done_s);

		rep.started_ns = from_s * S_NS;
		rep.at_ns = (from_s + done_s) * S_NS;
		if (rep.ended_ns)
			rep.ended_ns = rep.at_ns;
		rig_send_report(r, rep, rep.at_ns);
	}
}

static void days_of_reports_are_those_of_the_ledgers_time_zone(void **state)
{
	struct rig *r = *state;

	reopen_in(r, "America/Toronto");
	run_job(r, first_s(r, "2025-03-08"), 72 * HOUR_S, 5);
	assert_int_equal(ran_on(r, "2025-03-08"), 24 * HOUR_S);
	assert_int_equal(ran_on(r, "2025-03-09"), 23 * HOUR_S);
	assert_int_equal(ran_on(r, "2025-03-10"), 24 * HOUR_S);
	assert_int_equal(ran_on(r, "2025-03-11"), 1 * HOUR_S);
	run_job(r, first_s(r, "2025-11-01"), 49 * HOUR_S, 2);
	assert_int_equal(ran_on(r, "2025-11-01"), 24 * HOUR_S);
	assert_int_equal(ran_on(r, "2025-11-02"), 25 * HOUR_S);
	assert_int_equal(ran_on(r, "2025-11-03"), 0);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_date_that_never_was_has_no_sums(void **state)
{
	struct rig *r = *state;

	reopen_in(r, "Pacific/Apia");
	run_job(r, first_s(r, "2011-12-29"), 48 * HOUR_S, 3);
	assert_int_equal(ran_on(r, "2011-12-29"), 24 * HOUR_S);
	assert_int_equal(ran_on(r, "2011-12-31"), 24 * HOUR_S);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups"), 2);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM slices"), 2);
	assert_int_equal(rig_count_differences(r), 0);
}

static void the_zone_of_a_ledger_with_sums_stays(void **state)
{
	struct rig *r = *state;
	struct store *s = NULL;
	struct err err = { "" };

	assert_string_equal(store_zone(r->store), "UTC");
	reopen_in(r, "Europe/Berlin"); /* nothing is in it yet */
	run_job(r, 1700000000, 60, 1);
	assert_int_equal(store_open_zone(r->path, "UTC", &s, &err), -EEXIST);
	assert_non_null(strstr(err.text, "TimeZone=Europe/Berlin"));
	reopen_in(r, "Europe/Berlin");
	reopen_in(r, NULL);
	assert_string_equal(store_zone(r->store), "Europe/Berlin");
}

static void no_ledger_is_made_with_an_unknown_zone(void **state)
{
	struct rig *r = *state;
	struct store *s = NULL;
	struct err err = { "" };
	char path[300];

	snprintf(path, sizeof(path), "%s/new.db", r->dir);
	assert_int_equal(store_open_zone(path, "Europe/Atlantis", &s, &err), -EINVAL);
	assert_non_null(strstr(err.text, "Europe/Atlantis"));
	assert_int_equal(access(path, F_OK), -1);
}

static void without_a_zone_days_are_of_utc(void **state)
{
	struct rig *r = *state;

	run_job(r, 20000 * 86400 - 60, 120, 2);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 19999"),
			 60000);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 20000"),
			 60000);
}

static void rebuild_recomputes_all_sums_from_the_jobs(void **state)
{
	struct rig *r = *state;
	const struct store_rebuild as_it_is = { .fn = rig_ignore_difference },
				   tokyo = { .zone = "Asia/Tokyo",
					     .fn = rig_ignore_difference };
	struct store_verified n;
	struct err err = { "" };

	reopen_in(r, "America/Toronto");
	run_job(r, first_s(r, "2025-03-08"), 72 * HOUR_S, 5);
	assert_int_equal(
		db_run(r->store->db, NULL, "DELETE FROM rollups WHERE day > 20155", ""), 0);
	assert_int_equal(db_run(r->store->db, NULL, "UPDATE months SET core_ms = 1", ""), 0);
	assert_true(rig_count_differences(r) > 0);
	assert_int_equal(store_rebuild(r->store, &as_it_is, &n, NULL), 0);
	assert_int_equal(n.rollups, 4);
	assert_int_equal(rig_count_differences(r), 0);
	assert_int_equal(ran_on(r, "2025-03-09"), 23 * HOUR_S);
	/* Reports were cut as they came. */
	assert_int_equal(store_rebuild(r->store, &tokyo, &n, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "America/Toronto"));
	assert_string_equal(store_zone(r->store), "America/Toronto");
	assert_int_equal(rig_count_differences(r), 0);
}

/* ---- clocks that step ---- */

/* The node's clock was set back: the time that a report adds counts on the day that it states, and what was
 * counted before stays on its day. */
static void a_report_with_an_earlier_time_counts_on_the_day_that_it_states(void **state)
{
	struct rig *r = *state;
	int64_t day = 20000, at = day * 86400 * S_NS + HOUR_NS,
		job = rig_job(r, at - 3 * HOUR_NS);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 2 * HOUR_S);

	rep.started_ns = at - 2 * HOUR_NS;
	rep.at_ns = at;
	rig_send_report(r, rep, at);
	rep = rig_report(job, 2, JOB_RUNNING, 2 * HOUR_S + 600);
	rep.started_ns = at - 2 * HOUR_NS;
	rep.at_ns = at - 90 * 60 * S_NS; /* an hour and a half back, over midnight */
	rig_send_report(r, rep, at + 600 * S_NS);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 19999"),
			 (3600 + 600) * 1000);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 20000"),
			 3600 * 1000);
	assert_int_equal(rig_number(r, "SELECT charge_requested_ms FROM attempts"),
			 (2 * HOUR_S + 600) * 2500);
	assert_int_equal(rig_count_differences(r), 0);
	/* And right again: nothing is counted twice. */
	rep = rig_report(job, 3, JOB_ENDED, 3 * HOUR_S);
	rep.started_ns = at - 2 * HOUR_NS;
	rep.ended_ns = rep.at_ns = at + HOUR_NS;
	rig_send_report(r, rep, at + HOUR_NS);
	assert_int_equal(rig_number(r, "SELECT charge_requested_ms FROM attempts"),
			 3 * HOUR_S * 2500);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"),
			 3 * HOUR_S * 2500);
	assert_int_equal(rig_count_differences(r), 0);
}

/* The controller's own clock was set back over midnight, between two reports. */
static void a_controllers_clock_that_steps_back_over_midnight_loses_no_usage(void **state)
{
	struct rig *r = *state;
	int64_t midnight = 20000 * 86400 * S_NS, job = rig_job(r, midnight - 3 * HOUR_NS);
	struct report rep = rig_report(job, 1, JOB_RUNNING, HOUR_S);

	rep.started_ns = midnight;
	rep.at_ns = midnight + HOUR_NS;
	rig_send_report(r, rep, rep.at_ns);
	rep = rig_report(job, 2, JOB_ENDED, 2 * HOUR_S);
	rep.started_ns = midnight;
	rep.ended_ns = rep.at_ns = midnight + 2 * HOUR_NS; /* to come, says the controller */
	rig_send_report(r, rep, midnight - HOUR_NS);
	/* Nothing is placed after the controller's own time. */
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 19999"),
			 HOUR_S * 1000);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 20000"),
			 HOUR_S * 1000);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"),
			 2 * HOUR_S * 2500);
	assert_int_equal(rig_count_differences(r), 0);
}

/* Clocks stepped under a job: it ended before it started. What is charged is the node's steady
 * clock's running time, on a day between the allocation and now. */
static void a_job_that_ends_before_it_starts_is_charged_its_running_time(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_ENDED, 40);

	rep.started_ns = NOON + 3 * DAY_NS;
	rep.ended_ns = NOON - 5 * DAY_NS;
	rig_send_report(r, rep, NOON + 60 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 100000);
	assert_int_equal(rig_number(r, "SELECT running_ms FROM rollups WHERE day = 20000"),
			 40000);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups"), 1);
	assert_int_equal(rig_count_differences(r), 0);
}

static int64_t ended_on(struct rig *r, const char *day)
{
	struct db_row *row;
	int64_t number, n = 0;

	assert_int_equal(calendar_parse_day(day, &number), 0);
	assert_int_equal(db_query(r->store->db, NULL, &row,
				  "SELECT jobs_ended FROM rollups WHERE day = ?1", "i", number),
			 0);
	while (db_step(r->store->db, row, NULL) > 0)
		n += db_int(row, 0);
	return n;
}

static void a_job_that_ends_at_midnight_ended_on_the_day_before(void **state)
{
	struct rig *r = *state;

	reopen_in(r, "America/Toronto");
	run_job(r, first_s(r, "2025-11-03") - HOUR_S, HOUR_S, 2);
	assert_int_equal(ended_on(r, "2025-11-02"), 1);
	assert_int_equal(ended_on(r, "2025-11-03"), 0);
	run_job(r, first_s(r, "2025-11-03") - HOUR_S, HOUR_S + 1, 2);
	assert_int_equal(ended_on(r, "2025-11-03"), 1);
	assert_int_equal(rig_count_differences(r), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(days_of_reports_are_those_of_the_ledgers_time_zone),
		TEST(a_date_that_never_was_has_no_sums),
		TEST(the_zone_of_a_ledger_with_sums_stays),
		TEST(a_job_that_ends_at_midnight_ended_on_the_day_before),
		TEST(without_a_zone_days_are_of_utc),
		TEST(rebuild_recomputes_all_sums_from_the_jobs),
		TEST(a_report_with_an_earlier_time_counts_on_the_day_that_it_states),
		TEST(a_controllers_clock_that_steps_back_over_midnight_loses_no_usage),
		TEST(a_job_that_ends_before_it_starts_is_charged_its_running_time),
		TEST(no_ledger_is_made_with_an_unknown_zone),
	};

	/* The last one is of SQLite: it looks for a file. */
	return _cmocka_run_group_tests("tests", tests, ARRAY_LEN(tests) - !rig_is_sqlite(),
				       NULL, NULL);
}
