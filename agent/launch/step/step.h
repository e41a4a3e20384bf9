/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step.h - the waiter of a step: starts a command inside a job that runs already (`reeve exec`) and
 * records its end.
 *
 * The agent does not fork it: the restrictions of the agent's own unit (system calls, capabilities,
 * address families) would apply to the user's program too. The manager starts `reeve-launch --step SPEC VIEWS` as root, outside the job and
 * without a sandbox: the waiter. It
 *
 * - claims the spec: by a lock (fcntl) that it holds as long as it lives, and by taking away
 *   the file's write permission, so that nothing is ever started twice;
 * - joins the cgroup "waiters" beside the job's "work", so that the job is charged for it: its
 *   memory and its process count against memory.max and pids.max of the unit. It executes itself
 *   there, so that none of its memory stays charged to the cgroup it came from;
 * - opens all that root must open: output files, the job's mount and IPC namespaces (common/views/views.h), its
 *   cgroup;
 * - forks the child, waits for it, and writes how it ended by rename, as the last thing.
 *
 * The child, in this order: enters the job's cgroup "work" by attaching itself, so that every
 * counter and limit covers it before it runs a program; enters the job's IPC and mount namespaces, those that the manager
 * made; opens nothing there as root, but becomes the user for good; and only then changes directory, takes the
 * plan's limits and executes. The waiter itself enters no namespace or cgroup of the
 * user, cannot be signalled or traced by the job, and its address space does not count as the job's
 * vmem. cgroup.kill of "work" and the OOM killer spare it: it writes how the step ended. It is
 * frozen while the job is suspended.
 *
 * An interactive step has pipes or a pseudo-terminal instead of files and /dev/null (console.h), whose other ends the waiter
 * holds: the terminal is the controlling one of the child, which leads its session.
 *
 * SIGTERM to the waiter ends the step: SIGTERM to all that descend from it, in any
 * session (the waiter is their subreaper), SIGKILL after `grace_s`. Processes that a step's command leaves
 * behind when it ends by itself continue in the job and end with it.
 */
#pragma once
#include <stdint.h>
#include "agent/launch/plan.h"

#define STEP_VERSION 1	    /* of the end */
#define STEP_SPEC_VERSION 3 /* of the spec */
#define STEP_SPEC_SAME 2    /* since this version all that the agent reads has its place */
#define STEP_PATH_MAX 1024
#define STEP_TEXT_MAX 256

/* How the user reaches a step: not at all (input is /dev/null, output goes to files), by pipes, or by a terminal. */
enum step_console_kind { STEP_CONSOLE_NONE, STEP_CONSOLE_PIPES, STEP_CONSOLE_PTY };

/* The spec: a file of root's with this, and behind it the fields of a PLAN (plan.h) with
 * PLAN_STREAM. Texts end with NUL. */
struct step_spec {
	uint32_t version;
	int32_t attempt;
	int64_t job, number;
	uint32_t uid, gid;
	int64_t grace_s;
	char cgroup[STEP_PATH_MAX];		     /* where the job's processes are */
	char out[STEP_PATH_MAX], err[STEP_PATH_MAX]; /* to be made; the user's then */
	char end[STEP_PATH_MAX];		     /* what is written at the end */
	uint32_t console;			     /* enum step_console_kind */
	uint32_t rows, cols;			     /* of a terminal at first; 0: not known */
	uint32_t is_main;	    /* for the agent: the job ends with this step */
	char socket[STEP_PATH_MAX]; /* of the console (console.h); "": none */
	uint64_t
		begin_ns; /* when its user signed it: no terminal of it began earlier; 0: not known */
	uint32_t keeps; /* it continues when its terminal is lost */
};

/* The end: a file of root's with this. */
struct step_end {
	uint32_t version;
	int32_t exit_status;	  /* -1: none */
	int32_t signal;		  /* 0: none */
	char text[STEP_TEXT_MAX]; /* why nothing was started; "" */
};

/* Beside the cgroup of the job's processes. */
#define STEP_WAITERS "waiters"

/* Claims the spec and joins the job. `views`: the socket for requests of the jobs' namespaces. Returns the exit status: 0 also when
 * there is nothing to do; does not return when the waiter goes on as step_wait_main(). */
int step_main(const char *spec_path, const char *views);
/* The waiter, in the job: "FD" is the spec, claimed. Returns its exit status. */
int step_wait_main(const char *fd, const char *views);
