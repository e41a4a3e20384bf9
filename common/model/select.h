/* SPDX-License-Identifier: GPL-2.0-or-later */
/* select - a request in chunks: "2:ncpus=16:vmem=32GB:ngpus=1+1:ncpus=4".
 *
 * Pure. A chunk lies on one node; a request asks for the sum of its chunks (struct resources has
 * the sum). All that a job has on one node is its part there, which that node's agent enforces:
 * chunks that are placed on one node are one part.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/amount.h"

struct err;
struct resources;

#define SELECT_MAX 8		 /* kinds of chunks in one request */
#define SELECT_CHUNKS_MAX 100000 /* chunks in one request */
#define SELECT_TEXT_MAX 1024	 /* bytes that select_format() needs at most */

struct select_chunk {
	int64_t n; /* how many chunks of this kind */
	int64_t ncpus, vmem_bytes, mem_bytes, jobfs_bytes, ngpus;
};

struct select {
	int32_t n;	   /* kinds; 0: the request is one chunk, on one node */
	bool is_scattered; /* each chunk on a node of its own */
	struct select_chunk of[SELECT_MAX];
};

/* "2:ncpus=16:vmem=32GB+1:ncpus=4" onto ret->of and ret->n; without a number before it
 * it is one chunk. GPUs are of one model in all chunks ("ngpus=a100:1"), which is written to `model`
 * (REQUEST_NAME_MAX bytes; "": any). -EINVAL: an unknown or repeated item, a bound, two models,
 * too many; err names the item. Nothing is written then. */
int select_parse(const char *text, struct select *ret, char *model, struct err *err);
/* The same, where the site says what MB, G ... mean. */
int select_parse_in(const char *text, enum amount_units units, struct select *ret, char *model,
		    struct err *err);
/* Canonical and parseable, amounts exact; "" when n is 0. */
const char *select_format(const struct select *s, const char *model,
			  char buf[static SELECT_TEXT_MAX]);

/* Where chunks go, as typed: "free" (several may share a node), "scatter" (each on a node of
 * its own), "excl" and "scatter:excl" (whole nodes, which are charged). -EINVAL. */
int select_parse_place(const char *text, struct select *ret, bool *ret_exclusive,
		       struct err *err);

/* Fills in what a chunk does not state from `from`: defaults are those of a chunk, not of the job. */
void select_fill(struct select *s, const struct resources *from);
/* The sums onto ncpus, vmem, mem, jobfs and ngpus of *res. mem is summed only where every chunk
 * states it. -ERANGE: beyond what one job may have. */
int select_total(const struct select *s, struct resources *res, struct err *err);
int64_t select_chunks(const struct select *s); /* how many chunks there are; at least 1 */
/* One of the chunks as a request of its own: the rest (walltime, kind of node, ...) is
 * `whole`'s.
 */
void select_chunk(const struct select_chunk *c, const struct resources *whole,
		  struct resources *ret);
/* `whole` in n equal chunks of one kind; false: cores or GPUs cannot be divided by n. Bytes are
 * rounded up. */
bool select_split(const struct resources *whole, int64_t n, struct select *ret);
