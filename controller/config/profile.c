/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile.c - looks for profiles beside the program, or in $REEVE_PROFILES; see profile.h. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/config/profile.h"

static const char *const beside[] = { "../share/reeve/profiles", "../../units/profiles" };

/* The directory of the running program. */
static int own_dir(char dir[static PATH_MAX], struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	if (n < 0)
		return err_set(err, -errno, "read /proc/self/exe: %m");
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	return 0;
}

/* The first of the directories that exists. */
static int find_dir(char **ret, struct err *err)
{
	const char *own = getenv("REEVE_PROFILES");
	char dir[PATH_MAX];
	int r;

	if (own && *own) {
		*ret = strdup(own);
		return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	r = own_dir(dir, err);
	for (size_t i = 0; i < ARRAY_LEN(beside) && r == 0; i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", dir, beside[i]) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		*ret = realpath(path, NULL);
		if (*ret)
			return 0;
	}
	return r < 0 ? r
		     : err_set(err, -ENOENT,
			       "no profiles are installed; set REEVE_PROFILES to their "
			       "directory");
}

static int is_conf(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 5 && !strcmp(d->d_name + n - 5, ".conf");
}

static int report_missing(const char *dir, const char *name, struct err *err)
{
	struct dirent **found = NULL;
	char list[320] = "";
	int n = scandir(dir, &found, is_conf, alphasort);

	for (int i = 0; i < n; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%.*s", used ? ", " : "",
			 (int)strlen(found[i]->d_name) - 5, found[i]->d_name);
		free(found[i]);
	}
	free(found);
	return err_set(err, -ENOENT, "no profile '%.64s' in %.100s; there are: %.240s", name,
		       dir, *list ? list : "none");
}

int profile_find(const char *name, char **ret, struct err *err)
{
	_cleanup_free_ char *dir = NULL, *path = NULL;
	size_t n = strlen(name);
	int r;

	if (strchr(name, '/') || (n > 5 && !strcmp(name + n - 5, ".conf"))) {
		*ret = strdup(name);
		return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	r = find_dir(&dir, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%s.conf", dir, name) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (access(path, F_OK) < 0)
		return report_missing(dir, name, err);
	*ret = TAKE_PTR(path);
	return 0;
}
