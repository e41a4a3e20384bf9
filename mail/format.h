/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format - a mail as it goes over the wire (RFC 5322, MIME). Pure.
 *
 * Headers are ASCII: a subject with other characters is in encoded words (RFC 2047). The text is UTF-8 in base64, so that
 * no relay changes it and no line of it means anything to SMTP.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "mail/compose.h"

struct mail_envelope {
	const char *from, *to; /* one address each, as mail_check_user() accepts them */
	int64_t at_s;
	const char *host; /* of the message's id */
};

/* Lines end with CRLF. NULL: out of memory. free() */
char *mail_format(const struct mail_message *m, const struct mail_envelope *e,
		  size_t *ret_size);
