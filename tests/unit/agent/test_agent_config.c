/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_agent_config - every mistake in agent.conf has file, line, key, value and remedy; a reload takes over what may
 * change while jobs run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/config.h"
#include "common/conf/change.h"
#include "common/err.h"

static char path[] = "/tmp/reeve-agent-config-XXXXXX";

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

struct faults {
	char text[4096];
};

static void add_fault(void *ctx, const struct conf_fault *fault)
{
	struct faults *f = ctx;
	size_t n = strlen(f->text);

	snprintf(f->text + n, sizeof(f->text) - n, "%s\n", fault->text);
}

static int check_text(const char *text, struct agent_config *ret, struct faults *faults)
{
	struct err err = { "" };
	int r;

	write_file(text);
	faults->text[0] = '\0';
	r = agent_config_check(path, &(struct agent_config_faults){ add_fault, faults }, ret,
			       &err);
	if (r < 0)
		fail_msg("%s", err.text);
	return r;
}

static void assert_fault(const char *line, const char *words)
{
	struct agent_config c;
	struct faults faults;
	char text[256], where[128];

	snprintf(text, sizeof(text), "[Agent]\nNode = n1\n%s\n", line);
	assert_int_equal(check_text(text, &c, &faults), 1);
	snprintf(where, sizeof(where), "%s, line 3: %s", path, line);
	if (strncmp(faults.text, where, strlen(where)) || !strstr(faults.text, words))
		fail_msg("'%s' is not what is said of '%s': %s", words, line, faults.text);
}

static void a_mistake_has_file_line_key_value_and_remedy(void **state)
{
	(void)state;
	assert_fault("KillGrace = soon", "for example: KillGrace = 30s");
	assert_fault("RunDirectory = run",
		     "it is not an absolute path below 300 bytes; for example: /run/reeve");
	assert_fault("Slice = jobs", "it is not NAME.slice; for example: reeve.slice");
	assert_fault("CgroupParent = a/../b",
		     "it is not a directory below the cgroup mount; for example: reeve");
	assert_fault("Features = a b", "; for example: ib,nvme");
	assert_fault("RefusedUsers = no_such_user_here", "no_such_user_here");
	assert_fault("RefusedGroups = no_such_group_here", "no_such_group_here");
	assert_fault(
		"LogLevel = loud",
		"it must be one of: err, warning, notice, info, debug; for example: LogLevel = info");
	assert_fault("MetricsToken = token",
		     "it is not an absolute path; for example: /etc/reeve/metrics.token");
}

static void all_mistakes_are_told(void **state)
{
	struct agent_config c;
	struct faults faults;

	(void)state;
	assert_int_equal(
		check_text("[Agent]\nNode = n1\nKillGrace = soon\nSlice = jobs\nJobfs = none\n"
			   "JobfsImage = /x\n",
			   &c, &faults),
		3);
	assert_non_null(strstr(faults.text, "line 3: KillGrace = soon"));
	assert_non_null(strstr(faults.text, "line 4: Slice = jobs"));
	assert_non_null(strstr(faults.text, "JobfsImage=/x holds jobs to their jobfs"));
}

static void add_line(void *ctx, const struct conf_change *c)
{
	char text[CONF_CHANGE_TEXT_MAX];

	add_fault(ctx, &(struct conf_fault){ path, 0, conf_change_format(c, text) });
}

/* What was on the stack before is no part of a list. */
__attribute__((noinline)) static void fill_stack(void)
{
	char bytes[16384];

	memset(bytes, 'x', sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static void features_are_checked_by_themselves(void **state)
{
	struct agent_config c;
	struct faults faults;
	int r;

	(void)state;
	fill_stack();
	r = check_text("[Agent]\nNode = n1\nFeatures = avx2, ib\n", &c, &faults);
	if (r)
		fail_msg("%s", faults.text);
	assert_string_equal(c.features, "avx2,ib");
	agent_config_done(&c);
}

static void a_reload_takes_over_what_may_change_while_jobs_run(void **state)
{
	struct agent_config now, fresh;
	struct faults said;
	struct conf_changes to = { .tell = add_line, .ctx = &said };
	const char *dir;

	(void)state;
	assert_int_equal(check_text("[Agent]\nNode = n1\nFeatures = ib\n", &now, &said), 0);
	dir = now.state_dir;
	assert_int_equal(
		check_text(
			"[Agent]\nNode = n1\nKillGrace = 1:00\nFeatures = ib,nvme\nReservedCores = 1\nStateDirectory = /x\n",
			&fresh, &said),
		0);
	agent_config_reload(&now, &fresh, &to);
	assert_string_equal(
		said.text,
		"[Agent] Features: ib -> ib,nvme\n"
		"[Agent] StateDirectory: /var/lib/reeve -> /x; takes effect at the next restart\n"
		"[Agent] ReservedCores: 0 -> 1; takes effect at the next restart\n"
		"[Agent] KillGrace: 0:00:30 -> 0:01:00\n");
	assert_int_equal(to.tally.restart, 2);
	assert_int_equal(now.kill_grace_s, 60);
	assert_string_equal(now.features, "ib,nvme");
	assert_int_equal(now.reserved_cores, 0);
	assert_ptr_equal(now.state_dir, dir); /* modules have it */
	agent_config_done(&fresh);
	agent_config_done(&now);
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mistake_has_file_line_key_value_and_remedy),
		cmocka_unit_test(all_mistakes_are_told),
		cmocka_unit_test(features_are_checked_by_themselves),
		cmocka_unit_test(a_reload_takes_over_what_may_change_while_jobs_run),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
