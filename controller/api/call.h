/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call - one request in the api, authenticated and with its body read.
 *
 * A route fills in an answer or refuses; HTTP is the business of handle.c and answer.c.
 */
#pragma once
#include "controller/api/context.h"
#include "controller/http/long_poll.h"
#include "controller/http/exchange.h"

#define WAIT_MAX_S 60

struct slurm_pending_job;

/* A name of the query, with the value that counts instead of the request's own; NULL: none. */
struct call_query {
	const char *name, *value;
};

#define CALL_REMEDY_MAX 1024
struct call {
	struct api *api;
	struct exchange *x;
	struct auth_who who;
	char user[REQUEST_NAME_MAX];
	bool is_operator;
	struct job_id named; /* the job in the path, as it was named */
	int64_t id;	     /* its number; of an array task without a row: its array's */
	/* The path names a job that waits in Slurm: it, and its cluster; NULL: it does not. */
	const struct slurm_pending_job *pending;
	const struct config_cluster *pending_cluster;
	const struct call_query
		*query; /* ends with a name NULL; NULL: the request's query counts */
	json_t *body;	/* of a POST */
	/* the route's answer */
	unsigned status; /* 0: 200 */
	json_t *answer;
	char *text;    /* instead of answer, with type */
	char *headers; /* as struct exchange_answer has them; NULL: none */
	const char *type;
	/* or its refusal */
	const char *code;
	char remedy[CALL_REMEDY_MAX]; /* a copy: many are made on the stack */
};

/* 0: answered in *c. CALL_DEFERRED: the route keeps the exchange and answers it later.
 * < 0: refused; err has the message, c->status, code and remedy may be set. */
typedef int (*route_fn)(struct call *c, struct err *err);
#define CALL_DEFERRED 1

/* Sets status, code and remedy of the refusal, and returns -EINVAL for the route to return. The
 * message is err's. */
int call_refuse(struct call *c, unsigned status, const char *code, const char *remedy);
/* Refuses all but operators; `message` says what only they do. */
int call_check_operator(struct call *c, const char *message, const char *remedy,
			struct err *err);
/* Begins the answer {KEY: []}; the list stays the answer's. -ENOMEM. */
int call_open_list(struct call *c, const char *key, json_t **ret_list, struct err *err);
/* Answers with a document, signed when `credential` (the request's) is not NULL. */
void call_answer(struct api *a, struct exchange *x, json_t *doc, const char *credential);
/* The same of a text, which is freed; NULL: status 500. */
void call_answer_text(struct exchange *x, unsigned status, char *text, const char *credential);
/* An integer of the query; range.def when absent. -EINVAL names it. */
int call_query_int(const struct call *c, const char *name, struct wire_int range, int64_t *ret,
		   struct err *err);
/* A text of the query; NULL when absent or empty. */
const char *call_query_text(const struct call *c, const char *name);
/* A day of the query, like 2026-11-21, as days since 1970; def when absent. -EINVAL names it. */
int call_query_day(const struct call *c, const char *name, int64_t def, int64_t *ret,
		   struct err *err);
