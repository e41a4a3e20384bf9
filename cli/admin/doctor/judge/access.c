/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - see access.h. */
#include <ctype.h>
#include <string.h>
#include "cli/admin/doctor/judge/access.h"

/* ---- lingering and user managers ---- */

void judge_users(struct judge_report *r, const struct judge_users *u)
{
	size_t before = r->n;

	if (*u->why) {
		judge_add(r, "users", JUDGE_UNCHECKED,
			  "users that linger or have a manager were not listed: %s", u->why);
		return;
	}
	for (size_t i = 0; i < u->n; i++) {
		const struct judge_user *one = &u->of[i];

		if (one->is_exempt)
			continue;
		if (one->has_linger) {
			judge_add(r, "linger", JUDGE_FAIL,
				  "user %s (uid %u) lingers: user@%u.service runs programs of "
				  "that user outside all jobs",
				  one->name, one->uid, one->uid);
			judge_remedy(r,
				     "loginctl disable-linger %s; loginctl terminate-user %s",
				     one->name, one->name);
		} else if (one->has_manager) {
			judge_add(r, "user-slice", JUDGE_WARN,
				  "user@%u.service of user %s runs: its programs are in no job",
				  one->uid, one->name);
			judge_remedy(r, "loginctl terminate-user %s", one->name);
		}
	}
	if (u->is_cut)
		judge_add(r, "users", JUDGE_UNCHECKED,
			  "more than %d users linger or have a manager: the others were not "
			  "looked at",
			  JUDGE_USERS_MAX);
	if (r->n == before)
		judge_add(r, "linger", JUDGE_OK,
			  "no user lingers, and no user manager runs outside jobs");
}

void judge_polkit(struct judge_report *r, const struct judge_polkit *p)
{
	if (!p->has_polkit) {
		judge_add(r, "polkit", JUDGE_NONE,
			  "no polkit is installed here: users cannot make themselves linger");
	} else if (*p->why) {
		judge_add(r, "polkit", JUDGE_UNCHECKED,
			  "polkit was not asked whether users may linger: %s", p->why);
	} else if (p->status == 1 || p->status == 2 || p->status == 3) {
		judge_add(r, "polkit", JUDGE_OK, "polkit refuses users that would linger");
	} else if (p->status) {
		judge_add(r, "polkit", JUDGE_UNCHECKED,
			  "polkit was asked whether users may linger: exit status %d: %s",
			  p->status, p->words);
	} else if (p->has_rule) {
		judge_add(r, "polkit", JUDGE_FAIL,
			  "polkit lets each user linger (%s), outside all jobs: a rule comes "
			  "before that of %s",
			  JUDGE_LINGER_ACTION, JUDGE_LINGER_RULE);
		judge_remedy(r, "grep -rl -e set-self-linger -e login1 /etc/polkit-1/rules.d "
				"/usr/share/polkit-1/rules.d");
	} else {
		judge_add(r, "polkit", JUDGE_FAIL,
			  "polkit lets each user linger (%s), outside all jobs: there is no %s",
			  JUDGE_LINGER_ACTION, JUDGE_LINGER_RULE);
		judge_remedy(r,
			     "echo 'polkit.addRule(function(a, s) { if (a.id == \"%s\" && "
			     "s.user != \"root\") return polkit.Result.NO; });' | install -D "
			     "-m 644 /dev/stdin %s",
			     JUDGE_LINGER_ACTION, JUDGE_LINGER_RULE);
	}
}

/* ---- sshd ---- */

#define LINE_MAX_BYTES 512

/* Copies the line at *p without its comment, in lower case, with single blanks; moves *p on. False: no more. */
static bool next_line(const char **p, char line[static LINE_MAX_BYTES])
{
	const char *end;
	size_t n = 0;
	bool has_comment = false;

	if (!**p)
		return false;
	end = *p + strcspn(*p, "\n");
	for (const char *c = *p; c < end && n < LINE_MAX_BYTES - 1; c++) {
		has_comment |= *c == '#';
		if (has_comment)
			break;
		if (!isspace((unsigned char)*c))
			line[n++] = (char)tolower((unsigned char)*c);
		else if (n && line[n - 1] != ' ')
			line[n++] = ' ';
	}
	if (n && line[n - 1] == ' ')
		n--;
	line[n] = '\0';
	*p = *end ? end + 1 : end;
	return true;
}

static bool begins_with(const char *line, const char *begin)
{
	return !strncmp(line, begin, strlen(begin));
}

/* "session [success=done ...] pam_reeve.so": what follows is left out where it succeeds. */
static bool is_final(const char *line)
{
	return strstr(line, "success=done") || begins_with(line, "session sufficient");
}

static void read_exempt(const char *line, char ret[static JUDGE_WORD_MAX])
{
	const char *p = strstr(line, "exempt=");
	size_t n = p ? strcspn(p + 7, " ,") : 0;

	if (!p || n >= JUDGE_WORD_MAX)
		return;
	memcpy(ret, p + 7, n);
	ret[n] = '\0';
}

static void read_session(const char *line, bool *has_systemd, struct judge_sshd *ret)
{
	if (!strstr(line, "pam_reeve.so")) {
		*has_systemd |= strstr(line, "pam_systemd.so") != NULL;
		return;
	}
	ret->has_session = true;
	ret->is_late = *has_systemd;
	ret->goes_on = !is_final(line);
}

void judge_read_pam(const char *text, struct judge_sshd *ret)
{
	char line[LINE_MAX_BYTES];
	bool has_systemd = false;

	while (next_line(&text, line)) {
		const char *at = line + (*line == '-');

		if (begins_with(at, "account ") && strstr(at, "pam_reeve.so"))
			ret->has_account = true;
		if (begins_with(at, "session "))
			read_session(at, &has_systemd, ret);
		has_systemd |= !strcmp(at, "@include common-session");
		if (strstr(at, "pam_reeve.so"))
			read_exempt(at, ret->exempt);
	}
}

/* The first value of a keyword counts. */
void judge_read_sshd_config(const char *text, struct judge_sshd *ret)
{
	char line[LINE_MAX_BYTES];
	bool has_pam = false;

	while (next_line(&text, line) && !begins_with(line, "match ")) {
		if (begins_with(line, "usepam ") && !has_pam) {
			has_pam = true;
			ret->has_no_pam = !strcmp(line, "usepam no");
		}
		ret->is_restricted |=
			begins_with(line, "allowusers ") || begins_with(line, "allowgroups ");
	}
}

static void suggest_pam(struct judge_report *r)
{
	judge_remedy(r, "add to /etc/pam.d/sshd the two lines of \"ssh to a node\" in "
			"docs/operation.md, or AllowGroups admins to /etc/ssh/sshd_config");
}

/* Both lines are there. */
static void judge_order(struct judge_report *r, const struct judge_sshd *s)
{
	if (!s->has_module) {
		judge_add(r, "ssh", JUDGE_FAIL,
			  "/etc/pam.d/sshd names pam_reeve.so, which is not installed");
		judge_remedy(r, "install reeve-agent of this version");
	} else if (s->is_late || s->goes_on) {
		judge_add(r, "ssh", JUDGE_FAIL,
			  "/etc/pam.d/sshd: pam_systemd runs %s pam_reeve's session: its user "
			  "manager is outside the job",
			  s->is_late ? "before" : "after");
		judge_remedy(r, "put \"session [success=done ignore=ignore default=die] "
				"pam_reeve.so\" before \"@include common-session\"");
	} else {
		judge_add(r, "ssh", JUDGE_OK, "pam_reeve puts ssh sessions into jobs%s%s",
			  *s->exempt ? ", except those of group " : "", s->exempt);
	}
}

void judge_sshd(struct judge_report *r, const struct judge_sshd *s)
{
	bool has_both = s->has_account && s->has_session;

	if (!s->has_sshd) {
		judge_add(r, "ssh", JUDGE_NONE, "no sshd is installed here");
	} else if (*s->why) {
		judge_add(r, "ssh", JUDGE_UNCHECKED, "sshd's configuration was not read: %s",
			  s->why);
	} else if (has_both && s->has_no_pam) {
		judge_add(r, "ssh", JUDGE_FAIL,
			  "sshd_config says UsePAM no: ssh sessions are in no job");
		judge_remedy(r, "set UsePAM yes in /etc/ssh/sshd_config; systemctl reload ssh");
	} else if (has_both) {
		judge_order(r, s);
	} else if (s->is_restricted) {
		judge_add(
			r, "ssh", JUDGE_OK,
			"sshd_config allows some users alone to log in (AllowUsers, AllowGroups)");
	} else {
		judge_add(r, "ssh", JUDGE_FAIL,
			  "/etc/pam.d/sshd has no %s line of pam_reeve: every user may log in, "
			  "and the session is in no job",
			  s->has_account ? "session" : "account");
		suggest_pam(r);
	}
}

/* ---- StrayProcesses ---- */

static bool has_word(const char *list, const char *word)
{
	size_t n;

	for (const char *p = list; *p; p += n) {
		p += strspn(p, ", \t");
		n = strcspn(p, ", \t");
		if (n == strlen(word) && !strncmp(p, word, n))
			return true;
	}
	return false;
}

void judge_stray(struct judge_report *r, const struct judge_stray *s)
{
	if (!s->is_killing || !*s->exempt ||
	    has_word(s->stray_exempt ? s->stray_exempt : "", s->exempt))
		return;
	judge_add(r, "stray", JUDGE_WARN,
		  "StrayProcesses = kill ends sessions of group %s, which pam_reeve passes, "
		  "while their user has a job here",
		  s->exempt);
	judge_remedy(r, "add %s to StrayExemptGroups in agent.conf", s->exempt);
}

/* ---- cron, at ---- */

void judge_later(struct judge_report *r, const struct judge_later *l)
{
	if (!l->is_installed) {
		judge_add(r, l->name, JUDGE_NONE, "no %s is installed here", l->name);
	} else if (l->has_allow) {
		judge_add(r, l->name, JUDGE_OK, "%s lists the users that may use %s", l->allow,
			  l->name);
	} else {
		judge_add(r, l->name, JUDGE_WARN,
			  "there is no %s: users may start processes by %s, outside all jobs",
			  l->allow, l->name);
		judge_remedy(r, "echo root > %s", l->allow);
	}
}
