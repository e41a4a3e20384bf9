/* text.c - see text.h. */
#include <langinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/text.h"

#define ESCAPE_MAX 8 /* "\u10ffff" */

/* Length of the UTF-8 character at `s` (which ends with NUL) and its code point; 0: none. */
static size_t decode(const char *s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	if (p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2))
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

static bool is_harmless(uint32_t c, enum text_keep keep)
{
	if (c < 0x20 || c == 0x7f)
		return keep == TEXT_LINES && (c == '\n' || c == '\t');
	if (c < 0x7f)
		return true;
	if ((c >= 0x80 && c <= 0x9f) || c == 0x61c || c == 0xfeff)
		return false;
	return !(c >= 0x200e && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2066 && c <= 0x2069);
}

char *text_safe(const char *text, enum text_keep keep)
{
	bool utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	char *out = malloc(strlen(text) * ESCAPE_MAX + 1), *to = out;
	uint32_t c = 0;
	size_t n;

	for (; out && *text; text += n ? n : 1) {
		n = decode(text, &c);
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

bool text_is_utf8(const char *text)
{
	uint32_t c;
	size_t n;

	for (; *text; text += n) {
		n = decode(text, &c);
		if (!n)
			return false;
	}
	return true;
}
