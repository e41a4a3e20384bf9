/* gate.h - where launchers ask for their plan: nothing of the user runs before the answer,
 * and the answer comes only when every guard of the job stands.
 *
 * Who asks is told by the kernel (SO_PEERCRED, then the cgroup of that process), never by what
 * it says. Only the launcher of a job that has not begun gets an answer.
 */
#pragma once
#include "agent/job/job.h"

struct handshake_server;

int handshake_server_open(struct node *n, struct handshake_server **ret, struct err *err);
struct handshake_server *handshake_server_close(struct handshake_server *k);
/* The job is over or freed: its talk, if any, ends. */
void handshake_drop(struct job *j);
