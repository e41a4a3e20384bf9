/* SPDX-License-Identifier: GPL-2.0-or-later */
/* handshake.h - the launcher handshake: a launcher asks for its plan. Nothing of the user runs before the answer, and
 * the answer is sent only when all limits of the job are in force.
 *
 * The kernel tells which job the peer belongs to (SO_PEERCRED, then the cgroup of that process), never the peer
 * itself. Only the launcher of a job that has not started gets an answer.
 */
#pragma once
#include "agent/job/job.h"

struct handshake_server;

int handshake_server_open(struct node *n, struct handshake_server **ret, struct err *err);
struct handshake_server *handshake_server_close(struct handshake_server *k);
/* The job has ended or is freed: close its handshake, if any. */
void handshake_drop(struct job *j);
