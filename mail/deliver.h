/* SPDX-License-Identifier: GPL-2.0-or-later */
/* deliver - passes one mail to the relay, or to a program that takes mails as sendmail does. */
#pragma once
#include <stddef.h>
#include "mail/config.h"

struct err;

struct mail_delivery {
	const char *from, *to; /* one address each */
	const char *text;      /* as mail_format() makes it */
	size_t size;
};

/* 0: accepted. -EAGAIN: it may be accepted later (no answer, 4xx, exit status 75 ...). Others: it never will be; err has what the
 * other side said. Takes no longer than c->time_limit_s. */
int mail_deliver(const struct mail_config *c, const struct mail_delivery *d, struct err *err);
