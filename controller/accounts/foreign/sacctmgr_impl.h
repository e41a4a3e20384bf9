/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_impl - shared by the files that read a dump: a record, and what its options
 * set. */
#pragma once
#include "controller/accounts/foreign/sacctmgr.h"

enum sacctmgr_kind { KIND_CLUSTER, KIND_PARENT, KIND_ACCOUNT, KIND_USER, KIND_QOS, _KIND_MAX };
extern const char *const sacctmgr_kind_names[_KIND_MAX];

struct sacctmgr_record {
	enum sacctmgr_kind kind;
	size_t line;
	char *rest; /* behind the name; cut up as it is read */
	const char *name;
};

struct sacctmgr_reader {
	struct accounts_draft *d;
	struct err *err;
	struct sacctmgr_record now;
	bool has_cluster;
	char sign;			 /* of the option: '+' of Option+=value; '\0' */
	char parent[REQUEST_NAME_MAX];	 /* the last Parent line's; "root" */
	struct draft_account *account;	 /* that the record is about, else NULL */
	struct draft_member *member;	 /* likewise */
	struct accounts_limits *limits;	 /* of the record as a group; NULL: has none here */
	struct accounts_limits *of_each; /* of each user of the record */
};

/* Notes, with a count, what Reeve cannot keep; `why` is a literal. */
int sacctmgr_note(struct sacctmgr_reader *r, const char *what, const char *why);
extern const char sacctmgr_why_root[], sacctmgr_why_cluster_name[], sacctmgr_why_qos[];
/* The record's user in an account, added without being a member of it (a coordinator need not
 * be). */
int sacctmgr_find_role(struct sacctmgr_reader *r, const char *account,
		       struct draft_member **ret);
/* Applies one option of the current record; cuts up both texts. */
int sacctmgr_set_option(struct sacctmgr_reader *r, char *key, char *value);
void sacctmgr_lower_account(char *name);
/* Does an option begin here? */
bool sacctmgr_is_option(const char *text);
