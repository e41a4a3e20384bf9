/* verify - are the rollups what the jobs say, and can they be made so? Part of the
 * contract of store.h.
 *
 * Recomputes every rollup from the job rows (imported jobs, and the attempts with their
 * slices, and adjustments) and compares; the same by month; also that
 * the slices of an attempt sum to its figures and its stretches to its running time, that what
 * the nodes of a job used is what it used and none holds on to it after its end, and that each
 * imported job was charged rate x time. Reads one state of the ledger; changes nothing.
 */
#pragma once
#include "controller/ledger/store.h"

/* One figure that differs. */
struct store_difference {
	const char *cluster, *account, *user, *pool, *figure; /* of a rollup; or */
	int64_t job;					      /* a job's own; 0: a rollup's */
	int64_t day, stored, recomputed;
	bool is_month; /* the sum of the month that begins on that day, of its days */
};
typedef int (*store_difference_fn)(void *ctx, const struct store_difference *d,
				   struct err *err);
struct store_verified {
	int64_t jobs, attempts, adjustments, rollups, differences;
};
/* 0 however many differences there are. */
int store_verify(struct store *s, store_difference_fn fn, void *ctx, struct store_verified *ret,
		 struct err *err);

/* The part of it that is about jobs on several nodes, in the transaction under way; *ret: how
 * many differences were told. */
int store_verify_parts(struct store *s, store_difference_fn fn, void *ctx, int64_t *ret,
		       struct err *err);

/* Replaces every sum by what is recomputed, in one transaction; of other days when `zone`
 * (NULL: as it is) is another. Told are differences within the jobs alone, which stay.
 * -ENOTSUP: the ledger has attempts, which cannot be cut at another zone's midnights; -EINVAL:
 * no such zone. */
struct store_rebuild {
	const char *zone;
	store_difference_fn fn; /* NULL: differences are not reported */
	void *ctx;
	/* Run in the transaction, before anything is summed up; NULL: nothing. */
	int (*before)(void *before_ctx, struct err *err);
	void *before_ctx;
};
int store_rebuild(struct store *s, const struct store_rebuild *how, struct store_verified *ret,
		  struct err *err);
