/* who - what a caller may see of others: users what is theirs, coordinators what is charged to
 * their accounts and below, operators everything. */
#pragma once
#include "controller/api/call.h"

enum who_role { WHO_STRANGER, WHO_MEMBER, WHO_COORDINATOR, WHO_OPERATOR };

/* Toward an account; of one that does not exist (any more) only operators are no strangers. */
enum who_role who_of(const struct call *c, const char *account);
const char *who_role_name(enum who_role role);
/* A job of this uid and account. */
bool who_sees_job(const struct call *c, uint32_t uid, const char *account);

/* What the users of an account used, each: coordinators, operators, and with MembersSee =
 * account those who are in it. */
bool who_sees_usage(const struct call *c, const char *account);

/* The rule of lists: `account` (NULL: any) and *user (NULL: any) are what was asked for. Users
 * get themselves; for an account that they coordinate, whatever was asked for. Otherwise
 * refused. */
int who_narrow(struct call *c, const char *account, const char **user, struct err *err);
/* The same for sums and efficiency, where who_sees_usage() decides. */
int who_narrow_usage(struct call *c, const char *account, const char **user, struct err *err);

/* The accounts that the caller may charge, as "a, b"; how many. */
size_t who_accounts(const struct call *c, char *buf, size_t size);
