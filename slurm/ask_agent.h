/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask_agent.h - one question to the agent of this node, and its answer. */
#pragma once
#include "common/err.h"
#include "common/wire/slurm.h"

/* Waits at most `patience_s` for an agent that is being started or restarted, and as long for the answer. Where the agent is killed or
 * restarted before it answers, asks again within the same time, ASK_TRIES times in all. 0; -ENOENT, -ECONNREFUSED: no agent runs here;
 * -ETIMEDOUT; -ECONNRESET: each try ended without an answer, also where the agent cannot read the question; -EPROTO: plugin and agent are of
 * different versions. Each with what to do in err. */
#define ASK_TRIES 3
int ask_agent(const char *socket_path, const struct slurm_question *q, int patience_s,
	      struct slurm_answer *ret, struct err *err);

/* The two halves of one try, for a caller that has other work to do while the agent prepares the answer. The descriptor that the first
 * one returns is the second one's to close. */
int ask_agent_send(const char *socket_path, const struct slurm_question *q, int patience_s,
		   struct err *err);
int ask_agent_receive(int fd, struct slurm_answer *ret, struct err *err);
