/* SPDX-License-Identifier: GPL-2.0-or-later */
/* site_file.c - opens a ledger file with its profile and its accounts; see site_file.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/import/file.h"
#include "cli/offline/ledger_file.h"
#include "cli/offline/site_file.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/config/profile.h"
#include "controller/ledger/accounts/accounts.h"
#include "controller/ledger/usage/charges.h"
#include "controller/ledger/import/import.h"

void site_file_done(struct site_file *f)
{
	f->accounts = accounts_free(f->accounts);
	f->config = config_free(f->config);
	f->store = store_close(f->store);
}

/* Those applied to the ledger. f->accounts stays NULL if none were. */
static int load_accounts(struct site_file *f, struct err *err)
{
	int64_t revision;
	int r = store_accounts_load(f->store, &f->accounts, &revision, err);

	if (r >= 0 && revision == 0)
		f->accounts = accounts_free(f->accounts);
	return r;
}

/* No --profile is no error: f->config stays NULL. */
static int read_policy(const char *profile, struct site_file *f, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int r = profile ? profile_find(profile, &path, err) : 0;

	return r < 0 || !profile ? r : config_load(path, &f->config, err);
}

/* Imported jobs that another profile priced than `profile` ("NAME@DIGEST"). */
struct other_prices {
	const char *profile;
	int64_t jobs;
	char by[80]; /* of the first other one */
};

/* Counts `jobs`, priced by `profile`, where the digests differ; the names do not matter. */
static int compare_prices(void *ctx, const char *profile, int64_t jobs, struct err *err)
{
	struct other_prices *o = ctx;
	const char *at = strchr(profile, '@'), *mine = strchr(o->profile, '@');

	(void)err;
	if (at && mine && !strcmp(at, mine))
		return 0;
	o->jobs += jobs;
	if (!*o->by && !strcmp(profile, "?"))
		snprintf(o->by, sizeof(o->by),
			 "a profile that an older version did not record");
	else if (!*o->by && !*profile)
		snprintf(o->by, sizeof(o->by), "no profile (cores x time)");
	else if (!*o->by)
		snprintf(o->by, sizeof(o->by), "profile %.60s", profile);
	return 0;
}

int site_file_warn_prices(struct store *s, const char *profile, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	char name[IMPORT_PROFILE_MAX] = "";
	struct other_prices o = { .profile = name };
	int r = profile ? profile_find(profile, &path, err) : 0;

	if (r >= 0 && path)
		r = import_profile_name(path, name, err);
	if (r >= 0 && path)
		r = store_imports_priced(s, compare_prices, &o, err);

	if (r >= 0 && o.jobs)
		fprintf(stderr,
			"reeve: %" PRId64
			" imported jobs of this ledger were priced by %s, not by "
			"%.80s; 'reeve admin reprice' prices them again\n",
			o.jobs, o.by, name);
	return r < 0 ? r : 0;
}

int site_file_open(const struct verb_call *call, enum site_file_need need,
		   struct site_file *ret, struct err *err)
{
	const char *accounts = verb_value(call, "accounts");
	struct site_file f = { 0 };
	int r;

	if (need == SITE_FILE_POLICY && !verb_value(call, "profile"))
		return err_set(
			err, -EINVAL,
			"--ledger needs --profile NAME|FILE, the policy that weights usage");
	r = read_policy(verb_value(call, "profile"), &f, err);
	if (r >= 0 && accounts)
		r = accounts_read(accounts, &f.accounts, err);
	if (r >= 0)
		r = ledger_file_open(verb_value(call, "ledger"), LEDGER_FILE_THERE, &f.store,
				     err);
	if (r >= 0 && !accounts)
		r = load_accounts(&f, err);
	if (r >= 0)
		r = site_file_warn_prices(f.store, verb_value(call, "profile"), err);
	if (r < 0) {
		site_file_done(&f);
		return r == -EINVAL ? -EBADMSG : r;
	}
	*ret = f;
	return 0;
}

static int parse_at(const struct site_file *f, const char *at, int64_t *ret_ns, struct err *err)
{
	struct err why;
	int r = store_parse_at(f->store, at, ret_ns, &why);

	return r < 0 ? err_set(err, r, "--at: %s", why.text) : 0;
}

int site_file_at(const struct site_file *f, const char *at, int64_t *ret_ns, struct err *err)
{
	int r;

	if (at)
		return parse_at(f, at, ret_ns, err);
	r = store_last_charge(f->store, ret_ns, err);
	if (r == 1) /* the ledger has no charge yet */
		*ret_ns = (int64_t)time(NULL) * S_NS;
	return r < 0 ? r : 0;
}
