/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authz - what a caller may see: users their own jobs and usage, coordinators those of their
 * accounts and of those below, operators everything. */
#pragma once
#include "controller/api/call.h"

enum authz_role { AUTHZ_STRANGER, AUTHZ_MEMBER, AUTHZ_COORDINATOR, AUTHZ_OPERATOR };

/* The caller's role for an account. For an account that does not exist (any more): operator or
 * stranger. */
enum authz_role authz_role_of(const struct call *c, const char *account);
const char *authz_role_name(enum authz_role role);
/* May the caller see a job of this uid and account? */
bool authz_sees_job(const struct call *c, uint32_t uid, const char *account);

/* May the caller see the usage of each user of an account? Coordinators, operators, and with
 * MembersSee = account its members. */
bool authz_sees_usage(const struct call *c, const char *account);

/* Narrows a list to what the caller may see: `account` (NULL: any) and *user (NULL: any) are
 * the requested filter. Operators, and coordinators of `account`, get what they request; others
 * get their own (*user is set). A request for another user is refused. */
int authz_narrow_jobs(struct call *c, const char *account, const char **user, struct err *err);
/* The same for sums and efficiency, where authz_sees_usage() decides. */
int authz_narrow_usage(struct call *c, const char *account, const char **user, struct err *err);

/* Lists the accounts that the caller may charge, as "a, b". Returns how many. */
size_t authz_list_accounts(const struct call *c, char *buf, size_t size);
