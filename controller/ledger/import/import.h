/* import - jobs that ran elsewhere, or before, into the ledger: part of the contract of
 * store.h.
 *
 * A file is read in batches. A batch is one transaction: its jobs, what they add to the
 * rollups, and how far the file has been read; so an import that was broken off goes on where
 * the last batch ended, and a file that was read whole brings nothing new. Beyond that, a job
 * is known by its cluster and its number there, from whatever file it comes, and is never
 * changed. A number that comes again at another time, not overlapping the runs that are known,
 * is another run of a job that was requeued; unless the same file was imported before in
 * another way, by the clocks of another zone for one.
 */
#pragma once
#include "controller/history/history.h"
#include "controller/ledger/store.h"

struct store_import;

/* What was found in a file, from its first line on. */
struct store_import_count {
	int64_t lines, rows;	    /* rows: lines that should be jobs */
	int64_t jobs, core_seconds; /* of them in the ledger with these figures */
	int64_t conflicts;	    /* in the ledger with other figures, and left so */
	int64_t rejected[_HISTORY_WHY_MAX];
	int64_t first_line[_HISTORY_WHY_MAX]; /* of those; 0: none */
	bool is_complete;
	/* The same file was imported before with other options: by the clocks of that zone ("":
	 * UTC, or a format that tells moments). */
	bool is_known_otherwise;
	char other_zone[64];
};

struct store_import_file {
	const char *digest; /* of the content, and of whatever else decides what comes of it */
	const char *path, *format;
	const char *content; /* the digest of the file alone */
	const char *profile; /* "": none; a name of it, for views to compare
				(store_imports_priced()) */
	const char *zone;    /* whose clocks its times are; "": UTC's, or moments */
};
/* Ids of imported jobs are origin << 40 | number; the second and later runs of requeued jobs
 * have origins from here on. */
#define STORE_RERUNS_FROM (INT64_C(1) << 22)

/* ret_count: how far it was read before, all 0 for a new file. */
int store_import_open(struct store *s, const struct store_import_file *f,
		      struct store_import **ret, struct store_import_count *ret_count,
		      struct err *err);
/* What is not committed is given up. */
struct store_import *store_import_close(struct store_import *i);
DEFINE_CLEANUP(struct store_import *, store_import_close)

struct store_import_job {
	const struct history_job *job; /* its cluster is set */
	enum charge_pool pool;
	struct tally_terms terms;
	int64_t line; /* the caller's */
};
/* What it is charged by its terms: the one sum for an import, for pricing it again and for
 * callers that only ask. -EINVAL, -ERANGE as tally_make(). */
int store_import_tally(const struct store_import_job *j, struct tally *ret);
enum store_import_outcome {
	STORE_IMPORT_NEW,
	STORE_IMPORT_KNOWN,    /* there already, the same in every figure */
	STORE_IMPORT_CONFLICT, /* there already with other figures: left as it is */
	STORE_IMPORT_REFUSED,  /* its figures are beyond what can be charged */
	_STORE_IMPORT_OUTCOME_MAX,
};
/* Jobs are written together, since a server takes its time for each alone: what became of each
 * is reported later, in the order in which they were taken, by the commit at the latest. The job is
 * a copy, good until fn returns. */
typedef int (*store_import_fn)(void *ctx, const struct store_import_job *j,
			       enum store_import_outcome outcome, struct err *err);
void store_import_listen(struct store_import *i, store_import_fn fn, void *ctx);
/* 0: taken; STORE_IMPORT_REFUSED: no outcome of it is reported later. */
int store_import_take(struct store_import *i, const struct store_import_job *j,
		      struct err *err);
/* Writes and tells of what was taken so far. */
int store_import_settle(struct store_import *i, struct err *err);
/* ---- by which profile imported jobs were priced ---- */

/* Calls fn for each profile ("": none; "?": not recorded) with the jobs of its imports. */
typedef int (*store_priced_fn)(void *ctx, const char *profile, int64_t jobs, struct err *err);
int store_imports_priced(struct store *s, store_priced_fn fn, void *ctx, struct err *err);
/* Prices every imported job again, in one transaction with the sums, which are rebuilt. `price`
 * is given the job as it was imported; it sets pool and terms, and returns 1 where there is no
 * price: such a job keeps the one it has. */
typedef int (*store_price_fn)(void *ctx, const struct history_job *j,
			      struct store_import_job *ret, struct err *err);
struct store_reprice {
	store_price_fn price;
	void *ctx;
	const char *profile; /* is recorded as that of all imports */
};
struct store_repriced {
	int64_t jobs, changed, no_price;
};
int store_reprice(struct store *s, const struct store_reprice *how, struct store_repriced *ret,
		  struct err *err);

/* Writes the batch with the count as it is when the outcome of every job was reported. */
int store_import_commit(struct store_import *i, const struct store_import_count *count,
			struct err *err);
