/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scontrol.c - start scontrol, scancel and squeue as children of the agent; see scontrol.h. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/slurm/scontrol.h"
#include "common/log.h"

/* A child that runs. The job may be gone when it ends: it is found by its id, not by a pointer. */
struct command {
	struct node *node;
	int64_t job;
	int32_t attempt;
	bool is_comment;
	/* Of squeue: */
	int output;	  /* its child handler reads and closes it; -1: none is kept */
	int64_t asked_ns; /* which question it is: e->asked_ns, j->waits_until_ns */
	void (*on_over)(struct job *j);
};

/* ---- children ---- */

/* The environment is PATH alone: Slurm finds its own configuration. 0: `c` belongs to on_child(); < 0: to the
 * caller still. */
static int spawn_command(struct command *c, char *const *argv,
			 sd_event_child_handler_t on_child)
{
	static char path[] = "PATH=/usr/bin:/bin:/usr/local/bin";
	char *env[] = { path, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sd_event_source *s;
	sigset_t none;
	pid_t pid;
	int r;

	sigemptyset(&none); /* the agent blocks the signals that its event loop reads */
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&files);
	r = c->output >= 0 ? -posix_spawn_file_actions_adddup2(&files, c->output, STDOUT_FILENO)
			   : 0;
	if (r == 0)
		r = -posix_spawnp(&pid, argv[0], &files, &attr, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return r < 0 ? r : sd_event_add_child(c->node->event, &s, pid, WEXITED, on_child, c);
}

static void log_failure(int64_t job, const char *command, const siginfo_t *si)
{
	if (si->si_code != CLD_EXITED || si->si_status)
		log_job(LOG_WARNING, job, "slurm", "%s ended with status %d", command,
			si->si_status);
}

/* Never waited for. A failure is logged, and the job goes on without it. */
static bool start_command(const struct command *what, char *const *argv,
			  sd_event_child_handler_t on_child)
{
	struct command *c = malloc(sizeof(*c));
	int r = -ENOMEM;

	if (c) {
		*c = *what;
		r = spawn_command(c, argv, on_child);
	}
	if (r < 0) {
		log_job(LOG_WARNING, what->job, "slurm", "cannot run %s: %s", argv[0],
			strerror(-r));
		free(c);
	}
	return r >= 0;
}

/* ---- the reason of an end ---- */

static int on_changed(sd_event_source *s, const siginfo_t *si, void *userdata)
{
	struct command *c = userdata;
	struct job *j = job_find(c->node, c->job, c->attempt);

	log_failure(c->job, c->is_comment ? "scontrol update" : "scancel", si);
	if (j && c->is_comment)
		j->is_commenting = false;
	sd_event_source_unref(s);
	free(c);
	return 0;
}

static bool start_change(const struct job *j, bool is_comment, char *const *argv)
{
	const struct command c = { .node = j->node,
				   .job = j->s.job,
				   .attempt = j->s.attempt,
				   .is_comment = is_comment,
				   .output = -1 };

	return start_command(&c, argv, on_changed);
}

/* One argument, no shell: the text may have any characters. */
void scontrol_comment(struct job *j, const char *text)
{
	static char scontrol[] = "scontrol", update[] = "update";
	char id[40], comment[1200];
	char *argv[] = { scontrol, update, id, comment, NULL };

	snprintf(id, sizeof(id), "JobId=%" PRId64, j->s.job);
	snprintf(comment, sizeof(comment), "AdminComment=%.*s", (int)strcspn(text, "\n"), text);
	j->is_commenting = start_change(j, true, argv);
}

void scontrol_cancel(struct job *j)
{
	static char scancel[] = "scancel", quiet[] = "--quiet";
	char id[24];
	char *argv[] = { scancel, quiet, id, NULL };

	snprintf(id, sizeof(id), "%" PRId64, j->s.job);
	start_change(j, false, argv);
}

/* ---- what slurmctld has ---- */

/* squeue lists all tasks of an array by the id of one of them. Takes the descriptor. 1: the job is listed; 0: it is not; < 0: what was listed cannot be read. */
static int read_output(int fd, uint32_t job, uint32_t *ret)
{
	_cleanup_fclose_ FILE *f = fdopen(fd, "r");
	char line[128];

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	rewind(f);
	while (fgets(line, sizeof(line), f))
		if (ended_read_restarts(line, job, ret))
			return 1;
	return ferror(f) ? -EIO : 0;
}

/* `states` and `which` are options. Numbers alone are listed: a job's name could pass for a line. A file in memory, since squeue may list more
 * than a pipe holds. */
static bool start_squeue(struct command *c, char *states, char *which,
			 sd_event_child_handler_t on_child)
{
	static char squeue[] = "squeue", no_header[] = "--noheader", local[] = "--local",
		    format[] = "--Format=JobID:20,RestartCnt:20";
	char *argv[] = { squeue, no_header, local, format, states, which, NULL };

	c->output = memfd_create("reeve-squeue", MFD_CLOEXEC);
	if (c->output < 0) {
		log_job(LOG_WARNING, c->job, "slurm", "cannot run squeue: %s", strerror(errno));
		return false;
	}
	if (start_command(c, argv, on_child))
		return true;
	close(c->output);
	return false;
}

/* Where the job has begun or is too old it is remembered no more, and where it has ended again there is another question: this answer is not used then. */
static int on_restarts(sd_event_source *s, const siginfo_t *si, void *userdata)
{
	struct command *c = userdata;
	struct ended_job *e = ended_find(c->node->ended, (uint32_t)c->job, node_now_ns());
	bool is_awaited = e && e->asked_ns == c->asked_ns;
	uint32_t restarts;

	log_failure(c->job, "squeue", si);
	if (read_output(c->output, (uint32_t)c->job, &restarts) > 0 && is_awaited) {
		e->begin.restarts = restarts;
		e->known_ns = node_now_ns();
	}
	if (is_awaited)
		e->is_asked = false;
	sd_event_source_unref(s);
	free(c);
	return 0;
}

void scontrol_ask_restarts(struct node *n, struct ended_job *e)
{
	static char states[] = "--states=all";
	char id[40];
	struct command c = { .node = n, .job = e->begin.job, .asked_ns = node_now_ns() };

	snprintf(id, sizeof(id), "--jobs=%" PRIu32, e->begin.job);
	e->asked_ns = c.asked_ns;
	e->is_asked = start_squeue(&c, states, id, on_restarts);
}

/* slurmctld answered, and has the job on no node, or another attempt of it. */
static int on_active(sd_event_source *s, const siginfo_t *si, void *userdata)
{
	struct command *c = userdata;
	struct job *j = job_find(c->node, c->job, c->attempt);
	uint32_t restarts;
	int is_listed = read_output(c->output, (uint32_t)c->job, &restarts);
	bool is_over = is_listed == 0 || (is_listed > 0 && (int64_t)restarts + 1 != c->attempt);

	log_failure(c->job, "squeue", si);
	if (si->si_code != CLD_EXITED || si->si_status)
		is_over = false;
	if (is_over && j && j->waits_until_ns == c->asked_ns)
		c->on_over(j);
	sd_event_source_unref(s);
	free(c);
	return 0;
}

/* All jobs that have nodes: of one that slurmctld does not know, squeue would end with an error as it does without an answer. */
void scontrol_ask_active(struct job *j, void (*on_over)(struct job *j))
{
	static char states[] =
		"--states=running,suspended,configuring,completing,stopped,resizing,signaling";
	struct command c = { .node = j->node,
			     .job = j->s.job,
			     .attempt = j->s.attempt,
			     .asked_ns = j->waits_until_ns,
			     .on_over = on_over };

	start_squeue(&c, states, NULL, on_active);
}
