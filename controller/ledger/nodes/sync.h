/* sync - what a node said in one exchange, as plain structs (docs/protocol.md). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "common/model/gpus.h"
#include "common/model/job.h"
#include "common/wire/sync.h"
#include "controller/policy/charge/charge.h"

#define SYNC_REPORTS_MAX 500
#define SYNC_OUTPUT_MAX 4096
#define SYNC_TEXT_MAX 256

struct sync_hold {
	int64_t job;
	int32_t attempt;
	enum job_state state;
};

struct sync_output {
	int64_t job, step; /* step 0: the job's own */
	int32_t attempt;
	enum sync_stream stream;
	int64_t offset;
	size_t size;
	void *data;
};

/* What the node says of a step (steps/steps.h). */
struct sync_step {
	int64_t job, step;
	int32_t attempt;
	bool has_ended;		 /* else it runs */
	int exit_status, signal; /* of one that ended; -1: it has none; 0: none */
	char *text;		 /* why it could not be started; NULL: it was */
};

struct sync {
	char node[REQUEST_NAME_MAX], boot[REQUEST_NAME_MAX], version[REQUEST_NAME_MAX];
	char topology[SYNC_TEXT_MAX];
	char node_type[REQUEST_NAME_MAX], features[FEATURES_MAX]; /* "": not told */
	int64_t number;			 /* of the exchange: grows within a boot; 0: not told */
	struct resources capacity, free; /* ncpus, mem_bytes, jobfs_bytes, ngpus */
	bool draining;
	int32_t tier;
	char *notes; /* JSON array of sentences */
	char *gpus;  /* JSON array of devices; NULL: none told */
	struct gpus gpu_models, free_gpu_models,
		drained_gpu_models; /* by model; n 0: not told */
	struct sync_hold *jobs;
	struct sync_hold
		*found; /* run there without a record of the agent; state is not told */
	struct report *reports;
	struct sync_output *outputs;
	struct sync_step *steps; /* sorted by sync_step_compare(); each once */
	size_t n_jobs, n_found, n_reports, n_outputs, n_steps;
};

/* What the controller adds: where the words came from and when. */
struct sync_from {
	char address[64];
	char cluster[REQUEST_NAME_MAX];
	int64_t now_ns;	 /* real time of the controller */
	int64_t lost_ns; /* silence after which another host may take over a node name */
};

struct sync_ack {
	int64_t job, seq;
	int32_t attempt;
};

struct sync_output_ack {
	int64_t job, step, offset;
	int32_t attempt;
	enum sync_stream stream;
};

struct sync_step_ack {
	int64_t job, step;
	int32_t attempt;
};

struct sync_refusal {
	int64_t job;
	int32_t attempt;
	char why[160];
};

/* What a report brought: the stretch [from, was_to) of running, with was_running in it, is now
 * [from, to) with running in it (controller/ledger/usage/charges.h). A new one: was_to is from.
 */
struct sync_usage_delta {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX],
		queue[REQUEST_NAME_MAX];
	enum charge_pool pool;
	struct fraction rate;
	int64_t ncpus, ngpus, mem_bytes;
	int64_t from_ns, was_to_ns, to_ns, was_running_ns, running_ns;
};

struct sync_result {
	struct sync_usage_delta *deltas;
	size_t n_deltas;
	struct sync_ack *acks;
	struct sync_output_ack *output_acks;
	struct sync_refusal *refusals;
	struct sync_step_ack *step_acks;
	size_t n_acks, n_output_acks, n_refusals, n_step_acks;
	size_t n_accepted; /* reports that brought something new */
	bool has_freed; /* a job ended, was suspended or runs and may be: the queue may move */
	int64_t *affected; /* jobs on several nodes: what their nodes are to do has changed */
	size_t n_affected;
};

/* For qsort() and bsearch(). */
static inline int sync_step_compare(const void *a, const void *b)
{
	const struct sync_step *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static inline struct sync *sync_free(struct sync *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->n_outputs; i++)
		free(s->outputs[i].data);
	for (size_t i = 0; i < s->n_reports; i++)
		report_done(&s->reports[i]);
	for (size_t i = 0; i < s->n_steps; i++)
		free(s->steps[i].text);
	free(s->steps);
	free(s->outputs);
	free(s->reports);
	free(s->jobs);
	free(s->found);
	free(s->notes);
	free(s->gpus);
	free(s);
	return NULL;
}
DEFINE_CLEANUP(struct sync *, sync_free)

static inline void sync_result_done(struct sync_result *r)
{
	free(r->acks);
	free(r->output_acks);
	free(r->refusals);
	free(r->step_acks);
	free(r->deltas);
	free(r->affected);
	*r = (struct sync_result){ 0 };
}
