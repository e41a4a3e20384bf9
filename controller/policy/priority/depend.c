/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depend.c - judges one dependency and words the verdict; see depend.h. */
#include <stdio.h>
#include "controller/policy/priority/depend.h"

bool depend_is_well(const struct job_end *end)
{
	return end->kind == END_EXITED && end->exit_status == 0;
}

enum depend_verdict depend_judge(enum after_kind kind, const struct job_end *end)
{
	if (end->kind == END_NONE)
		return DEPEND_WAITS;
	return kind == AFTER_ANY || depend_is_well(end) ? DEPEND_MET : DEPEND_FAILED;
}

/* The auxiliary that reason_format_line() needs before it: "was cancelled ..." but "exited
 * ...". */
static const char *verb_of(const struct job_end *end)
{
	switch (end->kind) {
	case END_CANCELLED:
	case END_NODE_LOST:
	case END_LIMIT:
		return "was ";
	default:
		return "";
	}
}

const char *depend_words(struct after a, const struct job_end *end,
			 char buf[static DEPEND_WORDS_MAX])
{
	char id[JOB_ID_TEXT_MAX], how[DEPEND_WORDS_MAX / 2];
	const char *well = a.kind == AFTER_OK ? " well" : "";

	job_id_format(a.id, id);
	if (depend_judge(a.kind, end) != DEPEND_FAILED) {
		snprintf(buf, DEPEND_WORDS_MAX, "waits for job %s to end%s (%s)", id, well,
			 after_kind_name(a.kind));
		return buf;
	}
	if (end->kind == END_LIMIT)
		snprintf(how, sizeof(how), "killed: %s limit",
			 limit_kind_name(end->reason.limit));
	else if (end->kind == END_DEPENDENCY) /* its own sentence stands with it */
		snprintf(how, sizeof(how), "never started, as what it waited for had failed");
	else
		reason_format_line(end, how, sizeof(how));
	snprintf(buf, DEPEND_WORDS_MAX,
		 "it was to run once job %s ended%s (%s), and that one %s%s", id, well,
		 after_kind_name(a.kind), verb_of(end), how);
	return buf;
}
