/* test_routes - a path is exactly one of the table or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "controller/api/routes.h"

/* The routes' functions are not called here. */
#define STAND_IN(name)                                                                         \
	int name(struct call *c, struct err *err)                                              \
	{                                                                                      \
		(void)c;                                                                       \
		(void)err;                                                                     \
		return 0;                                                                      \
	}
STAND_IN(route_sync)
STAND_IN(route_submit)
STAND_IN(route_cost)
STAND_IN(route_jobs)
STAND_IN(route_job)
STAND_IN(route_cancel)
STAND_IN(route_suspend)
STAND_IN(route_weigh)
STAND_IN(route_resume)
STAND_IN(route_output)
STAND_IN(route_list_nodes)
STAND_IN(route_drain)
STAND_IN(route_resume_node)
STAND_IN(route_usage)
STAND_IN(route_share)
STAND_IN(route_prio)
STAND_IN(route_eff)
STAND_IN(route_quota)
STAND_IN(route_adjust)
STAND_IN(route_entries)
STAND_IN(route_cluster)
STAND_IN(route_metrics)
STAND_IN(route_accounts)
STAND_IN(route_change_accounts)
STAND_IN(route_accounts_log)

static route_fn find(const char *method, const char *path, int64_t *ret_id, bool *ret_known)
{
	const struct route *r = routes_find(method, path, ret_id, ret_known);

	return r ? r->fn : NULL;
}

static void paths_are_whole(void **state)
{
	int64_t id;
	bool known;

	(void)state;
	assert_ptr_equal(find("GET", "/v1/jobs/17", &id, &known), route_job);
	assert_int_equal(id, 17);
	assert_ptr_equal(find("POST", "/v1/jobs/999999999999999999/cancel", &id, &known),
			 route_cancel);
	assert_int_equal(id, 999999999999999999);
	assert_ptr_equal(find("GET", "/v1/jobs", &id, &known), route_jobs);
	assert_null(find("GET", "/v1/jobs/", &id, &known));
	assert_null(find("GET", "/v1/jobs/0", &id, &known));
	assert_null(find("GET", "/v1/jobs/-1", &id, &known));
	assert_null(find("GET", "/v1/jobs/017", &id, &known));
	assert_null(find("GET", "/v1/jobs/1x", &id, &known));
	assert_null(find("GET", "/v1/jobs/1000000000000000000", &id, &known));
	assert_null(find("GET", "/v1/jobs/1/cancel/", &id, &known));
	assert_null(find("GET", "/v1/job", &id, &known));
	assert_null(find("GET", "", &id, &known));
	assert_null(find("GET", "/metricsx", &id, &known));
	assert_false(known);
}

static void a_wrong_method_is_told_from_a_wrong_path(void **state)
{
	int64_t id;
	bool known;

	(void)state;
	assert_null(find("GET", "/v1/node/sync", &id, &known));
	assert_true(known);
	assert_null(find("GET", "/v1/node/synx", &id, &known));
	assert_false(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_whole),
		cmocka_unit_test(a_wrong_method_is_told_from_a_wrong_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
