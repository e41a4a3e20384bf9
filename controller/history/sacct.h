/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct - finished jobs as Slurm's `sacct --parsable2` prints them: fields by "|".
 *
 * Pure. A heading line decides which column is which, in any order and beside any others
 * (-o ALL). Without one the fields are the 26 of SACCT_DEFAULT_COLUMNS.
 *
 * Rules of reading. The job's number is JobIDRaw, else JobID where it is a plain number. Cores
 * are NCPUS (AllocCPUS), else the cpu of AllocTRES; nodes NNodes (AllocNodes), else its node.
 * GPUs are the gres/gpu of AllocTRES (allocated, not requested), by model where gres/gpu:MODEL
 * is listed; other gres, licenses and burst buffers are left_out. Memory requested is the mem of
 * AllocTRES, or ReqMem times nodes (n) or cores (c). The time from start to end beyond Elapsed
 * (ElapsedRaw) is suspended. The limit is Timelimit or TimelimitRaw (minutes), the queue the
 * partition; names of accounts are in small letters, as Slurm keeps them. A row whose State says
 * that the job goes on is HISTORY_NOT_ENDED, whatever its End: `sacct -T` prints that of the
 * window. A job step ("12.batch") is no job.
 *
 * Times have no zone ("2016-12-22T07:15:12"): `zone` converts them, and where clocks went back, a
 * time that comes twice is the first of both that agrees with elapsed. With an offset
 * ("...+0100", "...+01:00", "...Z") or as seconds since the epoch, as SLURM_TIME_FORMAT can have
 * them, they need none.
 *
 * A name, a comment or a path may hold "|": the fields that a row has beyond its columns belong
 * to them, and it is HISTORY_EXTRA_FIELDS where the columns that are read lie between two such.
 */
#pragma once
#include "controller/history/history.h"

/* The moment at which a zone's clocks showed `local_s`, seconds since 1970-01-01 as if they
 * were UTC's; the `later` of two where it comes twice. Where clocks skipped it: as if they had
 * not. */
enum sacct_which { SACCT_EARLIER, SACCT_LATER };
typedef int64_t (*sacct_zone_fn)(void *ctx, int64_t local_s, enum sacct_which which);

#define SACCT_DEFAULT_COLUMNS                                                                  \
	"jobid|jobidraw|cluster|partition|qos|account|group|gid|user|uid|submit|eligible|"     \
	"start|end|elapsed|exitcode|state|nnodes|ncpus|reqcpus|reqmem|reqtres|alloctres|"      \
	"timelimit|nodelist|jobname"

enum sacct_field {
	SACCT_JOB,
	SACCT_JOB_RAW,
	SACCT_CLUSTER,
	SACCT_PARTITION,
	SACCT_QOS,
	SACCT_ACCOUNT,
	SACCT_USER,
	SACCT_SUBMIT,
	SACCT_START,
	SACCT_END,
	SACCT_ELAPSED,
	SACCT_ELAPSED_RAW, /* seconds */
	SACCT_STATE,
	SACCT_NODES,
	SACCT_CPUS,
	SACCT_MEM_ASKED,
	SACCT_TRES,
	SACCT_LIMIT,
	SACCT_LIMIT_RAW, /* minutes */
	_SACCT_FIELD_MAX,
};

/* Which column has which field. */
struct sacct_columns {
	int n;			   /* of a row; 0: not known yet */
	int at[_SACCT_FIELD_MAX];  /* -1: the rows do not have it */
	int free_first, free_last; /* columns whose text may hold bars; -1: none */
};

struct sacct {
	sacct_zone_fn zone; /* NULL: UTC */
	void *ctx;
	struct sacct_columns columns;
	/* What the heading read last lacks, as sacct names it: no row below it is a job. "": nothing. */
	char missing[64];
};

/* A blank line, a heading (read into *f) or a step of a job. */
#define SACCT_NO_JOB (-1)
/* An enum history_why, or SACCT_NO_JOB. `line` is without its newline; need not end with 0. */
int sacct_parse_line(struct sacct *f, const char *line, size_t size, struct history_job *ret);
/* Is it a heading? Then *ret is its columns. */
bool sacct_parse_heading(const char *line, size_t size, struct sacct_columns *ret);

/* sacct_row.c: a row whose fields are apart (at NULL: it does not have this one). */
int sacct_row_parse(const struct sacct *f, const struct history_text t[static _SACCT_FIELD_MAX],
		    struct history_job *ret);
