/* exec_words - what `reeve exec` was asked to start where, of the words that were typed. */
#pragma once
#include "cli/cli.h"

struct exec_words {
	char **argv;  /* NULL-terminated */
	char **nodes; /* NULL-terminated; empty: not said */
	bool all;     /* every node of the job */
};

/* The caller frees with exec_words_done(), also after an error. -EINVAL. */
int exec_words_read(const struct verb_call *call, struct exec_words *ret, struct err *err);
void exec_words_done(struct exec_words *w);

/* --export: what the command gets of the caller's environment.
 * `job`: the job's own, which named variables are put on top of; NULL unless
 * exec_words_needs_job(). *ret is NULL where the job's own is to be used as it is. Variables
 * that are not UTF-8 are left out, which is said. */
struct exec_export {
	const char *typed; /* "none", "all", "PATH,HOME"; NULL: `usual` */
	bool is_inside;	   /* the caller is in the job: all is usual, else none */
};
bool exec_words_needs_job(const struct exec_export *e);
int exec_words_env(const struct exec_export *e, const json_t *job, json_t **ret,
		   struct err *err);
