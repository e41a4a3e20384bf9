/* cgroup_unit.h - a job of the cgroup manager as it is followed from start to end, and
 * the answers to orders, which the event loop gives as systemd would. Known to
 * manager_cgroup*.c alone.
 *
 * The agent follows each supervisor by pidfd, and a job by its cgroup.events while it is to be
 * frozen or thawed or has no supervisor. A supervisor
 * that ends leaves the final record; the agent, now or when it comes back, removes the cgroup
 * and tells. A supervisor that is killed takes the exit status with it, but not the job: that
 * goes on, and its record is written without a status when its cgroup is empty.
 */
#pragma once
#include <systemd/sd-event.h>
#include "agent/enforce/manager/manager.h"
#include "agent/enforce/manager/cgroup/tree.h"

enum unit_stage {
	UNIT_SUPERVISED, /* a supervisor sees to it */
	UNIT_EMPTYING,	 /* its supervisor was killed: until its processes are gone */
	UNIT_RECORDING,	 /* reeve-launch --final runs in it */
	UNIT_REMOVING,
};

struct unit {
	struct unit *next;
	struct manager *m;
	struct manager_id id;
	char *path, *spec; /* owned: cgroup, supervisor's spec */
	enum unit_stage stage;
	int pid_fd; /* of the supervisor or of the recorder; -1 */
	sd_event_source *over, *changed, *later, *patience;
	enum manager_order awaited; /* FREEZE or THAW, so many times */
	int n_awaited;
	sd_event_source *begins;
	int n_starts; /* so many await that the job begins */
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
};

/* unit_answer_open() before any other; unit_answer_close() forgets what is due. */
int unit_answer_open(struct manager *m);
void unit_answer_close(struct manager *m);
int unit_answer_later(struct manager *m, struct unit_answer what, struct err *err);
/* -ESRCH, as systemd says of a unit that it does not know. */
int unit_answer_gone(struct manager *m, struct manager_id id, enum manager_order order,
		     struct err *err);

struct unit *unit_find(struct manager *m, struct manager_id id);
/* Follows a job whose cgroup or spec exists. */
int unit_new(struct manager *m, struct manager_id id, struct unit **ret, struct err *err);
/* Lets go of it; the job stays as it is. */
void unit_drop(struct unit *u);
/* Takes the pidfd of its supervisor. -errno. */
int unit_follow(struct unit *u, int pid_fd);
/* Finds out, from the event loop, how far the job is. -errno. */
int unit_look_later(struct unit *u, uint64_t delay_us);
/* Answers when the supervisor has taken the job on, so that it cannot be lost any more, or has
 * ended without. */
int unit_await_begin(struct unit *u, struct err *err);
/* Answers when the job is frozen or thawed, or cannot be within a minute. */
int unit_await(struct unit *u, enum manager_order order, struct err *err);

const char *unit_spec_path(const struct manager *m, struct manager_id id,
			   char buf[static MANAGER_PATH_MAX]);
bool unit_has_record(const struct manager *m, struct manager_id id);
