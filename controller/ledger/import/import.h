/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import - writes finished jobs of another system to the ledger. Part of the contract of store.h.
 *
 * A file is read in batches. A batch is one transaction: its jobs, what they add to the rollups, and
 * how far the file has been read. So an interrupted import continues where the last batch ended, and
 * importing a file a second time adds nothing. A job is identified by its cluster and its number there,
 * from whatever file it comes, and is never changed. A number that comes again at another time, which
 * does not overlap the runs that are known, is another run of a requeued job; unless the same file was
 * imported before with other options, for example another time zone. A job that reeve-slurm or an agent brought to the
 * ledger is not imported: it was charged.
 *
 * Calls: store_import_open(), store_import_listen(), for each job store_import_add(), and now and then
 * and at the end store_import_commit(); then store_import_close().
 */
#pragma once
#include "controller/history/history.h"
#include "controller/ledger/store.h"

struct store_import;

/* What was found in a file, counted from its first line on. */
struct store_import_count {
	int64_t lines, rows; /* rows: lines that should be jobs */
	int64_t jobs,
		core_seconds; /* of the rows whose jobs are in the ledger with these figures */
	int64_t conflicts;    /* in the ledger with other figures, and left so */
	int64_t rejected[_HISTORY_WHY_MAX];
	int64_t first_line[_HISTORY_WHY_MAX]; /* of the rejected ones; 0: none */
	bool is_complete;
	bool is_known_otherwise; /* the same file was imported before with other options */
	char other_zone[64];	 /* the zone of that import, as store_import_file.zone */
};

struct store_import_file {
	const char *digest; /* of the content and of all options that change the result */
	const char *path, *format;
	const char *content; /* the digest of the file alone */
	const char *
		profile; /* that prices the jobs, as store_imports_priced() returns it; "": none */
	const char *zone; /* that its local times are of; "": its times are UTC or seconds */
};
/* The id of an imported job is origin << 40 | number. The second and later runs of requeued jobs have
 * origins from this one on. */
#define STORE_RERUNS_FROM (INT64_C(1) << 22)

/* *ret_count: how far the file was read by earlier imports; all 0 for a new file. */
int store_import_open(struct store *s, const struct store_import_file *f,
		      struct store_import **ret, struct store_import_count *ret_count,
		      struct err *err);
/* Rolls back what is not committed. */
struct store_import *store_import_close(struct store_import *i);
DEFINE_CLEANUP(struct store_import *, store_import_close)

struct store_import_job {
	const struct history_job *job; /* its cluster is set */
	enum charge_pool pool;
	struct tally_terms terms;
	int64_t line; /* the caller's */
};
/* The charge of a job by its terms, for an import as for pricing a job again. -EINVAL, -ERANGE as
 * tally_make(). */
int store_import_tally(const struct store_import_job *j, struct tally *ret);
enum store_import_outcome {
	STORE_IMPORT_NEW,
	STORE_IMPORT_KNOWN,    /* it was in the ledger, with the same figures */
	STORE_IMPORT_FOLLOWED, /* it is in the ledger, or its archive, as a job of Slurm */
	STORE_IMPORT_CONFLICT, /* it was in the ledger with other figures, which stay */
	STORE_IMPORT_REFUSED,  /* its figures are beyond what can be charged */
	_STORE_IMPORT_OUTCOME_MAX,
};
/* Jobs are sent to the database many at a time, because each round trip to a server takes its time. So
 * the outcome of a job is reported later, in the order in which jobs were added, by the commit at the
 * latest. The job is a copy, good until fn returns. */
typedef int (*store_import_fn)(void *ctx, const struct store_import_job *j,
			       enum store_import_outcome outcome, struct err *err);
void store_import_listen(struct store_import *i, store_import_fn fn, void *ctx);
/* 0: added; STORE_IMPORT_REFUSED: it was not, and no outcome is reported later. */
int store_import_add(struct store_import *i, const struct store_import_job *j, struct err *err);
/* Writes the jobs added so far and reports their outcomes. */
int store_import_settle(struct store_import *i, struct err *err);
/* Settles, then ends the batch: writes its rollups and the count, which fn has brought up to date by
 * then, and commits. */
int store_import_commit(struct store_import *i, const struct store_import_count *count,
			struct err *err);

/* ---- by which profile imported jobs were priced ---- */

/* Calls fn for each profile ("": none; "?": not recorded) with the jobs of its imports. */
typedef int (*store_priced_fn)(void *ctx, const char *profile, int64_t jobs, struct err *err);
int store_imports_priced(struct store *s, store_priced_fn fn, void *ctx, struct err *err);
/* Prices every imported job again and rebuilds the rollups, in one transaction. `price` gets the job as
 * it was imported and sets pool and terms of *ret; it returns 1 where it has no price: such a job keeps
 * its old one. */
typedef int (*store_price_fn)(void *ctx, const struct history_job *j,
			      struct store_import_job *ret, struct err *err);
struct store_reprice {
	store_price_fn price;
	void *ctx;
	const char *profile; /* recorded as the profile of all imports */
};
struct store_repriced {
	int64_t jobs, changed, no_price;
};
int store_reprice(struct store *s, const struct store_reprice *how, struct store_repriced *ret,
		  struct err *err);
