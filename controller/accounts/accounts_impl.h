/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_impl - shared by the files of accounts: the statements of a file as typed, before
 * they are checked and sorted into struct accounts.
 */
#pragma once
#include "common/conf/conf.h"
#include "controller/accounts/accounts.h"

#define SECTION_KEYS_MAX 24

enum accounts_section {
	SECTION_ACCOUNT,
	SECTION_ALLOCATION,
	SECTION_ASSOCIATION,
	SECTION_USER,
	SECTION_QUEUE,
	SECTION_DEFAULT,
	SECTION_TEMPLATE,
	_SECTION_MAX,
};
extern const char *const accounts_section_names[_SECTION_MAX];

struct accounts_typed_place {
	const char *file; /* of accounts_typed_all.files */
	int line;	  /* 0: not stated */
};

/* The first member of every object being read. */
struct accounts_typed {
	char name[2 * REQUEST_NAME_MAX];
	enum accounts_section section;
	struct accounts_typed_place head, keys[SECTION_KEYS_MAX];
};

struct accounts_typed_account {
	struct accounts_typed t;
	char parent[REQUEST_NAME_MAX], template[REQUEST_NAME_MAX];
	char *shares, *users, *description, *coordinators, *clusters, *qos;
	char default_qos[REQUEST_NAME_MAX];
	struct accounts_account a; /* its texts are set when all is right */
	struct accounts_typed_account *above;
	int walk; /* state of the search for cycles */
};

struct accounts_typed_allocation {
	struct accounts_typed t;
	int kind, pool;
	char cluster[REQUEST_NAME_MAX];
	char *amount, *from, *to;
	struct accounts_allocation a;
	const struct accounts_typed_account *account;
};

struct accounts_typed_association {
	struct accounts_typed t;
	struct accounts_limits limits;
	struct accounts_bounds job;
};

struct accounts_typed_user {
	struct accounts_typed t;
	char default_account[REQUEST_NAME_MAX];
	struct accounts_limits limits;
	struct accounts_bounds job;
	struct accounts_per_share per_share;
};

struct accounts_typed_queue {
	struct accounts_typed t;
	struct accounts_limits limits;
	struct accounts_bounds job;
};

struct accounts_typed_default { /* named "User", "Association", "Account", "Queue" */
	struct accounts_typed t;
	struct accounts_limits limits;
	struct accounts_per_share per_share; /* of User and Account */
	struct accounts_bounds job;
	char *default_account; /* of User */
};

struct accounts_typed_template {
	struct accounts_typed t;
	char *accounts;
};

struct accounts_typed_list {
	struct accounts_typed **of;
	size_t n, room;
};

/* One reading, whatever the number of files. */
struct accounts_typed_all {
	struct accounts_typed_list lists[_SECTION_MAX];
	void *by_name; /* tree of struct accounts_typed */
	char **files;
	size_t n_files;
	void (*tell)(void *ctx, const struct conf_fault *fault);
	void *ctx;
	int n_faults;
};

/* keys.c */
extern const struct conf_key accounts_keys[];
extern const struct conf_section accounts_sections[];
/* Among the keys of the section, from 0; a large one when there is no such key. */
int accounts_key_rank(const char *section, const char *key);
int accounts_section_rank(const char *section);
struct accounts_typed *accounts_typed_find(const struct accounts_typed_all *all,
					   enum accounts_section section, const char *name);
/* Finds or adds the object of that name. */
int accounts_typed_add(struct accounts_typed_all *all, enum accounts_section section,
		       const char *name, void **ret, struct err *err);
void accounts_typed_done(struct accounts_typed_all *all);

/* values.c: checks one statement by itself, and parses its value further. */
int accounts_check_value(const struct conf_place *place, struct err *err);
/* "ACCOUNT/REST" of a section's name. */
void accounts_split(const char *name, char ret_account[static REQUEST_NAME_MAX],
		    const char **ret_rest);
/* "2026-04-01" as days since 1970-01-01. -EINVAL. */
int accounts_parse_day(const char *text, int32_t *ret, struct err *err);
#define ACCOUNTS_DAY_MAX 16
const char *accounts_format_day(int32_t day, char buf[static ACCOUNTS_DAY_MAX]);

/* One of a template's Accounts. */
struct accounts_typed_child {
	char suffix[REQUEST_NAME_MAX];
	int64_t shares, user_shares;
};
/* 1: the next of the list, 0: no more, -EINVAL. */
int accounts_next_child(const char **list, struct accounts_typed_child *ret, struct err *err);

/* template.c: makes the accounts of templates; reports its faults to `tell`. */
typedef void accounts_tell_fn(struct accounts_typed_all *all, const struct accounts_typed *t,
			      const char *key, const char *text);
void accounts_expand(struct accounts_typed_all *all, accounts_tell_fn *tell);

/* check.c: checks that statements agree with each other, reports the faults, and finds the
 * objects they refer to. */
void accounts_check_all(struct accounts_typed_all *all);

/* build.c: makes struct accounts of what was read. Takes over the texts of `all`. */
int accounts_build(struct accounts_typed_all *all, struct accounts **ret, struct err *err);
