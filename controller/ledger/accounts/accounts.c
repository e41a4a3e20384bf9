/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - loads the accounts, applies changes of them and lists the log of changes. See
 * accounts/accounts.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/rows.h"
#include "controller/ledger/accounts/accounts.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

/* ---- load ---- */

enum revision_column { REVISION_NUMBER, REVISION_AUTHOR };

/* The last revision and its author; 0 and "" where nothing was ever applied. */
static int load_revision(struct store *s, int64_t *ret, char author[static REQUEST_NAME_MAX],
			 struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT revision, author FROM accounts_log ORDER BY id DESC LIMIT 1", "");

	if (r < 0)
		return r;
	*ret = r > 0 ? db_int(st, REVISION_NUMBER) : 0;
	snprintf(author, REQUEST_NAME_MAX, "%s", r > 0 ? store_text(st, REVISION_AUTHOR) : "");
	db_done(st);
	return 0;
}

enum statement_column {
	STATEMENT_SECTION,
	STATEMENT_NAME,
	STATEMENT_KEY,
	STATEMENT_ITEM,
	STATEMENT_VALUE
};

/* All statements, in the order of the canonical file. */
static int load_rows(struct store *s, struct accounts_rows *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT section, name, key, item, value FROM accounts", "");

	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0) {
		const struct accounts_row row = { store_text(st, STATEMENT_SECTION),
						  store_text(st, STATEMENT_NAME),
						  store_text(st, STATEMENT_KEY),
						  store_text(st, STATEMENT_ITEM),
						  store_text(st, STATEMENT_VALUE) };

		if (accounts_rows_add(ret, &row) < 0) {
			db_done(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
	}
	accounts_rows_sort(ret);
	return r;
}

int store_accounts_load(struct store *s, struct accounts **ret, int64_t *ret_revision,
			struct err *err)
{
	struct accounts_rows rows = { 0 };
	_cleanup_free_ char *text = NULL;
	char author[REQUEST_NAME_MAX];
	int64_t revision;
	/* The revision is read before the rows, without a transaction: when a change comes in between,
	 * the rows are newer than the revision, and a change that starts from them is refused as
	 * outdated. In the other order an outdated change could pass. */
	int r = load_revision(s, &revision, author, err);

	if (r == 0)
		r = load_rows(s, &rows, err);
	if (r == 0)
		r = accounts_rows_write(&rows, &text, err);
	accounts_rows_done(&rows);
	if (r < 0)
		return r;
	r = accounts_parse(text, strlen(text), "the accounts in the ledger", ret, err);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	*ret_revision = revision;
	return 0;
}

/* ---- apply ---- */

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* The old value is part of the condition: no row changes where the ledger has another. */
static int change_row(struct store *s, const struct accounts_change *c, struct err *err)
{
	const char *key = or_empty(c->key), *item = or_empty(c->item);

	switch (c->op) {
	case ACCOUNTS_ADD:
		return db_run(s->db, err,
			      "INSERT INTO accounts(section, name, key, item, value)"
			      " VALUES(?1, ?2, ?3, ?4, ?5)",
			      "ttttt", c->section, c->name, key, item, or_empty(c->new_value));
	case ACCOUNTS_REMOVE:
		return db_run(s->db, err,
			      "DELETE FROM accounts WHERE section = ?1 AND name = ?2"
			      " AND key = ?3 AND item = ?4 AND value = ?5",
			      "ttttt", c->section, c->name, key, item, or_empty(c->old_value));
	case ACCOUNTS_SET:
		return db_run(s->db, err,
			      "UPDATE accounts SET value = ?6 WHERE section = ?1 AND name = ?2"
			      " AND key = ?3 AND item = ?4 AND value = ?5",
			      "tttttt", c->section, c->name, key, item, or_empty(c->old_value),
			      c->new_value);
	}
	return err_set(err, -EINVAL, "a change of kind %d", (int)c->op);
}

/* Changes one row and logs it. -EBUSY: the row is not what the change starts from. */
static int apply_one(struct store *s, const struct store_accounts_change *of,
		     const struct accounts_change *c, struct err *err)
{
	int r = change_row(s, c, err);

	if (r == -EEXIST || (r == 0 && db_changes(s->db) != 1))
		return err_set(err, -EBUSY,
			       "[%s %s] %s %s is not what the change starts from; look at the "
			       "accounts as they are, and apply again",
			       c->section, c->name, or_empty(c->key), or_empty(c->item));
	if (r < 0)
		return r;
	return db_run(s->db, err,
		      "INSERT INTO accounts_log(revision, at_ns, author, op, section, name,"
		      " key, item, old_value, new_value)"
		      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		      "iititttttt", of->revision + 1, of->now_ns, of->author, (int64_t)c->op,
		      c->section, c->name, c->key, c->item, c->old_value, c->new_value);
}

static int check_revision(struct store *s, const struct store_accounts_change *c,
			  struct err *err)
{
	char author[REQUEST_NAME_MAX];
	int64_t now;
	int r = load_revision(s, &now, author, err);

	if (r < 0 || now == c->revision)
		return r;
	return err_set(err, -EBUSY,
		       "the accounts were changed meanwhile by %s: they have revision %" PRId64
		       ", this change is for %" PRId64 "; see 'reeve admin accounts log', and "
		       "apply again",
		       author, now, c->revision);
}

int store_accounts_apply(struct store *s, const struct store_accounts_change *c,
			 int64_t *ret_revision, struct err *err)
{
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	r = check_revision(s, c, err);
	for (size_t i = 0; i < c->diff->n && r == 0; i++)
		r = apply_one(s, c, &c->diff->changes[i], err);
	r = db_end(s->db, r, err);
	if (r < 0)
		return r;
	*ret_revision = c->revision + (c->diff->n > 0);
	return 0;
}

/* ---- the log ---- */

/* clang-format off */
#define LOG_COLUMNS(X) \
	X(LOG_ID,        "id") \
	X(LOG_AT_NS,     ", at_ns") \
	X(LOG_REVISION,  ", revision") \
	X(LOG_AUTHOR,    ", author") \
	X(LOG_OP,        ", op") \
	X(LOG_SECTION,   ", section") \
	X(LOG_NAME,      ", name") \
	X(LOG_KEY,       ", key") \
	X(LOG_ITEM,      ", item") \
	X(LOG_OLD_VALUE, ", old_value") \
	X(LOG_NEW_VALUE, ", new_value")
/* clang-format on */
enum { LOG_COLUMNS(SQL_NAME) };
#define LOG_SELECT "SELECT " LOG_COLUMNS(SQL_COLUMN)

int store_accounts_log(struct store *s, const struct store_accounts_page *p,
		       store_accounts_entry_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 LOG_SELECT " FROM accounts_log"
				    " WHERE ?1 = 0 OR id < ?1 ORDER BY id DESC LIMIT ?2",
			 "ii", p->before, p->limit);

	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0) {
		const struct store_accounts_entry e = {
			.id = db_int(st, LOG_ID),
			.at_ns = db_int(st, LOG_AT_NS),
			.revision = db_int(st, LOG_REVISION),
			.author = store_text(st, LOG_AUTHOR),
			.change = { .op = (enum accounts_change_op)(int)db_int(st, LOG_OP),
				    .section = store_text(st, LOG_SECTION),
				    .name = store_text(st, LOG_NAME),
				    .key = db_text(st, LOG_KEY),
				    .item = db_text(st, LOG_ITEM),
				    .old_value = db_text(st, LOG_OLD_VALUE),
				    .new_value = db_text(st, LOG_NEW_VALUE) },
		};

		r = fn(ctx, &e, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

enum removal_column { REMOVAL_AT_NS, REMOVAL_AUTHOR };

int store_accounts_removed(struct store *s, const char *account,
			   struct store_accounts_removal *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT at_ns, author FROM accounts_log WHERE section = 'Account'"
		" AND name = ?1 AND key IS NULL AND op = " SQL_ACCOUNTS_REMOVE
		" ORDER BY id DESC LIMIT 1",
		"t", account);

	if (r <= 0)
		return r < 0 ? r : 1;
	ret->at_ns = db_int(st, REMOVAL_AT_NS);
	snprintf(ret->author, sizeof(ret->author), "%s", store_text(st, REMOVAL_AUTHOR));
	db_done(st);
	return 0;
}

enum active_column { ACTIVE_QUEUED, ACTIVE_RUNNING };

int store_accounts_active(struct store *s, const char *account,
			  struct store_accounts_active *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT COUNT(*) FILTER (WHERE state = " SQL_JOB_QUEUED "),"
			       " COUNT(*) FILTER (WHERE state > " SQL_JOB_QUEUED ")"
			       " FROM jobs WHERE account = ?1 AND state < " SQL_JOB_ENDED,
			       "t", account);

	if (r < 0)
		return r;
	ret->queued = db_int(st, ACTIVE_QUEUED);
	ret->running = db_int(st, ACTIVE_RUNNING);
	db_done(st);
	return 0;
}
