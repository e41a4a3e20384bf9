/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule.c - the owner of a process, by the path of its cgroup; see rule.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/stray/rule.h"

#define USER_SLICE "/user.slice/user-"

/* Units that start users' programs at a time that the user chose, or for a login. "@": any instance. */
const char *const stray_later_units[] = { "cron.service",
					  "crond.service",
					  "cronie.service",
					  "fcron.service",
					  "anacron.service",
					  "atd.service",
					  "ssh.service",
					  "sshd.service",
					  "ssh@",
					  "sshd@",
					  NULL };
/* Units whose children act as users for the node's own sake: they bound the processes that remain. slurmd
 * copies files as their user (sbcast), pbs_mom stages them and starts jobs before they are adopted. */
static const char *const serving_units[] = {
	"slurmd.service",   "slurmstepd.scope", "pbs.service",
	"pbs_mom.service",  "pbs_jobs.service", "sssd.service",
	"rpc-gssd.service", "autofs.service",	NULL
};

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	return n && !strncmp(path, dir, n) && (path[n] == '/' || !path[n]);
}

static bool is_slice(const char *name, size_t n)
{
	return n > 6 && !strncmp(name + n - 6, ".slice", 6);
}

/* Of "session-12.scope": each login makes another. */
static bool is_session(const char *name, size_t n)
{
	return n > 14 && !strncmp(name, "session-", 8) && !strncmp(name + n - 6, ".scope", 6);
}

void stray_unit(const char *path, char ret[static STRAY_UNIT_MAX])
{
	const char *name = "/";
	size_t n = 1;

	for (const char *p = path; *p;) {
		p += strspn(p, "/");
		if (!*p)
			break;
		name = p;
		n = strcspn(p, "/");
		if (!is_slice(name, n))
			break;
		p += n;
	}
	if (is_session(name, n))
		name = "session-*.scope", n = strlen(name);
	if (n >= STRAY_UNIT_MAX)
		n = STRAY_UNIT_MAX - 1;
	for (size_t i = 0; i < n; i++)
		ret[i] = name[i] > ' ' && name[i] < 127 ? name[i] : '?';
	ret[n] = '\0';
}

/* "ssh@" in the list stands for each of its instances. */
static bool is_listed(const char *const *list, const char *unit)
{
	for (; *list; list++) {
		size_t n = strlen(*list);

		if (!strcmp(*list, unit) || ((*list)[n - 1] == '@' && !strncmp(*list, unit, n)))
			return true;
	}
	return false;
}

static bool is_typed(const char *list, const char *unit)
{
	static const char between[] = ", \t";
	size_t n;

	for (const char *p = list ? list : ""; *p; p += n) {
		p += strspn(p, between);
		n = strcspn(p, between);
		if (n == strlen(unit) && n && !strncmp(p, unit, n))
			return true;
	}
	return false;
}

/* Whose slice it is, of "/user.slice/user-1000.slice/...". */
static bool find_owner(const char *path, uint32_t *ret)
{
	unsigned long long owner;
	char *end;

	if (strncmp(path, USER_SLICE, strlen(USER_SLICE)))
		return false;
	path += strlen(USER_SLICE);
	if (*path < '0' || *path > '9')
		return false;
	owner = strtoull(path, &end, 10);
	if (owner >= UINT32_MAX || strncmp(end, ".slice", 6) || (end[6] && end[6] != '/'))
		return false;
	*ret = (uint32_t)owner;
	return true;
}

static enum stray_kind kind_of(const struct stray_node *node, uint32_t uid, const char *path,
			       struct stray_place *place)
{
	uint32_t owner;

	if (find_owner(path, &owner)) {
		if (owner == uid)
			return STRAY_SLICE;
		place->owner = owner;
		return owner < node->min_uid ? STRAY_NONE : STRAY_OTHER; /* su of root's */
	}
	if (is_listed(serving_units, place->unit) || is_typed(node->exempt, place->unit))
		return STRAY_NONE;
	return is_listed(stray_later_units, place->unit) ? STRAY_LATER : STRAY_OTHER;
}

struct stray_place stray_rule(const struct stray_node *node, uint32_t uid, const char *cgroup)
{
	struct stray_place place = { .kind = STRAY_NONE };
	size_t mount = strlen(node->mount);

	if (uid < node->min_uid || is_below(cgroup, node->jobs))
		return place;
	/* Of an agent in the root all processes of a host without systemd would be its own. */
	if (!is_below(node->mount, node->own) && is_below(cgroup, node->own))
		return place;
	if (!is_below(cgroup, node->mount))
		mount = 0;
	stray_unit(cgroup + mount, place.unit);
	place.kind = kind_of(node, uid, cgroup + mount, &place);
	return place;
}
