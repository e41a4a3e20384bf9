/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft - accounts as another system's file states them, statement by statement,
 * before they are accounts of Reeve's.
 *
 * A reader (foreign/sacctmgr.h, csv.h) adds accounts and users in any order, each
 * with its line; accounts_draft_finish() checks that they agree, and builds. What
 * the file states and Reeve cannot keep is noted with its count: nothing is dropped
 * silently.
 */
#pragma once
#include <stdio.h>
#include "controller/accounts/accounts.h"

#define ACCOUNTS_NOT_UTF8                                                                      \
	"the line is not UTF-8; convert the file, e.g. by iconv -f latin1 -t UTF-8"

/* The QOS of the file's cluster, of an account or of a user in it. */
struct draft_qos {
	char *stated; /* "a,b"; or changes to what stands above it: "+a,-b"; NULL: not stated */
	char *all;    /* what follows, once resolved; NULL: nothing is stated here or above */
	char by_default[REQUEST_NAME_MAX]; /* "": not stated */
};

struct draft_account {
	char name[REQUEST_NAME_MAX], parent[REQUEST_NAME_MAX];
	size_t line;
	int64_t shares;
	char *description;
	struct accounts_limits limits; /* of all its jobs together */
	/* Of each user in the account or below it, where the user's own are not stated. */
	struct accounts_limits each;
	struct draft_qos qos;
	bool has_shares; /* stated */
	int walk;	 /* state of the search for cycles */
};

struct draft_member {
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	size_t line;
	int64_t shares;
	struct accounts_limits limits;
	struct draft_qos qos;
	bool is_user, is_coordinator, is_default; /* of that account */
};

struct accounts_note {
	char what[96];
	const char *why; /* a literal */
	size_t n, line;	 /* how often; where first */
};

struct accounts_draft {
	const char *file; /* for messages */
	struct draft_account **accounts;
	struct draft_member **members;
	struct accounts_note *notes;
	size_t n_accounts, n_members, n_notes;
	struct accounts_limits each; /* of every user in every account */
	struct draft_qos qos;	     /* of all accounts */
	bool states_qos;	     /* somewhere: then it decides what all accounts may use */
	void *by_account, *by_member;
};
void accounts_draft_init(struct accounts_draft *d, const char *file);
void accounts_draft_done(struct accounts_draft *d);

/* NULL: no such. */
struct draft_account *accounts_draft_account(const struct accounts_draft *d, const char *name);
struct draft_member *accounts_draft_member(const struct accounts_draft *d, const char *account,
					   const char *user);
/* Finds the account, or adds it below the root, with 1 share. -EINVAL: not a
 * name that Reeve knows; -ENOMEM. `line` of the first counts. */
int accounts_draft_add_account(struct accounts_draft *d, const char *name, size_t line,
			       struct draft_account **ret, struct err *err);
int accounts_draft_add_member(struct accounts_draft *d, const struct draft_member *like,
			      struct draft_member **ret, struct err *err);
/* Frees it; the caller takes it out of d->members. */
void accounts_draft_drop_member(struct accounts_draft *d, struct draft_member *m);
/* `why` is kept as it is: a literal. -ENOMEM. */
int accounts_draft_note(struct accounts_draft *d, size_t line, const char *what,
			const char *why);
/* -EINVAL, with "FILE:LINE: " before the words. */
int accounts_draft_error(const struct accounts_draft *d, size_t line, struct err *err,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* All of it as accounts. `kept` (NULL: nothing) are the accounts that there are: what no other
 * system's file can say of accounts that stay (allocations, Clusters), and limits of queues and
 * of users over all accounts, are taken over from them. -EINVAL: an unknown parent, an account
 * above itself, a user with two default accounts. */
int accounts_draft_finish(struct accounts_draft *d, const struct accounts *kept,
			  struct accounts **ret, struct err *err);

extern const struct accounts_limits accounts_no_limits;
/* "20", "parent", Slurm's 2147483647 for parent. -EINVAL. */
int accounts_draft_shares(const char *text, int64_t *ret, struct err *err);

/* draft_qos.c: adds a name to the stated list; signs '+' and '-' change the list of the account
 * above, '\0' replaces it. -ENOMEM. */
int accounts_draft_state_qos(struct accounts_draft *d, struct draft_qos *q, char sign,
			     const char *name);
/* Resolves what each account may use, in the order in which they were added: an account that
 * states QOS comes after the one above it. Notes what accounts.conf cannot say. -ENOMEM. */
int accounts_draft_resolve_qos(struct accounts_draft *d, struct err *err);
/* The names that the account states in accounts.conf, by commas; NULL: it states none. */
const char *accounts_draft_qos_of(const struct draft_account *a);
