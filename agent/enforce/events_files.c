/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events_files.c - tier 3: reads the same events from the cgroup's own files, when inotify
 * reports that they changed; see events_files.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include "agent/enforce/events_files.h"
#include "common/cleanup.h"

struct events_files_job {
	struct events_files_job *next;
	int64_t job;
	unsigned what;
	char *path;
	int wd_state, wd_memory; /* inotify watches of cgroup.events, memory.events; or -1 */
	bool frozen, populated;
	uint64_t n_oom;
};

struct events_files {
	int fd;
	struct events_files_job *jobs;
};

/* The number in the line "KEY NUMBER" of a cgroup file. -ENODATA: no such line; -ENODEV: the
 * cgroup was removed between open and read. */
static int read_number(const char *path, const char *file, const char *key, uint64_t *ret)
{
	_cleanup_close_ int fd = -1;
	char name[PATH_MAX], text[1024];
	size_t length = strlen(key);
	ssize_t n;

	if (snprintf(name, sizeof(name), "%s/%s", path, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, key, length) || at[length] != ' ')
			continue;
		*ret = strtoull(at + length + 1, NULL, 10);
		return 0;
	}
	return -ENODATA;
}

int events_files_read(const char *path, const char *key)
{
	uint64_t value;
	int r = read_number(path, "cgroup.events", key, &value);

	return r < 0 ? r : value != 0;
}

int events_files_open(struct events_files **ret, struct err *err)
{
	struct events_files *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (f->fd < 0) {
		free(f);
		return err_set(err, -errno, "inotify: %m");
	}
	*ret = f;
	return 0;
}

static void job_free(struct events_files_job *j)
{
	free(j->path);
	free(j);
}

struct events_files *events_files_close(struct events_files *f)
{
	struct events_files_job *next;

	if (!f)
		return NULL;
	for (struct events_files_job *j = f->jobs; j; j = next) {
		next = j->next;
		job_free(j);
	}
	close(f->fd);
	free(f);
	return NULL;
}

int events_files_fd(const struct events_files *f)
{
	return f->fd;
}

/* The kernel reports changes of these files as IN_MODIFY. Returns the watch, < 0: errno says why. */
static int watch_file(const struct events_files *f, const char *path, const char *file)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s/%s", path, file) >= PATH_MAX)
		return -ENAMETOOLONG;
	return inotify_add_watch(f->fd, name, IN_MODIFY);
}

int events_files_add(struct events_files *f, int64_t job, const char *path, unsigned what,
		     struct err *err)
{
	struct events_files_job *j = calloc(1, sizeof(*j));

	if (!j)
		return err_set(err, -ENOMEM, "out of memory");
	j->job = job;
	j->what = what;
	j->wd_state = j->wd_memory = -1;
	j->path = strdup(path);
	if (!j->path) {
		job_free(j);
		return err_set(err, -ENOMEM, "out of memory");
	}
	if (what & (EVENTS_FILES_FROZEN | EVENTS_FILES_EMPTY)) {
		j->wd_state = watch_file(f, path, "cgroup.events");
		if (j->wd_state < 0) {
			int r = err_set(err, -errno, "watch %s/cgroup.events: %m", path);

			job_free(j);
			return r;
		}
	}
	if (what & EVENTS_FILES_OOM) /* not there without the memory controller */
		j->wd_memory = watch_file(f, path, "memory.events");
	j->frozen = events_files_read(path, "frozen") == 1;
	j->populated = events_files_read(path, "populated") == 1;
	read_number(path, "memory.events", "oom_kill", &j->n_oom);
	j->next = f->jobs;
	f->jobs = j;
	return 0;
}

void events_files_remove(struct events_files *f, int64_t job)
{
	struct events_files_job **at = &f->jobs, *j;

	while (*at && (*at)->job != job)
		at = &(*at)->next;
	j = *at;
	if (!j)
		return;
	*at = j->next;
	if (j->wd_state >= 0)
		inotify_rm_watch(f->fd, j->wd_state);
	if (j->wd_memory >= 0)
		inotify_rm_watch(f->fd, j->wd_memory);
	job_free(j);
}

static void report_change(struct events_files_job *j, enum events_files_what what,
			  events_files_fn fn, void *ctx)
{
	struct events_files_change change = { j->job, what, j->frozen, j->path };

	if (j->what & what)
		fn(ctx, &change);
}

/* Compares with the state last seen. The order matters when a job that ran out of memory is
 * empty at once: the OOM kill is reported before the end. */
static void check_files(struct events_files_job *j, events_files_fn fn, void *ctx)
{
	int frozen = events_files_read(j->path, "frozen");
	int populated = events_files_read(j->path, "populated");
	uint64_t n_oom;

	if (frozen >= 0 && j->frozen != (frozen == 1)) {
		j->frozen = frozen == 1;
		report_change(j, EVENTS_FILES_FROZEN, fn, ctx);
	}
	if (read_number(j->path, "memory.events", "oom_kill", &n_oom) == 0 &&
	    n_oom > j->n_oom) {
		j->n_oom = n_oom;
		report_change(j, EVENTS_FILES_OOM, fn, ctx);
	}
	if (populated >= 0 && j->populated != (populated == 1)) {
		j->populated = populated == 1;
		if (!j->populated)
			report_change(j, EVENTS_FILES_EMPTY, fn, ctx);
	}
}

/* NULL for an event that was queued before its watch was removed. */
static struct events_files_job *find_by_watch(const struct events_files *f, int wd)
{
	for (struct events_files_job *j = f->jobs; j; j = j->next)
		if (j->wd_state == wd || j->wd_memory == wd)
			return j;
	return NULL;
}

void events_files_dispatch(struct events_files *f, events_files_fn fn, void *ctx)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	const struct inotify_event *ev;
	struct events_files_job *j;
	ssize_t n;

	while ((n = read(f->fd, buf, sizeof(buf))) > 0) {
		for (char *p = buf; p < buf + n; p += sizeof(*ev) + ev->len) {
			ev = (const void *)p;
			j = find_by_watch(f, ev->wd); /* each time: `fn` may remove jobs */
			if (j)
				check_files(j, fn, ctx);
		}
	}
}
