/* share_file.c - see share_file.h. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "cli/ledger_file.h"
#include "cli/share_file.h"
#include "common/err.h"
#include "controller/config/profile.h"
#include "controller/ledger/store_accounts.h"

#define S_NS 1000000000LL

void share_file_done(struct share_file *f)
{
	standing_free(f->standing);
	accounts_free(f->accounts);
	config_free(f->config);
	store_close(f->store);
}

/* The ledger was opened: TZ is its zone. */
static int read_time(const char *text, int64_t *ret, struct err *err)
{
	static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S" };
	struct tm same;

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct tm tm = { .tm_isdst = -1 };
		const char *end = strptime(text, forms[i], &tm);

		same = tm;
		if (!end || *end)
			continue;
		*ret = (int64_t)mktime(&same) * S_NS;
		/* The 31st of a short month must not become another day. */
		if (same.tm_mday == tm.tm_mday)
			return 0;
	}
	return err_set(err, -EINVAL, "--at '%.32s': write 2026-11-21 or 2026-11-21T08:00",
		       text);
}

static int last_charge(struct store *s, int64_t *ret, struct err *err)
{
	int r = store_last_charge(s, ret, err);

	/* A ledger without any: nothing stands yet, at whatever time. */
	if (r == 1)
		*ret = (int64_t)time(NULL) * S_NS;
	return r < 0 ? r : 0;
}

/* As named, else as the ledger has them, else none. */
static int read_accounts(const struct verb_call *call, struct share_file *f, struct err *err)
{
	const char *path = verb_value(call, "accounts");
	int64_t revision;
	int r;

	if (path)
		return accounts_read(path, &f->accounts, err);
	r = store_accounts_load(f->store, &f->accounts, &revision, err);
	if (r >= 0 && revision == 0)
		f->accounts = accounts_free(f->accounts);
	return r;
}

static int read_policy(const struct verb_call *call, struct share_file *f, struct err *err)
{
	const char *profile = verb_value(call, "profile");
	_cleanup_free_ char *path = NULL;
	int r;

	if (!profile)
		return err_set(err, -EINVAL,
			       "--ledger needs --profile: the policy to weigh usage by");
	r = profile_find(profile, &path, err);
	if (r < 0)
		return r;
	r = config_load(path, &f->config, err);
	if (r >= 0)
		r = read_accounts(call, f, err);
	return r == -EINVAL ? -EBADMSG : r;
}

static int read_all(const struct verb_call *call, struct share_file *f, struct err *err)
{
	const char *at = verb_value(call, "at");
	struct standing_config c;
	int r = ledger_file_open(verb_value(call, "ledger"), LEDGER_FILE_THERE, &f->store, err);

	if (r >= 0)
		r = read_policy(call, f, err);
	if (r >= 0)
		r = at ? read_time(at, &f->at_ns, err) : last_charge(f->store, &f->at_ns, err);
	if (r < 0)
		return r;
	c = (struct standing_config){ f->config, f->accounts };
	r = standing_new(&c, &f->standing, err);
	return r < 0 ? r : standing_load(f->standing, f->store, f->at_ns, err);
}

int share_file_open(const struct verb_call *call, struct share_file *ret, struct err *err)
{
	struct share_file f = { 0 };
	int r = read_all(call, &f, err);

	if (r < 0)
		share_file_done(&f);
	else
		*ret = f;
	return r < 0 ? r : 0;
}
