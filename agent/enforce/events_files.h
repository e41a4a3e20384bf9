/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_files.h - events without BPF: inotify on a job's cgroup.events and memory.events. The
 * kernel notifies of each file at most every 10 ms, so a change and its opposite between two
 * reads go unseen. Used by events.c, for the events that no BPF hook reports here; events_files_read() by
 * the recovery of jobs too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

struct events_files;
struct events_files_job;

enum events_files_what {
	EVENTS_FILES_OOM = 1,
	EVENTS_FILES_FROZEN = 2,
	EVENTS_FILES_EMPTY = 4,
};

struct events_files_change {
	int64_t job;
	enum events_files_what what;
	bool frozen;	  /* EVENTS_FILES_FROZEN */
	const char *path; /* of the job's cgroup */
};
typedef void (*events_files_fn)(void *ctx, const struct events_files_change *change);

int events_files_open(struct events_files **ret, struct err *err);
struct events_files *events_files_close(struct events_files *f);
int events_files_fd(const struct events_files *f);

/* Changes are reported against the state at this moment. */
int events_files_add(struct events_files *f, int64_t job, const char *path, unsigned what,
		     struct err *err);
void events_files_remove(struct events_files *f, int64_t job);
void events_files_dispatch(struct events_files *f, events_files_fn fn, void *ctx);

/* The value of `key` in cgroup.events now: 1 or 0; -errno. */
int events_files_read(const char *path, const char *key);

static inline void events_files_closep(struct events_files **f)
{
	events_files_close(*f);
}
