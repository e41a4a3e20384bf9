/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_source - reads and changes the accounts of the controller, or of a ledger file
 * (`--ledger FILE`). */
#pragma once
#include "cli/admin/author.h"
#include "cli/cli.h"
#include "controller/accounts/accounts.h"
#include "controller/ledger/store.h"

struct accounts_source {
	struct cli *c;
	struct store *store; /* NULL: through the controller */
	struct accounts *now;
	int64_t revision;
	char origin[32]; /* "ledger", "controller.conf" */
	char author[AUTHOR_MAX];
	bool is_partial; /* only what the caller may see */
};

#define ACCOUNTS_LEDGER_OPTION                                                                 \
	{                                                                                      \
		"ledger", 0, "FILE", "use this ledger file; needs no controller", NULL         \
	}

/* Begins the verb (cli.h), and reads the accounts. The caller calls accounts_source_done(), also
 * after an error. */
int accounts_source_open(struct cli *c, const struct verb_call *call,
			 struct accounts_source *ret, struct err *err);
/* As accounts_source_open(), and refuses (-EPERM) a caller who sees a part of the accounts only. */
int accounts_source_open_to_change(struct cli *c, const struct verb_call *call,
				   struct accounts_source *ret, struct err *err);
void accounts_source_done(struct accounts_source *s);

struct accounts_source_order {
	const struct accounts *new;
	int64_t revision; /* which the change was made from */
	bool is_dry_run;
};
/* Makes the change, or a dry run. *ret is the document of
 * controller/ledger/accounts/accounts_change.h. -EBUSY: the accounts have another revision. */
int accounts_source_change(struct accounts_source *s, const struct accounts_source_order *w,
			   json_t **ret, struct err *err);
/* *ret is an array of at most `limit` changes, newest first. */
int accounts_source_log(struct accounts_source *s, int64_t limit, json_t **ret,
			struct err *err);
