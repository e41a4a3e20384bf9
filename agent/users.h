/* users - whose jobs a node runs at all: MinUid, MinGid, RefusedUsers and RefusedGroups of
 * agent.conf. The node decides it by itself, whatever a controller says.
 */
#pragma once
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
};

/* Names are looked up here, once; numbers need no look-up. -ENOENT: a name that is none on this
 * machine: a list that refuses less than it says must not be taken. -EINVAL: not such a list.
 */
int users_open(const struct agent_config *conf, struct users *ret, struct err *err);
void users_done(struct users *u);

/* Pure. `groups`: all of the user's, the job's own among them. NULL: the node runs their jobs;
 * else why not, in `buf`. Root and "no user" are refused whatever was configured. */
struct users_who {
	uint32_t uid, gid;
	const uint32_t *groups;
	size_t n_groups;
};
const char *users_refuse(const struct users *u, const struct users_who *who,
			 char buf[static USERS_TEXT_MAX]);

/* The same of the user of this uid, whose groups are looked up where groups are refused. */
const char *users_check(const struct users *u, uint32_t uid, uint32_t gid,
			char buf[static USERS_TEXT_MAX]);
