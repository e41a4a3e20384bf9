/* SPDX-License-Identifier: GPL-2.0-or-later */
/* active_accounts.c - reads the active accounts from the ledger or from controller.conf; see
 * active_accounts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/accounts/active_accounts.h"
#include "controller/ledger/accounts/accounts.h"
#include "controller/sharetree/sharetree.h"

/* One parser for both: the sections of controller.conf are written out in the form of
 * accounts.conf. */
static int read_config(const struct config *config, struct accounts **ret, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < config->n_accounts; i++) {
		const struct config_account *a = config->accounts[i];

		fprintf(to, "[Account %s]\n", a->name);
		if (a->users)
			fprintf(to, "Users = %s\n", a->users);
		if (a->clusters)
			fprintf(to, "Clusters = %s\n", a->clusters);
	}
	if (fclose(to) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	return accounts_parse(text, size, "the [Account] sections of controller.conf", ret,
			      err);
}

static int load_accounts(struct api *a, struct accounts **ret, int64_t *ret_revision,
			 struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *now = NULL;
	int r = store_accounts_load(a->c.store, &now, ret_revision, err);

	if (r == 0 && *ret_revision == 0)
		return read_config(a->c.config, ret, err);
	if (r == 0)
		*ret = TAKE_PTR(now);
	return r;
}

/* The share tree keeps a pointer to the accounts: it gets the new ones before the old are
 * freed. */
static int replace_accounts(struct api *a, struct err *err)
{
	struct accounts *now, *was = (struct accounts *)a->accounts;
	int64_t revision;
	int r = load_accounts(a, &now, &revision, err);

	if (r < 0)
		return r;
	a->accounts = now;
	a->accounts_revision = revision;
	sharetree_set_accounts(a->c.sharetree, now);
	accounts_free(was);
	return 0;
}

int active_accounts_open(struct api *a, struct err *err)
{
	int r = replace_accounts(a, err);

	if (r < 0 || !a->accounts_revision)
		return r;
	log_line(LOG_INFO, "accounts: revision %" PRId64 " of the ledger",
		 a->accounts_revision);
	if (a->c.config->n_accounts)
		log_line(LOG_WARNING,
			 "accounts: the %zu [Account] section%s of controller.conf no longer "
			 "count: the ledger's do; see 'reeve admin accounts show', and remove "
			 "the sections",
			 a->c.config->n_accounts, a->c.config->n_accounts == 1 ? "" : "s");
	return 0;
}

int active_accounts_reload(struct api *a, struct err *err)
{
	return replace_accounts(a, err);
}

void active_accounts_close(struct api *a)
{
	a->accounts = accounts_free((struct accounts *)a->accounts);
}
