/* SPDX-License-Identifier: GPL-2.0-or-later */
/* launch.h - the small program that runs inside a job's unit, in eight roles.
 *
 *	reeve-launch SOCKET			ask the agent for the plan, become the job
 *	reeve-launch --kill-as-one		before that: the OOM killer takes all of it (agents of 0.1.0; later ones
 *						do it themselves)
 *	reeve-launch --final DIR JOB ATTEMPT	write how the job ended, also without agent
 *	reeve-launch --supervise FILE		stand in for systemd where there is none
 *	reeve-launch --step FILE VIEWS		start a command in a job that runs (step.h)
 *	reeve-launch --step-waiter FD VIEWS	the same, once it is inside
 *	reeve-launch --views SOCKET		keep the namespaces of the node's jobs (common/views/views.h)
 *	reeve-launch --append SECONDS		append the end message to the job's error file (append.h)
 *
 * libc only: it starts fast and has little to go wrong.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "agent/launch/plan.h"

struct err;

/* What a launcher exits with that could not start the program; the reason goes to the agent. */
#define LAUNCH_EXIT_FAILED 125

/* Takes the plan's limits and executes its command; returns only with a reason. */
int launch_become(const struct plan *p, struct err *err);
/* Becomes the user's program, or stays until it is ended (PLAN_HOLD). Returns only
 * LAUNCH_EXIT_FAILED. */
int launch_main(const char *socket_path);

/* Opens output, changes directory; of a plan that holds: /dev/null, /. Negative: err has the
 * sentence for the user. */
struct launch_files {
	int out, err;
	struct plan_opened opened;
};
int launch_files_open(const struct plan *p, struct launch_files *ret, struct err *err);
/* Onto 0, 1 and 2; the descriptors are consumed. */
int launch_files_use(struct launch_files *f, struct err *err);
void launch_files_close(struct launch_files *f);

struct launch_user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups;
	size_t n_groups;
};
/* All user and group ids, without new privileges (setuid programs), without core files, with a
 * session keyring of its own. An error leaves the process half changed: it must exit. */
int launch_become_user(const struct launch_user *u, struct err *err);

/* Refuse for this process and all its children what `deny` (enum plan_deny) names.
 * -EOPNOTSUPP on an architecture without a table. */
int launch_seccomp(uint32_t deny, struct err *err);

/* How the main process ended, in systemd's words. */
struct launch_final_cause {
	const char *result;  /* success, exit-code, signal, oom-kill, timeout ... */
	const char *code;    /* exited, killed, dumped */
	const char *status;  /* "0" or "KILL" */
	const char *failure; /* why the launcher was not executed; NULL or "": it was */
};
struct launch_final_place {
	const char *dir, *cgroup; /* cgroup NULL: this process's own */
	int64_t job, attempt;
};
/* Writes DIR/JOB-ATTEMPT by rename. -errno with words. */
int final_write(struct launch_final_place at, struct launch_final_cause cause, struct err *err);
int final_write_main(char **argv);
/* memory.oom.group of this process's unit, where there is a memory controller. */
int launch_kill_as_one_main(void);

/* Keeps views until it is killed. 0 at once: another process does. */
int views_main(const char *socket);

/* Runs until the job of the spec is over and its final record written. */
int supervise_main(const char *spec_path);
