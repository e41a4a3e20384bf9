/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open.c - opens the cgroup manager: makes the levels of cgroups, finds the jobs that run already,
 * lists what this host cannot enforce. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/enforce/manager/cgroup/open.h"
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "common/cleanup.h"

static const struct need {
	const char *file, *controller, *words;
} needs[] = {
	{ "cpuset.cpus", "cpuset", "jobs are not held to their cores" },
	{ "memory.max", "memory", "mem is not enforced, and an OOM is the whole node's" },
	{ "memory.swap.max", NULL, "no memory.swap.max: jobs may be swapped out" },
	{ "pids.max", "pids", "the number of a job's processes is not bounded" },
	{ "io.stat", "io", "bytes read and written are not in the cgroup's counters" },
	{ "cgroup.freeze", NULL, "cgroups cannot be frozen (before Linux 5.2): no suspending" },
	{ "cgroup.kill", NULL,
	  "no cgroup.kill (before Linux 5.14): jobs can outrun their end" },
};

static void note_missing(struct manager *m, const struct need *n)
{
	size_t at = strlen(m->status);
	char *to = m->status + at;
	size_t room = sizeof(m->status) - at;
	const char *line = at ? "\n" : "";

	if (!n->controller)
		snprintf(to, room, "%s%s", line, n->words);
	else if (tree_has_controller(&m->tree, n->controller))
		snprintf(to, room, "%sthe %s controller does not reach %s: %s", line,
			 n->controller, m->parent, n->words);
	else
		snprintf(to, room, "%sno %s controller on the v2 mount %s: %s", line,
			 n->controller, m->tree.mount, n->words);
}

static void list_missing(struct manager *m)
{
	static const struct need always[] = {
		{ "", NULL, "device files are fenced by their modes alone" },
		{ "", NULL, "processes of other users are visible to jobs" },
	};

	for (size_t i = 0; i < ARRAY_LEN(needs); i++)
		if (!tree_has(m->parent, needs[i].file))
			note_missing(m, &needs[i]);
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		note_missing(m, &always[i]);
}

struct recovery {
	struct manager *m;
	struct err err;
	int r;
};

/* Follows a job that was started by an earlier agent. A start that was cut off (no supervisor, not
 * begun, no process) is undone: by its saved state the agent will start that job again. */
static void recover_job(void *ctx, struct manager_id id)
{
	struct recovery *t = ctx;
	char file[MANAGER_PATH_MAX], path[MANAGER_PATH_MAX];
	struct unit *u;

	if (t->r < 0 || unit_find(t->m, id))
		return;
	manager_path(t->m->parent, id, path);
	unit_spec_path(t->m, id, file);
	if (!supervisor_has_begun(file) && supervisor_find(file) <= 0 &&
	    tree_event(path, "populated") != 1 && supervisor_discard(file) == 0) {
		if (tree_remove(&t->m->tree, path, &t->err) < 0)
			t->r = -EIO;
		return;
	}
	t->r = unit_new(t->m, id, &u, &t->err);
	if (!t->r && unit_check_later(u, 0) < 0)
		t->r = err_set(&t->err, -ENOMEM, "out of memory");
}

/* Calls `each` for every job that has a supervisor's spec, whether its cgroup exists or not. */
static int each_spec(struct manager *m, manager_each_fn each, void *ctx, struct err *err)
{
	_cleanup_closedir_ DIR *d = NULL;
	char name[300];
	struct manager_id id;
	struct dirent *e;

	if (mkdir(m->c.spec_dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make %s: %m", m->c.spec_dir);
	d = opendir(m->c.spec_dir);
	if (!d)
		return err_set(err, -errno, "open %s: %m", m->c.spec_dir);
	while ((e = readdir(d))) {
		snprintf(name, sizeof(name), "reeve-job-%s.service", e->d_name);
		if (manager_parse_name(name, &id) == 0)
			each(ctx, id);
	}
	return 0;
}

static int recover_jobs(struct manager *m, struct err *err)
{
	struct recovery t = { .m = m };
	int r = each_spec(m, recover_job, &t, err);

	if (!r)
		r = manager_list(m->parent, recover_job, &t, err);
	if (t.r < 0)
		return err_set(err, t.r, "%s", t.err.text);
	return r;
}

static int make_levels(struct manager *m, struct err *err)
{
	int r = tree_open(&m->tree, err);

	if (r < 0)
		return r;
	snprintf(m->top, sizeof(m->top), "%s/%.200s", m->tree.mount, m->c.parent);
	snprintf(m->parent, sizeof(m->parent), "%.400s/jobs", m->top);
	snprintf(m->supervisors, sizeof(m->supervisors), "%.400s/supervisors", m->top);
	r = tree_make_all(&m->tree, m->parent, err);
	if (!r)
		r = tree_make(&m->tree, m->supervisors, err);
	/* The cgroups of jobs get the controllers of their parent. */
	if (!r)
		tree_pass_on(&m->tree, m->parent);
	return r;
}

struct manager *manager_cgroup_close(struct manager *m)
{
	if (!m)
		return NULL;
	while (m->units)
		unit_drop(m->units);
	unit_answer_close(m);
	free(m);
	return NULL;
}

int manager_cgroup_open(const struct manager_config *c, struct manager **ret, struct err *err)
{
	struct manager *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	m->c = *c;
	r = unit_answer_open(m);
	if (r < 0)
		err_set(err, r, "event loop: %s", strerror(-r));
	else
		r = make_levels(m, err);
	if (!r)
		r = recover_jobs(m, err);
	if (r < 0) {
		manager_cgroup_close(m);
		return err_prefix(err, r, "cgroup manager");
	}
	list_missing(m);
	*ret = m;
	return 0;
}
