/* exec_args - the command, nodes and environment that `reeve exec` was given. */
#pragma once
#include "cli/cli.h"

struct exec_args {
	char **argv;  /* NULL-terminated */
	char **nodes; /* NULL-terminated; empty: not said */
	bool all;     /* every node of the job */
};

/* The caller frees with exec_args_done(), also after an error. -EINVAL. */
int exec_args_read(const struct verb_call *call, struct exec_args *ret, struct err *err);
void exec_args_done(struct exec_args *w);

/* --export: what the command gets of the caller's environment.
 * `job`: the job's own, which named variables are put on top of; NULL unless
 * exec_args_needs_job(). *ret is NULL where the job's own is to be used as it is. Variables
 * that are not UTF-8 are left out, which is said. */
struct exec_args_export {
	const char *typed; /* "none", "all", "PATH,HOME"; NULL: `usual` */
	bool is_inside;	   /* the caller is in the job: all is usual, else none */
};
bool exec_args_needs_job(const struct exec_args_export *e);
int exec_args_env(const struct exec_args_export *e, const json_t *job, json_t **ret,
		  struct err *err);
