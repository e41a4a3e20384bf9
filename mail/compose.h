/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compose - which mail an event of a job or an account calls for, and its text. Pure.
 *
 * The document is what the controller gives its hooks (docs/operation.md). Names and texts in it come from users and
 * nodes.
 */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include "common/model/mail.h"
#include "common/model/request.h"

struct err;

#define MAIL_SUBJECT_MAX 200
#define MAIL_TO_MAX 2048
#define MAIL_REASON_MAX 320

struct mail_message {
	int64_t job,
		attempt; /* with `reason`: what it is about; of an array all tasks together are one */
	const char *
		reason; /* "begin", "end", "fail", "limit", "requeue", "walltime-80" ..., or account_reason */
	char account_reason
		[MAIL_REASON_MAX]; /* of an account: which allocation, period and part */
	char user
		[REQUEST_NAME_MAX]; /* whose mails are counted; of an account "@" and its name */
	char to[MAIL_TO_MAX]; /* addresses by commas; without a domain as the user typed them */
	char subject[MAIL_SUBJECT_MAX]; /* one line of printable UTF-8 */
	char *text;			/* lines that end with LF; free() */
};

/* 1: *ret is a mail that the user asked for; 0: none is due; -EINVAL: the document is none of a hook. */
int mail_compose(const json_t *doc, struct mail_message *ret, struct err *err);
void mail_message_done(struct mail_message *m);
