/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - turns accounts into a sorted list of statements and writes it as a file; see rows.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/accounts/accounts_impl.h"
#include "controller/accounts/rows.h"

#define LINE_WIDTH 88

/* ---- the list ---- */

static char *append_text(char *to, const char *from, const char **ret)
{
	*ret = to;
	return stpcpy(to, from) + 1;
}

/* The five texts of a row are one allocation, which `section` points to. */
static int copy_row(const struct accounts_row *from, struct accounts_row *ret)
{
	size_t size = strlen(from->section) + strlen(from->name) + strlen(from->key) +
		      strlen(from->item) + strlen(from->value) + 5;
	char *p = malloc(size);

	if (!p)
		return -ENOMEM;
	p = append_text(p, from->section, &ret->section);
	p = append_text(p, from->name, &ret->name);
	p = append_text(p, from->key, &ret->key);
	p = append_text(p, from->item, &ret->item);
	append_text(p, from->value, &ret->value);
	return 0;
}

int accounts_rows_add(struct accounts_rows *r, const struct accounts_row *row)
{
	size_t room = r->room ? r->room * 2 : 64;
	struct accounts_row *more;

	if (r->n == r->room) {
		more = realloc(r->rows, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->rows = more;
		r->room = room;
	}
	return copy_row(row, &r->rows[r->n]) < 0 ? -ENOMEM : (r->n++, 0);
}

void accounts_rows_done(struct accounts_rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		free((char *)r->rows[i].section);
	free(r->rows);
	*r = (struct accounts_rows){ 0 };
}

int accounts_row_compare(const struct accounts_row *a, const struct accounts_row *b)
{
	int r = accounts_section_rank(a->section) - accounts_section_rank(b->section);

	if (r == 0)
		r = strcmp(a->section, b->section);
	if (r == 0)
		r = strcmp(a->name, b->name);
	if (r == 0)
		r = (*a->key ? 1 + accounts_key_rank(a->section, a->key) : 0) -
		    (*b->key ? 1 + accounts_key_rank(b->section, b->key) : 0);
	if (r == 0)
		r = strcmp(a->key, b->key);
	return r ? r : strcmp(a->item, b->item);
}

static int compare_rows(const void *a, const void *b)
{
	return accounts_row_compare(a, b);
}

void accounts_rows_sort(struct accounts_rows *r)
{
	if (r->n)
		qsort(r->rows, r->n, sizeof(*r->rows), compare_rows);
}

/* ---- of accounts ---- */

/* Writes rows of one section after the other; keeps the first error. */
struct row_writer {
	struct accounts_rows *rows;
	const char *section, *name;
	int result;
};

static void put_item(struct row_writer *s, const char *key, const char *item, const char *value)
{
	const struct accounts_row row = { s->section, s->name, key, item, value };

	if (s->result == 0)
		s->result = accounts_rows_add(s->rows, &row);
}

static void put_text(struct row_writer *s, const char *key, const char *value)
{
	if (value)
		put_item(s, key, "", value);
}

static void open_section(struct row_writer *s, enum accounts_section section, const char *name)
{
	s->section = accounts_section_names[section];
	s->name = name;
	put_text(s, "", "");
}

static void put_count(struct row_writer *s, const char *key, int64_t n)
{
	char text[AMOUNT_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRId64, n);
	if (n != ACCOUNTS_NO_LIMIT)
		put_text(s, key, text);
}

static void put_limits(struct row_writer *s, const struct accounts_limits *l)
{
	char text[AMOUNT_TEXT_MAX];

	put_count(s, "MaxRunningCores", l->running_cores);
	put_count(s, "MaxRunningGpus", l->running_gpus);
	if (l->running_memory_bytes != ACCOUNTS_NO_LIMIT)
		put_text(s, "MaxRunningMemory",
			 amount_format_bytes_exact(l->running_memory_bytes, text));
	put_count(s, "MaxRunningJobs", l->running_jobs);
	put_count(s, "MaxQueuedJobs", l->queued_jobs);
}

static void put_bounds(struct row_writer *s, const struct accounts_bounds *b)
{
	char text[AMOUNT_TEXT_MAX];

	if (b->walltime_s != ACCOUNTS_NO_LIMIT)
		put_text(s, "MaxWalltime", amount_format_seconds(b->walltime_s, text));
	if (b->jobfs_bytes != ACCOUNTS_NO_LIMIT)
		put_text(s, "MaxJobfs", amount_format_bytes_exact(b->jobfs_bytes, text));
	if (b->memory_bytes != ACCOUNTS_NO_LIMIT)
		put_text(s, "MaxMemory", amount_format_bytes_exact(b->memory_bytes, text));
	put_count(s, "MaxCores", b->cores);
	put_count(s, "MaxGpus", b->gpus);
}

static void put_per_share(struct row_writer *s, const struct accounts_per_share *p)
{
	char text[AMOUNT_TEXT_MAX];

	put_count(s, "MaxRunningCoresPerShare", p->cores);
	put_count(s, "MaxRunningGpusPerShare", p->gpus);
	if (p->memory_bytes != ACCOUNTS_NO_LIMIT)
		put_text(s, "MaxRunningMemoryPerShare",
			 amount_format_bytes_exact(p->memory_bytes, text));
}

static const char *format_shares(int64_t shares, char buf[static AMOUNT_TEXT_MAX])
{
	if (shares == FAIRSHARE_PARENT)
		return "parent";
	snprintf(buf, AMOUNT_TEXT_MAX, "%" PRId64, shares);
	return buf;
}

static void put_names(struct row_writer *s, const char *key, const char *list)
{
	char name[REQUEST_NAME_MAX];

	while (list) {
		size_t n = strcspn(list, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, list);
		put_item(s, key, name, "");
		list = list[n] ? list + n + 1 : NULL;
	}
}

static void put_account(struct row_writer *s, const struct accounts *a,
			const struct accounts_account *p)
{
	const struct accounts_member *m = *p->template ? p->listed : p->members;
	size_t n = *p->template ? p->n_listed : p->n_members;
	char shares[AMOUNT_TEXT_MAX];

	open_section(s, SECTION_ACCOUNT, p->name);
	put_text(s, "Description", p->description);
	put_text(s, "Parent", p->parent < 0 ? ACCOUNTS_ROOT : a->accounts[p->parent].name);
	put_text(s, "Template", *p->template ? p->template : NULL);
	put_text(s, "Shares", format_shares(p->shares, shares));
	for (size_t i = 0; i < n; i++)
		put_item(s, "Users", m[i].user, format_shares(m[i].shares, shares));
	put_names(s, "Coordinators", p->coordinators);
	put_names(s, "Clusters", p->clusters);
	put_names(s, "Qos", p->qos);
	put_text(s, "DefaultQos", *p->default_qos ? p->default_qos : NULL);
	put_limits(s, &p->limits);
	put_bounds(s, &p->job);
	put_per_share(s, &p->per_share);
}

/* "1/7", "2.5": what fraction_parse_or_zero() takes. */
static void format_amount(const struct accounts_allocation *p, char *buf, size_t size)
{
	char text[FRACTION_TEXT_MAX > AMOUNT_TEXT_MAX ? FRACTION_TEXT_MAX : AMOUNT_TEXT_MAX];
	struct fraction back;

	if (p->kind == ACCOUNTS_STORAGE) {
		snprintf(buf, size, "%s", amount_format_bytes_exact(p->amount.num, text));
		return;
	}
	snprintf(buf, size, "%s", fraction_format_decimal(p->amount, text));
	if (fraction_parse_or_zero(buf, &back, NULL) < 0 || back.num != p->amount.num ||
	    back.den != p->amount.den)
		snprintf(buf, size, "%" PRId64 "/%" PRId64, p->amount.num, p->amount.den);
}

static void put_allocation(struct row_writer *s, const struct accounts *a,
			   const struct accounts_allocation *p)
{
	char name[2 * REQUEST_NAME_MAX], amount[FRACTION_TEXT_MAX], day[ACCOUNTS_DAY_MAX];

	snprintf(name, sizeof(name), "%s/%s", a->accounts[p->account].name, p->label);
	open_section(s, SECTION_ALLOCATION, name);
	put_text(s, "Kind", accounts_kind_name(p->kind));
	put_text(s, "Cluster", *p->cluster ? p->cluster : NULL);
	put_text(s, "Pool", charge_pool_name(p->pool));
	format_amount(p, amount, sizeof(amount));
	put_text(s, "Amount", amount);
	put_text(s, "From", accounts_format_day(p->from_day, day));
	put_text(s, "To", accounts_format_day(p->to_day, day));
}

static bool has_limits(const struct accounts_limits *l)
{
	return l->running_cores != ACCOUNTS_NO_LIMIT || l->running_gpus != ACCOUNTS_NO_LIMIT ||
	       l->running_memory_bytes != ACCOUNTS_NO_LIMIT ||
	       l->running_jobs != ACCOUNTS_NO_LIMIT || l->queued_jobs != ACCOUNTS_NO_LIMIT;
}

static void put_associations(struct row_writer *s, const struct accounts_account *p)
{
	char name[2 * REQUEST_NAME_MAX];

	for (size_t i = 0; i < p->n_members; i++) {
		if (!has_limits(&p->members[i].limits) &&
		    !accounts_has_bounds(&p->members[i].job))
			continue;
		snprintf(name, sizeof(name), "%s/%s", p->name, p->members[i].user);
		open_section(s, SECTION_ASSOCIATION, name);
		put_limits(s, &p->members[i].limits);
		put_bounds(s, &p->members[i].job);
	}
}

/* A [Default ...] section without keys is left out. */
static void put_defaults(struct row_writer *s, const struct accounts_defaults *d)
{
	const struct {
		const char *name;
		const struct accounts_limits *limits;
		const struct accounts_per_share *per_share;
		const struct accounts_bounds *job;
	} kinds[] = { { "User", &d->user, &d->user_per_share, &d->user_job },
		      { "Association", &d->association, NULL, &d->association_job },
		      { "Account", &d->account, &d->account_per_share, &d->account_job },
		      { "Queue", &d->queue, NULL, &d->queue_job } };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		bool is_user = kinds[i].limits == &d->user;
		const struct accounts_per_share *per_share = kinds[i].per_share;

		if (!has_limits(kinds[i].limits) &&
		    !(per_share && accounts_has_per_share(per_share)) &&
		    !(is_user && d->default_account) && !accounts_has_bounds(kinds[i].job))
			continue;
		open_section(s, SECTION_DEFAULT, kinds[i].name);
		if (is_user)
			put_text(s, "DefaultAccount", d->default_account);
		put_limits(s, kinds[i].limits);
		if (per_share)
			put_per_share(s, per_share);
		put_bounds(s, kinds[i].job);
	}
}

int accounts_rows_of(const struct accounts *a, struct accounts_rows *ret, struct err *err)
{
	struct row_writer s = { .rows = ret };

	for (size_t i = 0; i < a->n_accounts; i++) {
		if (!a->accounts[i].is_expanded)
			put_account(&s, a, &a->accounts[i]);
		put_associations(&s, &a->accounts[i]);
	}
	for (size_t i = 0; i < a->n_allocations; i++)
		put_allocation(&s, a, &a->allocations[i]);
	for (size_t i = 0; i < a->n_users; i++) {
		open_section(&s, SECTION_USER, a->users[i].name);
		put_text(&s, "DefaultAccount",
			 *a->users[i].default_account ? a->users[i].default_account : NULL);
		put_limits(&s, &a->users[i].limits);
		put_bounds(&s, &a->users[i].job);
		put_per_share(&s, &a->users[i].per_share);
	}
	for (size_t i = 0; i < a->n_queues; i++) {
		open_section(&s, SECTION_QUEUE, a->queues[i].name);
		put_limits(&s, &a->queues[i].user_limits);
		put_bounds(&s, &a->queues[i].job);
	}
	put_defaults(&s, &a->defaults);
	for (size_t i = 0; i < a->n_templates; i++) {
		open_section(&s, SECTION_TEMPLATE, a->templates[i].name);
		put_text(&s, "Accounts", a->templates[i].accounts);
	}
	accounts_rows_sort(ret);
	return s.result < 0 ? err_set(err, s.result, "out of memory") : 0;
}

/* ---- as a file ---- */

/* "alice=5"; without the value where it is the default. */
static int format_item(const struct accounts_row *row, char *buf, size_t size)
{
	bool is_usual = !*row->value || !strcmp(row->value, "1");

	return snprintf(buf, size, "%s%s%s", row->item, is_usual ? "" : "=",
			is_usual ? "" : row->value);
}

static bool is_same_key(const struct accounts_row *a, const struct accounts_row *b)
{
	return !strcmp(a->section, b->section) && !strcmp(a->name, b->name) &&
	       !strcmp(a->key, b->key);
}

/* The items of one list, from rows[at] on; returns where the next statement is. Broken into
 * lines of a width that people read, unless it then would be longer than a statement may. */
static size_t write_list(const struct accounts_rows *r, size_t at, FILE *to)
{
	char item[2 * REQUEST_NAME_MAX];
	size_t end = at, size = 0, column;

	for (; end < r->n && is_same_key(&r->rows[at], &r->rows[end]); end++)
		size += (size_t)format_item(&r->rows[end], item, sizeof(item)) + 4;
	column = (size_t)fprintf(to, "%s = ", r->rows[at].key);
	for (size_t i = at; i < end; i++) {
		size_t n = (size_t)format_item(&r->rows[i], item, sizeof(item));

		if (i > at && size < CONF_LINE_MAX / 2 && column + n > LINE_WIDTH) {
			fputs(", \\\n\t", to);
			column = 8;
		} else if (i > at) {
			fputs(size < CONF_LINE_MAX / 2 ? ", " : ",", to);
		}
		fputs(item, to);
		column += n + 2;
	}
	fputc('\n', to);
	return end;
}

static void write_rows(const struct accounts_rows *r, FILE *to)
{
	const struct accounts_row *last = NULL;

	for (size_t i = 0; i < r->n;) {
		const struct accounts_row *row = &r->rows[i];

		if (!last || strcmp(last->section, row->section) != 0 ||
		    strcmp(last->name, row->name) != 0)
			fprintf(to, "%s[%s %s]\n", last ? "\n" : "", row->section, row->name);
		last = row;
		if (*row->item) {
			i = write_list(r, i, to);
			continue;
		}
		if (*row->key)
			fprintf(to, "%s = %s\n", row->key, row->value);
		i++;
	}
}

int accounts_rows_write(const struct accounts_rows *r, char **ret, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);
	int bad;

	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	write_rows(r, to);
	bad = ferror(to);
	if (fclose(to) != 0 || bad)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(text);
	return 0;
}

int accounts_write(const struct accounts *a, char **ret, struct err *err)
{
	struct accounts_rows rows = { 0 };
	int r = accounts_rows_of(a, &rows, err);

	if (r == 0)
		r = accounts_rows_write(&rows, ret, err);
	accounts_rows_done(&rows);
	return r;
}
