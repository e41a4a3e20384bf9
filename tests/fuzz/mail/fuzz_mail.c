/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_mail.c - any document as the event of a hook: refused with words, no mail, or a mail whose header is ASCII, has no line that the event could
 * have added, and whose every line ends with CRLF.
 *
 * links: mail/compose mail/format common/utf8 common/err common/model/mail common/model/amount
 *
 * libs: -ljansson -lnettle
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "mail/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the number of lines before the empty one. */
static size_t check_lines(const char *mail, size_t size)
{
	size_t n = 0, head = 0;

	for (size_t i = 0, from = 0; i < size; i++) {
		if ((unsigned char)mail[i] >= 0x80 || !mail[i])
			abort();
		if (mail[i] != '\n')
			continue;
		if (i == 0 || mail[i - 1] != '\r')
			abort();
		if (!head && i == from + 1)
			head = n;
		from = i + 1;
		n++;
	}
	return head;
}

static void check_mail(const struct mail_message *m)
{
	static size_t head;
	const struct mail_envelope e = { "reeve@x", "alice@x", 1, "x" };
	size_t size, n;
	char *text = mail_format(m, &e, &size);

	if (!text || !utf8_is_valid(m->subject) || !utf8_is_valid(m->text) ||
	    strchr(m->subject, '\n') || strchr(m->subject, '\r'))
		abort();
	n = check_lines(text, size);
	if (!n || (head && n > head + MAIL_SUBJECT_MAX / 40)) /* a long subject is folded */
		abort();
	if (!head)
		head = n;
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *doc = json_loadb((const char *)data, size, 0, NULL);
	struct mail_message m = { 0 };
	struct err err = { "" };
	int r;

	if (!doc)
		return 0;
	r = mail_compose(doc, &m, &err);
	if (r < 0 && !*err.text)
		abort();
	if (r > 0)
		check_mail(&m);
	mail_message_done(&m);
	json_decref(doc);
	return 0;
}
