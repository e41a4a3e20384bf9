/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_doctor.c - what `reeve admin doctor` makes of the daemons, the kernel, files and databases (cli/admin/doctor/judge). */
#include "tests/unit/rig/doctor_rig.h"

/* ---- the report ---- */

static void what_was_not_checked_is_not_well(void **state)
{
	(void)state;
	judge_add(&report, "a", JUDGE_OK, "well");
	judge_add(&report, "b", JUDGE_NONE, "not here");
	assert_false(judge_has_failed(&report, true));
	judge_add(&report, "c", JUDGE_WARN, "careful");
	assert_false(judge_has_failed(&report, false));
	assert_true(judge_has_failed(&report, true));
	judge_add(&report, "d", JUDGE_UNCHECKED, "unknown");
	assert_true(judge_has_failed(&report, false));
}

static void findings_that_do_not_fit_are_a_failure(void **state)
{
	(void)state;
	for (int i = 0; i < JUDGE_FINDINGS_MAX; i++)
		judge_add(&report, "a", JUDGE_OK, "well");
	judge_report_close(&report);
	assert_false(judge_has_failed(&report, false));
	judge_add(&report, "a", JUDGE_OK, "one more");
	judge_remedy(&report, "nothing of another finding");
	assert_string_equal(report.of[JUDGE_FINDINGS_MAX - 1].remedy, "");
	judge_report_close(&report);
	assert_true(judge_has_failed(&report, false));
	assert_finding(JUDGE_FAIL, "more than");
}

static void a_long_text_is_cut(void **state)
{
	char text[2 * JUDGE_TEXT_MAX];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	judge_add(&report, "a", JUDGE_FAIL, "%s", text);
	judge_remedy(&report, "%s", text);
	assert_int_equal(strlen(last_finding()->text), JUDGE_TEXT_MAX - 1);
	assert_int_equal(strlen(last_finding()->remedy), JUDGE_REMEDY_MAX - 1);
}

/* ---- services ---- */

static struct judge_unit good_unit(void)
{
	return (struct judge_unit){ .name = "x.service",
				    .has_systemd = true,
				    .load = "loaded",
				    .file = "enabled",
				    .active = "active",
				    .result = "success" };
}

static void units_that_do_not_run(void **state)
{
	struct judge_unit u = good_unit();

	(void)state;
	judge_unit(&report, &u);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_OK, "is active");
	u.restarts = 7;
	judge_unit(&report, &u);
	assert_finding(JUDGE_WARN, "7 times");
	strcpy(u.active, "failed");
	strcpy(u.result, "exit-code");
	judge_unit(&report, &u);
	assert_finding(JUDGE_FAIL, "failed (result: exit-code)");
	assert_non_null(strstr(last_finding()->remedy, "reset-failed"));
	u = good_unit();
	strcpy(u.file, "disabled");
	judge_unit(&report, &u);
	assert_finding(JUDGE_WARN, "does not start at the next boot");
	strcpy(u.load, "masked");
	judge_unit(&report, &u);
	assert_finding(JUDGE_FAIL, "masked");
	strcpy(u.why, "no bus");
	judge_unit(&report, &u);
	assert_finding(JUDGE_UNCHECKED, "no bus");
	u.has_systemd = false;
	judge_unit(&report, &u);
	assert_finding(JUDGE_NONE, "systemd does not run here");
}

static void configurations_with_faults(void **state)
{
	struct judge_config c = { .check = "config",
				  .path = "/x.conf",
				  .command = "x --check",
				  .words = "line 3: Nod" };

	(void)state;
	judge_config(&report, &c);
	assert_finding(JUDGE_FAIL, "line 3: Nod");
	assert_string_equal(last_finding()->remedy, "x --check");
	c.is_good = true;
	judge_config(&report, &c);
	assert_finding(JUDGE_OK, "/x.conf has no fault");
	strcpy(c.why, "there is no program x here");
	judge_config(&report, &c);
	assert_finding(JUDGE_UNCHECKED, "no program x");
}

static void versions_are_compared_with_this_one(void **state)
{
	struct judge_version v[2] = { { .what = "the agent", .version = "1.0" },
				      { .what = "the controller", .version = "1.0" } };

	(void)state;
	judge_versions(&report, "1.0", v, 2);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_OK, "1.0");
	report_clear();
	strcpy(v[1].version, "0.9");
	v[1].remedy = "upgrade";
	judge_versions(&report, "1.0", v, 2);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_WARN, "the controller has version 0.9");
	report_clear();
	strcpy(v[1].why, "it is away");
	judge_versions(&report, "1.0", v, 2);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "it is away");
}

/* ---- kernel ---- */

static void features_that_the_kernel_lacks(void **state)
{
	struct judge_kernel k = { .major = 6, .minor = 1, .has_btf = true, .has_bpffs = true };

	(void)state;
	judge_kernel(&report, &k);
	assert_finding(JUDGE_OK, "Linux 6.1");
	k.major = 5;
	k.minor = 14;
	judge_kernel(&report, &k);
	assert_finding(JUDGE_OK, "Linux 5.14");
	k.minor = 13;
	judge_kernel(&report, &k);
	assert_finding(JUDGE_FAIL, "older than 5.14");
	k.minor = 15;
	k.has_btf = false;
	judge_kernel(&report, &k);
	assert_finding(JUDGE_FAIL, "type information");
	k.has_btf = true;
	k.has_bpffs = false;
	judge_kernel(&report, &k);
	assert_finding(JUDGE_WARN, "end with the agent");
	k.has_bpffs = true;
	strcpy(k.lockdown, "integrity");
	judge_kernel(&report, &k);
	assert_finding(JUDGE_OK, "Linux");
	strcpy(k.lockdown, "confidentiality");
	judge_kernel(&report, &k);
	assert_finding(JUDGE_FAIL, "lockdown");
	report_clear();
	k = (struct judge_kernel){ .has_btf = true, .has_bpffs = true };
	judge_kernel(&report, &k);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "version");
}

static void controllers_that_jobs_need(void **state)
{
	struct judge_cgroup c = { .mount = "/c",
				  .is_v2 = true,
				  .controllers = "cpuset cpu io memory pids" };

	(void)state;
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_OK, "cgroup version 2");
	/* "cpuset" is not "cpu". */
	strcpy(c.controllers, "cpuset io memory pids");
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_FAIL, "no controller cpu:");
	strcpy(c.controllers, "cpuset cpu memory pids");
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_WARN, "no controller io");
	strcpy(c.controllers, "cpuset cpu io pids");
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_FAIL, "held to their memory");
	assert_non_null(strstr(last_finding()->remedy, "cgroup_enable=memory"));
	strcpy(c.controllers, "cpuset cpu io memory pids");
	strcpy(c.slice, "/c/reeve.slice");
	strcpy(c.slice_controllers, "cpu io memory pids");
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_OK, "jobs are below /c/reeve.slice");
	strcpy(c.slice_controllers, "cpu io pids");
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_FAIL, "/c/reeve.slice has no controller memory");
	c.is_v2 = false;
	judge_cgroup(&report, &c);
	assert_finding(JUDGE_FAIL, "no cgroup version 2");
}

static void quotas_count_only_where_a_write_was_stopped(void **state)
{
	struct judge_quota q = { .dir = "/jobfs", .type = "xfs", .limit_bytes = 1 << 20 };

	(void)state;
	q.was_set = q.was_stopped = true;
	judge_quota(&report, &q);
	assert_finding(JUDGE_OK, "stopped at the limit");
	q.was_stopped = false;
	q.written_bytes = 2 << 20;
	judge_quota(&report, &q);
	assert_finding(JUDGE_FAIL, "grew to 2097152");
	assert_non_null(strstr(last_finding()->remedy, "pquota"));
	q.was_set = false;
	strcpy(q.words, "Operation not supported");
	strcpy(q.type, "ext4");
	strcpy(q.device, "/dev/vdb");
	judge_quota(&report, &q);
	assert_finding(JUDGE_FAIL, "Operation not supported");
	assert_non_null(strstr(last_finding()->remedy,
			       "tune2fs -O quota,project -Q prjquota /dev/vdb"));
	strcpy(q.why, "this needs root");
	judge_quota(&report, &q);
	assert_finding(JUDGE_UNCHECKED, "this needs root");
	q.is_none = true;
	judge_quota(&report, &q);
	assert_finding(JUDGE_WARN, "Jobfs = none");
}

/* ---- the agent ---- */

static void an_agent_that_does_not_answer_says_nothing(void **state)
{
	struct judge_agent a = { .why = "no such name", .tier = 1 };

	(void)state;
	judge_agent(&report, &a, true);
	assert_finding(JUDGE_FAIL, "no such name");
	judge_agent(&report, &a, false);
	assert_finding(JUDGE_UNCHECKED, "no system bus");
	report_clear();
	judge_tier(&report, &a);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "does not answer");
	report_clear();
	judge_uplink(&report, &a);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "does not answer");
	a.why[0] = '\0';
	judge_agent(&report, &a, true);
	assert_finding(JUDGE_OK, "answers");
}

static void a_weak_tier_says_why(void **state)
{
	static const char *const words[] = { "", "refuses", "within milliseconds", "polled" };
	struct judge_agent a = { .tier = 1 };

	(void)state;
	for (a.tier = 1; a.tier <= 3; a.tier++) {
		report_clear();
		judge_tier(&report, &a);
		assert_int_equal(report.n, 1);
		assert_finding(a.tier == 1 ? JUDGE_OK : JUDGE_WARN, words[a.tier]);
	}
	assert_non_null(strstr(last_finding()->remedy, "VmemTier="));
	a.tier = 2;
	a.n_notes = 4;
	strcpy(a.notes[0], "vmem: a");
	strcpy(a.notes[1], "events: b");
	strcpy(a.notes[2], "guard: c");
	strcpy(a.notes[3], "sampling: d");
	report_clear();
	judge_tier(&report, &a);
	assert_int_equal(report.n, 5);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(report.of[i].check, "tier");
	assert_string_equal(report.of[3].check, "note");
	assert_string_equal(report.of[3].text, "sampling: d");
	assert_non_null(strstr(last_finding()->remedy, "notes above"));
}

static void the_agents_own_exchange(void **state)
{
	struct judge_agent a = { .controller = "http://c",
				 .is_up = true,
				 .has_spool = true,
				 .spool_bytes = 50,
				 .spool_max_bytes = 100 };

	(void)state;
	judge_uplink(&report, &a);
	assert_int_equal(judge_count(&report, JUDGE_OK), 2);
	assert_finding(JUDGE_OK, "50 of 100 bytes");
	a.spool_bytes = 51;
	judge_uplink(&report, &a);
	assert_finding(JUDGE_WARN, "51 of 100 bytes");
	a.has_spool = false;
	judge_uplink(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "cannot read its spool");
	report_clear();
	a.has_spool = true;
	a.is_up = false;
	judge_uplink(&report, &a);
	assert_string_equal(report.of[0].text,
			    "the agent does not reach http://c: no exchange yet");
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	assert_non_null(strstr(report.of[0].remedy, "curl -s http://c/metrics"));
	report_clear();
	a.controller[0] = '\0';
	judge_uplink(&report, &a);
	assert_int_equal(report.of[0].state, JUDGE_WARN);
	assert_non_null(strstr(report.of[0].text, "no controller"));
}

/* ---- files, disks, databases ---- */

static void modes_name_the_bits_to_take_away(void **state)
{
	struct judge_path p = { .path = "/f",
				.forbidden = 077,
				.owner = 0,
				.is_there = true,
				.is_of_kind = true,
				.mode = 0600 };

	(void)state;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_OK, "1 files");
	p.mode = 0640;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_FAIL, "mode 0640: group or others may read");
	assert_string_equal(last_finding()->remedy, "chmod 0600 /f");
	p.mode = 0666;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_FAIL, "may write it");
	p.mode = 0600;
	p.uid = 7;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_FAIL, "belongs to uid 7, not to uid 0");
	p.owner = -1;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_OK, "1 files");
	p.is_of_kind = false;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_FAIL, "no regular file");
	p.is_there = false;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_FAIL, "not there");
	assert_non_null(strstr(last_finding()->remedy, "install the package that has /f"));
	p.kind = JUDGE_PATH_DIRECTORY;
	judge_paths(&report, &p, 1);
	assert_non_null(strstr(last_finding()->remedy, "install -d /f"));
	p.may_lack = true;
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_OK, "0 files");
	strcpy(p.why, "Permission denied");
	judge_paths(&report, &p, 1);
	assert_finding(JUDGE_UNCHECKED, "Permission denied");
}

static void disks_by_what_they_need(void **state)
{
	struct judge_disk d = { .check = "disk",
				.what = "the spool",
				.path = "/d",
				.free_bytes = 100 << 20,
				.free_files = -1,
				.need_bytes = 100 << 20,
				.wish_bytes = 100 << 20,
				.remedy = "du" };

	(void)state;
	judge_disk(&report, &d);
	assert_finding(JUDGE_OK, "100 MiB");
	d.wish_bytes++;
	judge_disk(&report, &d);
	assert_finding(JUDGE_WARN, "enough for long");
	d.need_bytes++;
	judge_disk(&report, &d);
	assert_finding(JUDGE_FAIL, "needs");
	d.need_bytes = 0;
	d.free_files = 3;
	judge_disk(&report, &d);
	assert_finding(JUDGE_FAIL, "3 files");
}

static void a_database_is_well_only_when_it_was_read(void **state)
{
	struct judge_database d = {
		.check = "ledger", .place = "/l", .is_there = true, .version = 5, .newest = 5
	};

	(void)state;
	judge_database(&report, &d);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_OK, "schema version 5");
	d.version = 4;
	judge_database(&report, &d);
	assert_finding(JUDGE_WARN, "its schema has version 4");
	d.version = 6;
	judge_database(&report, &d);
	assert_finding(JUDGE_FAIL, "its schema has version 6");
	d.version = 5;
	d.was_cut = true;
	d.bytes = 3 << 20;
	judge_database(&report, &d);
	assert_finding(JUDGE_UNCHECKED, "/l (3 MiB) was not checked whole: it took too long");
	assert_string_equal(last_finding()->remedy,
			    "sqlite3 -readonly /l 'PRAGMA quick_check'");
	strcpy(d.damage, "row missing");
	judge_database(&report, &d);
	assert_finding(JUDGE_FAIL, "row missing");
	strcpy(d.why, "locked");
	judge_database(&report, &d);
	assert_finding(JUDGE_FAIL, "locked");
	d = (struct judge_database){ .check = "store", .place = "/l", .newest = 5 };
	report_clear();
	judge_database(&report, &d);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_WARN, "no database /l yet");
	assert_string_equal(last_finding()->remedy, "systemctl start reeve-agent");
	d.check = "ledger";
	judge_database(&report, &d);
	assert_string_equal(last_finding()->remedy, "systemctl start reeve-controller");
	d = (struct judge_database){ .check = "store", .place = "/l", .is_there = true };
	report_clear();
	judge_database(&report, &d); /* whose schema is not compared */
	assert_int_equal(report.n, 1);
}

static struct judge_postgres good_postgres(void)
{
	return (struct judge_postgres){
		.place = "p",
		.server = 150004,
		.has_ledger = true,
		.has_checkpoints = true,
		.n_timed = 100,
		.n_sooner = 3,
		.n_settings = 7,
		.settings = { { "fsync", "on" },
			      { "full_page_writes", "on" },
			      { "statement_timeout", "0" },
			      { "idle_in_transaction_session_timeout", "0" },
			      { "idle_session_timeout", "0" },
			      { "default_transaction_read_only", "off" },
			      { "in_recovery", "off" } },
	};
}

static void servers_and_their_settings(void **state)
{
	struct judge_postgres p = good_postgres();

	(void)state;
	judge_postgres(&report, &p);
	assert_int_equal(judge_count(&report, JUDGE_OK), report.n);
	strcpy(p.settings[0].value, "off");
	judge_postgres(&report, &p);
	assert_finding(JUDGE_FAIL, "fsync = off");
	p = good_postgres();
	strcpy(p.settings[2].value, "30000");
	judge_postgres(&report, &p);
	assert_finding(JUDGE_WARN, "statement_timeout = 30000");
	p = good_postgres();
	p.n_settings--;
	judge_postgres(&report, &p);
	assert_finding(JUDGE_UNCHECKED, "in_recovery");
	p = good_postgres();
	p.server = 150000;
	p.has_ledger = false;
	report_clear();
	judge_postgres(&report, &p);
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 0);
	assert_int_equal(report.n, 4);
	assert_string_equal(report.of[1].remedy, "systemctl start reeve-controller");
	report_clear();
	p.server = 140009;
	judge_postgres(&report, &p);
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	strcpy(p.why, "no route");
	judge_postgres(&report, &p);
	assert_finding(JUDGE_FAIL, "no route");
}

/* Of a server whose settings are well: what is said of its checkpoints is the last but one. */
static const char *judge_checkpoints_of(const struct judge_postgres *p, enum judge_state state,
					const char *text)
{
	report_clear();
	judge_postgres(&report, p);
	assert_int_equal(report.of[report.n - 2].state, state);
	assert_non_null(strstr(report.of[report.n - 2].text, text));
	return report.of[report.n - 2].remedy;
}

static void checkpoints_that_come_too_soon(void **state)
{
	struct judge_postgres p = good_postgres();
	const char *remedy;

	(void)state;
	judge_checkpoints_of(&p, JUDGE_OK, "3 of its 103 checkpoints");
	p.n_timed = 3;
	p.n_sooner = 5; /* of a server that began an hour ago, and had some backups */
	judge_checkpoints_of(&p, JUDGE_OK, "5 of its 8 checkpoints");
	p.n_sooner = 40;
	p.settings[p.n_settings++] = (struct judge_setting){ "max_wal_size", "1024" };
	remedy = judge_checkpoints_of(&p, JUDGE_WARN, "max_wal_size = 1024 MB");
	assert_non_null(strstr(remedy, "SET max_wal_size = '8GB'"));
	assert_non_null(strstr(remedy, "'bgwriter'"));
	p.server = 170002;
	remedy = judge_checkpoints_of(&p, JUDGE_WARN, "max_wal_size = 1024 MB");
	assert_non_null(strstr(remedy, "'checkpointer'"));
	p.n_timed = 40;
	judge_checkpoints_of(&p, JUDGE_OK, "40 of its 80 checkpoints");
	p.has_checkpoints = false;
	judge_checkpoints_of(&p, JUDGE_UNCHECKED, "does not count its checkpoints");
}

static void a_test_job_must_come_back(void **state)
{
	struct judge_job j = { .user = NULL };

	(void)state;
	judge_job(&report, &j);
	assert_finding(JUDGE_NONE, "--job USER");
	j = (struct judge_job){ .user = "alice", .has_word = true, .is_in_job = true };
	judge_job(&report, &j);
	assert_finding(JUDGE_OK, "its output came back");
	j.is_in_job = false;
	judge_job(&report, &j);
	assert_finding(JUDGE_FAIL, "of no job");
	j.has_word = false;
	judge_job(&report, &j);
	assert_finding(JUDGE_FAIL, "did not come back");
	j.status = 1;
	judge_job(&report, &j);
	assert_finding(JUDGE_FAIL, "status 1");
	strcpy(j.why, "there is no user alice");
	judge_job(&report, &j);
	assert_finding(JUDGE_UNCHECKED, "no user alice");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_not_checked_is_not_well),
		TEST(findings_that_do_not_fit_are_a_failure),
		TEST(a_long_text_is_cut),
		TEST(units_that_do_not_run),
		TEST(configurations_with_faults),
		TEST(versions_are_compared_with_this_one),
		TEST(features_that_the_kernel_lacks),
		TEST(controllers_that_jobs_need),
		TEST(quotas_count_only_where_a_write_was_stopped),
		TEST(an_agent_that_does_not_answer_says_nothing),
		TEST(a_weak_tier_says_why),
		TEST(the_agents_own_exchange),
		TEST(modes_name_the_bits_to_take_away),
		TEST(disks_by_what_they_need),
		TEST(a_database_is_well_only_when_it_was_read),
		TEST(servers_and_their_settings),
		TEST(checkpoints_that_come_too_soon),
		TEST(a_test_job_must_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
