/* submission - a request as the command line, the script and the environment make it. */
#pragma once
#include "cli/cli.h"
#include "common/model/request.h"

/* What the options of `submit` and `run` have in common, for their tables. */
#define SUBMISSION_RESOURCE_OPTIONS                                                            \
	{ "resources", 'l', "LIST",                                                            \
	  "what the job needs: ncpus=4,vmem=2GB,jobfs=500MB,walltime=0:10:00 (also mem, "      \
	  "ngpus=1 or ngpus=a100:1, pids, nodetype=, features=); on several nodes in chunks: " \
	  "select=2:ncpus=16:vmem=32GB (and place=scatter, excl: each on a node of its own, "  \
	  "whole nodes); may be given several times",                                          \
	  NULL },                                                                              \
		{ "queue", 'q', "NAME", "queue to join", NULL },                               \
		{ "qos", 0, "NAME",                                                            \
		  "quality of service; default: the account's, if it has "                     \
		  "one",                                                                       \
		  NULL },                                                                      \
		{ "account", 'A', "NAME", "account that is charged", NULL },                   \
	{                                                                                      \
		"cluster", 'C', "NAME", "cluster to run on", NULL                              \
	}
#define SUBMISSION_OPTIONS                                                                     \
	SUBMISSION_RESOURCE_OPTIONS,                                                           \
		{ "name", 'N', "NAME", "name of the job; default: the script's or program's",  \
		  NULL },                                                                      \
		{ "workdir", 'd', "DIR", "directory to start in; default: this one", NULL },   \
		{ "vmem-action", 0, "kill|enomem",                                             \
		  "what exceeding vmem does: end the job (kill, default), or let the call "    \
		  "fail (enomem)",                                                             \
		  "kill enomem" },                                                             \
		{ "env", 0, "NAME[=VALUE]",                                                    \
		  "set a variable for the job, or hand on this one; may be given several "     \
		  "times",                                                                     \
		  NULL },                                                                      \
	{                                                                                      \
		"export", 0, "all|none",                                                       \
			"hand on the whole environment, or only what --env names; default: "   \
			"HOME, USER, LOGNAME, PATH, SHELL and LANG",                           \
			"all none"                                                             \
	}

/* Fill *r (request_init()ed; the caller owns what it holds, also after an error) for `submit`
 * and `run`: configuration, then the script's lines, then the options. Tells on stderr which
 * script lines mean nothing here. -EINVAL: unreadable script, bad line or option, text that is
 * not UTF-8. */
int submission_read(const struct cli *c, const struct verb_call *call, struct request *r,
		    struct err *err);
/* Only what decides the price: options, and the lines of a script where one is named. */
int submission_read_resources(const struct cli *c, const struct verb_call *call,
			      struct request *r, struct err *err);
/* Submits the request. */
int submission_send(struct cli *c, const struct request *r, int64_t *ret_job, struct err *err);
