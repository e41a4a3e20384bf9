/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views - the mount and IPC namespaces of the jobs of a node, kept for steps and sessions to enter.
 *
 * One process of root's, outside every job, keeps them as descriptors: `reeve-launch --views SOCKET` (agent/launch/views.c). The agent passes
 * a job's to it when the launcher asks for the plan, before any instruction of the user's. So they are never looked for among a user's
 * processes, which may have made namespaces of their own or, as a session that is just beginning, be in the node's. The kept namespaces
 * outlive the agent, count for no job, and are closed when the job's main process ends.
 *
 *	agent				KEEP job, and: its main process (pidfd), mount namespace, IPC namespace
 *	pam_reeve, waiter of a step	OPEN job
 *		<-			OPEN job, and its two namespaces; without them: none known
 *
 * A datagram each. Only root can reach the socket.
 */
#pragma once
#include <stdint.h>

struct err;

/* Below the agent's RunDirectory. The number changes with the format of the messages: a newer agent starts a process of its own, and the older one keeps its namespaces. */
#define VIEWS_SOCKET "views-1.sock"
#define VIEWS_NAME "reeve-views-1"
#define VIEWS_PATIENCE_S 10

struct views_id {
	int64_t job;
	int32_t attempt;
};

enum views_want { VIEWS_KEEP = 1, VIEWS_OPEN = 2 };
enum views_fd { VIEWS_MNT, VIEWS_IPC, VIEWS_MAIN }; /* order of the descriptors */

struct views_message {
	int64_t job;
	int32_t attempt;
	uint32_t want;
};

struct views_view {
	int mnt, ipc; /* -1: not open */
};
#define VIEWS_NONE ((struct views_view){ -1, -1 })
void views_close(struct views_view *v);

/* Passes the namespaces of a job on, whose main process is `main_fd` (pidfd); they stay the caller's. Never waits. -ENOENT, -ECONNREFUSED: no process
 * keeps views here; -EAGAIN: it is busy. */
int views_keep(const char *socket, struct views_id id, const struct views_view *v, int main_fd);
/* Waits up to VIEWS_PATIENCE_S. -ESRCH with words: the view of this job is not kept. */
int views_open(const char *socket, struct views_id id, struct views_view *ret, struct err *err);
/* Enters both. A failure leaves the process half inside: it must exit. */
int views_enter(const struct views_view *v, struct err *err);
