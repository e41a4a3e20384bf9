/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs - finished jobs as the accounting log of PBS Professional, OpenPBS or Torque has them:
 * "MM/DD/YYYY HH:MM:SS;TYPE;JOBID;key=value key=value ...".
 *
 * Pure. A run of a job is an E record (end), or an R record (requeued) that has a
 * start and an end; an R record without them is HISTORY_MISSING_FIELDS, since what it held
 * is not known. Every other type (Q, S, D, A, L, ...) and the E record of a whole array
 * ("12[].server"), whose tasks have records of their own, is PBS_NO_JOB.
 *
 * Rules of reading. Submit is ctime, else qtime, else etime, else start. Cores are what was
 * allocated: the ncpus of exec_vnode, else the slots of exec_host, else total_execution_slots,
 * else ncpus asked for (Resource_List.ncpus, .select, .nodes, in this order). Nodes are the
 * hosts of exec_host. GPUs are the ngpus of exec_vnode, else Resource_List.ngpus, else those of
 * select or nodes; their models are gpu_model or gpu_type (or accel_type) of the chunks, else
 * of the whole job. Memory requested is Resource_List.mem, else that of exec_vnode, else of
 * select; kb, mb, gb, tb and pb are binary, a word (kw, ...) is 8 bytes. The time from start to
 * end beyond resources_used.walltime is suspended. The account is the project (unless it is
 * PBS's default one), else account, else group. The cluster is the server's name up to its
 * first dot. On a Cray, whose chunks have one core of the login node, mppwidth x mppdepth (or
 * size) are the cores where they are more.
 *
 * PBS quotes neither users, groups, names nor what is used, and escapes nothing in quotes: a value
 * ends before the next " word=". A key that is read here and has two different values makes the
 * line HISTORY_GARBAGE, since either may be right. What decides no charge (peaks, hosts where
 * exec_vnode is recorded, times of submission) is not recorded where it is not readable.
 */
#pragma once
#include "controller/history/history.h"

/* A blank line, or a record that ends no run of a job. */
#define PBS_NO_JOB (-1)
/* An enum history_why, or PBS_NO_JOB: of an E or R record. `line` is without its newline; need
 * not end with 0. */
int pbs_parse_line(const char *line, size_t size, struct history_job *ret);

/* For pbs_phases.c. The head of a record of any type: HISTORY_OK, PBS_NO_JOB (a blank line, a
 * reservation) or why it is none. */
struct pbs_head {
	char type;
	struct history_text id; /* of the line */
	int64_t used_s;		/* its used walltime; -1: not recorded */
};
int pbs_parse_head(const char *line, size_t size, struct pbs_head *ret);
/* The run that a record of type E, R, e or u describes, not yet judged; that of a u record ends
 * where it starts. */
int pbs_parse_run(const char *line, size_t size, struct pbs_head *ret_head,
		  struct history_job *ret);

/* The number of job `sequence` (index < 0), or of task `index` of an array: no two have the
 * same. A job has its own number up to 2^36. A task has base + (index << bits) + sequence by
 * the first of these rows that has room for both:
 *	sequence below	index below	base
 *	2^25		2^14		2^39
 *	2^27		2^11		2^38
 *	2^29		2^8		2^37
 *	2^16		2^20		2^36
 * Beyond them -ERANGE. */
int pbs_number(int64_t sequence, int64_t index, int64_t *ret);
