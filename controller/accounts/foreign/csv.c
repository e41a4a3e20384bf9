/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv.c - reads a site's table of accounts and users into a draft; see csv.h. An empty field
 * states nothing, so that an account may be described on one of its lines only. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/model/amount.h"
#include "controller/accounts/foreign/csv.h"

enum column {
	ACCOUNT,
	PARENT,
	DESCRIPTION,
	SHARES,
	USER,
	USER_SHARES,
	COORDINATOR,
	DEFAULT_ACCOUNT,
	RUNNING_CORES,
	RUNNING_GPUS,
	RUNNING_MEMORY,
	RUNNING_JOBS,
	QUEUED_JOBS,
	_COLUMN_MAX,
};
static const char *const names[] = {
	"account",	 "parent",	 "description",	   "shares",
	"user",		 "user_shares",	 "coordinator",	   "default_account",
	"running_cores", "running_gpus", "running_memory", "running_jobs",
	"queued_jobs",	 NULL,
};
_Static_assert(sizeof(names) / sizeof(*names) == _COLUMN_MAX + 1, "names");

struct table_reader {
	struct accounts_draft *d;
	struct csv *csv;
	struct err *err;
	int columns[_COLUMN_MAX];
	const char *const *fields;
	size_t line;
};

static const char *get_field(const struct table_reader *t, enum column c)
{
	return t->columns[c] < 0 ? "" : t->fields[t->columns[c]];
}

static int refuse_field(const struct table_reader *t, enum column c, const char *wanted)
{
	return accounts_draft_error(t->d, t->line, t->err, "%s '%.60s': it is %s", names[c],
				    get_field(t, c), wanted);
}

static int read_shares(const struct table_reader *t, enum column c, int64_t *ret)
{
	struct err why = { "" };

	if (*get_field(t, c) && accounts_draft_shares(get_field(t, c), ret, &why) < 0)
		return refuse_field(t, c, "a whole number, or parent");
	return 0;
}

static int read_bool(const struct table_reader *t, enum column c, bool *ret)
{
	const char *text = get_field(t, c);

	if (!strcmp(text, "yes"))
		*ret = true;
	else if (*text && strcmp(text, "no") != 0)
		return refuse_field(t, c, "yes or no");
	return 0;
}

static int read_limits(const struct table_reader *t, struct accounts_limits *l)
{
	const struct {
		enum column c;
		int64_t *to;
	} counts[] = { { RUNNING_CORES, &l->running_cores },
		       { RUNNING_GPUS, &l->running_gpus },
		       { RUNNING_JOBS, &l->running_jobs },
		       { QUEUED_JOBS, &l->queued_jobs } };

	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		const char *text = get_field(t, counts[i].c);

		if (*text && (amount_parse_count(text, counts[i].to, NULL) < 0 ||
			      *counts[i].to > 1000000000000LL))
			return refuse_field(t, counts[i].c, "a number, or empty for none");
	}
	if (*get_field(t, RUNNING_MEMORY) &&
	    amount_parse_bytes(get_field(t, RUNNING_MEMORY), &l->running_memory_bytes, NULL) <
		    0)
		return refuse_field(t, RUNNING_MEMORY, "an amount like 2TB, or empty for none");
	return 0;
}

/* What a line states of the account must be what those before stated. */
static int refuse_difference(const struct table_reader *t, enum column c, const char *before)
{
	return accounts_draft_error(t->d, t->line, t->err,
				    "%s '%.60s': a line before says '%.60s' of account '%s'; "
				    "state one",
				    names[c], get_field(t, c), before, get_field(t, ACCOUNT));
}

static int set_parent(const struct table_reader *t, struct draft_account *a)
{
	const char *parent = get_field(t, PARENT);

	if (!*parent || !strcmp(a->parent, parent))
		return 0;
	if (!request_is_name(parent))
		return refuse_field(t, PARENT, "the name of an account, or root");
	if (strcmp(a->parent, ACCOUNTS_ROOT) != 0)
		return refuse_difference(t, PARENT, a->parent);
	strcpy(a->parent, parent);
	a->line = t->line;
	return 0;
}

static int set_description(const struct table_reader *t, struct draft_account *a)
{
	const char *text = get_field(t, DESCRIPTION);
	size_t n;

	text += strspn(text, " ");
	n = strlen(text);
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\\'))
		n--;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return refuse_field(t, DESCRIPTION,
					    "one line without control characters");
	if (a->description && (strlen(a->description) != n || memcmp(a->description, text, n)))
		return refuse_difference(t, DESCRIPTION, a->description);
	free(a->description);
	a->description = strndup(text, n);
	return a->description ? 0 : err_set(t->err, -ENOMEM, "out of memory");
}

static int set_account(const struct table_reader *t, struct draft_account *a)
{
	char before[AMOUNT_TEXT_MAX];
	int64_t shares = a->shares;
	int r = set_parent(t, a);

	if (r == 0)
		r = set_description(t, a);
	if (r == 0)
		r = read_shares(t, SHARES, &shares);
	if (r == 0 && shares != a->shares && a->has_shares) {
		snprintf(before, sizeof(before), "%lld", (long long)a->shares);
		return refuse_difference(t, SHARES, a->shares < 0 ? "parent" : before);
	}
	a->has_shares |= *get_field(t, SHARES) != '\0';
	a->shares = shares;
	return r < 0 || *get_field(t, USER) ? r : read_limits(t, &a->limits);
}

/* A user is in an account once: a second line is refused, not merged. */
static int set_member(const struct table_reader *t)
{
	struct draft_member like = { .line = t->line }, *m;
	int r;

	if (!*get_field(t, USER)) {
		for (enum column c = USER_SHARES; c <= DEFAULT_ACCOUNT; c++)
			if (*get_field(t, c) && strcmp(get_field(t, c), "no") != 0)
				return refuse_field(t, c, "of a user, and the line has none");
		return 0;
	}
	snprintf(like.account, sizeof(like.account), "%s", get_field(t, ACCOUNT));
	snprintf(like.user, sizeof(like.user), "%s", get_field(t, USER));
	if (!request_is_name(get_field(t, USER)))
		return refuse_field(t, USER, "no name: 1 to 63 of letters, digits and . _ + -");
	m = accounts_draft_member(t->d, like.account, like.user);
	if (m)
		return accounts_draft_error(t->d, t->line, t->err,
					    "user '%s' is in account '%s' twice, first in line "
					    "%zu; keep one",
					    m->user, m->account, m->line);
	r = accounts_draft_add_member(t->d, &like, &m, t->err);
	if (r < 0)
		return r;
	m->is_user = true;
	r = read_shares(t, USER_SHARES, &m->shares);
	if (r == 0)
		r = read_bool(t, COORDINATOR, &m->is_coordinator);
	if (r == 0)
		r = read_bool(t, DEFAULT_ACCOUNT, &m->is_default);
	return r < 0 ? r : read_limits(t, &m->limits);
}

static int read_line(struct table_reader *t)
{
	struct draft_account *a;
	int r;

	t->line = csv_line(t->csv);
	for (enum column c = 0; c < _COLUMN_MAX; c++)
		if (!utf8_is_valid(get_field(t, c)))
			return accounts_draft_error(t->d, t->line, t->err, ACCOUNTS_NOT_UTF8);
	if (!strcmp(get_field(t, ACCOUNT), ACCOUNTS_ROOT))
		return refuse_field(t, ACCOUNT,
				    "there by itself, and has no users and no keys");
	r = accounts_draft_add_account(t->d, get_field(t, ACCOUNT), t->line, &a, t->err);
	if (r == 0)
		r = set_account(t, a);
	return r < 0 ? r : set_member(t);
}

int accounts_csv_read(struct accounts_draft *d, struct err *err)
{
	_cleanup_(csv_closep) struct csv *csv = NULL;
	struct table_reader t = { .d = d, .err = err };
	int r = csv_open(d->file, &csv, err);

	if (r < 0)
		return r;
	t.csv = csv;
	r = csv_header_some(csv, names, 1, t.columns, err);
	while (r >= 0 && (r = csv_next(csv, &t.fields, err)) > 0)
		r = read_line(&t);
	return r;
}
