/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submission - builds a job request from the command line, the script and the environment. */
#pragma once
#include "cli/cli.h"
#include "common/model/request.h"

/* The options that `submit` and `run` share; `cost` and `prio` have the first group. */
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
#define SUBMISSION_OPTIONS                                                                       \
	SUBMISSION_RESOURCE_OPTIONS,                                                             \
		{ "name", 'N', "NAME", "name of the job; default: the script's or program's",    \
		  NULL },                                                                        \
		{ "workdir", 'd', "DIR", "directory to start in; default: this one", NULL },     \
		{ "immediate", 'I', "[=SECONDS]",                                                \
		  "end the job with the reason instead of waiting in the queue: unless it can "  \
		  "start now, or within so many seconds",                                        \
		  NULL },                                                                        \
		{ "vmem-action", 0, "kill|enomem",                                               \
		  "when vmem is exceeded: kill the job (default), or let the allocation "        \
		  "fail with ENOMEM",                                                            \
		  "kill enomem" },                                                               \
		{ "env", 0, "NAME[=VALUE]",                                                      \
		  "set a variable for the job, or pass on the value here; may be given several " \
		  "times",                                                                       \
		  NULL },                                                                        \
	{                                                                                        \
		"export", 0, "all|none",                                                         \
			"pass on the whole environment, or only what --env names; default: "     \
			"HOME, USER, LOGNAME, PATH, SHELL and LANG",                             \
			"all none"                                                               \
	}

/* Mails about the job, of the verbs that submit one. */
#define MAIL_OPTIONS                                                                            \
	{ "mail-type", 0, "TYPE,...",                                                           \
	  "send mails, as in Slurm: BEGIN, END, FAIL, REQUEUE, ALL (these four), NONE; LIMIT "  \
	  "(it exceeded a limit), TIME_LIMIT (its walltime), TIME_LIMIT_80 (80 % of its "       \
	  "walltime have passed; _50, _90); of an array one each, or with ARRAY_TASKS one for " \
	  "each task",                                                                          \
	  "BEGIN END FAIL REQUEUE ALL NONE LIMIT TIME_LIMIT TIME_LIMIT_50 TIME_LIMIT_80 "       \
	  "TIME_LIMIT_90 ARRAY_TASKS" },                                                        \
		{ "mail-user", 'M', "ADDRESS,...", "where to; default: yours at this site",     \
		  NULL },                                                                       \
	{                                                                                       \
		"mail-points", 'm', "abe|n",                                                    \
			"the same as in PBS: a (FAIL), b (BEGIN), e (END), n (none)", NULL      \
	}

/* Fills *r for `submit` and `run`: from the configuration, then the script's lines, then the
 * options. The caller has called request_init() and calls request_done(), also after an error.
 * Ignored script lines are listed on stderr. -EINVAL: unreadable script, bad line or option, text
 * that is not UTF-8. */
int submission_read(const struct cli *c, const struct verb_call *call, struct request *r,
		    struct err *err);
/* The same for `cost`: options, and the lines of a script if one is given; neither command nor
 * environment. */
int submission_read_resources(const struct cli *c, const struct verb_call *call,
			      struct request *r, struct err *err);
/* Of a job that was submitted with --immediate: waits until it has started or ended. 0: it has started, and ended perhaps; -ECANCELED:
 * it was not, err says why. */
int submission_wait_start(struct cli *c, int64_t job, struct err *err);
/* Submits the request; prints the controller's note, if any, on stderr. */
int submission_send(struct cli *c, const struct request *r, int64_t *ret_job, struct err *err);
