/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keep.c - which backups of a directory stay, and what killed ones left; see backup_impl.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "common/err.h"
#include "controller/ledger/backup/backup_impl.h"

static bool has_ends(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return strncmp(name, "ledger-", 7) == 0 && n > m && strcmp(name + n - m, end) == 0;
}

static int is_backup(const struct dirent *e)
{
	return has_ends(e->d_name, ".db");
}

static int is_part(const struct dirent *e)
{
	return has_ends(e->d_name, ".db.part");
}

static int is_manifest(const struct dirent *e)
{
	return has_ends(e->d_name, ".db.json");
}

/* By name, so by time: *ret is freed by free_names(). */
static int list_names(const char *dir, int (*filter)(const struct dirent *),
		      struct dirent ***ret, struct err *err)
{
	int n = scandir(dir, ret, filter, alphasort);

	return n < 0 ? err_set(err, -errno, "directory %.200s: %m", dir) : n;
}

static void free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static int join_path(char ret[static STORE_BACKUP_PATH_MAX], const char *dir, const char *name)
{
	return snprintf(ret, STORE_BACKUP_PATH_MAX, "%s/%s", dir, name) < STORE_BACKUP_PATH_MAX
		       ? 0
		       : -ENAMETOOLONG;
}

/* The backup that writes it has it locked. */
static void remove_part(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	char scratch[STORE_BACKUP_PATH_MAX];

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (backup_path(scratch, path, "-check", NULL) >= 0)
		backup_unlink(scratch);
	backup_unlink(path);
}

void backup_remove_parts(const char *dir)
{
	struct dirent **names = NULL;
	char path[STORE_BACKUP_PATH_MAX];
	int n = list_names(dir, is_part, &names, NULL);

	for (int i = 0; i < n; i++)
		if (join_path(path, dir, names[i]->d_name) >= 0)
			remove_part(path);
	if (n >= 0)
		free_names(names, n);
}

/* A manifest gets its name before its copy: one of a backup that was killed in between. */
static void remove_manifests(const char *dir)
{
	struct dirent **names = NULL;
	char path[STORE_BACKUP_PATH_MAX];
	int n = list_names(dir, is_manifest, &names, NULL);

	for (int i = 0; i < n; i++) {
		if (join_path(path, dir, names[i]->d_name) < 0)
			continue;
		path[strlen(path) - strlen(".json")] = '\0';
		if (access(path, F_OK) == 0)
			continue;
		strcat(path, ".part");
		if (access(path, F_OK) == 0)
			continue;
		path[strlen(path) - strlen(".part")] = '\0';
		strcat(path, ".json");
		unlink(path);
	}
	if (n >= 0)
		free_names(names, n);
}

int backup_keep(const char *dir, int64_t keep, int64_t *ret, struct err *err)
{
	struct dirent **names = NULL;
	char path[STORE_BACKUP_PATH_MAX];
	int n = list_names(dir, is_backup, &names, err), r = 0;

	*ret = 0;
	for (int i = 0; i < n - keep && r >= 0; i++) {
		r = join_path(path, dir, names[i]->d_name);
		if (r >= 0 && unlink(path) < 0)
			r = err_set(err, -errno, "remove %.200s: %m", path);
		*ret += r >= 0;
	}
	if (n < 0)
		return n;
	free_names(names, n);
	remove_manifests(dir);
	return r;
}
