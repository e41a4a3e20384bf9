/* accounts_impl - between the files of accounts: what a file says, before it is put in order.
 */
#pragma once
#include "common/conf/conf.h"
#include "controller/accounts/accounts.h"

#define SECTION_KEYS_MAX 16

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

struct typed_place {
	const char *file; /* of typed_all.files */
	int line;	  /* 0: not stated */
};

/* Every object while it is read begins with this. */
struct typed {
	char name[2 * REQUEST_NAME_MAX];
	enum accounts_section section;
	struct typed_place head, keys[SECTION_KEYS_MAX];
};

struct typed_account {
	struct typed t;
	char parent[REQUEST_NAME_MAX], template[REQUEST_NAME_MAX];
	char *shares, *users, *description, *coordinators, *clusters, *qos;
	char default_qos[REQUEST_NAME_MAX];
	struct accounts_account a; /* its texts are set when all is right */
	struct typed_account *above;
	int walk; /* while cycles are looked for */
};

struct typed_allocation {
	struct typed t;
	int kind, pool;
	char cluster[REQUEST_NAME_MAX];
	char *amount, *from, *to;
	struct accounts_allocation a;
	const struct typed_account *account;
};

struct typed_association {
	struct typed t;
	struct accounts_limits limits;
};

struct typed_user {
	struct typed t;
	char default_account[REQUEST_NAME_MAX];
	struct accounts_limits limits;
};

struct typed_queue {
	struct typed t;
	struct accounts_limits limits;
	struct accounts_bounds job;
};

struct typed_default { /* named "User", "Association", "Account", "Queue" */
	struct typed t;
	struct accounts_limits limits;
	struct accounts_bounds job; /* of Queue */
	char *default_account;	    /* of User */
};

struct typed_template {
	struct typed t;
	char *accounts;
};

struct typed_list {
	struct typed **of;
	size_t n, room;
};

/* One reading, whatever the number of files. */
struct typed_all {
	struct typed_list lists[_SECTION_MAX];
	void *by_name; /* tree of struct typed */
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
struct typed *typed_find(const struct typed_all *all, enum accounts_section section,
			 const char *name);
/* The object of that name, made where there is none. */
int typed_add(struct typed_all *all, enum accounts_section section, const char *name,
	      void **ret, struct err *err);
void typed_done(struct typed_all *all);

/* values.c: what one statement alone must hold; parses it further. */
int accounts_check_value(const struct conf_place *place, struct err *err);
/* "ACCOUNT/REST" of a section's name. */
void accounts_split(const char *name, char ret_account[static REQUEST_NAME_MAX],
		    const char **ret_rest);
/* "2026-04-01" as days since 1970-01-01. -EINVAL. */
int accounts_parse_day(const char *text, int32_t *ret, struct err *err);
#define ACCOUNTS_DAY_MAX 16
const char *accounts_format_day(int32_t day, char buf[static ACCOUNTS_DAY_MAX]);

/* One of a template's Accounts. */
struct typed_child {
	char suffix[REQUEST_NAME_MAX];
	int64_t shares, user_shares;
};
/* 1: the next of the list, 0: no more, -EINVAL. */
int accounts_next_child(const char **list, struct typed_child *ret, struct err *err);

/* template.c: makes the accounts of templates; tells the faults of it. */
typedef void accounts_tell_fn(struct typed_all *all, const struct typed *t, const char *key,
			      const char *text);
void accounts_expand(struct typed_all *all, accounts_tell_fn *tell);

/* check.c: what statements must hold together; tells the faults, and finds what they
 * refer to. */
void accounts_check_all(struct typed_all *all);

/* build.c: all of it in order. Takes what `all` holds. */
int accounts_build(struct typed_all *all, struct accounts **ret, struct err *err);
