/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_change - makes a change of the accounts, or a dry run of it, and prints the
 * differences.
 */
#pragma once
#include "cli/admin/accounts_source.h"

struct accounts_change_call {
	const struct accounts_source_order *order;
	const char *why_dry; /* printed behind a change that was not made: "(--dry-run)" */
	json_t *notes;	     /* what an import left out: {what, why, n, line}; NULL: none */
	json_t *warnings;    /* texts beside those of the source; NULL: none */
};
int accounts_change_make(struct accounts_source *s, const struct accounts_change_call *how,
			 struct err *err);
/* Prints the changes of a document alone; as JSON the whole document. */
int accounts_change_table(const struct cli *c, const json_t *doc, struct err *err);
/* Reads --revision N; default: the revision of the source. -EINVAL. */
int accounts_change_revision(const struct accounts_source *s, const struct verb_call *call,
			     int64_t *ret, struct err *err);
/* Prints one line for each note of an import. NULL: none. */
void accounts_change_notes(const struct cli *c, const json_t *notes);
/* Prints one line for each warning, an array of texts. */
void accounts_change_warnings(const struct cli *c, const json_t *warnings);
/* Adds one change as a row; the table has the columns op, section, name, key, item, old, new. */
void accounts_change_row(const struct cli *c, struct table *t, const json_t *change);
