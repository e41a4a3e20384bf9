/* step_impl.h - the parts of the waiter (step.h), known to step*.c alone. */
#pragma once
#include <signal.h>
#include <sys/types.h>
#include "agent/launch/launch.h"
#include "agent/launch/step/step.h"

#define STEP_GROUPS_MAX 256

/* All that root opened and looked up for the child. */
struct step_entry {
	const struct step_spec *spec;
	const struct plan *plan;
	int null, out, err; /* onto 0, 1, 2 */
	int procs;	    /* cgroup.procs of the job */
	int view, ipc;	    /* its mount and IPC namespaces */
	int tell;	    /* the words of a failure, closed by exec */
	gid_t groups[STEP_GROUPS_MAX];
	int n_groups;
};
void step_entry_close(struct step_entry *e);

/* -EAGAIN: the job may not have `n` processes more. For who is attached is not refused by the
 * kernel, who forks is. */
int step_check_room(const char *cgroup, int n, struct err *err);
/* Opens and looks up; negative with the sentence for the user. */
int step_entry_open(struct step_entry *e, struct err *err);
/* The child: becomes the user's program, or tells why not. */
void step_become(struct step_entry *e) __attribute__((noreturn));

/* A descriptor of the namespace ("mnt", "ipc") in which the manager put the processes of
 * `cgroup`. -ESRCH: no process is there, or all made namespaces of their own. */
int step_view_open(const char *cgroup, const char *kind, struct err *err);

/* Signal every process of `cgroup` that descends from this one. Returns how many. */
int step_tree_signal(const char *cgroup, int sig);
