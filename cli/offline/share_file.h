/* share_file - a site from files (site_file.h) with a policy, and the share tree built from it.
 */
#pragma once
#include "cli/cli.h"
#include "cli/offline/site_file.h"
#include "controller/sharetree/sharetree.h"

/* For the table of options. */
#define SHARE_FILE_OPTIONS                                                                     \
	{ "ledger", 0, "FILE", "ask no controller: read this ledger", NULL },                  \
		{ "profile", 0, "NAME", "with --ledger: the policy, a file or one that ships", \
		  NULL },                                                                      \
		{ "accounts", 0, "FILE",                                                       \
		  "with --ledger: who has which shares; default: as applied to the ledger, "   \
		  "or "                                                                        \
		  "one share each",                                                            \
		  NULL },                                                                      \
	{                                                                                      \
		"at", 0, "TIME",                                                               \
			"with --ledger: as of then, 2026-11-21 or 2026-11-21T08:00 in the "    \
			"ledger's zone; default: the end of its last job",                     \
			NULL                                                                   \
	}

struct share_file {
	struct site_file site;
	struct sharetree *sharetree;
	int64_t at_ns;
};
/* -EINVAL: options; -ENOENT: no such file or profile; -EBADMSG: a file with a fault. */
int share_file_open(const struct verb_call *call, struct share_file *ret, struct err *err);
void share_file_done(struct share_file *f);
