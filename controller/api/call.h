/* call - one authenticated request on its way through the api; shared by the routes only. */
#pragma once
#include "common/log.h"
#include "common/time_units.h"
#include "controller/api/api.h"
#include "controller/http/long_poll.h"
#include "controller/http/server.h"

#define WAIT_MAX_S 60

struct api_counts {
	int64_t syncs, reports, reports_new, refusals, submits, denied, failures, cycles, given,
		batches;
	int64_t ingest_ns, ingest_max_ns, cycle_ns;
};

struct accounts;
struct hooks;
struct metrics_usage;
struct told;

struct api {
	struct api_config c;
	struct server *server;
	/* Never NULL; replaced when they change (declared.h). Revision 0: of controller.conf.
	 */
	const struct accounts *accounts;
	int64_t accounts_revision;
	struct sd_event_source *cycle_source;
	struct sd_event_source *prune_source;
	int64_t cycle_due_ns; /* monotonic: not before; so others get half of the time */
	struct submit_batches *batches; /* made by the first submission */
	struct told *told;
	struct hooks *hooks;		     /* NULL: the site has none */
	struct metrics_usage *metrics_usage; /* metrics_usage.h; NULL: not asked for so far */
	struct api_counts counts;
	/* Real time: since when nodes can be heard without a break; when that was last looked.
	 */
	int64_t listening_ns, checked_ns;
	int64_t shed;	 /* connections that may have been nodes': refused, as last looked */
	bool is_holding; /* nodes are not taken for lost for that */
	struct log_limit munge_log, hold_log;
};

struct call {
	struct api *api;
	struct exchange *x;
	struct auth_who who;
	char user[REQUEST_NAME_MAX];
	bool is_operator;
	struct job_id named; /* the job in the path, as it was named */
	int64_t id;	     /* its number; of an element without a row: its array's */
	json_t *body;	     /* of a POST */
	/* the route's answer */
	unsigned status; /* 0: 200 */
	json_t *answer;
	char *text; /* instead of answer, with type */
	const char *type;
	/* or its refusal */
	const char *code, *remedy;
};

/* 0: answered in *c. CALL_HELD: the route keeps the exchange and answers later with
 * call_answer(). < 0: refused; err has the message, c->status, code and remedy may be set. */
typedef int (*route_fn)(struct call *c, struct err *err);
#define CALL_HELD 1

/* To be returned: sets status, code and remedy, and err to the message. */
int call_refuse(struct call *c, unsigned status, const char *code, const char *remedy);
/* Answers with a document, signed when `credential` (the request's) is not NULL. */
void call_answer(struct api *a, struct exchange *x, json_t *doc, const char *credential);
/* The same of a text, which is freed; NULL: status 500. */
void call_answer_text(struct exchange *x, unsigned status, char *text, const char *credential);
/* An integer of the query; `def` when absent. -EINVAL names it. */
int call_query_int(const struct call *c, const char *name, struct wire_int range, int64_t *ret,
		   struct err *err);
/* A text of the query; NULL when absent or empty. */
const char *call_query_text(const struct call *c, const char *name);
int64_t call_now_ns(void);	 /* real time */
int64_t call_monotonic_ns(void); /* CLOCK_MONOTONIC */

/* The routes, one concern a file. */
int route_sync(struct call *c, struct err *err);	/* sync.c */
int route_submit(struct call *c, struct err *err);	/* batch.c */
int route_cost(struct call *c, struct err *err);	/* cost.c */
int route_jobs(struct call *c, struct err *err);	/* jobs.c */
int route_job(struct call *c, struct err *err);		/* jobs.c */
int route_cancel(struct call *c, struct err *err);	/* jobs.c */
int route_hold(struct call *c, struct err *err);	/* hold.c */
int route_release(struct call *c, struct err *err);	/* hold.c */
int route_suspend(struct call *c, struct err *err);	/* jobs.c */
int route_resume(struct call *c, struct err *err);	/* jobs.c */
int route_weigh(struct call *c, struct err *err);	/* jobs.c */
int route_output(struct call *c, struct err *err);	/* output.c */
int route_start_steps(struct call *c, struct err *err); /* steps.c */
int route_steps(struct call *c, struct err *err);	/* steps.c */
int route_cancel_step(struct call *c, struct err *err); /* steps.c */
int route_step_output(struct call *c, struct err *err); /* steps_output.c */
int route_nodes(struct call *c, struct err *err);	/* sums.c */
int route_list_nodes(struct call *c, struct err *err);	/* nodes.c */
int route_drain(struct call *c, struct err *err);	/* nodes.c */
int route_resume_node(struct call *c, struct err *err); /* nodes.c */
int route_usage(struct call *c, struct err *err);	/* sums.c */
int route_eff(struct call *c, struct err *err);		/* eff.c */
int route_adjust(struct call *c, struct err *err);	/* adjust.c */
int route_entries(struct call *c, struct err *err);	/* adjust.c */
int route_share(struct call *c, struct err *err);	/* standing.c */
int route_prio(struct call *c, struct err *err);	/* standing.c */
int route_why(struct call *c, struct err *err);		/* why.c */
int route_quota(struct call *c, struct err *err);	/* quota.c */
int route_cluster(struct call *c, struct err *err);	/* sums.c */
int route_metrics(struct call *c, struct err *err);	/* metrics.c */

int route_accounts(struct call *c, struct err *err);	    /* accounts.c */
int route_change_accounts(struct call *c, struct err *err); /* accounts.c */
int route_accounts_log(struct call *c, struct err *err);    /* accounts.c */

/* The owner of a job and its state, for permissions. -ENOENT when it is not the caller's:
 * as if it did not exist. */
struct call_owned {
	enum job_state state;
	uint32_t uid;
	bool is_array;
	char node[REQUEST_NAME_MAX];
	int64_t gave_way_to; /* 0: to nobody */
};
int call_own_job(struct call *c, struct call_owned *ret, struct err *err);

/* Wakes whoever waits for a job, its steps too; for one of its steps; for a node. */
void call_wake_job(struct api *a, int64_t job);
void call_wake_step(struct api *a, int64_t job, int64_t step);
void call_wake_node(struct api *a, const char *node);

#define CALL_ANY_STEP (-1)
/* What those wait for who wait for a step; step 0: for the job itself. */
void call_step_key(int64_t job, int64_t step, char key[static POLL_KEY_MAX]);
