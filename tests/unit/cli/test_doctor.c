/* test_doctor.c - what `reeve admin doctor` makes of facts (cli/admin/doctor/judge). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/admin/doctor/judge/access.h"
#include "cli/admin/doctor/judge/ledger.h"
#include "cli/admin/doctor/judge/link.h"

static struct judge_report report;

static int begin(void **state)
{
	(void)state;
	report = (struct judge_report){ .n = 0 };
	return 0;
}

static void begin_again(void)
{
	report.n = 0;
}

/* The only finding, or the last one. */
static const struct judge_finding *last(void)
{
	assert_true(report.n > 0);
	return &report.of[report.n - 1];
}

static void assert_finding(enum judge_state state, const char *needle)
{
	assert_string_equal(judge_state_name(last()->state), judge_state_name(state));
	if (!strstr(last()->text, needle))
		fail_msg("'%s' lacks '%s'", last()->text, needle);
	/* What is wrong has a command that mends it; what is right needs none. */
	if (state == JUDGE_FAIL || state == JUDGE_WARN)
		assert_true(*last()->remedy);
	if (state == JUDGE_OK || state == JUDGE_NONE)
		assert_false(*last()->remedy);
}

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
	assert_int_equal(strlen(last()->text), JUDGE_TEXT_MAX - 1);
	assert_int_equal(strlen(last()->remedy), JUDGE_REMEDY_MAX - 1);
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
	assert_non_null(strstr(last()->remedy, "reset-failed"));
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
	assert_string_equal(last()->remedy, "x --check");
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
	begin_again();
	strcpy(v[1].version, "0.9");
	v[1].remedy = "upgrade";
	judge_versions(&report, "1.0", v, 2);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_WARN, "the controller has version 0.9");
	begin_again();
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
	begin_again();
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
	assert_non_null(strstr(last()->remedy, "cgroup_enable=memory"));
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
	assert_non_null(strstr(last()->remedy, "pquota"));
	q.was_set = false;
	strcpy(q.words, "Operation not supported");
	strcpy(q.type, "ext4");
	strcpy(q.device, "/dev/vdb");
	judge_quota(&report, &q);
	assert_finding(JUDGE_FAIL, "Operation not supported");
	assert_non_null(
		strstr(last()->remedy, "tune2fs -O quota,project -Q prjquota /dev/vdb"));
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
	begin_again();
	judge_tier(&report, &a);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "does not answer");
	begin_again();
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
		begin_again();
		judge_tier(&report, &a);
		assert_int_equal(report.n, 1);
		assert_finding(a.tier == 1 ? JUDGE_OK : JUDGE_WARN, words[a.tier]);
	}
	assert_non_null(strstr(last()->remedy, "VmemTier="));
	a.tier = 2;
	a.n_notes = 4;
	strcpy(a.notes[0], "vmem: a");
	strcpy(a.notes[1], "events: b");
	strcpy(a.notes[2], "guard: c");
	strcpy(a.notes[3], "sampling: d");
	begin_again();
	judge_tier(&report, &a);
	assert_int_equal(report.n, 5);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(report.of[i].check, "tier");
	assert_string_equal(report.of[3].check, "note");
	assert_string_equal(report.of[3].text, "sampling: d");
	assert_non_null(strstr(last()->remedy, "notes above"));
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
	begin_again();
	a.has_spool = true;
	a.is_up = false;
	judge_uplink(&report, &a);
	assert_string_equal(report.of[0].text,
			    "the agent does not reach http://c: no exchange yet");
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	assert_non_null(strstr(report.of[0].remedy, "curl -s http://c/metrics"));
	begin_again();
	a.controller[0] = '\0';
	judge_uplink(&report, &a);
	assert_int_equal(report.of[0].state, JUDGE_WARN);
	assert_non_null(strstr(report.of[0].text, "no controller"));
}

/* ---- the exchange ---- */

static struct judge_about good_about(void)
{
	const int64_t now = INT64_C(1800000000) * 1000000000;

	return (struct judge_about){ .url = "http://c:8640",
				     .now_ns = now,
				     .asked_ns = now - 5000000,
				     .told_ns = now + 5000000 };
}

static void clocks_may_differ_by_less_than_reports_allow(void **state)
{
	static const struct {
		int64_t off_ms;
		enum judge_state state;
	} cases[] = {
		{ 0, JUDGE_OK },       { 1999, JUDGE_OK },     { -1999, JUDGE_OK },
		{ 2010, JUDGE_WARN },  { -2010, JUDGE_WARN },  { 29000, JUDGE_WARN },
		{ 30010, JUDGE_FAIL }, { -30010, JUDGE_FAIL }, { 3600000, JUDGE_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct judge_about a = good_about();

		a.now_ns -= cases[i].off_ms * 1000000;
		judge_clock(&report, &a);
		assert_finding(cases[i].state, cases[i].off_ms < 0 ? "behind" : "before");
	}
}

/* A slow answer says less about the clocks: what it took may be all on one way. */
static void a_slow_exchange_is_no_wrong_clock(void **state)
{
	struct judge_about a = good_about();

	(void)state;
	a.told_ns = a.asked_ns + INT64_C(20) * 1000000000;
	judge_clock(&report, &a);
	assert_finding(JUDGE_OK, "(to 10000 ms)");
}

static void a_refused_credential_names_the_clock(void **state)
{
	struct judge_about a = good_about();

	(void)state;
	a.status = 401;
	strcpy(a.words, "Expired credential");
	judge_clock(&report, &a);
	assert_finding(JUDGE_FAIL, "behind");
	strcpy(a.words, "Rewound credential");
	judge_clock(&report, &a);
	assert_finding(JUDGE_FAIL, "before");
	strcpy(a.words, "Invalid credential");
	judge_clock(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "not compared");
	a.status = -111;
	judge_clock(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "not compared");
}

static void each_side_decodes_the_others(void **state)
{
	struct judge_about a = good_about();

	(void)state;
	judge_about(&report, &a);
	assert_int_equal(judge_count(&report, JUDGE_OK), 2);
	a.signed_status = -13;
	strcpy(a.signed_words, "Invalid credential");
	judge_about(&report, &a);
	assert_finding(JUDGE_FAIL, "cannot be trusted here: Invalid credential");
	strcpy(a.signed_why, "this needs root");
	judge_about(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "this needs root");
	begin_again();
	strcpy(a.why, "none is configured");
	judge_about(&report, &a);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "none is configured");
	judge_clock(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "none is configured");
	a.why[0] = '\0';
	begin_again();
	a.status = 500;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].text, "refuses to answer"));
	assert_non_null(strstr(report.of[0].remedy, "journalctl -u reeve-controller"));
	begin_again();
	a.status = -111;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].text, "does not answer"));
	assert_non_null(strstr(report.of[0].remedy, "systemctl status reeve-controller"));
	begin_again();
	a.status = 401;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].remedy, "munge.key"));
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	assert_finding(JUDGE_UNCHECKED, "did not answer");
	begin_again();
	a.status = 503;
	strcpy(a.words, "this controller stands by; h2 leads");
	judge_about(&report, &a);
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 0);
}

static void nodes_that_the_controller_has(void **state)
{
	struct judge_registered n = { .node = "n1", .is_known = true, .state = "up" };
	struct judge_nodes all = { .n = 0 };

	(void)state;
	judge_registered(&report, &n);
	assert_finding(JUDGE_OK, "as up");
	n.silent_s = 100;
	judge_registered(&report, &n);
	assert_finding(JUDGE_WARN, "100 s");
	strcpy(n.state, "lost");
	judge_registered(&report, &n);
	assert_finding(JUDGE_FAIL, "lost");
	strcpy(n.drain, "root: disk");
	judge_registered(&report, &n);
	assert_finding(JUDGE_WARN, "drained by root: disk");
	assert_string_equal(last()->remedy, "reeve nodes resume n1");
	n.is_known = false;
	judge_registered(&report, &n);
	assert_finding(JUDGE_FAIL, "no node n1");
	strcpy(n.why, "refused");
	judge_registered(&report, &n);
	assert_finding(JUDGE_UNCHECKED, "refused");
	n = (struct judge_registered){
		.node = "n1", .is_known = true, .state = "up", .silent_s = 90
	};
	judge_registered(&report, &n);
	assert_finding(JUDGE_OK, "90 s ago");
	judge_nodes(&report, &all);
	assert_string_equal(judge_state_name(last()->state), "warn");
	all = (struct judge_nodes){ .n = 3, .n_up = 3 };
	judge_nodes(&report, &all);
	assert_finding(JUDGE_OK, "with the version of the controller: 3");
	all.n_up = 2;
	strcpy(all.first_down, "n7");
	judge_nodes(&report, &all);
	assert_finding(JUDGE_WARN, "1 of 3 nodes are not up (n7)");
	begin_again();
	all = (struct judge_nodes){ .n = 3, .n_up = 3, .n_other = 1 };
	judge_nodes(&report, &all);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_WARN, "1 of 3 nodes have another version");
	strcpy(all.why, "refused");
	judge_nodes(&report, &all);
	assert_finding(JUDGE_UNCHECKED, "refused");
}

/* ---- sshd ---- */

#define ACCOUNT "account  required  pam_reeve.so exempt=admins\n"
#define SESSION                                                                                \
	"session  [success=done ignore=ignore default=die]  pam_reeve.so exempt=admins\n"

static void sshd_is_read_line_by_line(void **state)
{
	static const struct {
		const char *pam, *sshd, *needle;
		enum judge_state state;
	} cases[] = {
		{ ACCOUNT SESSION "@include common-session\n", "",
		  "except those of group admins", JUDGE_OK },
		{ ACCOUNT SESSION "@include common-session\n", "UsePAM no\n", "UsePAM no",
		  JUDGE_FAIL },
		{ ACCOUNT SESSION "@include common-session\n", "UsePAM yes\nUsePAM no\n",
		  "pam_reeve puts", JUDGE_OK },
		{ ACCOUNT SESSION, "# UsePAM no\n", "pam_reeve puts", JUDGE_OK },
		{ ACCOUNT "@include common-session\n" SESSION, "", "before pam_reeve",
		  JUDGE_FAIL },
		{ ACCOUNT "session optional pam_systemd.so\n" SESSION, "", "before pam_reeve",
		  JUDGE_FAIL },
		{ ACCOUNT "session required pam_reeve.so\n@include common-session\n", "",
		  "after pam_reeve", JUDGE_FAIL },
		{ ACCOUNT "session sufficient pam_reeve.so\n", "", "pam_reeve puts", JUDGE_OK },
		{ ACCOUNT, "", "no session line", JUDGE_FAIL },
		{ SESSION, "", "no account line", JUDGE_FAIL },
		{ "#" ACCOUNT "#" SESSION, "", "no account line", JUDGE_FAIL },
		{ "", "allowgroups admins\n", "restricts", JUDGE_OK },
		{ "", "AllowUsers\tops\n", "restricts", JUDGE_OK },
		{ "", "Match User x\nAllowGroups admins\n", "no account line", JUDGE_FAIL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct judge_sshd s = { .has_sshd = true, .has_module = true };

		judge_read_pam(cases[i].pam, &s);
		judge_read_sshd_config(cases[i].sshd, &s);
		judge_sshd(&report, &s);
		assert_finding(cases[i].state, cases[i].needle);
	}
}

static void endless_lines_are_read_to_their_end(void **state)
{
	char *text = malloc(100001);
	struct judge_sshd s = { .has_sshd = true };

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 100000);
	text[100000] = '\0';
	judge_read_pam(text, &s);
	memcpy(text + 50000, "\n" SESSION, sizeof(SESSION));
	judge_read_pam(text, &s);
	assert_true(s.has_session);
	free(text);
}

static void who_runs_outside_jobs(void **state)
{
	struct judge_users u = { .n = 2,
				 .of = { { .uid = 1000, .name = "alice", .has_linger = true },
					 { .uid = 1001,
					   .name = "root2",
					   .has_linger = true,
					   .is_exempt = true } } };

	(void)state;
	judge_users(&report, &u);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_FAIL, "user alice (uid 1000) lingers");
	u.of[0].has_linger = false;
	u.of[0].has_manager = true;
	judge_users(&report, &u);
	assert_finding(JUDGE_WARN, "user@1000.service");
	u.is_cut = true;
	judge_users(&report, &u);
	assert_finding(JUDGE_UNCHECKED, "more than");
	u = (struct judge_users){ .n = 0 };
	judge_users(&report, &u);
	assert_finding(JUDGE_OK, "no user lingers");
}

static void a_group_to_exempt_is_a_whole_word(void **state)
{
	static const char long_group[] =
		"session sufficient pam_reeve.so exempt="
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
	struct judge_sshd s = { .has_sshd = true };

	(void)state;
	judge_read_pam("session sufficient pam_reeve.so exempt=ops,admins debug\n", &s);
	assert_string_equal(s.exempt, "ops");
	s.exempt[0] = '\0';
	judge_read_pam("session sufficient pam_reeve.so\n", &s);
	judge_read_pam(long_group, &s);
	assert_string_equal(s.exempt, "");
	s.has_account = true;
	judge_sshd(&report, &s);
	assert_finding(JUDGE_FAIL, "not installed");
	strcpy(s.why, "Permission denied");
	judge_sshd(&report, &s);
	assert_finding(JUDGE_UNCHECKED, "Permission denied");
	s.has_sshd = false;
	judge_sshd(&report, &s);
	assert_finding(JUDGE_NONE, "no sshd");
}

static void what_starts_commands_later(void **state)
{
	struct judge_later l = { .name = "at", .allow = "/etc/at.allow" };

	(void)state;
	judge_later(&report, &l);
	assert_finding(JUDGE_NONE, "no at is installed");
	l.is_installed = true;
	judge_later(&report, &l);
	assert_finding(JUDGE_WARN, "no /etc/at.allow");
	assert_string_equal(last()->remedy, "echo root > /etc/at.allow");
	l.has_allow = true;
	judge_later(&report, &l);
	assert_finding(JUDGE_OK, "/etc/at.allow");
}

static void munge_here(void **state)
{
	struct judge_munge m = { .is_good = true };

	(void)state;
	judge_munge(&report, &m);
	assert_finding(JUDGE_OK, "decodes them");
	m = (struct judge_munge){ .words = "Invalid credential" };
	judge_munge(&report, &m);
	assert_finding(JUDGE_FAIL, "Invalid credential");
	assert_non_null(strstr(last()->remedy, "unmunge"));
	m.is_away = true;
	judge_munge(&report, &m);
	assert_non_null(strstr(last()->remedy, "enable --now munge"));
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
	assert_string_equal(last()->remedy, "chmod 0600 /f");
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
	assert_non_null(strstr(last()->remedy, "install the package that has /f"));
	p.kind = JUDGE_PATH_DIRECTORY;
	judge_paths(&report, &p, 1);
	assert_non_null(strstr(last()->remedy, "install -d /f"));
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
	assert_string_equal(last()->remedy, "sqlite3 -readonly /l 'PRAGMA quick_check'");
	strcpy(d.damage, "row missing");
	judge_database(&report, &d);
	assert_finding(JUDGE_FAIL, "row missing");
	strcpy(d.why, "locked");
	judge_database(&report, &d);
	assert_finding(JUDGE_FAIL, "locked");
	d = (struct judge_database){ .check = "store", .place = "/l", .newest = 5 };
	begin_again();
	judge_database(&report, &d);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_WARN, "no database /l yet");
	assert_string_equal(last()->remedy, "systemctl start reeve-agent");
	d.check = "ledger";
	judge_database(&report, &d);
	assert_string_equal(last()->remedy, "systemctl start reeve-controller");
	d = (struct judge_database){ .check = "store", .place = "/l", .is_there = true };
	begin_again();
	judge_database(&report, &d); /* whose schema is not compared */
	assert_int_equal(report.n, 1);
}

static struct judge_postgres good_postgres(void)
{
	return (struct judge_postgres){
		.place = "p",
		.server = 150004,
		.has_ledger = true,
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
	begin_again();
	judge_postgres(&report, &p);
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 0);
	assert_int_equal(report.n, 3);
	assert_string_equal(report.of[1].remedy, "systemctl start reeve-controller");
	begin_again();
	p.server = 140009;
	judge_postgres(&report, &p);
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	strcpy(p.why, "no route");
	judge_postgres(&report, &p);
	assert_finding(JUDGE_FAIL, "no route");
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

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_not_checked_is_not_well),
		TEST(findings_that_do_not_fit_are_a_failure),
		TEST(a_long_text_is_cut),
		TEST(units_that_do_not_run),
		TEST(configurations_with_faults),
		TEST(an_agent_that_does_not_answer_says_nothing),
		TEST(a_weak_tier_says_why),
		TEST(the_agents_own_exchange),
		TEST(a_group_to_exempt_is_a_whole_word),
		TEST(what_starts_commands_later),
		TEST(munge_here),
		TEST(versions_are_compared_with_this_one),
		TEST(features_that_the_kernel_lacks),
		TEST(controllers_that_jobs_need),
		TEST(quotas_count_only_where_a_write_was_stopped),
		TEST(clocks_may_differ_by_less_than_reports_allow),
		TEST(a_slow_exchange_is_no_wrong_clock),
		TEST(a_refused_credential_names_the_clock),
		TEST(each_side_decodes_the_others),
		TEST(nodes_that_the_controller_has),
		TEST(sshd_is_read_line_by_line),
		TEST(endless_lines_are_read_to_their_end),
		TEST(who_runs_outside_jobs),
		TEST(modes_name_the_bits_to_take_away),
		TEST(disks_by_what_they_need),
		TEST(a_database_is_well_only_when_it_was_read),
		TEST(servers_and_their_settings),
		TEST(a_test_job_must_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
