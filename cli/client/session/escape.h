/* SPDX-License-Identifier: GPL-2.0-or-later */
/* escape.h - what a user types to `reeve` itself within an interactive session: "~" and a letter at the beginning of a line,
 * as of ssh. Pure.
 */
#pragma once
#include <stddef.h>

enum escape_action {
	ESCAPE_NONE,
	ESCAPE_END,    /* ~. hang up: the command is ended */
	ESCAPE_DETACH, /* ~d leave: the command continues */
	ESCAPE_HELP,   /* ~? */
};

enum escape_state { ESCAPE_AT_BEGINNING, ESCAPE_WITHIN, ESCAPE_AFTER_TILDE };

struct escape {
	enum escape_state state;   /* 0: at the beginning of a line */
	enum escape_action action; /* out: what the user typed to reeve */
};

/* Copies what is for the command from `in` to `out`, which has room for n + 1 bytes, as far as the first action, which is then e->action.
 * *ret_used: bytes of `in` that were read. Returns the number of bytes in `out`. */
size_t escape_filter(struct escape *e, const char *in, size_t n, char *out, size_t *ret_used);
