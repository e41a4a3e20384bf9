/* site_file - a ledger with a policy and accounts, read from files, as --ledger, --profile and
 * --accounts name them: what a verb needs that works without a controller. */
#pragma once
#include "cli/cli.h"
#include "controller/accounts/accounts.h"
#include "controller/config/config.h"
#include "controller/ledger/store.h"

struct site_file {
	struct store *store;
	struct config *config;	   /* NULL: no profile was named */
	struct accounts *accounts; /* as named, else as applied to the ledger; NULL: neither */
};
enum site_file_need { SITE_FILE_LEDGER, SITE_FILE_POLICY }; /* POLICY: a profile too */
/* -EINVAL: no ledger named, or no profile that is needed; -ENOENT: no such file or profile;
 * -EBADMSG: a file with a fault. */
int site_file_open(const struct verb_call *call, enum site_file_need need,
		   struct site_file *ret, struct err *err);
void site_file_done(struct site_file *f);
/* Says on stderr which imported jobs of the ledger were priced by another profile than the one
 * named (NULL: no profile, nothing is said): their charges are not what that profile makes of
 * them. */
int site_file_tell_prices(struct store *s, const char *profile, struct err *err);

/* --at TIME as store_parse_at() reads it, or the end of the ledger's last charge; without any,
 * now. */
int site_file_at(const struct site_file *f, const char *at, int64_t *ret_ns, struct err *err);
