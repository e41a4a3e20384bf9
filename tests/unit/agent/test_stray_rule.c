/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stray_rule - which cgroups hold processes of a job's user that belong to no job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "agent/stray/rule.h"

#define M "/sys/fs/cgroup"

static const struct stray_node systemd_node = {
	.mount = M,
	.jobs = M "/reeve.slice",
	.own = M "/reeve_agent.slice/reeve-agent.service",
	.min_uid = 1000,
};

static void assert_place(const struct stray_node *n, const char *cgroup, enum stray_kind kind,
			 const char *unit)
{
	struct stray_place p = stray_rule(n, 1000, cgroup);

	if (p.kind != kind)
		fail_msg("%s is of kind %d, not %d", cgroup, (int)p.kind, (int)kind);
	if (unit)
		assert_string_equal(p.unit, unit);
}

static void processes_of_jobs_and_of_the_agent_are_none(void **state)
{
	struct stray_node slurm = systemd_node, pbs = systemd_node;

	(void)state;
	assert_place(&systemd_node, M "/reeve.slice/reeve-job-1-1.service/work", STRAY_NONE,
		     NULL);
	assert_place(&systemd_node, M "/reeve_agent.slice/reeve-agent.service", STRAY_NONE,
		     NULL);
	slurm.jobs = M "/system.slice/slurmstepd.scope";
	assert_place(&slurm, M "/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
		     STRAY_NONE, NULL);
	pbs.jobs = M "/reeve-pbs.slice";
	assert_place(&pbs, M "/reeve-pbs.slice/reeve-job-3-1.scope", STRAY_NONE, NULL);
	/* Not by the beginning of a name. */
	assert_place(&systemd_node, M "/reeve.slicex/a.service", STRAY_OTHER, "reeve.slicex");
}

static void lingering_and_sessions_are_of_the_users_slice(void **state)
{
	(void)state;
	assert_place(&systemd_node,
		     M "/user.slice/user-1000.slice/user@1000.service/app.slice/burn.service",
		     STRAY_SLICE, "user@1000.service");
	assert_place(&systemd_node, M "/user.slice/user-1000.slice/session-12.scope",
		     STRAY_SLICE, "session-*.scope");
	assert_place(&systemd_node, M "/user.slice/user-1000.slice", STRAY_SLICE,
		     "user-1000.slice");
}

/* A user names cgroups below user@UID.service at will. */
static void names_that_a_user_chose_exempt_nothing(void **state)
{
	static const char *const names[] = { "reeve.slice/reeve-job-1-1.service/work",
					     "slurmstepd.scope/job_1", "sssd.service",
					     "reeve_agent.slice/reeve-agent.service",
					     "site.service" };
	struct stray_node n = systemd_node;
	char path[256];

	(void)state;
	n.exempt = "site.service";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path),
			 M "/user.slice/user-1000.slice/user@1000.service/%s", names[i]);
		assert_place(&n, path, STRAY_SLICE, "user@1000.service");
		snprintf(path, sizeof(path), M "/system.slice/cron.service/%s", names[i]);
		assert_place(&n, path, STRAY_LATER, "cron.service");
	}
}

static void what_cron_at_and_sshd_start_is_stray(void **state)
{
	static const char *const units[] = { "cron.service", "crond.service", "atd.service",
					     "ssh.service", "sshd.service" };
	char path[128];

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		snprintf(path, sizeof(path), M "/system.slice/%s", units[i]);
		assert_place(&systemd_node, path, STRAY_LATER, units[i]);
	}
	assert_place(&systemd_node,
		     M "/system.slice/system-ssh.slice/ssh@1-10.0.0.1:22.service", STRAY_LATER,
		     "ssh@1-10.0.0.1:22.service");
	assert_place(&systemd_node, M "/system.slice/sshguard.service", STRAY_OTHER, NULL);
}

static void daemons_that_act_for_users_are_exempt(void **state)
{
	struct stray_node n = systemd_node;

	(void)state;
	assert_place(&n, M "/system.slice/slurmd.service", STRAY_NONE, NULL);
	assert_place(&n, M "/system.slice/pbs.service", STRAY_NONE, NULL);
	assert_place(&n, M "/system.slice/sssd.service", STRAY_NONE, NULL);
	assert_place(&n, M "/system.slice/site.service", STRAY_OTHER, "site.service");
	n.exempt = "other.service, site.service";
	assert_place(&n, M "/system.slice/site.service", STRAY_NONE, NULL);
	assert_place(&n, M "/system.slice/site.servic", STRAY_OTHER, NULL);
	assert_place(&n, M "/system.slice/xsite.service", STRAY_OTHER, NULL);
	n.exempt = ", ,";
	assert_place(&n, M "/system.slice/site.service", STRAY_OTHER, NULL);
}

static void a_slice_of_root_is_exempt_and_another_users_is_told(void **state)
{
	struct stray_place p;

	(void)state;
	assert_place(&systemd_node, M "/user.slice/user-0.slice/session-1.scope", STRAY_NONE,
		     NULL);
	assert_place(&systemd_node, M "/user.slice/user-999.slice/session-1.scope", STRAY_NONE,
		     NULL);
	p = stray_rule(&systemd_node, 1000, M "/user.slice/user-1001.slice/session-1.scope");
	assert_int_equal(p.kind, STRAY_OTHER);
	assert_int_equal(p.owner, 1001);
	/* No such user: a number that is no uid. */
	p = stray_rule(&systemd_node, 1000, M "/user.slice/user-4294967296.slice/a.scope");
	assert_int_equal(p.owner, 0);
	p = stray_rule(&systemd_node, 1000, M "/user.slice/user-1000x.slice/a.scope");
	assert_int_equal(p.kind, STRAY_OTHER);
	assert_int_equal(p.owner, 0);
}

static void system_users_have_no_stray_processes(void **state)
{
	(void)state;
	assert_int_equal(stray_rule(&systemd_node, 0, M "/system.slice/cron.service").kind,
			 STRAY_NONE);
	assert_int_equal(stray_rule(&systemd_node, 999, M "/system.slice/cron.service").kind,
			 STRAY_NONE);
	assert_int_equal(stray_rule(&systemd_node, 1000, M "/system.slice/cron.service").kind,
			 STRAY_LATER);
}

/* Without systemd all are in the root, the agent too; jobs are below a cgroup of its own. */
static void an_agent_in_the_root_exempts_nothing(void **state)
{
	struct stray_node n = { .mount = M, .jobs = M "/reeve", .own = M "/", .min_uid = 1000 };

	(void)state;
	assert_place(&n, M "/", STRAY_OTHER, "/");
	assert_place(&n, M "/reeve/reeve-job-1-1.service/work", STRAY_NONE, NULL);
	n.own = M;
	assert_place(&n, M "/x", STRAY_OTHER, "x");
	n.own = "";
	assert_place(&n, M "/x", STRAY_OTHER, "x");
}

static void names_are_short_and_printable(void **state)
{
	char path[300] = M "/system.slice/a\033[31m\xc3\xa9 b", unit[STRAY_UNIT_MAX];

	(void)state;
	assert_place(&systemd_node, path, STRAY_OTHER, "a?[31m???b");
	memset(path + strlen(M "/system.slice/"), 'x', 200);
	assert_int_equal(strlen(stray_rule(&systemd_node, 1000, path).unit),
			 STRAY_UNIT_MAX - 1);
	stray_unit("session-3.scope", unit);
	assert_string_equal(unit, "session-*.scope");
	stray_unit("session-.scope", unit);
	assert_string_equal(unit, "session-.scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_jobs_and_of_the_agent_are_none),
		cmocka_unit_test(lingering_and_sessions_are_of_the_users_slice),
		cmocka_unit_test(names_that_a_user_chose_exempt_nothing),
		cmocka_unit_test(what_cron_at_and_sshd_start_is_stray),
		cmocka_unit_test(daemons_that_act_for_users_are_exempt),
		cmocka_unit_test(a_slice_of_root_is_exempt_and_another_users_is_told),
		cmocka_unit_test(system_users_have_no_stray_processes),
		cmocka_unit_test(an_agent_in_the_root_exempts_nothing),
		cmocka_unit_test(names_are_short_and_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
