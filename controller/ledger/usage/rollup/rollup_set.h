/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_set - rollups added up in memory: a batch of an import before it is written, a ledger that is
 * recomputed, or the rows of a usage view. Memory only.
 *
 * An association is a cluster, an account and a user. Its index is its place in the order in which
 * associations were first found.
 */
#pragma once
#include "common/cleanup.h"
#include "common/model/request.h"
#include "controller/ledger/usage/rollup/rollup.h"

struct rollup_set;

struct rollup_set_association {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	int64_t id; /* for the caller's use; 0 at first */
};

struct rollup_set_entry {
	int32_t association, pool;
	int64_t day;
	struct rollup rollup;
};

struct rollup_set *rollup_set_new(void); /* NULL: out of memory */
struct rollup_set *rollup_set_free(struct rollup_set *s);
DEFINE_CLEANUP(struct rollup_set *, rollup_set_free)

/* The index of the association, which is added when it is new. -ENOMEM; -ENAMETOOLONG. */
int rollup_set_find(struct rollup_set *s, const char *cluster, const char *account,
		    const char *user);
/* Good until the next rollup_set_find(). */
struct rollup_set_association *rollup_set_association(struct rollup_set *s, int index);
/* The sums of a day, added with zeroes when new; good until the next call. NULL: out of memory. */
struct rollup *rollup_set_at(struct rollup_set *s, int association, int pool, int64_t day);

size_t rollup_set_names(const struct rollup_set *s); /* how many associations */
size_t rollup_set_size(const struct rollup_set *s);
struct rollup_set_entry *rollup_set_entry(struct rollup_set *s,
					  size_t i); /* in the order in which they came */
void rollup_set_clear(struct rollup_set *s);	     /* the days; associations stay */
