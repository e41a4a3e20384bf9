/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session - who may read the pages: tickets, which `reeve web` gets for its user, and the sessions that
 * they open in a browser.
 *
 * A ticket is for one use within two minutes. A session ends after twelve hours, or at logout. Both are
 * 256 random bits, of which the table keeps the SHA-256 alone. All is in memory: a controller that
 * restarts has no sessions, and its users run `reeve web` again. Bounded: at most
 * SESSION_OF_USER sessions and as many tickets of a user, a new one replaces the oldest;
 * SESSION_MAX of all users.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

#define SESSION_TOKEN_MAX 72 /* 32 bytes in hexadecimal, and the end */
#define SESSION_OF_USER 8
#define SESSION_MAX 16384
#define SESSION_TICKET_S 120
#define SESSION_S (12 * 3600)

struct err;
struct session_table;

struct session_user {
	uint32_t uid, gid;
};

struct session_table *session_table_new(void); /* NULL: no memory */
struct session_table *session_table_free(struct session_table *t);
DEFINE_CLEANUP(struct session_table *, session_table_free)

/* Times are of CLOCK_BOOTTIME, so that a session also ends while its machine sleeps and no step of the
 * clock prolongs it. -EBUSY: SESSION_MAX are open. */
int session_new_ticket(struct session_table *t, struct session_user user, int64_t now_ns,
		       char ret[static SESSION_TOKEN_MAX], struct err *err);
/* Whose ticket it is; it stays valid. -ENOENT: it is unknown, used or too old. */
int session_find_ticket(const struct session_table *t, const char *ticket, int64_t now_ns,
			struct session_user *ret, struct err *err);
/* Opens a session for the ticket, which is then used up. -ENOENT: it is unknown, used or too old. */
int session_redeem(struct session_table *t, const char *ticket, int64_t now_ns,
		   char ret[static SESSION_TOKEN_MAX], struct err *err);
bool session_find(const struct session_table *t, const char *token, int64_t now_ns,
		  struct session_user *ret);
void session_end(struct session_table *t, const char *token);
