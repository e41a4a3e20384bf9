/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unit.h - a job of the cgroup manager, followed from start to end, and the answers to orders,
 * which come from the event loop as systemd's do. Private to agent/enforce/manager/cgroup/.
 *
 * The agent follows each supervisor by pidfd, and a job by its cgroup.events while it is to be
 * frozen or thawed or has no supervisor. A supervisor that ends has written the final record; the
 * agent, then or after its restart, removes the cgroup and calls on_gone(). If a supervisor is
 * killed, the exit status is lost, but the job goes on: its record is written without a status
 * when its cgroup is empty.
 */
#pragma once
#include <systemd/sd-event.h>
#include "agent/enforce/manager/manager.h"
#include "agent/enforce/manager/cgroup/supervisor.h"
#include "agent/enforce/manager/cgroup/tree.h"

enum unit_stage {
	UNIT_SUPERVISED, /* a supervisor waits for the job's end */
	UNIT_EMPTYING,	 /* its supervisor was killed: until the job's processes are gone */
	UNIT_RECORDING,	 /* reeve-launch --final runs in the cgroup */
	UNIT_REMOVING,	 /* the record is written: the cgroup is to be removed */
};

struct unit {
	struct unit *next;
	struct manager *m;
	struct manager_id id;
	char *path, *spec; /* owned: cgroup, supervisor's spec */
	enum unit_stage stage;
	int pid_fd;		    /* of the supervisor or of the recorder; -1 */
	sd_event_source *over;	    /* the end of the process behind pid_fd */
	sd_event_source *changed;   /* cgroup.events */
	sd_event_source *later;	    /* unit_check_later() */
	sd_event_source *patience;  /* timeout of the order that is awaited */
	enum manager_order awaited; /* FREEZE or THAW */
	int n_awaited;		    /* how many such orders are to be answered */
	sd_event_source *begins;    /* the spec's mode: the job has begun */
	int n_starts;		    /* how many starts are to be answered */
};

struct unit_answer {
	struct unit_answer *next;
	struct manager_id id;
	enum manager_order order;
	int result;
	struct err err;
};

struct manager {
	struct manager_config c;
	struct tree tree;
	/* The configured directory, and in it: jobs, supervisors. */
	char top[MANAGER_PATH_MAX], parent[MANAGER_PATH_MAX], supervisors[MANAGER_PATH_MAX];
	char status[2048];
	struct unit *units;
	struct unit_answer *answers; /* that are due */
	sd_event_source *defer;
	struct supervisor_groups groups;
};

/* unit_answer_open() comes first; unit_answer_close() drops the answers that are due. */
int unit_answer_open(struct manager *m);
void unit_answer_close(struct manager *m);
int unit_answer_later(struct manager *m, struct unit_answer what, struct err *err);
/* -ESRCH, as systemd says of a unit that it does not know. */
int unit_answer_gone(struct manager *m, struct manager_id id, enum manager_order order,
		     struct err *err);

struct unit *unit_find(struct manager *m, struct manager_id id);
/* Follows a job whose cgroup or spec exists. */
int unit_new(struct manager *m, struct manager_id id, struct unit **ret, struct err *err);
/* Frees the unit; the job stays as it is. */
void unit_drop(struct unit *u);
/* Takes the pidfd of its supervisor. -errno. */
int unit_follow(struct unit *u, int pid_fd);
/* Checks from the event loop, after a delay, at which stage the job is. -errno. */
int unit_check_later(struct unit *u, uint64_t delay_us);
/* Answers a start when the supervisor has begun the job, which is then safe without the agent, or
 * has ended without doing so. */
int unit_await_begin(struct unit *u, struct err *err);
/* Answers when the job is frozen or thawed, or cannot be within a minute. */
int unit_await(struct unit *u, enum manager_order order, struct err *err);

const char *unit_spec_path(const struct manager *m, struct manager_id id,
			   char buf[static MANAGER_PATH_MAX]);
bool unit_has_record(const struct manager *m, struct manager_id id);
