/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storage.c - GET and POST /v1/storage, POST /v1/storage/remove: what projects occupy on file systems. Operators
 * import readings; one answer reads accounts for a bounded time and names the place at which the next one continues. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"
#include "common/wire/doc.h"
#include "controller/accounts/accounts.h"
#include "controller/api/authz.h"
#include "controller/api/usage/usage.h"
#include "controller/ledger/usage/storage.h"

#define READ_NS (20 * INT64_C(1000000)) /* accounts are read for no longer in one answer */
#define LIMIT_MAX 100000
#define BATCH_MAX 200		 /* readings of one request: one transaction */
#define AHEAD_NS (HOUR_S * S_NS) /* clocks of file servers may be wrong by so much */

/* ---- reading ---- */

struct reading {
	struct call *c;
	int32_t account;
	int64_t allotted_bytes; /* to that account itself; -1: nothing */
	size_t limit;		/* rows; 0: any number */
	json_t *rows;
};

static void set_known(struct doc *d, const char *key, int64_t n)
{
	if (n >= 0)
		doc_int(d, key, n);
}

static int add_row(void *ctx, const struct store_storage *row, struct err *err)
{
	const struct reading *l = ctx;
	_cleanup_doc_ struct doc d = doc_object();
	int64_t most = row->limit_bytes > 0 ? row->limit_bytes : l->allotted_bytes;

	doc_text(&d, "account", row->account);
	doc_text(&d, "filesystem", row->filesystem);
	doc_int(&d, "bytes", row->bytes);
	set_known(&d, "limit_bytes", row->limit_bytes);
	set_known(&d, "allotted_bytes", l->allotted_bytes);
	if (most > 0)
		doc_int(&d, "used_ppm", (int64_t)((__int128)row->bytes * 1000000 / most));
	set_known(&d, "files", row->files);
	set_known(&d, "limit_files", row->limit_files);
	doc_int(&d, "at_ns", row->at_ns);
	if (json_array_append_new(l->rows, doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Storage that is allotted to the account itself today, on all clusters; the share of an account above is not its own. */
static int64_t find_allotted(const struct call *c, int32_t account)
{
	const struct accounts_query ask = { .account = account,
					    .kind = ACCOUNTS_STORAGE,
					    .pool = CHARGE_POOL_CPU,
					    .cluster = "",
					    .day = (int32_t)store_day(c->api->c.store,
								      api_now_ns()) };
	const struct accounts_allocation *a = accounts_allocation(c->api->accounts, &ask);

	return a && a->account == account ? a->amount.num / a->amount.den : -1;
}

static int read_account(struct reading *l, int32_t account, struct err *err)
{
	l->account = account;
	l->allotted_bytes = find_allotted(l->c, account);
	return store_storage_each(l->c->api->c.store,
				  l->c->api->accounts->accounts[account].name, add_row, l, err);
}

/* At least one account in each answer, so that the reader advances however slow the ledger is. */
static int read_some(struct reading *l, struct err *err)
{
	const int64_t until_ns = api_monotonic_ns() + READ_NS;
	const struct accounts *a = l->c->api->accounts;
	int r = 0;

	for (size_t i = accounts_find_next(a, call_query_text(l->c, "after"));
	     i < a->n_accounts && r >= 0; i++) {
		const char *name = a->accounts[i].name;

		if (authz_role_of(l->c, name) < AUTHZ_MEMBER)
			continue;
		r = read_account(l, (int32_t)i, err);
		if (r < 0 || i + 1 == a->n_accounts)
			return r;
		if (api_monotonic_ns() < until_ns &&
		    (!l->limit || json_array_size(l->rows) < l->limit))
			continue;
		if (json_object_set_new(l->c->answer, "next", json_string(name)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		return 0;
	}
	return r;
}

int route_storage(struct call *c, struct err *err)
{
	const char *account = call_query_text(c, "account");
	struct reading l = { .c = c };
	int64_t limit = 0;
	int r = call_open_list(c, "storage", &l.rows, err);

	if (r < 0)
		return r;
	r = call_query_int(c, "limit", (struct wire_int){ 1, LIMIT_MAX, &(int64_t){ 0 } },
			   &limit, err);
	if (r < 0)
		return r;
	l.limit = (size_t)limit;
	if (!account)
		return read_some(&l, err);
	if (authz_role_of(c, account) == AUTHZ_STRANGER ||
	    accounts_find(c->api->accounts, account) < 0)
		return err_set(err, -ENOENT,
			       "no account '%.64s', or you are not a member of it", account);
	return read_account(&l, accounts_find(c->api->accounts, account), err);
}

/* ---- importing ---- */

static int check_operator(struct call *c, struct err *err)
{
	return call_check_operator(c, "only operators import and remove what projects occupy",
				   "reeve usage --storage shows that of your accounts", err);
}

static int read_figures(const json_t *j, struct store_storage *ret, struct err *err)
{
	const int64_t none = STORE_STORAGE_NONE;
	const struct {
		const char *key;
		struct wire_int range;
		int64_t *to;
	} figures[] = {
		{ "bytes", { 0, INT64_MAX, NULL }, &ret->bytes },
		{ "files", { 0, INT64_MAX, &none }, &ret->files },
		{ "limit_bytes", { 0, INT64_MAX, &none }, &ret->limit_bytes },
		{ "limit_files", { 0, INT64_MAX, &none }, &ret->limit_files },
		{ "at_ns", { 0, api_now_ns() + AHEAD_NS, NULL }, &ret->at_ns },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(figures) && r >= 0; i++)
		r = wire_get_int(j, figures[i].key, figures[i].range, figures[i].to, err);
	return r;
}

/* The texts stay the document's. */
static int read_row(const json_t *j, struct store_storage *ret, struct err *err)
{
	*ret = (struct store_storage){
		.account = json_string_value(json_object_get(j, "account")),
		.filesystem = json_string_value(json_object_get(j, "filesystem")),
	};
	if (!ret->account)
		return err_set(err, -EINVAL, "a row has no account");
	if (!ret->filesystem || !*ret->filesystem ||
	    strlen(ret->filesystem) >= STORE_FILESYSTEM_MAX || !utf8_is_clean(ret->filesystem))
		return err_set(err, -EINVAL,
			       "account %.64s: its filesystem is no name of 1 to %d bytes",
			       ret->account, STORE_FILESYSTEM_MAX - 1);
	return read_figures(j, ret, err);
}

/* Rows of accounts that do not exist are left out, and named. */
static int read_rows(struct call *c, struct store_storage rows[static BATCH_MAX], size_t *ret_n,
		     json_t *unknown, struct err *err)
{
	const json_t *list = json_object_get(c->body, "rows"), *row;
	size_t i;

	*ret_n = 0;
	if (!json_is_array(list) || json_array_size(list) > BATCH_MAX)
		return err_set(err, -EINVAL, "rows: not a list of at most %d readings",
			       BATCH_MAX);
	json_array_foreach(list, i, row)
	{
		int r = read_row(row, &rows[*ret_n], err);

		if (r < 0)
			return r;
		if (accounts_find(c->api->accounts, rows[*ret_n].account) >= 0)
			(*ret_n)++;
		else if (json_array_append_new(unknown, wire_string(rows[*ret_n].account)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int route_import_storage(struct call *c, struct err *err)
{
	struct store_storage rows[BATCH_MAX];
	int64_t stored = 0;
	json_t *unknown;
	size_t n = 0;
	int r = check_operator(c, err);

	if (r < 0)
		return r;
	r = call_open_list(c, "unknown", &unknown, err);
	if (r < 0)
		return r;
	r = read_rows(c, rows, &n, unknown, err);
	if (r < 0)
		return r;
	r = store_storage_put(c->api->c.store, rows, n, &stored, err);
	if (r < 0)
		return r;
	log_line(LOG_INFO, "storage: %" PRId64 " readings by %s", stored, c->user);
	if (json_object_set_new(c->answer, "stored", json_integer(stored)) < 0 ||
	    json_object_set_new(c->answer, "older", json_integer((int64_t)n - stored)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_remove_storage(struct call *c, struct err *err)
{
	char filesystem[STORE_FILESYSTEM_MAX];
	int64_t removed = 0;
	int r = check_operator(c, err);

	if (r < 0)
		return r;
	r = wire_get_text(c->body, "filesystem",
			  (struct wire_text){ filesystem, sizeof(filesystem), false }, err);
	if (r < 0)
		return r;
	r = store_storage_remove(c->api->c.store, filesystem, &removed, err);
	if (r < 0)
		return r;
	if (!removed)
		return err_set(err, -ENOENT, "no reading of a file system '%.200s'",
			       filesystem);
	log_line(LOG_NOTICE, "storage: %" PRId64 " readings of a file system removed by %s",
		 removed, c->user);
	c->answer =
		json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, "removed", (json_int_t)removed);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}
