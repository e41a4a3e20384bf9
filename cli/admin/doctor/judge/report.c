/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - see report.h. */
#include <stdarg.h>
#include <stdio.h>
#include "cli/admin/doctor/judge/report.h"

const char *judge_state_name(enum judge_state s)
{
	switch (s) {
	case JUDGE_OK:
		return "ok";
	case JUDGE_NONE:
		return "n/a";
	case JUDGE_WARN:
		return "warn";
	case JUDGE_UNCHECKED:
		return "unchecked";
	default:
		return "fail";
	}
}

void judge_add(struct judge_report *r, const char *check, enum judge_state state,
	       const char *fmt, ...)
{
	struct judge_finding *f = &r->of[r->n];
	va_list ap;

	if (r->n == JUDGE_FINDINGS_MAX) {
		r->is_full = true;
		return;
	}
	r->n++;
	f->check = check;
	f->state = state;
	f->remedy[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

void judge_remedy(struct judge_report *r, const char *fmt, ...)
{
	va_list ap;

	if (!r->n || r->is_full)
		return;
	va_start(ap, fmt);
	vsnprintf(r->of[r->n - 1].remedy, JUDGE_REMEDY_MAX, fmt, ap);
	va_end(ap);
}

void judge_report_close(struct judge_report *r)
{
	struct judge_finding *last = &r->of[JUDGE_FINDINGS_MAX - 1];

	if (!r->is_full)
		return;
	*last = (struct judge_finding){ .check = "report", .state = JUDGE_FAIL };
	snprintf(last->text, sizeof(last->text),
		 "there are more than %d findings: the others are not shown",
		 JUDGE_FINDINGS_MAX - 1);
	snprintf(last->remedy, sizeof(last->remedy),
		 "mend these, then call reeve admin doctor again");
}

size_t judge_count(const struct judge_report *r, enum judge_state state)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->of[i].state == state;
	return n;
}

bool judge_has_failed(const struct judge_report *r, bool is_strict)
{
	return judge_count(r, JUDGE_FAIL) || judge_count(r, JUDGE_UNCHECKED) ||
	       (is_strict && judge_count(r, JUDGE_WARN));
}
