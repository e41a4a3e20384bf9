/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_impl.h - the parts of the waiter (step.h), for the files of this folder. */
#pragma once
#include <signal.h>
#include <sys/types.h>
#include "agent/launch/launch.h"
#include "agent/launch/step/step.h"
#include "common/views/views.h"

#define STEP_GROUPS_MAX 256

/* All that root opened and looked up for the child. */
struct step_entry {
	const struct step_spec *spec;
	const struct plan *plan;
	const char *views;  /* socket */
	int null, out, err; /* onto 0, 1, 2; of an interactive step the ends of its console */
	bool is_pty;	    /* `null` is to be the controlling terminal */
	int procs;	    /* cgroup.procs of the job */
	struct views_view view;
	int tell; /* pipe for the message of a failure; closed by exec */
	gid_t groups[STEP_GROUPS_MAX];
	int n_groups;
};
void step_entry_close(struct step_entry *e);

/* -EAGAIN: pids.max of the job leaves no room for `n` processes more. Checked here, since the kernel
 * refuses a fork beyond pids.max but not a process that is attached. */
int step_check_room(const char *cgroup, int n, struct err *err);
/* Opens the files and namespaces and looks up the groups; < 0 with a sentence for the user. The caller
 * calls step_entry_close() in both cases. */
int step_entry_open(struct step_entry *e, struct err *err);
/* In the child: becomes the user's program, or writes the reason to e->tell and exits. */
void step_become(struct step_entry *e) __attribute__((noreturn));

/* step/nettle.c: the functions that make the codes of an interactive step; before step_console_open(). */
int step_nettle_load(struct err *err);

/* Signal every process of `cgroup` that descends from this one. Returns how many. */
int step_tree_signal(const char *cgroup, int sig);
