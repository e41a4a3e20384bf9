/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec_output - follows the output of the steps of one `reeve exec` (one step a node, numbered
 * without gaps) over one connection, and passes each step's output to its own writer.
 */
#pragma once
#include "cli/client/follow.h"
#include "cli/output/writer.h"

enum { EXEC_OUT, EXEC_ERR, EXEC_STREAMS };

struct exec_output {
	int64_t job, first; /* the first step */
	size_t n;
	struct writer (*writers)[EXEC_STREAMS]; /* of each step */
	int64_t since; /* where the next request continues; 0 at first */
	struct follow *follow;
	void (*done)(void *ctx, int result, const struct err *err);
	void *ctx;
};

/* The caller has set all but `since` and `follow`. done() is called once, at the end of all steps
 * or after an error. */
int exec_output_start(const struct cli *c, struct exec_output *o, struct err *err);
/* Writes incomplete lines and closes the connection; the caller frees `writers`. */
void exec_output_done(struct exec_output *o);
