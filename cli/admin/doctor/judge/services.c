/* SPDX-License-Identifier: GPL-2.0-or-later */
/* services.c - see services.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/admin/doctor/judge/services.h"

/* A unit that systemd started again this often since it was started by hand is not well, though it is active. */
#define RESTARTS_MANY 3

static void judge_active(struct judge_report *r, const struct judge_unit *u)
{
	if (!strcmp(u->active, "active") && u->restarts >= RESTARTS_MANY) {
		judge_add(r, "unit", JUDGE_WARN,
			  "%s is active, but systemd has started it again %" PRId64 " times",
			  u->name, u->restarts);
		judge_remedy(r, "journalctl -u %s -p warning -n 50", u->name);
		return;
	}
	if (!strcmp(u->active, "active")) {
		judge_add(r, "unit", JUDGE_OK, "%s is active", u->name);
		return;
	}
	judge_add(r, "unit", JUDGE_FAIL, "%s is %s (result: %s)", u->name, u->active,
		  *u->result ? u->result : "unknown");
	if (!strcmp(u->active, "failed"))
		judge_remedy(r,
			     "journalctl -u %s -n 50; then: systemctl reset-failed %s && "
			     "systemctl start %s",
			     u->name, u->name, u->name);
	else
		judge_remedy(r, "systemctl start %s", u->name);
}

void judge_unit(struct judge_report *r, const struct judge_unit *u)
{
	if (!u->has_systemd) {
		judge_add(r, "unit", JUDGE_NONE,
			  "systemd does not run here: no unit keeps %s running", u->name);
		return;
	}
	if (*u->why) {
		judge_add(r, "unit", JUDGE_UNCHECKED, "systemd was not asked about %s: %s",
			  u->name, u->why);
		return;
	}
	if (strcmp(u->load, "loaded") != 0) {
		judge_add(r, "unit", JUDGE_FAIL, "%s is %s: systemd has no such unit", u->name,
			  u->load);
		judge_remedy(r, "systemctl daemon-reload; systemctl unmask %s", u->name);
		return;
	}
	judge_active(r, u);
	if (!strcmp(u->file, "enabled"))
		return;
	judge_add(r, "unit", JUDGE_WARN, "%s is %s: it does not start at the next boot",
		  u->name, *u->file ? u->file : "not enabled");
	judge_remedy(r, "systemctl enable %s", u->name);
}

void judge_config(struct judge_report *r, const struct judge_config *c)
{
	if (*c->why) {
		judge_add(r, c->check, JUDGE_UNCHECKED, "%s was not checked: %s", c->path,
			  c->why);
	} else if (c->is_good) {
		judge_add(r, c->check, JUDGE_OK, "%s has no fault", c->path);
	} else {
		judge_add(r, c->check, JUDGE_FAIL, "%s", c->words);
		judge_remedy(r, "%s", c->command);
	}
}

void judge_versions(struct judge_report *r, const char *ours, const struct judge_version *v,
		    size_t n)
{
	size_t n_same = 0;

	for (size_t i = 0; i < n; i++) {
		if (*v[i].why) {
			judge_add(r, "version", JUDGE_UNCHECKED,
				  "the version of %s is not known: %s", v[i].what, v[i].why);
		} else if (!strcmp(v[i].version, ours)) {
			n_same++;
		} else {
			judge_add(r, "version", JUDGE_WARN,
				  "%s has version %s, this command %s", v[i].what, v[i].version,
				  ours);
			if (v[i].remedy)
				judge_remedy(r, "%s", v[i].remedy);
		}
	}
	if (n_same && n_same == n)
		judge_add(r, "version", JUDGE_OK, "all parts have version %s", ours);
}
