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

/* The caller frees; NULL when memory ran out. C0 and DEL as \033, other controls, bidirectional
 * marks and (where the locale is not UTF-8) all non-ASCII as \u202e, bytes that are not UTF-8
 * in octal. */
char *text_safe(const char *text, enum text_keep keep);
