/* accounts_change - makes a change of the accounts and shows it: what comes, goes and differs.
 */
#pragma once
#include "cli/admin/accounts_source.h"

struct accounts_change_call {
	const struct accounts_source_order *order;
	const char *why_dry; /* "(--dry-run)": said behind a change that was not made */
	json_t *notes;	     /* of an import, {what, why, n, line}; NULL: none */
	json_t *warnings;    /* texts beside those of the source; NULL: none */
};
int accounts_change_make(struct accounts_source *s, const struct accounts_change_call *how,
			 struct err *err);
/* --revision N; not given: that of the source. */
int accounts_change_revision(const struct accounts_source *s, const struct verb_call *call,
			     int64_t *ret, struct err *err);
/* A line a note, for people. NULL: none. */
void accounts_change_notes(const struct cli *c, const json_t *notes);
/* Likewise: an array of texts. */
void accounts_change_warnings(const struct cli *c, const json_t *warnings);
/* One change as a row of a table with columns op, section, name, key, item, old, new. */
void accounts_change_row(const struct cli *c, struct table *t, const json_t *change);
