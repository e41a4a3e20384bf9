/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_doctor_link.c - what `reeve admin doctor` makes of the exchange with the controller and of ways out of jobs (cli/admin/doctor/judge). */
#include "tests/unit/rig/doctor_rig.h"

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

static void a_certificate_is_warned_of_before_it_expires(void **state)
{
	static const struct {
		int64_t left_s;
		enum judge_state state;
		const char *says;
	} cases[] = {
		{ 14 * 86400, JUDGE_OK, "in 14 days" },
		{ 14 * 86400 - 1, JUDGE_WARN, "in 13 days" },
		{ 2 * 86400, JUDGE_WARN, "in 2 days" },
		{ 2 * 86400 - 1, JUDGE_FAIL, "in 1 days" },
		{ -5, JUDGE_FAIL, "in 0 days" },
	};
	struct judge_about a = good_about();

	(void)state;
	judge_certificate(&report, &a, NULL);
	assert_finding(JUDGE_NONE, "plain http");
	judge_certificate(&report, &a, "/etc/c.pem");
	assert_finding(JUDGE_WARN, "started before Certificate= was set");
	a.has_certificate = true;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		a.certificate_left_s = cases[i].left_s;
		judge_certificate(&report, &a, "/etc/c.pem");
		assert_finding(cases[i].state, cases[i].says);
	}
	a.certificate_left_s = 30 * 86400;
	a.rsa_bits = 2048;
	judge_certificate(&report, &a, "/etc/c.pem");
	assert_finding(JUDGE_OK, "in 30 days");
	a.rsa_bits = 4096;
	judge_certificate(&report, &a, "/etc/c.pem");
	assert_finding(JUDGE_WARN, "RSA of 4096 bits: each TLS handshake costs");
	a.status = -111;
	judge_certificate(&report, &a, "/etc/c.pem");
	assert_finding(JUDGE_UNCHECKED, "/etc/c.pem");
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
	report_clear();
	strcpy(a.why, "none is configured");
	judge_about(&report, &a);
	assert_int_equal(report.n, 1);
	assert_finding(JUDGE_UNCHECKED, "none is configured");
	judge_clock(&report, &a);
	assert_finding(JUDGE_UNCHECKED, "none is configured");
	a.why[0] = '\0';
	report_clear();
	a.status = 500;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].text, "refuses to answer"));
	assert_non_null(strstr(report.of[0].remedy, "journalctl -u reeve-controller"));
	report_clear();
	a.status = -111;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].text, "does not answer"));
	assert_non_null(strstr(report.of[0].remedy, "systemctl status reeve-controller"));
	report_clear();
	a.status = 401;
	judge_about(&report, &a);
	assert_non_null(strstr(report.of[0].remedy, "munge.key"));
	assert_int_equal(judge_count(&report, JUDGE_FAIL), 1);
	assert_finding(JUDGE_UNCHECKED, "did not answer");
	report_clear();
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
	assert_string_equal(last_finding()->remedy, "reeve nodes resume n1");
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
	assert_string_equal(judge_state_name(last_finding()->state), "warn");
	all = (struct judge_nodes){ .n = 3, .n_up = 3 };
	judge_nodes(&report, &all);
	assert_finding(JUDGE_OK, "with the version of the controller: 3");
	all.n_up = 2;
	strcpy(all.first_down, "n7");
	judge_nodes(&report, &all);
	assert_finding(JUDGE_WARN, "1 of 3 nodes are not up (n7)");
	report_clear();
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
		{ "", "allowgroups admins\n", "allows some users alone", JUDGE_OK },
		{ "", "AllowUsers\tops\n", "allows some users alone", JUDGE_OK },
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

static void polkit_must_refuse_users_that_would_linger(void **state)
{
	static const struct {
		struct judge_polkit p;
		enum judge_state state;
		const char *says;
	} cases[] = {
		{ { .has_polkit = false }, JUDGE_NONE, "no polkit is installed" },
		{ { .has_polkit = true }, JUDGE_FAIL, "there is no /usr/share/polkit-1" },
		{ { .has_polkit = true, .has_rule = true },
		  JUDGE_FAIL,
		  "comes before that of" },
		{ { .has_polkit = true, .status = 1 }, JUDGE_OK, "refuses" },
		{ { .has_polkit = true, .status = 2 }, JUDGE_OK, "refuses" },
		{ { .has_polkit = true, .status = 3 }, JUDGE_OK, "refuses" },
		{ { .has_polkit = true, .status = 127, .words = "no bus" },
		  JUDGE_UNCHECKED,
		  "127: no bus" },
		{ { .has_polkit = true, .why = "this needs root" },
		  JUDGE_UNCHECKED,
		  "this needs root" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		judge_polkit(&report, &cases[i].p);
		assert_finding(cases[i].state, cases[i].says);
	}
}

static void whom_pam_reeve_passes_are_not_to_be_killed(void **state)
{
	struct judge_stray s = { .is_killing = true, .exempt = "admins" };
	size_t before = report.n;

	(void)state;
	judge_stray(&report, &s);
	assert_finding(JUDGE_WARN, "sessions of group admins");
	s.stray_exempt = "xadmins,admin, adminsx";
	judge_stray(&report, &s);
	assert_int_equal(report.n, before + 2);
	s.stray_exempt = "ops, admins";
	judge_stray(&report, &s);
	s = (struct judge_stray){ .is_killing = true, .exempt = "" };
	judge_stray(&report, &s);
	s = (struct judge_stray){ .exempt = "admins" };
	judge_stray(&report, &s);
	assert_int_equal(report.n, before + 2);
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
	assert_string_equal(last_finding()->remedy, "echo root > /etc/at.allow");
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
	assert_non_null(strstr(last_finding()->remedy, "unmunge"));
	m.is_away = true;
	judge_munge(&report, &m);
	assert_non_null(strstr(last_finding()->remedy, "enable --now munge"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(clocks_may_differ_by_less_than_reports_allow),
		TEST(a_slow_exchange_is_no_wrong_clock),
		TEST(a_certificate_is_warned_of_before_it_expires),
		TEST(a_refused_credential_names_the_clock),
		TEST(each_side_decodes_the_others),
		TEST(nodes_that_the_controller_has),
		TEST(sshd_is_read_line_by_line),
		TEST(endless_lines_are_read_to_their_end),
		TEST(who_runs_outside_jobs),
		TEST(polkit_must_refuse_users_that_would_linger),
		TEST(whom_pam_reeve_passes_are_not_to_be_killed),
		TEST(a_group_to_exempt_is_a_whole_word),
		TEST(what_starts_commands_later),
		TEST(munge_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
