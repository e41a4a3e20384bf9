/* SPDX-License-Identifier: GPL-2.0-or-later */
/* share_file.c - builds the share tree of a ledger file; see share_file.h. */
#include "cli/offline/share_file.h"
#include "common/err.h"

void share_file_done(struct share_file *f)
{
	sharetree_free(f->sharetree);
	site_file_done(&f->site);
}

static int load_sharetree(const struct verb_call *call, struct share_file *f, struct err *err)
{
	const struct sharetree_config c = { f->site.config, f->site.accounts };
	int r = site_file_at(&f->site, verb_value(call, "at"), &f->at_ns, err);

	if (r >= 0)
		r = sharetree_new(&c, &f->sharetree, err);
	return r < 0 ? r : sharetree_load(f->sharetree, f->site.store, f->at_ns, err);
}

int share_file_open(const struct verb_call *call, struct share_file *ret, struct err *err)
{
	struct share_file f = { .sharetree = NULL };
	int r = site_file_open(call, SITE_FILE_POLICY, &f.site, err);

	if (r >= 0)
		r = load_sharetree(call, &f, err);
	if (r < 0)
		share_file_done(&f);
	else
		*ret = f;
	return r < 0 ? r : 0;
}
