/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.h - the v2 cgroups of hosts without systemd, through libcgroup.
 *
 * libcgroup 2.0.2 handles a cgroup only through a controller, and on a hybrid host it uses the
 * controller wherever it is mounted, that is, from v1. So its mount point is read first for each
 * controller, and only those of the v2 mount are used; without any, directories are made and
 * removed directly. It also moves the processes of a cgroup that it deletes into the parent, out
 * of their limits: here only empty cgroups are deleted.
 *
 * Paths are absolute, below tree->mount.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct err;

#define TREE_CONTROLLERS_MAX 5

struct tree {
	const char *mount;
	const char *controllers[TREE_CONTROLLERS_MAX]; /* on the v2 mount */
	size_t n_controllers;
};

/* -EOPNOTSUPP: no v2 mount, with the remedy. -EIO: libcgroup cannot be used. */
int tree_open(struct tree *ret, struct err *err);
/* Is `name` ("memory") one of the tree's controllers? */
bool tree_has_controller(const struct tree *t, const char *name);

/* One level below a cgroup that exists, with every controller that its parent can pass on.
 * A controller that cannot be passed on (processes in the parent) is left out: see tree_has().
 * What exists is kept and gets the controllers it lacks. */
int tree_make(const struct tree *t, const char *path, struct err *err);
/* The same for every level from the mount down to `path`. */
int tree_make_all(const struct tree *t, const char *path, struct err *err);
/* Passes every controller of the cgroup on to its children. What is passed on already is not
 * written again, so that levels which another manager has set up are left alone. */
void tree_pass_on(const struct tree *t, const char *path);
/* Removes the cgroup and those below. 1: there are still processes in it, and nothing was removed.
 * A cgroup that is gone already is success. */
int tree_remove(const struct tree *t, const char *path, struct err *err);

/* Removes the cgroups below that are empty. */
void tree_remove_below(const char *path);

/* Is there such a file in the cgroup? */
bool tree_has(const char *path, const char *file);
/* A controller's value, "memory.max". "" empties a set. -errno with words. */
int tree_set(const struct tree *t, const char *path, const char *file, const char *value,
	     struct err *err);
/* One of the cgroup's own files, "cgroup.freeze". */
int tree_write(const char *path, const char *file, const char *value, struct err *err);
/* A line "KEY 1" of cgroup.events. 1, 0, or -errno: no such cgroup. */
int tree_event(const char *path, const char *key);
