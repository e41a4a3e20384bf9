/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sim_grants - which jobs of a replay their grant covers: to the last core-second, and again when jobs that
 * reserved more than they ran have ended. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/simulate/grants.h"

#define SU_MS INT64_C(3600000) /* a core-hour */
#define DAY 86400

/* Group 0 has grant 0 on the first day and grant 1 on the second; group 1 grant 0 too; group 2 none. */
static int32_t find_grant(void *ctx, uint32_t group, int64_t now_s)
{
	(void)ctx;
	if (group == 2)
		return -1;
	return now_s < DAY ? 0 : 1;
}

static const int64_t granted[] = { 10 * SU_MS, 1 * SU_MS };

struct world {
	struct sim_job jobs[8];
	uint32_t qos_of[8];
	struct sim_trace trace;
	struct sim_grants_count count;
	struct sim_grants_rule rule;
	struct sim_qos_use qos;
	struct sim_grants *grants;
};

static const struct sim_qos qos_list[] = { { .factor_micro = SIM_MICRO / 2 },
					   { .factor_micro = 0 } };

static void open_world(struct world *w)
{
	*w = (struct world){ .trace = { .n = 8, .groups.n = 3 } };
	for (int i = 0; i < 8; i++) {
		w->jobs[i] = (struct sim_job){ .cores = 4, .run_s = 1800, .estimate_s = 3600 };
		w->qos_of[i] = SIM_QOS_NONE;
	}
	w->trace.jobs = w->jobs;
	w->qos = (struct sim_qos_use){ qos_list, ARRAY_LEN(qos_list), w->qos_of };
	w->rule = (struct sim_grants_rule){ .granted_ms = granted,
					    .n = ARRAY_LEN(granted),
					    .factor = { 1, 1 },
					    .find = find_grant,
					    .count = &w->count };
}

static void start_world(struct world *w)
{
	assert_int_equal(sim_grants_new(&w->trace, &w->rule, &w->qos, &w->grants), 0);
}

static void a_job_beyond_the_grant_is_in_bonus_until_reserved_time_is_back(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	w.jobs[1].group = 1; /* of the same grant: 4 + 4 of 10 */
	w.jobs[4].estimate_s = 1800;
	w.jobs[5].group = 2;
	start_world(&w);
	assert_int_equal(sim_grants_arrive(w.grants, 0, 0), 0);
	assert_int_equal(sim_grants_arrive(w.grants, 1, 1), 0);
	assert_int_equal(sim_grants_arrive(w.grants, 2, 2), 1); /* 2 are left */
	assert_true(sim_grants_is_bonus(w.grants, 2));
	sim_grants_end(w.grants, 0); /* used 2 of the 4 that it reserved */
	sim_grants_end(w.grants, 2); /* free of charge */
	assert_int_equal(sim_grants_arrive(w.grants, 3, 3), 0);
	assert_int_equal(sim_grants_arrive(w.grants, 4, 4), 1); /* nothing is left */
	assert_int_equal(sim_grants_arrive(w.grants, 5, 5), 1); /* no grant at all */
	sim_grants_end(w.grants, 3);
	assert_int_equal(sim_grants_arrive(w.grants, 6, DAY), 1); /* 4 of 1 */
	assert_int_equal(w.count.jobs, 4);
	assert_int_equal(w.count.groups, 2);
	sim_grants_free(w.grants);
}

static void factors_of_queue_and_qos_and_the_rule_count(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	w.rule.factor = (struct fraction){ 3, 1 };
	w.qos_of[0] = 0; /* 4 x 3 / 2 = 6 */
	w.qos_of[2] = 1; /* free */
	start_world(&w);
	assert_int_equal(sim_grants_arrive(w.grants, 0, 0), 0);
	assert_int_equal(sim_grants_arrive(w.grants, 1, 0), 1); /* 12 of 4 */
	assert_int_equal(sim_grants_arrive(w.grants, 2, 0), 0);
	sim_grants_free(w.grants);
	w.rule.rule.cover = GRANT_COVER_ANY;
	start_world(&w);
	assert_int_equal(sim_grants_arrive(w.grants, 0, 0), 0);
	assert_int_equal(sim_grants_arrive(w.grants, 1, 0), 0); /* overdrawn once */
	assert_int_equal(sim_grants_arrive(w.grants, 3, 0), 1);
	assert_int_equal(w.count.jobs, 1);
	sim_grants_free(w.grants);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_job_beyond_the_grant_is_in_bonus_until_reserved_time_is_back),
		cmocka_unit_test(factors_of_queue_and_qos_and_the_rule_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
