/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history - one finished job of another system's accounting.
 *
 * Pure. A parser of a format (swf.h, sacct.h, pbs.h) makes one of these of each line, or
 * reports why the line is no job that can be charged. Times are seconds since the epoch.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/gpus.h"
#include "common/model/request.h"
#include "common/time_units.h"

/* A part of a line; at NULL: not recorded. */
struct history_text {
	const char *at;
	size_t size;
};

/* What a summary says of a job that is charged all the same. */
enum history_note {
	HISTORY_NOTE_SUBMIT,	 /* submitted after its start: the start was taken */
	HISTORY_NOTE_UNREADABLE, /* a field that decides no charge is not recorded: see `fault` */
	HISTORY_NOTE_PHASE,	 /* a part of a job that released nodes while it ran */
	_HISTORY_NOTE_MAX,
};

/* An amount of the record that Reeve has no figure for, e.g. 4 of gres/shard. */
struct history_amount {
	char name[REQUEST_NAME_MAX];
	int64_t n;
};
#define HISTORY_AMOUNTS_MAX 4 /* a job: those beyond are not kept */
struct history_amounts {
	struct history_amount of[HISTORY_AMOUNTS_MAX];
	int n;
};

struct history_job {
	int64_t number; /* of the job where it ran */
	int64_t submit_s, start_s, end_s;
	int64_t suspended_s;		   /* of the time from start to end: not charged */
	int64_t ncpus, ngpus;		   /* allocated */
	int64_t nodes;			   /* 0: not recorded */
	int64_t walltime_s;		   /* requested; -1: not recorded */
	int64_t mem_bytes, mem_peak_bytes; /* of the whole job; -1: not recorded */
	int64_t cpu_ms;			   /* of the whole job; -1: not recorded */
	char cluster[REQUEST_NAME_MAX];	   /* "": the format has none */
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX]; /* "": not recorded */
	char queue[REQUEST_NAME_MAX], qos[REQUEST_NAME_MAX];	/* "": not recorded */
	char node_type[REQUEST_NAME_MAX];			/* "": not recorded; by a map */
	struct gpus gpus; /* those whose model is recorded; ngpus counts all */
	struct history_amounts left_out;
	uint32_t notes; /* bit n: enum history_note n */
	/* The field that could not be read (NULL: none), and its text, in the parsed line. */
	const char *fault;
	struct history_text fault_text;
};

/* Why a line is not a job that can be charged. */
enum history_why {
	HISTORY_OK,
	HISTORY_MISSING_FIELDS,
	HISTORY_EXTRA_FIELDS,
	HISTORY_GARBAGE,  /* a field is not what it should be */
	HISTORY_NO_EPOCH, /* SWF: a job before any UnixStartTime header */
	HISTORY_NOT_STARTED,
	HISTORY_NOT_ENDED,
	HISTORY_NO_RUN_TIME,	    /* <= 0, or not recorded */
	HISTORY_NO_CORES,	    /* <= 0, or not recorded */
	HISTORY_ENDS_TOO_SOON,	    /* before it starts */
	HISTORY_NO_NAME,	    /* no cluster is known, or a name is malformed */
	HISTORY_TOO_LONG_SUSPENDED, /* longer than from start to end */
	HISTORY_OUT_OF_RANGE,	    /* figures beyond what can be charged */
	HISTORY_NO_PRICE,	    /* the profile has no tariff for it, e.g. no GPU bundle */
	HISTORY_PART,		    /* SWF: of a job whose whole has a line of its own */
	_HISTORY_WHY_MAX,
};
/* "no-run-time": for messages, and for programs. */
const char *history_why_name(enum history_why w);

/* Upper bounds of figures: beyond them a job is HISTORY_OUT_OF_RANGE. */
#define HISTORY_NUMBER_MAX ((1LL << 40) - 1)
#define HISTORY_TIME_MAX (1LL << 33)	      /* year 2242 */
#define HISTORY_RUN_MAX (100LL * 366 * DAY_S) /* 100 years */
#define HISTORY_CORES_MAX 1000000000LL
#define HISTORY_AMOUNT_MAX (1LL << 60)

/* Checks the figures of a job whose fields were readable. User and account may be "". What decides
 * no charge loses no job: a submission after the start is the start, a peak of 0 bytes (and a cpu
 * time of 0 beside it) was not measured, a requested amount of 0 is none, and figures of them
 * beyond the bounds are not recorded. */
enum history_why history_judge(struct history_job *j);
void history_note(struct history_job *j, enum history_note n);
/* Keeps the first field that could not be read, and returns HISTORY_GARBAGE. `field` is a literal.
 */
int history_fault(struct history_job *j, const char *field, struct history_text text);
/* The same for a field that decides no charge: the job stays. */
void history_forget(struct history_job *j, const char *field, struct history_text text);
/* n <= 0, and a name that is none, adds nothing. */
void history_add_amount(struct history_amounts *to, struct history_text name, int64_t n);
/* Sets every field to "not recorded", before a parser fills them. */
void history_init(struct history_job *j);

/* A whole number with an optional sign; digits after a point are ignored. 0, -EINVAL;
 * beyond +-2^60 it is that bound, for history_judge() to find. */
int history_parse_int(const char *text, size_t size, int64_t *ret);
/* A decimal number times 1000, finer digits are cut off: "95.5" is 95500. 0, -EINVAL; bounds as
 * above. */
int history_parse_thousandths(const char *text, size_t size, int64_t *ret);
/* A name without control characters, shorter than REQUEST_NAME_MAX. Blanks around it are dropped;
 * those within stay, for a map to rename: history_is_name() is false of it. */
bool history_copy_name(const char *text, size_t size, char ret[static REQUEST_NAME_MAX]);
/* Has the name no blanks? "" has none. */
bool history_is_name(const char *name);
bool history_is(struct history_text t, const char *word);
/* The same, whatever the case of letters. */
bool history_is_like(struct history_text t, const char *word);
/* Adds n GPUs of a model ("": not recorded) to j->gpus. -EINVAL: n < 0; -ENOSPC: too many
 * models.
 */
int history_add_gpus(struct history_job *j, const char *model, int64_t n);
