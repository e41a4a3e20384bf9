/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.c - escapes what a terminal would interpret; see text.h. */
#include <langinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output/text.h"
#include "common/utf8.h"

#define ESCAPE_MAX 8 /* "\u10ffff" */

static bool is_harmless(uint32_t c, enum text_keep keep)
{
	if (keep == TEXT_LINES && (c == '\n' || c == '\t'))
		return true;
	return utf8_is_printable(c);
}

char *text_safe(const char *text, enum text_keep keep)
{
	bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	char *out = malloc(strlen(text) * ESCAPE_MAX + 1), *to = out;
	uint32_t c = 0;
	size_t n;

	for (; out && *text; text += n ? n : 1) {
		n = utf8_decode(text, &c);
		if (n && is_harmless(c, keep) && (utf8 || c < 0x80)) {
			memcpy(to, text, n);
			to += n;
		} else if (n && c >= 0x80) {
			to += sprintf(to, "\\u%04x", c);
		} else {
			to += sprintf(to, "\\%03o", (unsigned char)*text);
		}
	}
	if (out)
		*to = '\0';
	return out;
}
