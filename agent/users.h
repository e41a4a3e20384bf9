/* SPDX-License-Identifier: GPL-2.0-or-later */
/* users.h - whose jobs a node runs at all: MinUid, MinGid, RefusedUsers and RefusedGroups of
 * agent.conf. The node decides it by itself, whatever a controller says.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct agent_config;

#define USERS_TEXT_MAX 160

struct users_ids {
	uint32_t *at; /* malloc()ed */
	size_t n;
};

struct users {
	uint32_t min_uid, min_gid;
	struct users_ids refused, refused_groups;
	struct users_ids stray_exempt; /* StrayExemptGroups */
};

/* Looks the names up, once; numbers need no look-up. -ENOENT: a name that this machine does not have;
 * the agent then does not start, since the list would refuse fewer users than it names. -EINVAL: not
 * such a list. */
int users_open(const struct agent_config *conf, struct users *ret, struct err *err);
void users_done(struct users *u);

/* Pure. `groups`: all of the user's, that of the job too. Returns NULL where the node runs the user's
 * jobs, else the reason, in `buf`. Root and (uid_t)-1 are refused whatever was configured. */
struct users_who {
	uint32_t uid, gid;
	const uint32_t *groups;
	size_t n_groups;
};
const char *users_refuse(const struct users *u, const struct users_who *who,
			 char buf[static USERS_TEXT_MAX]);

/* users_refuse() for a uid. Looks its groups up where RefusedGroups is set: may ask a directory service
 * and block. A failed look-up refuses. */
const char *users_check(const struct users *u, uint32_t uid, uint32_t gid,
			char buf[static USERS_TEXT_MAX]);

/* Is the user in any group of StrayExemptGroups? May block as users_check(). True also when the groups cannot
 * be looked up: nothing is killed for a doubt. */
bool users_is_stray_exempt(const struct users *u, uint32_t uid);
