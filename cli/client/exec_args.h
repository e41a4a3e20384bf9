/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exec_args - the command, nodes and environment from the arguments of `reeve exec`. */
#pragma once
#include "cli/cli.h"

struct exec_args {
	char **argv;  /* NULL-terminated */
	char **nodes; /* NULL-terminated; NULL: none were named */
	bool all;     /* every node of the job */
};

/* The caller zeroes *ret, and calls exec_args_done() also after an error. -EINVAL. */
int exec_args_read(const struct verb_call *call, struct exec_args *ret, struct err *err);
void exec_args_done(struct exec_args *w);

/* --export: the environment of the command.
 *
 * `job` is the job's document, whose environment named variables replace; it is needed only
 * where exec_args_needs_job(). *ret is an array of "NAME=VALUE", or NULL where the job's
 * environment is used unchanged. Variables that are not UTF-8 are left out, with a warning on
 * stderr. */
struct exec_args_export {
	const char *typed; /* "none", "all", "PATH,HOME"; NULL: the default */
	bool is_inside;	   /* this process is in the job: the default is all, else none */
};
bool exec_args_needs_job(const struct exec_args_export *e);
int exec_args_env(const struct exec_args_export *e, const json_t *job, json_t **ret,
		  struct err *err);
