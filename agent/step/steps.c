/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps.c - carry out the decisions about steps: start, cancel, end and recover them; see step/steps.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "agent/job/phase/kill.h"
#include "agent/job/signed.h"
#include "agent/step/console.h"
#include "agent/step/steps_impl.h"
#include "common/log.h"
#include "common/time_units.h"

#define PATIENCE_NS (60 * S_NS) /* for a waiter to begin */

static void remove_files(const struct steps *all, struct sync_step_id id)
{
	static const char *const suffixes[] = { "", ".end", ".end.tmp", ".new", ".sock" };
	char path[STEPS_PATH_MAX];

	/* The spec first: recovery ignores an end without a spec. */
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		unlink(steps_path(all, id, suffixes[i], path));
}

/* The step has ended and is reported: its job may wait for that in DRAIN. */
static void enter_over(struct steps *all, struct step *s)
{
	struct job *j = steps_job(all, s);

	s->phase = STEP_IS_OVER;
	uplink_kick(all->node->uplink);
	if (j && j->phase == PHASE_DRAIN)
		job_act_after(j, 0);
}

static void fail_step(struct steps *all, struct step *s, const char *why)
{
	step_fail(s, why);
	log_job(LOG_NOTICE, s->id.job, "step", "step %" PRId64 ": %s", s->id.step, why);
	enter_over(all, s);
}

static bool has_begun(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !(st.st_mode & S_IWUSR);
}

static struct step_sight observe_step(const struct steps *all, const struct step *s)
{
	char path[STEPS_PATH_MAX], end[STEPS_PATH_MAX];
	struct step_sight sight = { .has_waiter = false };

	steps_path(all, s->id, "", path);
	steps_path(all, s->id, ".end", end);
	sight.has_begun = has_begun(path);
	sight.has_waiter = supervisor_find(path) > 0;
	/* Last: a waiter writes it before it lets go of its lock. */
	sight.has_end = access(end, F_OK) == 0;
	sight.is_late = node_now_ns() - s->asked_ns > PATIENCE_NS;
	return sight;
}

/* What the spec says of the step beside the command; a restarted agent knows it from there alone. */
static void read_spec(struct steps *all, struct step *s)
{
	char path[STEPS_PATH_MAX];
	struct step_spec spec;
	_cleanup_close_ int fd =
		open(steps_path(all, s->id, "", path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || read(fd, &spec, sizeof(spec)) != sizeof(spec) ||
	    spec.version < STEP_SPEC_SAME || spec.version > STEP_SPEC_VERSION)
		return;
	s->is_main = spec.is_main;
	s->is_interactive =
		spec.console != STEP_CONSOLE_NONE && spec.version == STEP_SPEC_VERSION;
	if (spec.console != STEP_CONSOLE_NONE && !s->is_interactive)
		log_job(LOG_WARNING, s->id.job, "step",
			"step %" PRId64 " was started by another version of Reeve: its "
			"terminal cannot be reached",
			s->id.step);
}

/* The job ends with its main step, as that did: what started it only held the job until then. */
static void end_job(struct steps *all, const struct step *s)
{
	struct job_end end = { .kind = s->end.signal ? END_SIGNALED : END_EXITED,
			       .exit_status = s->end.signal ? -1 : s->end.exit_status,
			       .signal = s->end.signal };
	struct job *j = steps_job(all, s);

	if (!j || j->s.end.kind != END_NONE || j->phase >= PHASE_FINAL)
		return;
	if (s->end.text[0]) {
		job_latch_end(j, END_FAILED, s->end.text);
	} else {
		state_end_set(&j->s, &end);
	}
	job_terminate(all->node, j);
}

static void read_end(struct steps *all, struct step *s)
{
	char path[STEPS_PATH_MAX];
	struct step_end end = { 0 };
	_cleanup_close_ int fd =
		open(steps_path(all, s->id, ".end", path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || read(fd, &end, sizeof(end)) != sizeof(end))
		end.version = 0;
	step_take_end(s, &end);
	read_spec(all, s);
	steps_output_fix(all, s);
	if (s->is_main)
		end_job(all, s);
	log_job(LOG_INFO, s->id.job, "step", "step %" PRId64 " ended: status %d, signal %d%s%s",
		s->id.step, s->end.exit_status, s->end.signal, s->end.text[0] ? ": " : "",
		s->end.text);
	uplink_kick(all->node->uplink);
}

/* The waiter was killed; the processes that it started continue, and end with the job. */
static void record_lost(struct steps *all, struct step *s)
{
	const struct step_end end = { .version = STEP_VERSION,
				      .exit_status = -1,
				      .signal = SIGKILL };

	step_take_end(s, &end);
	steps_output_fix(all, s);
	log_job(LOG_WARNING, s->id.job, "step", "the waiter of step %" PRId64 " was killed",
		s->id.step);
	uplink_kick(all->node->uplink);
}

/* The spec is unlinked under its lock: a waiter that systemd starts later finds no spec and does nothing. */
static void discard_step(struct steps *all, struct step *s)
{
	char path[STEPS_PATH_MAX];

	if (supervisor_discard(steps_path(all, s->id, "", path)) != 0)
		return; /* it is just beginning */
	fail_step(all, s,
		  s->is_cancelled ? "cancelled before it began"
				  : "it did not start within a minute");
}

static void signal_waiter(struct steps *all, struct step *s)
{
	char path[STEPS_PATH_MAX];
	int fd = supervisor_open(steps_path(all, s->id, "", path));

	if (fd <= 0)
		return;
	s->is_signalled = pidfd_send_signal(fd, SIGTERM, NULL, 0) == 0;
	close(fd);
}

static void apply_move(struct steps *all, struct step *s, enum step_move m)
{
	switch (m) {
	case STEP_BEGINS:
		s->phase = STEP_RUNS;
		read_spec(all, s);
		steps_output_watch(all, s);
		break;
	case STEP_ENDS:
		read_end(all, s);
		break;
	case STEP_IS_LOST:
		record_lost(all, s);
		break;
	case STEP_NEVER_BEGAN:
		discard_step(all, s);
		break;
	case STEP_STAYS:
		break;
	}
}

/* Moves the step to the phase that its files show. Idempotent; called for events and on each tick. */
static void look_at_step(struct steps *all, struct step *s)
{
	if (step_is_open(s))
		apply_move(all, s, step_look(s, observe_step(all, s)));
	if (s->phase == STEP_RUNS && s->is_interactive)
		step_console_connect(all->consoles, s);
	if (s->phase == STEP_RUNS && s->is_cancelled && !s->is_signalled)
		signal_waiter(all, s);
	if (s->phase != STEP_DRAINS)
		return;
	/* Without a controller the output stays until the job ends. */
	if (all->node->uplink && !steps_output_is_taken(all, s))
		return;
	if (all->node->uplink)
		steps_output_remove(all, s);
	enter_over(all, s);
}

void steps_output_acked(struct node *n, const struct sync_output_ack *ack)
{
	struct step *s = steps_output_set_acked(n->steps, ack);

	if (s)
		look_at_step(n->steps, s);
}

static int on_file(sd_event_source *source, const struct inotify_event *e, void *userdata)
{
	struct steps *all = userdata;
	struct sync_step_id id;
	const char *rest;
	struct step *s = NULL;

	(void)source;
	if (e->mask & IN_Q_OVERFLOW)
		steps_tick(all->node);
	else if (e->len && step_parse_name(e->name, &id, &rest) == 0)
		s = step_find(&all->table, id);
	if (s)
		look_at_step(all, s);
	return 0;
}

void steps_tick(struct node *n)
{
	if (!n->steps)
		return;
	for (struct step *s = n->steps->table.first; s; s = s->next)
		look_at_step(n->steps, s);
}

static enum step_job job_of(struct node *n, struct sync_step_id id)
{
	struct job *j = job_find(n, id.job, id.attempt);
	char path[4200];

	if (!j)
		return STEP_JOB_NONE;
	if (job_has_ended(j) || j->s.end.kind != END_NONE)
		return STEP_JOB_ENDS;
	if (j->phase < PHASE_RUNNING)
		return STEP_JOB_STARTS;
	return job_file(j, "", path, sizeof(path)) ? STEP_JOB_RUNS : STEP_JOB_NO_DISK;
}

static void start_step(struct steps *all, const struct sync_step_order *o)
{
	struct job *j = job_find(all->node, o->id.job, o->id.attempt);
	struct signed_start signature;
	struct err err = { "" };
	struct step *s;
	int r = job_signed_check_step(all->node, j, o, &signature, &err);

	if (r < 0) {
		log_job(LOG_ERR, o->id.job, "step", "cannot be started, trying again: %s",
			err.text);
		return;
	}
	s = step_add(&all->table, o->id);
	if (!s)
		return; /* no memory: the order comes again */
	s->uid = j->s.request.uid;
	if (r == JOB_SIGNED_NO) {
		fail_step(all, s, err.text);
		return;
	}
	s->asked_ns = node_now_ns();
	r = steps_write_spec(all, j, o, signature.made_s, &err);
	if (!r) /* written first: an agent that dies here finds it and starts it */
		r = job_signed_keep(all->node, &signature, &err);
	if (!r)
		r = steps_spawn(all, s, &err);
	if (r < 0) {
		remove_files(all, s->id);
		fail_step(all, s, err.text);
		return;
	}
	log_job(LOG_INFO, s->id.job, "step", "step %" PRId64 ": %s", s->id.step,
		o->command.argv[0]);
	uplink_kick(all->node->uplink);
}

static void cancel_step(struct steps *all, struct sync_step_id id)
{
	struct step *s = step_find(&all->table, id);

	s->is_cancelled = true;
	log_job(LOG_INFO, id.job, "step", "step %" PRId64 " is cancelled", id.step);
	look_at_step(all, s);
}

void steps_order(struct node *n, const struct sync_step_order *o)
{
	struct steps *all = n->steps;
	struct job *j = job_find(n, o->id.job, o->id.attempt);
	struct step_asker who = { job_of(n, o->id), j ? j->s.request.uid : UINT32_MAX };
	struct err why = { "" };
	struct step *s;

	switch (step_decide(&all->table, o, who, &why)) {
	case STEP_DO_START:
		start_step(all, o);
		break;
	case STEP_DO_CANCEL:
		cancel_step(all, o->id);
		break;
	case STEP_DO_REFUSE:
		s = step_add(&all->table, o->id);
		if (s) {
			s->uid = who.uid;
			s->is_refused = true;
			fail_step(all, s, why.text);
		}
		break;
	case STEP_DO_NOTHING:
		break;
	}
}

static void forget_step(struct steps *all, struct step *s)
{
	remove_files(all, s->id);
	steps_output_remove(all, s);
	step_console_drop(all->consoles, s);
	all->cursor.at = NULL;
	step_remove(&all->table, s);
}

void steps_ack(struct node *n, struct sync_step_id id)
{
	struct step *s = step_find(&n->steps->table, id);
	struct job *j;

	if (!s || s->phase != STEP_IS_OVER)
		return;
	j = steps_job(n->steps, s);
	forget_step(n->steps, s);
	if (j && j->phase == PHASE_DRAIN)
		job_act_after(j, 0);
}

/* The manager's answer names the job only: every step of it without a waiter may be the one that failed. */
void steps_spawned(struct node *n, struct manager_id job, int result, const struct err *err)
{
	char path[STEPS_PATH_MAX];

	for (struct step *s = n->steps->table.first; s && result < 0; s = s->next)
		if (s->id.job == job.job && s->id.attempt == job.attempt &&
		    s->phase == STEP_IS_ASKED && !observe_step(n->steps, s).has_begun &&
		    !supervisor_discard(steps_path(n->steps, s->id, "", path)))
			fail_step(n->steps, s, err->text);
}

bool steps_are_told(const struct node *n, const struct job *j)
{
	for (const struct step *s = n->steps->table.first; s; s = s->next)
		if (s->id.job == j->s.job && s->id.attempt == j->s.attempt)
			return false;
	return true;
}

void steps_drop(struct node *n, const struct job *j)
{
	for (struct step *s = n->steps->table.first, *next; s; s = next) {
		next = s->next;
		if (s->id.job == j->s.job && s->id.attempt == j->s.attempt)
			forget_step(n->steps, s);
	}
}

size_t steps_describe(struct node *n, struct sync_step **ret)
{
	struct steps *all = n->steps;
	size_t count = 0;

	free(all->told);
	all->told = calloc(all->table.n + 1, sizeof(*all->told));
	for (const struct step *s = all->table.first; all->told && s; s = s->next)
		all->told[count++] = (struct sync_step){ .id = s->id,
							 .has_ended = s->phase == STEP_IS_OVER,
							 .exit_status = s->end.exit_status,
							 .signal = s->end.signal,
							 .text = s->end.text };
	*ret = all->told;
	return count;
}

/* A step whose waiter has not begun is spawned again; the lock prevents that it starts twice. */
static void recover_step(struct steps *all, struct sync_step_id id)
{
	struct manager_id job = { id.job, id.attempt };
	struct step *s =
		job_find(all->node, job.job, job.attempt) ? step_add(&all->table, id) : NULL;
	struct step_sight sight;
	struct err err = { "" };

	if (!s) {
		remove_files(all, id);
		return;
	}
	s->uid = steps_job(all, s)->s.request.uid;
	s->asked_ns = node_now_ns();
	sight = observe_step(all, s);
	if (!sight.has_begun && !sight.has_end && steps_spawn(all, s, &err) < 0)
		log_job(LOG_WARNING, id.job, "step", "step %" PRId64 ": %s", id.step, err.text);
	look_at_step(all, s);
}

/* Specs first, then the ends that have no spec any more. */
static int recover_all(struct steps *all, struct err *err)
{
	_cleanup_closedir_ DIR *d = opendir(all->dir);
	struct sync_step_id id;
	struct dirent *e;
	const char *rest;
	char path[STEPS_PATH_MAX];

	if (!d)
		return err_set(err, -errno, "open %s: %m", all->dir);
	while ((e = readdir(d)))
		if (step_parse_name(e->d_name, &id, &rest) == 0 && !*rest &&
		    !step_find(&all->table, id))
			recover_step(all, id);
	rewinddir(d);
	while ((e = readdir(d)))
		if (step_parse_name(e->d_name, &id, &rest) == 0 && *rest &&
		    access(steps_path(all, id, "", path), F_OK) < 0)
			remove_files(all, id);
	return 0;
}

int steps_open(struct node *n, struct err *err)
{
	struct steps *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	n->steps = all;
	all->node = n;
	r = step_consoles_open(all, &all->consoles, err);
	if (r < 0)
		return r;
	snprintf(all->dir, sizeof(all->dir), "%s/steps", n->conf->run_dir);
	if (mkdir(all->dir, 0700) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make directory %s: %m", all->dir);
	/* A step begins (its mode changes), ends (a rename), or its waiter gives up (a close). */
	r = sd_event_add_inotify(n->event, &all->files, all->dir,
				 IN_ATTRIB | IN_MOVED_TO | IN_CLOSE_WRITE, on_file, all);
	if (r < 0)
		return err_set(err, r, "watch %s: %s", all->dir, strerror(-r));
	return recover_all(all, err);
}

void steps_close(struct node *n)
{
	struct steps *all = n->steps;

	if (!all)
		return;
	sd_event_source_disable_unref(all->files);
	step_consoles_close(all->consoles);
	while (all->table.first)
		step_remove(&all->table, all->table.first);
	free(all->told);
	free(all);
	n->steps = NULL;
}
