/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nearest.c - finds the known word with the smallest edit distance; see nearest.h. */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include "common/nearest.h"

#define WORD_MAX 48

void nearest_init(struct nearest *n, const char *typed)
{
	*n = (struct nearest){ .typed = typed, .distance = SIZE_MAX };
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int is_same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Optimal string alignment (Damerau-Levenshtein, each piece edited once), in three rows: row[j] is
 * the distance of the first i letters of `a` and the first j of `b`. SIZE_MAX: a word is longer
 * than WORD_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], n = strlen(a), m = strlen(b), cost;
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	if (n > WORD_MAX || m > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		last[j] = j;
	for (size_t i = 1; i <= n; i++) {
		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			cost = !is_same_letter(a[i - 1], b[j - 1]);
			row[j] =
				min_size(min_size(last[j], row[j - 1]) + 1, last[j - 1] + cost);
			if (i > 1 && j > 1 && is_same_letter(a[i - 1], b[j - 2]) &&
			    is_same_letter(a[i - 2], b[j - 1]))
				row[j] = min_size(row[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[m];
}

void nearest_offer(struct nearest *n, const char *word)
{
	size_t d = edit_distance(n->typed, word), size = strlen(n->typed);

	/* The beginning of a word is as near as one wrong letter: "sub" for "submit". */
	if (size >= 2 && d > 1 && !strncasecmp(n->typed, word, size))
		d = 1;
	if (d < n->distance) {
		n->distance = d;
		n->best = word;
	}
}

const char *nearest_word(const struct nearest *n)
{
	size_t size = strlen(n->typed);

	/* Of three letters two are the word's: "foo" is not "job". */
	return n->best && n->distance <= (size == 3 ? 1 : size / 3 + 1) ? n->best : NULL;
}
