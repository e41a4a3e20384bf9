/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.c - checks [Hooks]: names of events, and that only root or the controller's user can
 * replace the program. See config.h. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "common/err.h"
#include "controller/config/config_impl.h"

/* The user of units/reeve-controller.service: trusted also when root runs the check. */
#define SERVICE_USER "reeve"

const char *const config_hook_words[_CONFIG_HOOK_MAX] = {
	[CONFIG_HOOK_JOB_SUBMITTED] = "job-submitted",
	[CONFIG_HOOK_JOB_STARTED] = "job-started",
	[CONFIG_HOOK_JOB_SUSPENDED] = "job-suspended",
	[CONFIG_HOOK_JOB_RESUMED] = "job-resumed",
	[CONFIG_HOOK_JOB_KILLED] = "job-killed",
	[CONFIG_HOOK_JOB_ENDED] = "job-ended",
	[CONFIG_HOOK_JOB_REQUEUED] = "job-requeued",
	[CONFIG_HOOK_WALLTIME_50] = "job-walltime-50",
	[CONFIG_HOOK_WALLTIME_80] = "job-walltime-80",
	[CONFIG_HOOK_WALLTIME_90] = "job-walltime-90",
	[CONFIG_HOOK_ALLOCATION_USED] = "allocation-used",
	[CONFIG_HOOK_GPU_IDLE] = "gpu-idle",
	[CONFIG_HOOK_GPU_BUSY] = "gpu-busy",
	[CONFIG_HOOK_NODE_LOST] = "node-lost",
	[CONFIG_HOOK_NODE_REBOOTED] = "node-rebooted",
};

static int unknown_event(const char *item, size_t size, struct err *err)
{
	char known[320] = "";

	for (int i = 0; i < _CONFIG_HOOK_MAX; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", config_hook_words[i]);
	return err_set(err, -EINVAL, "no event '%.*s'; there are: %s",
		       size > 40 ? 40 : (int)size, item, known);
}

static int find_event(const char *item, size_t size)
{
	for (int i = 0; i < _CONFIG_HOOK_MAX; i++)
		if (strlen(config_hook_words[i]) == size &&
		    !memcmp(config_hook_words[i], item, size))
			return i;
	return -1;
}

int config_check_events(void *object, const char *value, struct err *err)
{
	struct config_hooks *h = &((struct config *)object)->hooks;
	uint32_t events = 0;
	const char *item = value;

	while (item) {
		size_t skip = strspn(item, " \t"), n = strcspn(item + skip, ", \t");
		int i = find_event(item + skip, n);

		if (i < 0)
			return unknown_event(item + skip, n, err);
		if (events & 1U << i)
			return err_set(err, -EINVAL, "'%s' is named twice; keep one",
				       config_hook_words[i]);
		events |= 1U << i;
		item += skip + n + strspn(item + skip + n, " \t");
		if (*item && *item != ',')
			return err_set(err, -EINVAL,
				       "write the events with commas between them");
		item = *item ? item + 1 : NULL;
	}
	h->event_set = events;
	return 0;
}

/* "80,100": growing, so that none comes twice. */
int config_check_percents(void *object, const char *value, struct err *err)
{
	struct config_hooks *h = &((struct config *)object)->hooks;
	int64_t before = 0;
	int n = 0;

	for (const char *item = value; item; n++) {
		char *end;
		int64_t percent = strtoll(item, &end, 10);

		end += strspn(end, " \t");
		if (end == item || percent <= before || percent > 1000 ||
		    n == CONFIG_PERCENTS_MAX || (*end && *end != ','))
			return err_set(err, -EINVAL,
				       "write at most %d numbers from 1 to 1000, each larger "
				       "than the one before, by commas",
				       CONFIG_PERCENTS_MAX);
		h->percents[n] = before = percent;
		item = *end ? end + 1 : NULL;
	}
	h->n_percents = n;
	return 0;
}

/* ---- the program ---- */

/* Root, or the user that the controller runs as. */
static bool is_trusted(uid_t uid)
{
	const struct passwd *service;

	if (uid == 0 || uid == geteuid())
		return true;
	service = geteuid() == 0 ? getpwnam(SERVICE_USER) : NULL;
	return service && service->pw_uid == uid;
}

/* Checks a file, or a folder above it, of the program that the controller runs. The owner, and
 * every user with write permission, could put another program in its place, so both must be
 * trusted. In a sticky folder (/tmp) users can replace only their own files. */
static int check_place(const char *path, struct err *err)
{
	struct stat s;
	bool is_sticky;

	if (lstat(path, &s) < 0)
		return err_set(err, -errno, "%.200s: %m", path);
	is_sticky = S_ISDIR(s.st_mode) && (s.st_mode & S_ISVTX);
	if (!is_trusted(s.st_uid))
		return err_set(err, -EINVAL,
			       "%.200s belongs to neither root nor the controller's user",
			       path);
	if ((s.st_mode & (S_IWGRP | S_IWOTH)) && !is_sticky)
		return err_set(err, -EINVAL,
			       "%.200s can be written by others: chmod go-w %.100s", path,
			       path);
	return 0;
}

static int check_folders(const char *path, struct err *err)
{
	char folder[PATH_MAX];
	int r = 0;

	for (const char *slash = path; r == 0 && (slash = strchr(slash, '/')); slash++) {
		snprintf(folder, sizeof(folder), "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
		r = check_place(folder, err);
	}
	return r;
}

/* Checked again before each run: the file may have changed since the configuration was read. */
int config_check_program(const char *path, struct err *err)
{
	_cleanup_free_ char *real = NULL;
	struct stat s;
	int r;

	if (*path != '/')
		return err_set(err, -EINVAL, "it is not an absolute path");
	real = realpath(path, NULL);
	if (!real || stat(real, &s) < 0)
		return err_set(err, -errno, "%.200s: %m", path);
	if (!S_ISREG(s.st_mode) || !(s.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
		return err_set(err, -EINVAL, "%.200s is not a program that can be run", path);
	r = check_place(real, err);
	return r < 0 ? r : check_folders(real, err);
}

int config_check_hook(void *object, const char *value, struct err *err)
{
	(void)object;
	return config_check_program(value, err);
}
