/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr.c - reads the lines of a dump: joins continued lines into records, splits a record
 * into kind, name and options; see foreign/sacctmgr.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/utf8.h"
#include "controller/accounts/foreign/sacctmgr_impl.h"

#define RECORD_MAX 65536

/* ---- a record ---- */

/* Drops the backslashes, in place. */
static void unescape_text(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			text++;
		*to++ = *text;
	}
	*to = '\0';
}

/* How a value ends: at a colon; in a list of TRES one colon is of a model (gres/gpu:a100=4). */
enum value_kind { VALUE_PLAIN, VALUE_TRES };

/* Does a list of TRES end at this colon? One belongs to a TRES where its model follows: the item has a
 * slash, and no number yet. */
static bool ends_tres(const char *start, const char *colon)
{
	const char *item = colon;

	while (item > start && item[-1] != ',')
		item--;
	return !colon[1] || sacctmgr_is_option(colon + 1) ||
	       memchr(item, '=', (size_t)(colon - item)) ||
	       !memchr(item, '/', (size_t)(colon - item));
}

/* The value at *p, which ends at a colon or the end; *p goes behind it. */
static int read_value(struct sacctmgr_reader *r, char **p, enum value_kind kind, char **ret)
{
	char quote = **p == '\'' || **p == '"' ? **p : '\0', *start = *p + (quote != '\0'), *q;

	for (q = start; *q; q++) {
		if (*q == '\\' && q[1])
			q++;
		else if (quote ? *q == quote && (!q[1] || q[1] == ':')
			       : *q == ':' && (kind == VALUE_PLAIN || ends_tres(start, q)))
			break;
	}
	if (quote && !*q)
		return accounts_draft_error(r->d, r->now.line, r->err,
					    "the quote %c before '%.40s' is not closed", quote,
					    start);
	*p = quote && *q ? q + 1 : q;
	if (**p == ':')
		*(*p)++ = '\0';
	*q = '\0';
	unescape_text(start);
	*ret = start;
	return 0;
}

static int read_options(struct sacctmgr_reader *r)
{
	char *p = r->now.rest, *key, *value;
	int result = 0;

	while (*p && result == 0) {
		if (*p == ':') { /* an empty one */
			p++;
			continue;
		}
		key = p;
		p += strcspn(p, "=:'\"");
		if (*p != '=' || p == key)
			return accounts_draft_error(r->d, r->now.line, r->err,
						    "'%.40s' is not Option=value", key);
		*p++ = '\0';
		result = read_value(r, &p, strcasestr(key, "TRES") ? VALUE_TRES : VALUE_PLAIN,
				    &value);
		if (result == 0)
			result = sacctmgr_set_option(r, key, value);
	}
	return result;
}

static int open_parent(struct sacctmgr_reader *r)
{
	if (strcmp(r->now.name, ACCOUNTS_ROOT) != 0 &&
	    !accounts_draft_account(r->d, r->now.name))
		return accounts_draft_error(r->d, r->now.line, r->err,
					    "Parent - '%.64s' before its Account line: an "
					    "account's line comes before the lines that use it",
					    r->now.name);
	snprintf(r->parent, sizeof(r->parent), "%s", r->now.name);
	return 0;
}

static int open_account(struct sacctmgr_reader *r)
{
	int result;

	if (!strcmp(r->now.name, ACCOUNTS_ROOT)) {
		r->limits = r->of_each = NULL;
		return sacctmgr_note(r, "root", sacctmgr_why_root);
	}
	if (accounts_draft_account(r->d, r->now.name))
		return accounts_draft_error(
			r->d, r->now.line, r->err,
			"account '%s' is there twice, first in line %zu; keep one", r->now.name,
			accounts_draft_account(r->d, r->now.name)->line);
	result =
		accounts_draft_add_account(r->d, r->now.name, r->now.line, &r->account, r->err);
	if (result < 0)
		return result;
	strcpy(r->account->parent, r->parent);
	r->limits = &r->account->limits;
	r->of_each = &r->account->each;
	return 0;
}

/* A user may be in an account once more for each partition. */
static bool is_of_partition(const struct sacctmgr_record *record)
{
	const char *p = record->rest;

	while (p && strncasecmp(p, "Partition=", 10) != 0) {
		p = strchr(p, ':');
		p = p ? p + 1 : NULL;
	}
	return p;
}

static int open_user(struct sacctmgr_reader *r)
{
	int result;

	if (!request_is_name(r->now.name))
		return accounts_draft_error(
			r->d, r->now.line, r->err,
			"'%.64s' is not a name for Reeve: 1 to 63 of "
			"letters, digits and . _ + -; rename it in the file",
			r->now.name);
	if (!strcmp(r->parent, ACCOUNTS_ROOT))
		return sacctmgr_note(r, r->now.name, sacctmgr_why_root);
	result = sacctmgr_find_role(r, r->parent, &r->member);
	if (result < 0)
		return result;
	if (r->member->is_user && !is_of_partition(&r->now))
		return accounts_draft_error(
			r->d, r->now.line, r->err,
			"user '%s' is in account '%s' twice, first in line %zu; keep one",
			r->now.name, r->parent, r->member->line);
	r->member->is_user = true;
	r->limits = r->of_each = &r->member->limits;
	return 0;
}

static int open_record(struct sacctmgr_reader *r)
{
	r->account = NULL;
	r->member = NULL;
	r->limits = r->of_each = NULL;
	switch (r->now.kind) {
	case KIND_CLUSTER:
		if (r->has_cluster)
			return accounts_draft_error(r->d, r->now.line, r->err,
						    "a second Cluster line: a dump is of one "
						    "cluster; import each by itself");
		r->has_cluster = true;
		r->of_each = &r->d->each;
		return sacctmgr_note(r, "line", sacctmgr_why_cluster_name);
	case KIND_PARENT:
		return open_parent(r);
	case KIND_ACCOUNT:
		return open_account(r);
	case KIND_USER:
		return open_user(r);
	default:
		return sacctmgr_note(r, "line", sacctmgr_why_qos);
	}
}

/* "Kind - 'name'"; the rest stands behind. */
static int read_head(struct sacctmgr_reader *r, char *text)
{
	size_t n = strcspn(text, " \t-");
	char *p = text + n, *name;
	int k = 0, result;

	while (k < _KIND_MAX && (strlen(sacctmgr_kind_names[k]) != n ||
				 strncasecmp(sacctmgr_kind_names[k], text, n) != 0))
		k++;
	p += strspn(p, " \t");
	if (k == _KIND_MAX || *p != '-')
		return accounts_draft_error(
			r->d, r->now.line, r->err,
			"'%.40s' does not begin with Cluster - , Parent - , Account - or User "
			"-: is it what 'sacctmgr dump' writes?",
			text);
	p += 1 + strspn(p + 1, " \t");
	r->now.kind = (enum sacctmgr_kind)k;
	result = read_value(r, &p, VALUE_PLAIN, &name);
	if (result == 0 && (k == KIND_PARENT || k == KIND_ACCOUNT))
		sacctmgr_lower_account(name);
	r->now.name = name;
	r->now.rest = p;
	if (result == 0 && !*name)
		result = accounts_draft_error(r->d, r->now.line, r->err, "%s without a name",
					      sacctmgr_kind_names[k]);
	return result;
}

static int read_record(struct sacctmgr_reader *r, char *text)
{
	size_t n = strlen(text);
	int result;

	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	text += strspn(text, " \t");
	if (!*text)
		return 0;
	result = read_head(r, text);
	if (result == 0 && !r->has_cluster && r->now.kind != KIND_CLUSTER &&
	    r->now.kind != KIND_QOS)
		result = accounts_draft_error(r->d, r->now.line, r->err,
					      "the first line is Cluster - 'NAME'");
	if (result == 0)
		result = open_record(r);
	return result < 0 ? result : read_options(r);
}

/* ---- lines ---- */

/* Appends one line, without its comment, to *at. True: the record continues on the next line.
 */
static bool append_line(const char *line, size_t n, char **at)
{
	char quote = '\0', *p = *at;

	for (size_t i = 0; i < n; i++) {
		char c = line[i];

		if (c == '\\' && i + 1 == n) {
			*at = p;
			return true;
		}
		if (c == '\\')
			*p++ = line[i++], c = '\0';
		else if (quote && c == quote && (i + 1 == n || line[i + 1] == ':'))
			quote = '\0';
		else if (!quote && i && (c == '\'' || c == '"') && strchr("= \t", line[i - 1]))
			quote = c;
		else if (!quote && c == '#')
			break;
		*p++ = line[i];
	}
	*at = p;
	return false;
}

static bool is_text(const char *line, size_t n)
{
	char copy[RECORD_MAX / 2];

	if (n >= sizeof(copy))
		return true; /* refused for its length */
	memcpy(copy, line, n);
	copy[n] = '\0';
	return utf8_is_valid(copy);
}

static int check_bytes(const struct sacctmgr_reader *r, const char *line, size_t n,
		       size_t number)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] == '\0' || (iscntrl((unsigned char)line[i]) && line[i] != '\t'))
			return accounts_draft_error(r->d, number, r->err,
						    "a control character in the line");
	if (!is_text(line, n))
		return accounts_draft_error(r->d, number, r->err, ACCOUNTS_NOT_UTF8);
	return n < RECORD_MAX / 2 ? 0
				  : accounts_draft_error(r->d, number, r->err,
							 "the line is longer than %d bytes",
							 RECORD_MAX / 2);
}

static int read_lines(struct sacctmgr_reader *r, const char *text, size_t size, char *record)
{
	const char *end = text + size, *p = text + utf8_mark_size(text, size);
	char *at = record;
	bool is_continued = false;

	for (size_t number = 1; p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((newline ? newline : end) - p);
		int result;

		if (n && p[n - 1] == '\r')
			n--;
		result = check_bytes(r, p, n, number);
		if (result == 0 && (size_t)(at - record) + n >= RECORD_MAX)
			result = accounts_draft_error(r->d, number, r->err,
						      "a record of more than %d bytes",
						      RECORD_MAX);
		if (result < 0)
			return result;
		if (!is_continued)
			r->now.line = number;
		is_continued = append_line(p, n, &at);
		p = newline ? newline + 1 : end;
		if (is_continued && p < end)
			continue;
		*at = '\0';
		at = record;
		result = read_record(r, record);
		if (result < 0)
			return result;
	}
	return 0;
}

static const char why_coordinator[] = "there is no such account in this file";

/* Coordinators of accounts that are elsewhere: noted, and are no members. */
static int drop_strangers(struct accounts_draft *d, struct err *err)
{
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < d->n_members; i++) {
		struct draft_member *m = d->members[i];

		if (accounts_draft_account(d, m->account)) {
			d->members[n++] = m;
			continue;
		}
		if (m->is_coordinator && r == 0)
			r = accounts_draft_note(d, m->line, "User Coordinator",
						why_coordinator);
		if (m->is_default && r == 0)
			r = accounts_draft_note(d, m->line, "User DefaultAccount",
						why_coordinator);
		accounts_draft_drop_member(d, m);
	}
	d->n_members = n;
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

int accounts_sacctmgr_parse(struct accounts_draft *d, const char *text, size_t size,
			    struct err *err)
{
	_cleanup_free_ char *record = malloc(RECORD_MAX + 1);
	struct sacctmgr_reader r = { .d = d, .err = err, .parent = ACCOUNTS_ROOT };
	int result;

	if (!record)
		return err_set(err, -ENOMEM, "out of memory");
	result = read_lines(&r, text, size, record);
	if (result == 0 && !r.has_cluster)
		result = accounts_draft_error(d, 1, err,
					      "there is no Cluster - line: is it what "
					      "'sacctmgr dump CLUSTER FILE' wrote?");
	return result < 0 ? result : drop_strangers(d, err);
}
