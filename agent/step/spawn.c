/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn.c - from an order to a waiter; see agent/launch/step/step.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/job/handshake/make_plan.h"
#include "agent/step/steps_impl.h"
#include "common/time_units.h"

/* The fields of a PLAN frame, without its head. */
struct fields {
	char *frame;
	size_t size;
};

/* The plan of the step: the job's limits and environment, with the command, directory and environment of
 * the order. *ret is the caller's to free. */
static int make_plan(struct job *j, const struct sync_step_order *o, struct fields *ret,
		     struct err *err)
{
	struct request q = j->s.request, saved;
	int r = 0;

	request_init(&saved);
	if (!o->command.env) /* not kept in memory once the job ran */
		r = state_load_command(j->node->db, j->s.job, j->s.attempt, &saved, err);
	q.script = NULL;
	q.stream = true;
	q.join = false;
	q.argv = o->command.argv;
	q.env = o->command.env ? o->command.env : saved.env;
	if (o->command.workdir)
		q.workdir = o->command.workdir;
	if (r >= 0)
		r = handshake_make_plan(j, &q, &ret->frame, &ret->size, err);
	request_done(&saved);
	return r < 0 ? r : 0;
}

static int fill_spec(const struct steps *all, struct job *j, const struct sync_step_order *o,
		     struct step_spec *ret, struct err *err)
{
	char cgroup[MANAGER_PATH_MAX], path[4300], end[STEPS_PATH_MAX];
	const struct step id = { .id = o->id }, *s = &id;
	char *const outputs[2] = { ret->out, ret->err };

	*ret = (struct step_spec){ .version = STEP_SPEC_VERSION,
				   .attempt = s->id.attempt,
				   .job = s->id.job,
				   .number = s->id.step,
				   .uid = j->s.request.uid,
				   .gid = j->s.request.gid,
				   .grace_s = all->node->conf->kill_grace_s };
	snprintf(ret->cgroup, sizeof(ret->cgroup), "%s/work", job_cgroup(j, cgroup));
	ret->console = (uint32_t)o->command.terminal.console;
	ret->rows = (uint32_t)o->command.terminal.rows;
	ret->cols = (uint32_t)o->command.terminal.cols;
	ret->is_main = o->command.terminal.is_main;
	ret->keeps = o->command.terminal.on_hangup == SYNC_HANGUP_KEEP;
	if (ret->console)
		snprintf(ret->socket, sizeof(ret->socket), "%s",
			 steps_path(all, s->id, ".sock", end));
	snprintf(ret->end, sizeof(ret->end), "%s", steps_path(all, s->id, ".end", end));
	for (int i = 0; i < 2; i++) {
		if (!steps_output_path(j, s, i, path, sizeof(path)) ||
		    strlen(path) >= STEP_PATH_MAX)
			return err_set(err, -ENAMETOOLONG,
				       "the job's disk has too long a path");
		strcpy(outputs[i], path);
	}
	return 0;
}

static int write_all(int fd, const void *data, size_t size)
{
	for (const char *p = data; size;) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			p += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

/* By rename: the spec is there whole or not at all, whenever the agent dies. */
static int write_file(const struct steps *all, const struct step_spec *spec,
		      const struct fields *plan, struct err *err)
{
	struct sync_step_id id = { spec->job, spec->number, spec->attempt };
	char temp[STEPS_PATH_MAX], path[STEPS_PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	steps_path(all, id, ".new", temp);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "make %s: %m", temp);
	r = write_all(fd, spec, sizeof(*spec));
	if (!r)
		r = write_all(fd, plan->frame + sizeof(struct plan_head),
			      plan->size - sizeof(struct plan_head));
	if (!r && rename(temp, steps_path(all, id, "", path)) < 0)
		r = -errno;
	if (r < 0)
		unlink(temp);
	return r < 0 ? err_set(err, r, "write %s: %s", temp, strerror(-r)) : 0;
}

static int make_output_dir(struct job *j, struct err *err)
{
	char path[4200];

	if (!job_file(j, "steps", path, sizeof(path)))
		return err_set(err, -ENOENT, "the job's disk is gone");
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno,
			       "make a directory for output on the job's disk: %m");
	return 0;
}

int steps_write_spec(struct steps *all, struct job *j, const struct sync_step_order *o,
		     int64_t signed_s, struct err *err)
{
	struct fields plan = { NULL, 0 };
	struct step_spec spec;
	int r = make_output_dir(j, err);

	if (!r)
		r = fill_spec(all, j, o, &spec, err);
	spec.begin_ns = (uint64_t)(signed_s * S_NS);
	if (!r)
		r = make_plan(j, o, &plan, err);
	if (!r)
		r = write_file(all, &spec, &plan, err);
	free(plan.frame);
	return r;
}

int steps_spawn(struct steps *all, const struct step *s, struct err *err)
{
	char path[STEPS_PATH_MAX], short_name[STEP_FILE_MAX], name[STEP_FILE_MAX + 16];
	struct node *n = all->node;
	const char *argv[] = { n->conf->launcher, "--step", path, n->views, NULL };
	struct manager_id id = { s->id.job, s->id.attempt };

	steps_path(all, s->id, "", path);
	snprintf(name, sizeof(name), "reeve-step-%s", step_format_name(s->id, short_name));
	return n->ops->spawn(n->manager, id, name, argv, err);
}
