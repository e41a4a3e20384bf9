/* quota_ledger.c - see quota_ledger.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "cli/ledger_file.h"
#include "cli/quota_ledger.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/config/profile.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_accounts.h"
#include "controller/quota/quota.h"

#define NS_PER_S INT64_C(1000000000)

struct files {
	struct config *config;
	struct accounts *accounts;
	struct store *store;
};

static void files_done(struct files *f)
{
	config_free(f->config);
	accounts_free(f->accounts);
	store_close(f->store);
}

static int read_policy(const char *profile, struct config **ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int r;

	if (!profile)
		return err_set(err, -EINVAL, "--ledger needs --profile, the policy");
	r = profile_find(profile, &path, err);
	if (r >= 0)
		r = config_load(path, ret, err);
	return r == -EINVAL ? -EBADMSG : r;
}

/* Of the file; else those that were last applied to the ledger. */
static int read_accounts(const char *file, struct files *f, struct err *err)
{
	int64_t revision;
	int r;

	if (file) {
		r = accounts_read(file, &f->accounts, err);
		return r == -EINVAL ? -EBADMSG : r;
	}
	r = store_accounts_load(f->store, &f->accounts, &revision, err);
	if (r == 0 && revision == 0)
		return err_set(err, -EINVAL,
			       "the ledger has no accounts: say --accounts FILE, or apply one "
			       "with 'reeve admin accounts apply'");
	return r;
}

static int open_files(const struct verb_call *call, struct files *f, struct err *err)
{
	int r = read_policy(verb_value(call, "profile"), &f->config, err);

	if (r >= 0)
		r = ledger_file_open(verb_value(call, "ledger"), LEDGER_FILE_THERE, &f->store,
				     err);
	return r < 0 ? r : read_accounts(verb_value(call, "accounts"), f, err);
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

static int read_ask(const struct verb_call *call, struct quota_ask *ask, struct err *err)
{
	const char *at = verb_value(call, "at"), *cluster = verb_value(call, "cluster");
	struct timespec now;
	int64_t day;

	clock_gettime(CLOCK_REALTIME, &now);
	*ask = (struct quota_ask){ .cluster = cluster ? cluster : "",
				   .now_ns = now.tv_sec * NS_PER_S + now.tv_nsec,
				   .at_day = QUOTA_NOW,
				   .parts = QUOTA_ACTIVE | QUOTA_USERS };
	if (!at)
		return 0;
	if (calendar_parse_day(at, &day) < 0)
		return err_set(err, -EINVAL, "--at '%.32s' is not a day; write 2026-11-01", at);
	ask->at_day = (int32_t)day;
	return 0;
}

/* One account, or every one. */
static int look(const struct files *f, const char *account, struct quota_ask *ask,
		struct answer *a, struct err *err)
{
	const struct quota_site site = { f->store, f->config, f->accounts };
	const struct quota_each each = { add_view, a };
	int r = 0;

	if (*ask->cluster && !config_cluster(f->config, ask->cluster))
		return err_set(err, -ENOENT, "no cluster '%.64s' in the profile", ask->cluster);
	if (account) {
		ask->account = account;
		return quota_look_all(&site, ask, &each, err);
	}
	for (size_t i = 0; i < f->accounts->n_accounts && r >= 0; i++) {
		ask->account = f->accounts->accounts[i].name;
		r = quota_look_all(&site, ask, &each, err);
	}
	return r;
}

int quota_ledger_read(const struct verb_call *call, json_t **ret, struct err *err)
{
	_cleanup_(files_done) struct files f = { 0 };
	_cleanup_json_ json_t *doc = wire_new();
	struct answer a = { .quotas = json_array() };
	const char *account = verb_value(call, "account");
	struct quota_ask ask;
	int r;

	if (!doc || json_object_set_new(doc, "quotas", a.quotas) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (!account)
		account = verb_value(call, "project");
	r = read_ask(call, &ask, err);
	if (r >= 0)
		r = open_files(call, &f, err);
	a.config = f.config;
	if (r >= 0)
		r = look(&f, account, &ask, &a, err);
	if (r >= 0)
		*ret = TAKE_PTR(doc);
	return r;
}
