/* SPDX-License-Identifier: GPL-2.0-or-later */
/* escape.c - finds "~." and the like in what a user types; see escape.h. */
#include <stdbool.h>
#include "cli/client/session/escape.h"

static enum escape_action find_action(char letter)
{
	switch (letter) {
	case '.':
		return ESCAPE_END;
	case 'd':
		return ESCAPE_DETACH;
	case '?':
		return ESCAPE_HELP;
	default:
		return ESCAPE_NONE;
	}
}

static bool ends_line(char c)
{
	return c == '\r' || c == '\n';
}

size_t escape_filter(struct escape *e, const char *in, size_t n, char *out, size_t *ret_used)
{
	size_t size = 0, i = 0;

	e->action = ESCAPE_NONE;
	for (; i < n && e->action == ESCAPE_NONE; i++) {
		if (e->state == ESCAPE_AT_BEGINNING && in[i] == '~') {
			e->state = ESCAPE_AFTER_TILDE;
			continue;
		}
		if (e->state == ESCAPE_AFTER_TILDE) {
			e->action = find_action(in[i]);
			if (e->action != ESCAPE_NONE) {
				e->state = ESCAPE_AT_BEGINNING;
				continue;
			}
			out[size++] = '~'; /* it was none; of "~~" one is passed on */
			if (in[i] == '~') {
				e->state = ESCAPE_WITHIN;
				continue;
			}
		}
		out[size++] = in[i];
		e->state = ends_line(in[i]) ? ESCAPE_AT_BEGINNING : ESCAPE_WITHIN;
	}
	*ret_used = i;
	return size;
}
