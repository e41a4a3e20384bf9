/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8.c - decodes UTF-8 and replaces what is invalid or unprintable, in place; see utf8.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/utf8.h"

/* Bytes of the sequence that this lead byte begins; 0: no sequence begins with it (RFC 3629,
 * section 3). */
static size_t sequence_length(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

size_t utf8_decode(const char *s, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t n = sequence_length(p[0]);
	uint32_t c = n <= 1 ? p[0] : p[0] & (0xffu >> (n + 1));

	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (!n || c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret = c;
	return n;
}

bool utf8_is_valid(const char *text)
{
	uint32_t c;
	size_t n;

	for (; *text; text += n) {
		n = (unsigned char)*text < 0x80 ? 1 : utf8_decode(text, &c);
		if (!n)
			return false;
	}
	return true;
}

bool utf8_is_clean(const char *text)
{
	uint32_t c;

	for (size_t n; *text; text += n) {
		n = utf8_decode(text, &c);
		if (!n || !utf8_is_printable(c))
			return false;
	}
	return true;
}

size_t utf8_mark_size(const char *text, size_t size)
{
	return size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;
}

bool utf8_is_printable(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0xfeff)
		return false;
	return !(c >= 0x200e && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
	       !(c >= 0x2066 && c <= 0x2069);
}

/* Bytes at `s`, which is no character, that one '?' stands for. */
static size_t invalid_length(const char *s)
{
	size_t n = sequence_length((unsigned char)*s), i = 1;

	while (i < n && (s[i] & 0xc0) == 0x80)
		i++;
	return i;
}

/* Does the text end within the character that begins at `s`? */
static bool is_cut(const char *s)
{
	return sequence_length((unsigned char)*s) > 1 && !s[invalid_length(s)] &&
	       invalid_length(s) < sequence_length((unsigned char)*s);
}

static char keep_character(uint32_t c)
{
	(void)c;
	return '\0';
}

static char replace_unprintable(uint32_t c)
{
	if (c == '\n' || c == '\t' || c == '\r')
		return ' ';
	return utf8_is_printable(c) ? '\0' : '?';
}

/* `instead` says what stands for a character; NUL: itself. */
static char *rewrite_text(char *text, char (*instead)(uint32_t c))
{
	char *from = text, *to = text;
	uint32_t c = 0;

	while (*from) {
		size_t n = utf8_decode(from, &c), len = n ? n : invalid_length(from);
		char other = n ? instead(c) : '?';

		if (!n && is_cut(from))
			break;
		if (other)
			*to++ = other;
		else
			to = (char *)memmove(to, from, n) + n;
		from += len;
	}
	*to = '\0';
	return text;
}

char *utf8_mend(char *text)
{
	return rewrite_text(text, keep_character);
}

char *utf8_clean(char *text)
{
	return rewrite_text(text, replace_unprintable);
}

char *utf8_format(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return utf8_clean(buf);
}

char *utf8_copy(char *buf, size_t size, const char *text, size_t max)
{
	size_t n = strnlen(text, max);

	if (n >= size)
		n = size - 1;
	memcpy(buf, text, n);
	buf[n] = '\0';
	return utf8_clean(buf);
}
