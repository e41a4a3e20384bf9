/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - computes the quotas of a ledger file; see quota.h. */
#include <errno.h>
#include <string.h>
#include "cli/offline/quota.h"
#include "cli/offline/site_file.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/quota/quota.h"

/* Opens ledger and profile; refuses a ledger without accounts, which has no quotas. */
static int open_site(const struct verb_call *call, struct site_file *f, struct err *err)
{
	int r = site_file_open(call, SITE_FILE_POLICY, f, err);

	if (r >= 0 && !f->accounts)
		r = err_set(err, -EINVAL,
			    "the ledger has no accounts: give --accounts FILE, or apply one "
			    "with 'reeve admin accounts apply'");
	return r;
}

struct answer {
	const struct config *config;
	json_t *quotas;
};

static int add_view(void *ctx, const struct quota_view *v, struct err *err)
{
	struct answer *a = ctx;
	json_t *j = quota_encode(a->config, v);

	if (!j || json_array_append_new(a->quotas, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Without --at the time is that of the ledger's last charge, not now. */
static int read_ask(const struct verb_call *call, const struct site_file *f,
		    struct quota_query *ask, struct err *err)
{
	const char *at = verb_value(call, "at"), *cluster = verb_value(call, "cluster");
	int r;

	*ask = (struct quota_query){ .cluster = cluster ? cluster : "",
				     .at_day = QUOTA_NOW,
				     .parts = QUOTA_ACTIVE | QUOTA_USERS | QUOTA_MONTHS };
	r = site_file_at(f, at, &ask->now_ns, err);
	if (r < 0)
		return r;
	ask->at_day = (int32_t)store_day(f->store, ask->now_ns - 1);
	if (at) /* the end of that day: jobs active now say nothing about it */
		ask->now_ns = store_first_ns(f->store, ask->at_day + 1);
	return 0;
}

/* Adds the quotas of one account, or (account NULL) of every account. */
static int add_accounts(const struct site_file *f, const char *account, struct quota_query *ask,
			struct answer *a, struct err *err)
{
	const struct quota_site site = { .store = f->store,
					 .config = f->config,
					 .accounts = f->accounts };
	const struct quota_each each = { add_view, a };
	int r = 0;

	if (*ask->cluster && !config_cluster(f->config, ask->cluster))
		return err_set(err, -ENOENT, "no cluster '%.64s' in the profile", ask->cluster);
	if (account) {
		ask->account = account;
		return quota_get_views(&site, ask, &each, err);
	}
	for (size_t i = 0; i < f->accounts->n_accounts && r >= 0; i++) {
		ask->account = f->accounts->accounts[i].name;
		r = quota_get_views(&site, ask, &each, err);
	}
	return r;
}

int quota_ledger_read(const struct verb_call *call, json_t **ret, struct err *err)
{
	_cleanup_(site_file_done) struct site_file f = { 0 };
	_cleanup_json_ json_t *doc = wire_new();
	struct answer a = { .quotas = json_array() };
	const char *account = verb_value(call, "account");
	struct quota_query ask;
	int r;

	if (!doc || json_object_set_new(doc, "quotas", a.quotas) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (!account)
		account = verb_value(call, "project");
	r = open_site(call, &f, err);
	if (r >= 0)
		r = read_ask(call, &f, &ask, err);
	a.config = f.config;
	if (r >= 0)
		r = add_accounts(&f, account, &ask, &a, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "time_zone", json_string(store_zone(f.store))) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return 0;
}
