/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series - how the use of attempts went (common/model/series/series.h), as their nodes sent it: one row for each node of an attempt,
 * replaced by each newer series, deleted with the job's events (KeepEvents). */
#pragma once
#include "common/db/db.h"
#include "controller/ledger/attempts/multinode.h"

struct store_report_case;

/* Writes the series of a report that brought something new; a report without one changes nothing. In the transaction
 * under way. 1: the bytes are no series that this version reads, and were dropped. */
int store_series_put(struct store *s, const struct store_report_case *c, struct err *err);

/* Empty, for many such rows. */
struct db_rows store_series_rows(void);

struct store_series {
	int32_t part;	  /* 0: of a job on one node too */
	const char *node; /* of the part; "": the attempt's */
	int64_t at_ns;	  /* when the controller received it */
	const void *data; /* encoded; good during the call */
	size_t size;
};
typedef int (*store_series_fn)(void *ctx, const struct store_series *s, struct err *err);
/* The series of an attempt, part 0 first. */
int store_series_each(struct store *s, struct store_whose of, store_series_fn fn, void *ctx,
		      struct err *err);
