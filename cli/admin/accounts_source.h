/* accounts_source - the accounts as they are, and how to change them: those of the controller,
 * or of a ledger file (`--ledger FILE`). */
#pragma once
#include "cli/cli.h"
#include "controller/accounts/accounts.h"
#include "controller/ledger/store.h"

struct accounts_source {
	struct cli *c;
	struct store *store; /* NULL: the controller is asked */
	struct accounts *now;
	int64_t revision;
	char origin[32]; /* "ledger", "controller.conf" */
	bool is_partial; /* only what the caller may see */
};

#define ACCOUNTS_LEDGER_OPTION                                                                 \
	{                                                                                      \
		"ledger", 0, "FILE", "of this ledger file; no controller is asked", NULL       \
	}

/* Begins the verb. The source needs accounts_source_done() in any case. */
int accounts_source_open(struct cli *c, const struct verb_call *call,
			 struct accounts_source *ret, struct err *err);
void accounts_source_done(struct accounts_source *s);

struct accounts_source_order {
	const struct accounts *new;
	int64_t revision; /* that the change starts from */
	bool is_dry_run;
};
/* *ret is the document of controller/ledger/accounts/accounts_change.h. */
int accounts_source_change(struct accounts_source *s, const struct accounts_source_order *w,
			   json_t **ret, struct err *err);
/* Newest first: an array of changes. */
int accounts_source_log(struct accounts_source *s, int64_t limit, json_t **ret,
			struct err *err);
