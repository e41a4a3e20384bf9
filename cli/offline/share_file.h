/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share_file - a site from files (site_file.h) with a policy, and the share tree built from it.
 */
#pragma once
#include "cli/cli.h"
#include "cli/offline/site_file.h"
#include "controller/sharetree/sharetree.h"

/* Options of share and prio. */
#define SHARE_FILE_OPTIONS                                                                       \
	{ "ledger", 0, "FILE", "read this ledger; needs no controller", NULL },                  \
		{ "profile", 0, "NAME",                                                          \
		  "with --ledger: the policy, a file or a shipped profile", NULL },              \
		{ "accounts", 0, "FILE",                                                         \
		  "with --ledger: accounts and shares; default: those applied to the ledger, "   \
		  "else one share each",                                                         \
		  NULL },                                                                        \
	{                                                                                        \
		"at", 0, "TIME",                                                                 \
			"with --ledger: as of this time, 2026-11-21 or 2026-11-21T08:00 in the " \
			"ledger's zone; default: the end of its last job",                       \
			NULL                                                                     \
	}

struct share_file {
	struct site_file site;
	struct sharetree *sharetree;
	int64_t at_ns;
};
/* -EINVAL: options; -ENOENT: no such file or profile; -EBADMSG: a file with a fault. */
int share_file_open(const struct verb_call *call, struct share_file *ret, struct err *err);
void share_file_done(struct share_file *f);
