/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pins.c - directories of pinned vmem programs and maps on bpffs: made, found, replaced by
 * rename; see vmem/pins.h. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <bpf/bpf.h>
#include "agent/enforce/vmem/pins.h"
#include "bpf/vmem_abi.h"
#include "common/cleanup.h"

#define PREFIX "vmem-v" /* no dots: bpffs reserves them */

struct path {
	char text[PATH_MAX];
};

static void set_path(struct path *p, const char *pin_dir, const char *suffix)
{
	snprintf(p->text, sizeof(p->text), "%s/" PREFIX "%d%s", pin_dir, VMEM_VERSION, suffix);
}

static bool is_directory(const struct path *p)
{
	struct stat st;

	return stat(p->text, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Unpinning detaches a program that no process has open. Stops at the first failure; what is left is found by the
 * next call. */
static int remove_set(const char *path, struct err *err)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return errno == ENOENT ? 0 : err_set(err, -errno, "open %s: %m", path);
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.' && unlinkat(dirfd(dir), e->d_name, 0))
			return err_set(err, -errno, "unpin %s/%s: %m", path, e->d_name);
	if (rmdir(path))
		return err_set(err, -errno, "remove %s: %m", path);
	return 0;
}

/* Calls fn for the directory of every set but `keep` (NULL: of every set). */
typedef int (*set_fn)(void *ctx, const char *path, struct err *err);

static int each_set(const char *pin_dir, const char *keep, set_fn fn, void *ctx,
		    struct err *err)
{
	_cleanup_closedir_ DIR *dir = opendir(pin_dir);
	struct path p;
	struct dirent *e;
	int rc = 0;

	if (!dir)
		return errno == ENOENT ? 0 : err_set(err, -errno, "open %s: %m", pin_dir);
	while (rc == 0 && (e = readdir(dir))) {
		if (strncmp(e->d_name, PREFIX, strlen(PREFIX)))
			continue;
		snprintf(p.text, sizeof(p.text), "%s/%s", pin_dir, e->d_name);
		if (!keep || strcmp(p.text, keep))
			rc = fn(ctx, p.text, err);
	}
	return rc;
}

static int count_set(void *ctx, const char *path, struct err *err)
{
	(void)path;
	(void)err;
	++*(int *)ctx;
	return 0;
}

static int drop_set(void *ctx, const char *path, struct err *err)
{
	(void)ctx;
	return remove_set(path, err);
}

int vmem_pins_find(const char *pin_dir, struct err *err)
{
	struct path now, new;
	int n = 0, rc;

	set_path(&now, pin_dir, "");
	set_path(&new, pin_dir, "-new");
	rc = each_set(pin_dir, NULL, count_set, &n, err);
	if (rc < 0 || n == 0)
		return rc < 0 ? rc : 1;
	if (is_directory(&now))
		return 0;
	if (n > 1 || !is_directory(&new))
		return 2;
	/* Only the new one is left: vmem_pins_commit() was cut off between its renames, after
	 * the job table was copied. */
	if (rename(new.text, now.text))
		return err_set(err, -errno, "rename %s: %m", new.text);
	return 0;
}

int vmem_pins_get(const char *pin_dir, const char *name)
{
	struct path p;
	int fd;

	set_path(&p, pin_dir, "/");
	strncat(p.text, name, sizeof(p.text) - strlen(p.text) - 1);
	fd = bpf_obj_get(p.text);
	return fd < 0 ? -errno : fd;
}

int vmem_pins_add(const char *pin_dir, const char *name, int fd, struct err *err)
{
	struct path p;

	set_path(&p, pin_dir, "/");
	strncat(p.text, name, sizeof(p.text) - strlen(p.text) - 1);
	if (bpf_obj_pin(fd, p.text))
		return err_set(err, -errno, "pin %s: %m", p.text);
	return 0;
}

int vmem_pins_drop(const char *pin_dir, const char *name)
{
	struct path p;

	set_path(&p, pin_dir, "/");
	strncat(p.text, name, sizeof(p.text) - strlen(p.text) - 1);
	return unlink(p.text) < 0 && errno != ENOENT ? -errno : 0;
}

/* An unfinished new set of an agent that died is removed first. */
int vmem_pins_begin(const char *pin_dir, struct err *err)
{
	struct path new;
	int rc;

	if (mkdir(pin_dir, 0700) && errno != EEXIST)
		return err_set(err, -errno, "make %s: %m", pin_dir);
	set_path(&new, pin_dir, "-new");
	rc = remove_set(new.text, err);
	if (rc < 0)
		return rc;
	if (mkdir(new.text, 0700))
		return err_set(err, -errno, "make %s: %m", new.text);
	return 0;
}

int vmem_pins_put(const char *pin_dir, const char *name, int fd, struct err *err)
{
	struct path p;

	set_path(&p, pin_dir, "-new/");
	strncat(p.text, name, sizeof(p.text) - strlen(p.text) - 1);
	if (bpf_obj_pin(fd, p.text))
		return err_set(err, -errno, "pin %s: %m", p.text);
	return 0;
}

int vmem_pins_commit(const char *pin_dir, struct err *err)
{
	struct path now, new, old;

	set_path(&now, pin_dir, "");
	set_path(&new, pin_dir, "-new");
	set_path(&old, pin_dir, "-old");
	/* bpffs cannot rename over a directory that is not empty. The old set is renamed as a
	 * whole before it is removed, so that a set with the name in force is always complete. */
	if (rename(now.text, old.text) && errno != ENOENT)
		return err_set(err, -errno, "rename %s: %m", now.text);
	if (rename(new.text, now.text))
		return err_set(err, -errno, "rename %s: %m", new.text);
	return vmem_pins_tidy(pin_dir, err);
}

int vmem_pins_tidy(const char *pin_dir, struct err *err)
{
	struct path now;

	set_path(&now, pin_dir, "");
	return each_set(pin_dir, now.text, drop_set, NULL, err);
}

struct old_object {
	const char *name;
	vmem_pins_fn fn;
	void *ctx;
};

static int open_old(void *ctx, const char *path, struct err *err)
{
	struct old_object *o = ctx;
	_cleanup_close_ int fd = -1;
	struct path p;

	snprintf(p.text, sizeof(p.text), "%s/", path);
	strncat(p.text, o->name, sizeof(p.text) - strlen(p.text) - 1);
	fd = bpf_obj_get(p.text);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "open %s: %m", p.text);
	return o->fn(o->ctx, fd, err);
}

int vmem_pins_each_old(const char *pin_dir, const char *name, vmem_pins_fn fn, void *ctx,
		       struct err *err)
{
	struct old_object o = { name, fn, ctx };
	struct path new;

	set_path(&new, pin_dir, "-new");
	return each_set(pin_dir, new.text, open_old, &o, err);
}

int vmem_pins_remove(const char *pin_dir, struct err *err)
{
	return each_set(pin_dir, NULL, drop_set, NULL, err);
}
