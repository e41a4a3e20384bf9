/* exec_output - the output of several steps of a job that follow one another, over one
 * connection, each to a writer of its own.
 */
#pragma once
#include "cli/client/follow.h"
#include "cli/output/writer.h"

enum { EXEC_OUT, EXEC_ERR, EXEC_STREAMS };

struct exec_output {
	int64_t job, first; /* the first step */
	size_t n;
	struct writer (*writers)[EXEC_STREAMS]; /* of each step */
	int64_t since;				/* 0 at the beginning */
	struct follow *follow;
	void (*done)(void *ctx, int result, const struct err *err);
	void *ctx;
};

int exec_output_start(const struct cli *c, struct exec_output *o, struct err *err);
/* What is left of lines is written; the writers are the caller's. */
void exec_output_done(struct exec_output *o);
