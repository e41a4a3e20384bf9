/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_format - reads the options that choose the form of the output.
 *
 * One rule for all verbs: the last of --json, --csv, -p, -P and --output decides the form; -n
 * leaves the header out; -o names the columns. A verb's own option of one of these names or
 * letters hides the common one.
 */
#pragma once
#include "cli/output/table.h"

struct verb_call;

/* *ret prints to standard output. -EINVAL: --output or --color has an unknown word. */
int table_format_read(const struct verb_call *call, struct table_format *ret, struct err *err);
/* The output is a table on a terminal of less than `columns` columns, and --columns names none: then a verb whose usual
 * columns would break every line chooses fewer. */
bool table_format_is_narrow(const struct table_format *f, int columns);
