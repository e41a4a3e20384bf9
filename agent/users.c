/* SPDX-License-Identifier: GPL-2.0-or-later */
/* users.c - which users' jobs this node runs; see users.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/config.h"
#include "agent/users.h"
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"

static bool is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

/* UINT32_MAX is no id: chown() and setresuid() take it for "leave as it is". */
static int read_id(const char *word, bool is_group, uint32_t *ret, struct err *err)
{
	uint32_t gid;
	unsigned long long n;

	if (!is_number(word))
		return is_group ? auth_group_lookup(word, ret, err)
				: auth_user_lookup(word, ret, &gid, err);
	errno = 0;
	n = strtoull(word, NULL, 10);
	if (errno || n >= UINT32_MAX)
		return err_set(err, -EINVAL, "%.32s is no uid or gid", word);
	*ret = (uint32_t)n;
	return 0;
}

static int add_id(struct users_ids *ids, uint32_t id, struct err *err)
{
	uint32_t *more = realloc(ids->at, (ids->n + 1) * sizeof(*more));

	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	ids->at = more;
	ids->at[ids->n++] = id;
	return 0;
}

struct list {
	const char *key, *text; /* text NULL: none */
	bool is_group;
};

static int read_ids(const struct list *list, struct users_ids *ret, struct err *err)
{
	static const char between[] = ", \t";
	_cleanup_free_ char *text = strdup(list->text ? list->text : "");
	char *rest = text;
	int r = text ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (char *word; r >= 0 && (word = strsep(&rest, between));) {
		uint32_t id;

		if (!*word)
			continue;
		r = read_id(word, list->is_group, &id, err);
		if (r >= 0)
			r = add_id(ret, id, err);
	}
	return r < 0 ? err_prefix(err, r, "%s", list->key) : 0;
}

int users_open(const struct agent_config *conf, struct users *ret, struct err *err)
{
	struct users u = { .min_uid = (uint32_t)conf->min_uid,
			   .min_gid = (uint32_t)conf->min_gid };
	const struct {
		struct list list;
		struct users_ids *to;
	} all[] = {
		{ { "RefusedUsers", conf->refused_users, false }, &u.refused },
		{ { "RefusedGroups", conf->refused_groups, true }, &u.refused_groups },
		{ { "StrayExemptGroups", conf->stray_exempt_groups, true }, &u.stray_exempt },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int r = read_ids(&all[i].list, all[i].to, err);

		if (r < 0) {
			users_done(&u);
			return r;
		}
	}
	*ret = u;
	return 0;
}

void users_done(struct users *u)
{
	free(u->refused.at);
	free(u->refused_groups.at);
	free(u->stray_exempt.at);
	*u = (struct users){ 0 };
}

static bool has_id(const struct users_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->at[i] == id)
			return true;
	return false;
}

static __attribute__((format(printf, 2, 3))) const char *format_refusal(char *buf,
									const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, USERS_TEXT_MAX, fmt, ap);
	va_end(ap);
	return buf;
}

const char *users_refuse(const struct users *u, const struct users_who *who,
			 char buf[static USERS_TEXT_MAX])
{
	if (who->uid == 0 || who->gid == 0)
		return format_refusal(buf,
				      "jobs of root are not run; submit as an ordinary user");
	if (who->uid == UINT32_MAX || who->gid == UINT32_MAX)
		return format_refusal(buf, "uid %u, gid %u is no user", who->uid, who->gid);
	if (who->uid < u->min_uid)
		return format_refusal(
			buf, "uid %u is below this node's MinUid, %u: its jobs are not run",
			who->uid, u->min_uid);
	if (who->gid < u->min_gid)
		return format_refusal(
			buf, "gid %u is below this node's MinGid, %u: its jobs are not run",
			who->gid, u->min_gid);
	if (has_id(&u->refused, who->uid))
		return format_refusal(buf, "uid %u is one of this node's RefusedUsers",
				      who->uid);
	if (has_id(&u->refused_groups, who->gid))
		return format_refusal(buf, "gid %u is one of this node's RefusedGroups",
				      who->gid);
	for (size_t i = 0; i < who->n_groups; i++)
		if (has_id(&u->refused_groups, who->groups[i]))
			return format_refusal(
				buf,
				"uid %u is a member of group %u, one of this node's "
				"RefusedGroups",
				who->uid, who->groups[i]);
	return NULL;
}

const char *users_check(const struct users *u, uint32_t uid, uint32_t gid,
			char buf[static USERS_TEXT_MAX])
{
	struct users_who who = { .uid = uid, .gid = gid };
	_cleanup_free_ uint32_t *groups = NULL;
	struct err err = { "" };
	const char *why = users_refuse(u, &who, buf);

	if (why || u->refused_groups.n == 0)
		return why;
	/* The node's user database does not have this user, so the user is in no group here, and systemd could set none. */
	if (auth_user_groups(uid, gid, &groups, &who.n_groups, &err) < 0)
		return format_refusal(buf, "the groups of uid %u cannot be looked up: %.80s",
				      uid, err.text);
	who.groups = groups;
	return users_refuse(u, &who, buf);
}

bool users_is_stray_exempt(const struct users *u, uint32_t uid)
{
	_cleanup_free_ uint32_t *groups = NULL;
	struct err unused;
	char name[256];
	uint32_t again, gid;
	size_t n;

	if (u->stray_exempt.n == 0 || auth_user_name(uid, name, sizeof(name), &unused) < 0)
		return false;
	if (auth_user_lookup(name, &again, &gid, &unused) < 0 ||
	    auth_user_groups(uid, gid, &groups, &n, &unused) < 0)
		return true;
	for (size_t i = 0; i < n; i++)
		if (has_id(&u->stray_exempt, groups[i]))
			return true;
	return false;
}
