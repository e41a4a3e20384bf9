/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utf8 - makes untrusted text valid, printable UTF-8.
 *
 * Jobs name their processes, files and directories with any bytes, and a fixed buffer cuts a
 * text in the middle of a character. JSON, D-Bus and PostgreSQL refuse such text, so it is
 * mended where it enters: where a message, a note or the reason of an end is made. Pure.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length in bytes of the UTF-8 character at `s` (which ends with NUL), and its code point; 0:
 * the bytes there are none (overlong forms, surrogates and what is beyond U+10FFFF are none).
 */
size_t utf8_decode(const char *s, uint32_t *ret);
bool utf8_is_valid(const char *text);
/* 3 where a byte order mark begins the text, else 0. */
size_t utf8_mark_size(const char *text, size_t size);
/* Neither a control character nor a mark that reorders the text around it. */
bool utf8_is_printable(uint32_t c);

/* Valid, and nothing but printable characters. */
bool utf8_is_clean(const char *text);

/* All three work in place, never make the text longer, and return it. Each piece of bytes that
 * is no character becomes one '?'; of a character that the end of the text cuts nothing stays.
 */
char *utf8_mend(char *text);
/* The same; and line ends and tabs become a blank, all else that is not printable a '?'. */
char *utf8_clean(char *text);

/* As snprintf() and utf8_clean(): what does not fit is cut at a character. Returns buf. */
char *utf8_format(char *buf, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* `text` that need not end with a NUL: at most `max` bytes of it are read. */
char *utf8_copy(char *buf, size_t size, const char *text, size_t max);
