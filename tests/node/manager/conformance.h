/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance.h - one world for the laws of manager.h, whichever manager it is: the
 * manager under test, the agent's side of the launch socket, and what was heard of both.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "agent/enforce/final.h"
#include "agent/enforce/manager/manager.h"

#define HEARD_MAX 512

struct world {
	const struct manager_ops *ops;
	struct manager *m;
	struct manager_config config;
	sd_event *event;
	sd_bus *bus;
	char dir[128], socket[160], final_dir[160], spec_dir[160], work[160], disks[160];
	uid_t uid;
	gid_t gid;

	/* What the manager said. */
	struct heard {
		struct manager_id id;
		enum manager_order order;
		int result;
		bool is_gone; /* on_gone(), not on_done() */
	} heard[HEARD_MAX];
	int n_heard;
	bool is_ordering; /* inside an order: nothing may be said */
	bool said_inside;

	/* The gate. A job waits in front of it until let_through(). */
	int listen_fd;
	struct waiting {
		int fd;
		struct manager_id id;
		pid_t pid;
	} waiting[16];
	int n_waiting;
	const char *script; /* what the next jobs run */
	pid_t main_pid;	    /* of the last job that went through */
};

/* TAP. */
void ok(bool good, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void skip(const char *what, const char *why);
int tap_end(void);

/* argv: MANAGER LAUNCHER PARENT DIR UID. Ends the program when the world cannot be made. */
void world_open(struct world *w, char **argv);
void world_close(struct world *w);
void manager_start_up(struct world *w);
void manager_let_go(struct world *w);

/* Runs the event loop until `is_so` or the time is over; returns is_so(). */
typedef bool (*world_fn)(struct world *w, struct manager_id id);
bool until(struct world *w, int seconds, world_fn is_so, struct manager_id id);
void for_ms(struct world *w, int ms);
bool is_gone(struct world *w, struct manager_id id);
bool is_waiting(struct world *w, struct manager_id id);
/* Its cgroup is gone. */
bool is_swept(struct world *w, struct manager_id id);
bool has_record(struct world *w, struct manager_id id);

int count_gone(const struct world *w, struct manager_id id);
/* The oldest answer that was not looked at yet. 1: none came in time. */
int answer_to(struct world *w, struct manager_id id, enum manager_order order);

/* A job of these limits; the gate is shut for it until let_through(). */
struct manager_spec world_spec(struct world *w);
bool start(struct world *w, const struct manager_spec *spec);
bool let_through(struct world *w, struct manager_id id);
/* Started, let through, with this script. */
struct manager_id run(struct world *w, const char *script);
/* Ends it, whatever it does, and takes the record away. */
void clear(struct world *w, struct manager_id id);

const char *job_path(struct world *w, struct manager_id id);
/* What the job has written to its output; "" none yet. */
const char *output(struct world *w, struct manager_id id);
bool says(struct world *w, struct manager_id id, const char *text);
/* A file of the job's cgroup. "" when there is none. */
const char *value(struct world *w, struct manager_id id, const char *file);
