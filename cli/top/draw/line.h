/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line - one line of the screen: text in tones, whose width in columns of a terminal is known.
 *
 * Text of users and jobs becomes safe here (output/text.h) and nowhere else: a line holds nothing that a
 * terminal would interpret. Pure; the locale decides which characters are wide and which can be shown.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/cleanup.h"

enum top_tone {
	TOP_PLAIN,
	TOP_GOOD,
	TOP_WARN,
	TOP_BAD,
	TOP_DIM,
	TOP_BOLD,
	TOP_HEAD,     /* titles of columns */
	TOP_SELECTED, /* the row that Enter opens */
	_TOP_TONE_MAX
};

struct top_run {
	size_t size; /* bytes of the line's text */
	enum top_tone tone;
};

struct top_line {
	char *text; /* NULL: empty */
	size_t size;
	int width; /* columns */
	struct top_run *runs;
	size_t n_runs;
	bool out_of_memory;
};

void top_line_done(struct top_line *l);

/* Appends all of the text. */
void top_line_add(struct top_line *l, enum top_tone tone, const char *text);
/* Appends exactly `width` columns: a text that is wider is cut and ends with '+'. */
struct top_place {
	enum top_tone tone;
	int width;
	bool is_right;
};
void top_line_put(struct top_line *l, struct top_place p, const char *text);
/* Cuts the line to at most `width` columns, with '+' at the end of a line that was cut. */
void top_line_cut(struct top_line *l, int width);
/* Fills the line with blanks to `width` columns. */
void top_line_fill(struct top_line *l, enum top_tone tone, int width);

/* The columns that the text takes when it is shown. */
int top_text_width(const char *text);
/* The bytes of the longest beginning of a safe text that takes at most `width` columns; *ret is how many it takes. */
size_t top_text_fit(const char *safe, int width, int *ret);
/* A safe copy without characters that this locale cannot show, which the caller frees. NULL: no memory. */
char *top_text_safe(const char *text);
