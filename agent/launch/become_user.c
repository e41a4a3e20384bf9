/* SPDX-License-Identifier: GPL-2.0-or-later */
/* become_user.c - from root to the owner of a job, for good. */
#include <errno.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/launch/launch.h"
#include "common/err.h"

/* Out of root's session keyring, whose keys it would possess. A kernel without keys gives no keyring, and a
 * container whose filter refuses them refuses them to the job as well. The user may have used up the quota of keys, so root makes the new
 * one; the user's own takes its place if the quota allows. */
static int leave_keys(struct err *err)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS &&
	    errno != EPERM)
		return err_set(err, -errno, "leave root's session keyring: %m");
	return 0;
}

int launch_become_user(const struct launch_user *u, struct err *err)
{
	struct rlimit core = { 0, 0 };
	int r = leave_keys(err);

	if (r < 0)
		return r;
	if (setrlimit(RLIMIT_CORE, &core) < 0 || setgroups(u->n_groups, u->groups) < 0 ||
	    setresgid(u->gid, u->gid, u->gid) < 0 || setresuid(u->uid, u->uid, u->uid) < 0)
		return err_set(err, -errno, "become user %u: %m", u->uid);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, -errno, "give up new privileges: %m");
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}
