/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text - untrusted text made safe for a terminal, a file or the wire.
 *
 * Job names, commands and messages come from users and hosts that may be hostile: what could
 * move the cursor, change colours or reorder a line is shown as an escape instead.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum text_keep {
	TEXT_LINE,  /* everything but printable characters is escaped */
	TEXT_LINES, /* line ends and tabs are kept */
};

/* A copy with escapes, which the caller frees; NULL: no memory. Escapes are octal (\033) for C0,
 * DEL and bytes that are not UTF-8, and \u202e for other controls, bidirectional marks and, where
 * the locale is not UTF-8, all non-ASCII. */
char *text_safe(const char *text, enum text_keep keep);
