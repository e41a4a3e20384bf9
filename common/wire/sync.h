/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync - the request of POST /v1/node/sync (docs/protocol.md): what a node says of itself.
 *
 * The one declaration of the document, for the agent, which encodes it, and for the controller,
 * which decodes it: a member here and its row in sync.c. The answer: sync_answer.h.
 */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/engine.h"
#include "common/model/features.h"
#include "common/model/gpus.h"
#include "common/model/job.h"

struct err;

#define SYNC_GPUS_MAX 64 /* devices of a node */
#define SYNC_REPORTS_MAX 500
#define SYNC_LEDGER_MAX 40
#define SYNC_OUTPUT_MAX 4096
#define SYNC_STEPS_MAX 100000
#define SYNC_STEP_MAX 100000 /* the largest number of a step: steps of a job, all in all */
#define SYNC_NOTES_MAX 64
#define SYNC_NOTE_SIZE_MAX 1024
#define SYNC_CHUNK_MAX (1 << 20) /* bytes of output in one element */
#define SYNC_TEXT_MAX 256
#define SYNC_GPU_TEXT_MAX 96
#define SYNC_STEP_TEXT_MAX 1023

/* The numbers are stored: streams of the ledger. */
enum sync_stream { SYNC_OUT, SYNC_ERR, _SYNC_STREAM_MAX };
const char *sync_stream_name(enum sync_stream s); /* "out" "err" */

#define SYNC_SLURM_ID_BITS 26 /* Slurm's MaxJobId is 67,043,328 */
#define SYNC_SLURM_ID_MAX ((INT64_C(1) << SYNC_SLURM_ID_BITS) - 1)

/* What a node knows of a job that Slurm or PBS started there: enough for the ledger to make its row. */
struct sync_slurm_job {
	int64_t job; /* Slurm's id; of PBS its number (common/model/pbs/id.h) */
	int32_t attempt;
	int64_t uid;
	char user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX],
		name[REQUEST_NAME_MAX];
	int64_t ncpus, mem_bytes, vmem_bytes, jobfs_bytes; /* on this node; 0: not told */
	int64_t ngpus;					   /* on this node */
	char gpu_model[REQUEST_NAME_MAX];		   /* "": none, or several */
	/* Of the whole job; 1 and 0, 0: not told, as of an older agent. */
	int64_t nodes, job_ncpus, job_ngpus;
	int64_t started_ns; /* real time of its first task here; 0: none has run yet */
};

struct sync_amounts {
	int64_t ncpus, mem_bytes, jobfs_bytes, ngpus;
};

struct sync_job {
	int64_t job;
	int32_t attempt;
	enum job_state state; /* not on the wire in `found` */
};

struct sync_output {
	int64_t job, step; /* step 0: the job's own */
	int32_t attempt;
	enum sync_stream stream;
	int64_t offset; /* of data[0] in the stream */
	size_t size;	/* 0 with is_end: nothing more */
	const void *data;
	bool is_end; /* the stream is complete with this chunk */
};

/* A device; what is free is in `free`. "" is not told. */
struct sync_gpu {
	char uuid[SYNC_GPU_TEXT_MAX], model[SYNC_GPU_TEXT_MAX], product[SYNC_GPU_TEXT_MAX],
		vendor[SYNC_GPU_TEXT_MAX];
	int64_t mem_bytes; /* -1: not told */
	int32_t numa_node; /* -1: not told */
	bool is_simulated;
	bool is_partitioned; /* cut in parts, which are devices of their own; not allocated */
	bool is_drained;     /* not clean, and no job holds it: not allocated for now */
};

struct sync_step_id {
	int64_t job, step; /* both from 1 */
	int32_t attempt;
};

struct sync_step {
	struct sync_step_id id;
	bool has_ended;	     /* else it runs */
	int32_t exit_status; /* of one that ended; -1: none, a signal ended it or it never started */
	int32_t signal;	     /* 0: none */
	const char *text; /* why it could not be started; NULL: it was */
};

struct sync {
	char node[REQUEST_NAME_MAX], boot[REQUEST_NAME_MAX], version[REQUEST_NAME_MAX];
	char topology[SYNC_TEXT_MAX]; /* "1 socket, 1 NUMA node, 2 cores, 2 threads" */
	char node_type[REQUEST_NAME_MAX], features[FEATURES_MAX]; /* "": not told */
	/* The ledger to which the node has sent all that it has, as the answer named it; "": none, or an older agent. */
	char ledger[SYNC_LEDGER_MAX];
	int64_t restored_ns;
	int64_t number; /* of the exchange: grows within a boot; 0: not told */
	struct sync_amounts capacity, free;
	int64_t pids; /* processes and threads that all its jobs may have; 0: not reported */
	struct gpus free_gpu_models;
	bool draining;
	int32_t tier;
	const char *const *notes; /* NULL-terminated sentences; NULL: none */
	struct sync_gpu *gpus;
	struct sync_job *jobs;	/* every attempt that the node has */
	struct sync_job *found; /* run there without a record of the agent */
	struct report *reports;
	struct sync_output *outputs;
	struct sync_slurm_job *slurm_jobs; /* of an engine slurm or pbs: each job of `jobs` */
	struct sync_step *steps; /* decoded: sorted by sync_step_compare(), each once */
	size_t n_gpus, n_jobs, n_found, n_reports, n_outputs, n_steps, n_slurm_jobs;
	enum engine engine;

	/* Not on the wire: sync_decode() counts them from `gpus`; n 0: no devices are listed. */
	struct gpus gpu_models, drained_gpu_models;
};

/* A whole document, owned by the caller. -ENOMEM. */
int sync_encode(const struct sync *s, json_t **ret, struct err *err);
/* For an agent that reads output piece by piece: one more element of "output"; -ENOMEM. */
int sync_add_output(json_t *doc, const struct sync_output *o, struct err *err);
/* Adds "steps" to any document, as a sync has them; nothing when n is 0. -ENOMEM. */
int sync_add_steps(json_t *doc, struct sync_step *steps, size_t n, struct err *err);
/* The array of reports, borrowed; its elements are of wire_encode_report(). */
json_t *sync_reports(json_t *doc);

/* -EINVAL names the key that is wrong ("reports[3].seq"); -ENOMEM. Where devices are listed
 * they determine ngpus, of the capacity and of what is free. */
int sync_decode(const json_t *doc, struct sync **ret, struct err *err);
struct sync *sync_free(struct sync *s);
DEFINE_CLEANUP(struct sync *, sync_free)

/* Parts of a document as compact text, the form in which the ledger has them: "[]" where there
 * are none. The caller frees it; NULL: out of memory. */
char *sync_format_gpus(const struct sync *s);
char *sync_format_notes(const struct sync *s);

/* An element of `slurm_jobs` as compact text, for an agent that keeps it; the caller frees it. NULL: out of memory. */
char *sync_format_slurm_job(const struct sync_slurm_job *j);
/* -EINVAL names the key that is wrong; -ENOMEM. */
int sync_parse_slurm_job(const char *text, struct sync_slurm_job *ret, struct err *err);

/* For qsort() and bsearch() of struct sync_step, and of what begins with its id. */
int sync_step_compare(const void *a, const void *b);
