/* sums - rollups gathered in memory: a batch of an import before it is written once, or all of
 * a ledger recomputed.
 *
 * An association is a cluster, an account and a user; it is known by its index, in the order
 * in which it was met. Memory only.
 */
#pragma once
#include "common/cleanup.h"
#include "common/model/request.h"
#include "controller/ledger/usage/rollup.h"

struct sums;

struct sums_association {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	int64_t id; /* the caller's: 0 at first */
};

struct sums_entry {
	int32_t association, pool;
	int64_t day;
	struct rollup rollup;
};

struct sums *sums_new(void); /* NULL: out of memory */
struct sums *sums_free(struct sums *s);
DEFINE_CLEANUP(struct sums *, sums_free)

/* The index, made when new. -ENOMEM; -ENAMETOOLONG. */
int sums_find(struct sums *s, const char *cluster, const char *account, const char *user);
/* Good until the next sums_find(). */
struct sums_association *sums_association(struct sums *s, int index);
/* The sums of a day, all zero when new; good until the next call. NULL: out of memory. */
struct rollup *sums_at(struct sums *s, int association, int pool, int64_t day);

size_t sums_size(const struct sums *s);
struct sums_entry *sums_entry(struct sums *s, size_t i); /* in the order in which they came */
void sums_clear(struct sums *s);			 /* the days; associations stay */
