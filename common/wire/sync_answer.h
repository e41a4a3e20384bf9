/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_answer - the answer to POST /v1/node/sync (docs/protocol.md): what a node may forget, and
 * what it should have and do.
 *
 * The one declaration of the document, for the controller, which encodes it, and for the agent,
 * which decodes it: a member here and its row in sync_answer.c.
 */
#pragma once
#include "common/wire/sync.h"

/* A report, and all of its attempt before it, is committed. */
struct sync_ack {
	int64_t job, seq;
	int32_t attempt;
};

/* The controller has all of the stream before `offset`. */
struct sync_output_ack {
	int64_t job, step, offset; /* step 0: the job's own */
	int32_t attempt;
	enum sync_stream stream;
};

/* The node is to kill and forget the attempt. */
struct sync_refusal {
	int64_t job;
	int32_t attempt;
	char why[512];
};

struct sync_desired_job {
	int64_t job;
	int32_t attempt;
	enum job_desired want;
	char *reason;	  /* of a cancel; NULL: none */
	json_t *request;  /* of wire_encode_request(); NULL: the node has the job */
	char *credential; /* what its user signed of it; NULL: nothing */
};

enum sync_step_want { SYNC_STEP_RUN, SYNC_STEP_CANCEL };

struct sync_desired_step {
	struct sync_step_id id;
	enum sync_step_want want;
	/* An object with the keys of struct sync_command. Encoded: NULL for a step that the node
	 * has. Decoded: the element itself, also where it has none of these keys. */
	json_t *command;
};

struct sync_answer {
	char ledger[SYNC_LEDGER_MAX]; /* its number; "": an older controller */
	int64_t restored_ns;	      /* when it was restored from a backup; 0: never */
	struct sync_ack *acks;
	struct sync_output_ack *output_acks;
	struct sync_refusal *refusals;
	struct sync_step_id *step_acks; /* ends that are committed */
	struct sync_desired_job *jobs;
	struct sync_desired_step *steps;
	size_t n_acks, n_output_acks, n_refusals, n_step_acks, n_jobs, n_steps;
};

/* A whole document, owned by the caller. -ENOMEM. */
int sync_answer_encode(const struct sync_answer *a, json_t **ret, struct err *err);
/* Into *ret, which needs sync_answer_done() after 0. Requests and commands are not looked into:
 * one that cannot be read must not stop the rest. -EINVAL with the path of the bad key, -ENOMEM. */
int sync_answer_decode(const json_t *doc, struct sync_answer *ret, struct err *err);
void sync_answer_done(struct sync_answer *a);

/* How the user reaches a step: not at all, by pipes, by a terminal. */
enum sync_console { SYNC_CONSOLE_NONE, SYNC_CONSOLE_PIPES, SYNC_CONSOLE_PTY };
/* The fate of a step whose user's terminal is lost. */
enum sync_hangup { SYNC_HANGUP_END, SYNC_HANGUP_KEEP };
#define SYNC_CONSOLE_SIDE_MAX 1000 /* rows, columns */

/* How a step is connected with its user and its job. */
struct sync_terminal {
	int32_t console;    /* SYNC_CONSOLE_... */
	int32_t on_hangup;  /* SYNC_HANGUP_... */
	int64_t rows, cols; /* of a terminal at first; 0: not known */
	bool is_main;	    /* the job ends when the step does, as it did */
};
/* Its keys within an object; those that are absent are 0. -EINVAL with the key. */
int sync_terminal_decode(const json_t *j, struct sync_terminal *ret, struct err *err);

/* The command of a step. */
struct sync_command {
	char **argv;	  /* NULL-terminated, with a program; NULL: there is no command */
	char **env;	  /* NAME=value; NULL: the job's */
	char *workdir;	  /* absolute; NULL: the job's */
	char *credential; /* what its user signed of it; NULL: nothing */
	struct sync_terminal terminal;
};

/* -EINVAL: it cannot be run, why; -ENOMEM. *ret needs sync_command_done(), also then. */
int sync_command_decode(const json_t *j, struct sync_command *ret, struct err *err);
void sync_command_done(struct sync_command *c);
