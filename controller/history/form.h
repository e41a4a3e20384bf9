/* SPDX-License-Identifier: GPL-2.0-or-later */
/* form - which form a history file has, by its first lines, so that a file of another form than
 * was stated is named instead of rejected line by line.
 *
 * Pure.
 */
#pragma once
#include "controller/history/history.h"

enum history_form {
	HISTORY_FORM_UNKNOWN, /* it may be damaged: its lines are rejected by reason */
	HISTORY_FORM_SWF,
	HISTORY_FORM_SACCT,
	HISTORY_FORM_SACCT_NARROW, /* rows without a heading, and too few fields */
	HISTORY_FORM_SACCT_TABLE,  /* as sacct prints for people */
	HISTORY_FORM_PBS,
	HISTORY_FORM_JSON,
	HISTORY_FORM_YAML,
	HISTORY_FORM_HTML,
	HISTORY_FORM_UTF16,
	HISTORY_FORM_PACKED, /* by xz, bzip2, zstd or zip */
	_HISTORY_FORM_MAX,
};
/* `text` is the beginning of the file, without a byte order mark of UTF-8. */
enum history_form history_form_of(const char *text, size_t size);
/* "this is ...", with what to do where no format is of that form. */
const char *history_form_words(enum history_form f);
