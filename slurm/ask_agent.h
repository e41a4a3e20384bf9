/* ask_agent.h - one question to the agent of this node, and its answer. */
#pragma once
#include "common/err.h"
#include "common/wire/slurm.h"

/* Waits at most `patience_s` for an agent that is being restarted, and as long for the answer. 0; -ENOENT, -ECONNREFUSED: no agent runs here; -ETIMEDOUT; -EPROTO: plugin
 * and agent are of different versions. Each with what to do in err. */
int ask_agent(const char *socket_path, const struct slurm_question *q, int patience_s,
	      struct slurm_answer *ret, struct err *err);
