/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scontrol.c - start scontrol and scancel as children of the agent; see scontrol.h. */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "agent/slurm/scontrol.h"
#include "common/log.h"

/* A child that runs. The job may be gone when it ends: it is found by its id, not by a pointer. */
struct command {
	struct node *node;
	int64_t job;
	int32_t attempt;
	bool is_comment;
};

static int on_child(sd_event_source *s, const siginfo_t *si, void *userdata)
{
	struct command *c = userdata;
	struct job *j = job_find(c->node, c->job, c->attempt);

	if (si->si_code != CLD_EXITED || si->si_status)
		log_job(LOG_WARNING, c->job, "slurm", "%s ended with status %d",
			c->is_comment ? "scontrol update" : "scancel", si->si_status);
	if (j && c->is_comment)
		j->is_commenting = false;
	sd_event_source_unref(s);
	free(c);
	return 0;
}

/* The environment is PATH alone: Slurm finds its own configuration. 0: `c` belongs to on_child(); < 0: to the
 * caller still. */
static int spawn_command(struct command *c, char *const *argv)
{
	static char path[] = "PATH=/usr/bin:/bin:/usr/local/bin";
	char *env[] = { path, NULL };
	posix_spawnattr_t attr;
	sd_event_source *s;
	sigset_t none;
	pid_t pid;
	int r;

	sigemptyset(&none); /* the agent blocks the signals that its event loop reads */
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	r = -posix_spawnp(&pid, argv[0], NULL, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	return r < 0 ? r : sd_event_add_child(c->node->event, &s, pid, WEXITED, on_child, c);
}

/* Never waited for. A failure is logged, and the job goes on without it. */
static bool start_command(struct job *j, bool is_comment, char *const *argv)
{
	struct command *c = malloc(sizeof(*c));
	int r = -ENOMEM;

	if (c) {
		*c = (struct command){ j->node, j->s.job, j->s.attempt, is_comment };
		r = spawn_command(c, argv);
	}
	if (r < 0) {
		log_job(LOG_WARNING, j->s.job, "slurm", "cannot run %s: %s", argv[0],
			strerror(-r));
		free(c);
	}
	return r >= 0;
}

/* One argument, no shell: the text may have any characters. */
void scontrol_comment(struct job *j, const char *text)
{
	static char scontrol[] = "scontrol", update[] = "update";
	char id[40], comment[1200];
	char *argv[] = { scontrol, update, id, comment, NULL };

	snprintf(id, sizeof(id), "JobId=%" PRId64, j->s.job);
	snprintf(comment, sizeof(comment), "AdminComment=%.*s", (int)strcspn(text, "\n"), text);
	j->is_commenting = start_command(j, true, argv);
}

void scontrol_cancel(struct job *j)
{
	static char scancel[] = "scancel", quiet[] = "--quiet";
	char id[24];
	char *argv[] = { scancel, quiet, id, NULL };

	snprintf(id, sizeof(id), "%" PRId64, j->s.job);
	start_command(j, false, argv);
}
