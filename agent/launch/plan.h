/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plan.h - what the agent and the launcher inside a job say to each other.
 *
 * The launcher runs as the job's user in the job's unit before the user's program does, and
 * asks the agent for the plan. The agent answers only when every limit of the job stands, so
 * no instruction of the user runs unguarded; when the agent dies in between, the launcher
 * asks again and nothing has happened.
 *
 *	launcher	agent
 *	HELLO     ->
 *		  <-	PLAN (stream files as SCM_RIGHTS)
 *	OPENED    ->		what the output files turned out to be
 *		  <-	GO
 *	(the socket closes by exec), or FAILED -> <- GO (the agent has noted it)
 *
 * Of a job on several nodes one part runs the command. In the others the launcher itself stays:
 * with PLAN_HOLD it opens no files, closes the socket, and waits as the user in the job's cgroup
 * until it is ended. What is started there later is held to the same limits as it is.
 *
 * Both sides run on one host, so numbers are in host order. Both treat what comes as hostile:
 * sizes are bounded, texts end with the only NUL they hold, unknown types are errors.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define PLAN_VERSION 1
#define PLAN_SIZE_MAX (2 << 20)
#define PLAN_WORDS_MAX 65536 /* arguments and variables together */
#define PLAN_FAILED_MAX 1024

enum plan_frame {
	PLAN_HELLO = 1,	 /* uint32_t PLAN_VERSION */
	PLAN_PLAN = 2,	 /* fields */
	PLAN_OPENED = 3, /* struct plan_opened */
	PLAN_GO = 4,	 /* empty */
	PLAN_FAILED = 5, /* text, no NUL, at most PLAN_FAILED_MAX: why nothing was started */
};

struct plan_head {
	uint32_t type, size; /* size of what follows */
};

/* A PLAN is a row of fields, each a plan_head with one of these types and its value. */
enum plan_field {
	PLAN_ARG = 1,	    /* text, repeated */
	PLAN_ENV = 2,	    /* text NAME=value, repeated */
	PLAN_WORKDIR = 3,   /* absolute path */
	PLAN_SCRIPT = 4,    /* absolute path of the file to run; else argv[0] is looked up */
	PLAN_OUT = 5,	    /* absolute path; absent: the file comes as a descriptor */
	PLAN_ERR = 6,	    /* absent and no PLAN_STREAM: as PLAN_OUT */
	PLAN_STREAM = 7,    /* empty: stdout and stderr come as two descriptors */
	PLAN_RLIMIT_AS = 8, /* uint64_t bytes: backstop where the kernel side cannot refuse */
	PLAN_SECCOMP = 9,   /* uint32_t of enum plan_deny */
	PLAN_HOLD = 10,	    /* empty: nothing is run, the launcher stays */
};

enum plan_deny {
	PLAN_DENY_PROJECT = 1 << 0, /* changing the project id of files: the disk quota's key */
	PLAN_DENY_PTRACE = 1 << 1,  /* control of other processes and what they have open */
	PLAN_DENY_URING = 1 << 2,   /* io_uring: its polling thread uses every core */
};

struct plan_file {
	uint64_t dev, ino;
};
struct plan_opened {
	struct plan_file out, err;
};

struct plan {
	char **argv, **env; /* NULL-terminated; the words point into the payload */
	const char *workdir, *script, *out, *err;
	bool stream, hold;
	uint64_t rlimit_as; /* 0: none */
	uint32_t deny;
};

/* `payload` must stay while the plan is used. -EBADMSG: what is wrong; -ENOMEM. */
int plan_decode(const char *payload, size_t size, struct plan *ret, struct err *err);
void plan_done(struct plan *p);
