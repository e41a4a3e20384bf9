/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signature - what users sign of what they ask for, and what that allows.
 *
 * `reeve` seals (common/auth/auth.h) the statement of a job or a step: what runs, where, with which
 * amounts. Only root of a node can read it, and it cannot be changed. The controller stores it as
 * an opaque text and sends it to the node; the node starts only what the statement allows, so a
 * controller in an attacker's hands cannot make a node run what no user asked for.
 *
 * A script, arguments and environment are in the statement by their SHA-256. What a site
 * decides is not: node, start, the amounts and names that the user left out. A task
 * of an array is allowed by the array's statement, a part of a job on several nodes by the
 * job's.
 *
 * Statements are JSON: {"schema", "kind": "job", "nonce", "command", "env", "request": {...}}
 * and
 * {"schema", "kind": "step", "nonce", "job", "nodes": [...], "command", "env", "workdir",
 * "console", "on_hangup", "rows", "cols", "main"}, from "env" on if they were stated, and,
 * sealed by each terminal that is attached to an interactive step,
 * {"schema", "kind": "console", "nonce", "job", "step", "began_ns", "key"}.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/request.h"
#include "common/wire/sync_answer.h"

struct err;

#define SIGNATURE_NONCE_MAX 33	/* 16 random bytes in hexadecimal, with the NUL */
#define SIGNATURE_DIGEST_MAX 65 /* a SHA-256 in hexadecimal, with the NUL */
/* A job with -r y is started at most this often. */
#define SIGNATURE_ATTEMPTS_MAX 1001

struct signature_job {
	char nonce[SIGNATURE_NONCE_MAX];
	char command[SIGNATURE_DIGEST_MAX], env[SIGNATURE_DIGEST_MAX];
	struct request asked; /* without script, arguments, environment, dependencies */
};

struct signature_step {
	char nonce[SIGNATURE_NONCE_MAX];
	char command[SIGNATURE_DIGEST_MAX], env[SIGNATURE_DIGEST_MAX]; /* env "": the job's */
	int64_t job;
	char *workdir; /* NULL: the job's */
	char **nodes;  /* NULL-terminated */
	struct sync_terminal terminal;
};

#define SIGNATURE_KEY_SIZE 32				/* SEAL_KEY_SIZE of common/seal */
#define SIGNATURE_KEY_TEXT (2 * SIGNATURE_KEY_SIZE + 1) /* in hexadecimal, with the NUL */

/* The key that authenticates input and output between a terminal and the node. */
struct signature_console {
	int64_t job, step;
	int64_t began_ns; /* real time on the terminal's host: the later of two takes over */
	uint8_t key[SIGNATURE_KEY_SIZE];
};

/* ---- encoding (reeve) ---- */

/* The statement of a request as it is to be sent, with a nonce of its own. malloc()ed. */
int signature_encode_job(const struct request *r, char **ret, struct err *err);
/* Of the body of a POST /v1/jobs/JOB/steps. */
int signature_encode_step(int64_t job, const json_t *body, char **ret, struct err *err);

int signature_encode_console(const struct signature_console *s, char **ret, struct err *err);

/* ---- decoding (agent) ---- */

/* -EINVAL: no statement of that kind. *ret is to be given to .._done() after 0. */
int signature_decode_job(const char *text, size_t size, struct signature_job *ret,
			 struct err *err);
int signature_decode_step(const char *text, size_t size, struct signature_step *ret,
			  struct err *err);
int signature_decode_console(const char *text, size_t size, struct signature_console *ret,
			     struct err *err);
void signature_job_done(struct signature_job *s);
void signature_step_done(struct signature_step *s);

/* ---- checking (agent) ---- */

/* A job as a node is to run it. */
struct signature_given {
	const struct request *request;
	int64_t job;
	int32_t attempt;
	const char *free_queues; /* by commas: the site may move it there; NULL: none */
};
/* 0: the statement allows it; *ret_base is the job that was submitted: itself, or the array
 * whose task it is. -EPERM: err says in which point the user asked for something else. */
int signature_allows_job(const struct signature_job *s, const struct signature_given *g,
			 int64_t *ret_base, struct err *err);

/* A step as a node is to run it. */
struct signature_given_step {
	int64_t job;
	const char *node;		/* that of the agent */
	const char *job_workdir;	/* of the job it is in */
	char *const *argv, *const *env; /* env NULL: the job's */
	const char *workdir;		/* NULL: the job's */
	struct sync_terminal terminal;
};
int signature_allows_step(const struct signature_step *s, const struct signature_given_step *g,
			  struct err *err);
