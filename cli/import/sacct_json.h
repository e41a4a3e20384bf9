/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct_json - the jobs of `sacct --json`, and of slurmrestd's list of jobs of slurmdbd, one at a time:
 * a document of any size is read in bounded memory.
 *
 * Slurm 22.05 to 26.05: numbers alone or as {"set", "infinite", "number"}, states as a word or a
 * list. Steps are passed over.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "controller/history/sacct.h"

struct err;

#define SACCT_JSON_JOB_MAX (1 << 20) /* bytes of a job without its steps */

struct sacct_json {
	char *text; /* of the job, as far as it was read */
	size_t n, room;
	int depth;	 /* of brackets */
	char string[16]; /* the beginning of the string read last */
	size_t string_size;
	bool is_string, is_escaped, is_list, has_list, is_step, is_job;
	json_t *job; /* whose texts the row read last has */
	char tres[4096], numbers[8][24];
};

void sacct_json_done(struct sacct_json *s);
/* Reads bytes up to the end of a job; *ret_used: how many. 1: a job is there for sacct_json_row(); 0:
 * all were read; -ERANGE: a job is too long; -ENOMEM. */
int sacct_json_feed(struct sacct_json *s, const char *bytes, size_t size, size_t *ret_used);
/* At the end of the file. -EBADMSG: it ends within the document, or has no list of jobs. */
int sacct_json_end(const struct sacct_json *s, struct err *err);
/* As sacct_parse_line(). */
int sacct_json_row(struct sacct_json *s, const struct sacct *f, struct history_job *ret);
