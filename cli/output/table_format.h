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
