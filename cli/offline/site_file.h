/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site_file - opens ledger, policy and accounts of --ledger, --profile and --accounts, for verbs
 * that work without a controller. */
#pragma once
#include "cli/cli.h"
#include "controller/accounts/accounts.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"

struct site_file {
	struct store *store;
	struct config *config;	   /* NULL: no profile was named */
	struct accounts *accounts; /* of --accounts, else those of the ledger; NULL: neither */
};
enum site_file_need { SITE_FILE_LEDGER, SITE_FILE_POLICY }; /* POLICY: a profile too */
/* -EINVAL: no ledger named, or no profile that is needed; -ENOENT: no such file or profile;
 * -EBADMSG: a file with a fault. */
int site_file_open(const struct verb_call *call, enum site_file_need need,
		   struct site_file *ret, struct err *err);
void site_file_done(struct site_file *f);
/* Warns on stderr of imported jobs that were priced by another profile than the one named: their
 * charges differ from what that profile would charge. NULL: no profile, no warning. */
int site_file_warn_prices(struct store *s, const char *profile, struct err *err);

/* Parses --at TIME like store_parse_at(); NULL: the end of the ledger's last charge, or now if it
 * has none. */
int site_file_at(const struct site_file *f, const char *at, int64_t *ret_ns, struct err *err);
