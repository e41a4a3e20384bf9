/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft.c - collects accounts and users of another system's file by name; see draft.h. */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
#include <stdarg.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/accounts/foreign/draft.h"
#include "controller/accounts/accounts_impl.h"
#include "controller/accounts/rows.h"
#include "controller/policy/fairshare/fairshare.h"

#define SLURM_PARENT "2147483647" /* SLURMDB_FS_USE_PARENT, as older versions dump it */

const struct accounts_limits accounts_no_limits = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						    ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						    ACCOUNTS_NO_LIMIT };

/* For tdestroy(): the lists free the objects. */
static void keep_node(void *p)
{
	(void)p;
}

void accounts_draft_init(struct accounts_draft *d, const char *file)
{
	*d = (struct accounts_draft){ .file = file, .each = accounts_no_limits };
}

static void qos_done(struct draft_qos *q)
{
	free(q->stated);
	free(q->all);
}

void accounts_draft_done(struct accounts_draft *d)
{
	tdestroy(d->by_account, keep_node);
	tdestroy(d->by_member, keep_node);
	for (size_t i = 0; i < d->n_accounts; i++) {
		free(d->accounts[i]->description);
		qos_done(&d->accounts[i]->qos);
		free(d->accounts[i]);
	}
	for (size_t i = 0; i < d->n_members; i++) {
		qos_done(&d->members[i]->qos);
		free(d->members[i]);
	}
	qos_done(&d->qos);
	free(d->accounts);
	free(d->members);
	free(d->notes);
	*d = (struct accounts_draft){ 0 };
}

int accounts_draft_error(const struct accounts_draft *d, size_t line, struct err *err,
			 const char *fmt, ...)
{
	struct err why = { "" };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why.text, sizeof(why.text), fmt, ap);
	va_end(ap);
	return err_set(err, -EINVAL, "%.200s:%zu: %s", d->file, line, why.text);
}

int accounts_draft_shares(const char *text, int64_t *ret, struct err *err)
{
	return fairshare_parse_shares(strcmp(text, SLURM_PARENT) ? text : "parent", ret, err);
}

/* ---- what there is ---- */

static int compare_accounts(const void *a, const void *b)
{
	return strcmp(((const struct draft_account *)a)->name,
		      ((const struct draft_account *)b)->name);
}

static int compare_members(const void *va, const void *vb)
{
	const struct draft_member *a = va, *b = vb;
	int r = strcmp(a->account, b->account);

	return r ? r : strcmp(a->user, b->user);
}

struct draft_account *accounts_draft_account(const struct accounts_draft *d, const char *name)
{
	struct draft_account wanted = { .line = 0 }, **slot;

	if (strlen(name) >= sizeof(wanted.name))
		return NULL;
	strcpy(wanted.name, name);
	slot = tfind(&wanted, &d->by_account, compare_accounts);
	return slot ? *slot : NULL;
}

struct draft_member *accounts_draft_member(const struct accounts_draft *d, const char *account,
					   const char *user)
{
	struct draft_member wanted = { .line = 0 }, **slot;

	if (strlen(account) >= sizeof(wanted.account) || strlen(user) >= sizeof(wanted.user))
		return NULL;
	strcpy(wanted.account, account);
	strcpy(wanted.user, user);
	slot = tfind(&wanted, &d->by_member, compare_members);
	return slot ? *slot : NULL;
}

/* Room for one more pointer behind n of them; full at powers of two. NULL: no memory, list
 * unchanged. */
static void *grow_list(void *list, size_t n)
{
	if (n && (n & (n - 1)))
		return list;
	return realloc(list, (n ? 2 * n : 1) * sizeof(void *));
}

static int check_name(const struct accounts_draft *d, size_t line, const char *name,
		      struct err *err)
{
	if (request_is_name(name))
		return 0;
	return accounts_draft_error(d, line, err,
				    "'%.80s' is not a name for Reeve: 1 to 63 of letters, "
				    "digits and . _ + -; rename it in the file",
				    name);
}

int accounts_draft_add_account(struct accounts_draft *d, const char *name, size_t line,
			       struct draft_account **ret, struct err *err)
{
	struct draft_account *a;
	void *more;
	int r = check_name(d, line, name, err);

	if (r < 0)
		return r;
	*ret = accounts_draft_account(d, name);
	if (*ret)
		return 0;
	more = grow_list(d->accounts, d->n_accounts);
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	d->accounts = more;
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	strcpy(a->name, name);
	strcpy(a->parent, ACCOUNTS_ROOT);
	a->line = line;
	a->shares = 1;
	a->limits = a->each = accounts_no_limits;
	if (!tsearch(a, &d->by_account, compare_accounts)) {
		free(a);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = d->accounts[d->n_accounts++] = a;
	return 0;
}

int accounts_draft_add_member(struct accounts_draft *d, const struct draft_member *like,
			      struct draft_member **ret, struct err *err)
{
	struct draft_member *m;
	void *more;
	int r = check_name(d, like->line, like->user, err);

	if (r < 0)
		return r;
	*ret = accounts_draft_member(d, like->account, like->user);
	if (*ret)
		return 0;
	more = grow_list(d->members, d->n_members);
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	d->members = more;
	m = malloc(sizeof(*m));
	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	*m = *like;
	m->shares = 1;
	m->limits = accounts_no_limits;
	if (!tsearch(m, &d->by_member, compare_members)) {
		free(m);
		return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = d->members[d->n_members++] = m;
	return 0;
}

void accounts_draft_drop_member(struct accounts_draft *d, struct draft_member *m)
{
	tdelete(m, &d->by_member, compare_members);
	qos_done(&m->qos);
	free(m);
}

/* Counts a repeated note; `why` is compared by address. */
int accounts_draft_note(struct accounts_draft *d, size_t line, const char *what,
			const char *why)
{
	struct accounts_note *more;

	for (size_t i = 0; i < d->n_notes; i++)
		if (d->notes[i].why == why && !strcmp(d->notes[i].what, what)) {
			d->notes[i].n++;
			return 0;
		}
	more = realloc(d->notes, (d->n_notes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	d->notes = more;
	more[d->n_notes] = (struct accounts_note){ .why = why, .n = 1, .line = line };
	snprintf(more[d->n_notes].what, sizeof(more->what), "%s", what);
	d->n_notes++;
	return 0;
}
