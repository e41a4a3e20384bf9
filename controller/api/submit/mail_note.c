/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mail_note.c - which of the mails that a job's user asks for this site does not send; see submit.h. */
#include <stdio.h>
#include <string.h>
#include "common/model/mail.h"
#include "controller/api/submit/submit.h"

/* Mails come from the hook of an event (docs/operation.md, "Mail"). */
static const struct {
	uint32_t types;
	enum config_hook hook;
} events[] = {
	{ MAIL_BEGIN, CONFIG_HOOK_JOB_STARTED },
	{ MAIL_END | MAIL_FAIL | MAIL_LIMIT | MAIL_TIME_LIMIT, CONFIG_HOOK_JOB_ENDED },
	{ MAIL_REQUEUE, CONFIG_HOOK_JOB_REQUEUED },
	{ MAIL_TIME_50, CONFIG_HOOK_WALLTIME_50 },
	{ MAIL_TIME_80, CONFIG_HOOK_WALLTIME_80 },
	{ MAIL_TIME_90, CONFIG_HOOK_WALLTIME_90 },
};

const char *submit_mail_note(const struct config_hooks *h, uint32_t types,
			     char buf[static SUBMIT_MAIL_NOTE_MAX])
{
	char words[MAIL_TYPES_MAX];
	uint32_t unsent = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (!h->program || !(h->event_set & 1U << events[i].hook))
			unsent |= types & events[i].types;
	if (unsent)
		snprintf(buf, SUBMIT_MAIL_NOTE_MAX,
			 "no mail of %s is sent here: the controller has no program for it",
			 mail_format_types(unsent, words));
	return buf;
}
