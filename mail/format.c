/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format.c - headers and body of a mail; see format.h. */
#include <inttypes.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/utf8.h"
#include "mail/format.h"

#define WORD_BYTES                                                                             \
	42 /* of a subject in one encoded word: 56 characters of base64, and 12 around them */
#define LINE_BYTES 57 /* of the text in one line: 76 characters of base64 */

static void put_base64(FILE *f, const char *bytes, size_t size)
{
	char text[BASE64_ENCODE_RAW_LENGTH(LINE_BYTES) + 1];

	base64_encode_raw(text, size, (const uint8_t *)bytes);
	fwrite(text, 1, BASE64_ENCODE_RAW_LENGTH(size), f);
}

/* How many bytes from p on are whole characters and at most WORD_BYTES. */
static size_t measure_word(const char *p)
{
	size_t n = 0, next;
	uint32_t c;

	while (p[n] && (next = utf8_decode(p + n, &c)) > 0 && n + next <= WORD_BYTES)
		n += next;
	return n;
}

static bool is_plain(const char *text)
{
	for (const char *p = text; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return strlen(text) <= 60 && !strstr(text, "=?");
}

static void put_subject(FILE *f, const char *subject)
{
	const char *between = "";

	fputs("Subject: ", f);
	if (is_plain(subject)) {
		fprintf(f, "%s\r\n", subject);
		return;
	}
	for (const char *p = subject; *p;) {
		size_t n = measure_word(p);

		if (!n)
			break;
		fprintf(f, "%s=?UTF-8?B?", between);
		put_base64(f, p, n);
		fputs("?=", f);
		between = "\r\n ";
		p += n;
	}
	fputs("\r\n", f);
}

/* The names of days and months are English whatever the locale is. */
static void put_date(FILE *f, int64_t at_s)
{
	static const char days[] = "SunMonTueWedThuFriSat",
			  months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t t = (time_t)at_s;
	struct tm tm;

	if (!gmtime_r(&t, &tm))
		return;
	fprintf(f, "Date: %.3s, %02d %.3s %d %02d:%02d:%02d +0000\r\n", days + 3 * tm.tm_wday,
		tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
		tm.tm_sec);
}

static void put_headers(FILE *f, const struct mail_message *m, const struct mail_envelope *e)
{
	fprintf(f, "From: Reeve <%s>\r\nTo: %s\r\n", e->from, e->to);
	put_subject(f, m->subject);
	put_date(f, e->at_s);
	fprintf(f, "Message-ID: <reeve.%" PRId64 ".%" PRId64 ".%s.%" PRId64 "@%s>\r\n", m->job,
		m->attempt, m->reason, e->at_s, e->host);
	fputs("Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
	      "Content-Transfer-Encoding: base64\r\n\r\n",
	      f);
}

/* Line ends of a text are CRLF before they are encoded. */
static char *with_crlf(const char *text)
{
	char *out = malloc(2 * strlen(text) + 1), *to = out;

	if (!out)
		return NULL;
	for (; *text; text++) {
		if (*text == '\n')
			*to++ = '\r';
		*to++ = *text;
	}
	*to = '\0';
	return out;
}

char *mail_format(const struct mail_message *m, const struct mail_envelope *e, size_t *ret_size)
{
	char *whole = NULL, *text = with_crlf(m->text);
	FILE *f = open_memstream(&whole, ret_size);

	if (f && text) {
		put_headers(f, m, e);
		for (size_t at = 0, size = strlen(text); at < size; at += LINE_BYTES) {
			put_base64(f, text + at,
				   size - at < LINE_BYTES ? size - at : LINE_BYTES);
			fputs("\r\n", f);
		}
	}
	if ((f && (ferror(f) | fclose(f))) || !text) {
		free(whole);
		whole = NULL;
	}
	free(text);
	return f ? whole : NULL;
}
