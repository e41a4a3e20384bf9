/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unit.c - follows a job on a host without systemd through its stages, and answers orders; see
 * manager/cgroup/unit.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "agent/enforce/manager/cgroup/unit.h"
#include "common/log.h"

#define RETRY_US 20000 /* a dying process keeps its cgroup for a moment */
#define FREEZE_PATIENCE_US (60 * UINT64_C(1000000))

/* An order is answered from the event loop and never from within the order itself: the caller has not stored yet
 * what the answer is about. A callback may give new orders: their answers join the end of the list. */
static int on_defer(sd_event_source *s, void *userdata)
{
	struct manager *m = userdata;
	struct unit_answer *d;

	(void)s;
	while ((d = m->answers)) {
		m->answers = d->next;
		m->c.on_done(m->c.ctx, d->id, d->order, d->result, &d->err);
		free(d);
	}
	return 0;
}

int unit_answer_open(struct manager *m)
{
	int r = sd_event_add_defer(m->c.event, &m->defer, on_defer, m);

	return r < 0 ? r : sd_event_source_set_enabled(m->defer, SD_EVENT_OFF);
}

void unit_answer_close(struct manager *m)
{
	struct unit_answer *a;

	while ((a = m->answers)) {
		m->answers = a->next;
		free(a);
	}
	m->defer = sd_event_source_disable_unref(m->defer);
}

int unit_answer_later(struct manager *m, struct unit_answer what, struct err *err)
{
	struct unit_answer *d = malloc(sizeof(*d)), **at = &m->answers;
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	*d = what;
	while (*at)
		at = &(*at)->next;
	*at = d;
	r = sd_event_source_set_enabled(m->defer, SD_EVENT_ONESHOT);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

/* The same error as systemd's for a unit that it does not know. */
int unit_answer_gone(struct manager *m, struct manager_id id, enum manager_order order,
		     struct err *err)
{
	struct unit_answer d = { .id = id, .order = order };
	char name[MANAGER_NAME_MAX];

	d.result = err_set(&d.err, -ESRCH, "%s is not there", manager_name(id, name));
	return unit_answer_later(m, d, err);
}

/* The same answer to each of *n orders; *n is 0 afterwards. */
static void send_answers(struct unit *u, int *n, struct unit_answer a)
{
	for (; *n; (*n)--)
		if (unit_answer_later(u->m, a, NULL) < 0)
			log_job(LOG_ERR, u->id.job, "manager", "an answer is lost: no memory");
}

static void answer_starts(struct unit *u, int result, const char *words)
{
	struct unit_answer a = { .id = u->id, .order = MANAGER_START, .result = result };

	if (result < 0)
		err_set(&a.err, result, "%s", words);
	send_answers(u, &u->n_starts, a);
	u->begins = sd_event_source_disable_unref(u->begins);
}

/* Answers the orders that wait for the unit to be frozen or thawed. */
static void answer_awaited(struct unit *u, int result, const char *words)
{
	struct unit_answer a = { .id = u->id, .order = u->awaited, .result = result };

	if (result < 0)
		err_set(&a.err, result, "%s", words);
	send_answers(u, &u->n_awaited, a);
	u->patience = sd_event_source_disable_unref(u->patience);
	if (u->stage != UNIT_EMPTYING)
		u->changed = sd_event_source_disable_unref(u->changed);
}

/* Following a job. */

static int on_changed(sd_event_source *s, const struct inotify_event *e, void *userdata);

/* Its cgroup.events, only while an order waits for a change: a watch needs as much memory as the
 * rest of a unit. The caller checks what changed before. -ENOENT: the cgroup is gone. */
static int watch_changes(struct unit *u)
{
	char events[MANAGER_PATH_MAX + 16];

	if (u->changed)
		return 0;
	snprintf(events, sizeof(events), "%s/cgroup.events", u->path);
	return sd_event_add_inotify(u->m->c.event, &u->changed, events, IN_MODIFY, on_changed,
				    u);
}

struct unit *unit_find(struct manager *m, struct manager_id id)
{
	for (struct unit *u = m->units; u; u = u->next)
		if (u->id.job == id.job && u->id.attempt == id.attempt)
			return u;
	return NULL;
}

const char *unit_spec_path(const struct manager *m, struct manager_id id,
			   char buf[static MANAGER_PATH_MAX])
{
	snprintf(buf, MANAGER_PATH_MAX, "%s/%" PRId64 "-%" PRId32, m->c.spec_dir, id.job,
		 id.attempt);
	return buf;
}

bool unit_has_record(const struct manager *m, struct manager_id id)
{
	char path[MANAGER_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%" PRId64 "-%" PRId32, m->c.final_dir, id.job,
		 id.attempt);
	return access(path, F_OK) == 0;
}

/* Stops following the process; it is not signalled. */
static void release_process(struct unit *u)
{
	u->over = sd_event_source_disable_unref(u->over);
	if (u->pid_fd > 0)
		close(u->pid_fd);
	u->pid_fd = -1;
}

static void unit_free(struct unit *u)
{
	release_process(u);
	sd_event_source_disable_unref(u->changed);
	sd_event_source_disable_unref(u->begins);
	sd_event_source_disable_unref(u->later);
	sd_event_source_disable_unref(u->patience);
	free(u->path);
	free(u->spec);
	free(u);
}

void unit_drop(struct unit *u)
{
	struct unit **at = &u->m->units;

	while (*at != u)
		at = &(*at)->next;
	*at = u->next;
	unit_free(u);
}

static void advance_unit(struct unit *u);

static int on_later(sd_event_source *s, uint64_t usec, void *userdata)
{
	struct unit *u = userdata;

	(void)s;
	(void)usec;
	u->later = sd_event_source_disable_unref(u->later);
	advance_unit(u);
	return 0;
}

int unit_check_later(struct unit *u, uint64_t delay_us)
{
	if (u->later)
		return 0;
	return sd_event_add_time_relative(u->m->c.event, &u->later, CLOCK_MONOTONIC, delay_us,
					  1000, on_later, u);
}

static int on_begins(sd_event_source *s, const struct inotify_event *e, void *userdata)
{
	struct unit *u = userdata;

	(void)s;
	(void)e;
	if (u->n_starts && supervisor_has_begun(u->spec))
		answer_starts(u, 0, "");
	return 0;
}

/* Adds one order to those that wait for the job's begin: the supervisor marks the spec then (supervisor.h). */
int unit_await_begin(struct unit *u, struct err *err)
{
	int r = 0;

	if (u->stage != UNIT_SUPERVISED || supervisor_has_begun(u->spec))
		return unit_answer_later(
			u->m, (struct unit_answer){ .id = u->id, .order = MANAGER_START }, err);
	if (!u->begins)
		r = sd_event_add_inotify(u->m->c.event, &u->begins, u->spec, IN_ATTRIB,
					 on_begins, u);
	if (r < 0)
		return err_set(err, r, "watch %s: %s", u->spec, strerror(-r));
	u->n_starts++;
	/* Has it begun before the watch was set? */
	return on_begins(NULL, NULL, u);
}

static int on_process_over(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
	struct unit *u = userdata;
	siginfo_t info;

	(void)s;
	(void)revents;
	/* After a restart it is not our child: then there is nothing to reap. */
	waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
	release_process(u);
	if (u->stage == UNIT_RECORDING)
		u->stage = UNIT_REMOVING;
	advance_unit(u);
	return 0;
}

/* The unit owns `pid_fd` from here on, also after an error. */
int unit_follow(struct unit *u, int pid_fd)
{
	u->pid_fd = pid_fd;
	return sd_event_add_io(u->m->c.event, &u->over, pid_fd, EPOLLIN, on_process_over, u);
}

/* The supervisor died before it wrote the record: writes it in its place, from the cgroup that is still there,
 * without the exit status. */
static void start_final_record(struct unit *u)
{
	const struct manager_config *c = &u->m->c;
	char job[24], attempt[16];
	const char *argv[] = { c->launcher, "--final", c->final_dir, job, attempt, NULL };
	struct err err;
	int r;

	snprintf(job, sizeof(job), "%" PRId64, u->id.job);
	snprintf(attempt, sizeof(attempt), "%" PRId32, u->id.attempt);
	u->stage = UNIT_RECORDING;
	/* In a frozen cgroup the writer of the record could not run. */
	tree_write(u->path, "cgroup.freeze", "0", NULL);
	r = supervisor_spawn(argv, u->path, &err);
	if (r >= 0 && unit_follow(u, r) >= 0)
		return;
	log_job(LOG_ERR, u->id.job, "final", "%s",
		r < 0 ? err.text : "cannot watch the writer of the final record");
	u->stage = UNIT_REMOVING;
}

/* Removes the cgroup and reports the end; tries again later while it has processes. */
static void finish_unit(struct unit *u)
{
	struct manager *m = u->m;
	struct manager_id id = u->id;
	struct err err;
	int r = tree_remove(&m->tree, u->path, &err);

	if (r) {
		if (r < 0)
			log_job(LOG_ERR, id.job, "manager", "%s", err.text);
		if (tree_event(u->path, "populated") == 1)
			tree_write(u->path, "cgroup.kill", "1", NULL);
		unit_check_later(u, r < 0 ? 50 * RETRY_US : RETRY_US);
		return;
	}
	on_begins(NULL, NULL, u);
	answer_starts(u, -EIO, "its supervisor ended before the job began");
	supervisor_discard(u->spec);
	answer_awaited(u, -ESRCH, "the job has ended");
	unit_drop(u);
	on_defer(NULL, m); /* answers that are due come before on_gone() */
	m->c.on_gone(m->c.ctx, id);
}

/* No process is followed: finds the stage from the spec, the record and the cgroup. */
static void advance_alone(struct unit *u)
{
	int fd = supervisor_open(u->spec);

	if (fd > 0) { /* an earlier agent's supervisor */
		u->stage = UNIT_SUPERVISED;
		if (unit_follow(u, fd) >= 0)
			return;
		release_process(u);
	}
	if (unit_has_record(u->m, u->id) || tree_event(u->path, "populated") < 0) {
		u->stage = UNIT_REMOVING;
	} else if (tree_event(u->path, "populated") == 1) {
		u->stage = UNIT_EMPTYING;
		watch_changes(u);
		if (tree_event(u->path, "populated") != 1)
			unit_check_later(u, 0);
		log_job(LOG_WARNING, u->id.job, "manager",
			"its supervisor is gone: the exit status of the job will not be known");
	} else if (supervisor_has_begun(u->spec) || u->stage == UNIT_EMPTYING) {
		start_final_record(u);
	} else {
		u->stage = UNIT_REMOVING;
	}
}

/* Moves the unit on as far as it can go now. Safe to call at any time: a followed process decides alone. */
static void advance_unit(struct unit *u)
{
	if (u->pid_fd >= 0)
		return;
	if (u->stage == UNIT_SUPERVISED ||
	    (u->stage == UNIT_EMPTYING && tree_event(u->path, "populated") != 1))
		advance_alone(u);
	if (u->stage == UNIT_EMPTYING && !u->changed) /* the watch failed */
		unit_check_later(u, 50 * RETRY_US);
	if (u->stage == UNIT_REMOVING)
		finish_unit(u);
}

static int on_changed(sd_event_source *s, const struct inotify_event *e, void *userdata)
{
	struct unit *u = userdata;
	int frozen = u->n_awaited ? tree_event(u->path, "frozen") : -1;

	(void)s;
	(void)e;
	if (frozen >= 0 && frozen == (u->awaited == MANAGER_FREEZE))
		answer_awaited(u, 0, "");
	if (u->stage == UNIT_EMPTYING)
		advance_unit(u);
	return 0;
}

int unit_new(struct manager *m, struct manager_id id, struct unit **ret, struct err *err)
{
	struct unit *u = calloc(1, sizeof(*u));
	char path[MANAGER_PATH_MAX];

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	*u = (struct unit){ .m = m, .id = id, .pid_fd = -1 };
	u->path = strdup(manager_path(m->parent, id, path));
	u->spec = strdup(unit_spec_path(m, id, path));
	if (!u->path || !u->spec) {
		unit_free(u);
		return err_set(err, -ENOMEM, "out of memory");
	}
	u->next = m->units;
	m->units = u;
	*ret = u;
	return 0;
}

static int on_patience_over(sd_event_source *s, uint64_t usec, void *userdata)
{
	(void)s;
	(void)usec;
	answer_awaited(userdata, -ETIMEDOUT, "the kernel did not do so within 60 s");
	return 0;
}

/* The watch is set before the state is read, so that no change falls between the two. */
int unit_await(struct unit *u, enum manager_order order, struct err *err)
{
	int r;

	if (u->n_awaited && u->awaited != order)
		answer_awaited(u, -ECANCELED, "the opposite was ordered meanwhile");
	r = watch_changes(u);
	if (r < 0 && r != -ENOENT) /* gone: its end answers */
		return err_set(err, r, "watch %s: %s", u->path, strerror(-r));
	u->awaited = order;
	u->n_awaited++;
	if (tree_event(u->path, "frozen") == (order == MANAGER_FREEZE)) {
		answer_awaited(u, 0, "");
		return 0;
	}
	if (u->patience)
		return 0;
	r = sd_event_add_time_relative(u->m->c.event, &u->patience, CLOCK_MONOTONIC,
				       FREEZE_PATIENCE_US, 0, on_patience_over, u);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}
