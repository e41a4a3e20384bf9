/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_routes - a path is exactly one of the table or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "controller/api/about.h"
#include "controller/api/accounts/accounts.h"
#include "controller/api/console/console.h"
#include "controller/api/jobs/jobs.h"
#include "controller/api/nodes/nodes.h"
#include "controller/api/routes.h"
#include "controller/api/steps/steps.h"
#include "controller/api/submit/submit.h"
#include "controller/api/jobs/slurm/slurm_pending.h"
#include "controller/api/sync/slurm_jobs.h"
#include "controller/api/sync/sync.h"
#include "controller/api/usage/usage.h"
#include "controller/api/web/ticket.h"

/* The routes' functions are not called here. */
#define STAND_IN(name)                                                                         \
	int name(struct call *c, struct err *err)                                              \
	{                                                                                      \
		(void)c;                                                                       \
		(void)err;                                                                     \
		return 0;                                                                      \
	}
STAND_IN(route_sync)
STAND_IN(route_node_console)
STAND_IN(route_console)
STAND_IN(route_slurm_jobs)
STAND_IN(route_slurm_attempts)
STAND_IN(route_submit)
STAND_IN(route_cost)
STAND_IN(route_slurm_submit)
STAND_IN(route_slurm_pending)
STAND_IN(route_ticket)
STAND_IN(route_jobs)
STAND_IN(route_job)
STAND_IN(route_why)
STAND_IN(route_job_price)
STAND_IN(route_job_eff)
STAND_IN(route_series)
STAND_IN(route_cancel)
STAND_IN(route_suspend)
STAND_IN(route_hold)
STAND_IN(route_release)
STAND_IN(route_start_steps)
STAND_IN(route_steps)
STAND_IN(route_cancel_step)
STAND_IN(route_step_output)
STAND_IN(route_priority)
STAND_IN(route_resume)
STAND_IN(route_output)
STAND_IN(route_list_nodes)
STAND_IN(route_core_map)
STAND_IN(route_drain)
STAND_IN(route_resume_node)
STAND_IN(route_utilisation)
STAND_IN(route_usage)
STAND_IN(route_share)
STAND_IN(route_node_watch)
STAND_IN(route_prio)
STAND_IN(route_eff)
STAND_IN(route_quota)
STAND_IN(route_balances)
STAND_IN(route_outages)
STAND_IN(route_declare_outage)
STAND_IN(route_remove_outage)
STAND_IN(route_storage)
STAND_IN(route_import_storage)
STAND_IN(route_remove_storage)
STAND_IN(route_adjust)
STAND_IN(route_entries)
STAND_IN(route_about)
STAND_IN(route_cluster)
STAND_IN(route_metrics)
STAND_IN(route_accounts)
STAND_IN(route_change_accounts)
STAND_IN(route_accounts_log)

static route_fn find_route(const char *method, const char *path, int64_t *ret_id,
			   bool *ret_known)
{
	struct job_id id;
	const struct route *r = routes_find(method, path, &id, ret_known);

	*ret_id = id.job;
	return r ? r->fn : NULL;
}

static void an_array_task_is_named_by_its_index(void **state)
{
	static const char *const none[] = {
		"/v1/jobs/12.",		  "/v1/jobs/12.-1",  "/v1/jobs/.7",
		"/v1/jobs/12.07",	  "/v1/jobs/12.7.1", "/v1/jobs/12[7]",
		"/v1/jobs/12.1000000000", "/v1/jobs/12.00"
	};
	struct job_id id;
	bool known;

	(void)state;
	assert_ptr_equal(routes_find("GET", "/v1/jobs/12.7", &id, &known)->fn, route_job);
	assert_int_equal(id.job, 12);
	assert_int_equal(id.index, 7);
	assert_ptr_equal(routes_find("POST", "/v1/jobs/12.0/hold", &id, &known)->fn,
			 route_hold);
	assert_int_equal(id.index, 0);
	assert_ptr_equal(routes_find("GET", "/v1/jobs/12", &id, &known)->fn, route_job);
	assert_int_equal(id.index, JOB_ID_NO_INDEX);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(routes_find("GET", none[i], &id, &known));
}

static void paths_are_whole(void **state)
{
	int64_t id;
	bool known;

	(void)state;
	assert_ptr_equal(find_route("GET", "/v1/jobs/17", &id, &known), route_job);
	assert_int_equal(id, 17);
	assert_ptr_equal(find_route("POST", "/v1/jobs/999999999999999999/cancel", &id, &known),
			 route_cancel);
	assert_int_equal(id, 999999999999999999);
	assert_ptr_equal(find_route("GET", "/v1/jobs", &id, &known), route_jobs);
	assert_null(find_route("GET", "/v1/jobs/", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/0", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/-1", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/017", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/1x", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/1000000000000000000", &id, &known));
	assert_null(find_route("GET", "/v1/jobs/1/cancel/", &id, &known));
	assert_null(find_route("GET", "/v1/job", &id, &known));
	assert_null(find_route("GET", "", &id, &known));
	assert_null(find_route("GET", "/metricsx", &id, &known));
	assert_false(known);
}

static void a_wrong_method_is_405_and_a_wrong_path_404(void **state)
{
	int64_t id;
	bool known;

	(void)state;
	assert_null(find_route("GET", "/v1/node/sync", &id, &known));
	assert_true(known);
	assert_null(find_route("GET", "/v1/node/synx", &id, &known));
	assert_false(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_whole),
		cmocka_unit_test(an_array_task_is_named_by_its_index),
		cmocka_unit_test(a_wrong_method_is_405_and_a_wrong_path_404),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
