/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - reads, writes, makes and removes cgroups; see manager/cgroup/tree.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libcgroup.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/enforce/manager/manager.h"
#include "agent/enforce/manager/cgroup/tree.h"
#include "common/cleanup.h"

/* The controllers that a job's limits and counters need. */
static const char *const wanted[TREE_CONTROLLERS_MAX] = { "cpuset", "cpu", "io", "memory",
							  "pids" };
#define LIBCGROUP_VALUE_MAX 99 /* it refuses longer ones */

static int cgroup_error(int code, const char *what, const char *path, struct err *err)
{
	/* 0 where it had no memory: an error all the same. */
	int number = code == ECGOTHER ? cgroup_get_last_errno() : 0;

	return err_set(err, number > 0 ? -number : -EIO, "%s %s: %s", what, path,
		       number > 0 ? strerror(number) : cgroup_strerror(code));
}

static bool is_on_v2(const struct tree *t, const char *controller)
{
	_cleanup_free_ char *mount = NULL;

	return cgroup_get_subsys_mount_point(controller, &mount) == 0 && mount &&
	       !strcmp(mount, t->mount);
}

int tree_open(struct tree *ret, struct err *err)
{
	struct tree t = { .mount = manager_mount() };
	int r;

	if (!tree_has(t.mount, "cgroup.procs"))
		return err_set(err, -EOPNOTSUPP,
			       "no cgroup v2 here; mount it: "
			       "mount -t cgroup2 none /sys/fs/cgroup");
	r = cgroup_init();
	/* libcgroup fails for a mount without any controller; it is used all the same. */
	if (r && r != ECGROUPNOTMOUNTED)
		return cgroup_error(r, "start libcgroup on", t.mount, err);
	for (size_t i = 0; !r && i < TREE_CONTROLLERS_MAX; i++)
		if (is_on_v2(&t, wanted[i]))
			t.controllers[t.n_controllers++] = wanted[i];
	*ret = t;
	return 0;
}

bool tree_has_controller(const struct tree *t, const char *name)
{
	for (size_t i = 0; i < t->n_controllers; i++)
		if (!strcmp(t->controllers[i], name))
			return true;
	return false;
}

bool tree_has(const char *path, const char *file)
{
	char full[MANAGER_PATH_MAX + 64];

	snprintf(full, sizeof(full), "%s/%s", path, file);
	return access(full, F_OK) == 0;
}

int tree_write(const char *path, const char *file, const char *value, struct err *err)
{
	char full[MANAGER_PATH_MAX + 64];
	_cleanup_close_ int fd = -1;

	snprintf(full, sizeof(full), "%s/%s", path, file);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		return err_set(err, -errno, "write '%s' to %s: %m", value, full);
	return 0;
}

/* Is `name` one of the words of PATH/FILE? */
static bool file_lists(const char *path, const char *file, const char *name)
{
	char text[512], *rest = text, *word;

	if (manager_read(path, file, text, sizeof(text), NULL) < 0)
		return false;
	while ((word = strsep(&rest, " ")))
		if (!strcmp(word, name))
			return true;
	return false;
}

void tree_pass_on(const struct tree *t, const char *parent)
{
	char text[32];

	for (size_t i = 0; i < t->n_controllers; i++) {
		if (!file_lists(parent, "cgroup.controllers", t->controllers[i]) ||
		    file_lists(parent, "cgroup.subtree_control", t->controllers[i]))
			continue;
		snprintf(text, sizeof(text), "+%s", t->controllers[i]);
		tree_write(parent, "cgroup.subtree_control", text, NULL);
	}
}

/* libcgroup names a cgroup by its path below the mount. */
static struct cgroup *new_group(const struct tree *t, const char *path)
{
	return cgroup_new_cgroup(path + strlen(t->mount) + 1);
}

/* libcgroup reports errors for cgroups that it has made, too: the directory decides. */
static int create_cgroup(const struct tree *t, const char *path, const char *parent,
			 struct err *err)
{
	struct cgroup *cg = new_group(t, path);
	bool is_named = false;
	mode_t mask;
	int r = 0;

	if (!cg)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n_controllers; i++)
		if (file_lists(parent, "cgroup.subtree_control", t->controllers[i]))
			is_named |= cgroup_add_controller(cg, t->controllers[i]) != NULL;
	mask = umask(022); /* a job reads its own limits */
	if (is_named)
		r = cgroup_create_cgroup(cg, 1);
	else if (mkdir(path, 0755) < 0 && errno != EEXIST)
		r = err_set(err, -errno, "make %s: %m", path);
	umask(mask);
	cgroup_free(&cg);
	if (is_named && r && access(path, F_OK) < 0)
		return cgroup_error(r, "make", path, err);
	return is_named ? 0 : r;
}

int tree_make(const struct tree *t, const char *path, struct err *err)
{
	char parent[MANAGER_PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", path);
	*strrchr(parent, '/') = '\0';
	tree_pass_on(t, parent);
	return access(path, F_OK) == 0 ? 0 : create_cgroup(t, path, parent, err);
}

int tree_make_all(const struct tree *t, const char *path, struct err *err)
{
	char level[MANAGER_PATH_MAX];
	size_t n = strlen(t->mount);
	int r = 0;

	snprintf(level, sizeof(level), "%s", path);
	while (!r && level[n]) {
		n += 1 + strcspn(level + n + 1, "/");
		level[n] = '\0';
		r = tree_make(t, level, err);
		level[n] = path[n];
	}
	return r;
}

static int set_by_libcgroup(const struct tree *t, const char *path, const char *file,
			    const char *value)
{
	struct cgroup *cg = new_group(t, path);
	struct cgroup_controller *c;
	char controller[32];
	int r = ECGFAIL;

	snprintf(controller, sizeof(controller), "%.*s", (int)strcspn(file, "."), file);
	c = cg ? cgroup_add_controller(cg, controller) : NULL;
	if (c)
		r = cgroup_set_value_string(c, file, value);
	if (c && !r)
		r = cgroup_modify_cgroup(cg);
	cgroup_free(&cg);
	return r;
}

int tree_set(const struct tree *t, const char *path, const char *file, const char *value,
	     struct err *err)
{
	char what[MANAGER_PATH_MAX + 64];
	int r;

	if (!value[0])
		return tree_write(path, file, "\n", err);
	if (strlen(value) > LIBCGROUP_VALUE_MAX)
		return tree_write(path, file, value, err);
	r = set_by_libcgroup(t, path, file, value);
	if (!r)
		return 0;
	snprintf(what, sizeof(what), "set %s to %s in", file, value);
	return cgroup_error(r, what, path, err);
}

int tree_event(const char *path, const char *key)
{
	char full[MANAGER_PATH_MAX + 64], word[32];
	_cleanup_fclose_ FILE *f = NULL;
	int value;

	snprintf(full, sizeof(full), "%s/cgroup.events", path);
	f = fopen(full, "re");
	if (!f)
		return -errno;
	while (fscanf(f, "%31s %d", word, &value) == 2)
		if (!strcmp(word, key))
			return value != 0;
	/* The cgroup went away between open and read. */
	return -ENODEV;
}

/* Calls `each` for the directories below. */
static void call_for_children(const char *path, void (*each)(const char *path, void *ctx),
			      void *ctx)
{
	_cleanup_closedir_ DIR *d = opendir(path);
	char child[MANAGER_PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    snprintf(child, sizeof(child), "%s/%s", path, e->d_name) <
			    (int)sizeof(child))
			each(child, ctx);
}

static void remove_tree(const char *path, void *ctx)
{
	call_for_children(path, remove_tree, ctx);
	rmdir(path);
}

void tree_remove_below(const char *path)
{
	call_for_children(path, remove_tree, NULL);
}

int tree_remove(const struct tree *t, const char *path, struct err *err)
{
	struct cgroup *cg;
	int r;

	if (access(path, F_OK) < 0)
		return 0;
	if (tree_event(path, "populated") == 1)
		return 1;
	tree_remove_below(path);
	if (!t->n_controllers)
		return rmdir(path) == 0 || errno == ENOENT ? 0 : errno == EBUSY;
	cg = new_group(t, path);
	if (!cg || !cgroup_add_controller(cg, t->controllers[0])) {
		cgroup_free(&cg);
		return err_set(err, -ENOMEM, "out of memory");
	}
	r = cgroup_delete_cgroup_ext(cg, CGFLAG_DELETE_EMPTY_ONLY);
	cgroup_free(&cg);
	/* libcgroup reports some successes as errors: the directory decides. */
	if (!r || access(path, F_OK) < 0)
		return 0;
	return r == ECGNONEMPTY ? 1 : cgroup_error(r, "remove", path, err);
}
