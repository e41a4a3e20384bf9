/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts - the packed sums of parts of a period, of which those that were used last are kept in memory. A part has the version that
 * it was read with (ranks.c): one of another version is not found. */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/usage/ranks/packed.h"

/* Of all parts that are kept. */
#define PARTS_BYTES_MAX ((size_t)64 << 20)

struct part_key {
	int64_t kind, span, begins; /* as in the table totals */
	const char *cluster;	    /* "": all */
	uint64_t version;
};
struct parts;
struct parts *parts_new(void); /* NULL: out of memory */
struct parts *parts_free(struct parts *p);
DEFINE_CLEANUP(struct parts *, parts_free)

/* NULL: it is not kept. Good until the next call. */
const struct packed *parts_find(struct parts *p, const struct part_key *k);
/* Takes the sums, in the place of another version of the part. They stay until the next call at least. -ENOMEM: it has freed them. */
int parts_keep(struct parts *p, const struct part_key *k, struct packed sums);
