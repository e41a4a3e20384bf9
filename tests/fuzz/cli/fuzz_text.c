/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_text.c - any bytes as text that is shown: nothing of it moves the cursor, and it is UTF-8. And any bytes that a user types to a console:
 * pieces of any size pass on what the whole passes on.
 *
 * links: cli/output/text cli/client/session/escape common/utf8 common/err
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "cli/client/session/escape.h"
#include "cli/output/text.h"
#include "common/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_safe(const char *text, enum text_keep keep)
{
	char *safe = text_safe(text, keep);

	if (!safe || !utf8_is_valid(safe))
		abort();
	for (const char *c = safe; *c; c++)
		if (((unsigned char)*c < ' ' && !(keep == TEXT_LINES && strchr("\n\t", *c))) ||
		    *c == '\x7f')
			abort();
	free(safe);
}

static void check_mended(const char *text)
{
	char *mended = strdup(text), *cleaned = strdup(text), part[16];
	uint32_t c;

	if (!utf8_is_valid(utf8_mend(mended)) || !utf8_is_valid(utf8_clean(cleaned)) ||
	    strlen(mended) > strlen(text) || strlen(cleaned) > strlen(text))
		abort();
	if (utf8_is_valid(text) && strcmp(mended, text) != 0)
		abort();
	for (const char *at = cleaned; *at; at += utf8_decode(at, &c))
		if (!utf8_decode(at, &c) || !utf8_is_printable(c))
			abort();
	if (!utf8_is_valid(utf8_copy(part, sizeof(part), text, strlen(text))))
		abort();
	free(mended);
	free(cleaned);
}

/* Until the first action, as the console does. */
static size_t pass_on(const uint8_t *data, size_t size, size_t piece, char *out,
		      enum escape_action *ret)
{
	struct escape e = { .state = ESCAPE_AT_BEGINNING };
	size_t n = 0;

	*ret = ESCAPE_NONE;
	for (size_t i = 0; i < size && *ret == ESCAPE_NONE;) {
		size_t used, left = size - i < piece ? size - i : piece;

		n += escape_filter(&e, (const char *)data + i, left, out + n, &used);
		*ret = e.action;
		if (used < 1 || used > left)
			abort();
		i += used;
	}
	return n;
}

static void check_typed(const uint8_t *data, size_t size)
{
	char *whole = malloc(2 * size + 2), *parts = malloc(2 * size + 2);
	enum escape_action one, other;
	size_t n = pass_on(data, size, size, whole, &one);

	for (size_t piece = 1; piece < 4; piece++)
		if (pass_on(data, size, piece, parts, &other) != n || one != other ||
		    memcmp(whole, parts, n) != 0)
			abort();
	free(whole);
	free(parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);

	check_safe(text, TEXT_LINE);
	check_safe(text, TEXT_LINES);
	check_mended(text);
	check_typed(data, size);
	free(text);
	return 0;
}
