/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_edit.c - parses typed changes (set, add, remove) and applies them to the accounts in
 * memory. */
#include <errno.h>
#include <string.h>
#include "cli/admin/accounts_edit.h"
#include "common/err.h"
#include "controller/accounts/rows.h"

/* What is changed: a section of accounts.conf, or a user of an account. */
struct target {
	const char *typed, *section;
	const char *name; /* of the section */
	char account[REQUEST_NAME_MAX];
	const char *user; /* NULL: not a user of an account */
};

/* One change under way. Texts belong to the caller or to `kept`. */
struct edit {
	enum accounts_edit_kind kind;
	struct target on;
	struct accounts_rows rows; /* the accounts before the change */
	struct accounts_change *changes;
	size_t n, room;
	char **kept;
	size_t n_kept;
	struct err *err;
};

static void edit_done(struct edit *e)
{
	accounts_rows_done(&e->rows);
	for (size_t i = 0; i < e->n_kept; i++)
		free(e->kept[i]);
	free(e->kept);
	free(e->changes);
}

static int report_no_memory(struct edit *e)
{
	return err_set(e->err, -ENOMEM, "out of memory");
}

/* A copy that strsep() and the like may modify; edit_done() frees it. NULL: no memory. */
static char *keep_copy(struct edit *e, const char *text)
{
	char **more = realloc(e->kept, (e->n_kept + 1) * sizeof(*more));
	char *copy = more ? strdup(text) : NULL;

	if (more)
		e->kept = more;
	if (copy)
		e->kept[e->n_kept++] = copy;
	return copy;
}

/* Appends to the changes; the texts must live until accounts_apply(). */
static int append_change(struct edit *e, const struct accounts_change *c)
{
	size_t room = e->room ? e->room * 2 : 16;
	struct accounts_change *more;

	if (e->n == e->room) {
		more = realloc(e->changes, room * sizeof(*more));
		if (!more)
			return report_no_memory(e);
		e->changes = more;
		e->room = room;
	}
	e->changes[e->n++] = *c;
	return 0;
}

/* ---- existing rows ---- */

/* Is there a row of this section and name? `item` NULL: with any item. */
static bool has_row(const struct edit *e, const char *section, const char *name,
		    const char *item)
{
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct accounts_row *row = &e->rows.rows[i];

		if (!strcmp(row->section, section) && !strcmp(row->name, name) &&
		    (!item || !strcmp(row->item, item)))
			return true;
	}
	return false;
}

/* A user belongs to an account by the account's list Users, with or without limits of their own. */
static bool has_user(const struct edit *e)
{
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct accounts_row *row = &e->rows.rows[i];

		if (!strcmp(row->section, "Account") && !strcmp(row->name, e->on.account) &&
		    !strcmp(row->key, "Users") && !strcmp(row->item, e->on.user))
			return true;
	}
	return false;
}

static bool is_there(const struct edit *e)
{
	return e->on.user ? has_user(e) : has_row(e, e->on.section, e->on.name, NULL);
}

/* "PREFIX:NAME", "ACCOUNT/USER" or "ACCOUNT". -EINVAL: neither account nor user may be empty. */
static int read_target(const char *typed, struct target *ret, struct err *err)
{
	static const struct {
		const char *prefix, *section;
	} kinds[] = { { "allocation:", "Allocation" }, { "user:", "User" },
		      { "queue:", "QueueLimits" },     { "default:", "Default" },
		      { "template:", "Template" },     { "account:", "Account" } };
	const char *slash;

	*ret = (struct target){ .typed = typed, .section = "Account", .name = typed };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (!strncmp(typed, kinds[i].prefix, n)) {
			ret->section = kinds[i].section;
			ret->name = typed + n;
		}
	}
	if (strcmp(ret->section, "Account") != 0 || !(slash = strchr(ret->name, '/')))
		return 0;
	ret->section = "Association";
	ret->user = slash + 1;
	if (slash - ret->name >= REQUEST_NAME_MAX || slash == ret->name || !*ret->user)
		return err_set(err, -EINVAL, "'%.80s' is not ACCOUNT/USER", typed);
	memcpy(ret->account, ret->name, (size_t)(slash - ret->name));
	return 0;
}

/* The sections of users, queues and defaults need no `add`: the first `set` creates them. */
static bool needs_add(const struct edit *e)
{
	return strcmp(e->on.section, "User") != 0 &&
	       strcmp(e->on.section, "QueueLimits") != 0 &&
	       strcmp(e->on.section, "Default") != 0;
}

/* -EEXIST and -ENOENT before anything is changed: a typing error must not create a section. */
static int check_target(struct edit *e)
{
	bool there = is_there(e);

	if (e->kind == ACCOUNTS_EDIT_ADD && e->on.user &&
	    !has_row(e, "Account", e->on.account, NULL))
		return err_set(e->err, -ENOENT, "there is no account '%s'", e->on.account);
	if (e->kind == ACCOUNTS_EDIT_ADD && there)
		return err_set(e->err, -EEXIST, "'%.80s' is there already; change it with set",
			       e->on.typed);
	if (!there &&
	    (e->kind == ACCOUNTS_EDIT_REMOVE || (e->kind == ACCOUNTS_EDIT_SET && needs_add(e))))
		return err_set(e->err, -ENOENT,
			       "there is no '%.80s'; 'reeve admin accounts "
			       "show' lists what there is",
			       e->on.typed);
	return 0;
}

/* ---- Key=Value ---- */

struct assignment {
	const char *key;
	char sign; /* '=', '+', '-' */
	char *value;
};

/* Key=Value, Key+=Value or Key-=Value; cuts a copy. */
static int read_assignment(struct edit *e, const char *typed, struct assignment *ret)
{
	char *copy = keep_copy(e, typed), *equals;

	if (!copy)
		return report_no_memory(e);
	equals = strchr(copy, '=');
	if (!equals || equals == copy)
		return err_set(e->err, -EINVAL, "'%.60s' is not Key=Value", typed);
	ret->value = equals + 1;
	ret->sign = equals[-1] == '+' || equals[-1] == '-' ? equals[-1] : '=';
	*(ret->sign == '=' ? equals : equals - 1) = '\0';
	ret->key = copy;
	return 0;
}

/* The keys of an account whose value is a list, each item a row of its own. */
static bool is_list(const struct edit *e, const char *key)
{
	static const char *const lists[] = { "Users", "Coordinators", "Clusters", "Qos" };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (!strcmp(e->on.section, "Account") && !strcmp(lists[i], key))
			return true;
	return false;
}

static bool has_item(const struct edit *e, const char *key, const char *item)
{
	for (size_t i = 0; i < e->rows.n; i++) {
		const struct accounts_row *row = &e->rows.rows[i];

		if (!strcmp(row->section, "Account") && !strcmp(row->name, e->on.name) &&
		    !strcmp(row->key, key) && !strcmp(row->item, item))
			return true;
	}
	return false;
}

/* Item or Item=Value. += on an item without a value must add one that is new; -= must find it. */
static int append_item(struct edit *e, const struct assignment *a, char *item)
{
	char *equals = strchr(item, '=');
	struct accounts_change c = { .op = a->sign == '-' ? ACCOUNTS_REMOVE : ACCOUNTS_SET,
				     .section = e->on.section,
				     .name = e->on.name,
				     .key = a->key,
				     .item = item,
				     .new_value = equals ? equals + 1 : "" };

	if (equals)
		*equals = '\0';
	if (a->sign == '+' && !equals && has_item(e, a->key, item))
		return err_set(e->err, -EEXIST, "%s has '%.64s' already", a->key, item);
	if (a->sign == '-' && !has_item(e, a->key, item))
		return err_set(e->err, -ENOENT, "%s has no '%.64s'", a->key, item);
	return append_change(e, &c);
}

/* "=" replaces the whole list: all rows of the key are removed first. */
static int append_list(struct edit *e, const struct assignment *a)
{
	char *rest = a->value, *item;
	struct accounts_change all = { .op = ACCOUNTS_REMOVE,
				       .section = e->on.section,
				       .name = e->on.name,
				       .key = a->key };
	int r = a->sign == '=' ? append_change(e, &all) : 0;

	while (r == 0 && *a->value && (item = strsep(&rest, ","))) {
		size_t n;

		item += strspn(item, " ");
		for (n = strlen(item); n && item[n - 1] == ' ';)
			item[--n] = '\0';
		r = n ? append_item(e, a, item)
		      : err_set(e->err, -EINVAL, "an empty name in %s", a->key);
	}
	return r;
}

/* A user's shares are an item of the account's list Users. */
static int append_user(struct edit *e, const char *shares)
{
	return append_change(e, &(struct accounts_change){ .op = ACCOUNTS_SET,
							   .section = "Account",
							   .name = e->on.account,
							   .key = "Users",
							   .item = e->on.user,
							   .new_value = shares });
}

static int append_assignment(struct edit *e, const struct assignment *a)
{
	if (is_list(e, a->key))
		return append_list(e, a);
	if (a->sign != '=')
		return err_set(e->err, -EINVAL, "%s is not a list: write %s=%s", a->key, a->key,
			       a->value);
	if (e->on.user && !strcmp(a->key, "Shares"))
		return append_user(e, *a->value ? a->value : "1");
	return append_change(
		e, &(struct accounts_change){ .op = *a->value ? ACCOUNTS_SET : ACCOUNTS_REMOVE,
					      .section = e->on.section,
					      .name = e->on.name,
					      .key = a->key,
					      .new_value = a->value });
}

/* ---- set, add, remove ---- */

/* The new section itself; the changes of its keys come after it. */
static int append_section(struct edit *e)
{
	if (e->on.user)
		return append_user(e, "1");
	return append_change(e, &(struct accounts_change){ .op = ACCOUNTS_ADD,
							   .section = e->on.section,
							   .name = e->on.name });
}

/* Where the arguments state shares, `add` must not append the default of 1: of two changes of one item only the first counts. */
static bool states_shares(char *const *args)
{
	for (; *args; args++)
		if (!strncmp(*args, "Shares=", 7))
			return true;
	return false;
}

/* Every section that belongs to the target, so that nothing refers to what is gone. */
static int append_removals(struct edit *e)
{
	size_t n = strlen(e->on.name);
	int r = 0;

	if (e->on.user)
		r = append_change(e, &(struct accounts_change){ .op = ACCOUNTS_REMOVE,
								.section = "Account",
								.name = e->on.account,
								.key = "Users",
								.item = e->on.user });
	/* An account is removed with its allocations and the limits of its users. */
	for (size_t i = 0; i < e->rows.n && r == 0; i++) {
		const struct accounts_row *row = &e->rows.rows[i];
		bool is_own =
			!strcmp(row->section, e->on.section) && !strcmp(row->name, e->on.name);
		bool is_its = !strcmp(e->on.section, "Account") && strchr(row->name, '/') &&
			      !strncmp(row->name, e->on.name, n) && row->name[n] == '/';

		if (!*row->key && (is_own || is_its))
			r = append_change(e, &(struct accounts_change){ .op = ACCOUNTS_REMOVE,
									.section = row->section,
									.name = row->name });
	}
	return r;
}

static int append_changes(struct edit *e, char *const *args)
{
	struct assignment a = { 0 };
	int r = 0;

	if (e->kind == ACCOUNTS_EDIT_REMOVE)
		return append_removals(e);
	if (e->kind == ACCOUNTS_EDIT_ADD && !(e->on.user && states_shares(args)))
		r = append_section(e);
	for (; *args && r == 0; args++) {
		r = read_assignment(e, *args, &a);
		if (r == 0)
			r = append_assignment(e, &a);
	}
	return r;
}

int accounts_edit(const struct accounts *now, enum accounts_edit_kind kind, char *const *args,
		  struct accounts **ret, struct err *err)
{
	_cleanup_(edit_done) struct edit e = { .kind = kind, .err = err };
	int r = read_target(args[0], &e.on, err);

	if (r == 0)
		r = accounts_rows_of(now, &e.rows, err);
	if (r == 0)
		r = check_target(&e);
	if (r == 0)
		r = append_changes(&e, args + 1);
	if (r < 0)
		return r;
	return accounts_apply(now, &(struct accounts_diff){ e.changes, e.n },
			      "the accounts after this change", ret, err);
}
