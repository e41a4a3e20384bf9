/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line.c - builds lines of known width out of untrusted text; see line.h. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "cli/output/text.h"
#include "cli/top/draw/line.h"

#define CUT_MARK "+"

/* The bytes of the character at `s` and its columns. After text_safe() there are no invalid bytes; a character
 * that the locale does not know counts as one column, which is what '?' takes. */
static size_t next_character(const char *s, int *ret_columns)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t n;

	if (*s >= ' ' && *s <= '~') {
		*ret_columns = 1;
		return 1;
	}
	n = mbrtowc(&c, s, strlen(s), &state);
	if (n == 0 || n > strlen(s)) {
		*ret_columns = -1;
		return 1;
	}
	*ret_columns = wcwidth(c);
	return n;
}

char *top_text_safe(const char *text)
{
	char *safe = text_safe(text, TEXT_LINE), *from = safe, *to = safe;
	int columns;
	size_t n;

	for (; from && *from; from += n) {
		n = next_character(from, &columns);
		if (columns < 0) {
			*to++ = '?';
			continue;
		}
		memmove(to, from, n);
		to += n;
	}
	if (to)
		*to = '\0';
	return safe;
}

size_t top_text_fit(const char *safe, int width, int *ret)
{
	size_t at = 0, n;
	int taken = 0, columns;

	while (safe[at]) {
		n = next_character(safe + at, &columns);
		columns = columns < 0 ? 1 : columns;
		if (taken + columns > width)
			break;
		taken += columns;
		at += n;
	}
	*ret = taken;
	return at;
}

int top_text_width(const char *text)
{
	_cleanup_free_ char *safe = top_text_safe(text);
	int width = 0;

	if (safe)
		top_text_fit(safe, INT32_MAX, &width);
	return width;
}

void top_line_done(struct top_line *l)
{
	free(l->text);
	free(l->runs);
	*l = (struct top_line){ .text = NULL };
}

static bool add_run(struct top_line *l, enum top_tone tone, size_t size)
{
	struct top_run *more;

	if (l->n_runs && l->runs[l->n_runs - 1].tone == tone) {
		l->runs[l->n_runs - 1].size += size;
		return true;
	}
	more = reallocarray(l->runs, l->n_runs + 1, sizeof(*more));
	if (!more)
		return false;
	l->runs = more;
	more[l->n_runs++] = (struct top_run){ size, tone };
	return true;
}

/* `safe` need not end with NUL. */
static void append_safe(struct top_line *l, enum top_tone tone, const char *safe, size_t size)
{
	char *more;
	int width;

	if (l->out_of_memory || !size)
		return;
	more = realloc(l->text, l->size + size + 1);
	if (more)
		l->text = more;
	if (!more || !add_run(l, tone, size)) {
		l->out_of_memory = true;
		return;
	}
	memcpy(more + l->size, safe, size);
	more[l->size + size] = '\0';
	top_text_fit(more + l->size, INT32_MAX, &width);
	l->size += size;
	l->width += width;
}

void top_line_add(struct top_line *l, enum top_tone tone, const char *text)
{
	_cleanup_free_ char *safe = top_text_safe(text);

	if (safe)
		append_safe(l, tone, safe, strlen(safe));
	else
		l->out_of_memory = true;
}

static void append_blanks(struct top_line *l, enum top_tone tone, int n)
{
	static const char blanks[] =
		"                                                                ";
	const int most = (int)sizeof(blanks) - 1;

	for (; n > 0; n -= most)
		append_safe(l, tone, blanks, (size_t)(n < most ? n : most));
}

void top_line_fill(struct top_line *l, enum top_tone tone, int width)
{
	append_blanks(l, tone, width - l->width);
}

void top_line_put(struct top_line *l, struct top_place p, const char *text)
{
	_cleanup_free_ char *safe = top_text_safe(text);
	int taken;
	size_t n;

	if (p.width <= 0)
		return;
	if (!safe) {
		l->out_of_memory = true;
		return;
	}
	n = top_text_fit(safe, p.width, &taken);
	if (safe[n]) {
		n = top_text_fit(safe, p.width - 1, &taken);
		append_safe(l, p.tone, safe, n);
		append_safe(l, p.tone, CUT_MARK, 1);
		append_blanks(l, p.tone, p.width - taken - 1);
		return;
	}
	if (p.is_right)
		append_blanks(l, p.tone, p.width - taken);
	append_safe(l, p.tone, safe, n);
	if (!p.is_right)
		append_blanks(l, p.tone, p.width - taken);
}

/* Shortens the runs to the text that is left. */
static void cut_runs(struct top_line *l)
{
	size_t left = l->size, i;

	for (i = 0; i < l->n_runs && left; i++) {
		if (l->runs[i].size > left)
			l->runs[i].size = left;
		left -= l->runs[i].size;
	}
	l->n_runs = i;
}

void top_line_cut(struct top_line *l, int width)
{
	enum top_tone tone = TOP_PLAIN;
	int taken;

	if (l->width <= width || !l->text)
		return;
	l->size = top_text_fit(l->text, width > 0 ? width - 1 : 0, &taken);
	l->text[l->size] = '\0';
	l->width = taken;
	cut_runs(l);
	if (l->n_runs)
		tone = l->runs[l->n_runs - 1].tone;
	if (width > 0)
		append_safe(l, tone, CUT_MARK, 1);
}
