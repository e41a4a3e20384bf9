/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values.c - checks and parses the value of one key, beyond its type; see accounts_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/accounts/accounts_impl.h"
#include "controller/policy/fairshare/fairshare.h"

#define ITEM_MAX (REQUEST_NAME_MAX + 32)

void accounts_split(const char *name, char ret_account[static REQUEST_NAME_MAX],
		    const char **ret_rest)
{
	const char *slash = strchr(name, '/');

	*ret_account = '\0';
	*ret_rest = slash ? slash + 1 : "";
	if (slash && slash - name < REQUEST_NAME_MAX)
		snprintf(ret_account, REQUEST_NAME_MAX, "%.*s", (int)(slash - name), name);
}

/* ---- lists ---- */

/* 1: the next item of a list by commas, 0: no more. */
static int next_item(const char **list, char ret[static ITEM_MAX], struct err *err)
{
	const char *p = *list;
	size_t n, skip;

	if (!p)
		return 0;
	n = strcspn(p, ",");
	*list = p[n] ? p + n + 1 : NULL;
	skip = strspn(p, " \t");
	if (skip > n)
		skip = n;
	p += skip;
	n -= skip;
	while (n && strchr(" \t", p[n - 1]))
		n--;
	if (n == 0 || n >= ITEM_MAX)
		return err_set(err, -EINVAL, "an empty or too long name in the list");
	memcpy(ret, p, n);
	ret[n] = '\0';
	return 1;
}

static size_t count_items(const char *list)
{
	size_t n = 1;

	while ((list = strchr(list, ',')))
		list++, n++;
	return n;
}

/* "alice=10"; cuts up `item`. */
static int parse_member(char *item, struct accounts_member *ret, struct err *err)
{
	char *equals = strchr(item, '='), *end;
	const struct accounts_limits none = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT };
	int r = 0;

	*ret = (struct accounts_member){ .shares = 1,
					 .limits = none,
					 .job = ACCOUNTS_NO_BOUNDS };
	if (equals) {
		for (end = equals; end > item && strchr(" \t", end[-1]);)
			end--;
		*end = '\0';
		equals += 1 + strspn(equals + 1, " \t");
		r = fairshare_parse_shares(equals, &ret->shares, err);
	}
	if (r == 0)
		r = request_check_name(item, err);
	if (r == 0)
		strcpy(ret->user, item);
	return r;
}

/* For qsort(): a member begins with its user's name. */
static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int set_users(void *object, const char *list, struct err *err)
{
	struct accounts_account *a = &((struct accounts_typed_account *)object)->a;
	_cleanup_free_ struct accounts_member *m = calloc(count_items(list), sizeof(*m));
	char item[ITEM_MAX];
	size_t n = 0;
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	while ((r = next_item(&list, item, err)) > 0) {
		r = parse_member(item, &m[n++], err);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return r;
	qsort(m, n, sizeof(*m), by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(m[i - 1].user, m[i].user))
			return err_set(err, -EINVAL, "user '%s' is named twice; keep one",
				       m[i].user);
	free(a->members);
	a->members = TAKE_PTR(m);
	a->n_members = n;
	return 0;
}

/* Sorts a list of names and drops its blanks, in place: the canonical form is never longer. */
static int set_names(char *list, struct err *err)
{
	_cleanup_free_ char(*names)[REQUEST_NAME_MAX] =
		calloc(count_items(list), sizeof(*names));
	const char *from = list;
	char item[ITEM_MAX], *to = list;
	size_t n = 0;
	int r;

	if (!names)
		return err_set(err, -ENOMEM, "out of memory");
	while ((r = next_item(&from, item, err)) > 0) {
		r = request_check_name(item, err);
		if (r < 0)
			return r;
		strcpy(names[n++], item);
	}
	if (r < 0)
		return r;
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if (i && !strcmp(names[i - 1], names[i]))
			return err_set(err, -EINVAL, "'%s' is named twice; keep one", names[i]);
		to += sprintf(to, "%s%s", i ? "," : "", names[i]);
	}
	return 0;
}

static int set_coordinators(void *object, const char *value, struct err *err)
{
	(void)value;
	return set_names(((struct accounts_typed_account *)object)->coordinators, err);
}

static int set_clusters(void *object, const char *value, struct err *err)
{
	(void)value;
	return set_names(((struct accounts_typed_account *)object)->clusters, err);
}

static int set_qos(void *object, const char *value, struct err *err)
{
	(void)value;
	return set_names(((struct accounts_typed_account *)object)->qos, err);
}

static int set_shares(void *object, const char *value, struct err *err)
{
	return fairshare_parse_shares(
		value, &((struct accounts_typed_account *)object)->a.shares, err);
}

static int check_description(void *object, const char *value, struct err *err)
{
	(void)object;
	for (; *value; value++)
		if ((unsigned char)*value < ' ' || *value == 127)
			return err_set(err, -EINVAL, "a control character in the text");
	return value[-1] == '\\' ? err_set(err, -EINVAL, "the text ends in a backslash") : 0;
}

/* ---- templates ---- */

/* SUFFIX=SHARES/SHARES_OF_A_USER; the latter 1 where they are not stated. */
int accounts_next_child(const char **list, struct accounts_typed_child *ret, struct err *err)
{
	char item[ITEM_MAX], *equals, *slash;
	int r = next_item(list, item, err);

	if (r <= 0)
		return r;
	*ret = (struct accounts_typed_child){ .shares = 1, .user_shares = 1 };
	equals = strchr(item, '=');
	slash = equals ? strchr(equals, '/') : NULL;
	if (slash)
		*slash++ = '\0';
	if (equals)
		*equals++ = '\0';
	r = request_check_name(item, err);
	if (r == 0 && equals)
		r = fairshare_parse_shares(equals, &ret->shares, err);
	if (r == 0 && slash)
		r = fairshare_parse_shares(slash, &ret->user_shares, err);
	if (r < 0)
		return r;
	strcpy(ret->suffix, item);
	return 1;
}

static int check_children(void *object, const char *value, struct err *err)
{
	struct accounts_typed_child child;
	int r;

	(void)object;
	while ((r = accounts_next_child(&value, &child, err)) > 0)
		;
	return r;
}

/* ---- days ---- */

const char *accounts_format_day(int32_t day, char buf[static ACCOUNTS_DAY_MAX])
{
	char text[AMOUNT_TEXT_MAX];

	snprintf(buf, ACCOUNTS_DAY_MAX, "%.10s", amount_format_utc(day * DAY_NS, text));
	return buf;
}

int accounts_parse_day(const char *text, int32_t *ret, struct err *err)
{
	struct tm tm = { 0 };
	char back[ACCOUNTS_DAY_MAX];
	int end = 0;
	int32_t n;

	if (sscanf(text, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &end) == 3 &&
	    end == 10 && tm.tm_year >= 1970 && tm.tm_year < 2200) {
		tm.tm_year -= 1900;
		tm.tm_mon -= 1;
		n = (int32_t)(timegm(&tm) / DAY_S);
		/* The 31st of a short month must not become another day. */
		if (!strcmp(accounts_format_day(n, back), text)) {
			*ret = n;
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%.40s' is not a day; write it like 2026-04-01", text);
}

static int set_from(void *object, const char *value, struct err *err)
{
	return accounts_parse_day(
		value, &((struct accounts_typed_allocation *)object)->a.from_day, err);
}

static int set_to(void *object, const char *value, struct err *err)
{
	return accounts_parse_day(value,
				  &((struct accounts_typed_allocation *)object)->a.to_day, err);
}

/* ---- all ---- */

static const struct {
	const char *section, *key;
	int (*check)(void *object, const char *value, struct err *err);
} checks[] = {
	{ "Account", "Description", check_description },
	{ "Account", "Shares", set_shares },
	{ "Account", "Users", set_users },
	{ "Account", "Coordinators", set_coordinators },
	{ "Account", "Clusters", set_clusters },
	{ "Account", "Qos", set_qos },
	{ "Template", "Accounts", check_children },
	{ "Allocation", "From", set_from },
	{ "Allocation", "To", set_to },
};

int accounts_check_value(const struct conf_place *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; p->key && i < ARRAY_LEN(checks); i++)
		if (!strcmp(checks[i].section, p->key->section) &&
		    !strcmp(checks[i].key, p->key->key))
			r = checks[i].check(p->object, p->value, err);
	return r < 0 ? err_prefix(err, r, "%s = %.60s", p->key->key, p->value) : 0;
}
