/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - see access.h. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/admin/doctor/gather/access.h"
#include "cli/admin/doctor/gather/run.h"
#include "common/auth/auth.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"

#define TEXT_MAX 65536

static bool is_there(const char *root, const char *path)
{
	char full[1024];

	snprintf(full, sizeof(full), "%.500s%.500s", root, path);
	return access(full, F_OK) == 0;
}

/* ---- lingering and user managers ---- */

static bool is_in_group(uint32_t uid, uint32_t gid, uint32_t wanted)
{
	_cleanup_free_ uint32_t *groups = NULL;
	struct err unused;
	size_t n = 0;

	if (auth_user_groups(uid, gid, &groups, &n, &unused) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (groups[i] == wanted)
			return true;
	return false;
}

static bool is_exempt(const struct gather_users *how, const char *name, uint32_t uid)
{
	uint32_t group, again, gid;
	struct err unused;

	if (uid < how->min_uid)
		return true;
	return *how->exempt && auth_group_lookup(how->exempt, &group, &unused) >= 0 &&
	       auth_user_lookup(name, &again, &gid, &unused) >= 0 &&
	       is_in_group(uid, gid, group);
}

/* The entry of the user, made where there is none. NULL: there is no more room. */
static struct judge_user *find_user(const struct gather_users *how, const char *name,
				    uint32_t uid, struct judge_users *ret)
{
	struct judge_user *u;

	for (size_t i = 0; i < ret->n; i++)
		if (ret->of[i].uid == uid)
			return &ret->of[i];
	if (ret->n == JUDGE_USERS_MAX) {
		ret->is_cut = true;
		return NULL;
	}
	u = &ret->of[ret->n++];
	*u = (struct judge_user){ .uid = uid, .is_exempt = is_exempt(how, name, uid) };
	utf8_format(u->name, sizeof(u->name), "%s", name);
	return u;
}

static void add_lingering(const struct gather_users *how, struct judge_users *ret)
{
	char path[1024];
	_cleanup_closedir_ DIR *d = NULL;
	struct judge_user *u;
	struct dirent *e;
	struct err unused;
	uint32_t uid, gid;

	snprintf(path, sizeof(path), "%.500s/var/lib/systemd/linger", how->root);
	d = opendir(path);
	if (!d && errno != ENOENT)
		snprintf(ret->why, sizeof(ret->why), "%.300s: %s", path, strerror(errno));
	while (d && (e = readdir(d))) {
		/* systemd starts nothing for a user that no longer exists. */
		if (e->d_name[0] == '.' || auth_user_lookup(e->d_name, &uid, &gid, &unused) < 0)
			continue;
		u = find_user(how, e->d_name, uid, ret);
		if (u)
			u->has_linger = true;
	}
}

/* "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service" */
static void add_manager(const struct gather_users *how, const char *path,
			struct judge_users *ret)
{
	const char *at = strrchr(path, '@');
	struct judge_user *u;
	struct err unused;
	char name[64];
	unsigned uid;

	if (!at || sscanf(at, "@%u.service", &uid) != 1)
		return;
	if (auth_user_name(uid, name, sizeof(name), &unused) < 0)
		snprintf(name, sizeof(name), "%u", uid);
	u = find_user(how, name, uid, ret);
	if (u)
		u->has_manager = true;
}

/* With version 1 of cgroups systemd has a hierarchy of its own. */
static void add_managers(const struct gather_users *how, struct judge_users *ret)
{
	static const char *const mounts[] = { "", "/unified", "/systemd" };
	char pattern[1024];
	glob_t found;

	for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
		snprintf(pattern, sizeof(pattern),
			 "%.500s/sys/fs/cgroup%s/user.slice/user-*.slice/user@*.service",
			 how->root, mounts[i]);
		if (glob(pattern, 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			add_manager(how, found.gl_pathv[k], ret);
		globfree(&found);
	}
}

void gather_users(const struct gather_users *how, struct judge_users *ret)
{
	*ret = (struct judge_users){ .n = 0 };
	add_lingering(how, ret);
	add_managers(how, ret);
}

/* ---- polkit ---- */

#define PLAIN_UID 65534 /* kernel.overflowuid: the user without any privilege of every Linux */

static void ask_polkit(const char *program, const struct passwd *as, struct judge_polkit *ret)
{
	/* The subject is the shell: of other users' processes polkit answers root alone. pkcheck(1) fails with 127, which would
	 * read as a program that is not there. */
	const char *const argv[] = { "/bin/sh", "-c",
				     "\"$0\" --action-id " JUDGE_LINGER_ACTION
				     " --process $$; s=$?; exit $((s > 3 ? 4 : s))",
				     program, NULL };
	const struct gather_run run = { .argv = argv, .as = as, .has_errors = true };
	_cleanup_free_ struct gather_output *out = malloc(sizeof(*out));
	struct err err = { "out of memory" };

	if (!out || gather_run(&run, out, &err) < 0) {
		snprintf(ret->why, sizeof(ret->why), "%s", err.text);
		return;
	}
	ret->status = out->status;
	gather_first_line(out->text);
	utf8_format(ret->words, sizeof(ret->words), "%s", out->text);
}

void gather_polkit(const char *root, struct judge_polkit *ret)
{
	const struct passwd *plain = getpwuid(PLAIN_UID);
	char program[1024];

	*ret = (struct judge_polkit){ .has_polkit = is_there(root, "/usr/bin/pkcheck"),
				      .has_rule = is_there(root, JUDGE_LINGER_RULE) };
	if (!ret->has_polkit)
		return;
	snprintf(program, sizeof(program), "%.500s/usr/bin/pkcheck", root);
	if (geteuid() != 0)
		snprintf(ret->why, sizeof(ret->why), "this needs root");
	else if (!plain)
		snprintf(ret->why, sizeof(ret->why), "uid %d has no name here", PLAIN_UID);
	else
		ask_polkit(program, plain, ret);
}

/* ---- sshd ---- */

/* Appends the file to text, which has room for TEXT_MAX. 0, or -errno. */
static int append_file(const char *path, char *text)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	size_t n = strlen(text), got;

	if (!f)
		return -errno;
	got = fread(text + n, 1, TEXT_MAX - 2 - n, f);
	text[n + got] = '\n';
	text[n + got + 1] = '\0';
	return ferror(f) ? -EIO : n + got >= TEXT_MAX - 2 ? -EFBIG : 0;
}

/* sshd reads the files of sshd_config.d first, by the Include at the head of Debian's sshd_config. */
static int read_sshd_config(const char *root, char *text)
{
	char path[1024];
	glob_t found;
	int r = 0;

	snprintf(path, sizeof(path), "%.500s/etc/ssh/sshd_config.d/*.conf", root);
	if (glob(path, 0, NULL, &found) == 0) {
		for (size_t i = 0; r >= 0 && i < found.gl_pathc; i++)
			r = append_file(found.gl_pathv[i], text);
		globfree(&found);
	}
	snprintf(path, sizeof(path), "%.500s/etc/ssh/sshd_config", root);
	return r < 0 ? r : append_file(path, text);
}

static bool has_module(const char *root)
{
	static const char *const patterns[] = { "/lib/*/security/pam_reeve.so",
						"/usr/lib/*/security/pam_reeve.so",
						"/lib64/security/pam_reeve.so",
						"/usr/lib64/security/pam_reeve.so" };
	char path[1024];
	glob_t found;
	bool has = false;

	for (size_t i = 0; !has && i < ARRAY_LEN(patterns); i++) {
		snprintf(path, sizeof(path), "%.500s%s", root, patterns[i]);
		has = glob(path, 0, NULL, &found) == 0;
		if (has)
			globfree(&found);
	}
	return has;
}

void gather_sshd(const char *root, struct judge_sshd *ret)
{
	_cleanup_free_ char *text = calloc(1, TEXT_MAX);
	char path[1024];
	int r;

	*ret = (struct judge_sshd){ .has_sshd = is_there(root, "/usr/sbin/sshd"),
				    .has_module = has_module(root) };
	if (!ret->has_sshd)
		return;
	snprintf(path, sizeof(path), "%.500s/etc/pam.d/sshd", root);
	r = text ? append_file(path, text) : -ENOMEM;
	if (r >= 0) {
		judge_read_pam(text, ret);
		*text = '\0';
		r = read_sshd_config(root, text);
	}
	if (r >= 0)
		judge_read_sshd_config(text, ret);
	else
		snprintf(ret->why, sizeof(ret->why), "%s", strerror(-r));
}

void gather_later(const char *root, const char *const *programs, struct judge_later *ret)
{
	ret->is_installed = false;
	for (size_t i = 0; programs[i]; i++)
		ret->is_installed |= is_there(root, programs[i]);
	ret->has_allow = is_there(root, ret->allow);
}
